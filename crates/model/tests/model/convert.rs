//! The conversation as any provider takes it.

use crate::model_support::{
    Asked, assistant, call_of, extend, image, returned, stopped, text, thinking, user,
};
use pi_rpc_model::convert::{Chat, ChatBlock, ChatPart, ChatTurn, convert};
use serde_json::{Value, json};

const API: &str = "any";
const SELF: &str = "p/any/m";

/// The conversation in short: a line for each turn, each result and each image.
fn lines(history: Value) -> Vec<String> {
    short(&convert(&Asked::new(API, json!({}), history).request(), |id, by| format!("{}:{id}", by.model)))
}

fn short(chat: &Chat<'_>) -> Vec<String> {
    let parts = |parts: &[ChatPart<'_>]| {
        let part = |part: &ChatPart<'_>| match part {
            ChatPart::Text(text) => text.to_string(),
            ChatPart::Image(image) => format!("<{}>", image.mime_type),
        };
        parts.iter().map(part).collect::<Vec<_>>().join("|")
    };
    let block = |block: &ChatBlock<'_>| match block {
        ChatBlock::Text { text, signature } => format!("{text}/{}", signature.unwrap_or("-")),
        ChatBlock::Thinking { text, signature } => format!("({text})/{}", signature.unwrap_or("-")),
        ChatBlock::Redacted { data } => format!("({data})"),
        ChatBlock::Call { id, name, signature, .. } => format!("{name}#{id}/{}", signature.unwrap_or("-")),
    };
    let mut lines = Vec::new();
    for turn in chat {
        match turn {
            ChatTurn::User(content) => lines.push(format!("user: {}", parts(content))),
            ChatTurn::Developer(content) => lines.push(format!("developer: {}", parts(content))),
            ChatTurn::Assistant(turn) => {
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

/// A call without arguments.
fn empty(id: &str) -> Value {
    call_of(id, "t", json!({}))
}

fn calls(ids: &[&str]) -> Value {
    stopped(SELF, "toolUse", ids.iter().map(|id| empty(id)).collect())
}

/// What the call `id` returned.
fn had(id: &str, said: &str) -> Value {
    returned(id, "t", json!([text(said)]), false)
}

#[test]
fn results_follow_their_calls() {
    let long = format!("{}|fc_1", "x".repeat(40));
    let aborted = stopped(SELF, "aborted", json!([empty("1")]));
    let by_another = stopped("p/any/n", "toolUse", json!([empty("1"), empty("2")]));
    let cases = [
        (
            "a call without a result gets one, also at the end",
            json!([calls(&["1", "2"]), had("2", "b"), user(json!("go on")), calls(&["3"])]),
            vec![
                "assistant: t#1/-|t#2/-",
                "t#2: b",
                "t#1!: No result provided",
                "user: go on",
                "assistant: t#3/-",
                "t#3!: No result provided",
            ],
        ),
        (
            "a result moves to its call",
            json!([calls(&["1"]), user(json!("wait")), had("1", "late")]),
            vec!["assistant: t#1/-", "t#1: late", "user: wait"],
        ),
        (
            "a result without its call is left out",
            json!([
                had("0", "cut away"),
                aborted,
                had("1", "aborted"),
                calls(&["2"]),
                had("2", "a"),
                had("2", "again")
            ]),
            vec!["assistant: t#2/-", "t#2: a"],
        ),
        (
            "a result belongs to the latest call of its id",
            json!([calls(&["1"]), had("1", "a"), calls(&["1"]), had("1", "b")]),
            vec!["assistant: t#1/-", "t#1: a", "assistant: t#1_2/-", "t#1_2: b"],
        ),
        (
            "calls of one id are told apart",
            json!([calls(&["1", "1"]), had("1", "a"), had("1", "b"), had("1", "c")]),
            vec!["assistant: t#1/-|t#1_2/-", "t#1: a", "t#1_2: b"],
        ),
        ("an empty id", json!([calls(&[""]), had("", "a")]), vec!["assistant: t#_2/-", "t#_2: a"]),
        (
            "calls of another model get new ids",
            json!([by_another, had("2", "b"), had("1", "a")]),
            vec!["assistant: t#n:1/-|t#n:2/-", "t#n:2: b", "t#n:1: a"],
        ),
    ];
    for (case, history, expected) in cases {
        assert_eq!(lines(history), expected, "{case}");
    }
    let short = format!("{}_2", "x".repeat(30));
    assert_eq!(lines(json!([calls(&[&long, &long])]))[0], format!("assistant: t#{long}/-|t#{short}/-"));
}

#[test]
fn failed_and_empty_answers_are_left_out() {
    assert_eq!(
        lines(json!([
            stopped(SELF, "error", json!([text("half")])),
            stopped(SELF, "aborted", json!([text("half")])),
            assistant(SELF, json!([])),
            stopped(SELF, "length", json!([text("cut")])),
        ])),
        ["assistant: cut/-"]
    );
}

#[test]
fn only_same_model_gets_thinking_and_signatures() {
    let content = json!([
        thinking("why", "s1"),
        thinking("", "s2"),
        { "type": "thinking", "thinking": "x", "thinkingSignature": "s3", "redacted": true },
        { "type": "text", "text": "a", "textSignature": "s4" },
        { "type": "toolCall", "id": "1", "name": "t", "arguments": {}, "thoughtSignature": "s5" },
    ]);
    let no_result = "!: No result provided";
    assert_eq!(
        lines(json!([assistant(SELF, content.clone())])),
        ["assistant: (why)/s1|()/s2|(s3)|a/s4|t#1/s5".to_owned(), format!("t#1{no_result}")]
    );
    let stripped = |by: &str| [format!("assistant: a/-|t#{by}:1/-"), format!("t#{by}:1{no_result}")];
    assert_eq!(lines(json!([assistant("p/any/n", content.clone())])), stripped("n"));
    assert_eq!(lines(json!([assistant("p/other/m", content)])), stripped("m"));
}

#[test]
fn other_messages_become_user_messages() {
    let with = |mut message: Value, members: Value| {
        extend(&mut message, members);
        message
    };
    let bash = |output: &str, more: Value| {
        let usual = json!({
            "role": "bashExecution", "command": "ls", "output": output, "cancelled": false, "truncated": false,
            "timestamp": 1,
        });
        with(usual, more)
    };
    let python = |more: Value| {
        let usual = json!({
            "role": "pythonExecution", "code": "1/0", "output": "", "cancelled": false, "truncated": false,
            "timestamp": 1,
        });
        with(usual, more)
    };
    let summary =
        |role: &str, more: Value| with(json!({ "role": role, "summary": "S", "timestamp": 1 }), more);
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
            custom(json!([text("see"), image("AAAA")])),
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
        json!({}),
        json!([
            user(json!([image("AAAA"), image("AAAA"), text("a"), image("AAAA")])),
            calls(&["1"]),
            returned("1", "t", json!([image("AAAA")]), false),
        ]),
    );
    asked.options.blocks_images = true;
    let disabled = "Image reading is disabled.";
    assert_eq!(
        short(&convert(&asked.request(), |id, _| id.to_owned())),
        [format!("user: {disabled}|a|{disabled}"), "assistant: t#1/-".to_owned(), format!("t#1: {disabled}"),]
    );
}
