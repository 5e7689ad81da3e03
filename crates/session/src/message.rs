//! Parses the message of an entry, as far as it is readable.

use super::repair::repair;
use pi_rpc_protocol::{
    AgentMessage, BranchSummaryEntry, BranchSummaryMessage, CompactionEntry, CompactionSummaryMessage,
    CustomMessage, CustomMessageEntry, FromJson, JsonError, JsonObject, SessionEntryKind, from_slice,
    member_from_slice, mend_surrogates,
};
use std::sync::Arc;

/// The result of parsing an entry's message.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The message; `None`: unreadable, or the entry has none.
    pub message: Option<Arc<AgentMessage>>,
    /// Why it, or a part of it, could not be read.
    pub parse_error: Option<Box<str>>,
}

impl Parsed {
    /// A message without errors.
    pub fn whole(message: Arc<AgentMessage>) -> Self {
        Self { message: Some(message), parse_error: None }
    }
}

/// Parses the message of an entry; `at` is its time if it has none.
pub fn parse(kind: Option<SessionEntryKind>, line: &[u8], at: u64) -> Parsed {
    let message = match kind {
        Some(SessionEntryKind::Message) => return parse_message(line, at),
        Some(SessionEntryKind::CustomMessage) => read(line).map(|entry| Some(custom(entry, at))),
        Some(SessionEntryKind::BranchSummary) => read(line).map(|entry| branch_summary(entry, at)),
        Some(SessionEntryKind::Compaction) => read(line).map(|entry| Some(compaction(entry, at))),
        _ => Ok(None),
    };
    match message {
        Ok(message) => Parsed { message: message.map(Arc::new), parse_error: None },
        Err(error) => Parsed { message: None, parse_error: Some(error.to_string().into()) },
    }
}

fn parse_message(line: &[u8], at: u64) -> Parsed {
    match read_message(line) {
        Ok(message) => Parsed::whole(Arc::new(rename_hook_message(message))),
        Err(error) => {
            let message = read::<JsonObject>(line).ok().and_then(|mut entry| entry.shift_remove("message"));
            let (message, parse_error) = match message.map(|message| repair(message, at)) {
                Some(Ok((message, dropped))) => (Some(Arc::new(rename_hook_message(message))), dropped),
                _ => (None, Some(error.to_string())),
            };
            Parsed { message, parse_error: parse_error.map(Into::into) }
        }
    }
}

/// Parses the message of an entry directly from the line.
fn read_message(line: &[u8]) -> Result<AgentMessage, JsonError> {
    mended(line, |line| member_from_slice(line, "message"))
}

/// Parses a line as `T`; lone surrogates, which the originals write, become U+FFFD.
pub fn read<T: FromJson>(line: &[u8]) -> Result<T, JsonError> {
    mended(line, from_slice)
}

fn mended<T>(line: &[u8], read: fn(&[u8]) -> Result<T, JsonError>) -> Result<T, JsonError> {
    read(line).or_else(|error| match std::str::from_utf8(line).map(mend_surrogates) {
        Ok(text) => read(text.as_bytes()),
        Err(_) => Err(error),
    })
}

/// Renames custom messages of version 2 files (source: pi source).
fn rename_hook_message(message: AgentMessage) -> AgentMessage {
    match message {
        AgentMessage::HookMessage(old) => AgentMessage::Custom(CustomMessage {
            custom_type: old.custom_type,
            content: old.content,
            display: old.display,
            details: old.details,
            attribution: old.attribution,
            timestamp: old.timestamp,
        }),
        other => other,
    }
}

/// The message of an entry that an extension has added, with this time.
pub(super) fn custom(entry: CustomMessageEntry, at: u64) -> AgentMessage {
    AgentMessage::Custom(CustomMessage {
        custom_type: entry.custom_type,
        content: entry.content,
        display: entry.display,
        details: entry.details,
        attribution: entry.attribution,
        timestamp: at,
    })
}

fn branch_summary(entry: BranchSummaryEntry, at: u64) -> Option<AgentMessage> {
    let BranchSummaryEntry { summary, from_id, .. } = entry;
    let message = BranchSummaryMessage { summary, from_id, timestamp: at };
    (!message.summary.is_empty()).then_some(AgentMessage::BranchSummary(message))
}

fn compaction(entry: CompactionEntry, at: u64) -> AgentMessage {
    AgentMessage::CompactionSummary(CompactionSummaryMessage {
        summary: entry.summary,
        short_summary: entry.short_summary,
        tokens_before: entry.tokens_before,
        provider_payload: None,
        timestamp: at,
        blocks: None,
        images: None,
        method: None,
        tokens_after: None,
    })
}
