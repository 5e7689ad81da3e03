//! What `get_session_stats` counts: the messages in memory, every role in the total.

use crate::protocol::{AgentMessage, AssistantContent, TokenTotals};
use std::sync::Arc;

/// Counts over a list of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// User messages.
    pub user: u64,
    /// Assistant messages, failed ones too.
    pub assistant: u64,
    /// Tool calls in the assistant messages.
    pub calls: u64,
    /// Tool results.
    pub results: u64,
    /// Messages of every role.
    pub all: u64,
    /// Tokens that the assistant messages used.
    pub tokens: TokenTotals,
    /// US dollars.
    pub cost: f64,
}

/// Counts `messages`.
pub fn totals(messages: &[Arc<AgentMessage>]) -> Totals {
    let tokens = TokenTotals { input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0 };
    let all = messages.len() as u64;
    let mut totals = Totals { user: 0, assistant: 0, calls: 0, results: 0, all, tokens, cost: 0.0 };
    for message in messages {
        match message.as_ref() {
            AgentMessage::User(_) => totals.user += 1,
            AgentMessage::ToolResult(_) => totals.results += 1,
            AgentMessage::Assistant(message) => {
                totals.assistant += 1;
                let calls =
                    message.content.iter().filter(|block| matches!(block, AssistantContent::ToolCall(_)));
                totals.calls += calls.count() as u64;
                let (usage, sum) = (&message.usage, &mut totals.tokens);
                sum.input += usage.input;
                sum.output += usage.output;
                sum.cache_read += usage.cache_read;
                sum.cache_write += usage.cache_write;
                totals.cost += usage.cost.total.as_f64().unwrap_or(0.0);
            }
            _ => {}
        }
    }
    let sum = &mut totals.tokens;
    sum.total = sum.input + sum.output + sum.cache_read + sum.cache_write;
    totals
}
