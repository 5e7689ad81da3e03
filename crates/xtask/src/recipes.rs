//! `cargo run -p xtask -- recipes`: tries the recipes of `docs/contributing` as a contributor would follow them.
//!
//! A recipe is a page, `NAME.md`, and beside it what it changes by hand, `NAME.patch`. The patches are applied to a copy of the
//! repository below `target/recipes`, as many at once as do not touch the same lines; then the blocks `sh needs-patch` of their pages
//! run there, what is generated is written once for all of them, and the tests run that a line `Test:` in the head of a patch names.
//! What does not apply beside the others has its turn in the next copy. All copies are made in the same folder, one after another, and
//! build in the repository's own folder of cargo: what a patch does not concern is not built again.

use super::{cargo, root, run as call};
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// Folder of the recipes in the repository.
const RECIPES: &str = "docs/contributing";

/// Fence of the commands that follow a recipe's changes.
const FENCE: &str = "```sh needs-patch";

/// Line in the head of a patch: arguments of `cargo test`.
const TEST: &str = "Test: ";

/// Command that writes what is generated.
const BLESS: &str = "cargo bless";

/// A recipe.
struct Recipe {
    name: String,
    page: String,
    patch: String,
}

/// Tries all recipes, or those that the arguments name.
///
/// # Errors
///
/// A patch does not apply, a command fails, or there is no such recipe.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let names = names()?;
    if let Some(unknown) = arguments.iter().find(|name| !names.contains(name)) {
        return Err(format!("recipes: expected some of {}, got {unknown}", names.join(", ")));
    }
    let wanted = names.into_iter().filter(|name| arguments.is_empty() || arguments.contains(name));
    let mut left = wanted.map(Recipe::read).collect::<Result<Vec<_>, _>>()?;
    while !left.is_empty() {
        left = follow(left)?;
    }
    Ok(())
}

/// The recipes, sorted.
fn names() -> Result<Vec<String>, String> {
    let folder = root().join(RECIPES);
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.strip_suffix(".patch")?.to_owned())).collect();
    names.sort();
    Ok(names)
}

impl Recipe {
    fn read(name: String) -> Result<Self, String> {
        let read = |end: &str| {
            let path = root().join(RECIPES).join(format!("{name}.{end}"));
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let (page, patch) = (read("md")?, read("patch")?);
        if commands(&page).is_empty() {
            return Err(format!("{RECIPES}/{name}.md: expected a block `{FENCE}`"));
        }
        if tests(&patch).is_empty() {
            return Err(format!("{RECIPES}/{name}.patch: expected a line `{TEST}`"));
        }
        Ok(Self { name, page, patch })
    }
}

/// Follows in a fresh copy of the repository those recipes that go together; the others are returned.
fn follow(recipes: Vec<Recipe>) -> Result<Vec<Recipe>, String> {
    let place = root().join("target/recipes");
    let tree = place.join("tree");
    copy_repository(&tree).map_err(|error| format!("{}: {error}", tree.display()))?;
    let in_tree = |mut command: Command| {
        // Git would look for the paths of the patch in the repository around the copy.
        command.current_dir(&tree).env("GIT_CEILING_DIRECTORIES", &place);
        call(command.env("CARGO_TARGET_DIR", root().join("target")))
    };
    let mut together = Vec::new();
    let mut left = Vec::new();
    for recipe in recipes {
        let mut apply = Command::new("git");
        apply.args(["apply", "--whitespace=error"]).arg(format!("{RECIPES}/{}.patch", recipe.name));
        match in_tree(apply) {
            Ok(()) => together.push(recipe),
            Err(error) if together.is_empty() => return Err(error),
            Err(_) => left.push(recipe),
        }
    }
    let names: Vec<&str> = together.iter().map(|recipe| recipe.name.as_str()).collect();
    eprintln!("== recipes {}", names.join(", "));
    for block in together.iter().flat_map(|recipe| commands(&recipe.page)) {
        let block: Vec<&str> = block.lines().filter(|line| *line != BLESS).collect();
        if !block.is_empty() {
            in_tree(shell(&block.join("\n")))?;
        }
    }
    in_tree(shell(BLESS))?;
    let tests: BTreeSet<&str> = together.iter().flat_map(|recipe| tests(&recipe.patch)).collect();
    for test in tests {
        let mut command = cargo(&["test", "--quiet"]);
        command.args(test.split_whitespace());
        in_tree(command)?;
    }
    Ok(left)
}

fn shell(commands: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-euc", commands]);
    shell
}

/// The blocks of commands of a page; those in lists are indented.
fn commands(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() == FENCE {
            let indent = line.len() - line.trim_start().len();
            let block = lines.by_ref().take_while(|line| line.trim_start() != "```");
            let block: Vec<&str> = block.map(|line| line.get(indent..).unwrap_or_default()).collect();
            blocks.push(block.join("\n"));
        }
    }
    blocks
}

/// Arguments of `cargo test`, a line each, from the head of a patch.
fn tests(patch: &str) -> Vec<&str> {
    let head = patch.lines().take_while(|line| !line.starts_with("diff "));
    head.filter_map(|line| line.strip_prefix(TEST)).collect()
}

/// Makes `tree` what the repository is now, with what is not yet committed. A file that is the same keeps its time, so that cargo
/// builds nothing again for it; any other gets a new one.
fn copy_repository(tree: &Path) -> io::Result<()> {
    let list = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()?;
    if !list.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&list.stderr).into_owned()));
    }
    let list = String::from_utf8(list.stdout).map_err(io::Error::other)?;
    let wanted: BTreeSet<PathBuf> =
        list.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    fs::create_dir_all(tree)?;
    remove_others(tree, Path::new(""), &wanted)?;
    for path in &wanted {
        let (from, to) = (root().join(path), tree.join(path));
        // What is deleted and not yet committed is still in the list.
        let Ok(kind) = from.symlink_metadata() else { continue };
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        if kind.is_symlink() {
            let target = fs::read_link(&from)?;
            if fs::read_link(&to).ok().as_ref() != Some(&target) {
                let _ = fs::remove_file(&to);
                symlink(target, &to)?;
            }
        } else if fs::read(&to).ok() != Some(fs::read(&from)?) {
            let _ = fs::remove_file(&to);
            fs::copy(&from, &to)?;
        }
    }
    // Commands of recipes name what is built by its path.
    if !tree.join("target").exists() {
        symlink("../..", tree.join("target"))?;
    }
    Ok(())
}

/// Removes what an earlier recipe has added.
fn remove_others(tree: &Path, folder: &Path, wanted: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(tree.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            remove_others(tree, &path, wanted)?;
            if fs::read_dir(entry.path())?.next().is_none() {
                fs::remove_dir(entry.path())?;
            }
        } else if !wanted.contains(&path) && path != Path::new("target") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
