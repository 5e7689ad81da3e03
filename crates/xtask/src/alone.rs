//! `cargo run -p xtask -- alone`: whether each crate is built, tested and documented by itself, with the features alone that it asks
//! for. What only another crate turns on does not show where all are built together.

use super::{cargo, root, run as call};
use std::fs;

/// Tries all crates of `crates`, or those that the arguments name by their folders.
///
/// # Errors
///
/// A crate fails, or there is none of this name. The others are tried all the same.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let folders = folders()?;
    if let Some(unknown) = arguments.iter().find(|name| !folders.contains(name)) {
        return Err(format!("alone: expected some of {}, got {unknown}", folders.join(", ")));
    }
    let mut failed = Vec::new();
    for folder in folders.iter().filter(|name| arguments.is_empty() || arguments.contains(name)) {
        let package = if folder == "xtask" { folder.clone() } else { format!("pi-rpc-{folder}") };
        for chore in [&["check"][..], &["test"], &["doc", "--no-deps"]] {
            let mut command = cargo(chore);
            command.args(["--quiet", "--locked", "-p", &package]).env("RUSTDOCFLAGS", "-D warnings");
            if let Err(error) = call(&mut command) {
                failed.push(error);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("alone:\n{}", failed.join("\n"))) }
}

/// The folders of the crates, sorted.
fn folders() -> Result<Vec<String>, String> {
    let entries = fs::read_dir(root().join("crates")).map_err(|error| format!("crates: {error}"))?;
    let mut folders: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    folders.sort();
    Ok(folders)
}
