//! Judges that arguments, progress and results of host tools are passed on unchanged.
//!
//! Rule: `host-unchanged`.

use super::frame_context::FrameContext;
use crate::findings::Findings;
use pi_rpc_protocol::{
    AgentToolResult, HostToolCall, HostToolResult, HostToolUpdate, JsonObject, RuleId as Rule, TextContent,
    ToolCall, ToolExecutionEndEvent, ToolExecutionUpdateEvent, UserContent, errors,
};
use serde_json::Value;
use std::collections::VecDeque;

/// The most calls that are tracked.
const MAX_CALLS: usize = 256;
/// The most updates of one call that are kept.
const REPORTS: usize = 1024;

/// The argument with the purpose of a call, which the model adds and the tool does not get.
const INTENT: &str = "_i";

/// The host tool calls that have not ended.
#[derive(Clone, Debug, Default)]
pub struct HostToolCalls {
    calls: VecDeque<TrackedCall>,
}

#[derive(Clone, Debug)]
struct TrackedCall {
    id: String,
    of: String,
    /// Updates of the host that no event has passed on yet.
    reports: VecDeque<AgentToolResult>,
    /// Whether some updates were dropped.
    torn: bool,
    result: Option<HostToolResult>,
    cancelled: bool,
}

impl HostToolCalls {
    /// Takes in a host tool call; `made` is the model's call, if known.
    pub fn on_call(
        &mut self,
        call: &HostToolCall,
        made: Option<&ToolCall>,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.calls.push_back(TrackedCall {
            id: call.id.clone(),
            of: call.tool_call_id.clone(),
            reports: VecDeque::new(),
            torn: false,
            result: None,
            cancelled: false,
        });
        if self.calls.len() > MAX_CALLS {
            self.calls.pop_front();
        }
        let Some(made) = made.filter(|_| !at.cut && !at.has_extensions) else { return };
        let (expected, got) = (&made.name, &call.tool_name);
        found.expect_same(Rule::HostUnchanged, "/toolName", "the tool that was called", expected, got);
        found.expect(Rule::HostUnchanged, is_passed_on(&made.arguments, &call.arguments), || {
            "the arguments of the call".to_owned()
        });
    }

    /// Whether there is a host tool call for the model's call `of`.
    pub fn has(&self, of: &str) -> bool {
        self.calls.iter().any(|call| call.of == of)
    }

    /// Takes in a cancellation.
    pub fn on_cancel(&mut self, id: &str) {
        if let Some(call) = self.by_id(id) {
            call.cancelled = true;
        }
    }

    /// Takes in an update of the host.
    pub fn on_update(&mut self, update: &HostToolUpdate) {
        if let Some(call) = self.by_id(&update.id).filter(|call| call.result.is_none()) {
            call.reports.push_back(update.partial_result.clone());
            if call.reports.len() > REPORTS {
                call.reports.pop_front();
                call.torn = true;
            }
        }
    }

    /// Takes in the result of the host.
    pub fn on_result(&mut self, result: &HostToolResult) {
        if let Some(call) = self.by_id(&result.id).filter(|call| call.result.is_none()) {
            call.result = Some(result.clone());
        }
    }

    /// Takes in a progress event.
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
        // For a slow reader, only the last of several updates is passed on.
        call.reports.drain(..place.map_or(0, |place| place + 1));
    }

    /// Takes in the end of a call.
    pub fn on_call_end(&mut self, end: &ToolExecutionEndEvent, at: &FrameContext, found: &mut Findings) {
        let Some(place) = self.calls.iter().position(|call| call.of == end.tool_call_id) else { return };
        let Some(call) = self.calls.remove(place) else { return };
        // Interrupted and skipped calls have texts of their own.
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
        let reported = &end.result.content;
        if failed {
            let text = failure(&given.result, at);
            found.expect_same(
                Rule::HostUnchanged,
                "/result/content",
                "the error of the host",
                &text,
                reported,
            );
            return;
        }
        let what = "what the host has given";
        found.expect_same(Rule::HostUnchanged, "/result/content", what, &given.result.content, reported);
        let same = given.result.content != *reported || is_same(&given.result, &end.result);
        found.expect(Rule::HostUnchanged, same, || "the `details` that the host has given".to_owned());
    }

    fn by_id(&mut self, id: &str) -> Option<&mut TrackedCall> {
        self.calls.iter_mut().find(|call| call.id == id)
    }
}

/// The content for a failure of the host: its texts, joined.
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

/// Whether both results are equal; absent details equal empty ones.
fn is_same(one: &AgentToolResult, other: &AgentToolResult) -> bool {
    let details = |result: &AgentToolResult| match &result.details {
        Some(Value::Object(map)) if map.is_empty() => None,
        Some(Value::Null) | None => None,
        Some(details) => Some(details.clone()),
    };
    one.content == other.content && details(one) == details(other)
}

/// Whether the arguments are those of the call, except for conversions to the tool's types and its defaults.
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
        // A number may be converted to a string, and the other way round.
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
