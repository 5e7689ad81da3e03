//! The file of a session: who may write to it, and what is left of it when writing goes wrong.

use crate::session_support::*;
use pi_rpc_protocol::{Base, Dialect};
use pi_rpc_session::NewEntry;
use pi_rpc_session_store::{OpenError, WriteError};
use serde_json::json;
use std::{
    fs::{self, OpenOptions, Permissions},
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
};

#[test]
fn entries_are_appended_in_order() {
    let (_directory, path) = with(conversation());
    let (mut store, tree, notices) = opened(&path);
    let mut tree = tree.unwrap();
    assert_eq!((notices, store.path(), store.exists()), (vec![], Some(path.as_path()), true));
    for text in ["three", "four"] {
        let line = tree.append(NewEntry::Message(asked(text)), stamp(Dialect::Pi, 0), &mut random());
        store.append([line]).unwrap();
    }
    assert_eq!(text(&path), bytes(&tree));
    assert!(text(&path).starts_with(&conversation()));
}

#[test]
fn new_session_file_appears_with_first_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/er/s.jsonl");
    let (mut store, tree, _) = opened(&path);
    assert!(tree.is_none() && !store.exists() && !path.exists());
    assert_eq!(store.path(), Some(path.as_path()));
    let tree = fresh();
    store.append(tree.lines().into_iter().chain([line("one")])).unwrap();
    assert!(store.exists());
    store.append([line("two")]).unwrap();
    assert_eq!(text(&path), bytes(&tree) + &said(&["one", "two"]));
}

#[test]
fn a_long_session_is_written_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    let texts: Vec<String> = (0..3000).map(|n| format!("{n}{}", "x".repeat(500))).collect();
    let huge = ["y".repeat(3 << 20)];
    let texts: Vec<&str> =
        texts[..2000].iter().chain(&huge).chain(&texts[2000..]).map(String::as_str).collect();
    let (mut store, ..) = opened(&path);
    store.append(texts.iter().map(|text| line(text))).unwrap();
    store.append([line("more")]).unwrap();
    assert!(text(&path) == said(&texts) + &said(&["more"]));
}

#[test]
fn empty_file_can_hold_new_session() {
    let (_directory, path) = with("");
    let before = fs::metadata(&path).unwrap().ino();
    let (mut store, tree, notices) = opened(&path);
    assert!(tree.is_none() && store.exists() && notices.is_empty());
    store.append(fresh().lines()).unwrap();
    assert_eq!((text(&path), fs::metadata(&path).unwrap().ino()), (bytes(&fresh()), before));
}

#[test]
fn other_content_is_refused_and_unchanged() {
    let (directory, notes) = with("# Notes\n\nBuy milk.");
    let wide = directory.path().join("wide.jsonl");
    fs::write(&wide, b"\xff\xfe{\0\"\0").unwrap();
    let refusal = |path: &Path| {
        let (store, opened) = open(path);
        assert_eq!(store.path(), None);
        opened.unwrap_err().host_text(Base::Pi).replace(directory.path().to_str().unwrap(), "DIR")
    };
    assert_eq!(refusal(&notes), "Not a session file (no header in its first line): DIR/s.jsonl");
    assert_eq!(refusal(&wide), "Not a session file (no header in its first line): DIR/wide.jsonl");
    assert_eq!(refusal(directory.path()), "Not a session file (not a regular file): DIR");
    assert_eq!(refusal(Path::new("/dev/null")), "Not a session file (not a regular file): /dev/null");
    let inside = notes.join("s.jsonl");
    let expected = "Cannot open session file DIR/s.jsonl/s.jsonl: Not a directory (os error 20)";
    assert_eq!(refusal(&inside), expected);
    assert_eq!((text(&notes).as_str(), fs::read(&wide).unwrap().len()), ("# Notes\n\nBuy milk.", 6));
}

#[test]
fn failed_open_keeps_bound_file() {
    let (_directory, path) = with(conversation());
    let (_other, notes) = with("# Notes\n");
    let (mut store, ..) = opened(&path);
    assert!(store.open(&notes, &mut random()).is_err());
    assert!(
        matches!(store.create(notes.clone(), [line("one")]), Err(WriteError::Changed(at)) if at == notes)
    );
    store.append([line("three")]).unwrap();
    assert_eq!(text(&path), conversation() + &said(&["three"]));
    assert_eq!(text(&notes), "# Notes\n");
}

#[test]
fn file_in_use_is_refused_to_others() {
    let (_directory, path) = with(conversation());
    let (mut first, ..) = opened(&path);
    let (_, second) = open(&path);
    let expected = format!("Session file is in use by another process: {}", path.display());
    assert_eq!(second.unwrap_err().to_string(), expected);
    // One that was begun, or written anew, is in use, too.
    first.rewrite(fresh().lines()).unwrap();
    assert!(matches!(open(&path).1, Err(OpenError::InUse(_))));
    let new = path.with_file_name("new.jsonl");
    first.create(new.clone(), fresh().lines()).unwrap();
    assert!(matches!(open(&new).1, Err(OpenError::InUse(_))));
    // And the one before is free.
    assert!(open(&path).1.is_ok());
    first.release();
    assert_eq!((first.path(), open(&new).1.is_ok()), (None, true));
    assert!(matches!(first.append([line("one")]), Err(WriteError::Unbound)));
}

#[test]
fn own_file_can_be_opened_again() {
    let (_directory, path) = with(conversation());
    let link = path.with_file_name("link.jsonl");
    symlink(&path, &link).unwrap();
    let (mut store, ..) = opened(&path);
    store.append([line("three")]).unwrap();
    for again in [&path, &link] {
        let tree = store.open(again, &mut random()).unwrap().tree.unwrap();
        assert_eq!(bytes(&tree), text(&path));
        assert!(matches!(open(&path).1, Err(OpenError::InUse(_))));
        store.append([line(&format!("after {again:?}"))]).unwrap();
    }
    assert_eq!(text(&path).lines().count(), 6);
}

#[test]
fn file_changed_by_another_is_not_written() {
    let changes: [fn(&Path); 5] = [
        |path| OpenOptions::new().append(true).open(path).unwrap().write_all(b"{}\n").unwrap(),
        |path| OpenOptions::new().write(true).open(path).unwrap().set_len(3).unwrap(),
        |path| fs::remove_file(path).unwrap(),
        |path| {
            let other = path.with_file_name("other");
            fs::write(&other, conversation()).unwrap();
            fs::rename(other, path).unwrap();
        },
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (_directory, path) = with(conversation());
        let (mut store, ..) = opened(&path);
        change(&path);
        let left = fs::read(&path).ok();
        for _ in 0..2 {
            let expected = format!(
                "Session file was changed or removed by another program; nothing was written: {}",
                path.display()
            );
            assert_eq!(store.append([line("three")]).unwrap_err().to_string(), expected, "change {number}");
            assert_eq!(store.rewrite(fresh().lines()).unwrap_err().to_string(), expected, "change {number}");
        }
        assert_eq!(fs::read(&path).ok(), left, "change {number}");
    }
}

#[test]
fn new_session_refuses_file_that_appeared_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    let (mut store, ..) = opened(&path);
    fs::write(&path, conversation()).unwrap();
    assert!(matches!(store.append(fresh().lines()), Err(WriteError::Changed(_))));
    assert_eq!(text(&path), conversation());
}

#[test]
fn torn_line_is_cut_off_on_open() {
    let (_directory, path) = with(conversation() + r#"{"type":"message","id":"c""#);
    let (mut store, tree, notices) = opened(&path);
    assert_eq!(notices, ["line 4 is incomplete (26 bytes): its writer was stopped"]);
    assert_eq!((bytes(&tree.unwrap()), text(&path)), (conversation(), conversation()));
    store.append([line("three")]).unwrap();
    assert_eq!(text(&path), conversation() + &said(&["three"]));
}

#[test]
fn unreadable_entries_are_noticed_on_open() {
    let odd = |id: &str, parent: &str| {
        entry("message", id, Some(parent), json!({ "message": { "role": "oracle" } }))
    };
    let left = [user("a", None, "one"), odd("left", "a"), odd("b", "a"), user("c", Some("b"), "two")];
    let (_directory, path) = with(file(&[&[HEADER.to_owned()][..], &left].concat()));
    let (_, _, notices) = opened(&path);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].starts_with("entry b could not be read whole: "), "{notices:?}");
}

#[test]
fn torn_header_is_cut_off() {
    let (_directory, path) = with(r#"{"type":"session","ver"#);
    let (mut store, tree, notices) = opened(&path);
    assert!(tree.is_none());
    assert_eq!(notices, ["line 1 is incomplete (22 bytes): its writer was stopped"]);
    store.append(fresh().lines()).unwrap();
    assert_eq!(text(&path), bytes(&fresh()));
}

#[test]
fn missing_line_feed_is_added_before_append() {
    for (tail, kept) in [("", ""), ("\nSegmentation fault", "\nSegmentation fault")] {
        let before = conversation().trim_end().to_owned() + tail;
        let (_directory, path) = with(&before);
        let (mut store, ..) = opened(&path);
        assert_eq!(text(&path), before);
        store.append([line("three")]).unwrap();
        store.append([line("four")]).unwrap();
        let more = said(&["three", "four"]);
        assert_eq!(text(&path), format!("{}{kept}\n{more}", conversation().trim_end()));
    }
}

#[test]
fn old_file_is_migrated_on_open() {
    let old = HEADER.replace(r#""version":3,"#, "");
    let old_entry =
        json!({ "type": "message", "message": { "role": "user", "content": "one", "timestamp": 1 } });
    let (_directory, path) = with(file(&[old, old_entry.to_string()]));
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let link = path.with_file_name("link.jsonl");
    symlink(&path, &link).unwrap();
    let (mut store, tree, notices) = opened(&link);
    let tree = tree.unwrap();
    assert_eq!((notices, text(&path)), (vec![], bytes(&tree)));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    store.append([line("two")]).unwrap();
    assert_eq!(text(&path), bytes(&tree) + &said(&["two"]));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn new_header_replaces_file_atomically() {
    let (_directory, path) = with(conversation());
    let (mut store, tree, _) = opened(&path);
    let mut tree = tree.unwrap();
    // Left by somebody who was killed.
    fs::write(path.with_file_name(".s.jsonl.pi-rpc"), "half a fi").unwrap();
    // The user's own.
    fs::write(path.with_file_name("s.jsonl.new"), "mine").unwrap();
    tree.rename("A name", stamp(Dialect::Xcsh, 0), &mut random());
    store.rewrite(tree.lines()).unwrap();
    store.append([line("three")]).unwrap();
    let titled = conversation().replacen('}', r#","title":"A name","titleSource":"user"}"#, 1);
    assert_eq!(text(&path), titled + &said(&["three"]));
    assert_eq!(text(&path.with_file_name("s.jsonl.new")), "mine");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn failed_header_rewrite_leaves_file_unchanged() {
    let (_directory, path) = with(conversation());
    let (mut store, ..) = opened(&path);
    // Where the new file would be written, there is something else.
    fs::create_dir(path.with_file_name(".s.jsonl.pi-rpc")).unwrap();
    assert!(matches!(store.rewrite(fresh().lines()), Err(WriteError::Refused(..))));
    assert_eq!(text(&path), conversation());
    store.append([line("three")]).unwrap();
}
