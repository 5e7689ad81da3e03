//! Paths and preparations of compactions in shorthand.

use pi_rpc_protocol::AgentMessage;
use pi_rpc_session::compaction::{NothingToCompact, PathEntry, PathEntryKind, Preparation};
use serde_json::{Value, json};
use std::sync::Arc;

/// A path from a line of shorthand; the entries are `e0`, `e1`, and so on.
///
/// The letter is the kind: `u`ser, `a`ssistant, tool `r`esult, `b`ash, `d`eveloper, `x` an extension's message, branch
/// `s`ummary, `m`odel change; the number after it the tokens that it is worth. An answer may have calls (`a10+1+2`),
/// a count of tokens by the provider (`a10=500`) and a failure (`a10!`); a result names its call (`r10+1`). `C3` is a
/// compaction that kept `e3`.
pub fn path(line: &str) -> Vec<PathEntry> {
    line.split_whitespace().enumerate().map(|(place, word)| entry(&format!("e{place}"), word)).collect()
}

/// An entry from a word of shorthand.
pub fn entry(id: &str, word: &str) -> PathEntry {
    let (kind, rest) = word.split_at(1);
    let failed = rest.ends_with('!');
    let (rest, counted) =
        rest.trim_end_matches('!').split_once('=').unwrap_or((rest.trim_end_matches('!'), "0"));
    let mut parts = rest.split('+');
    let tokens: usize =
        parts.next().filter(|tokens| !tokens.is_empty()).map_or(0, |tokens| tokens.parse().unwrap());
    let calls: Vec<&str> = parts.collect();
    // Each call weighs three characters, its name and its empty arguments.
    let text = "x".repeat((tokens * 4).saturating_sub(calls.len() * 3));
    let message = |value: Value| Arc::new(serde_json::from_value::<AgentMessage>(value).unwrap());
    let kind = match kind {
        "u" => PathEntryKind::Message(message(json!({ "role": "user", "content": text, "timestamp": 1 }))),
        "d" => {
            PathEntryKind::Message(message(json!({ "role": "developer", "content": text, "timestamp": 1 })))
        }
        "b" => PathEntryKind::Message(message(json!({
            "role": "bashExecution", "command": "", "output": text, "cancelled": false, "truncated": false, "timestamp": 1,
        }))),
        "a" => PathEntryKind::Message(message(answer(&text, &calls, counted.parse().unwrap(), failed))),
        "r" => PathEntryKind::Message(message(json!({
            "role": "toolResult", "toolCallId": calls[0], "toolName": "t", "content": [{ "type": "text",
            "text": "x".repeat(tokens * 4) }], "isError": false, "timestamp": 1,
        }))),
        "x" => PathEntryKind::CustomMessage(message(json!({
            "role": "custom", "customType": "c", "content": text, "display": true, "timestamp": 1,
        }))),
        "s" => PathEntryKind::BranchSummary(message(json!({
            "role": "branchSummary", "summary": text, "fromId": "e0", "timestamp": 1,
        }))),
        "m" => PathEntryKind::Other,
        "C" => compaction("Earlier.", &format!("e{rest}"), None, false),
        other => panic!("no entry is called {other}"),
    };
    PathEntry { id: id.into(), kind }
}

/// An earlier compaction.
pub fn compaction(summary: &str, first_kept: &str, details: Option<Value>, from_hook: bool) -> PathEntryKind {
    PathEntryKind::Compaction {
        summary: summary.to_owned(),
        first_kept: first_kept.to_owned(),
        details,
        from_hook,
    }
}

/// A message of the conversation.
pub fn said(id: &str, message: Value) -> PathEntry {
    PathEntry {
        id: id.into(),
        kind: PathEntryKind::Message(Arc::new(serde_json::from_value(message).unwrap())),
    }
}

/// Assistant message; `counted` is the provider's token count.
pub fn answer(text: &str, calls: &[&str], counted: u64, failed: bool) -> Value {
    let call = |id: &&str| json!({ "type": "toolCall", "id": id, "name": "t", "arguments": {} });
    let mut content = vec![json!({ "type": "text", "text": text })];
    content.extend(calls.iter().map(call));
    json!({
        "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
        "usage": {
            "input": counted, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": counted,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
        },
        "stopReason": if failed { "error" } else { "stop" }, "timestamp": 1,
    })
}

/// A preparation in short: `history | prefix | first kept, tokens before`, the messages by the ids of their entries.
pub fn shown(path: &[PathEntry], prepared: &Result<Preparation, NothingToCompact>) -> String {
    match prepared {
        Err(nothing) => format!("{nothing:?}"),
        Ok(prepared) => {
            let history = ids(path, &prepared.history).join(" ");
            let prefix = ids(path, &prepared.prefix).join(" ");
            format!("{history} | {prefix} | {}, {}", prepared.first_kept, prepared.tokens_before)
        }
    }
}

/// The entries that `messages` came from.
pub fn ids<'p>(path: &'p [PathEntry], messages: &[Arc<AgentMessage>]) -> Vec<&'p str> {
    let id = |message: &Arc<AgentMessage>| {
        let entry = path.iter().find(|entry| entry.message().is_some_and(|own| Arc::ptr_eq(own, message)));
        &*entry.unwrap().id
    };
    messages.iter().map(id).collect()
}
