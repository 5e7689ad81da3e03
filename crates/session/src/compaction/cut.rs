//! Finds the cut between the summarized and the kept part of a conversation.

use super::{PathEntry, estimate};
use pi_rpc_protocol::{AgentMessage, AssistantContent, StopReason};
use std::collections::HashSet;

/// A cut through a range of entries: history before `turn`, the beginning of a split turn from `turn` to `kept` (none
/// if they are equal), and kept entries from `kept` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Index of the first entry of the split turn.
    pub turn: usize,
    /// Index of the first entry that is kept.
    pub kept: usize,
}

/// Cuts `range` so that about `keep_recent` tokens are kept; `None`: the whole of it is smaller.
///
/// The cut is at the first allowed entry behind the point at which the kept part is as large as `keep_recent`; if
/// there is none, as with a large result at the very end, at the last allowed entry before: then more is kept, but no
/// call loses its result. Settings right before the cut are kept with it.
///
/// Messages of extensions and summaries of branches count like any other; in the originals they weigh nothing here,
/// and a conversation made of them is never cut.
///
/// Source: pi source, xcsh source.
pub fn find(range: &[&PathEntry], keep_recent: u64) -> Option<Cut> {
    let enough = enough(range, keep_recent)?;
    let allowed = allowed(range);
    let after = (enough..range.len()).find(|place| allowed[*place]);
    let cut = after.or_else(|| (0..enough).rev().find(|place| allowed[*place]))?;
    let before = range[..cut].iter().rposition(|entry| entry.message().is_some());
    let kept = before.map_or(0, |place| place + 1);
    let split = if opens_turn(range[cut]) { None } else { range[..cut].iter().rposition(|e| opens_turn(e)) };
    Some(Cut { turn: split.unwrap_or(kept), kept })
}

/// Cuts `range` in front of the prompt at its end, with the settings right before it; `None`: something else than failed
/// answers follows the last prompt.
pub fn find_at_prompt(range: &[&PathEntry]) -> Option<Cut> {
    let is_message = |entry: &&PathEntry| entry.message().is_some_and(|message| !is_failed(message));
    let prompt = range.iter().rposition(is_message).filter(|place| opens_turn(range[*place]))?;
    let before = range[..prompt].iter().rposition(|entry| entry.message().is_some());
    let kept = before.map_or(0, |place| place + 1);
    Some(Cut { turn: kept, kept })
}

/// Cuts `range` behind the last message that alone overflows a context: one of `window` tokens or more, else the one
/// that makes the kept part as large as `keep_recent`, else the last one that is no failed answer. `None`: no entry
/// follows it.
pub fn find_behind(range: &[&PathEntry], keep_recent: u64, window: u64) -> Option<Cut> {
    let is_huge = |entry: &&PathEntry| entry.message().is_some_and(|it| estimate(it) >= window);
    let huge = range.iter().rposition(is_huge).filter(|_| window > 0);
    let last = || range.iter().rposition(|entry| entry.message().is_some_and(|it| !is_failed(it)));
    let place = huge.or_else(|| enough(range, keep_recent)).or_else(last)?;
    let allowed = allowed(range);
    let next = (place + 1..range.len()).find(|place| allowed[*place]);
    let rest = || range[place + 1..].iter().all(|entry| entry.message().is_none()).then_some(place + 1);
    let kept = next.or_else(rest).filter(|kept| *kept < range.len())?;
    let turn = match opens_turn(range[kept]) {
        true => kept,
        false => range[..kept].iter().rposition(|entry| opens_turn(entry)).unwrap_or(kept),
    };
    Some(Cut { turn, kept })
}

/// Whether the entries from `kept` on have a message of `window` tokens or more.
pub fn keeps_huge(range: &[&PathEntry], kept: usize, window: u64) -> bool {
    let mut messages = range[kept..].iter().filter_map(|entry| entry.message());
    window > 0 && messages.any(|message| estimate(message) >= window)
}

fn is_failed(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::Assistant(it) if it.stop_reason == StopReason::Error)
}

/// The last index from which on there are `keep_recent` tokens.
fn enough(range: &[&PathEntry], keep_recent: u64) -> Option<usize> {
    let mut tokens = 0;
    range.iter().rposition(|entry| match entry.message() {
        Some(message) => {
            tokens += estimate(message);
            tokens >= keep_recent
        }
        None => false,
    })
}

/// For each entry, whether it may be the first that is kept: it is a message but no result, and no result behind it
/// belongs to a call before it.
fn allowed(range: &[&PathEntry]) -> Vec<bool> {
    let mut called = HashSet::new();
    // Results without their calls in the range are incomplete anyway.
    let with_call: Vec<bool> = range
        .iter()
        .map(|entry| {
            called.extend(calls(entry));
            result_of(entry).is_some_and(|call| called.contains(call))
        })
        .collect();
    let mut open = HashSet::new();
    let mut allowed: Vec<bool> = range
        .iter()
        .zip(with_call)
        .rev()
        .map(|(entry, with_call)| {
            let result = result_of(entry);
            open.extend(result.filter(|_| with_call));
            calls(entry).for_each(|call| {
                open.remove(call);
            });
            entry.message().is_some() && result.is_none() && open.is_empty()
        })
        .collect();
    allowed.reverse();
    allowed
}

/// Whether the entry can begin a turn: a message of neither the model nor a tool.
fn opens_turn(entry: &PathEntry) -> bool {
    entry.message().is_some_and(|message| {
        !matches!(
            **message,
            AgentMessage::Assistant(_)
                | AgentMessage::ToolResult(_)
                | AgentMessage::FileMention(_)
                | AgentMessage::CompactionSummary(_)
        )
    })
}

/// Ids of the tool calls in the entry.
fn calls(entry: &PathEntry) -> impl Iterator<Item = &str> {
    let blocks = match entry.message().map(AsRef::as_ref) {
        Some(AgentMessage::Assistant(message)) => message.content.as_slice(),
        _ => &[],
    };
    blocks.iter().filter_map(|block| match block {
        AssistantContent::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    })
}

/// Id of the call whose result the entry is.
fn result_of(entry: &PathEntry) -> Option<&str> {
    match entry.message()?.as_ref() {
        AgentMessage::ToolResult(message) => Some(&message.tool_call_id),
        _ => None,
    }
}
