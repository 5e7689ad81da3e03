//! The partial message: builds an assistant message from the events of a model's stream.

use crate::io::Now;
use pi_rpc_machine::{Costs, PricedTokens, costs};
use pi_rpc_model::types::{Bill, BlockStart, Finish, StreamEvent, TokenCounts};
use pi_rpc_protocol::{
    AssistantContent, AssistantMessage, Cost, Diagnostic, Dialect, DialectRedactedThinking,
    DialectUnfinishedStopReason, JsonObject, Model, ModelPrice, RedactedThinkingContent, Step, StopReason,
    TextContent, ThinkingContent, ThinkingLevel, ToolCall, Update, Usage, arguments_error, number,
    parse_arguments, parse_partial,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// An assistant message while it streams.
#[derive(Debug)]
pub struct PartialMessage {
    /// The message so far.
    pub message: AssistantMessage,
    /// The provider's `retry-after`, if the answer failed.
    pub retry_after: Option<Duration>,
    price: ModelPrice,
    dialect: Dialect,
    level: Option<ThinkingLevel>,
    /// The provider's own name for the stop reason.
    word: Option<String>,
    /// The blocks that are still open; of a call, the raw text of its arguments.
    open: BTreeMap<usize, String>,
    /// The calls that the answer's end has ended before they had arguments.
    unclosed: BTreeSet<usize>,
    /// Whether anything besides the content has changed since the last update.
    changed: bool,
    began: Duration,
    first: Option<Duration>,
}

/// The effect of a stream event.
#[derive(Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "most are updates; none is kept")]
pub enum Progress {
    /// Nothing to emit.
    Quiet,
    /// An update to emit.
    Update(Update),
    /// The message is complete, or failed.
    Over,
}

impl PartialMessage {
    /// Creates an empty message, as `message_start` has it.
    pub fn new(model: &Model, dialect: Dialect, now: Now) -> Self {
        let message = AssistantMessage {
            content: Vec::new(),
            api: model.api.clone(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            usage: usage(TokenCounts::default(), &model.cost, None),
            stop_reason: match dialect.record().unfinished_stop_reason {
                DialectUnfinishedStopReason::Stop => StopReason::Stop,
                DialectUnfinishedStopReason::Pending => StopReason::Pending,
            },
            timestamp: now.wall,
            response_id: None,
            provider_payload: None,
            error_message: None,
            duration: None,
            ttft: None,
            response_model: None,
            raw_stop_reason: None,
            provider_thinking_level: None,
            diagnostics: None,
            deferred: None,
            end_turn: None,
            duration_ms: None,
            thinking_level: None,
            completed_at: None,
            context_snapshot: None,
            error_id: None,
            error_status: None,
            retry_recovery: None,
        };
        let price = model.cost.clone();
        Self {
            message,
            retry_after: None,
            price,
            dialect,
            level: None,
            word: None,
            open: BTreeMap::new(),
            unclosed: BTreeSet::new(),
            changed: false,
            began: now.monotonic,
            first: None,
        }
    }

    /// Sets the thinking level of the request.
    pub fn at(self, level: Option<ThinkingLevel>) -> Self {
        Self { level, ..self }
    }

    /// Names the model that answers instead of the selected one, before its answer has begun.
    pub fn answer_as(&mut self, model: &Model, level: Option<ThinkingLevel>, dialect: Dialect, now: Now) {
        *self = Self::new(model, dialect, now).at(level);
    }

    /// Applies a stream event. Events that do not fit (a block that is not open) are ignored.
    pub fn apply(&mut self, event: StreamEvent, now: Now) -> Progress {
        match event {
            StreamEvent::ResponseId(id) => {
                self.message.response_id = Some(id);
                self.changed = true;
                Progress::Quiet
            }
            StreamEvent::Model(name) => {
                self.message.response_model = Some(name).filter(|name| *name != self.message.model);
                self.changed |= self.message.response_model.is_some();
                Progress::Quiet
            }
            StreamEvent::Effort(word) => {
                self.message.provider_thinking_level = Some(word);
                Progress::Quiet
            }
            StreamEvent::Diagnostic(observed) => {
                let error =
                    observed.error.map(|text| JsonObject::from_iter([("message".to_owned(), text.into())]));
                self.message.diagnostics.get_or_insert_default().push(Diagnostic {
                    type_: observed.kind.to_owned(),
                    timestamp: now.wall,
                    error,
                    details: Some(observed.details),
                });
                self.changed = true;
                Progress::Quiet
            }
            StreamEvent::Usage(counts) => {
                // Providers state no price.
                self.message.usage = usage(counts, &self.price, Some(false));
                self.changed = true;
                Progress::Quiet
            }
            StreamEvent::ProviderReason(word) => {
                self.word = Some(word);
                Progress::Quiet
            }
            StreamEvent::Start { index, block } => self.start(index, block, now),
            StreamEvent::Delta { index, delta } => self.delta(index, delta),
            StreamEvent::Unclosed { index } => {
                self.unclosed.insert(index);
                Progress::Quiet
            }
            StreamEvent::End { index, signature } => self.end(index, signature),
            StreamEvent::Signature { index, signature } => {
                self.sign(index, signature);
                Progress::Quiet
            }
            StreamEvent::Finish(finish) => {
                let reason = match finish {
                    Finish::Stop => StopReason::Stop,
                    Finish::Length => StopReason::Length,
                    Finish::ToolUse => StopReason::ToolUse,
                };
                self.message.raw_stop_reason = self.word.take();
                self.close(reason, None, now);
                Progress::Over
            }
            StreamEvent::Fail { message, retry_after } => {
                self.message.raw_stop_reason = self.word.take();
                self.retry_after = retry_after;
                self.close(StopReason::Error, Some(message), now);
                Progress::Over
            }
        }
    }

    /// Ends the message: the reason, and the text if it failed.
    pub fn close(&mut self, reason: StopReason, error: Option<String>, now: Now) {
        self.message.stop_reason = reason;
        self.message.error_message = error;
        let millis = |since: Duration, at: Duration| at.saturating_sub(since).as_millis() as u64;
        self.message.duration_ms = Some(millis(self.began, now.monotonic));
        self.message.thinking_level = self.level;
        self.message.completed_at = Some(now.wall);
        if self.dialect.record().message_timings {
            self.message.duration = self.message.duration_ms.map(Into::into);
            self.message.ttft = self.first.map(|first| millis(self.began, first).into());
        }
    }

    /// Begins a block.
    fn start(&mut self, index: usize, block: BlockStart, now: Now) -> Progress {
        if index != self.message.content.len() {
            return Progress::Quiet;
        }
        self.first.get_or_insert(now.monotonic);
        let content = match block {
            BlockStart::Text => {
                AssistantContent::Text(TextContent { text: String::new(), text_signature: None })
            }
            BlockStart::Thinking => AssistantContent::Thinking(ThinkingContent {
                thinking: String::new(),
                thinking_signature: None,
                redacted: None,
            }),
            BlockStart::Redacted { data } => redacted(data, self.dialect),
            BlockStart::ToolCall { id, name } => AssistantContent::ToolCall(ToolCall {
                id,
                name,
                arguments: Default::default(),
                thought_signature: None,
                arguments_error: None,
                intent: None,
                namespace: None,
            }),
        };
        self.open.insert(index, String::new());
        self.message.content.push(content.clone());
        self.update(index, Step::Start(content))
    }

    /// Appends a delta to an open block.
    fn delta(&mut self, index: usize, delta: String) -> Progress {
        let Some(raw) = self.open.get_mut(&index) else { return Progress::Quiet };
        match self.message.content.get_mut(index) {
            Some(AssistantContent::Text(block)) => block.text.push_str(&delta),
            Some(AssistantContent::Thinking(block)) if block.redacted != Some(true) => {
                block.thinking.push_str(&delta);
            }
            Some(AssistantContent::ToolCall(_)) => raw.push_str(&delta),
            _ => return Progress::Quiet,
        }
        self.update(index, Step::Delta(delta))
    }

    /// Ends a block.
    fn end(&mut self, index: usize, signature: Option<String>) -> Progress {
        let (Some(raw), Some(block)) = (self.open.remove(&index), self.message.content.get_mut(index)) else {
            return Progress::Quiet;
        };
        if let AssistantContent::ToolCall(call) = block {
            set_arguments(call, &raw, !self.unclosed.contains(&index));
        }
        if let Some(signature) = signature {
            self.sign(index, signature);
        }
        let whole = self.message.content[index].clone();
        self.update(index, Step::End(whole))
    }

    /// Sets the signature of a block.
    fn sign(&mut self, index: usize, signature: String) {
        match self.message.content.get_mut(index) {
            Some(AssistantContent::Text(block)) => block.text_signature = Some(signature),
            Some(AssistantContent::Thinking(block)) if block.redacted != Some(true) => {
                block.thinking_signature = Some(signature);
            }
            Some(AssistantContent::ToolCall(call)) => call.thought_signature = Some(signature),
            _ => {}
        }
    }

    fn update(&mut self, index: usize, step: Step) -> Progress {
        let rest = std::mem::take(&mut self.changed).then(|| {
            let content = std::mem::take(&mut self.message.content);
            let rest = Box::new(self.message.clone());
            self.message.content = content;
            rest
        });
        let block = self.message.content[index].block_kind();
        Progress::Update(Update { index, block, step, rest })
    }

    /// Returns the message. Open calls of a failed one, which do not run, show the arguments that have arrived.
    pub fn finish(mut self) -> AssistantMessage {
        let failed = has_failed(&self.message);
        for (index, raw) in &self.open {
            match self.message.content.get_mut(*index) {
                Some(AssistantContent::ToolCall(call)) if failed => call.arguments = parse_partial(raw),
                Some(AssistantContent::ToolCall(call)) => set_arguments(call, raw, false),
                _ => {}
            }
        }
        self.message
    }
}

/// Whether the answer has failed or was aborted, which ends the run.
pub const fn has_failed(message: &AssistantMessage) -> bool {
    matches!(message.stop_reason, StopReason::Error | StopReason::Aborted)
}

/// Gives a call that is over its arguments, or the reason why there are none. One that was not `closed` by the provider
/// must have some.
fn set_arguments(call: &mut ToolCall, raw: &str, closed: bool) {
    let read = match raw.trim().is_empty() && !closed {
        true => Err(arguments_error("The call has no arguments: the provider did not end it", raw)),
        false => parse_arguments(raw),
    };
    match read {
        Ok(arguments) => call.arguments = arguments,
        Err(error) => {
            (call.arguments, call.arguments_error) = (JsonObject::new(), Some(error));
        }
    }
}

/// The block for redacted thinking, in the dialect's form.
fn redacted(data: String, dialect: Dialect) -> AssistantContent {
    match dialect.record().redacted_thinking {
        DialectRedactedThinking::OwnBlock => {
            AssistantContent::RedactedThinking(RedactedThinkingContent { data })
        }
        DialectRedactedThinking::ThinkingBlock => AssistantContent::Thinking(ThinkingContent {
            thinking: REDACTED.to_owned(),
            thinking_signature: Some(data),
            redacted: Some(true),
        }),
    }
}

/// The text that pi shows for thinking that the provider redacts.
const REDACTED: &str = "[Reasoning redacted]";

/// More tokens than any answer has. A provider may claim any number; sums over a session must not overflow.
const MOST_TOKENS: u64 = 1 << 40;

/// Tokens with what they cost. `total_from_provider` is absent until something was counted.
fn usage(claimed: TokenCounts, price: &ModelPrice, total_from_provider: Option<bool>) -> Usage {
    let hour = claimed.cache_write_1h.map(|count| count.min(MOST_TOKENS));
    let counts = PricedTokens {
        input: claimed.input.min(MOST_TOKENS),
        output: claimed.output.min(MOST_TOKENS),
        cache_read: claimed.cache_read.min(MOST_TOKENS),
        cache_write: claimed.cache_write.min(MOST_TOKENS),
        cache_write_1h: hour.unwrap_or(0),
    };
    let by_price = costs(price, &counts);
    let dollars = |picodollars: u64| picodollars as f64 / 1e12;
    let sum = |[input, output, read, write]: Costs| input + output + read + write;
    let ([input, output, read, write], total, total_from_provider) = match claimed.billed {
        None => (by_price, sum(by_price), total_from_provider),
        Some(Bill::Percent(percent)) => {
            let of_tier = by_price.map(|cost| cost * f64::from(percent) / 100.0);
            (of_tier, sum(of_tier), total_from_provider)
        }
        Some(Bill::Total(total)) => (by_price, dollars(total), Some(true)),
        Some(Bill::Parts { input, output, cache_read, cache_write, total }) => {
            ([input, output, cache_read, cache_write].map(dollars), dollars(total), None)
        }
    };
    Usage {
        input: counts.input,
        output: counts.output,
        cache_read: counts.cache_read,
        cache_write: counts.cache_write,
        total_tokens: counts.input + counts.output + counts.cache_read + counts.cache_write,
        premium_requests: None,
        cost: Cost {
            input: number(input),
            output: number(output),
            cache_read: number(read),
            cache_write: number(write),
            total: number(total),
            total_from_provider,
        },
        cache_write1h: hour,
        reasoning: claimed.reasoning.map(|count| count.min(MOST_TOKENS)),
    }
}
