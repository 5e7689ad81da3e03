//! The tools that the host runs: their calls, and what the host says of them.

use super::moment::Moment;
use crate::{
    machine::{findings::Findings, kind::Kind, requests::Open},
    protocol::{
        AgentMessage, AgentSessionEvent, AssistantContent, HostToolCall, HostToolCancel, HostToolResult,
        HostToolUpdate, RpcCommand, RuleId as Rule,
    },
};
use std::collections::{BTreeSet, VecDeque};

/// Calls and registrations that are kept, the latest.
const KEPT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct HostTools {
    /// Commands so far: their numbers are those of the requests.
    count: u64,
    /// What `set_host_tools` would register, without an answer yet.
    asked: VecDeque<(u64, BTreeSet<String>)>,
    registered: BTreeSet<String>,
    /// The calls of the open assistant message that have not ended; none where they were missed.
    calls: Option<BTreeSet<String>>,
    /// The calls that wait for the host: their ids, and those of the model's calls.
    open: VecDeque<(String, String)>,
    /// The model's calls that were cancelled and have not ended.
    cancelled: BTreeSet<String>,
}

impl HostTools {
    pub fn command(&mut self, command: &RpcCommand) {
        let number = self.count;
        self.count += 1;
        if let RpcCommand::SetHostTools(set) = command {
            self.asked.push_back((number, set.tools.iter().map(|tool| tool.name.clone()).collect()));
            if self.asked.len() > KEPT {
                self.asked.pop_front();
            }
        }
    }

    pub fn answered(&mut self, request: &Open, success: bool) {
        let place = self.asked.iter().position(|(number, _)| *number == request.number);
        if let Some((_, names)) = place.and_then(|place| self.asked.remove(place))
            && success
        {
            self.registered = names;
        }
    }

    pub fn event(&mut self, event: &AgentSessionEvent, at: &Moment, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::MessageEnd(end) => {
                if let AgentMessage::Assistant(message) = &end.message {
                    let calls = message.content.iter().filter_map(|block| match block {
                        AssistantContent::ToolCall(call) => Some(call.id.clone()),
                        _ => None,
                    });
                    self.calls = (!at.cut).then(|| calls.collect());
                }
            }
            Event::ToolExecutionEnd(end) => {
                if let Some(calls) = &mut self.calls {
                    calls.remove(&end.tool_call_id);
                }
                if self.cancelled.remove(&end.tool_call_id) {
                    found.expect(Rule::HostCancel, end.is_error, || {
                        "an error as the result of the call that was cancelled".to_owned()
                    });
                }
            }
            Event::TurnEnd(_) => self.calls = Some(BTreeSet::new()),
            _ => {}
        }
    }

    /// An event was said of which the kind alone is known.
    pub fn unread(&mut self, kind: Kind) {
        if kind.is_event() {
            self.calls = None;
        }
    }

    pub fn call(&mut self, call: &HostToolCall, at: &Moment, found: &mut Findings) {
        let again = self.open.iter().any(|(id, of)| *id == call.id || *of == call.tool_call_id);
        self.open.push_back((call.id.clone(), call.tool_call_id.clone()));
        if self.open.len() > KEPT {
            self.open.pop_front();
        }
        // A call where none can be is reported already.
        if at.met.flow != crate::protocol::FlowState::StreamingTools {
            return;
        }
        let meant = self.calls.as_ref().is_none_or(|calls| calls.contains(&call.tool_call_id));
        found.expect(Rule::HostCallWindow, !again, || {
            "one call of the tool at a time, with its own id".to_owned()
        });
        found.expect(Rule::HostCallWindow, meant, || {
            "a call of the assistant message that has not ended".to_owned()
        });
        // Nothing is said of a registration that waits for its answer.
        let known = self.registered.contains(&call.tool_name)
            || self.asked.iter().any(|(_, names)| names.contains(&call.tool_name));
        found.expect(Rule::HostCallWindow, known, || format!("a registered tool, not `{}`", call.tool_name));
    }

    pub fn cancel(&mut self, cancel: &HostToolCancel, found: &mut Findings) {
        match self.open.iter().position(|(id, _)| *id == cancel.target_id) {
            Some(place) => {
                if let Some((_, call)) = self.open.remove(place) {
                    self.cancelled.insert(call);
                }
            }
            None => found.broken(Rule::HostCancel, "the id of a call without a result"),
        }
    }

    pub fn update(&self, update: &HostToolUpdate, found: &mut Findings) {
        let open = self.open.iter().any(|(id, _)| *id == update.id);
        found.expect(Rule::HostToolOpen, open, || "progress of a call that is open".to_owned());
    }

    pub fn result(&mut self, result: &HostToolResult, found: &mut Findings) {
        let place = self.open.iter().position(|(id, _)| *id == result.id);
        found.expect(Rule::HostToolOpen, place.is_some(), || "the result of a call that is open".to_owned());
        place.and_then(|place| self.open.remove(place));
    }
}
