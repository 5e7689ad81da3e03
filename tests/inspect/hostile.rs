//! A hostile server neither fills the memory nor misleads the page.

use crate::inspect_support::Page;
use serde_json::{Value, json};
use std::{fs, io::Write as _};

#[test]
fn long_lines_are_shown_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let mut file = fs::File::create(&path).unwrap();
    let text = "x".repeat(5 << 20);
    writeln!(file, "{}", json!({ "t": 0, "dir": "out", "frame": { "type": "extension_error", "extensionPath": "a", "event": "b", "error": text } })).unwrap();
    let page = Page::of_file(&path);
    let row = page.get("api/records")["rows"][0].clone();
    assert_eq!(json!([row["whole"], row["kind"]]), json!([false, "extension_error"]));
    assert!(row["text"].as_str().unwrap().len() < 500);
    let detail = page.get("api/records/1");
    assert_eq!(detail["cut"], true);
    assert_eq!(detail["text"].as_str().unwrap().len(), 1 << 20);
    let whole = page.request("GET", "api/records/1/text", "");
    assert!(whole.body.len() > 5 << 20);
    let item = page.get("api/items")["items"][0].clone();
    assert_eq!(item["parts"][0]["cut"], true);
}

#[test]
fn many_long_items_come_without_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let mut file = fs::File::create(&path).unwrap();
    let frame = json!({ "type": "extension_error", "extensionPath": "a", "event": "b", "error": "x".repeat(5 << 20) });
    let line = json!({ "t": 0, "dir": "out", "frame": frame }).to_string();
    for _ in 0..5 {
        writeln!(file, "{line}").unwrap();
    }
    let page = Page::of_file(&path);
    let items = page.get("api/items")["items"].clone();
    let lengths =
        items.as_array().unwrap().iter().map(|item| item["parts"][0]["text"].as_str().unwrap().len());
    assert_eq!(lengths.collect::<Vec<_>>(), [4000, 4000, 4000, 0, 0]);
    let whole = page.get("api/items/4");
    assert_eq!(whole["parts"][0]["text"].as_str().unwrap().len(), 1 << 20);
}

#[test]
fn rows_show_control_characters_written_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.log");
    fs::write(&path, "{\"type\":\"agent_start\"}\n\u{1b}[2J\u{202e}<script>\n").unwrap();
    let page = Page::of_file(&path);
    let row = page.get("api/records/2")["row"].clone();
    assert_eq!(row["text"], r"\u{1b}[2J\u{202e}<script>");
    let detail = page.get("api/records/2");
    assert_eq!(
        json!([detail["text"], detail["shown"]]),
        json!(["\u{1b}[2J\u{202e}<script>", r"\u{1b}[2J\u{202e}<script>"])
    );
}

#[test]
fn flood_comes_in_small_updates() {
    let script = "yes '{\"type\":\"turn_start\"}' | head -n 100000; read line";
    let page = Page::of_command(&["sh", "-c", script], None);
    let mut live = page.follow();
    let mut rows = 0;
    loop {
        let update = live.next_of("update");
        let text = update.to_string();
        assert!(update["rows"].as_array().unwrap().len() <= 200, "{text}");
        assert!(update["findings"].as_array().unwrap().len() <= 50, "{text}");
        rows += update["rows"].as_array().unwrap().len() as u64 + update["missed"].as_u64().unwrap();
        live.acknowledge();
        if update["totals"]["out"] == 100_000 {
            assert_eq!(json!(rows), update["totals"]["records"]);
            break;
        }
    }
    let totals = page.get("api/session")["totals"].clone();
    assert!(totals["findings"].as_u64().unwrap() <= 10_000, "{totals}");
}

#[test]
fn half_lines_are_kept_as_they_are() {
    let page = Page::of_command(&["sh", "-c", "printf '{\"type\":\"agent_st'; exit 3"], None);
    page.until(|session| session["source"]["exit"] == 3);
    page.until_records(3);
    let rows = page.get("api/records");
    let facts: Vec<Value> =
        rows["rows"].as_array().unwrap().iter().map(|row| json!([row["dir"], row["kind"]])).collect();
    assert_eq!(json!(facts), json!([["meta", "spawn"], ["out", "no frame"], ["meta", "exit"]]));
}

#[test]
fn server_that_is_missing_is_reported() {
    let page = Page::of_command(&["/nothing/there"], None);
    let session = page.until(|session| session["live"] == false);
    let reason = session["sendsNot"].as_str().unwrap();
    assert!(reason.starts_with("cannot start /nothing/there: "), "{reason}");
}
