//! Where a conversation is cut into what is summed up and what is kept.

use super::{PathEntry, estimate};
use crate::protocol::{AgentMessage, AssistantContent, StopReason};
use std::collections::HashSet;

/// A cut through a range of entries: before `turn` is history, from `turn` to `kept` the beginning of a turn that is
/// split (none where the two are equal), from `kept` on everything stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where the split turn begins.
    pub turn: usize,
    /// The first entry that is kept.
    pub kept: usize,
}

/// Cuts `range` so that about `keep_recent` tokens are kept; `None` where all of it is less.
///
/// The cut is at the first entry that may be kept first, from the one on which makes the kept part as large as
/// `keep_recent`. Where none follows that one, as with a large result at the very end, it is the last before: then
/// more is kept, but nothing is torn. Settings right before the cut go with what they were made for.
///
/// Messages of extensions and summaries of branches count like any other; in the originals they weigh nothing here,
/// so that a conversation made of them is never cut.
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

/// Cuts `range` behind the last message that does not fit into a context by itself: one of `window` tokens or more, else
/// the one that makes the kept part as large as `keep_recent`, else the last that is no failed answer. `None` where no
/// entry follows that one.
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

/// Whether a message of `window` tokens or more stands from `kept` on.
pub fn keeps_huge(range: &[&PathEntry], kept: usize, window: u64) -> bool {
    let mut messages = range[kept..].iter().filter_map(|entry| entry.message());
    window > 0 && messages.any(|message| estimate(message) >= window)
}

fn is_failed(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::Assistant(it) if it.stop_reason == StopReason::Error)
}

/// The last place from which on there are `keep_recent` tokens.
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

/// For each entry, whether it may be the first that is kept: it is a message, it is no result, and no result from
/// there on belongs to a call before it.
fn allowed(range: &[&PathEntry]) -> Vec<bool> {
    let mut called = HashSet::new();
    // Results whose calls are not in the range are lost already: nothing can be torn from them.
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

/// Whether a turn may begin with the entry: somebody else than the model speaks.
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

/// The ids of the calls that the entry makes.
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

/// The id of the call that the entry is the result of.
fn result_of(entry: &PathEntry) -> Option<&str> {
    match entry.message()?.as_ref() {
        AgentMessage::ToolResult(message) => Some(&message.tool_call_id),
        _ => None,
    }
}
