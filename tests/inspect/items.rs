//! The conversation as people read it.

use crate::inspect_support::{Page, recording, without_times};
use pi_rpc::export::laid_out;
use serde_json::{Value, json};
use std::fs;

/// The items of a recording, without their times.
fn items(name: &str) -> String {
    laid_out(&without_times(Page::of_file(&recording(name)).get("api/items?count=200"))["items"], 140)
}

#[test]
fn tools_have_arguments_and_output() {
    insta::assert_snapshot!("items_tools", items("pi-1/tools.jsonl"));
}

#[test]
fn dialogs_have_question_and_answer() {
    insta::assert_snapshot!("items_dialogs", items("pi-1/dialogs.jsonl"));
}

#[test]
fn shells_and_refusals_are_items() {
    insta::assert_snapshot!("items_shell", items("xcsh/shell.jsonl"));
    insta::assert_snapshot!("items_refusals", items("pi/refusals.jsonl"));
}

/// The text of the first assistant message after each of its records.
fn texts(name: &str) -> Vec<String> {
    let page = Page::of_file(&recording(name));
    let items = page.get("api/items?count=200");
    let item = items["items"].as_array().unwrap().iter().find(|item| item["kind"] == "assistant").unwrap();
    let [first, last] = ["first", "last"].map(|key| item[key].as_u64().unwrap());
    let number = item["item"].as_u64().unwrap();
    let texts = (first..=last).map(|record| {
        let item = page.get(&format!("api/items/{number}?at={record}"));
        item["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["text"].as_str().unwrap().to_owned())
            .collect()
    });
    texts.collect()
}

#[test]
fn partial_message_grows_to_the_whole() {
    for name in ["pi/plain.jsonl", "pi-1/plain.jsonl", "xcsh/plain.jsonl"] {
        let texts = texts(name);
        assert!(texts.len() > 3, "{name}");
        for pair in texts.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{name}: {pair:?}");
        }
        assert_ne!(texts.last(), Some(&String::new()), "{name}");
    }
}

#[test]
fn images_are_served_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let block = |mime: &str| json!({ "type": "image", "data": "iVBORw==", "mimeType": mime });
    let message =
        json!({ "role": "user", "content": [block("image/png"), block("text/html")], "timestamp": 1 });
    let line = json!({ "t": 0, "dir": "out", "frame": { "type": "message_end", "message": message } });
    fs::write(&path, format!("{line}\n")).unwrap();
    let page = Page::of_file(&path);
    let parts = page.get("api/items")["items"][0]["parts"].clone();
    let image = page.request("GET", parts[0]["href"].as_str().unwrap(), "");
    assert!(image.headers.contains("content-type: image/png"), "{}", image.headers);
    assert_eq!(image.body, b"\x89PNG");
    let other = page.request("GET", parts[1]["href"].as_str().unwrap(), "");
    assert!(other.headers.contains("content-type: application/octet-stream"), "{}", other.headers);
    assert!(other.headers.contains("attachment"), "{}", other.headers);
}

#[test]
fn pages_go_both_ways() {
    let page = Page::of_file(&recording("pi-1/tools.jsonl"));
    let all = page.get("api/items?count=200");
    let numbers = |page: &Value| -> Vec<u64> {
        page["items"].as_array().unwrap().iter().map(|item| item["item"].as_u64().unwrap()).collect()
    };
    let total = all["total"].as_u64().unwrap();
    assert_eq!(numbers(&all), (0..total).collect::<Vec<_>>());
    let first = page.get("api/items?count=3");
    assert_eq!((numbers(&first), first["next"].clone()), (vec![0, 1, 2], json!(3)));
    let last = page.get("api/items?count=2&back=1");
    assert_eq!((numbers(&last), last["next"].clone()), (vec![total - 2, total - 1], json!(total - 3)));
}
