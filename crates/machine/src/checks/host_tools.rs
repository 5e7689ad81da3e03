//! Judges the calls of host tools, and the host's updates and results.
//!
//! Rules: `host-call-window`, `host-cancel`, `host-unchanged`, `host-tool-open`.

use super::{frame_context::FrameContext, host_tool_calls::HostToolCalls};
use crate::{findings::Findings, kind::Kind, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AssistantContent, HostToolCall, HostToolCancel, HostToolDefinition,
    HostToolResult, HostToolUpdate, RpcCommand, RuleId as Rule, ToolCall, ToolExecutionEndEvent, UserContent,
    errors,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most calls and registrations that are kept.
const MAX_CALLS: usize = 4096;

/// The registered host tools and their outstanding calls.
#[derive(Clone, Debug, Default)]
pub struct HostTools {
    /// The tools of outstanding `set_host_tools`.
    outstanding: VecDeque<(u64, Vec<HostToolDefinition>)>,
    /// The registered tools, each with whether the model is offered it.
    registered: BTreeMap<String, bool>,
    /// The tools that were certainly offered for the current answer.
    offered: BTreeSet<String>,
    /// The calls of the current assistant message that have not ended; `None` if they were missed.
    calls: Option<BTreeMap<String, ToolCall>>,
    /// The calls that wait for the host.
    open: VecDeque<OpenCall>,
    /// The model's calls that were cancelled and have not ended, with the frames of the cancellation.
    cancelled: BTreeMap<String, u64>,
    work: HostToolCalls,
}

#[derive(Clone, Debug)]
struct OpenCall {
    id: String,
    /// The id of the model's call.
    of: String,
    /// The number of the call's frame.
    frame: u64,
    /// Whether the call is repeated, so that the host owes the result of the first one only.
    again: bool,
}

impl HostTools {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand) {
        if let RpcCommand::SetHostTools(set) = command {
            self.outstanding.push_back((number, set.tools.clone()));
            if self.outstanding.len() > MAX_CALLS {
                self.outstanding.pop_front();
            }
        }
    }

    /// Takes in a response.
    pub fn on_response(&mut self, request: &OpenRequest, success: bool) {
        let place = self.outstanding.iter().position(|(number, _)| *number == request.number);
        let Some((_, tools)) = place.and_then(|place| self.outstanding.remove(place)).filter(|_| success)
        else {
            return;
        };
        let before = std::mem::take(&mut self.registered);
        self.registered = tools
            .into_iter()
            .map(|tool| {
                let name = tool.name.trim().to_owned();
                // One that keeps its name is offered as before.
                let is_active = before.get(&name).copied().unwrap_or(tool.hidden != Some(true));
                (name, is_active)
            })
            .collect();
    }

    /// Takes in an event.
    pub fn on_event(&mut self, event: &AgentSessionEvent, at: &FrameContext, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::MessageStart(start) if matches!(start.message, AgentMessage::Assistant(_)) => {
                let active = self.registered.iter().filter(|(_, is_active)| **is_active);
                let is_sure = self.outstanding.is_empty() && !at.has_extensions;
                self.offered = active.filter(|_| is_sure).map(|(name, _)| name.clone()).collect();
            }
            Event::MessageEnd(end) if at.dialect.record().lanes.host_tools => {
                if let AgentMessage::Assistant(message) = &end.message {
                    let calls = message.content.iter().filter_map(|block| match block {
                        AssistantContent::ToolCall(call) => Some((call.id.clone(), call.clone())),
                        _ => None,
                    });
                    self.calls = (!at.cut).then(|| calls.collect());
                }
            }
            Event::ToolExecutionUpdate(update) => self.work.on_progress(update, at, found),
            Event::ToolExecutionEnd(end) => {
                self.uncalled(end, at, found);
                self.work.on_call_end(end, at, found);
                if let Some(calls) = &mut self.calls {
                    calls.remove(&end.tool_call_id);
                }
                if let Some(frame) = self.cancelled.remove(&end.tool_call_id) {
                    found.with_cause(Some(frame), |found| {
                        found.expect(Rule::HostCancel, end.is_error, || {
                            "an error as the result of the call that was cancelled".to_owned()
                        });
                    });
                }
            }
            Event::TurnEnd(_) => self.calls = Some(BTreeMap::new()),
            _ => {}
        }
    }

    /// Judges the end of a host tool call that the host has not finished.
    fn uncalled(&self, end: &ToolExecutionEndEvent, at: &FrameContext, found: &mut Findings) {
        let known = self.calls.as_ref().is_some_and(|calls| calls.contains_key(&end.tool_call_id));
        let offered = self.offered.contains(&end.tool_name) && self.registered.contains_key(&end.tool_name);
        if !known || !offered || at.cut || at.has_extensions || at.now.closing || !self.outstanding.is_empty()
        {
            return;
        }
        if self.cancelled.contains_key(&end.tool_call_id) {
            return;
        }
        if let Some(open) = self.open.iter().find(|open| open.of == end.tool_call_id && !open.again) {
            return found.with_cause(Some(open.frame), |found| {
                found.fail(Rule::HostCancel, "`host_tool_cancel` first, as the host has given no result");
            });
        }
        if self.work.has(&end.tool_call_id) {
            return;
        }
        let unknown = errors::tool_not_found(at.base(), &end.tool_name);
        let refused = |block: &UserContent| matches!(block, UserContent::Text(text) if text.text == unknown);
        if !end.is_error || end.result.content.iter().any(refused) {
            let wanted = format!("`host_tool_call`, as the host has registered `{}`", end.tool_name);
            found.fail(Rule::HostUnchanged, wanted);
        }
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, kind: Kind) {
        if kind.is_event() {
            self.calls = None;
        }
    }

    /// Takes in a host tool call.
    pub fn on_call(&mut self, call: &HostToolCall, at: &FrameContext, found: &mut Findings) {
        let same = |open: &&OpenCall| open.id == call.id || open.of == call.tool_call_id;
        let again = self.open.iter().find(same).map(|open| open.frame);
        let (id, of) = (call.id.clone(), call.tool_call_id.clone());
        self.open.push_back(OpenCall { id, of, frame: at.frame, again: again.is_some() });
        if self.open.len() > MAX_CALLS {
            self.open.pop_front();
        }
        // While a registration is outstanding, its tools are not judged.
        let known = self.registered.contains_key(&call.tool_name)
            || self
                .outstanding
                .iter()
                .any(|(_, tools)| tools.iter().any(|tool| tool.name.trim() == call.tool_name));
        let made = self.calls.as_ref().and_then(|calls| calls.get(&call.tool_call_id));
        self.work.on_call(call, made.filter(|_| known), at, found);
        // A misplaced call is reported already.
        if at.met.flow != pi_rpc_protocol::FlowState::StreamingTools {
            return;
        }
        let meant = self.calls.as_ref().is_none_or(|calls| calls.contains_key(&call.tool_call_id));
        found.with_cause(again, |found| {
            found.expect(Rule::HostCallWindow, again.is_none(), || {
                "one call of the tool at a time, with its own id".to_owned()
            });
        });
        found.expect(Rule::HostCallWindow, meant, || {
            "a call of the assistant message that has not ended".to_owned()
        });
        found.expect(Rule::HostCallWindow, known, || format!("a registered tool, not `{}`", call.tool_name));
    }

    /// Takes in a cancellation; `has_cause`: something may have aborted the call.
    pub fn on_cancel(&mut self, cancel: &HostToolCancel, has_cause: bool, found: &mut Findings) {
        self.work.on_cancel(&cancel.target_id);
        found.expect(Rule::HostCancel, has_cause, || {
            "no cancellation, as nothing has stopped the run".to_owned()
        });
        match self.open.iter().position(|call| call.id == cancel.target_id) {
            Some(place) => {
                if let Some(call) = self.open.remove(place) {
                    self.cancelled.insert(call.of, found.frame());
                }
            }
            None => found.fail(Rule::HostCancel, "the id of a call without a result"),
        }
    }

    /// Takes in an update of the host.
    pub fn on_update(&mut self, update: &HostToolUpdate, found: &mut Findings) {
        self.work.on_update(update);
        let open = self.open.iter().any(|call| call.id == update.id);
        found.expect(Rule::HostToolOpen, open, || "progress of a call that is open".to_owned());
    }

    /// Takes in the result of the host.
    pub fn on_result(&mut self, result: &HostToolResult, found: &mut Findings) {
        self.work.on_result(result);
        let place = self.open.iter().position(|call| call.id == result.id);
        found.expect(Rule::HostToolOpen, place.is_some(), || "the result of a call that is open".to_owned());
        place.and_then(|place| self.open.remove(place));
    }
}
