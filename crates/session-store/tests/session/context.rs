//! What a branch comes to: the messages that models are told, the model, the level; forks and copies of it.

use crate::session_support::*;
use pi_rpc_protocol::{AgentMessage, Dialect, ThinkingLevel};
use pi_rpc_session::{
    Context, ForkMessage, Forked, NewEntry, Session, Tree, Write, compaction::PathEntryKind,
};
use serde_json::json;
use std::{path::Path, sync::Arc};

fn compaction(id: &str, parent: &str, first_kept: &str, summary: &str) -> String {
    let own = json!({ "summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": 10 });
    entry("compaction", id, Some(parent), own)
}

fn level(id: &str, parent: Option<&str>, level: serde_json::Value) -> String {
    entry("thinking_level_change", id, parent, json!({ "thinkingLevel": level }))
}

fn model(id: &str, parent: Option<&str>, provider: &str, model: &str) -> String {
    entry("model_change", id, parent, json!({ "provider": provider, "modelId": model }))
}

fn tree(lines: &[String]) -> Tree {
    let mut all = vec![HEADER.to_owned()];
    all.extend_from_slice(lines);
    read(file(&all)).tree
}

fn context(lines: &[String]) -> Context {
    tree(lines).context()
}

fn acme(model: &str) -> Option<(String, String)> {
    Some(("acme".to_owned(), model.to_owned()))
}

#[test]
fn a_session_without_entries_comes_to_nothing() {
    assert_eq!(context(&[]), Context::default());
}

#[test]
fn only_the_leafs_branch_counts() {
    let context = context(&[
        user("a", None, "one"),
        answer("b", Some("a"), "left"),
        user("c", Some("b"), "left, too"),
        answer("d", Some("a"), "taken"),
    ]);
    assert_eq!(told(&context), ["user: one", "assistant: taken"]);
}

#[test]
fn last_setting_or_answer_decides_model() {
    let start = [model("m", None, "acme", "m1"), level("l", Some("m"), "high".into())];
    let after = |more: &[String]| {
        let Context { level, model, .. } = context(&[&start, more].concat());
        (level, model)
    };
    let (high, off) = (Some(ThinkingLevel::High), Some(ThinkingLevel::Off));
    assert_eq!(after(&[]), (high, acme("m1")));
    let answered = answer("a", Some("l"), "hi");
    assert_eq!(after(std::slice::from_ref(&answered)), (high, acme("a1")));
    assert_eq!(after(&[answered.clone(), model("n", Some("a"), "acme", "m2")]), (high, acme("m2")));
    assert_eq!(after(&[answered, level("n", Some("a"), json!(null))]), (off, acme("a1")));
    // In xcsh, models are also set for other purposes than to answer.
    let other = json!({ "model": "acme/small", "role": "smol" });
    assert_eq!(after(&[entry("model_change", "n", Some("l"), other)]), (high, acme("m1")));
    let whole = json!({ "model": "acme/with/slash", "role": "default" });
    assert_eq!(after(&[entry("model_change", "n", Some("l"), whole)]), (high, acme("with/slash")));
    let short = json!({ "model": "acme/m3" });
    assert_eq!(after(&[entry("model_change", "n", Some("l"), short)]), (high, acme("m3")));
}

#[test]
fn compaction_summary_precedes_kept_messages() {
    let lines = [
        user("a", None, "one"),
        answer("b", Some("a"), "two"),
        user("c", Some("b"), "three"),
        compaction("d", "c", "b", "until now"),
        answer("e", Some("d"), "four"),
    ];
    let context = context(&lines);
    let expected = ["compactionSummary: until now", "assistant: two", "user: three", "assistant: four"];
    assert_eq!(told(&context), expected);
    let summary = serde_json::to_value(context.messages[0].as_ref()).unwrap();
    let wanted = json!({
        "role": "compactionSummary", "summary": "until now", "tokensBefore": 10, "timestamp": MORNING,
    });
    assert_eq!(summary, wanted);
    assert_eq!(context.model, acme("a1"));
}

#[test]
fn only_the_last_compaction_counts() {
    let lines = [
        user("a", None, "one"),
        compaction("b", "a", "a", "first"),
        user("c", Some("b"), "two"),
        compaction("d", "c", "a", "second"),
    ];
    assert_eq!(told(&context(&lines)), ["compactionSummary: second", "user: one", "user: two"]);
}

#[test]
fn compaction_without_kept_entries_leaves_later_ones() {
    for first_kept in ["gone", "", "d", "e"] {
        let lines = [
            user("a", None, "one"),
            compaction("d", "a", first_kept, "until now"),
            user("e", Some("d"), "two"),
        ];
        assert_eq!(told(&context(&lines)), ["compactionSummary: until now", "user: two"], "{first_kept}");
    }
}

#[test]
fn model_and_level_survive_compaction() {
    let lines = [
        level("l", None, "low".into()),
        answer("a", Some("l"), "one"),
        user("b", Some("a"), "two"),
        compaction("c", "b", "b", "until now"),
    ];
    let Context { messages, level, model, .. } = context(&lines);
    assert_eq!((messages.len(), level, model), (2, Some(ThinkingLevel::Low), acme("a1")));
}

#[test]
fn extensions_and_summaries_of_branches_bring_messages() {
    let lines = [
        user("a", None, "one"),
        entry(
            "custom_message",
            "b",
            Some("a"),
            json!({ "customType": "x", "content": "note", "display": false }),
        ),
        entry("custom", "c", Some("b"), json!({ "customType": "x", "data": 1 })),
        entry("branch_summary", "d", Some("c"), json!({ "fromId": "a", "summary": "there" })),
        entry("branch_summary", "e", Some("d"), json!({ "fromId": "a", "summary": "" })),
        entry("label", "f", Some("e"), json!({ "targetId": "a", "label": "x" })),
    ];
    let context = context(&lines);
    assert_eq!(told(&context), ["user: one", "custom: note", "branchSummary: there"]);
    let expected = json!([
        { "role": "custom", "customType": "x", "content": "note", "display": false, "timestamp": MORNING },
        { "role": "branchSummary", "summary": "there", "fromId": "a", "timestamp": MORNING },
    ]);
    let made: Vec<_> = context.messages[1..].iter().map(AsRef::as_ref).collect();
    assert_eq!(serde_json::to_value(made).unwrap(), expected);
}

#[test]
fn compaction_reads_branch_from_kept_entry() {
    let lines = [
        user("a", None, "one"),
        answer("b", Some("a"), "two"),
        entry("branch_summary", "c", Some("b"), json!({ "fromId": "a", "summary": "there" })),
        level("d", Some("c"), "low".into()),
        compaction("e", "d", "b", "first"),
        entry(
            "custom_message",
            "f",
            Some("e"),
            json!({ "customType": "x", "content": "note", "display": false }),
        ),
    ];
    let on_path: Vec<_> = tree(&lines)
        .path_entries()
        .into_iter()
        .map(|on_path| {
            let kind = match on_path.kind {
                PathEntryKind::Message(message) => format!("message {}", message.kind()),
                PathEntryKind::CustomMessage(message) => format!("custom message {}", message.kind()),
                PathEntryKind::BranchSummary(message) => format!("branch summary {}", message.kind()),
                PathEntryKind::Compaction { summary, first_kept, details, from_hook } => {
                    format!("compaction {summary} {first_kept} {details:?} {from_hook}")
                }
                PathEntryKind::Other => "other".to_owned(),
            };
            format!("{}: {kind}", on_path.id)
        })
        .collect();
    let expected = [
        "b: message assistant",
        "c: branch summary branchSummary",
        "d: other",
        "e: compaction first b None false",
        "f: custom message custom",
    ];
    assert_eq!(on_path, expected);
    assert_eq!(tree(&lines[..4]).path_entries().len(), 4);
}

/// A conversation with a branch, labels on both, and a label between two messages.
fn labelled() -> Tree {
    tree(&[
        level("l", None, "low".into()),
        user("a", Some("l"), "one"),
        entry("label", "x", Some("a"), json!({ "targetId": "a", "label": "start" })),
        entry("label", "y", Some("x"), json!({ "targetId": "b", "label": "answer" })),
        answer("b", Some("y"), "two"),
        user("c", Some("b"), ""),
        user("d", Some("b"), "three"),
        answer("e", Some("d"), "four"),
    ])
}

fn fork(tree: &Tree, id: &str) -> Option<Forked> {
    tree.fork(id, header("s-2"), stamp(Dialect::Pi, 60), &mut random())
}

#[test]
fn fork_messages_are_all_user_texts() {
    let message = |id: &str, text: &str| ForkMessage { id: id.into(), text: text.to_owned() };
    assert_eq!(labelled().fork_messages(), [message("a", "one"), message("d", "three")]);
    let plain = entry(
        "message",
        "a",
        None,
        json!({ "message": { "role": "user", "content": "plain", "timestamp": 1 } }),
    );
    let picture = json!([
        { "type": "text", "text": "see " },
        { "type": "image", "data": "AAAA", "mimeType": "image/png" },
        { "type": "text", "text": "this" },
    ]);
    let blocks = entry(
        "message",
        "b",
        None,
        json!({ "message": { "role": "user", "content": picture, "timestamp": 1 } }),
    );
    // Half a character, as the originals leave it of a text that was cut.
    let cut = user("c", None, "cut").replace("cut", "cut \\ud83d");
    let messages = tree(&[plain, blocks, cut]).fork_messages();
    assert_eq!(messages, [message("a", "plain"), message("b", "see this"), message("c", "cut \u{fffd}")]);
}

#[test]
fn fork_holds_branch_before_message() {
    let old = labelled();
    let before = bytes(&old);
    let Forked { tree, text } = fork(&old, "d").unwrap();
    assert_eq!(text, "three");
    assert_eq!(told(&tree.context()), ["user: one", "assistant: two"]);
    assert_eq!(tree.header(), &header("s-2"));
    assert_eq!(bytes(&old), before);

    let lines = bytes(&tree);
    let lines: Vec<&str> = lines.lines().collect();
    // Labels go to the end, so that the answer follows what its label followed.
    assert_eq!(
        lines[1..4],
        [level("l", None, "low".into()), user("a", Some("l"), "one"), answer("b", Some("a"), "two"),]
    );
    let labels: Vec<_> = tree.labels().into_iter().collect();
    assert_eq!(labels, [("a".to_owned(), "start".to_owned()), ("b".to_owned(), "answer".to_owned())]);
    assert_eq!(path(&tree).len(), 5);
    let again = read(bytes(&tree));
    assert_eq!((notices(&again), again.tree.context()), (vec![], tree.context()));
}

#[test]
fn fork_at_first_message_is_empty() {
    let first = tree(&[user("a", None, "one"), answer("b", Some("a"), "two")]);
    let Forked { tree, text } = fork(&first, "a").unwrap();
    assert_eq!((tree.entries().len(), text.as_str()), (0, "one"));
    // What was set before it stays set.
    let Forked { tree, .. } = fork(&labelled(), "a").unwrap();
    assert_eq!((path(&tree), tree.context().level), (vec!["l"], Some(ThinkingLevel::Low)));
}

#[test]
fn fork_needs_user_message() {
    let tree = labelled();
    for id in ["b", "x", "l", "nowhere", ""] {
        assert!(fork(&tree, id).is_none(), "{id}");
    }
    assert!(fork(&tree, "c").is_some_and(|forked| forked.text.is_empty()));
}

#[test]
fn whole_copy_holds_every_branch() {
    let old = labelled();
    let new = old.copy_all(header("s-2"));
    assert_eq!(new.header(), &header("s-2"));
    assert_eq!(bytes(&new).split_once('\n').unwrap().1, bytes(&old).split_once('\n').unwrap().1);
    assert_eq!(new.context(), old.context());
}

#[test]
fn fork_with_summarized_prompts_is_written_now() {
    let lines = [
        HEADER.to_owned(),
        user("u1", None, "one"),
        answer("a1", Some("u1"), "a first answer"),
        compaction("c1", "a1", "a1", "One was said."),
        user("u2", Some("c1"), "two"),
    ];
    let tree = read(file(&lines)).tree;
    let stamp = stamp(Dialect::Pi, 9);
    let forked = tree.fork("u2", header("0002"), stamp, &mut random()).unwrap();
    let lines = forked.tree.lines();
    let path: Arc<Path> = Path::new("/sessions/fork.jsonl").into();
    let session = Session::from_fork(forked.tree, Some(path.clone()));
    assert!(!session.messages().iter().any(|message| matches!(**message, AgentMessage::User(_))));
    assert_eq!(session.next_write(), Some(Write::Create { path, lines }));
}

#[test]
fn tool_results_are_newest_first_across_compaction() {
    let result = |id: &str, parent: &str, tool: &str, text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        let message = json!({
            "role": "toolResult", "toolCallId": id, "toolName": tool, "content": content, "isError": false,
            "timestamp": 3,
        });
        entry("message", id, Some(parent), json!({ "message": message }))
    };
    let tree = tree(&[
        user("a", None, "todo_write"),
        result("b", "a", "todo_write", "first"),
        result("c", "b", "bash", "todo_write"),
        result("x", "c", "todo_write", "left"),
        result("d", "c", "todo_write", "second"),
        user("e", Some("d"), "more"),
        compaction("f", "e", "e", "all of it"),
    ]);
    let found =
        |tool: &str| tree.results_of(tool).map(|result| result.tool_call_id.clone()).collect::<Vec<_>>();
    assert_eq!(found("todo_write"), ["d", "b"]);
    assert_eq!(found("bash"), ["c"]);
    assert_eq!(found("read"), Vec::<String>::new());
}

#[test]
fn injected_rules_are_those_of_branch() {
    let injection = |id: &str, parent: &str, rules: serde_json::Value| {
        entry("ttsr_injection", id, Some(parent), json!({ "injectedRules": rules }))
    };
    let mut tree = tree(&[
        user("a", None, "one"),
        injection("b", "a", json!(["style", "safety"])),
        injection("c", "b", json!(["left"])),
        injection("d", "b", json!("unreadable")),
        user("e", Some("d"), "two"),
    ]);
    let told = |tree: &Tree| tree.injected_rules().collect::<Vec<_>>();
    assert_eq!(told(&tree), ["style", "safety"]);
    tree.append(NewEntry::RulesInjected(vec!["tests".to_owned()]), stamp(Dialect::Xcsh, 0), &mut random());
    assert_eq!(told(&tree), ["style", "safety", "tests"]);
    assert_eq!(told(&read(bytes(&tree)).tree), ["style", "safety", "tests"]);
}
