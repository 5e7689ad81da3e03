//! Judges the calls that tools make to other tools.
//!
//! Rules: `nested-call`, `nested-record`.

use crate::findings::Findings;
use pi_rpc_protocol::{
    NestedCallStatus, RuleId as Rule, ToolExecutionEndEvent, ToolExecutionStartEvent,
    ToolExecutionUpdateEvent, ToolResultMessage,
};

/// The nested calls of a turn, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub struct NestedCalls(Vec<NestedCall>);

#[derive(Clone, Debug)]
struct NestedCall {
    id: String,
    outer: String,
    name: String,
    /// The frame of its start or end, whichever came last.
    latest: u64,
    /// Whether it has failed, once it has ended.
    end: Option<bool>,
}

impl NestedCalls {
    /// Judges a start; `is_running`: a call of the message with the id of the outer one runs.
    pub fn start(&mut self, start: &ToolExecutionStartEvent, is_running: bool, found: &mut Findings) {
        let Some(outer) = &start.parent_tool_call_id else { return };
        let is_running = is_running || self.0.iter().any(|call| call.id == *outer && call.end.is_none());
        found.expect(Rule::NestedCall, is_running, || format!("a call {outer} that runs"));
        let number = self.0.iter().filter(|call| call.outer == *outer).count() + 1;
        let id = format!("{outer}/{number}");
        found.expect(Rule::NestedCall, start.tool_call_id == id, || format!("the id {id}"));
        self.0.push(NestedCall {
            id: start.tool_call_id.clone(),
            outer: outer.clone(),
            name: start.tool_name.clone(),
            latest: found.frame(),
            end: None,
        });
    }

    /// Whether a nested call with this id has begun.
    pub fn has(&self, id: Option<&String>) -> bool {
        self.0.iter().any(|call| Some(&call.id) == id)
    }

    /// Judges progress.
    pub fn update(&self, update: &ToolExecutionUpdateEvent, found: &mut Findings) {
        let is_open = self.0.iter().any(|call| {
            call.id == update.tool_call_id && call.name == update.tool_name && call.end.is_none()
        });
        found.expect(Rule::NestedCall, is_open, || "progress of a nested call that runs".to_owned());
        let begun = self.0.iter().find(|call| call.id == update.tool_call_id);
        if let (Some(call), Some(outer)) = (begun, &update.parent_tool_call_id) {
            let what = "the call that its start has named";
            found.expect_same(Rule::NestedCall, "/parentToolCallId", what, &call.outer, outer);
        }
    }

    /// Judges an end.
    pub fn end(&mut self, end: &ToolExecutionEndEvent, found: &mut Findings) {
        let open = self
            .0
            .iter_mut()
            .find(|call| call.id == end.tool_call_id && call.name == end.tool_name && call.end.is_none());
        match open {
            Some(call) => {
                (call.end, call.latest) = (Some(end.is_error), found.frame());
                found.pass(Rule::NestedCall);
            }
            None => found.fail(Rule::NestedCall, "the end of a nested call that runs"),
        }
    }

    /// Judges the record in a result message. One that is not complete may leave calls out.
    pub fn result(&self, result: &ToolResultMessage, found: &mut Findings) {
        let outer = format!("{}/", result.tool_call_id);
        let within: Vec<&NestedCall> = self.0.iter().filter(|call| call.id.starts_with(&outer)).collect();
        let Some(record) = &result.nested_calls else {
            return found.with_cause(within.last().map(|call| call.latest), |found| {
                found
                    .expect(Rule::NestedRecord, within.is_empty(), || "`nestedCalls` of its tool".to_owned());
            });
        };
        let mut rest = within.iter();
        for recorded in &record.calls {
            let Some(call) = rest.find(|call| call.id == recorded.id) else {
                return found.fail(Rule::NestedRecord, format!("no {}, which did not begin", recorded.id));
            };
            let status = call.end.map(|is_error| match is_error {
                true => NestedCallStatus::Error,
                false => NestedCallStatus::Ok,
            });
            let is_same = call.name == recorded.name
                && (recorded.status == NestedCallStatus::Unfinished || status == Some(recorded.status));
            found.with_cause(Some(call.latest), |found| {
                found.expect(Rule::NestedRecord, is_same, || format!("{} as its end was", recorded.id));
            });
        }
        let is_whole = !record.complete || record.calls.len() == within.len();
        found.expect(Rule::NestedRecord, is_whole, || "all nested calls, as it is complete".to_owned());
    }
}
