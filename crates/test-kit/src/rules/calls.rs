//! Model of the tool calls of one turn: which may run, in parallel with which, and the result that each must have.

use super::brief::TOOLS;
use crate::{Checked, ensure};
use pi_rpc_engine::{CallId, ToolStart};
use pi_rpc_protocol::{
    AgentToolResult, AssistantContent, AssistantMessage, Dialect, DialectToolExecution as Style, JsonObject,
    StopReason, TextContent, ToolCall, ToolExecutionEndEvent, UserContent, errors, parse_arguments,
};
use serde_json::{Value, json};

/// Tool calls of the open turn.
pub struct Calls {
    dialect: Dialect,
    calls: Vec<Call>,
    /// Whether a steering message skips the calls that have not run.
    skipping: bool,
    /// Whether the message failed; its calls then only get results, in dialects that do so.
    failed: Option<String>,
}

struct Call {
    id: String,
    name: String,
    /// Checked arguments, or the error of the check.
    fit: Result<JsonObject, String>,
    stage: Stage,
}

#[derive(PartialEq)]
enum Stage {
    Announced(bool),
    Running { call: CallId, shown: Option<AgentToolResult>, cancelled: bool },
    Ended(AgentToolResult, bool),
    Said,
}

/// State of the run around the calls.
#[derive(Clone, Copy)]
pub struct Around {
    /// Whether a steering message waits.
    pub steers: bool,
    /// Whether the run was started in a mode in which steering aborts tools.
    pub interrupts: bool,
    /// Whether the run is being aborted.
    pub aborts: bool,
}

impl Calls {
    pub const fn new(dialect: Dialect) -> Self {
        Self { dialect, calls: Vec::new(), skipping: false, failed: None }
    }

    /// Starts the calls of a complete assistant message, whose blocks were streamed as `texts`.
    pub fn begin(&mut self, message: &AssistantMessage, texts: &[String], around: Around) {
        let base = self.dialect.base();
        // Not every dialect shows why a call cannot run.
        let streamed = |call: &ToolCall, text: Option<&String>| ToolCall {
            arguments_error: text.and_then(|text| parse_arguments(text).err()),
            ..call.clone()
        };
        let calls = message.content.iter().enumerate().filter_map(|(at, block)| match block {
            AssistantContent::ToolCall(call) => Some(Call {
                id: call.id.clone(),
                name: call.name.clone(),
                fit: match message.stop_reason {
                    StopReason::Length => Err(errors::call_cut_off(base, &call.name)),
                    _ => TOOLS.check_call(base, &streamed(call, texts.get(at)), None),
                },
                stage: Stage::Announced(false),
            }),
            _ => None,
        });
        self.calls = calls.collect();
        let reason = message.error_message.clone().unwrap_or_default();
        self.failed = match message.stop_reason {
            StopReason::Aborted => Some(errors::call_aborted(base, &reason)),
            StopReason::Error => Some(errors::call_failed(base, &reason)),
            _ => None,
        };
        // This dialect checks for steering between two calls, and no input can come between them.
        self.skipping = self.style() == Style::ParallelSkip && around.steers && self.calls.len() > 1;
    }

    /// Handles the start of a tool.
    pub fn start(&mut self, start: &ToolStart) -> Checked {
        ensure!(self.failed.is_none() && !self.skipping, "a call was run that must not be");
        let others: Vec<bool> = self.running().map(|call| TOOLS.is_exclusive(&call.name)).collect();
        let fits_in = match self.style() {
            Style::SequentialSkip => others.is_empty(),
            Style::Interrupt if TOOLS.is_exclusive(&start.name) => others.is_empty(),
            Style::Interrupt => !others.contains(&true),
            Style::ParallelSkip | Style::ParallelNoskip | Style::ParallelAsCompleted => true,
        };
        ensure!(fits_in, "{} was started beside calls that exclude it", start.name);
        let next = |call: &&mut Call| {
            call.stage == Stage::Announced(true) && call.name == start.name && call.fit.is_ok()
        };
        let call = self.calls.iter_mut().find(next).ok_or("a tool was started without a call for it")?;
        ensure!(call.fit.as_ref() == Ok(&start.arguments), "a tool was given other arguments");
        call.stage = Stage::Running { call: start.call, shown: None, cancelled: false };
        Ok(())
    }

    /// Handles the cancel of a tool.
    pub fn cancel(&mut self, id: CallId) {
        for call in &mut self.calls {
            if let Stage::Running { call, cancelled, .. } = &mut call.stage {
                *cancelled |= *call == id;
            }
        }
    }

    /// Handles progress of a tool.
    pub fn progress(&mut self, id: CallId, result: &AgentToolResult) {
        for call in &mut self.calls {
            if let Stage::Running { call, shown, .. } = &mut call.stage
                && *call == id
            {
                *shown = Some(result.clone());
            }
        }
    }

    /// Handles the end of a tool.
    pub fn end(&mut self, id: CallId, result: &AgentToolResult, is_error: bool) {
        let mut result = result.clone();
        if self.dialect.record().empty_result_details {
            result.details.get_or_insert_with(|| json!({}));
        }
        let running = |call: &&mut Call| matches!(call.stage, Stage::Running { call, .. } if call == id);
        if let Some(call) = self.calls.iter_mut().find(running) {
            call.stage = Stage::Ended(result, is_error);
        }
    }

    /// Checks a `tool_execution_start`.
    pub fn announced(&mut self, id: &str) -> Checked {
        let call = self.call(id)?;
        ensure!(call.stage == Stage::Announced(false), "a call was announced twice");
        call.stage = Stage::Announced(true);
        Ok(())
    }

    /// Checks a `tool_execution_update`.
    pub fn updated(&mut self, id: &str, result: &AgentToolResult) -> Checked {
        let call = self.call(id)?;
        let shows = matches!(&call.stage, Stage::Running { shown: Some(shown), .. } if shown == result);
        ensure!(shows, "progress that the tool did not make");
        Ok(())
    }

    /// Checks a `tool_execution_end`, whose result must be that of the call.
    pub fn ended(&mut self, event: &ToolExecutionEndEvent, around: Around) -> Checked {
        let (base, style, skipping, failed) =
            (self.dialect.base(), self.style(), self.skipping, self.failed.clone());
        let bad_lines_first =
            style == Style::ParallelSkip && self.calls.first().is_some_and(|it| it.id == event.tool_call_id);
        let call = self.call(&event.tool_call_id)?;
        let bash = call.name == "bash";
        let skipped = error(&errors::skipped(base));
        let stage = std::mem::replace(&mut call.stage, Stage::Said);
        let (expected, counts) = match (stage, &call.fit) {
            (Stage::Ended(..), _) if skipping => (skipped, false),
            (Stage::Ended(result, is_error), _) => ((result, is_error), true),
            (Stage::Announced(true), _) if failed.is_some() => (error(&failed.unwrap_or_default()), false),
            (Stage::Announced(true), Err(text)) if skipping && bad_lines_first => (error(text), false),
            (Stage::Announced(true), _) if around.aborts && bash => {
                (error(&errors::bash_aborted(base)), false)
            }
            (Stage::Announced(true), _) if around.aborts => (error(&errors::tool_aborted(base)), false),
            (Stage::Announced(true), _) if skipping => (skipped, false),
            (Stage::Announced(true), Err(text)) => (error(text), true),
            _ => return Err(format!("{} ended that had not been run to its end", call.name)),
        };
        let said = (event.result.clone(), event.is_error);
        ensure!(said == expected, "{} came to {expected:?}, but {said:?} was said", call.name);
        let skips = style == Style::SequentialSkip || style == Style::Interrupt && around.interrupts;
        self.skipping |= counts && skips && around.steers && !around.aborts;
        Ok(())
    }

    /// Checks after an input that every tool that must stop was cancelled.
    pub fn settled(&self, around: Around) -> Checked {
        let stops = self.skipping || around.aborts;
        let told = |call: &Call| matches!(call.stage, Stage::Running { cancelled: true, .. });
        ensure!(!stops || self.running().all(told), "a tool that must stop was not cancelled");
        Ok(())
    }

    fn running(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| matches!(call.stage, Stage::Running { .. }))
    }

    fn call(&mut self, id: &str) -> Result<&mut Call, String> {
        self.calls.iter_mut().find(|call| call.id == id).ok_or_else(|| format!("there is no call {id}"))
    }

    const fn style(&self) -> Style {
        self.dialect.record().tool_execution
    }
}

fn error(text: &str) -> (AgentToolResult, bool) {
    let text = UserContent::Text(TextContent { text: text.to_owned(), text_signature: None });
    let details = Some(Value::Object(JsonObject::new()));
    (
        AgentToolResult {
            content: vec![text],
            details,
            is_warning: None,
            structured_content: None,
            is_error: None,
            usage: None,
            terminate: None,
        },
        true,
    )
}
