//! The commit that the program is built from.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Names the commit for builds of sources that have neither a repository nor the note of `cargo package`.
const VARIABLE: &str = "PI_RPC_COMMIT";

/// The note of `cargo package` in what it packs.
const PACKAGED: &str = ".cargo_vcs_info.json";

/// Digits of a commit that are shown.
const DIGITS: usize = 12;

/// The commit of the sources at `root`: of the environment, else of the package, else of the repository.
pub fn find(root: &Path) -> Option<String> {
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    let named = env::var(VARIABLE).ok().filter(|named| !named.is_empty());
    named.map(|commit| shown(&commit)).or_else(|| of_package(root)).or_else(|| of_repository(root))
}

fn of_package(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join(PACKAGED)).ok()?;
    let note: serde_json::Value = serde_json::from_str(&text).ok()?;
    let commit = shown(note["git"]["sha1"].as_str()?);
    let is_dirty = note["git"]["dirty"].as_bool() == Some(true);
    Some(if is_dirty { format!("{commit}-dirty") } else { commit })
}

/// Only for fully optimised builds: others would be built again after each commit.
fn of_repository(root: &Path) -> Option<String> {
    if env::var("OPT_LEVEL").as_deref() != Ok("3") {
        return None;
    }
    // A repository around unpacked sources says nothing about them.
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if fs::canonicalize(top).ok()? != fs::canonicalize(root).ok()? {
        return None;
    }
    // Every commit and checkout adds a line there.
    let log = PathBuf::from(git(root, &["rev-parse", "--git-path", "logs/HEAD"])?);
    println!("cargo:rerun-if-changed={}", root.join(log).display());
    git(root, &["describe", "--always", "--dirty", "--exclude=*", &format!("--abbrev={DIGITS}")])
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned())
}

fn shown(commit: &str) -> String {
    commit.chars().filter(char::is_ascii_hexdigit).take(DIGITS).collect()
}
