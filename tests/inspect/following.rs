//! A recording that another program still writes is followed.

use crate::inspect_support::Page;
use pi_rpc::inspect::Subject;
use serde_json::json;
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
};

fn line(kind: &str) -> String {
    format!("{}\n", json!({ "t": 1, "dir": "out", "frame": { "type": kind } }))
}

#[test]
fn growing_file_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    fs::write(&path, line("agent_start")).unwrap();
    let page = Page::of_file(&path);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    let more = line("turn_start");
    let (half, rest) = more.split_at(20);
    file.write_all(half.as_bytes()).unwrap();
    file.write_all(rest.as_bytes()).unwrap();
    let session = page.until_records(2);
    assert_eq!(json!([session["live"], session["source"]["grows"]]), json!([true, true]));
    assert_eq!(page.get("api/records/2")["row"]["kind"], "turn_start");
}

#[test]
fn replaced_file_is_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    fs::write(&path, line("agent_start") + &line("turn_start")).unwrap();
    let page = Page::of_file(&path);
    let other = folder.path().join("other.jsonl");
    fs::write(&other, line("ready")).unwrap();
    fs::rename(&other, &path).unwrap();
    page.until(|session| session["totals"]["records"] == 1);
    assert_eq!(page.get("api/records/1")["row"]["type"], "ready");
}

#[test]
fn last_line_needs_no_line_feed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    fs::write(&path, line("agent_start") + line("turn_start").trim_end()).unwrap();
    let page = Page::of(|_| Subject::File(path.clone()), None);
    page.until_records(2);
}

#[test]
fn lines_that_are_no_records_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    fs::write(&path, line("agent_start") + "nothing\n\n" + &line("turn_start")).unwrap();
    let page = Page::of_file(&path);
    let totals = page.until_records(2)["totals"].clone();
    assert_eq!(json!([totals["records"], totals["unread"]]), json!([2, 1]));
}
