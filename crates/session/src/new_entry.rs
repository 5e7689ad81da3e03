//! Entries to append, and their encoding.

use super::{message::custom, time::iso, tree::Stamp};
use bytes::Bytes;
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, BranchSummaryEntry, Check as _, CompactionEntry, CompactionResult,
    ContextEditEntry, CustomEntry, CustomMessageEntry, DialectLevelWithoutThinking, LabelEntry, MessageEntry,
    ModelChangeEntry, SessionEntry, SessionEntryKind, SessionInfoEntry, SystemMessage, ThinkingLevel,
    ThinkingLevelChangeEntry, TtsrInjectionEntry, Usage, UsageEntry,
};
use serde_json::Value;
use std::sync::Arc;

/// The content of an entry to append.
#[derive(Clone, Debug, PartialEq)]
pub enum NewEntry {
    /// A message of the conversation. Messages of extensions become entries of the kind for those.
    Message(Arc<AgentMessage>),
    /// Another model answers.
    Model {
        /// The provider.
        provider: String,
        /// The model's id.
        id: String,
    },
    /// The thinking level changes; `None`: no level is set, which dialects without such a state write as off.
    Level(Option<ThinkingLevel>),
    /// A summary replaces the older part of the conversation.
    Compaction {
        /// The result of the compaction.
        result: Box<CompactionResult>,
        /// Whether an extension made the summary.
        from_hook: bool,
        /// All system messages until then as one, in dialects that have system messages.
        system_message: Option<Box<SystemMessage>>,
    },
    /// The summary of an abandoned branch.
    BranchSummary {
        /// The entry at which the branch was left; `root` for none.
        from: String,
        /// The summary.
        summary: String,
        /// Data of the summary's maker.
        details: Option<Value>,
        /// Whether an extension made the summary.
        from_hook: bool,
        /// Tokens and cost of the request for it; `None`: there was none.
        usage: Option<Box<Usage>>,
    },
    /// What a request of a model has used that led to no message.
    Usage {
        /// The purpose of the request.
        kind: String,
        /// The provider.
        provider: String,
        /// The id of the model that has answered.
        model: String,
        /// Tokens and cost.
        usage: Box<Usage>,
        /// A note for the user.
        note: Option<String>,
    },
    /// Removes the message of the entry with this id from the context.
    LeftOut(Arc<str>),
    /// State of an extension.
    Custom {
        /// The kind of state, named by the extension.
        kind: String,
        /// The state.
        data: Option<Value>,
    },
    /// A label on another entry, which the caller knows to exist.
    Label {
        /// Id of the labelled entry.
        target: String,
        /// The label; `None`: it is removed.
        label: Option<String>,
    },
    /// The session's name, in dialects that store it in an entry; see [`Tree::rename`](super::Tree::rename).
    Name(String),
    /// Names of rules that were injected into the conversation, in dialects with such rules.
    RulesInjected(Vec<String>),
}

/// A [`NewEntry`] as a line of the file.
pub(super) struct EncodedEntry {
    /// The line, line feed included.
    pub line: Bytes,
    pub kind: SessionEntryKind,
    pub role: Option<AgentMessageKind>,
    /// The message as it would be read back, if it is at hand.
    pub message: Option<Arc<AgentMessage>>,
}

impl NewEntry {
    /// Encodes the entry for the dialect.
    pub(super) fn encode(self, id: &str, parent: Option<&str>, stamp: Stamp) -> EncodedEntry {
        let shared = match &self {
            Self::Message(message) => Some(message.clone()),
            _ => None,
        };
        let mut entry = self.entry(id.to_owned(), parent.map(str::to_owned), stamp);
        entry.fit(stamp.dialect.base());
        let mut line = serde_json::to_vec(&entry).unwrap_or_default();
        line.push(b'\n');
        let kind = entry.kind();
        let role = match &entry {
            SessionEntry::Message(entry) => Some(entry.message.kind()),
            _ => None,
        };
        let message = match entry {
            // The message is shared: the caller may hold it for long.
            SessionEntry::Message(entry) => {
                let shared = shared.filter(|shared| **shared == entry.message);
                Some(shared.unwrap_or_else(|| Arc::new(entry.message)))
            }
            // Until the session is read from its file, the message has its own time, not that of its entry.
            SessionEntry::CustomMessage(entry) => {
                let own_time = shared.as_deref().and_then(|message| match message {
                    AgentMessage::Custom(message) => Some(message.timestamp),
                    _ => None,
                });
                own_time.map(|at| Arc::new(custom(entry, at)))
            }
            _ => None,
        };
        EncodedEntry { line: line.into(), kind, role, message }
    }

    /// Builds the entry with the members of all dialects.
    fn entry(self, id: String, parent_id: Option<String>, stamp: Stamp) -> SessionEntry {
        let timestamp = iso(stamp.wall_ms);
        // The first model of a session is written without its role (source: observed).
        let is_first = parent_id.is_none();
        match self {
            Self::Message(message) => match Arc::unwrap_or_clone(message) {
                AgentMessage::Custom(message) => SessionEntry::CustomMessage(CustomMessageEntry {
                    custom_type: message.custom_type,
                    content: message.content,
                    display: message.display,
                    details: message.details,
                    attribution: message.attribution,
                    id,
                    parent_id,
                    timestamp,
                }),
                message => SessionEntry::Message(MessageEntry { id, parent_id, timestamp, message }),
            },
            Self::Model { provider, id: model } => SessionEntry::ModelChange(ModelChangeEntry {
                id,
                parent_id,
                timestamp,
                model: Some(format!("{provider}/{model}")),
                provider: Some(provider),
                model_id: Some(model),
                role: (!is_first).then(|| DEFAULT_ROLE.to_owned()),
            }),
            Self::Usage { kind, provider, model, usage, note } => SessionEntry::Usage(UsageEntry {
                id,
                parent_id,
                timestamp,
                kind,
                provider,
                model,
                usage: *usage,
                note,
            }),
            Self::Level(level) => {
                let off = stamp.dialect.record().level_without_thinking == DialectLevelWithoutThinking::Off;
                let level = level.or(off.then_some(ThinkingLevel::Off));
                SessionEntry::ThinkingLevelChange(ThinkingLevelChangeEntry {
                    id,
                    parent_id,
                    timestamp,
                    thinking_level: level.map(|level| level.as_str().to_owned()),
                })
            }
            Self::Compaction { result, from_hook, system_message } => {
                SessionEntry::Compaction(CompactionEntry {
                    id,
                    parent_id,
                    timestamp,
                    summary: result.summary,
                    short_summary: result.short_summary,
                    first_kept_entry_id: result.first_kept_entry_id,
                    tokens_before: result.tokens_before,
                    details: result.details,
                    preserve_data: result.preserve_data,
                    from_hook: Some(from_hook),
                    from_extension: Some(from_hook),
                    usage: result.usage,
                    system_message: system_message.map(|message| *message),
                })
            }
            Self::BranchSummary { from, summary, details, from_hook, usage } => {
                SessionEntry::BranchSummary(BranchSummaryEntry {
                    id,
                    parent_id,
                    timestamp,
                    from_id: Some(from),
                    summary,
                    details,
                    from_hook: Some(from_hook),
                    from_extension: Some(from_hook),
                    usage: usage.map(|usage| *usage),
                })
            }
            Self::LeftOut(target) => SessionEntry::ContextEdit(ContextEditEntry {
                id,
                parent_id,
                timestamp,
                target_id: target.to_string(),
                replacement: None,
            }),
            Self::Custom { kind, data } => {
                SessionEntry::Custom(CustomEntry { custom_type: kind, data, id, parent_id, timestamp })
            }
            Self::Label { target, label } => {
                SessionEntry::Label(LabelEntry { id, parent_id, timestamp, target_id: target, label })
            }
            Self::Name(name) => {
                let name = Some(name.trim().to_owned());
                SessionEntry::SessionInfo(SessionInfoEntry { id, parent_id, timestamp, name })
            }
            Self::RulesInjected(injected_rules) => {
                SessionEntry::TtsrInjection(TtsrInjectionEntry { id, parent_id, timestamp, injected_rules })
            }
        }
    }
}

/// The role of the model that answers, where entries have one (source: xcsh source).
pub(super) const DEFAULT_ROLE: &str = "default";
