//! A run that is printed: stands in for a host that sends prompts one after another and shows what comes of them.
//!
//! The loop and the engine are those of the server. [`PrintMode`] gives the loop its prompts, each when the one before is
//! done, then the end of input; it takes the frames on their way to stdout, lets pass what is to be seen, and answers what
//! a host would have to. Source: pi 0.73.1, observed.

use crate::{
    engine::Input,
    protocol::{
        AgentMessage, AssistantContent, Emission, Inbound, Outbound, PromptCommand, RequestId, RpcCommand,
        RpcExtensionUIRequest, RpcExtensionUIResponse, RpcResponse, SessionHeader, StopReason,
        UICancelledResponse,
    },
};
use std::collections::VecDeque;

/// What is printed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintFormat {
    /// The text of the last answer.
    Answer,
    /// The header of the session and every event, as JSON, one a line.
    Events,
}

/// A run that is printed.
#[derive(Debug)]
pub struct PrintMode {
    printed: PrintFormat,
    /// Prompts that have not been sent.
    prompts: VecDeque<String>,
    /// Prompts that have been sent.
    sent: u64,
    /// Answers to dialogs, for the loop.
    answers: VecDeque<Input>,
    /// Why a prompt was refused: no other is sent.
    refused: Option<String>,
    /// The end of input was given.
    has_ended: bool,
}

/// How a printed run ended.
#[derive(Debug, PartialEq, Eq)]
pub struct PrintResult {
    /// What is left to print, line feeds included.
    pub text: String,
    /// Why the run failed, for stderr and the exit status.
    pub failure: Option<String>,
}

impl PrintMode {
    /// Runs `prompts` in order.
    pub const fn new(printed: PrintFormat, prompts: VecDeque<String>) -> Self {
        Self { printed, prompts, sent: 0, answers: VecDeque::new(), refused: None, has_ended: false }
    }

    /// The first line, where there is one.
    pub fn first_line(&self, header: &SessionHeader) -> Option<Vec<u8>> {
        let line = || {
            let mut line = serde_json::to_vec(header).unwrap_or_default();
            line.push(b'\n');
            line
        };
        (self.printed == PrintFormat::Events).then(line)
    }

    /// The next input of the host that it stands in for; `is_idle`: everything sent before is done.
    pub fn next(&mut self, is_idle: bool) -> Option<Input> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        if !is_idle || self.has_ended {
            return None;
        }
        let Some(message) = self.prompts.pop_front().filter(|_| self.refused.is_none()) else {
            self.has_ended = true;
            return Some(Input::EndOfInput);
        };
        self.sent += 1;
        let prompt = PromptCommand {
            id: Some(RequestId::String(self.sent.to_string())),
            message,
            images: None,
            streaming_behavior: None,
            locale: None,
        };
        Some(Input::line(Ok(Inbound::Command(RpcCommand::Prompt(prompt)))))
    }

    /// Takes a frame on its way to the host; gives back what is printed at once.
    pub fn filter(&mut self, said: Emission) -> Option<Emission> {
        match &said {
            Emission::Update(_) | Emission::Frame(Outbound::AgentSessionEvent(_)) => {
                return (self.printed == PrintFormat::Events).then_some(said);
            }
            Emission::Frame(Outbound::Response(RpcResponse::ErrorResponse(response))) => {
                self.refused.get_or_insert_with(|| response.error.clone());
            }
            Emission::Frame(Outbound::ExtensionUIRequest(request)) => self.cancel_dialog(request),
            Emission::Frame(Outbound::ExtensionError(error)) => {
                tracing::error!("extension {} ({}): {}", error.extension_path, error.event, error.error);
            }
            _ => {}
        }
        None
    }

    /// What is left when the conversation has ended; `last`: its last message.
    pub fn end(&mut self, last: Option<&AgentMessage>) -> PrintResult {
        let nothing = |failure| PrintResult { text: String::new(), failure };
        let last = match (self.refused.take(), last) {
            (None, Some(AgentMessage::Assistant(last))) if self.printed == PrintFormat::Answer => last,
            (refused, _) => return nothing(refused),
        };
        if matches!(last.stop_reason, StopReason::Error | StopReason::Aborted) {
            let reason = || format!("Request {}", last.stop_reason);
            return nothing(Some(last.error_message.clone().unwrap_or_else(reason)));
        }
        let texts = last.content.iter().filter_map(|block| match block {
            AssistantContent::Text(text) => Some(format!("{}\n", text.text)),
            _ => None,
        });
        PrintResult { text: texts.collect(), failure: None }
    }

    /// Cancels a dialog: nobody is there to answer it.
    fn cancel_dialog(&mut self, request: &RpcExtensionUIRequest) {
        let id = match request {
            RpcExtensionUIRequest::Select(it) => &it.id,
            RpcExtensionUIRequest::Confirm(it) => &it.id,
            RpcExtensionUIRequest::Input(it) => &it.id,
            RpcExtensionUIRequest::Editor(it) => &it.id,
            _ => return,
        };
        let cancelled = UICancelledResponse { id: id.clone(), timed_out: None };
        let answer = RpcExtensionUIResponse::UICancelledResponse(cancelled);
        self.answers.push_back(Input::line(Ok(Inbound::ExtensionUIResponse(answer))));
    }
}
