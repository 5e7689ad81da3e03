//! The order of the events of tool calls, where the client's dialect runs them one after another, or has each result directly
//! behind the end of its call.

use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AssistantContent, AssistantMessage, Dialect, DialectToolExecution,
    Outbound,
};
use std::collections::VecDeque;

/// Events of the open calls that come too early for the client.
#[derive(Debug)]
pub struct ToolOrder {
    /// Whether a call begins when the one before has its result.
    is_sequential: bool,
    /// Whether the result directly follows the end of the call.
    is_adjacent: bool,
    /// Whether all results follow the end of the last call, in the order of the calls.
    is_together: bool,
    calls: VecDeque<Call>,
}

#[derive(Debug)]
struct Call {
    id: String,
    frames: VecDeque<Outbound>,
    has_result: bool,
}

impl ToolOrder {
    /// The order of a client, if that of the server is another.
    pub fn new(server: Dialect, client: Dialect) -> Self {
        let is_sequential = |dialect: Dialect| {
            let order = dialect.record().tool_execution;
            matches!(order, DialectToolExecution::SequentialSkip | DialectToolExecution::Interrupt)
        };
        let is_adjacent = |dialect: Dialect| !dialect.record().results_together;
        Self {
            is_sequential: is_sequential(client) && !is_sequential(server),
            is_adjacent: is_adjacent(client) && !is_adjacent(server),
            is_together: !is_adjacent(client) && is_adjacent(server),
            calls: VecDeque::new(),
        }
    }

    /// Takes an event that has its place in the client's chart; returns those that may come now.
    pub fn take(&mut self, frame: Outbound) -> Vec<Outbound> {
        if !self.is_sequential && !self.is_adjacent && !self.is_together {
            return vec![frame];
        }
        let Some(id) = call_of(&frame).map(str::to_owned) else {
            let mut all: Vec<_> = self.calls.drain(..).flat_map(|call| call.frames).collect();
            all.push(if self.is_together { with_sorted_results(frame) } else { frame });
            return all;
        };
        let at = self.calls.iter().position(|call| call.id == id).unwrap_or_else(|| {
            self.calls.push_back(Call { id, frames: VecDeque::new(), has_result: false });
            self.calls.len() - 1
        });
        if let Some(call) = self.calls.get_mut(at) {
            call.has_result |= is_result_end(&frame);
            call.frames.push_back(frame);
        }
        let mut due = Vec::new();
        for call in &mut self.calls {
            let waits = |frame: &Outbound| match () {
                () if self.is_together => is_result(frame),
                () => self.is_adjacent && !call.has_result && is_call_end(frame),
            };
            let count = call.frames.iter().take_while(|frame| !waits(frame)).count();
            due.extend(call.frames.drain(..count));
            if self.is_sequential && !call.has_result {
                break;
            }
        }
        self.calls.retain(|call| !call.has_result || !call.frames.is_empty());
        due
    }
}

/// The call that an event is about.
fn call_of(frame: &Outbound) -> Option<&str> {
    let Outbound::AgentSessionEvent(event) = frame else { return None };
    let message = match event {
        AgentSessionEvent::ToolExecutionStart(it) => return Some(&it.tool_call_id),
        AgentSessionEvent::ToolExecutionUpdate(it) => return Some(&it.tool_call_id),
        AgentSessionEvent::ToolExecutionEnd(it) => return Some(&it.tool_call_id),
        AgentSessionEvent::MessageStart(it) => &it.message,
        AgentSessionEvent::MessageEnd(it) => &it.message,
        _ => return None,
    };
    match message {
        AgentMessage::ToolResult(result) => Some(&result.tool_call_id),
        _ => None,
    }
}

/// Whether the event is about the message with the result of a call.
fn is_result(frame: &Outbound) -> bool {
    let Outbound::AgentSessionEvent(event) = frame else { return false };
    let message = match event {
        AgentSessionEvent::MessageStart(it) => &it.message,
        AgentSessionEvent::MessageEnd(it) => &it.message,
        _ => return false,
    };
    matches!(message, AgentMessage::ToolResult(_))
}

/// The end of a turn or a run with its results in the order of the calls.
fn with_sorted_results(mut frame: Outbound) -> Outbound {
    match &mut frame {
        Outbound::AgentSessionEvent(AgentSessionEvent::TurnEnd(end)) => {
            let calls = call_ids(&end.message);
            end.tool_results.sort_by_key(|result| place(&calls, &result.tool_call_id));
        }
        Outbound::AgentSessionEvent(AgentSessionEvent::AgentEnd(end)) => sort_results(&mut end.messages),
        _ => {}
    }
    frame
}

/// Sorts the results behind each answer by the order of its calls.
fn sort_results(messages: &mut [AgentMessage]) {
    let mut calls = Vec::new();
    for group in messages.chunk_by_mut(|_, next| matches!(next, AgentMessage::ToolResult(_))) {
        if let Some(AgentMessage::Assistant(answer)) = group.first() {
            calls = call_ids(answer);
        }
        if let Some((_, results)) = group.split_first_mut() {
            results.sort_by_key(|result| match result {
                AgentMessage::ToolResult(result) => place(&calls, &result.tool_call_id),
                _ => usize::MAX,
            });
        }
    }
}

fn call_ids(answer: &AssistantMessage) -> Vec<String> {
    let calls = answer.content.iter().filter_map(|block| match block {
        AssistantContent::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    });
    calls.collect()
}

fn place(calls: &[String], id: &str) -> usize {
    calls.iter().position(|call| call == id).unwrap_or(usize::MAX)
}

const fn is_call_end(frame: &Outbound) -> bool {
    matches!(frame, Outbound::AgentSessionEvent(AgentSessionEvent::ToolExecutionEnd(_)))
}

const fn is_result_end(frame: &Outbound) -> bool {
    matches!(frame, Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(_)))
}
