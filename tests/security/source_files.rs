//! The Rust sources of the program.

use std::{fs, path::Path};

/// Every source file of the program and its crates, and its text: `cli/check.rs` of the root, `engine/io.rs` of a crate.
pub fn source_files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    add(&root.join("src"), "", &mut found);
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let folder = entry.unwrap();
        let name = folder.file_name().to_string_lossy().into_owned();
        if !["protocol", "test-kit", "xtask"].contains(&name.as_str()) {
            add(&folder.path().join("src"), &format!("{name}/"), &mut found);
        }
    }
    found.sort();
    found
}

fn add(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            add(&path, &format!("{prefix}{name}/"), found);
        } else if name.ends_with(".rs") {
            found.push((format!("{prefix}{name}"), fs::read_to_string(&path).unwrap()));
        }
    }
}
