//! The tool `write`: what it makes, what it replaces, what it says.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::tools_support::{Place, assert_error, assert_ok};
use pi_rpc_tools::ToolOutput;
use serde_json::json;

async fn write(place: &Place, path: &str, content: &str) -> ToolOutput {
    place.call("write", json!({"path": path, "content": content})).await
}

#[tokio::test]
async fn a_file_is_made_with_its_directories() {
    let place = Place::new();
    let output = write(&place, "a/b/c.txt", "one\r\ntwo").await;
    assert_ok(&output, "Successfully wrote 8 bytes to a/b/c.txt");
    assert_eq!(output.details, None);
    assert_eq!(fs::read(place.path("a/b/c.txt")).unwrap(), b"one\r\ntwo");
    assert_ok(&write(&place, "@a/b/c.txt", "").await, "Successfully wrote 0 bytes to @a/b/c.txt");
    assert_eq!(fs::read(place.path("a/b/c.txt")).unwrap(), b"");
}

#[tokio::test]
async fn sizes_are_utf16_code_units() {
    let place = Place::new();
    assert_ok(&write(&place, "f", "é😀").await, "Successfully wrote 3 bytes to f");
    assert_eq!(fs::read_to_string(place.path("f")).unwrap(), "é😀");
}

#[tokio::test]
async fn mode_and_links_of_file_stay() {
    let place = Place::new();
    place.write("real", "old");
    fs::set_permissions(place.path("real"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("real", place.path("link")).unwrap();
    symlink("later", place.path("dangling")).unwrap();
    assert_ok(&write(&place, "link", "new").await, "Successfully wrote 3 bytes to link");
    assert_eq!(fs::read_to_string(place.path("real")).unwrap(), "new");
    assert_eq!(fs::metadata(place.path("real")).unwrap().mode() & 0o7777, 0o600);
    assert_ok(&write(&place, "dangling", "new").await, "Successfully wrote 3 bytes to dangling");
    assert_eq!(fs::read_to_string(place.path("later")).unwrap(), "new");
    assert!(place.path("link").is_symlink() && place.path("dangling").is_symlink());
    assert_eq!(fs::read_dir(place.dir.path()).unwrap().count(), 4);
}

#[tokio::test]
async fn private_file_stays_private_during_write() {
    let place = Place::new();
    place.write("secret", "old");
    fs::set_permissions(place.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    let directory = place.dir.path().to_owned();
    let written = place.start("write", json!({"path": "secret", "content": "a".repeat(1 << 26)}));
    let watcher = std::thread::spawn(move || {
        let mut modes = BTreeSet::new();
        while fs::metadata(directory.join("secret")).unwrap().len() == 3 {
            let metadata = fs::read_dir(&directory).unwrap().flatten().flat_map(|entry| entry.metadata());
            modes.extend(metadata.filter(|file| file.is_file()).map(|file| file.mode() & 0o7777));
        }
        modes
    });
    assert!(!written.ends().await.is_error);
    assert_eq!(watcher.join().unwrap(), BTreeSet::from([0o600]));
}

#[tokio::test]
async fn failed_write_is_reported() {
    let place = Place::new();
    place.write("file", "kept");
    let blocked = place.path("file");
    let blocked = format!("EEXIST: file already exists, mkdir '{}'", blocked.display());
    assert_error(&write(&place, "file/x", "new").await, &blocked);
    let directory = place.dir.path().display().to_string();
    let directory = format!("EISDIR: illegal operation on a directory, open '{directory}'");
    assert_error(&write(&place, ".", "new").await, &directory);
    place.fifo("fifo");
    let fifo = format!("Not a regular file: {}", place.path("fifo").display());
    assert_error(&write(&place, "fifo", "new").await, &fifo);
    assert_eq!(fs::read_to_string(place.path("file")).unwrap(), "kept");
}

#[tokio::test]
async fn edit_after_write_reads_written_text() {
    let place = Place::new();
    let written = place.start("write", json!({"path": "f", "content": "a".repeat(1 << 20) + "b"}));
    let edited = place.start("edit", json!({"path": "f", "oldText": "b", "newText": "c"}));
    assert!(!written.ends().await.is_error);
    assert!(!edited.ends().await.is_error);
    assert!(fs::read_to_string(place.path("f")).unwrap().ends_with("ac"));
}
