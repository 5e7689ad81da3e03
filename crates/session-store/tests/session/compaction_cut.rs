//! What a compaction sums up and what it keeps.

use crate::compaction_support::{compaction, entry, ids, path, shown};
use pi_rpc_protocol::{AgentMessage, AssistantContent};
use pi_rpc_session::compaction::{NothingToCompact, PathEntry, PathEntryKind, prepare};
use proptest::prelude::*;
use std::sync::Arc;

/// What becomes of the paths, each with the tokens to keep.
fn assert_cuts(cases: &[(&str, u64, &str)]) {
    for (line, keep, expected) in cases {
        let path = path(line);
        assert_eq!(shown(&path, &prepare(&path, *keep)), *expected, "{line}, keeping {keep}");
    }
}

#[test]
fn the_latest_turns_are_kept() {
    assert_cuts(&[
        ("u10 a10 u10 a10 u10 a10", 20, "e0 e1 e2 e3 |  | e4, 60"),
        ("u10 a10 u10 a10 u10 a10", 35, "e0 e1 |  | e2, 60"),
        ("u10 a10 u10 a10 u10 a10", 60, "TooSmall"),
        ("u10 a10 u10 a10 u10 a10", 61, "TooSmall"),
        ("u10 a10 d10 a10", 20, "e0 e1 |  | e2, 40"),
        ("u10 a10 b10 u10 a10", 30, "e0 e1 |  | e2, 50"),
        ("u10 a10 x10 a10", 20, "e0 e1 |  | e2, 40"),
        ("u10 a10 s10 a10", 20, "e0 e1 |  | e2, 40"),
    ]);
}

#[test]
fn too_long_turn_is_split() {
    assert_cuts(&[
        ("u10 a10 u10 a10 a10", 5, "e0 e1 | e2 e3 | e4, 50"),
        ("u10 a10", 5, " | e0 | e1, 20"),
        ("u10 a10 b10 a10", 5, "e0 e1 | e2 | e3, 40"),
        ("u10 a10 s10 a10", 5, "e0 e1 | e2 | e3, 40"),
        // The rest of a turn whose beginning is summed up already is history.
        ("u10 a10 a10 C2 a10 a10", 10, "e2 e4 |  | e5, 32"),
    ]);
}

#[test]
fn results_stay_with_their_calls() {
    assert_cuts(&[
        // The cut would be at the result: it is at what follows.
        ("u10 a10+1 r10+1 a10", 15, " | e0 e1 e2 | e3, 40"),
        ("u10 a10+1+2 r10+1 r10+2 u10 a10", 35, "e0 e1 e2 e3 |  | e4, 60"),
        // Nothing follows: it is at the call, and more is kept.
        ("u10 a10 u10 a10+1 r90+1", 20, "e0 e1 | e2 | e3, 130"),
        // What was said while the call ran does not come between.
        ("u10 a10 u10 a10+1 u10 r90+1", 20, "e0 e1 | e2 | e3, 140"),
        // Ids may come again: a result belongs to the latest call.
        ("u10 a10+1 r10+1 a10+1 r10+1", 15, " | e0 e1 e2 | e3, 50"),
        // A result without its call holds nothing together.
        ("u10 a10 r10+9 u10 a10", 15, "e0 e1 e2 |  | e3, 50"),
        ("u10 a10 u10 a10 r10+9 a10", 35, "e0 e1 |  | e2, 60"),
    ]);
}

#[test]
fn settings_go_with_what_follows_them() {
    assert_cuts(&[
        ("m m u10 a10 m m u10 a10 m", 20, "e2 e3 |  | e4, 40"),
        ("m m u10 a10 m", 20, "TooSmall"),
        ("m m", 0, "TooSmall"),
        ("", 0, "TooSmall"),
        ("u10 a10 u10 m a10", 5, "e0 e1 | e2 | e3, 40"),
    ]);
}

#[test]
fn previously_kept_messages_are_divided_again() {
    assert_cuts(&[
        // e2 and e3 are in no summary: cut away without a look, they would be lost.
        ("u10 a10 u10 a10 C2 u10 a10 u10 a10", 40, "e2 e3 |  | e5, 62"),
        ("u10 a10 u10 a10 C2 u10 a10 C5 u10 a10", 20, "e5 e6 |  | e8, 42"),
        ("u10 a10 u10 a10 C2 m u10 a10 C2 u10 a10", 40, "e2 e3 |  | e5, 62"),
        // Without what it kept, the path begins with the compaction.
        ("C9 u10 a10 u10 a10", 20, "e1 e2 |  | e3, 42"),
        ("u10 a10 C9 u10 a10 u10 a10", 20, "e3 e4 |  | e5, 42"),
    ]);
}

#[test]
fn nothing_new_is_nothing_to_compact() {
    assert_cuts(&[
        ("u10 a10 u10 a10 C2", 5, "AlreadyCompacted"),
        ("u10 a10 u10 a10 C2 m m", 5, "AlreadyCompacted"),
        ("u10 a10 u10 a10 C2 u1 a1", 20, "TooSmall"),
    ]);
}

#[test]
fn provider_counts_precede_estimates() {
    assert_cuts(&[
        ("u10 a10=900 u10 a10", 20, "e0 e1 |  | e2, 920"),
        ("u10 a10=900 u10 a10! u10", 30, "e0 e1 |  | e2, 930"),
        // What was counted before a compaction counts what is gone.
        ("u10 a10 u10 a10=900 C2 u10 a10 u10 a10", 40, "e2 e3 |  | e5, 62"),
        ("u10 a10 u10 a10=900 C2 u10 a10=50 u10 a10", 40, "e2 e3 |  | e5, 70"),
    ]);
}

#[test]
fn previous_summary_loses_its_lists() {
    let summary = "Goal.\n\n<read-files>\na\n</read-files>\n\n<modified-files>\nb\n</modified-files>";
    let mut path = path("u10 a10 m u10 a10 u10 a10");
    path[2] = PathEntry { id: "e2".into(), kind: compaction(summary, "e0", None, false) };
    assert_eq!(prepare(&path, 20).unwrap().previous_summary.as_deref(), Some("Goal."));
    path[2] = entry("e2", "m");
    assert_eq!(prepare(&path, 20).unwrap().previous_summary, None);
}

/// Words of shorthand, as they may come in a session and as they may not.
fn words() -> impl Strategy<Value = Vec<String>> {
    let tokens = 0_u64..40;
    let call = 0_u8..4;
    let word = prop_oneof![
        4 => (prop::sample::select(vec!["u", "a", "b", "d", "x", "s"]), tokens.clone())
            .prop_map(|(kind, tokens)| format!("{kind}{tokens}")),
        2 => (tokens.clone(), call.clone(), call.clone()).prop_map(|(tokens, a, b)| format!("a{tokens}+{a}+{b}")),
        3 => (tokens, call).prop_map(|(tokens, call)| format!("r{tokens}+{call}")),
        1 => Just("m".to_owned()),
        1 => (0_usize..40).prop_map(|kept| format!("C{kept}")),
    ];
    prop::collection::vec(word, 0..40)
}

proptest! {
    #[test]
    fn a_cut_loses_nothing_and_tears_nothing(words in words(), keep in 0_u64..200) {
        let path = path(&words.join(" "));
        let Ok(prepared) = prepare(&path, keep) else { return Ok(()) };
        let kept = path.iter().position(|entry| entry.id == prepared.first_kept);
        let kept = kept.expect("the first kept entry is on the path");
        let last = path.iter().rposition(|entry| matches!(entry.kind, PathEntryKind::Compaction { .. }));
        let start = last.map_or(0, |last| start(&path, last));
        let messages = |entries: &[PathEntry]| entries.iter().filter_map(PathEntry::message).cloned().collect::<Vec<_>>();

        let summed_up = [&prepared.history[..], &prepared.prefix].concat();
        prop_assert!(!summed_up.is_empty());
        prop_assert_eq!(ids(&path, &summed_up), ids(&path, &messages(&path[start..kept])));

        let first = path[kept..].iter().find_map(PathEntry::message);
        prop_assert!(!matches!(first.map(AsRef::as_ref), None | Some(AgentMessage::ToolResult(_))));
        prop_assert!(torn(&summed_up, &messages(&path[kept..])).is_empty());
        if let Some(first) = prepared.prefix.first() {
            prop_assert!(!matches!(**first, AgentMessage::Assistant(_) | AgentMessage::ToolResult(_)));
        }
    }

    #[test]
    fn message_is_summarized_once_or_kept(steps in prop::collection::vec((words(), 0_u64..200), 1..6)) {
        let (mut path, mut summed_up) = (Vec::new(), Vec::new());
        for (words, keep) in steps {
            // Only those that are made here: of others it is not known what they summed up.
            for word in words.iter().filter(|word| !word.starts_with('C')) {
                path.push(entry(&format!("e{}", path.len()), word));
            }
            if let Ok(prepared) = prepare(&path, keep) {
                summed_up.extend([prepared.history, prepared.prefix].concat());
                let kind = compaction("S", &prepared.first_kept, None, false);
                path.push(PathEntry { id: format!("e{}", path.len()).into(), kind });
                prop_assert_eq!(prepare(&path, keep), Err(NothingToCompact::AlreadyCompacted));
            }
        }
        let last = path.iter().rposition(|entry| matches!(entry.kind, PathEntryKind::Compaction { .. }));
        let start = last.map_or(0, |last| start(&path, last));
        let kept = path[start..].iter().filter_map(PathEntry::message).cloned();
        let all: Vec<_> = path.iter().filter_map(PathEntry::message).cloned().collect();
        prop_assert_eq!(ids(&path, &[summed_up, kept.collect()].concat()), ids(&path, &all));
    }
}

/// Where the range of a path begins whose last compaction is at `last`.
fn start(path: &[PathEntry], last: usize) -> usize {
    let PathEntryKind::Compaction { first_kept, .. } = &path[last].kind else { unreachable!() };
    path[..last].iter().position(|entry| *entry.id == **first_kept).unwrap_or(last)
}

/// The calls before a cut whose results are after it.
fn torn(before: &[Arc<AgentMessage>], after: &[Arc<AgentMessage>]) -> Vec<String> {
    let mut open: Vec<&str> = before.iter().flat_map(|message| calls(message)).collect();
    let mut torn = Vec::new();
    for message in after {
        // A call after the cut takes over the id.
        open.retain(|id| !calls(message).contains(id));
        if let AgentMessage::ToolResult(message) = message.as_ref() {
            torn.extend(open.contains(&&*message.tool_call_id).then(|| message.tool_call_id.clone()));
        }
    }
    torn
}

fn calls(message: &AgentMessage) -> Vec<&str> {
    let AgentMessage::Assistant(message) = message else { return Vec::new() };
    let calls = message.content.iter().filter_map(|block| match block {
        AssistantContent::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    });
    calls.collect()
}
