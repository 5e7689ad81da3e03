//! Judges one run: its turns, and its messages from start to end. `run_checks` passes the events of runs to it.
//!
//! Rules: `turn-nesting`, `msg-adjacent`, `start-final-nonassistant`, `agent-end-messages`,
//! `turn-results-complete`.

use super::{partial_message::PartialMessage, stored_message::StoredMessage, turn::Turn, usage::check_sums};
use crate::{findings::Findings, spoken::Spoken};
use pi_rpc_protocol::{AgentEndEvent, AgentMessage, AgentSessionEvent, Dialect, RuleId as Rule, StopReason};

/// The current run: its messages so far and its current turn.
#[derive(Clone, Debug, Default)]
pub struct Run {
    messages: Vec<EndedMessage>,
    /// Whether part of the run was missed, so that not all messages are known.
    incomplete: bool,
    turns: usize,
    /// The current turn; `None` if its beginning was missed.
    turn: Option<Turn>,
    /// A message other than the assistant's that has begun and not ended.
    open: Option<OpenMessage>,
    /// Whether calls of the last turn were never begun, which only an abort explains; then the next answer is aborted.
    unbegun: bool,
}

/// A message that has begun and not ended.
#[derive(Clone, Debug)]
pub struct OpenMessage {
    message: StoredMessage,
    /// The frame with which the message began.
    began: u64,
    /// Whether a frame came between its start and its end, which is reported once.
    parted: bool,
}

/// A complete message of the run.
#[derive(Clone, Debug)]
struct EndedMessage {
    message: StoredMessage,
    /// The frame that completed the message.
    frame: u64,
}

impl Run {
    /// Creates a run whose beginning was missed; `turn` is the turn that begins now, if any.
    pub fn incomplete(turn: Option<Turn>) -> Self {
        Self { incomplete: true, turns: 1, turn, ..Self::default() }
    }

    /// Marks the run and its current turn as not completely known.
    pub fn mark_incomplete(&mut self) {
        self.incomplete = true;
        self.turn.iter_mut().for_each(Turn::mark_incomplete);
    }

    /// Takes in an event.
    pub fn on_event(&mut self, event: &AgentSessionEvent, spoken: Spoken, found: &mut Findings) {
        use AgentSessionEvent as Event;
        let dialect = spoken.dialect;
        if let Some(open) = self.open.as_mut().filter(|open| !open.parted) {
            let closes = matches!(event, Event::MessageEnd(_));
            found.with_cause(Some(open.began), |found| {
                found.expect(Rule::MsgAdjacent, closes, || {
                    format!("message_end({}) at once", open.message.kind())
                });
            });
            open.parted = !closes;
        }
        if let Event::TurnStart(_) = event {
            self.turns += 1;
            self.turn = Some(Turn::default());
        }
        if let Event::TurnStart(_) | Event::MessageStart(_) | Event::AgentEnd(_) = event {
            self.incomplete |= self.open.take().is_some();
        }
        let Some(turn) = &mut self.turn else { return };
        turn.follows(event, dialect, found);
        turn.adjacent(event, dialect, found);
        match event {
            Event::MessageStart(start) => {
                turn.begins(start.message.kind(), found);
                match &start.message {
                    AgentMessage::Assistant(message) => {
                        check_sums(&message.usage, &message.api, "/message/usage", found);
                        turn.partial_message = Some(PartialMessage::new(message, found.frame()));
                    }
                    other => {
                        let (message, began) = (StoredMessage::new(other), found.frame());
                        self.open = Some(OpenMessage { message, began, parted: false });
                    }
                }
            }
            Event::MessageEnd(end) => self.message_end(&end.message, dialect, found),
            Event::ToolExecutionStart(start) if start.parent_tool_call_id.is_some() => {
                turn.nested_call_starts(start, dialect, found);
            }
            Event::ToolExecutionStart(start) => {
                found.with_cause(turn.completed, |found| turn.call_starts(start, dialect, found));
            }
            Event::ToolExecutionUpdate(update) => turn.tool_update(update, dialect, found),
            Event::ToolExecutionEnd(end) => turn.tool_end(end, dialect, found),
            Event::TurnEnd(end) => {
                self.unbegun = turn.end(end, spoken, found);
                self.turn = None;
            }
            _ => {}
        }
    }

    fn message_end(&mut self, message: &AgentMessage, dialect: Dialect, found: &mut Findings) {
        self.messages.push(EndedMessage { message: StoredMessage::new(message), frame: found.frame() });
        let Some(turn) = &mut self.turn else { return };
        let AgentMessage::Assistant(message) = message else {
            let what = "the message that began, unchanged";
            match self.open.take() {
                _ if turn.is_incomplete() => found.pass(Rule::StartFinalNonassistant),
                Some(open) => found.with_cause(Some(open.began), |found| {
                    open.message.expect(Rule::StartFinalNonassistant, "/message", what, message, found);
                }),
                None => found.fail(Rule::StartFinalNonassistant, what),
            }
            if let AgentMessage::ToolResult(result) = message {
                turn.result(result, dialect, found);
            }
            return;
        };
        turn.assistant_end(message, dialect, found);
        if std::mem::take(&mut self.unbegun) {
            found.expect(Rule::TurnResultsComplete, message.stop_reason == StopReason::Aborted, || {
                "a result for each call of the turn before".to_owned()
            });
        }
    }

    pub fn partial_message(&mut self) -> Option<&mut PartialMessage> {
        self.turn.as_mut()?.partial_message.as_mut()
    }

    pub fn end(&self, end: &AgentEndEvent, found: &mut Findings) {
        // The agent loop itself failed: the end has only the message about that.
        if self.turns == 0 && has_broken_down(end) {
            return;
        }
        if self.unbegun {
            found.fail(Rule::TurnResultsComplete, "a result for each call of the last turn");
        }
        found.expect(Rule::TurnNesting, self.turns > 0, || "at least one turn".to_owned());
        // A frame that was too large has only the last messages.
        match self.incomplete || end.message_count.is_some() {
            true => found.pass(Rule::AgentEndMessages),
            false => self.lists(&end.messages, found),
        }
    }

    /// Judges that the end of the run repeats its messages.
    fn lists(&self, messages: &[AgentMessage], found: &mut Findings) {
        let rule = Rule::AgentEndMessages;
        let differs = |place: &usize| match (self.messages.get(*place), messages.get(*place)) {
            (Some(ended), Some(message)) => !ended.message.is(message),
            _ => true,
        };
        let longest = self.messages.len().max(messages.len());
        let Some(place) = (0..longest).find(differs) else { return found.pass(rule) };
        let roles: Vec<_> = self.messages.iter().map(|ended| ended.message.kind().as_str()).collect();
        let what = format!("the run's messages: {}", roles.join(", "));
        let at = format!("/messages/{place}");
        let ended = self.messages.get(place);
        found.with_cause(ended.map(|ended| ended.frame), |found| match (ended, messages.get(place)) {
            (Some(ended), Some(message)) => ended.message.expect(rule, &at, &what, message, found),
            (ended, message) => {
                let role = ended.map(|ended| ended.message.kind().as_str());
                found.fail_with_difference(
                    rule,
                    &at,
                    what,
                    &role,
                    &message.map(|message| message.kind().as_str()),
                );
            }
        });
    }
}

/// Whether the run has ended with only a message about a failure of the agent loop.
pub fn has_broken_down(end: &AgentEndEvent) -> bool {
    let [AgentMessage::Assistant(message)] = end.messages.as_slice() else { return false };
    matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) && message.error_message.is_some()
}
