//! From the entries of a branch to the context of a request: messages, thinking level, model.

use super::{
    compaction::{PathEntry, PathEntryKind},
    context_message::ContextMessage,
    edits::Edits,
    entry::Entry,
    new_entry::DEFAULT_ROLE,
    notice::Notice,
    tree::Tree,
};
use memchr::memmem;
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, CompactionEntry, ModelChangeEntry, SessionEntryKind, ThinkingLevel,
    ThinkingLevelChangeEntry, ToolResultMessage, TtsrInjectionEntry,
};
use serde::Deserialize;
use std::sync::Arc;

/// The conversation as a model gets it at the leaf (source: pi source).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Messages of the next request, oldest first. After a compaction: its summary, then the messages that it kept.
    pub messages: Vec<Arc<AgentMessage>>,
    /// Number of messages that were in the context before the last compaction, its summary included; 0 without one.
    pub compacted: usize,
    /// The thinking level that was set last; `None`: no entry sets one.
    pub level: Option<ThinkingLevel>,
    /// Provider and id of the model that was set or answered last; `None`: there is neither.
    pub model: Option<(String, String)>,
    /// Entries that could not be read and are left out.
    pub notices: Vec<Notice>,
}

/// A [`Context`] whose messages are not parsed yet.
#[derive(Debug)]
pub(super) struct Outline {
    pub context: Vec<ContextMessage>,
    pub compacted: usize,
    pub level: Option<ThinkingLevel>,
    pub model: Option<(String, String)>,
    pub notices: Vec<Notice>,
}

impl Tree {
    /// Damage that the context at the leaf shows.
    pub fn context_notices(&self) -> Vec<Notice> {
        self.outline().notices
    }

    /// Builds the context at the leaf. Parses only the messages in it.
    pub fn context(&self) -> Context {
        let Outline { context, compacted, level, model, notices } = self.outline();
        let messages = context.iter().filter_map(|message| message.message(self).cloned()).collect();
        Context { messages, compacted, level, model, notices }
    }

    /// Builds the outline of the context at the leaf. Parses only messages that may be unreadable.
    ///
    /// xcsh may note a provider's own list in place of the messages that a compaction kept (source: xcsh source). The
    /// kept messages are used instead: they are in the file, and any provider understands them.
    pub(super) fn outline(&self) -> Outline {
        let places = self.path_indices(self.leaf_index());
        let path: Vec<_> = places.iter().map(|&place| &self.entries()[place]).collect();
        let mut notices = Vec::new();
        let kept = ContextRange::of(&path);
        let edits = Edits::of(&path);
        let made = kept.checkpoint.iter().chain(kept.summary.and_then(Entry::message));
        let mut context: Vec<_> = made.cloned().map(ContextMessage::Synthetic).collect();
        let mut compacted = 0;
        for (entry, &place) in kept.entries().zip(&places[kept.from..]) {
            if kept.summary.is_some_and(|last| std::ptr::eq(last, entry)) {
                compacted = context.len();
            }
            if !kept.replaces(entry, compacted) {
                context.extend(match edits.contains(entry) {
                    true => edits.edited_message(entry).map(ContextMessage::Synthetic),
                    false if entry.is_plain() || entry.message().is_some() => {
                        Some(ContextMessage::Entry(place))
                    }
                    false => None,
                });
            }
            if entry.is_plain() {
                continue;
            }
            let parse_error = entry.parse_error().map(str::to_owned);
            notices.extend(parse_error.map(|why| Notice::Unread { id: entry.id().clone(), why }));
        }
        let level = path.iter().rev().find_map(|entry| level(entry, &mut notices));
        let model = path.iter().rev().find_map(|entry| model(entry));
        Outline { context, compacted, level, model, notices }
    }

    /// Provider and id of the last model that was selected on the branch.
    pub fn selected_model(&self) -> Option<(String, String)> {
        let path = self.path();
        let selections =
            path.iter().rev().filter(|entry| entry.kind() == Some(SessionEntryKind::ModelChange));
        selections.copied().find_map(model)
    }

    /// Lists the entries of the branch for a compaction, from the first one that the last compaction kept.
    pub fn path_entries(&self) -> Vec<PathEntry> {
        let path = self.path();
        let (start, edits) = (ContextRange::of(&path).from, Edits::of(&path));
        let on_path =
            |entry: &&Entry| PathEntry { id: entry.id().clone(), kind: path_entry_kind(entry, &edits) };
        path[start..].iter().map(on_path).collect()
    }

    /// Results of one tool on the branch, newest first, those before the last compaction included. Entries are parsed
    /// one by one, and only those that name the tool.
    pub fn results_of<'t>(&'t self, tool: &'t str) -> impl Iterator<Item = &'t ToolResultMessage> {
        let results = self.path().into_iter().rev().filter(|entry| {
            entry.role() == Some(AgentMessageKind::ToolResult)
                && memmem::find(entry.line(), tool.as_bytes()).is_some()
        });
        results.filter_map(Entry::message).filter_map(move |message| match message.as_ref() {
            AgentMessage::ToolResult(result) if result.tool_name == tool => Some(result),
            _ => None,
        })
    }

    /// Names of the rules that were injected into the conversation on the branch.
    pub fn injected_rules(&self) -> impl Iterator<Item = String> {
        let injections =
            self.path().into_iter().filter(|entry| entry.kind() == Some(SessionEntryKind::TtsrInjection));
        injections.filter_map(Entry::read::<TtsrInjectionEntry>).flat_map(|entry| entry.injected_rules)
    }
}

/// The part of a branch that is in the context.
struct ContextRange<'p, 't> {
    path: &'p [&'t Entry],
    /// The last compaction, if there is one.
    summary: Option<&'t Entry>,
    /// All system messages before the last compaction, merged into one.
    checkpoint: Option<Arc<AgentMessage>>,
    /// Index of the first entry that is kept.
    from: usize,
}

impl<'p, 't> ContextRange<'p, 't> {
    fn of(path: &'p [&'t Entry]) -> Self {
        let compaction = path.iter().enumerate().rev().find_map(|(at, entry)| {
            let read = (entry.kind() == Some(SessionEntryKind::Compaction)).then(|| entry.read())?;
            read.map(|read: CompactionEntry| (at, read))
        });
        let Some((at, CompactionEntry { first_kept_entry_id: first, system_message, .. })) = compaction
        else {
            return Self { path, summary: None, checkpoint: None, from: 0 };
        };
        let checkpoint = system_message.map(|message| Arc::new(AgentMessage::System(message)));
        let from = path[..at].iter().position(|entry| entry.id().as_ref() == first).unwrap_or(at);
        Self { path, summary: Some(path[at]), checkpoint, from }
    }

    /// Whether the messages at the head of the context already cover the entry: an earlier compaction, or a system
    /// message (as long as `compacted` is 0) that is in the checkpoint.
    fn replaces(&self, entry: &Entry, compacted: usize) -> bool {
        let is_system = entry.role() == Some(AgentMessageKind::System) && compacted == 0;
        entry.kind() == Some(SessionEntryKind::Compaction) || is_system && self.checkpoint.is_some()
    }

    /// Entries that the compaction kept, and those behind it.
    fn entries(&self) -> impl Iterator<Item = &'t Entry> {
        self.path[self.from..].iter().copied()
    }
}

/// Reads the thinking level that an entry sets. A null stands for no level, which is off.
fn level(entry: &Entry, notices: &mut Vec<Notice>) -> Option<ThinkingLevel> {
    if entry.kind() != Some(SessionEntryKind::ThinkingLevelChange) {
        return None;
    }
    let read: Option<ThinkingLevelChangeEntry> = entry.read();
    let Some(text) = read.map(|read| read.thinking_level.unwrap_or_else(|| "off".to_owned())) else {
        notices.push(Notice::Unread { id: entry.id().clone(), why: "no thinking level".to_owned() });
        return None;
    };
    let level = ThinkingLevel::parse(&text);
    if level.is_none() {
        let why = format!("the thinking level `{text}` is not known");
        notices.push(Notice::Unread { id: entry.id().clone(), why });
    }
    level
}

/// Reads provider and model from an entry that names them.
fn model(entry: &Entry) -> Option<(String, String)> {
    match (entry.kind()?, entry.role()) {
        (SessionEntryKind::ModelChange, _) => {
            let read: ModelChangeEntry = entry.read()?;
            let whole = || {
                let (provider, id) = read.model.as_deref()?.split_once('/')?;
                let answers = read.role.as_deref().is_none_or(|role| role == DEFAULT_ROLE);
                answers.then(|| (provider.to_owned(), id.to_owned()))
            };
            read.provider.clone().zip(read.model_id.clone()).or_else(whole)
        }
        (SessionEntryKind::Message, Some(AgentMessageKind::Assistant)) => {
            let AssistantEntry { message: AnsweringModel { provider, model } } =
                serde_json::from_slice(entry.line()).ok()?;
            Some((provider, model))
        }
        _ => None,
    }
}

/// The members of an assistant's entry that name its model.
#[derive(Deserialize)]
struct AssistantEntry {
    message: AnsweringModel,
}

#[derive(Deserialize)]
struct AnsweringModel {
    provider: String,
    model: String,
}

/// Classifies an entry for a compaction.
fn path_entry_kind(entry: &Entry, edits: &Edits) -> PathEntryKind {
    let message = || edits.edited_message(entry);
    let kind = match entry.kind() {
        // System messages are never summarized.
        Some(SessionEntryKind::Message) if entry.role() == Some(AgentMessageKind::System) => None,
        Some(SessionEntryKind::Message) => message().map(PathEntryKind::Message),
        Some(SessionEntryKind::CustomMessage) => message().map(PathEntryKind::CustomMessage),
        Some(SessionEntryKind::BranchSummary) => message().map(PathEntryKind::BranchSummary),
        Some(SessionEntryKind::Compaction) => {
            entry.read().map(|read: CompactionEntry| PathEntryKind::Compaction {
                summary: read.summary,
                first_kept: read.first_kept_entry_id,
                details: read.details,
                from_hook: read.from_hook.or(read.from_extension).unwrap_or(false),
            })
        }
        _ => None,
    };
    kind.unwrap_or(PathEntryKind::Other)
}
