//! Print mode (`-p`): takes the place of a host that sends prompts one after another and prints the result.
//!
//! Loop and engine are those of the server. [`PrintMode`] gives the loop its prompts, each when the one before is done, then
//! the end of input. It filters the frames on their way to stdout and cancels dialogs, which a host would answer. Source: pi
//! 0.73.1, observed.

use pi_rpc_engine::Input;
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, Emission, ImageContent, Inbound, Outbound, PromptCommand, RequestId,
    RpcCommand, RpcExtensionUIRequest, RpcExtensionUIResponse, RpcResponse, SessionHeader, StopReason,
    UICancelledResponse,
};
use std::collections::VecDeque;

/// The output of a printed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintFormat {
    /// The text of the last assistant message.
    Answer,
    /// The session's header and every event, as JSON lines.
    Events,
}

/// State of a printed run.
#[derive(Debug)]
pub struct PrintMode {
    printed: PrintFormat,
    /// Prompts that have not been sent.
    prompts: VecDeque<String>,
    /// Images of the first prompt.
    images: Vec<ImageContent>,
    /// Prompts that have been sent.
    sent: u64,
    /// Dialog responses for the loop.
    answers: VecDeque<Input>,
    /// The error of a refused prompt; no further one is sent.
    refused: Option<String>,
    /// Whether the end of input was returned.
    has_ended: bool,
}

/// How a printed run ended.
#[derive(Debug, PartialEq, Eq)]
pub struct PrintResult {
    /// The rest of the output, line feeds included.
    pub text: String,
    /// Why the run failed, for stderr.
    pub failure: Option<String>,
    /// The exit status of a run that failed.
    pub failed_status: u8,
}

/// The exit status of a run that failed.
const FAILED: u8 = 1;

/// The exit status of a run that ended at a limit of its budget.
const AT_LIMIT: u8 = 4;

/// The failure of a run whose answer has reached the limit of the model's output.
const CUT_ANSWER: &str = "Response was truncated: the model reached its output token limit.";

impl PrintMode {
    /// Runs `prompts` in order, the first with `images`.
    pub const fn new(printed: PrintFormat, prompts: VecDeque<String>, images: Vec<ImageContent>) -> Self {
        Self { printed, prompts, images, sent: 0, answers: VecDeque::new(), refused: None, has_ended: false }
    }

    /// The first line of the output, for [`PrintFormat::Events`].
    pub fn first_line(&self, header: &SessionHeader) -> Option<Vec<u8>> {
        let line = || {
            let mut line = serde_json::to_vec(header).unwrap_or_default();
            line.push(b'\n');
            line
        };
        (self.printed == PrintFormat::Events).then(line)
    }

    /// The next input in place of the host's; `is_idle`: everything sent before is done.
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
            images: Some(std::mem::take(&mut self.images)).filter(|images| !images.is_empty()),
            streaming_behavior: None,
            locale: None,
        };
        Some(Input::line(Ok(Inbound::Command(RpcCommand::Prompt(prompt)))))
    }

    /// Takes an outbound frame; returns it if it is printed at once.
    pub fn filter(&mut self, emission: Emission) -> Option<Emission> {
        match &emission {
            Emission::Update(_) | Emission::Frame(Outbound::AgentSessionEvent(_)) => {
                return (self.printed == PrintFormat::Events).then_some(emission);
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

    /// The result at the end of the conversation, whose last message is `last`; `at_limit`: its last run has ended at a limit
    /// of its budget, which is a failure in both formats.
    pub fn end(&mut self, last: Option<&AgentMessage>, at_limit: bool) -> PrintResult {
        let failed_status = if at_limit { AT_LIMIT } else { FAILED };
        let nothing = |failure| PrintResult { text: String::new(), failure, failed_status };
        let is_judged = at_limit || self.printed == PrintFormat::Answer;
        let last = match (self.refused.take(), last) {
            (None, Some(AgentMessage::Assistant(last))) if is_judged => last,
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
        // What was cut is printed as far as it goes. Source: pi 1.6.0, observed.
        let is_cut = last.stop_reason == StopReason::Length;
        let failure = is_cut.then(|| CUT_ANSWER.to_owned());
        PrintResult { text: texts.collect(), failure, failed_status }
    }

    /// Cancels a dialog, as there is no user.
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
