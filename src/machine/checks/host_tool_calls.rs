//! What the host's tools are called with, report and give, against what is told of it: all of it is passed on unchanged.

use super::frame_context::FrameContext;
use crate::{
    machine::findings::Findings,
    protocol::{
        AgentToolResult, HostToolCall, HostToolResult, HostToolUpdate, JsonObject, RuleId as Rule,
        TextContent, ToolCall, ToolExecutionEndEvent, ToolExecutionUpdateEvent, UserContent, errors,
    },
};
use serde_json::Value;
use std::collections::VecDeque;

/// Calls that are followed, the latest.
const KEPT: usize = 256;
/// Reports of one call that are kept, the latest.
const REPORTS: usize = 1024;

/// What the model says that a call is for is an argument in the message, and none of the tool's.
const INTENT: &str = "_i";

/// The calls of the host's tools that have not ended.
#[derive(Clone, Debug, Default)]
pub struct HostToolCalls {
    calls: VecDeque<Call>,
}

#[derive(Clone, Debug)]
struct Call {
    id: String,
    of: String,
    /// What the host has reported and nobody was told.
    reports: VecDeque<AgentToolResult>,
    /// Not all of that is kept.
    torn: bool,
    result: Option<HostToolResult>,
    cancelled: bool,
}

impl HostToolCalls {
    /// The host is called for a call of the model, where that is known.
    pub fn on_call(
        &mut self,
        call: &HostToolCall,
        made: Option<&ToolCall>,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.calls.push_back(Call {
            id: call.id.clone(),
            of: call.tool_call_id.clone(),
            reports: VecDeque::new(),
            torn: false,
            result: None,
            cancelled: false,
        });
        if self.calls.len() > KEPT {
            self.calls.pop_front();
        }
        let Some(made) = made.filter(|_| !at.cut && !at.has_extensions) else { return };
        let (expected, got) = (&made.name, &call.tool_name);
        found.expect_same(Rule::HostUnchanged, "/toolName", "the tool that was called", expected, got);
        found.expect(Rule::HostUnchanged, is_passed_on(&made.arguments, &call.arguments), || {
            "the arguments of the call".to_owned()
        });
    }

    /// Whether the host was called for that call of the model.
    pub fn has(&self, of: &str) -> bool {
        self.calls.iter().any(|call| call.of == of)
    }

    /// The call is cancelled.
    pub fn on_cancel(&mut self, id: &str) {
        if let Some(call) = self.by_id(id) {
            call.cancelled = true;
        }
    }

    /// The host reports.
    pub fn on_update(&mut self, update: &HostToolUpdate) {
        if let Some(call) = self.by_id(&update.id).filter(|call| call.result.is_none()) {
            call.reports.push_back(update.partial_result.clone());
            if call.reports.len() > REPORTS {
                call.reports.pop_front();
                call.torn = true;
            }
        }
    }

    /// The host gives the result.
    pub fn on_result(&mut self, result: &HostToolResult) {
        if let Some(call) = self.by_id(&result.id).filter(|call| call.result.is_none()) {
            call.result = Some(result.clone());
        }
    }

    /// Progress is told.
    pub fn on_progress(
        &mut self,
        update: &ToolExecutionUpdateEvent,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let Some(call) = self.calls.iter_mut().find(|call| call.of == update.tool_call_id) else { return };
        if at.cut || call.torn {
            return;
        }
        let place = call.reports.iter().position(|report| is_same(report, &update.partial_result));
        found.expect(Rule::HostUnchanged, place.is_some(), || "what the host has reported".to_owned());
        // Where the reader is slow, only the last of several is told.
        call.reports.drain(..place.map_or(0, |place| place + 1));
    }

    /// A call has ended.
    pub fn on_call_end(&mut self, end: &ToolExecutionEndEvent, at: &FrameContext, found: &mut Findings) {
        let Some(place) = self.calls.iter().position(|call| call.of == end.tool_call_id) else { return };
        let Some(call) = self.calls.remove(place) else { return };
        // What was broken off has a text of its own; so has what was skipped meanwhile.
        if at.cut || at.has_extensions || call.cancelled || at.now.closing || is_broken_off(end, at) {
            return;
        }
        let Some(given) = call.result else {
            return found.expect(Rule::HostUnchanged, end.is_error, || {
                "the result that the host has yet to give".to_owned()
            });
        };
        found.expect(Rule::HostUnchanged, call.torn || call.reports.is_empty(), || {
            "a `tool_execution_update` with what the host has reported, before the end".to_owned()
        });
        let failed = given.is_error == Some(true);
        found.expect(Rule::HostUnchanged, failed == end.is_error, || {
            format!("`isError` {failed}, as the host has said")
        });
        if failed != end.is_error {
            return;
        }
        let told = &end.result.content;
        if failed {
            let text = failure(&given.result, at);
            found.expect_same(Rule::HostUnchanged, "/result/content", "the error of the host", &text, told);
            return;
        }
        let what = "what the host has given";
        found.expect_same(Rule::HostUnchanged, "/result/content", what, &given.result.content, told);
        let same = given.result.content != *told || is_same(&given.result, &end.result);
        found.expect(Rule::HostUnchanged, same, || "the `details` that the host has given".to_owned());
    }

    fn by_id(&mut self, id: &str) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.id == id)
    }
}

/// What a failure of the host becomes: its texts, in one.
fn failure(result: &AgentToolResult, at: &FrameContext) -> Vec<UserContent> {
    let text_of = |block: &UserContent| match block {
        UserContent::Text(text) => Some(text.text.clone()),
        UserContent::Image(_) => None,
    };
    let texts: Vec<String> = result.content.iter().filter_map(text_of).collect();
    let text = match texts.join("\n").trim() {
        "" => errors::host_tool_failed(at.base()),
        text => text.to_owned(),
    };
    vec![UserContent::Text(TextContent { text, text_signature: None })]
}

/// Whether both say the same; without details is as good as with none in them.
fn is_same(one: &AgentToolResult, other: &AgentToolResult) -> bool {
    let details = |result: &AgentToolResult| match &result.details {
        Some(Value::Object(map)) if map.is_empty() => None,
        Some(Value::Null) | None => None,
        Some(details) => Some(details.clone()),
    };
    one.content == other.content && details(one) == details(other)
}

/// Whether the arguments are those of the call, but for values that the tool takes in another type, and its defaults.
fn is_passed_on(made: &JsonObject, passed: &JsonObject) -> bool {
    let mut of_tool = made.iter().filter(|(key, _)| *key != INTENT);
    of_tool.all(|(key, value)| passed.get(key).is_some_and(|passed| is_kept(value, passed)))
}

fn is_kept(made: &Value, passed: &Value) -> bool {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (made, passed) {
        (Value::Object(made), Value::Object(passed)) => {
            made.iter().all(|(key, value)| passed.get(key).is_some_and(|passed| is_kept(value, passed)))
        }
        (Value::Array(made), Value::Array(passed)) => {
            made.len() == passed.len() && made.iter().zip(passed).all(|(made, passed)| is_kept(made, passed))
        }
        (Value::Object(_) | Value::Array(_), _) => false,
        // A tool that takes a text takes a number for one, and the other way round.
        _ => made == passed || plain(made) == plain(passed) || made.is_null() != passed.is_null(),
    }
}

fn is_broken_off(end: &ToolExecutionEndEvent, at: &FrameContext) -> bool {
    let skipped = errors::skipped(at.base());
    end.is_error
        && end.result.content.iter().any(|block| match block {
            UserContent::Text(text) => text.text == skipped || text.text.contains("aborted"),
            UserContent::Image(_) => false,
        })
}
