//! Merges the system messages of a conversation into one.

use pi_rpc_protocol::{AgentMessage, SystemContent, SystemMessage, SystemTool};
use std::sync::Arc;

/// Merges all system messages into one with the timestamp `at` (milliseconds since the Unix epoch); `None`: there are
/// none.
///
/// Texts are joined with a blank line between. The last value of each section counts; a removed one is gone. Tools
/// are in the order in which they were added, each in its last form; within one message, removals come before
/// additions.
///
/// Source: pi 1 source, observed.
pub fn checkpoint(messages: &[Arc<AgentMessage>], at: u64) -> Option<SystemMessage> {
    let systems = messages.iter().filter_map(|message| match message.as_ref() {
        AgentMessage::System(message) => Some(message),
        _ => None,
    });
    let mut texts = Vec::new();
    let mut sections = Vec::new();
    let mut tools: Vec<SystemTool> = Vec::new();
    let mut any = false;
    for message in systems {
        any = true;
        texts.push(text(&message.content));
        for (name, section) in message.sections.iter().flatten() {
            replace(&mut sections, section.clone().map(|section| (name.clone(), section)), |(it, _)| {
                it == name
            });
        }
        for gone in message.tools_removed.iter().flatten() {
            tools.retain(|tool| tool.name != gone.name);
        }
        for tool in message.tools_added.iter().flatten() {
            replace(&mut tools, Some(tool.clone()), |it| it.name == tool.name);
        }
    }
    texts.retain(|text| !text.is_empty());
    any.then(|| SystemMessage {
        content: SystemContent::Text(texts.join("\n\n")),
        sections: (!sections.is_empty())
            .then(|| sections.into_iter().map(|(name, section)| (name, Some(section))).collect()),
        timestamp: at,
        tools_added: Some(tools).filter(|tools| !tools.is_empty()),
        tools_removed: None,
    })
}

/// Replaces the old item by `new`, appends it if there is no old one, or removes the old one if there is no new one.
fn replace<T>(list: &mut Vec<T>, new: Option<T>, is_old: impl Fn(&T) -> bool) {
    match (list.iter().position(is_old), new) {
        (Some(at), Some(new)) => list[at] = new,
        (None, Some(new)) => list.push(new),
        (Some(at), None) => {
            list.remove(at);
        }
        (None, None) => {}
    }
}

fn text(content: &SystemContent) -> String {
    match content {
        SystemContent::Text(text) => text.clone(),
        SystemContent::Blocks(blocks) => blocks.iter().map(|block| block.text.as_str()).collect(),
    }
}
