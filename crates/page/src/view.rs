//! A page with its layout, labels and titles: the context for rendering an entry.

use std::borrow::Cow;
use std::collections::HashMap;

use pi_rpc_protocol::{AgentMessage, AssistantContent};

use super::{
    input::{Body, Page},
    layout::Layout,
    markdown::first_words,
    message::first_text,
    text::first_line,
};

/// Characters of a prompt that are shown in links and titles.
const PREVIEW_CHARS: usize = 90;

/// A page, its layout and its labels.
pub(super) struct PageView<'a> {
    pub page: &'a Page,
    pub layout: Layout<'a>,
    labels: HashMap<usize, &'a str>,
}

impl<'a> PageView<'a> {
    pub fn of(page: &'a Page) -> Self {
        let layout = Layout::of(&page.entries, page.leaf.as_deref());
        let mut labels = HashMap::new();
        for entry in &page.entries {
            if let Body::Label { target, label } = &entry.body
                && let Some(target) = layout.entry(target)
            {
                match label.as_deref().filter(|label| !label.is_empty()) {
                    Some(label) => labels.insert(target, label),
                    None => labels.remove(&target),
                };
            }
        }
        Self { page, layout, labels }
    }

    /// The label of an entry.
    pub fn label(&self, entry: usize) -> Option<&'a str> {
        self.labels.get(&entry).copied()
    }

    /// The message in an entry.
    pub fn message(&self, entry: usize) -> Option<&'a AgentMessage> {
        match &self.page.entries[entry].body {
            Body::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The first line of a prompt; `None`: the entry is none.
    pub fn prompt(&self, entry: usize) -> Option<Cow<'a, str>> {
        match self.message(entry)? {
            AgentMessage::User(message) => match first_line(first_text(&message.content), PREVIEW_CHARS) {
                line if line.is_empty() => Some(Cow::Borrowed("Image")),
                line => Some(line),
            },
            _ => None,
        }
    }

    /// The title of a segment: its first prompt, else its first text.
    pub fn segment_title(&self, segment: usize) -> Option<Cow<'a, str>> {
        let words = || self.layout.segments[segment].entries.iter().find_map(|entry| self.preview(*entry));
        self.first_prompt(segment).and_then(|entry| self.prompt(entry)).or_else(words)
    }

    /// The entry of the first prompt of a segment.
    pub fn first_prompt(&self, segment: usize) -> Option<usize> {
        let is_prompt = |entry: &usize| matches!(self.message(*entry), Some(AgentMessage::User(_)));
        self.layout.segments[segment].entries.iter().copied().find(is_prompt)
    }

    /// The first words of an entry that is not the user's.
    pub fn preview(&self, entry: usize) -> Option<Cow<'a, str>> {
        let words = match self.message(entry)? {
            AgentMessage::Assistant(message) => message.content.iter().find_map(|block| match block {
                AssistantContent::Text(block) => Some(Cow::Owned(first_words(&block.text, PREVIEW_CHARS))),
                AssistantContent::ToolCall(call) => Some(Cow::Borrowed(call.name.as_str())),
                _ => None,
            })?,
            AgentMessage::BashExecution(message) => first_line(&message.command, PREVIEW_CHARS),
            AgentMessage::ToolResult(message) => Cow::Borrowed(message.tool_name.as_str()),
            AgentMessage::BranchSummary(message) => Cow::Owned(first_words(&message.summary, PREVIEW_CHARS)),
            _ => return None,
        };
        (!words.is_empty()).then_some(words)
    }

    /// The title of the page: the session's name, else its first prompt.
    pub fn title(&self) -> Cow<'a, str> {
        let name = self.page.name.as_deref().filter(|name| !name.trim().is_empty());
        name.map(Cow::Borrowed).or_else(|| self.segment_title(0)).unwrap_or(Cow::Borrowed("Session"))
    }
}

/// The anchor of an entry. Ids in a file are arbitrary, and may repeat.
pub(super) fn entry_anchor(entry: usize) -> String {
    format!("e{}", entry + 1)
}

/// The anchor of a segment.
pub(super) fn segment_anchor(segment: usize) -> String {
    format!("b{segment}")
}
