//! What a session's branch comes to: what models are told, how hard they think, which model answers.

use super::{
    compaction::{PathEntry, PathEntryKind},
    context_message::ContextMessage,
    edits::Edits,
    entry::Entry,
    new_entry::DEFAULT_ROLE,
    notice::Notice,
    tree::Tree,
};
use crate::protocol::{
    AgentMessage, AgentMessageKind, CompactionEntry, ModelChangeEntry, SessionEntryKind, ThinkingLevel,
    ThinkingLevelChangeEntry, ToolResultMessage, TtsrInjectionEntry,
};
use memchr::memmem;
use serde::Deserialize;
use std::sync::Arc;

/// What the entries from the first to the leaf come to (source: pi source).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// What models are told, oldest first. After a compaction its summary comes first, then what it kept.
    pub messages: Vec<Arc<AgentMessage>>,
    /// How many of the messages were in the context before the last compaction, its summary included; 0 without one.
    pub compacted: usize,
    /// The level that was set last; `None`: no entry sets one.
    pub level: Option<ThinkingLevel>,
    /// Provider and id of the model that was set last, or answered last; `None`: neither happened.
    pub model: Option<(String, String)>,
    /// What could not be read, and is left out.
    pub notices: Vec<Notice>,
}

/// The same as a [`Context`], with messages that need not be parsed.
#[derive(Debug)]
pub(super) struct Outline {
    pub context: Vec<ContextMessage>,
    pub compacted: usize,
    pub level: Option<ThinkingLevel>,
    pub model: Option<(String, String)>,
    pub notices: Vec<Notice>,
}

impl Tree {
    /// What the branch comes to. Only the messages that belong to it are parsed.
    pub fn context(&self) -> Context {
        let Outline { context, compacted, level, model, notices } = self.outline();
        let messages = context.iter().filter_map(|message| message.message(self).cloned()).collect();
        Context { messages, compacted, level, model, notices }
    }

    /// What the branch comes to. Only the messages that may not be readable are parsed.
    ///
    /// Where xcsh notes a list of the provider's own in place of what a compaction kept (source: xcsh source), the
    /// messages that were kept are told instead: they are in the file, and any provider understands them.
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

    /// The branch as a compaction sees it: from the first entry that the last compaction kept, or from the first of all.
    pub fn path_entries(&self) -> Vec<PathEntry> {
        let path = self.path();
        let (start, edits) = (ContextRange::of(&path).from, Edits::of(&path));
        let on_path =
            |entry: &&Entry| PathEntry { id: entry.id().clone(), kind: path_entry_kind(entry, &edits) };
        path[start..].iter().map(on_path).collect()
    }

    /// What a tool returned on the branch, newest first; also what a compaction has taken out of the context. Only
    /// entries that name the tool are parsed, as they are asked for.
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

    /// The names of the rules that the model was told of on the branch.
    pub fn injected_rules(&self) -> impl Iterator<Item = String> {
        let injections =
            self.path().into_iter().filter(|entry| entry.kind() == Some(SessionEntryKind::TtsrInjection));
        injections.filter_map(Entry::read::<TtsrInjectionEntry>).flat_map(|entry| entry.injected_rules)
    }
}

/// What of a path is in the context.
struct ContextRange<'p, 't> {
    path: &'p [&'t Entry],
    /// The last compaction.
    summary: Option<&'t Entry>,
    /// What the model was told of itself until then.
    checkpoint: Option<Arc<AgentMessage>>,
    /// Place of the first entry that is kept.
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

    /// Whether what is told first stands for the entry: of the compactions only the last one counts, and what was said
    /// of the model itself before it (`compacted` is 0 until then) is in its checkpoint.
    fn replaces(&self, entry: &Entry, compacted: usize) -> bool {
        let is_system = entry.role() == Some(AgentMessageKind::System) && compacted == 0;
        entry.kind() == Some(SessionEntryKind::Compaction) || is_system && self.checkpoint.is_some()
    }

    /// The kept entries and those after the compaction.
    fn entries(&self) -> impl Iterator<Item = &'t Entry> {
        self.path[self.from..].iter().copied()
    }
}

/// The level that an entry sets. A null means that none is set, which is off.
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

/// Who answers, as far as the entry says.
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
            let AnsweringModel { provider, model } = entry.read::<AssistantEntry>()?.message;
            Some((provider, model))
        }
        _ => None,
    }
}

/// The part of an assistant's entry that says who answered.
#[derive(Deserialize)]
struct AssistantEntry {
    message: AnsweringModel,
}

#[derive(Deserialize)]
struct AnsweringModel {
    provider: String,
    model: String,
}

fn path_entry_kind(entry: &Entry, edits: &Edits) -> PathEntryKind {
    let message = || edits.edited_message(entry);
    let kind = match entry.kind() {
        // What the model is told of itself is never summed up.
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
