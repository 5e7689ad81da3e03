//! The checks of counts, equalities and prefixes: what a frame's kind cannot say.

use super::Rule;
use crate::protocol::{
    AgentEndEvent, AgentMessage, AgentSessionEvent, AgentToolResult, AssistantContent, AssistantMessage,
    BlockKind, Dialect, DialectToolExecution, JsonObject, Outbound, Said, Step, StopReason, ToolCall,
    ToolExecutionEndEvent, ToolExecutionStartEvent, ToolResultMessage, TurnEndEvent, Update,
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
    turns: usize,
    turn: Turn,
    /// A message that began and has not ended, other than the assistant's.
    open: Option<AgentMessage>,
}

#[derive(Debug, Default)]
struct Turn {
    growing: Option<Growing>,
    assistant: Option<AssistantMessage>,
    calls: Vec<Call>,
    results: Vec<ToolResultMessage>,
}

#[derive(Debug)]
struct Growing {
    start: AssistantMessage,
    blocks: Vec<Block>,
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
                if let Some(growing) = self.run.as_mut().and_then(|run| run.turn.growing.as_mut()) {
                    growing.update(update, found);
                }
            }
            Said::Frame(Outbound::AgentSessionEvent(event)) => self.event(event, found),
            Said::Frame(_) => {}
        }
    }

    fn event(&mut self, event: &AgentSessionEvent, found: &mut Found) {
        use AgentSessionEvent as Event;
        let sequential = self.sequential;
        match event {
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
        if let Some(open) = &self.open {
            let closes = matches!(event, Event::MessageEnd(_));
            expect(found, Rule::MsgAdjacent, closes, || format!("message_end({}) at once", open.kind()));
        }
        match event {
            Event::TurnStart(_) => {
                self.turns += 1;
                self.turn = Turn::default();
            }
            Event::MessageStart(start) => match &start.message {
                AgentMessage::Assistant(message) => {
                    self.turn.growing = Some(Growing { start: message.clone(), blocks: Vec::new() });
                }
                other => self.open = Some(other.clone()),
            },
            Event::MessageEnd(end) => self.message_end(&end.message, sequential, found),
            Event::ToolExecutionStart(start) => self.turn.tool_start(start, sequential, found),
            Event::ToolExecutionUpdate(update) => {
                let call = self.turn.calls.iter().find(|call| call.call.id == update.tool_call_id);
                let open = call.is_some_and(|call| call.started && call.end.is_none());
                expect(found, Rule::ToolUpdateWindow, open, || "progress of a call that runs".to_owned());
            }
            Event::ToolExecutionEnd(end) => self.turn.tool_end(end, found),
            Event::TurnEnd(end) => self.turn.end(end, found),
            _ => {}
        }
    }

    fn message_end(&mut self, message: &AgentMessage, sequential: bool, found: &mut Found) {
        match message {
            AgentMessage::Assistant(message) => self.turn.assistant_end(message, found),
            other => {
                let same = self.open.take().is_some_and(|open| open == *other);
                expect(found, Rule::StartFinalNonassistant, same, || {
                    "the message that began, unchanged".to_owned()
                });
                if let AgentMessage::ToolResult(result) = other {
                    self.turn.result(result, sequential, found);
                }
            }
        }
        self.messages.push(message.clone());
    }

    fn end(&self, end: &AgentEndEvent, found: &mut Found) {
        expect(found, Rule::RunEdges, self.turns > 0, || "at least one turn".to_owned());
        expect(found, Rule::AgentEndMessages, end.messages == self.messages, || {
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

    fn tool_end(&mut self, end: &ToolExecutionEndEvent, found: &mut Found) {
        let call = self.calls.iter_mut().find(|call| call.call.id == end.tool_call_id);
        match call.filter(|call| call.started && call.end.is_none() && call.call.name == end.tool_name) {
            Some(call) => call.end = Some((end.result.clone(), end.is_error)),
            None => found.push((Rule::ToolEndPerStart, "the end of a call that runs".to_owned())),
        }
    }

    fn result(&mut self, result: &ToolResultMessage, sequential: bool, found: &mut Found) {
        if sequential {
            let waits = self.calls.iter().filter(|call| call.end.is_some() && !call.answered).count();
            expect(found, Rule::ToolResultAdjacent, waits <= 1, || "each result after its end".to_owned());
        }
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
        let open = self.blocks.last().is_some_and(|block| block.end.is_none());
        match &update.step {
            Step::Start(block) => {
                let next = !open && update.index == self.blocks.len();
                expect(found, Rule::BlockProtocol, next, || format!("block {} to start", self.blocks.len()));
                let text = text_of(block).unwrap_or_default().to_owned();
                self.blocks.push(Block { kind: update.block, text, end: None });
            }
            Step::Delta(delta) => match self.open(update) {
                Some(block) => block.text.push_str(delta),
                None => found.push((Rule::BlockProtocol, "a delta of an open block".to_owned())),
            },
            Step::End(whole) => {
                let Some(block) = self.open(update) else {
                    found.push((Rule::BlockProtocol, "the end of an open block".to_owned()));
                    return;
                };
                if let Some(text) = text_of(whole) {
                    let same = text.trim_end_matches('\n') == block.text.trim_end_matches('\n');
                    expect(found, Rule::DeltaConcat, same, || format!("{:?}", block.text));
                }
                if let AssistantContent::ToolCall(call) = whole {
                    let same = read_arguments(&block.text).is_none_or(|read| read == call.arguments);
                    expect(found, Rule::ToolcallArgs, same, || block.text.clone());
                }
                block.end = Some(whole.clone());
            }
        }
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
        expect(found, Rule::EndEqLast, failed || whole, || "the blocks that were streamed".to_owned());
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
