//! The README tells the limits that there are, and a conversation that takes place.

use crate::extended_support::{calling, extended};
use pi_rpc::{
    engine::limits,
    extension::{MAX_FRAME, MAX_PENDING},
    protocol::{Dialect::Pi, FromExtension, ToExtension, read},
};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The README's section about extensions.
fn section() -> String {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let section = readme.split("\n## Extensions\n").nth(1).expect("the section");
    section.split("\n## ").next().unwrap().to_owned()
}

#[test]
fn the_limits_of_the_readme_are_those_that_hold() {
    let seconds = |limit: std::time::Duration| format!("{} s", limit.as_secs());
    let mebibytes = |limit: u64| format!("{} MiB", limit >> 20);
    let limits = [
        ("until `register`", seconds(limits::REGISTER_TIMEOUT)),
        (
            "until a `command` is taken up, by `accept` or by anything that names it",
            seconds(limits::ACCEPT_TIMEOUT),
        ),
        ("for a hook", seconds(limits::HOOK_TIMEOUT)),
        ("for what was cancelled", seconds(limits::CANCEL_TIMEOUT)),
        ("for a command when the input has ended", seconds(limits::END_OF_INPUT_TIMEOUT)),
        ("for `session_shutdown`", seconds(limits::EXIT_TIMEOUT)),
        ("a line", mebibytes(MAX_FRAME)),
        // The last one that is too many ends it.
        ("lines that are no frames, and frames out of place", (limits::MAX_BAD_LINES - 1).to_string()),
        ("hooks in a row that it did not answer in time", (limits::MAX_HANGS - 1).to_string()),
        ("open dialogs", limits::MAX_DIALOGS.to_string()),
        ("dialogs in a row that the host cannot be shown", limits::MAX_UNSHOWN_DIALOGS.to_string()),
        ("what it was told and has not read", mebibytes(MAX_PENDING as u64)),
        ("new starts, once it had registered", limits::MAX_RESTARTS.to_string()),
    ];
    let section = section();
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| | "));
    let told: Vec<(String, String)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            (cells[1].to_owned(), cells[2].to_owned())
        })
        .collect();
    assert_eq!(told, limits.map(|(what, limit)| (what.to_owned(), limit)));
}

#[test]
fn the_conversation_of_the_readme_takes_place() {
    let section = section();
    let block = section.split("```\n").nth(1).expect("the conversation");
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
