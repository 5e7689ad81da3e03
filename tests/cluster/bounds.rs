//! What is long goes in parts, and what has to be short is refused: no client holds a session up.

use crate::{
    host_support::{hello, refusal},
    nodes::{Nodes, command_of, open, prompt, texts},
    servers::Servers,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};

/// A prompt with an image of so many bytes in base64.
fn photo(session: &str, id: &str, bytes: usize) -> Value {
    let image = json!({ "type": "image", "data": "A".repeat(bytes), "mimeType": "image/png" });
    let mut prompt = prompt(session, id, "Look");
    prompt["images"] = json!([image]);
    prompt
}

/// The lengths of the images in the messages.
fn images(messages: &Value) -> Vec<usize> {
    let messages = messages["data"]["messages"].as_array().unwrap();
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    blocks.filter_map(|block| block["data"].as_str()).map(str::len).collect()
}

#[test]
fn prompt_with_photo_is_served() {
    let Some(mut nodes) = Nodes::start(2, &hello()) else { return };
    let (mut first, mut second) = (nodes.client(0), nodes.client(1));
    let session = open(&mut first);
    for (index, client) in [&mut first, &mut second].into_iter().enumerate() {
        client.send(&photo(&session, &format!("p{index}"), 3_000_000));
        let frames = client.until_type("agent_settled");
        let response = frames.iter().find(|frame| frame["type"] == "response").unwrap();
        assert_eq!((&response["id"], &response["success"]), (&json!(format!("p{index}")), &json!(true)));
    }
    // The entries are whole for the next owner, too.
    nodes.end(0, Signal::TERM);
    let messages = second.request(&command_of(&session, "m", "get_messages"));
    assert_eq!(images(&messages), [3_000_000, 3_000_000]);
}

#[test]
fn announced_limit_of_messages_is_kept() {
    let Some(servers) = Servers::start_with(1, "max_payload: 65536\n") else { return };
    let mut nodes = Nodes::of(servers, 2, &hello(), "300");
    let session = open(&mut nodes.client(0));
    let mut client = nodes.client(1);
    client.send(&photo(&session, "p", 300_000));
    client.until_type("agent_settled");
    nodes.end(0, Signal::TERM);
    let messages = client.request(&command_of(&session, "m", "get_messages"));
    assert_eq!(images(&messages), [300_000]);
}

#[test]
fn long_names_are_refused() {
    let Some(mut nodes) = Nodes::start(2, &hello()) else { return };
    let (mut client, mut other) = (nodes.client(0), nodes.client(1));
    let long = "x".repeat(530_000);
    let error = |field: &str, limit: usize| format!("{field}: expected at most {limit} bytes, got 530000");
    let opened = client.request(&json!({ "type": "open_session", "id": "o", "name": long }));
    assert_eq!(
        opened,
        refusal(&json!("o"), "open_session", &format!("open_failed: {}", error("name", 4096)))
    );
    let opened =
        client.request(&json!({ "type": "open_session", "id": "o", "cwd": format!("/{}", &long[1..]) }));
    assert_eq!(opened["error"], format!("open_failed: {}", error("cwd", 4096)));
    let session = open(&mut client);
    for (mut command, expected) in [
        (command_of(&session, "n", "set_session_name"), error("name", 4096)),
        (command_of(&session, &long, "get_state"), error("id", 1024).replace("530000", "530002")),
    ] {
        command["name"] = json!(long);
        let response = other.request(&command);
        assert_eq!((&response["success"], &response["error"]), (&json!(false), &json!(expected)));
    }
    // The next owner can read the record.
    nodes.end(0, Signal::TERM);
    let state = other.request(&command_of(&session, "s", "get_state"));
    assert_eq!(state["success"], true, "{state}");
}

#[test]
fn many_outstanding_commands_fit_the_record() {
    let Some(servers) = Servers::start_with(1, "max_payload: 65536\n") else { return };
    let nodes = Nodes::of(servers, 1, &crate::host_support::waiting(), "300");
    let mut client = nodes.client(0);
    let session = open(&mut client);
    let mut compact = command_of(&session, "b", "bash");
    compact["command"] = json!("until [ -e go ] || [ ! -d \"$PWD\" ]; do sleep 0.2; done");
    // More than a record has room for, each with a long id, and none answered before the file is there.
    for number in 0..60 {
        compact["id"] = json!(format!("{number}{}", "i".repeat(1000)));
        client.send(&compact);
    }
    let state = client.request(&command_of(&session, "s", "get_state"));
    assert_eq!(state["success"], true, "{state}");
    nodes.put("go");
    let mut answered = 0;
    while answered < 60 {
        answered += usize::from(client.next()["command"] == "bash");
    }
    assert_eq!(texts(&client.request(&command_of(&session, "m", "get_messages"))).len(), 60);
}

/// Calls that give NATS a message, in `crates/cluster/src`: the file, the call, how often it is there, and what bounds the message.
const WRITES: [(&str, &str, usize, &str); 9] = [
    ("fenced.rs", "send_publish(", 1, "append splits, append_whole refuses what does not fit"),
    (
        "publisher.rs",
        "send_publish(",
        1,
        "a longer line is split; the message that names its parts has no payload",
    ),
    ("lease.rs", "client.publish(", 2, "NodeInfo::check bounds the name and the labels"),
    ("entries.rs", "subject.append(", 1, "split"),
    ("owner/mod.rs", "writer.append(", 1, "empty"),
    ("owner/output_task.rs", "output.append(", 1, "split"),
    ("records.rs", "append_whole(", 1, "save leaves out what does not fit; names are bounded by the host"),
    ("fenced.rs", "append_whole(", 1, "its definition"),
    ("shared_usage.rs", "send_publish(", 1, "numbers of four days; the key is a name of at most 256 bytes"),
];

/// Calls of the library that would go past these.
const OTHER_CALLS: [&str; 7] = [
    "publish_with_",
    "context.publish(",
    "sessions.put(",
    "sessions.create(",
    "sessions.update(",
    "client.request(",
    "context.request(",
];

#[test]
fn every_write_to_nats_is_bounded() {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/cluster/src")];
    let root = folders[0].clone();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let file = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let calls: BTreeSet<&str> = WRITES.iter().map(|(_, call, ..)| *call).chain(OTHER_CALLS).collect();
            for call in calls {
                let count = text.matches(call).count();
                if count > 0 {
                    found.push((file.clone(), call, count));
                }
            }
        }
    }
    let mut known: Vec<_> =
        WRITES.iter().map(|(file, call, count, _)| ((*file).to_owned(), *call, *count)).collect();
    found.sort_unstable();
    known.sort_unstable();
    assert_eq!(found, known, "a write to NATS has no row that says what bounds it");
}
