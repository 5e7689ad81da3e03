//! Sessions as hosts are told of them: entries, the tree, and what was counted.

use crate::session_support::*;
use pi_rpc_protocol::{Base, Dialect, Emission, EntryTree, GetTreeResponse, MAX_FOREST_DEPTH, Outbound};
use pi_rpc_session::{Totals, Tree};
use serde_json::{Value, json};

/// Names in a row, each the parent of the next.
fn chain(count: usize) -> Tree {
    let named = |at: usize| {
        let parent = (at > 0).then(|| format!("e{}", at - 1));
        entry("session_info", &format!("e{at}"), parent.as_deref(), json!({ "name": "n" }))
    };
    let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain((0..count).map(named)).collect();
    read(file(&lines)).tree
}

#[test]
fn deepest_tree_fits_small_stack() {
    let tree = chain(MAX_FOREST_DEPTH);
    let written = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        let data = EntryTree { tree: tree.entry_tree(Base::Pi1).unwrap(), leaf_id: None };
        let mut said: Emission = Outbound::Response(pi_rpc_protocol::RpcResponse::Success(
            GetTreeResponse { id: None, data }.into(),
        ))
        .into();
        said.fit(Base::Pi1);
        let copy = said.clone();
        let mut line = Vec::new();
        pi_rpc_protocol::Encoder::new(Dialect::Pi1).encode(&copy, &mut line);
        line
    });
    let line = String::from_utf8(written.unwrap().join().unwrap()).unwrap();
    assert_eq!(line.matches(r#""children":["#).count(), MAX_FOREST_DEPTH);
}

#[test]
fn too_deep_tree_is_none_entries_remain() {
    let tree = chain(MAX_FOREST_DEPTH + 1);
    assert_eq!(tree.entry_tree(Base::Pi1), None);
    assert_eq!(tree.list_entries(None, Base::Pi1).map(|entries| entries.len()), Some(MAX_FOREST_DEPTH + 1));
}

#[test]
fn cyclic_entries_are_not_in_tree() {
    let lines = [
        HEADER.to_owned(),
        user("a", Some("b"), "one"),
        user("b", Some("a"), "two"),
        user("c", Some("c"), "three"),
    ];
    let nodes = read(file(&lines)).tree.entry_tree(Base::Pi1).unwrap();
    let nodes = serde_json::to_value(nodes).unwrap();
    assert_eq!([&nodes[0]["entry"]["id"], &nodes[1]], [&json!("c"), &Value::Null]);
}

#[test]
fn old_message_is_listed_repaired() {
    let old = json!({ "message": { "role": "user", "content": [{ "type": "text", "text": "hi" }] } });
    let tree = read(file(&[HEADER.to_owned(), entry("message", "a", None, old)])).tree;
    let entries = serde_json::to_value(tree.list_entries(None, Base::Pi1).unwrap()).unwrap();
    assert!(entries[0]["message"]["timestamp"].is_u64(), "{entries}");
}

#[test]
fn totals_count_usage_of_all_branches() {
    let usage = |tokens: u64| {
        json!({
            "input": tokens, "output": 1, "cacheRead": 2, "cacheWrite": 3, "totalTokens": tokens + 6,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5 },
        })
    };
    let mut calling = answered("Let me see.");
    calling["usage"] = usage(10);
    let call = json!({ "type": "toolCall", "id": "c", "name": "bash", "arguments": {} });
    calling["content"].as_array_mut().unwrap().push(call);
    let result = json!({
        "role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [], "isError": false,
        "timestamp": MORNING, "usage": usage(20),
    });
    let system = json!({ "role": "system", "content": "", "timestamp": MORNING });
    let message = |id: &str, parent: Option<&str>, message: &Value| {
        entry("message", id, parent, json!({ "message": message }))
    };
    let compaction = json!({
        "summary": "s", "firstKeptEntryId": "d", "tokensBefore": 1, "usage": usage(30),
    });
    let summary = json!({ "fromId": "d", "summary": "s", "usage": usage(40) });
    let warmed = json!({ "kind": "cache", "provider": "p", "model": "m", "usage": usage(50) });
    let lines = [
        HEADER.to_owned(),
        message("a", None, &system),
        user("b", Some("a"), "look"),
        message("c", Some("b"), &calling),
        message("d", Some("c"), &result),
        entry("compaction", "e", Some("d"), compaction),
        entry("branch_summary", "f", Some("a"), summary),
        entry("usage", "g", Some("f"), warmed),
        entry(
            "custom_message",
            "h",
            Some("g"),
            json!({ "customType": "x", "content": "y", "display": true }),
        ),
        message("i", Some("h"), &json!({ "role": "unheard-of" })),
    ];
    let Totals { user, assistant, calls, results, all, tokens, cost } = read(file(&lines)).tree.totals();
    assert_eq!([user, assistant, calls, results, all], [1, 1, 1, 1, 5]);
    assert_eq!([tokens.input, tokens.output, tokens.cache_read, tokens.cache_write], [150, 5, 10, 15]);
    assert_eq!((tokens.total, cost), (180, 2.5));
}
