//! The ends of prompts, in dialects where `prompt_result` ends each of them and `session_settled` all that they started.
//! Source: oh-my-pi source.

use crate::{core::Engine, prompt::Recipient, run::series::Chain};
use pi_rpc_model::failure;
use pi_rpc_protocol::{
    AgentMessage, AssistantMessage, DialectPromptResults, PromptFailure, PromptResultEvent, PromptStatus,
    RequestId, RpcCommandKind, SessionSettledEvent, StopReason,
};

/// The prompts of the host that are accepted and not over.
#[derive(Debug, Default)]
pub struct PromptResults {
    /// The prompts, in order.
    open: Vec<OpenPrompt>,
    /// The end of the last chain of runs, until the results for it are emitted.
    ended: Option<PromptEnd>,
    /// Whether `session_settled` is to follow.
    is_unsettled: bool,
}

/// A prompt without a result.
#[derive(Debug)]
struct OpenPrompt {
    id: Option<RequestId>,
    /// Its text, if it was queued.
    queued: Option<String>,
}

/// How a prompt ended.
#[derive(Clone, Debug)]
struct PromptEnd {
    status: PromptStatus,
    error: Option<PromptFailure>,
}

impl Engine {
    /// Awaits the end of a prompt that is accepted; `queued`: its text, if it waits in a queue.
    pub(crate) fn await_prompt_result(&mut self, recipient: &Recipient, queued: Option<String>) {
        if let Some(id) = self.id_of_resulting(recipient) {
            self.series.prompt_results.open.push(OpenPrompt { id, queued });
        }
    }

    /// Emits that a prompt has failed before its run, in dialects that report every end.
    pub(crate) fn emit_failed_prompt(&mut self, recipient: &Recipient, text: String) {
        if let Some(id) = self.id_of_resulting(recipient) {
            let message = text;
            let error =
                PromptFailure { message, provider: None, model: None, retryable: false, http_status: None };
            self.emit_result(id, false, PromptEnd { status: PromptStatus::Error, error: Some(error) });
        }
    }

    /// Emits that a prompt of the host has been handled without a run, in dialects that have an event for it, unless the end of a
    /// run that it started was reported.
    pub(crate) fn emit_prompt_result(&mut self, recipient: &Recipient) {
        let Recipient::Host { id, kind: RpcCommandKind::Prompt } = recipient else { return };
        let open = &mut self.series.prompt_results.open;
        let place = open.iter().position(|prompt| prompt.id == *id);
        let is_due = match self.dialect.record().prompt_results {
            DialectPromptResults::None => false,
            DialectPromptResults::Handled => true,
            DialectPromptResults::Every => place.map(|place| open.remove(place)).is_some(),
        };
        if is_due {
            self.emit_result(id.clone(), false, PromptEnd { status: PromptStatus::Completed, error: None });
        }
    }

    /// The id of a prompt whose end is reported in any case.
    fn id_of_resulting(&self, recipient: &Recipient) -> Option<Option<RequestId>> {
        let reports = self.dialect.record().prompt_results == DialectPromptResults::Every;
        match recipient {
            Recipient::Host { id, kind } if reports && kind.is_prompt() => Some(id.clone()),
            _ => None,
        }
    }

    /// Notes how a chain of runs ends, before its `agent_end`.
    pub(crate) fn note_chain_end(&mut self, chain: &Chain) {
        if self.dialect.record().prompt_results != DialectPromptResults::Every {
            return;
        }
        let last = chain.messages.iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(answer) => Some(answer),
            _ => None,
        });
        let ended = match last {
            Some(answer) if answer.stop_reason == StopReason::Error => self.failed_end(answer),
            Some(answer) if answer.stop_reason == StopReason::Aborted => {
                PromptEnd { status: PromptStatus::Aborted, error: None }
            }
            _ => PromptEnd { status: PromptStatus::Completed, error: None },
        };
        self.series.prompt_results.ended = Some(ended);
        self.series.prompt_results.is_unsettled = true;
    }

    fn failed_end(&self, answer: &AssistantMessage) -> PromptEnd {
        let message = answer.error_message.clone().unwrap_or_default();
        let error = PromptFailure {
            provider: Some(answer.provider.clone()),
            model: Some(answer.model.clone()),
            retryable: failure::is_transient_error(&message, &self.dialect.record().retry),
            http_status: answer.error_status,
            message,
        };
        PromptEnd { status: PromptStatus::Error, error: Some(error) }
    }

    /// Emits the results of the prompts whose runs are over; `false` if there is none.
    pub(crate) fn emit_due_prompt_results(&mut self) -> bool {
        let Some(ended) = self.series.prompt_results.ended.take() else { return false };
        let texts = [self.queues.steering.texts(), self.queues.follow_up.texts()].concat();
        let waits = |prompt: &OpenPrompt| prompt.queued.as_ref().is_some_and(|text| texts.contains(text));
        let open = std::mem::take(&mut self.series.prompt_results.open);
        let (waiting, over): (Vec<OpenPrompt>, Vec<OpenPrompt>) = open.into_iter().partition(waits);
        self.series.prompt_results.open = waiting;
        for prompt in over {
            self.emit_result(prompt.id, true, ended.clone());
        }
        true
    }

    fn emit_result(&mut self, id: Option<RequestId>, agent_invoked: bool, end: PromptEnd) {
        let session_settled = Some(self.is_settled());
        let PromptEnd { status, error } = end;
        self.emit_event(PromptResultEvent {
            id,
            agent_invoked,
            status: Some(status),
            session_settled,
            error,
        });
    }

    /// Emits `session_settled` once nothing follows what has ended; `false` if it does not apply.
    pub(crate) fn emit_session_settled(&mut self) -> bool {
        let settles = self.series.prompt_results.is_unsettled && self.is_settled();
        if settles {
            self.series.prompt_results.is_unsettled = false;
            self.emit_event(SessionSettledEvent {});
        }
        settles
    }

    /// Whether nothing runs, nothing is queued and nothing follows by itself.
    pub(crate) fn is_settled(&self) -> bool {
        let is_queue_empty = self.queues.are_empty() && self.queues.triggering.is_empty();
        !self.is_working() && is_queue_empty && self.backlog.after_run.is_empty()
    }
}
