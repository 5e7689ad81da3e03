//! The conversation of the book takes place.

use crate::extended_support::{calling, extended};
use pi_rpc::protocol::{Dialect::Pi, FromExtension, ToExtension, read};
use serde_json::{Value, json};
use std::{fs, path::Path};

#[test]
fn conversation_of_the_book_takes_place() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/extension-frames.md");
    let page = fs::read_to_string(page).unwrap();
    let block = page.split("```text\n").nth(1).expect("the conversation").split("```").next().unwrap();
    // What it says is said; what it is told is kept.
    let mut body = "printf '%s\\n' \"$line\" > told\n".to_owned();
    let mut wanted: Vec<Value> = Vec::new();
    for line in block.lines() {
        match line.split_at(2) {
            ("< ", frame) => {
                read::<FromExtension>(frame.as_bytes(), Pi)
                    .unwrap_or_else(|error| panic!("{error}: {frame}"));
                // Requests are counted by the server.
                let shown = wanted.iter().rev().find_map(|told| told["id"].as_str()).unwrap_or_default();
                let said = frame.replace(&format!(":\"{shown}\""), ":\"'$request'\"");
                body += &format!("say '{said}'\n");
            }
            ("> ", frame) => {
                read::<ToExtension>(frame.as_bytes(), Pi).unwrap_or_else(|error| panic!("{error}: {frame}"));
                let frame: Value = serde_json::from_str(frame).unwrap();
                if frame["type"] != "hello" {
                    body += "next; printf '%s\\n' \"$line\" >> told\n";
                }
                if frame.get("id").is_some() {
                    body += "request=$id\n";
                }
                wanted.push(frame);
            }
            _ => panic!("neither told nor said: {line}"),
        }
    }
    let mut server =
        extended(Pi, &calling("die", json!({})), &[("it", &format!("{body}> over\ncat > /dev/null"))]);
    server.send(json!({"type": "prompt", "message": "/hi there"}));
    let dialog = server.until_type("extension_ui_request").pop().unwrap();
    server.send(json!({"type": "extension_ui_response", "id": dialog["id"], "value": "Ada"}));
    let notice = server.until_type("extension_ui_request").pop().unwrap();
    assert_eq!(notice["message"], "Hello, Ada");
    server.run("go");
    server.awaits("over");
    let told = fs::read_to_string(server.path("told")).unwrap();
    let mut told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // What differs from one time and place to another.
    for (told, wanted) in told.iter_mut().zip(&wanted) {
        for place in ["/id", "/cwd", "/agentDirectory", "/toolCallId", "/hook/toolCallId", "/event/messages"]
        {
            if let (Some(own), Some(shown)) = (told.pointer_mut(place), wanted.pointer(place)) {
                *own = shown.clone();
            }
        }
    }
    assert_eq!(told, wanted);
}
