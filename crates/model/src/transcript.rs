//! Instructions and tools along a conversation, for servers that take changes of them at their place: what stands ahead then
//! never changes, and neither does the vendor's cache of it.
//!
//! Source: pi 1.6.0 (`transcript`, `text`).

use super::{request::ModelRequest, types::ToolSpec};
use pi_rpc_protocol::{AgentMessage, SystemContent, SystemMessage, SystemTool};
use serde_json::Value;
use std::borrow::Cow;

/// Instructions and tools ahead of the conversation.
#[derive(Clone, Debug)]
pub struct Preamble<'a> {
    /// The instructions; may be empty.
    pub instructions: Cow<'a, str>,
    /// The tools.
    pub tools: Cow<'a, [ToolSpec]>,
    /// Whether changes stand in the conversation: [`Transcript::changes`](super::convert::Transcript::changes).
    pub has_changes: bool,
}

impl<'a> Preamble<'a> {
    /// The preamble of `request` at a server that takes changes of the instructions in the conversation, as `takes_changes` says.
    /// Where changes are told, the tools are those at the beginning.
    pub fn of(request: &ModelRequest<'a>, takes_changes: bool) -> Self {
        let first = request.messages.first().and_then(|message| as_system(message));
        match first.filter(|_| takes_changes && request.has_system_messages) {
            Some(first) => Self {
                instructions: Cow::Owned(text(first)),
                tools: Cow::Owned(specs(first.tools_added.iter().flatten())),
                has_changes: true,
            },
            None => Self {
                instructions: Cow::Borrowed(request.system_prompt),
                tools: Cow::Borrowed(request.tools),
                has_changes: false,
            },
        }
    }
}

/// Returns the message, if it is a system message.
pub const fn as_system(message: &AgentMessage) -> Option<&SystemMessage> {
    match message {
        AgentMessage::System(message) => Some(message),
        _ => None,
    }
}

/// The tools as they are told to a model.
pub fn specs<'a>(tools: impl Iterator<Item = &'a SystemTool>) -> Vec<ToolSpec> {
    let spec = |tool: &SystemTool| ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: Value::Object(tool.parameters.clone()).into(),
        exclusive: false,
        output: None,
    };
    tools.map(spec).collect()
}

/// The tools that a change adds.
pub fn added(change: &SystemMessage) -> Vec<ToolSpec> {
    specs(change.tools_added.iter().flatten())
}

/// Names of the tools that a change removes and does not add again.
pub fn removed(change: &SystemMessage) -> impl Iterator<Item = &str> {
    let is_added = |name: &str| change.tools_added.iter().flatten().any(|tool| tool.name == name);
    let names = change.tools_removed.iter().flatten().map(|tool| tool.name.as_str());
    names.filter(move |name| !is_added(name))
}

/// The whole text of the first system message.
fn text(message: &SystemMessage) -> String {
    let sections = message.sections.iter().flatten().filter_map(|(_, text)| text.clone());
    joined(std::iter::once(own_text(message)).chain(sections))
}

/// The text of a change, which names the sections that change; may be empty.
pub fn change_text(change: &SystemMessage) -> String {
    let section = |(name, text): (&String, &Option<String>)| match text {
        Some(text) => format!("Updated system prompt section \"{name}\":\n\n{text}"),
        None => format!("Removed system prompt section \"{name}\"."),
    };
    joined(std::iter::once(own_text(change)).chain(change.sections.iter().flatten().map(section)))
}

fn own_text(message: &SystemMessage) -> String {
    match &message.content {
        SystemContent::Text(text) => text.clone(),
        SystemContent::Blocks(blocks) => {
            blocks.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Joins texts with a blank line between; empty ones are left out.
pub fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// How many system messages a server that can only add tools in the conversation gets folded into one, and the tools that they
/// add up to: up to the last one that removes a tool or declares one again.
pub fn folded(messages: &[&SystemMessage]) -> (usize, Vec<ToolSpec>) {
    let mut declared: Vec<&str> = Vec::new();
    let mut count = usize::from(!messages.is_empty());
    for (at, message) in messages.iter().enumerate() {
        let names = || message.tools_added.iter().flatten().map(|tool| tool.name.as_str());
        let removes = message.tools_removed.as_ref().is_some_and(|names| !names.is_empty());
        if removes || names().any(|name| declared.contains(&name)) {
            count = at + 1;
        }
        declared.extend(names());
    }
    let mut tools: Vec<&SystemTool> = Vec::new();
    for message in &messages[..count] {
        for gone in message.tools_removed.iter().flatten() {
            tools.retain(|tool| tool.name != gone.name);
        }
        for tool in message.tools_added.iter().flatten() {
            match tools.iter_mut().find(|known| known.name == tool.name) {
                Some(known) => *known = tool,
                None => tools.push(tool),
            }
        }
    }
    (count, specs(tools.into_iter()))
}
