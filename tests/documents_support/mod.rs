//! The documents of the repository: their pages, their blocks of code, and a place to run the commands in them.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// The repository.
pub const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A block of code of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Info string of the fence: `sh`, `sh needs-node`, `text output`.
    pub info: String,
    pub text: String,
    /// The number of the line of its fence, from 1.
    pub line: usize,
}

impl Block {
    /// Whether its commands are to be run: `need` is `None` for those that need nothing.
    pub fn is_run(&self, need: Option<&str>) -> bool {
        match need {
            None => self.info == "sh",
            Some(need) => self.info == format!("sh {need}"),
        }
    }
}

/// The pages that people read, from the repository: the README, its neighbours and the book.
pub fn pages() -> Vec<String> {
    let mut pages = vec!["CONTRIBUTING.md".to_owned(), "README.md".to_owned(), "SECURITY.md".to_owned()];
    pages.extend(book().into_iter().filter(|path| path.ends_with(".md")).map(|path| format!("docs/{path}")));
    pages
}

/// The files of `docs/` that the book has, sorted, by their paths in it: all but the patches of recipes.
pub fn book() -> Vec<String> {
    let root = Path::new(ROOT).join("docs");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(&root).unwrap().to_str().expect("UTF-8").to_owned()),
            }
        }
    }
    // Pictures that a test compares are on no page.
    found.retain(|path| !path.ends_with(".patch") && !path.starts_with("screenshots/gallery/"));
    found.sort();
    found
}

/// The text of a page.
pub fn page(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The blocks of code of a text, in order; those in lists are indented.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (line, number) in text.lines().zip(1..) {
        let bare = line
            .trim_start()
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .trim_start_matches(". ");
        match &mut open {
            None => {
                if let Some(info) = bare.strip_prefix("```") {
                    let indent = line.len() - bare.len();
                    open = Some((indent, Block { info: info.to_owned(), text: String::new(), line: number }));
                }
            }
            Some((indent, block)) => {
                if line.trim() == "```" {
                    found.extend(open.take().map(|(_, block)| block));
                } else {
                    let cut = line.len().min(*indent).min(line.len() - line.trim_start().len());
                    block.text += &format!("{}\n", &line[cut..]);
                }
            }
        }
    }
    assert_eq!(open, None, "a block without an end");
    found
}

/// The text without its blocks of code.
pub fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().map(|line| {
        let is_fence =
            line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let is_fence = is_fence.trim_start().starts_with("```");
        let shown = !is_code && !is_fence;
        is_code ^= is_fence;
        if shown { line } else { "" }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Stand-in for `cargo run` and `cargo build` that uses the built binary.
const CARGO: &str = r#"#!/bin/sh
case "$1 $2 $3" in
  "run --quiet --") shift 3; exec pi-rpc "$@" ;;
  "build "*) exit 0 ;;
esac
echo "cargo $*: not what is expected" >&2
exit 1
"#;

/// A folder that looks like a clone in which the binary was built, with a home of its own.
pub struct Clone {
    dir: TempDir,
}

impl Clone {
    pub fn new(binary: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clone = Self { dir };
        for folder in ["clone/target/debug", "clone/target/release", "home", "bin", "out"] {
            fs::create_dir_all(clone.path(folder)).unwrap();
        }
        for entry in fs::read_dir(ROOT).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() != "target" {
                symlink(entry.path(), clone.path("clone").join(entry.file_name())).unwrap();
            }
        }
        for place in ["clone/target/debug/pi-rpc", "clone/target/release/pi-rpc", "bin/pi-rpc"] {
            symlink(binary, clone.path(place)).unwrap();
        }
        clone.program("cargo", CARGO);
        clone
    }

    /// An empty folder, in which the binary is installed.
    pub fn without_repository(binary: &Path) -> Self {
        let clone = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["clone", "home", "bin", "out"] {
            fs::create_dir_all(clone.path(folder)).unwrap();
        }
        symlink(binary, clone.path("bin/pi-rpc")).unwrap();
        clone
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Puts a program before those of the path.
    pub fn program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a script of `sh` in the clone.
    pub fn run(&self, script: &str) -> Output {
        let path = env::var("PATH").unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(self.path("clone")).stdin(Stdio::null()).env_clear();
        shell.env("PATH", format!("{}:{path}", self.path("bin").display())).env("HOME", self.path("home"));
        shell.env("TMPDIR", self.dir.path()).env("PYTHONDONTWRITEBYTECODE", "1");
        shell.output().unwrap()
    }

    /// Runs blocks one after another in one shell, as a reader does; returns the stdout of each, or what went
    /// wrong, with the line of the block.
    pub fn run_all(&self, blocks: &[&Block]) -> Result<Vec<String>, String> {
        let mut script = String::from("set -e\n");
        let out = |at: usize| self.path("out").join(at.to_string());
        for (at, block) in blocks.iter().enumerate() {
            let out = out(at);
            script += &format!("{{\n{}\n}} > '{}' 2> '{}.err'\n", block.text, out.display(), out.display());
            script += "status=$?; [ $status = 0 ] || exit $status\n";
        }
        let output = self.run(&script);
        let begun = (0..blocks.len()).take_while(|at| out(*at).exists()).count();
        if !output.status.success() {
            let last = begun.saturating_sub(1);
            let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
            let (stdout, stderr) = (read(out(last)), read(out(last).with_extension("err")));
            let line = blocks.get(last).map_or(0, |block| block.line);
            let own = String::from_utf8_lossy(&output.stderr);
            let tail = |text: String| {
                text.chars().rev().take(1500).collect::<Vec<_>>().into_iter().rev().collect::<String>()
            };
            return Err(format!("line {line}: {}: {own}{}\n{}", output.status, tail(stderr), tail(stdout)));
        }
        Ok((0..blocks.len()).map(|at| fs::read_to_string(out(at)).unwrap_or_default()).collect())
    }
}
