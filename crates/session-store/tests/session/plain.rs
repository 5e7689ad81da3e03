//! Messages of a file are told by their bytes where these say what the types would say, and by the types elsewhere.

use crate::session_support::*;
use fastrand::Rng;
use pi_rpc_protocol::{Base, Check as _, Dialect};
use pi_rpc_session::{NewEntry, Session, Tree};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{borrow::Cow, path::Path};

/// One message of each role, with members of every dialect that has the role.
fn messages() -> Vec<Value> {
    let cost =
        json!({ "input": 0.0003, "output": 1e-7, "cacheRead": 0, "cacheWrite": 0, "total": 0.0003001 });
    let usage = json!({
        "input": 10, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 11, "cost": cost,
    });
    let text = json!({ "type": "text", "text": "wört \"quoted\"\n" });
    let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
    let arguments = json!({ "path": "a", "limit": 7, "deep": { "list": [1, null, { "x": 0.5 }] } });
    let call = json!({ "type": "toolCall", "id": "c", "name": "read", "arguments": arguments });
    let thought = json!({ "type": "thinking", "thinking": "hm", "thinkingSignature": "s" });
    vec![
        json!({ "role": "user", "content": [text, image], "timestamp": 1 }),
        json!({ "role": "user", "content": "plain", "timestamp": 2 }),
        json!({
            "role": "assistant", "content": [thought, text, call], "api": "a", "provider": "p", "model": "m",
            "usage": usage, "stopReason": "toolUse", "timestamp": 3,
        }),
        json!({
            "role": "assistant", "content": [{ "type": "thinking", "thinking": "", "redacted": true }], "api": "a",
            "provider": "p", "model": "m", "usage": usage, "stopReason": "error", "errorMessage": "no",
            "responseId": "r", "durationMs": 4, "thinkingLevel": "high", "timestamp": 3,
        }),
        json!({
            "role": "toolResult", "toolCallId": "c", "toolName": "read", "content": [text],
            "details": { "diff": "+ a" }, "isError": false, "timestamp": 4,
        }),
        json!({
            "role": "toolResult", "toolCallId": "c", "toolName": "read", "content": [], "isError": true,
            "isWarning": true, "attribution": "agent", "timestamp": 4,
        }),
        json!({
            "role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "cancelled": false,
            "truncated": true, "fullOutputPath": "/tmp/x", "timestamp": 5,
        }),
        json!({ "role": "custom", "customType": "x", "content": "c", "display": true, "timestamp": 6 }),
        json!({ "role": "hookMessage", "customType": "x", "content": [text], "display": true, "timestamp": 7 }),
        json!({ "role": "developer", "content": "do", "attribution": "user", "timestamp": 8 }),
        json!({ "role": "system", "content": "", "sections": { "cwd": "/a", "gone": null }, "timestamp": 9 }),
        json!({ "role": "branchSummary", "summary": "s", "fromId": "x", "timestamp": 9 }),
        json!({ "role": "compactionSummary", "summary": "s", "tokensBefore": 9, "timestamp": 9 }),
        json!({ "role": "fileMention", "files": [{ "path": "a", "content": "b", "image": image }], "timestamp": 9 }),
        json!({ "role": "stranger", "timestamp": 10 }),
    ]
}

/// A file with these messages as they are written, one after another.
fn session(messages: &[String]) -> Tree {
    let mut lines = vec![HEADER.to_owned()];
    for (at, message) in messages.iter().enumerate() {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"{}\"", at - 1) };
        lines.push(format!(
            r#"{{"type":"message","id":"{at}","parentId":{parent},"timestamp":"2026-01-05T10:00:00.000Z","message":{message}}}"#
        ));
    }
    read(file(&lines)).tree
}

/// What the types say in this dialect.
fn typed(tree: &Tree, base: Base) -> Vec<Value> {
    let said = tree.context().messages.into_iter().filter(|message| message.kind().is_in(base));
    said.map(|message| {
        let mut message = message.as_ref().clone();
        message.fit(base);
        serde_json::to_value(message).unwrap()
    })
    .collect()
}

fn opened(tree: Tree) -> Session {
    Session::from_file(tree, Path::new("/w/s.jsonl").into())
}

fn told(session: &Session, base: Base) -> Vec<Value> {
    session.encoded_messages(base).map(|bytes| serde_json::from_slice(&bytes).unwrap()).collect()
}

/// How many messages are told by their bytes.
fn by_bytes(session: &Session, base: Base) -> usize {
    session.encoded_messages(base).filter(|bytes| matches!(bytes, Cow::Borrowed(_))).count()
}

#[test]
fn plain_message_is_copied_unparsed() {
    let all: Vec<String> = messages().iter().map(Value::to_string).collect();
    for base in Base::ALL {
        let tree = session(&all);
        let expected = typed(&tree, base);
        let session = opened(tree);
        assert_eq!(told(&session, base), expected, "{base:?}");
    }
    let session = opened(session(&all[..3]));
    for base in Base::ALL {
        assert_eq!(by_bytes(&session, base), 3);
    }
}

#[test]
fn message_of_another_dialect_is_parsed() {
    let warning = &messages()[5..6];
    let session = opened(session(&[warning[0].to_string()]));
    assert_eq!((by_bytes(&session, Base::Xcsh), by_bytes(&session, Base::Pi)), (1, 0));
    assert_eq!(told(&session, Base::Pi)[0].get("isWarning"), None);
}

#[test]
fn ambiguous_message_is_parsed() {
    let user = |content: &str| format!(r#"{{"role":"user","content":{content},"timestamp":1}}"#);
    let call = |arguments: &str| {
        let mut answer = messages()[2].clone();
        answer["content"] = json!([{ "type": "toolCall", "id": "c", "name": "x", "arguments": {} }]);
        answer.to_string().replace(r#""arguments":{}"#, &format!(r#""arguments":{arguments}"#))
    };
    let deep = format!("{}1{}", r#"{"a":["#.repeat(70), "]}".repeat(70));
    for (plain, message) in [
        (true, user(r#""a""#)),
        (true, user(r#" "\u00e9\ud83d\ude00" "#)),
        (false, user(r#""half \ud83d""#)),
        (false, user(r#""a","content":"b""#)),
        (false, user(r#""a","unknown":1"#)),
        (false, user(r#""a","synthetic":null"#)),
        (false, user("null")),
        (false, r#"{"content":"role last","timestamp":1,"role":"user"}"#.to_owned()),
        (false, r#"{"role":"user","content":"no time"}"#.to_owned()),
        (false, r#"{"role":"user","content":"odd time","timestamp":1.0}"#.to_owned()),
        (true, call(r#"{"a":1.50,"b":-0,"c":[1e3]}"#)),
        (false, call(r#"{"a":1,"a":2}"#)),
        (false, call(r#"{"a":{"\u0061":1,"a":2}}"#)),
        (false, call(r#"{"a":1e999}"#)),
        (false, call(&deep)),
        (false, call("[]")),
    ] {
        let tree = session(std::slice::from_ref(&message));
        let expected = typed(&tree, Base::Pi);
        let session = opened(tree);
        assert_eq!(told(&session, Base::Pi), expected, "{message}");
        assert_eq!(by_bytes(&session, Base::Pi), usize::from(plain), "{message}");
    }
}

#[test]
fn block_without_tag_is_parsed() {
    let image = json!({ "data": "aGk=", "mimeType": "image/png" });
    let mention = json!({ "role": "fileMention", "files": [{ "path": "a", "content": "b", "image": image }], "timestamp": 9 });
    let system = json!({ "role": "system", "content": [{ "text": "no type" }], "timestamp": 9 });
    for message in [mention, system] {
        let tree = session(&[message.to_string()]);
        for base in Base::ALL {
            assert_eq!(told(&opened(tree.clone()), base), typed(&tree, base), "{base:?} {message}");
        }
    }
}

#[test]
fn differently_written_line_is_not_cut_wrongly() {
    let message = messages()[0].to_string();
    let head = r#""type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T10:00:00.000Z""#;
    for (plain, line) in [
        (true, format!(r#"{{{head},"message":{message}}}"#)),
        (true, format!(r#"{{{head},"own":{{"message":1}},"message":{message}}}"#)),
        (true, format!(r#"{{{head},"own":"\"message\":","message": {message}}}"#)),
        (false, format!(r#"{{{head},"message" : {message}}}"#)),
        (false, format!(r#"{{{head},"message":{message} }}"#)),
        (false, format!(r#" {{{head},"message":{message}}} "#)),
        (false, format!(r#"{{"message":{message},{head}}}"#)),
        (false, format!(r#"{{{head},"message":{message},"message":{message}}}"#)),
        (false, format!(r#"{{{head},"\u006dessage":{message}}}"#)),
    ] {
        let tree = read(file(&[HEADER, &line])).tree;
        let expected = typed(&tree, Base::Pi);
        let session = opened(tree);
        assert_eq!(told(&session, Base::Pi), expected, "{line}");
        assert_eq!(by_bytes(&session, Base::Pi), usize::from(plain), "{line}");
    }
}

#[test]
fn appended_message_is_copied_from_its_line() {
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh] {
        let mut session = Session::new(header("s-1"), None);
        for value in [&messages()[2], &messages()[4]] {
            session.append(NewEntry::Message(message(value.clone())), stamp(dialect, 1), &mut random());
        }
        let mut rest = session.clone();
        rest.rebuild();
        let base = dialect.base();
        assert_eq!((by_bytes(&session, base), told(&session, base)), (2, typed(session.tree(), base)));
        assert_eq!(rest.messages(), session.messages());
    }
}

/// Changes something somewhere in a message.
fn change(value: &mut Value, random: &mut Rng) {
    let inner = match value {
        Value::Object(map) if !map.is_empty() && random.u8(..4) > 0 => {
            let at = random.usize(..map.len());
            map.values_mut().nth(at)
        }
        Value::Array(list) if !list.is_empty() && random.u8(..4) > 0 => {
            let at = random.usize(..list.len());
            list.get_mut(at)
        }
        _ => None,
    };
    if let Some(inner) = inner {
        return change(inner, random);
    }
    if let Value::Object(map) = value {
        match random.u8(..3) {
            0 => drop(map.insert("unknown".to_owned(), json!({ "role": "user" }))),
            1 => drop(map.insert("synthetic".to_owned(), json!(true))),
            _ => drop(
                map.keys().nth(random.usize(..map.len().max(1))).cloned().map(|key| map.shift_remove(&key)),
            ),
        }
        return;
    }
    let others = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(""),
        json!("stop"),
        json!([]),
        json!({}),
        json!([{ "type": "text", "text": "x" }]),
    ];
    *value = others[random.usize(..others.len())].clone();
}

/// Writes a value in one of the ways in which it can be written.
fn write(value: &Value, random: &mut Rng, out: &mut String) {
    let rare = |random: &mut Rng| random.u8(..60) == 0;
    if rare(random) {
        out.push(' ');
    }
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            if rare(random) {
                random.shuffle(&mut members);
            }
            if rare(random) {
                members.extend(members.first().copied());
            }
            out.push('{');
            for (at, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(&json!(key), random, out);
                out.push(':');
                write(value, random, out);
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(value, random, out);
            }
            out.push(']');
        }
        Value::String(text) if rare(random) => {
            let half = if rare(random) { "\\udc00" } else { "" };
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            out.push_str(&format!("\"{escaped}{half}\""));
        }
        Value::Number(number) if rare(random) => {
            out.push_str(&format!("{number}{}", if number.is_f64() { "0" } else { ".0" }))
        }
        other => out.push_str(&other.to_string()),
    }
}

proptest! {
    #[test]
    fn plain_reading_matches_typed_reading(seed: u64, changes in 0..3_u8) {
        let mut random = Rng::with_seed(seed);
        let written: Vec<String> = messages()
            .into_iter()
            .map(|mut message| {
                (0..changes).for_each(|_| change(&mut message, &mut random));
                let mut text = String::new();
                write(&message, &mut random, &mut text);
                text
            })
            .collect();
        for base in Base::ALL {
            let tree = session(&written);
            let expected = typed(&tree, base);
            let session = opened(tree);
            prop_assert_eq!(told(&session, base), expected, "{:?}", written);
        }
    }
}
