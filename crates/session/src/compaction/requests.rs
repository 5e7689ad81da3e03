//! Requests to a model for summaries.

use super::{Preparation, lines::conversation, prompts};
use pi_rpc_protocol::{AgentMessage, texts};
use std::sync::Arc;

/// Token limit of a short summary.
const SHORT: u64 = 512;

/// Token limit of a branch's summary.
const BRANCH: u64 = 2048;

/// A request for a summary: a system prompt and one user message, without tools. A model that thinks is to think
/// hard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The system prompt.
    pub system_prompt: &'static str,
    /// Text of the user message.
    pub text: String,
    /// Token limit of the answer.
    pub max_tokens: u64,
}

impl Preparation {
    /// Builds the request for the summary of the history; `None`: there is no text in it.
    ///
    /// The answer may take four fifths of `reserve`, the tokens that are kept free of the context window. `focus` is
    /// the user's instruction for the summary.
    ///
    /// Source: pi source, xcsh source.
    pub fn history_request(&self, reserve: u64, focus: Option<&str>) -> Option<SummaryRequest> {
        let previous = self.previous_summary.as_deref();
        let task = if previous.is_some() { prompts::UPDATE } else { prompts::FIRST };
        let task = format!("{task}{}", prompts::SECTIONS);
        let tokens = reserve / 5 * 4 + reserve % 5 * 4 / 5;
        request(&self.history, self.most, previous, &task, focus, tokens)
    }

    /// Builds the request for the summary of the beginning of the split turn; `None`: no turn is split. The answer
    /// may take half of `reserve`. It can be sent beside the other request.
    ///
    /// Source: pi source, xcsh source.
    pub fn prefix_request(&self, reserve: u64, focus: Option<&str>) -> Option<SummaryRequest> {
        request(&self.prefix, self.most, None, prompts::PREFIX, focus, reserve / 2)
    }
}

/// Builds the request for a short version of `summary`, in dialects that show one.
///
/// Source: xcsh source.
pub fn short_request(summary: &str) -> SummaryRequest {
    let text = format!("<summary>\n{summary}\n</summary>\n\n{}", prompts::SHORT);
    SummaryRequest { system_prompt: prompts::SYSTEM, text, max_tokens: SHORT }
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
        Some(task) => request(messages, None, None, task, None, BRANCH),
        None => {
            let task = format!("{}{}", prompts::BRANCH, prompts::SECTIONS);
            request(messages, None, None, &task, instructions, BRANCH)
        }
    }
}

fn request(
    messages: &[Arc<AgentMessage>],
    most: Option<u64>,
    previous: Option<&str>,
    task: &str,
    focus: Option<&str>,
    tokens: u64,
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
    // Vendors refuse a limit of no tokens.
    Some(SummaryRequest { system_prompt: prompts::SYSTEM, text, max_tokens: tokens.max(1) })
}
