//! The checks of counts, equalities and prefixes: what a frame's kind cannot say.

use super::Rule;
use crate::protocol::{
    AgentEndEvent, AgentMessage, AgentSessionEvent, AgentToolResult, AssistantContent, AssistantMessage,
    BlockKind, Dialect, DialectToolExecution, JsonObject, Outbound, Said, Step, StopReason, ToolCall,
    ToolExecutionEndEvent, ToolExecutionStartEvent, ToolExecutionUpdateEvent, ToolResultMessage,
    TurnEndEvent, Update,
};
use serde_json::Value;

/// What a rule wanted instead, in words.
type Found = Vec<(Rule, String)>;

/// Follows one conversation; keeps the messages of the open run. Only sees frames that are legal where they stand.
#[derive(Debug)]
pub struct Checks {
    /// Calls run one after another, each with its result at once.
    sequential: bool,
    run: Option<Run>,
    attempt: Option<u64>,
}

#[derive(Debug, Default)]
struct Run {
    messages: Vec<AgentMessage>,
    /// Part of it was missed: its messages are not all known.
    torn: bool,
    turns: usize,
    /// The open turn; none where its beginning was missed.
    turn: Option<Turn>,
    /// A message that began and has not ended, other than the assistant's.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    message: AgentMessage,
    /// Something stood between its start and its end; that is said once.
    parted: bool,
}

#[derive(Debug, Default)]
struct Turn {
    growing: Option<Growing>,
    assistant: Option<AssistantMessage>,
    calls: Vec<Call>,
    results: Vec<ToolResultMessage>,
    /// The call that has just ended: its result comes next.
    ended: Option<String>,
}

#[derive(Debug)]
struct Growing {
    start: AssistantMessage,
    blocks: Vec<Block>,
    /// A step did not fit: what the blocks hold is not known any more.
    torn: bool,
}

#[derive(Debug)]
struct Block {
    kind: BlockKind,
    text: String,
    end: Option<AssistantContent>,
}

#[derive(Debug)]
struct Call {
    call: ToolCall,
    started: bool,
    end: Option<(AgentToolResult, bool)>,
    answered: bool,
}

impl Checks {
    /// Checks for one conversation in `dialect`.
    pub fn new(dialect: Dialect) -> Self {
        let sequential = dialect.record().tool_execution == DialectToolExecution::SequentialSkip;
        Self { sequential, run: None, attempt: None }
    }

    /// Sees one thing that is said.
    pub fn see(&mut self, said: &Said, found: &mut Found) {
        match said {
            Said::Update(update) => {
                if let Some(growing) = self.run.as_mut().and_then(Run::growing) {
                    growing.update(update, found);
                }
            }
            Said::Frame(Outbound::AgentSessionEvent(event)) => self.event(event, found),
            Said::Frame(_) => {}
        }
    }

    /// What was said was out of place, and the conversation goes on from where it leads: what was open there is
    /// forgotten, and followed again from the next beginning.
    pub fn lost(&mut self, said: &Said) {
        use AgentSessionEvent as Event;
        let torn = Run { torn: true, turns: 1, ..Run::default() };
        self.run = match said {
            Said::Frame(Outbound::AgentSessionEvent(Event::AgentEnd(_))) => None,
            Said::Frame(Outbound::AgentSessionEvent(Event::AutoRetryStart(start))) => {
                self.attempt = Some(start.attempt);
                None
            }
            Said::Frame(Outbound::AgentSessionEvent(Event::TurnStart(_))) => {
                Some(Run { turn: Some(Turn::default()), ..torn })
            }
            _ => Some(torn),
        };
    }

    fn event(&mut self, event: &AgentSessionEvent, found: &mut Found) {
        use AgentSessionEvent as Event;
        let sequential = self.sequential;
        match event {
            // These may come anywhere and part nothing.
            Event::TodoAutoClear(_)
            | Event::TtsrTriggered(_)
            | Event::RetryFallbackApplied(_)
            | Event::RetryFallbackSucceeded(_) => {}
            Event::AgentStart(_) => self.run = Some(Run::default()),
            Event::AutoRetryStart(start) => {
                let expected = self.attempt.map_or(1, |n| n + 1);
                expect(
                    found,
                    Rule::RetryPairs,
                    start.attempt == expected && start.attempt <= start.max_attempts,
                    || format!("attempt {expected} of at most {}", start.max_attempts),
                );
                self.attempt = Some(start.attempt);
            }
            Event::AutoRetryEnd(end) => {
                let attempt = self.attempt.take();
                expect(found, Rule::RetryPairs, attempt == Some(end.attempt), || {
                    format!("the last attempt, {attempt:?}")
                });
                expect(found, Rule::RetryPairs, end.success == end.final_error.is_none(), || {
                    "`finalError` exactly on failure".to_owned()
                });
            }
            Event::AutoCompactionEnd(end) => {
                let quiet = end.aborted || end.error_message.is_some() || end.skipped == Some(true);
                expect(found, Rule::CompactionFields, !(quiet && end.result.is_some()), || {
                    "`result` only on success".to_owned()
                });
            }
            event => {
                let Some(run) = &mut self.run else { return };
                run.event(event, sequential, found);
                if let Event::AgentEnd(end) = event {
                    run.end(end, found);
                    self.run = None;
                }
            }
        }
    }
}

impl Run {
    fn event(&mut self, event: &AgentSessionEvent, sequential: bool, found: &mut Found) {
        use AgentSessionEvent as Event;
        if let Some(open) = self.open.as_mut().filter(|open| !open.parted) {
            let closes = matches!(event, Event::MessageEnd(_));
            expect(found, Rule::MsgAdjacent, closes, || {
                format!("message_end({}) at once", open.message.kind())
            });
            open.parted = !closes;
        }
        if let Event::TurnStart(_) = event {
            self.turns += 1;
            self.turn = Some(Turn::default());
        }
        if let Event::TurnStart(_) | Event::MessageStart(_) | Event::AgentEnd(_) = event {
            self.torn |= self.open.take().is_some();
        }
        let Some(turn) = &mut self.turn else { return };
        turn.adjacent(event, found);
        match event {
            Event::MessageStart(start) => match &start.message {
                AgentMessage::Assistant(message) => {
                    turn.growing = Some(Growing { start: message.clone(), blocks: Vec::new(), torn: false });
                }
                other => self.open = Some(Open { message: other.clone(), parted: false }),
            },
            Event::MessageEnd(end) => self.message_end(&end.message, found),
            Event::ToolExecutionStart(start) => turn.tool_start(start, sequential, found),
            Event::ToolExecutionUpdate(update) => turn.tool_update(update, found),
            Event::ToolExecutionEnd(end) => turn.tool_end(end, found),
            Event::TurnEnd(end) => {
                turn.end(end, found);
                self.turn = None;
            }
            _ => {}
        }
    }

    fn message_end(&mut self, message: &AgentMessage, found: &mut Found) {
        self.messages.push(message.clone());
        let Some(turn) = &mut self.turn else { return };
        let AgentMessage::Assistant(message) = message else {
            let same = self.open.take().is_some_and(|open| open.message == *message);
            expect(found, Rule::StartFinalNonassistant, same, || {
                "the message that began, unchanged".to_owned()
            });
            if let AgentMessage::ToolResult(result) = message {
                turn.result(result, found);
            }
            return;
        };
        turn.assistant_end(message, found);
    }

    fn growing(&mut self) -> Option<&mut Growing> {
        self.turn.as_mut()?.growing.as_mut()
    }

    fn end(&self, end: &AgentEndEvent, found: &mut Found) {
        expect(found, Rule::RunEdges, self.turns > 0, || "at least one turn".to_owned());
        expect(found, Rule::AgentEndMessages, self.torn || end.messages == self.messages, || {
            let roles: Vec<_> = self.messages.iter().map(|message| message.kind().as_str()).collect();
            format!("the run's messages: {}", roles.join(", "))
        });
    }
}

impl Turn {
    fn assistant_end(&mut self, message: &AssistantMessage, found: &mut Found) {
        let failed = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        expect(found, Rule::StopReason, failed == message.error_message.is_some(), || {
            "`errorMessage` exactly with error and aborted".to_owned()
        });
        if let Some(growing) = self.growing.take() {
            growing.end(message, failed, found);
        }
        self.calls = message
            .content
            .iter()
            .filter_map(|block| match block {
                AssistantContent::ToolCall(call) => {
                    Some(Call { call: call.clone(), started: false, end: None, answered: false })
                }
                _ => None,
            })
            .collect();
        self.assistant = Some(message.clone());
    }

    fn tool_start(&mut self, start: &ToolExecutionStartEvent, sequential: bool, found: &mut Found) {
        let Some(at) = self.calls.iter().position(|call| call.call.id == start.tool_call_id) else {
            found.push((Rule::ToolStartPerCall, "a call of the assistant message".to_owned()));
            return;
        };
        let before = &self.calls[..at];
        expect(found, Rule::ToolOrderStart, before.iter().all(|call| call.started), || {
            "calls in order".to_owned()
        });
        expect(found, Rule::ToolSequential, !sequential || before.iter().all(|call| call.answered), || {
            "the former call's result first".to_owned()
        });
        let call = &mut self.calls[at];
        let same = call.call.name == start.tool_name && call.call.arguments == start.args && !call.started;
        expect(found, Rule::ToolStartPerCall, same, || {
            format!("one start of {} with its arguments", call.call.name)
        });
        call.started = true;
    }

    /// Nothing stands between the end of a call and its result.
    fn adjacent(&mut self, event: &AgentSessionEvent, found: &mut Found) {
        let Some(id) = self.ended.take() else { return };
        let next = match event {
            // Has a rule of its own.
            AgentSessionEvent::ToolExecutionEnd(end) if end.tool_call_id == id => true,
            AgentSessionEvent::MessageStart(start) => match &start.message {
                AgentMessage::ToolResult(result) => result.tool_call_id == id,
                _ => false,
            },
            _ => false,
        };
        expect(found, Rule::ToolResultAdjacent, next, || format!("the result of {id} at once"));
    }

    fn tool_update(&self, update: &ToolExecutionUpdateEvent, found: &mut Found) {
        let call = self.calls.iter().find(|call| call.call.id == update.tool_call_id);
        let open = call.is_some_and(|call| call.started && call.end.is_none());
        expect(found, Rule::ToolUpdateWindow, open, || "progress of a call that runs".to_owned());
    }

    fn tool_end(&mut self, end: &ToolExecutionEndEvent, found: &mut Found) {
        let call = self.calls.iter_mut().find(|call| call.call.id == end.tool_call_id);
        match call.filter(|call| call.started && call.end.is_none() && call.call.name == end.tool_name) {
            Some(call) => {
                call.end = Some((end.result.clone(), end.is_error));
                self.ended = Some(end.tool_call_id.clone());
            }
            None => found.push((Rule::ToolEndPerStart, "the end of a call that runs".to_owned())),
        }
    }

    fn result(&mut self, result: &ToolResultMessage, found: &mut Found) {
        let call = self.calls.iter_mut().find(|call| call.call.id == result.tool_call_id && !call.answered);
        let Some(call) = call else {
            found.push((Rule::ToolResultEq, "the result of a call that has ended".to_owned()));
            return;
        };
        call.answered = true;
        let same = call.end.as_ref().is_some_and(|(end, is_error)| {
            end.content == result.content && end.details == result.details && *is_error == result.is_error
        });
        expect(found, Rule::ToolResultEq, same, || "what the end of the call said".to_owned());
        self.results.push(result.clone());
    }

    fn end(&self, end: &TurnEndEvent, found: &mut Found) {
        let same = self.assistant.as_ref().is_some_and(|message| *message == end.message);
        expect(found, Rule::TurnEndMessage, same, || "the turn's assistant message".to_owned());
        expect(found, Rule::TurnResults, end.tool_results == self.results, || {
            format!("the turn's {} tool results", self.results.len())
        });
        let failed = self
            .assistant
            .as_ref()
            .is_some_and(|message| matches!(message.stop_reason, StopReason::Error | StopReason::Aborted));
        expect(
            found,
            Rule::TurnResultsComplete,
            failed || self.calls.iter().all(|call| call.answered),
            || "a result for each call".to_owned(),
        );
    }
}

impl Growing {
    fn update(&mut self, update: &Update, found: &mut Found) {
        if self.torn {
            return;
        }
        let next = self.blocks.len();
        let free = update.index == next && self.blocks.last().is_none_or(|block| block.end.is_some());
        let expected = match (&update.step, self.open(update)) {
            (Step::Start(block), _) if free => {
                let text = text_of(block).unwrap_or_default().to_owned();
                return self.blocks.push(Block { kind: update.block, text, end: None });
            }
            (Step::Delta(delta), Some(block)) => return block.text.push_str(delta),
            (Step::End(whole), Some(block)) => return block.end(whole, found),
            (Step::Start(_), _) => format!("block {next} to start"),
            (Step::Delta(_), None) => "a delta of an open block".to_owned(),
            (Step::End(_), None) => "the end of an open block".to_owned(),
        };
        self.torn = true;
        found.push((Rule::BlockProtocol, expected));
    }

    fn open(&mut self, update: &Update) -> Option<&mut Block> {
        self.blocks.get_mut(update.index).filter(|block| block.kind == update.block && block.end.is_none())
    }

    fn end(&self, message: &AssistantMessage, failed: bool, found: &mut Found) {
        let start = &self.start;
        let constant =
            |m: &AssistantMessage| (m.api.clone(), m.provider.clone(), m.model.clone(), m.timestamp);
        expect(found, Rule::AssistantConstant, constant(start) == constant(message), || {
            "api, provider, model and timestamp as at the start".to_owned()
        });
        let streamed: Vec<&AssistantContent> =
            self.blocks.iter().filter_map(|block| block.end.as_ref()).collect();
        let whole = streamed.len() == self.blocks.len() && streamed.into_iter().eq(&message.content);
        expect(found, Rule::EndEqLast, self.torn || failed || whole, || {
            "the blocks that were streamed".to_owned()
        });
    }
}

impl Block {
    fn end(&mut self, whole: &AssistantContent, found: &mut Found) {
        if let Some(text) = text_of(whole) {
            let same = text.trim_end_matches('\n') == self.text.trim_end_matches('\n');
            expect(found, Rule::DeltaConcat, same, || format!("{:?}", self.text));
        }
        if let AssistantContent::ToolCall(call) = whole {
            let same = read_arguments(&self.text).is_none_or(|read| read == call.arguments);
            expect(found, Rule::ToolcallArgs, same, || self.text.clone());
        }
        self.end = Some(whole.clone());
    }
}

fn text_of(block: &AssistantContent) -> Option<&str> {
    match block {
        AssistantContent::Text(it) => Some(&it.text),
        AssistantContent::Thinking(it) if it.redacted != Some(true) => Some(&it.thinking),
        _ => None,
    }
}

/// Arguments that are no object are shown as an empty one; then the text proves nothing.
fn read_arguments(text: &str) -> Option<JsonObject> {
    match serde_json::from_str(if text.is_empty() { "{}" } else { text }) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

fn expect(found: &mut Found, rule: Rule, holds: bool, expected: impl FnOnce() -> String) {
    if !holds {
        found.push((rule, expected()));
    }
}
