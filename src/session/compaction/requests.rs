//! What a model is asked to sum up.

use super::{Preparation, lines::conversation, prompts};
use crate::protocol::{AgentMessage, texts};
use std::sync::Arc;

/// The most tokens of a short summary.
const SHORT: u64 = 512;

/// The most tokens of the summary of a branch.
const BRANCH: u64 = 2048;

/// A request for a summary: instructions and one user message, without tools. A model that thinks is to think hard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The instructions that come first.
    pub system_prompt: &'static str,
    /// What the user says.
    pub text: String,
    /// The most tokens of the answer.
    pub max_tokens: u64,
}

impl Preparation {
    /// Asks for the summary of what came before the kept part, or before the turn that is split; `None` where nothing
    /// was said there.
    ///
    /// The answer may take four fifths of `reserve`, the tokens that are kept free of the context window. `focus` is
    /// what the user asks the summary to dwell on.
    ///
    /// Source: pi source, xcsh source.
    pub fn history_request(&self, reserve: u64, focus: Option<&str>) -> Option<SummaryRequest> {
        let previous = self.previous_summary.as_deref();
        let task = if previous.is_some() { prompts::UPDATE } else { prompts::FIRST };
        let task = format!("{task}{}", prompts::SECTIONS);
        let tokens = reserve / 5 * 4 + reserve % 5 * 4 / 5;
        request(&self.history, self.most, previous, &task, focus, tokens)
    }

    /// Asks for the summary of the beginning of the turn that is split; `None` where none is. The answer may take half
    /// of `reserve`. It may be asked for beside the other one.
    ///
    /// Source: pi source, xcsh source.
    pub fn prefix_request(&self, reserve: u64, focus: Option<&str>) -> Option<SummaryRequest> {
        request(&self.prefix, self.most, None, prompts::PREFIX, focus, reserve / 2)
    }
}

/// Asks for a short version of `summary` to show, in dialects that have one.
///
/// Source: xcsh source.
pub fn short_request(summary: &str) -> SummaryRequest {
    let text = format!("<summary>\n{summary}\n</summary>\n\n{}", prompts::SHORT);
    SummaryRequest { system_prompt: prompts::SYSTEM, text, max_tokens: SHORT }
}

/// Asks for the summary of a branch that is left; `None`: nothing was said on it. `instructions` are what it is to dwell on,
/// or all that is asked if they `replace` the usual ones.
///
/// Source: pi source.
pub(in crate::session) fn branch_request(
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
    // No vendor takes a request for no tokens.
    Some(SummaryRequest { system_prompt: prompts::SYSTEM, text, max_tokens: tokens.max(1) })
}
