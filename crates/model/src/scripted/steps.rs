//! Expands a turn to stream events.

use std::iter;
use std::ops::ControlFlow;
use std::time::Duration;

use super::{block::Block, player::ScriptedCall, turn::Turn};
use crate::{
    sse::NO_STOP_REASON,
    types::{BlockStart, StreamEvent, TokenCounts},
};

/// One step of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Milliseconds to wait after the step before.
    pub delay_ms: u64,
    /// The event, or silence.
    pub action: StepAction,
}

/// The action of a [`Step`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepAction {
    /// Emits an event.
    Event(StreamEvent),
    /// Falls silent until the call is cancelled. Always the last step.
    Hang,
}

impl Turn {
    /// Expands the turn to the answer to `ask`.
    ///
    /// An answer begins with its id and its usage so far, has its blocks, and ends with the whole usage and the
    /// reason. One that is cut short lacks the end. A failure or a hang without blocks comes alone: the provider has
    /// not answered at all.
    pub fn steps(&self, ask: &ScriptedCall<'_>) -> Vec<Step> {
        let mut performance = StepBuilder {
            turn: self,
            ask,
            steps: Vec::new(),
            deltas_left: self.after_deltas,
            output_chars: 0,
            calls: 0,
        };
        let begins = !self.say.is_empty() || !self.is_cut_short();
        if begins {
            performance.begin();
            performance.add_blocks();
        }
        performance.end(begins);
        performance.steps
    }
}

/// The state of expanding a turn.
struct StepBuilder<'a> {
    turn: &'a Turn,
    ask: &'a ScriptedCall<'a>,
    steps: Vec<Step>,
    /// Deltas left until the turn is cut short.
    deltas_left: Option<u32>,
    output_chars: u64,
    calls: usize,
}

impl StepBuilder<'_> {
    fn begin(&mut self) {
        let id = format!("scripted_{}", self.ask.call);
        self.event_after(self.turn.first_delay_ms, StreamEvent::ResponseId(id));
        // As real APIs: one output token at the beginning, the sum at the end.
        let usage = self.turn.tokens(self.ask, 1);
        self.event(StreamEvent::Usage(TokenCounts { output: usage.output.min(1), ..usage }));
    }

    fn add_blocks(&mut self) {
        let turn = self.turn;
        for (index, block) in turn.say.iter().enumerate() {
            let stays_open = turn.is_cut_short() && index + 1 == turn.say.len();
            if self.block(index, block, stays_open).is_break() {
                break;
            }
        }
    }

    fn end(&mut self, begun: bool) {
        let delay_ms = if begun { 0 } else { self.turn.first_delay_ms };
        if let Some(failure) = &self.turn.fail {
            let message = failure.error_message(begun);
            let retry_after = failure.retry_after.map(|seconds| Duration::from_secs(seconds.into()));
            self.event_after(delay_ms, StreamEvent::Fail { message, retry_after });
        } else if self.turn.hang {
            self.steps.push(Step { delay_ms, action: StepAction::Hang });
        } else {
            let usage = self.turn.tokens(self.ask, self.output_chars.max(1));
            self.event(StreamEvent::Usage(usage));
            if self.turn.no_reason {
                let message = NO_STOP_REASON.to_owned();
                return self.event(StreamEvent::Fail { message, retry_after: None });
            }
            let finish = self.turn.finish();
            self.event(StreamEvent::ProviderReason(finish.name().to_owned()));
            self.event(StreamEvent::Finish(finish));
        }
    }

    /// Adds one block; breaks if the turn is cut short within it.
    fn block(&mut self, index: usize, block: &Block, stays_open: bool) -> ControlFlow<()> {
        if self.deltas_left == Some(0) {
            return ControlFlow::Break(());
        }
        let start = self.block_start(block);
        self.event_after(block.first_delay_ms(), StreamEvent::Start { index, block: start });

        let delta_chars = self.turn.delta_chars(block);
        let delay_ms = block.delay_ms().unwrap_or(self.turn.delay_ms);
        for delta in split(&block.text(delta_chars), delta_chars) {
            self.delta(index, delay_ms, delta)?;
        }

        if !stays_open {
            let signature = match block {
                Block::Thinking(block) => block.signature.clone(),
                _ => None,
            };
            self.event(StreamEvent::End { index, signature });
        }
        ControlFlow::Continue(())
    }

    fn block_start(&mut self, block: &Block) -> BlockStart {
        match block {
            Block::Text(_) | Block::Filler(_) => BlockStart::Text,
            Block::Thinking(_) => BlockStart::Thinking,
            Block::Redacted(block) => BlockStart::Redacted { data: block.redacted.clone() },
            Block::Tool(block) => {
                self.calls += 1;
                let default_id = || format!("call_{}_{}", self.ask.call, self.calls);
                BlockStart::ToolCall {
                    id: block.id.clone().unwrap_or_else(default_id),
                    name: block.tool.clone(),
                }
            }
        }
    }

    fn delta(&mut self, index: usize, delay_ms: u64, delta: &str) -> ControlFlow<()> {
        self.output_chars += u64::try_from(delta.chars().count()).unwrap_or(u64::MAX);
        let delta = delta.to_owned();
        self.event_after(delay_ms, StreamEvent::Delta { index, delta });
        match &mut self.deltas_left {
            None => ControlFlow::Continue(()),
            Some(left) => {
                *left -= 1;
                if *left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        }
    }

    fn event(&mut self, event: StreamEvent) {
        self.event_after(0, event);
    }

    fn event_after(&mut self, delay_ms: u64, event: StreamEvent) {
        self.steps.push(Step { delay_ms, action: StepAction::Event(event) });
    }
}

/// Splits `text` into pieces of `size` characters, the last one shorter; 0: one piece.
fn split(text: &str, size: u32) -> impl Iterator<Item = &str> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut rest = text;
    iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = match size {
            0 => rest.len(),
            _ => rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at),
        };
        let (piece, after) = rest.split_at(cut);
        rest = after;
        Some(piece)
    })
}
