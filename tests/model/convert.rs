//! The conversation as any provider takes it.

use crate::model_support::{Asked, assistant, call, image, result, stopped, text, user};
use pi_rpc::model::convert::{Block, Chat, Part, Turn, convert};
use serde_json::{Value, json};

const API: &str = "any";

/// The conversation in short: a line for each turn, each result and each image.
fn lines(history: Value) -> Vec<String> {
    short(&convert(&Asked::new(API, history).request(), |id, by| format!("{}:{id}", by.model)))
}

fn short(chat: &Chat<'_>) -> Vec<String> {
    let parts = |parts: &[Part<'_>]| {
        let part = |part: &Part<'_>| match part {
            Part::Text(text) => text.to_string(),
            Part::Image(image) => format!("<{}>", image.mime_type),
        };
        parts.iter().map(part).collect::<Vec<_>>().join("|")
    };
    let block = |block: &Block<'_>| match block {
        Block::Text { text, signature } => format!("{text}/{}", signature.unwrap_or("-")),
        Block::Thinking { text, signature } => format!("({text})/{}", signature.unwrap_or("-")),
        Block::Redacted { data } => format!("({data})"),
        Block::Call { id, name, signature, .. } => format!("{name}#{id}/{}", signature.unwrap_or("-")),
    };
    let mut lines = Vec::new();
    for turn in chat {
        match turn {
            Turn::User(content) => lines.push(format!("user: {}", parts(content))),
            Turn::Developer(content) => lines.push(format!("developer: {}", parts(content))),
            Turn::Assistant(turn) => {
                let blocks: Vec<String> = turn.blocks.iter().map(block).collect();
                lines.push(format!("assistant: {}", blocks.join("|")));
                lines.extend(turn.results.iter().map(|result| {
                    let failed = if result.is_error { "!" } else { "" };
                    format!("{}#{}{failed}: {}", result.name, result.id, parts(&result.content))
                }));
            }
        }
    }
    lines
}

fn calls(ids: &[&str]) -> Value {
    stopped(API, "m", "toolUse", ids.iter().map(|id| call(id, "t", json!({}))).collect())
}

fn returned(id: &str, said: &str) -> Value {
    result(id, "t", json!([text(said)]), false)
}

#[test]
fn a_call_without_a_result_gets_one_also_at_the_end() {
    assert_eq!(
        lines(json!([calls(&["1", "2"]), returned("2", "b"), user(json!("go on")), calls(&["3"])])),
        [
            "assistant: t#1/-|t#2/-",
            "t#2: b",
            "t#1!: No result provided",
            "user: go on",
            "assistant: t#3/-",
            "t#3!: No result provided",
        ]
    );
}

#[test]
fn a_result_moves_to_its_call() {
    assert_eq!(
        lines(json!([calls(&["1"]), user(json!("wait")), returned("1", "late")])),
        ["assistant: t#1/-", "t#1: late", "user: wait"]
    );
}

#[test]
fn a_result_without_its_call_is_left_out() {
    assert_eq!(
        lines(json!([
            returned("0", "of what was cut away"),
            stopped(API, "m", "aborted", json!([call("1", "t", json!({}))])),
            returned("1", "of the aborted answer"),
            calls(&["2"]),
            returned("2", "a"),
            returned("2", "again"),
        ])),
        ["assistant: t#2/-", "t#2: a"]
    );
}

#[test]
fn a_result_belongs_to_the_latest_call_of_its_id() {
    assert_eq!(
        lines(json!([calls(&["1"]), returned("1", "a"), calls(&["1"]), returned("1", "b")])),
        ["assistant: t#1/-", "t#1: a", "assistant: t#1_2/-", "t#1_2: b"]
    );
}

#[test]
fn calls_of_one_id_are_told_apart() {
    assert_eq!(
        lines(json!([calls(&["1", "1"]), returned("1", "a"), returned("1", "b"), returned("1", "c")])),
        ["assistant: t#1/-|t#1_2/-", "t#1: a", "t#1_2: b"]
    );
    assert_eq!(lines(json!([calls(&[""]), returned("", "a")])), ["assistant: t#_2/-", "t#_2: a"]);
    let long = format!("{}|fc_1", "x".repeat(40));
    let short = format!("{}_2", "x".repeat(30));
    assert_eq!(lines(json!([calls(&[&long, &long])]))[0], format!("assistant: t#{long}/-|t#{short}/-"));
}

#[test]
fn failed_and_empty_answers_are_left_out() {
    assert_eq!(
        lines(json!([
            stopped(API, "m", "error", json!([text("half")])),
            stopped(API, "m", "aborted", json!([text("half")])),
            assistant(API, "m", json!([])),
            stopped(API, "m", "length", json!([text("cut")])),
        ])),
        ["assistant: cut/-"]
    );
}

#[test]
fn only_the_same_model_gets_its_proofs_back() {
    let content = json!([
        { "type": "thinking", "thinking": "why", "thinkingSignature": "s1" },
        { "type": "thinking", "thinking": "", "thinkingSignature": "s2" },
        { "type": "thinking", "thinking": "x", "thinkingSignature": "s3", "redacted": true },
        { "type": "text", "text": "a", "textSignature": "s4" },
        { "type": "toolCall", "id": "1", "name": "t", "arguments": {}, "thoughtSignature": "s5" },
    ]);
    let no_result = "!: No result provided";
    assert_eq!(
        lines(json!([assistant(API, "m", content.clone())])),
        ["assistant: (why)/s1|()/s2|(s3)|a/s4|t#1/s5".to_owned(), format!("t#1{no_result}")]
    );
    let stripped = |by: &str| [format!("assistant: why/-|a/-|t#{by}:1/-"), format!("t#{by}:1{no_result}")];
    assert_eq!(lines(json!([assistant(API, "n", content.clone())])), stripped("n"));
    assert_eq!(lines(json!([assistant("other", "m", content)])), stripped("m"));
}

#[test]
fn results_follow_their_calls_into_new_ids() {
    let by_another =
        stopped(API, "n", "toolUse", json!([call("1", "t", json!({})), call("2", "t", json!({}))]));
    assert_eq!(
        lines(json!([by_another, returned("2", "b"), returned("1", "a")])),
        ["assistant: t#n:1/-|t#n:2/-", "t#n:2: b", "t#n:1: a"]
    );
}

#[test]
fn what_is_not_said_by_the_user_is_told_as_if() {
    let bash = |output: &str, more: Value| {
        let mut message = json!({
            "role": "bashExecution", "command": "ls", "output": output, "cancelled": false, "truncated": false,
            "timestamp": 1,
        });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let python = |more: Value| {
        let mut message = json!({
            "role": "pythonExecution", "code": "1/0", "output": "", "cancelled": false, "truncated": false,
            "timestamp": 1,
        });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let summary = |role: &str, more: Value| {
        let mut message = json!({ "role": role, "summary": "S", "timestamp": 1 });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let custom = |content: Value| json!({ "role": "custom", "customType": "c", "content": content, "display": true, "timestamp": 1 });
    assert_eq!(
        lines(json!([
            bash("a", json!({ "exitCode": 0 })),
            bash("", json!({ "exitCode": 2 })),
            bash("a", json!({ "cancelled": true, "truncated": true, "fullOutputPath": "/tmp/x" })),
            bash("a", json!({ "exitCode": 0, "excludeFromContext": true })),
            bash("a", json!({ "truncated": true })),
            bash("a", json!({ "truncated": true, "meta": { "truncation": {
                "direction": "tail", "truncatedBy": "lines",
                "totalLines": 9, "totalBytes": 99, "outputLines": 1, "outputBytes": 1,
            } } })),
            python(json!({ "exitCode": 1 })),
            python(json!({ "cancelled": true, "truncated": true })),
            python(json!({ "excludeFromContext": true })),
            summary("compactionSummary", json!({ "tokensBefore": 1 })),
            summary("branchSummary", json!({ "fromId": "x" })),
            custom(json!("note")),
            custom(json!([text("see"), image()])),
            { "role": "hookMessage", "customType": "c", "content": "old note", "display": true, "timestamp": 1 },
            { "role": "developer", "content": "hint", "timestamp": 1 },
            { "role": "fileMention", "timestamp": 1, "files": [
                { "path": "a", "content": "A" },
                { "path": "b.png", "content": "", "image": { "type": "image", "data": "AAAA", "mimeType": "image/png" } },
            ] },
        ])),
        [
            "user: Ran `ls`\n```\na\n```",
            "user: Ran `ls`\n(no output)\n\nCommand exited with code 2",
            "user: Ran `ls`\n```\na\n```\n\n(command cancelled)\n\n[Output truncated. Full output: /tmp/x]",
            "user: Ran `ls`\n```\na\n```\n\n[Output truncated.]",
            "user: Ran `ls`\n```\na\n```\n\n[Output truncated to 1 of 9 lines.]",
            "user: Ran Python:\n```python\n1/0\n```\n\n(no output)\n\nCommand exited with code 1",
            "user: Ran Python:\n```python\n1/0\n```\n\n(no output)\n\n(command cancelled)\n\n[Output truncated.]",
            "user: The conversation history before this point was compacted into the following summary:\n\n\
             <summary>\nS\n</summary>",
            "user: The following is a summary of a branch that this conversation came back from:\n\n\
             <summary>\nS</summary>",
            "user: note",
            "user: see|<image/png>",
            "user: old note",
            "developer: hint",
            "user: <system-reminder>\n<file path=\"a\">\nA\n</file>\n\n<file path=\"b.png\">\n\n</file>\n\
             </system-reminder>|<image/png>",
        ]
    );
}

#[test]
fn blocked_images_become_one_text() {
    let mut asked = Asked::new(
        API,
        json!([
            user(json!([image(), image(), text("a"), image()])),
            calls(&["1"]),
            result("1", "t", json!([image()]), false),
        ]),
    );
    asked.options.blocks_images = true;
    let disabled = "Image reading is disabled.";
    assert_eq!(
        short(&convert(&asked.request(), |id, _| id.to_owned())),
        [format!("user: {disabled}|a|{disabled}"), "assistant: t#1/-".to_owned(), format!("t#1: {disabled}"),]
    );
}
