//! Requests to a model for summaries.

use super::{Preparation, lines::conversation, prompts};
use pi_rpc_protocol::{AgentMessage, texts};
use std::sync::Arc;

/// A request for a summary: a system prompt and one user message, without tools. A model that thinks is to think
/// hard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The system prompt.
    pub system_prompt: &'static str,
    /// Text of the user message.
    pub text: String,
}

impl Preparation {
    /// Builds the request for the summary of the history; `None`: there is no text in it.
    ///
    /// `focus` is the user's instruction for the summary.
    ///
    /// Source: pi source, xcsh source.
    pub fn history_request(&self, focus: Option<&str>) -> Option<SummaryRequest> {
        let previous = self.previous_summary.as_deref();
        let task = if previous.is_some() { prompts::UPDATE } else { prompts::FIRST };
        let task = format!("{task}{}", prompts::SECTIONS);
        request(&self.history, self.most, previous, &task, focus)
    }

    /// Builds the request for the summary of the beginning of the split turn; `None`: no turn is split. It
    /// can be sent beside the other request.
    ///
    /// Source: pi source, xcsh source.
    pub fn prefix_request(&self, focus: Option<&str>) -> Option<SummaryRequest> {
        request(&self.prefix, self.most, None, prompts::PREFIX, focus)
    }
}

/// Builds the request for a short version of `summary`, in dialects that show one.
///
/// Source: xcsh source.
pub fn short_request(summary: &str) -> SummaryRequest {
    let text = format!("<summary>\n{summary}\n</summary>\n\n{}", prompts::SHORT);
    SummaryRequest { system_prompt: prompts::SYSTEM, text }
}

/// Builds the request for the summary of an abandoned branch; `None`: there is no text in it. `instructions` are
/// added to the usual ones, or take their place if `replace`.
///
/// Source: pi source.
pub(crate) fn branch_request(
    messages: &[Arc<AgentMessage>],
    instructions: Option<&str>,
    replace: bool,
) -> Option<SummaryRequest> {
    match instructions.filter(|_| replace) {
        Some(task) => request(messages, None, None, task, None),
        None => {
            let task = format!("{}{}", prompts::BRANCH, prompts::SECTIONS);
            request(messages, None, None, &task, instructions)
        }
    }
}

fn request(
    messages: &[Arc<AgentMessage>],
    most: Option<u64>,
    previous: Option<&str>,
    task: &str,
    focus: Option<&str>,
) -> Option<SummaryRequest> {
    let conversation = conversation(messages, most);
    if conversation.is_empty() {
        return None;
    }
    let mut text = format!("<conversation>\n{conversation}\n</conversation>\n\n");
    if let Some(previous) = previous {
        text += &format!("<previous-summary>\n{previous}\n</previous-summary>\n\n");
    }
    text += task;
    if let Some(focus) = focus.map(str::trim).filter(|focus| !focus.is_empty()) {
        text += "\n\n";
        text += &texts::focus(focus);
    }
    Some(SummaryRequest { system_prompt: prompts::SYSTEM, text })
}
