//! Counts for `get_session_stats`: of the messages in memory, or of the whole session.

use super::{entry::Entry, tree::Tree};
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, BranchSummaryEntry, CompactionEntry, SessionEntryKind, TokenTotals,
    Usage, UsageEntry,
};
use std::sync::Arc;

/// Counts of messages, tokens and costs.
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
    /// Tokens used.
    pub tokens: TokenTotals,
    /// Costs in US dollars.
    pub cost: f64,
}

/// Largest count that frames and files can hold. A damaged file may claim as much for each answer.
pub(super) const MOST_COUNTED: u64 = (1 << 53) - 1;

/// Counts `messages`.
pub fn totals<'m>(messages: impl IntoIterator<Item = &'m Arc<AgentMessage>>) -> Totals {
    let mut totals = Totals::nothing();
    for message in messages {
        totals.count(message, false);
    }
    totals.summed()
}

impl Tree {
    /// Counts everything on every branch and before every compaction, with the usage of summaries, tools and requests
    /// without a message (source: pi 1 source).
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::nothing();
        for entry in self.entries() {
            match entry.kind() {
                Some(SessionEntryKind::Message) => match entry.message() {
                    Some(message) => totals.count(message, true),
                    None => totals.all += 1,
                },
                kind => totals.spend(kind.and_then(|kind| used(kind, entry)).as_ref()),
            }
        }
        totals.summed()
    }
}

/// Usage of an entry without a message.
fn used(kind: SessionEntryKind, entry: &Entry) -> Option<Usage> {
    match kind {
        SessionEntryKind::Usage => Some(entry.read::<UsageEntry>()?.usage),
        SessionEntryKind::Compaction => entry.read::<CompactionEntry>()?.usage,
        SessionEntryKind::BranchSummary => entry.read::<BranchSummaryEntry>()?.usage,
        _ => None,
    }
}

impl Totals {
    const fn nothing() -> Self {
        let tokens =
            TokenTotals { input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0, reasoning: Some(0) };
        Self { user: 0, assistant: 0, calls: 0, results: 0, all: 0, tokens, cost: 0.0 }
    }

    /// Counts one message; `tools`: with the usage of tools.
    fn count(&mut self, message: &AgentMessage, tools: bool) {
        self.all += 1;
        match message {
            AgentMessage::User(_) => self.user += 1,
            AgentMessage::ToolResult(message) => {
                self.results += 1;
                self.spend(message.usage.as_ref().filter(|_| tools));
            }
            AgentMessage::Assistant(message) => {
                self.assistant += 1;
                let calls =
                    message.content.iter().filter(|block| matches!(block, AssistantContent::ToolCall(_)));
                self.calls += calls.count() as u64;
                self.spend(Some(&message.usage));
            }
            _ => {}
        }
    }

    fn spend(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let sum = &mut self.tokens;
        add(&mut sum.input, usage.input);
        add(&mut sum.output, usage.output);
        add(&mut sum.cache_read, usage.cache_read);
        add(&mut sum.cache_write, usage.cache_write);
        self.cost += usage.cost.total.as_f64().unwrap_or(0.0);
    }

    fn summed(mut self) -> Self {
        let sum = &mut self.tokens;
        for part in [sum.input, sum.output, sum.cache_read, sum.cache_write] {
            add(&mut sum.total, part);
        }
        self
    }
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more).min(MOST_COUNTED);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sums_are_capped_at_frame_limit() {
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
            reasoning: Some(0),
        };
        assert_eq!(totals(&[message.clone(), message]).tokens, expected);
    }
}
