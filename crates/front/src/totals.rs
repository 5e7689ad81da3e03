//! Statistics of a session, where dialects differ in what they count: the messages in memory, or all entries (`statsOver` of the record).

use pi_rpc_protocol::{
    AgentMessage, AssistantContent, Base, Dialect, DialectStatsOver, SessionStats, TokenTotals,
};
use serde_json::Number;

/// How the statistics of the server become those of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatsBridge {
    /// As they are.
    Same,
    /// The server counts all entries, the client the messages in memory, which the front lists.
    OfContext,
    /// The server counts the messages in memory, the client all entries, which the front has seen begin.
    OfSession,
}

impl StatsBridge {
    pub fn new(server: Dialect, client: Dialect) -> Self {
        let over = |dialect: Dialect| dialect.record().stats_over;
        match (over(server), over(client)) {
            (DialectStatsOver::Session, DialectStatsOver::Context) => Self::OfContext,
            (DialectStatsOver::Context, DialectStatsOver::Session) => Self::OfSession,
            _ => Self::Same,
        }
    }
}

/// Numbers of messages, and what they have used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    all: u64,
    user: u64,
    assistant: u64,
    calls: u64,
    results: u64,
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    /// In US dollars.
    cost: f64,
}

impl Totals {
    /// Those of the messages that a dialect has.
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a AgentMessage>, client: Base) -> Self {
        let mut totals = Self::default();
        messages.into_iter().filter(|message| message.kind().is_in(client)).for_each(|it| totals.add(it));
        totals
    }

    /// Counts a message.
    pub fn add(&mut self, message: &AgentMessage) {
        self.all += 1;
        match message {
            AgentMessage::User(_) => self.user += 1,
            AgentMessage::ToolResult(_) => self.results += 1,
            AgentMessage::Assistant(answer) => {
                self.assistant += 1;
                let calls =
                    answer.content.iter().filter(|block| matches!(block, AssistantContent::ToolCall(_)));
                self.calls += calls.count() as u64;
                let usage = &answer.usage;
                self.input = self.input.saturating_add(usage.input);
                self.output = self.output.saturating_add(usage.output);
                self.cache_read = self.cache_read.saturating_add(usage.cache_read);
                self.cache_write = self.cache_write.saturating_add(usage.cache_write);
                self.cost += usage.cost.total.as_f64().unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Puts these numbers in place of those of the server.
    pub fn replace(&self, stats: &mut SessionStats) {
        *stats = self.with(stats, |own, _| own, |own, _| own);
    }

    /// Raises the numbers of the server to these.
    pub fn raise(&self, stats: &mut SessionStats) {
        *stats = self.with(stats, u64::max, f64::max);
    }

    fn with(
        &self,
        given: &SessionStats,
        number: impl Fn(u64, u64) -> u64,
        cost: impl Fn(f64, f64) -> f64,
    ) -> SessionStats {
        let tokens = &given.tokens;
        let [input, output, cache_read, cache_write] = [
            number(self.input, tokens.input),
            number(self.output, tokens.output),
            number(self.cache_read, tokens.cache_read),
            number(self.cache_write, tokens.cache_write),
        ];
        let cost = cost(self.cost, given.cost.as_f64().unwrap_or_default());
        SessionStats {
            user_messages: number(self.user, given.user_messages),
            assistant_messages: number(self.assistant, given.assistant_messages),
            tool_calls: number(self.calls, given.tool_calls),
            tool_results: number(self.results, given.tool_results),
            total_messages: number(self.all, given.total_messages),
            tokens: TokenTotals {
                input,
                output,
                reasoning: tokens.reasoning,
                cache_read,
                cache_write,
                total: input.saturating_add(output).saturating_add(cache_read).saturating_add(cache_write),
            },
            cost: Number::from_f64(cost).unwrap_or_else(|| given.cost.clone()),
            ..given.clone()
        }
    }
}
