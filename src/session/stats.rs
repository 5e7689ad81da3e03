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

/// The largest count that frames and files can hold. Files may claim that much for each answer.
pub(super) const MOST_COUNTED: u64 = (1 << 53) - 1;

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
                add(&mut sum.input, usage.input);
                add(&mut sum.output, usage.output);
                add(&mut sum.cache_read, usage.cache_read);
                add(&mut sum.cache_write, usage.cache_write);
                totals.cost += usage.cost.total.as_f64().unwrap_or(0.0);
            }
            _ => {}
        }
    }
    let sum = &mut totals.tokens;
    for part in [sum.input, sum.output, sum.cache_read, sum.cache_write] {
        add(&mut sum.total, part);
    }
    totals
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more).min(MOST_COUNTED);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_sum_is_larger_than_a_frame_can_tell() {
        let usage = json!({
            "input": MOST_COUNTED, "output": 0, "cacheRead": 1, "cacheWrite": 0, "totalTokens": 0,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
        });
        let message = json!({
            "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "usage": usage,
            "stopReason": "stop", "timestamp": 1,
        });
        let message: Arc<AgentMessage> = Arc::new(serde_json::from_value(message).unwrap());
        let expected = TokenTotals {
            input: MOST_COUNTED,
            output: 0,
            cache_read: 2,
            cache_write: 0,
            total: MOST_COUNTED,
        };
        assert_eq!(totals(&[message.clone(), message]).tokens, expected);
    }
}
