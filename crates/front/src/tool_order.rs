//! The order of the events of tool calls, where the client's dialect runs them one after another, or has each result directly
//! behind the end of its call.

use pi_rpc_protocol::{AgentMessage, AgentSessionEvent, Dialect, DialectToolExecution, Outbound};
use std::collections::VecDeque;

/// Events of the open calls that come too early for the client.
#[derive(Debug)]
pub struct ToolOrder {
    /// Whether a call begins when the one before has its result.
    is_sequential: bool,
    /// Whether the result directly follows the end of the call.
    is_adjacent: bool,
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
        let is_sequential =
            |dialect: Dialect| dialect.record().tool_execution == DialectToolExecution::SequentialSkip;
        let is_adjacent = |dialect: Dialect| !dialect.record().results_together;
        Self {
            is_sequential: is_sequential(client) && !is_sequential(server),
            is_adjacent: is_adjacent(client) && !is_adjacent(server),
            calls: VecDeque::new(),
        }
    }

    /// Takes an event that has its place in the client's chart; returns those that may come now.
    pub fn take(&mut self, frame: Outbound) -> Vec<Outbound> {
        if !self.is_sequential && !self.is_adjacent {
            return vec![frame];
        }
        let Some(id) = call_of(&frame).map(str::to_owned) else {
            let mut all: Vec<_> = self.calls.drain(..).flat_map(|call| call.frames).collect();
            all.push(frame);
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
            let waits = |frame: &Outbound| self.is_adjacent && !call.has_result && is_call_end(frame);
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

const fn is_call_end(frame: &Outbound) -> bool {
    matches!(frame, Outbound::AgentSessionEvent(AgentSessionEvent::ToolExecutionEnd(_)))
}

const fn is_result_end(frame: &Outbound) -> bool {
    matches!(frame, Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(_)))
}
