//! Closes a run that its process did not live to end.

use super::{NewEntry, Stamp, Tree};
use bytes::Bytes;
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, AssistantMessage, Base, Cost, JsonObject, StopReason, TextContent,
    ToolResultMessage, Usage, UserContent, errors, number,
};
use std::{collections::HashSet, sync::Arc};

/// A run without an end: what an abort would still append.
struct CutRun {
    /// Id and tool of the calls without a result.
    calls: Vec<(String, String)>,
    /// API, provider and id of the model that was to answer.
    model: (String, String, String),
}

impl Tree {
    /// If the last run of the branch has no end, appends what an abort would have left: a result for each call without one,
    /// and an empty answer. Returns the new lines, which the caller writes.
    pub fn close_cut_run(&mut self, stamp: Stamp, random: &mut fastrand::Rng) -> Vec<Bytes> {
        let entries = self.cut_run_end(stamp).into_iter().map(|message| NewEntry::Message(Arc::new(message)));
        entries.map(|entry| self.append(entry, stamp, random)).collect()
    }

    /// The messages that close the last run of the branch, if it has no end: those of [`close_cut_run`](Self::close_cut_run).
    pub fn cut_run_end(&self, stamp: Stamp) -> Vec<AgentMessage> {
        let Some(CutRun { calls, model }) = self.cut_run() else { return Vec::new() };
        let base = stamp.dialect.base();
        let results =
            calls.into_iter().map(|call| AgentMessage::ToolResult(aborted_result(call, base, stamp)));
        results.chain([AgentMessage::Assistant(aborted_answer(model, stamp))]).collect()
    }

    /// The last run, if it has no end.
    fn cut_run(&self) -> Option<CutRun> {
        let context = self.context();
        let last_answer = context.messages.iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(answer) => Some(answer),
            _ => None,
        });
        let api = last_answer.map(|answer| answer.api.clone()).unwrap_or_default();
        let (provider, id) = context.model.unwrap_or_default();
        let mut results = HashSet::new();
        for message in context.messages.iter().rev() {
            let calls = match message.as_ref() {
                AgentMessage::ToolResult(result) => {
                    results.insert(result.tool_call_id.as_str());
                    continue;
                }
                AgentMessage::User(_) => Vec::new(),
                AgentMessage::Assistant(answer) if answer.stop_reason == StopReason::ToolUse => {
                    let calls = answer.content.iter().filter_map(|content| match content {
                        AssistantContent::ToolCall(call) => Some((call.id.clone(), call.name.clone())),
                        _ => None,
                    });
                    calls.filter(|(id, _)| !results.contains(id.as_str())).collect()
                }
                AgentMessage::Assistant(_) => return None,
                _ => continue,
            };
            return Some(CutRun { calls, model: (api, provider, id) });
        }
        None
    }
}

/// The tool for whose abort there is a text of its own.
const BASH: &str = "bash";

fn aborted_result((id, tool): (String, String), base: Base, stamp: Stamp) -> ToolResultMessage {
    let text = if tool == BASH { errors::bash_aborted(base) } else { errors::tool_aborted(base) };
    ToolResultMessage {
        tool_call_id: id,
        tool_name: tool,
        content: vec![UserContent::Text(TextContent { text, text_signature: None })],
        details: Some(JsonObject::new().into()),
        is_error: true,
        is_warning: Some(false),
        attribution: None,
        pruned_at: None,
        timestamp: stamp.wall_ms,
        usage: None,
        duration_ms: None,
        nested_calls: None,
    }
}

fn aborted_answer((api, provider, model): (String, String, String), stamp: Stamp) -> AssistantMessage {
    let cost = Cost {
        input: number(0.0),
        output: number(0.0),
        cache_read: number(0.0),
        cache_write: number(0.0),
        total: number(0.0),
        total_from_provider: None,
    };
    let usage = Usage {
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
        total_tokens: 0,
        premium_requests: None,
        cost,
        cache_write1h: None,
        reasoning: None,
    };
    AssistantMessage {
        content: Vec::new(),
        api,
        provider,
        model,
        usage,
        stop_reason: StopReason::Aborted,
        timestamp: stamp.wall_ms,
        response_id: None,
        provider_payload: None,
        error_message: Some(errors::request_aborted(stamp.dialect.base())),
        duration: None,
        ttft: None,
        response_model: None,
        raw_stop_reason: None,
        provider_thinking_level: None,
        diagnostics: None,
        deferred: None,
        end_turn: None,
        duration_ms: Some(0),
        thinking_level: None,
        completed_at: None,
        context_snapshot: None,
        error_id: None,
        error_status: None,
        retry_recovery: None,
    }
}
