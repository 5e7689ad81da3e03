//! The conversations that every bridge has, and what an editor must have seen of each.

use crate::{
    Outcome,
    client::{Client, Seen},
};
use serde_json::{Value, json};

/// A conversation: what the model says, what the editor does, and what must have arrived.
pub struct Conversation {
    /// What it is about.
    pub name: &'static str,
    /// Turns of the model's script.
    pub turns: fn() -> Vec<Value>,
    /// Plays it in a session of its own.
    pub play: fn(&mut Client) -> Outcome<Seen>,
    /// Whether the editor has seen what it needs.
    pub holds: fn(&Seen) -> bool,
}

fn says(prompt: &str, blocks: Value) -> Vec<Value> {
    vec![json!({ "match": { "regex": format!("^{prompt}") }, "repeat": true, "say": blocks })]
}

/// A call of a tool, and an answer to its result.
fn calls(prompt: &str, tool: &str, arguments: Value) -> Vec<Value> {
    says(prompt, json!([{ "tool": tool, "arguments": arguments }]))
}

/// An image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// All of them; [`END`](crate::model::END) is the answer to everything else.
pub const CONVERSATIONS: [Conversation; 20] = [
    Conversation {
        name: "a text",
        turns: || says("a text", json!([{ "text": "One answer, in pieces.", "size": 4 }])),
        play: |client| client.prompt("a text"),
        holds: |seen| seen.text() == "One answer, in pieces." && seen.of("agent_message_chunk").len() > 1,
    },
    Conversation {
        name: "thoughts",
        turns: || says("a thought", json!([{ "thinking": "Let me see." }, { "text": "Seen." }])),
        play: |client| client.prompt("a thought"),
        holds: |seen| seen.texts("agent_thought_chunk") == "Let me see." && seen.text() == "Seen.",
    },
    Conversation {
        name: "two prompts in a session",
        turns: Vec::new,
        play: |client| {
            client.prompt("first")?;
            client.prompt("second")
        },
        holds: |seen| seen.text() == crate::model::END,
    },
    Conversation {
        name: "a file that is read, with its place",
        turns: || calls("read it", "read", json!({ "path": "notes.txt" })),
        play: |client| client.prompt("read it"),
        holds: |seen| seen.place("notes.txt") && seen.status() == "completed",
    },
    Conversation {
        name: "a new file, as a difference",
        turns: || calls("write it", "write", json!({ "path": "new.txt", "content": "new\n" })),
        play: |client| client.prompt("write it"),
        holds: |seen| seen.difference("", "new\n"),
    },
    Conversation {
        name: "a change of a file, as a difference",
        turns: || {
            calls(
                "edit it",
                "edit",
                json!({ "path": "notes.txt", "edits": [{ "oldText": "one", "newText": "two" }] }),
            )
        },
        play: |client| client.prompt("edit it"),
        holds: |seen| seen.difference("one", "two"),
    },
    Conversation {
        name: "the output of a command",
        turns: || calls("run it", "bash", json!({ "command": "echo out" })),
        play: |client| client.prompt("run it"),
        holds: |seen| seen.last_call().to_string().contains("out\\n") && seen.status() == "completed",
    },
    Conversation {
        name: "a command that fails",
        turns: || calls("fail it", "bash", json!({ "command": "exit 3" })),
        play: |client| client.prompt("fail it"),
        holds: |seen| seen.status() == "failed",
    },
    Conversation {
        name: "two calls in one message",
        turns: || {
            let call =
                |text: &str| json!({ "tool": "bash", "arguments": { "command": format!("echo {text}") } });
            says("run both", json!([call("left"), call("right")]))
        },
        play: |client| client.prompt("run both"),
        holds: |seen| seen.ended_calls() == 2,
    },
    Conversation {
        name: "an image in the prompt",
        turns: || says("an image", json!([{ "text": "A pixel." }])),
        play: |client| {
            client.send_prompt(json!([
                { "type": "text", "text": "an image" },
                { "type": "image", "mimeType": "image/png", "data": PIXEL }
            ]))
        },
        holds: |seen| seen.text() == "A pixel.",
    },
    Conversation {
        name: "a file in the prompt",
        turns: || says("(?s).*a file inside", json!([{ "text": "Read." }])),
        play: |client| {
            let resource =
                json!({ "uri": "file:///inside.txt", "mimeType": "text/plain", "text": "a file inside" });
            client.send_prompt(json!([{ "type": "resource", "resource": resource }]))
        },
        holds: |seen| seen.text() == "Read.",
    },
    Conversation {
        name: "U+2028 and U+2029, both ways",
        turns: || says("one\u{2028}two\u{2029}", json!([{ "text": "a\u{2028}b\u{2029}c" }])),
        play: |client| client.prompt("one\u{2028}two\u{2029}three"),
        holds: |seen| seen.text() == "a\u{2028}b\u{2029}c",
    },
    Conversation {
        name: "an answer that is cut, as `max_tokens`",
        turns: || {
            vec![
                json!({ "match": { "regex": "^cut it" }, "repeat": true, "say": [{ "text": "Half" }], "stop": "length" }),
            ]
        },
        play: |client| client.prompt("cut it"),
        holds: |seen| seen.end == "max_tokens",
    },
    Conversation {
        name: "an error of the model, with its reason",
        turns: || {
            let failure = json!({ "status": 400, "message": "no such thing" });
            vec![json!({ "match": { "regex": "^break it" }, "repeat": true, "fail": failure })]
        },
        play: |client| client.prompt("break it"),
        holds: |seen| format!("{}{}", seen.end, seen.text()).contains("no such thing"),
    },
    Conversation {
        name: "a template as a slash command",
        turns: || says("Review the file notes", json!([{ "text": "Reviewed." }])),
        play: |client| client.prompt("/review notes"),
        holds: |seen| seen.text() == "Reviewed.",
    },
    Conversation {
        name: "a session that is named",
        turns: Vec::new,
        play: |client| {
            client.prompt("something to keep")?;
            client.prompt("/name Notes")
        },
        holds: |seen| seen.of("session_info_update").iter().any(|it| it["title"] == "Notes"),
    },
    Conversation {
        name: "the room that the conversation takes",
        turns: Vec::new,
        play: |client| client.prompt("how full"),
        holds: |seen| seen.of("usage_update").iter().any(|it| it["used"].as_u64() > Some(0)),
    },
    Conversation {
        name: "`confirm` of an extension's tool",
        turns: || calls("confirm it", "asker", json!({ "q": "Really?" })),
        play: |client| client.prompt("confirm it"),
        holds: |seen| seen.last_call().to_string().contains("user said true"),
    },
    Conversation {
        name: "`select` of an extension's command",
        turns: Vec::new,
        play: |client| client.prompt("/dlg select"),
        holds: |seen| seen.asked("session/request_permission"),
    },
    Conversation {
        name: "`input` of an extension's command",
        turns: Vec::new,
        play: |client| client.prompt("/dlg input"),
        holds: |seen| seen.asked("elicitation/create"),
    },
];
