//! Answers to questions that another process has asked about calls, and that this one has not opened again yet.
//!
//! Extensions that start, and hooks of the call, come before the question. A client that knows the question answers it meanwhile,
//! and is not asked again: its answer is kept, and counts once the same question would be open. If the call is another one by then,
//! the question is a new one, and the answer is dropped.

use crate::{core::Engine, run::batch::CallSlot};
use pi_rpc_protocol::{JsonObject, LineError, RpcExtensionUIResponse, UICancelledResponse};

impl Engine {
    /// Keeps an answer to a question that is to be opened again; `false`: it is to no such question. The first answer counts.
    pub(crate) fn keep_early_answer(&mut self, response: &RpcExtensionUIResponse) -> bool {
        let batch = self.activity.batch_mut();
        let mut slots = batch.into_iter().flat_map(|batch| &mut batch.calls);
        let Some(slot) = slots.find(|slot| asks(slot, response.id())) else { return false };
        slot.before.answer.get_or_insert_with(|| response.clone());
        true
    }

    /// Handles a malformed answer: the dialog, open or to be opened again, resolves with its default.
    pub(crate) fn on_malformed_answer(&mut self, error: &LineError) {
        let cancelled = |id: String| UICancelledResponse { id, timed_out: None };
        if let LineError::Field { id: Some(id), .. } = error
            && self.keep_early_answer(&RpcExtensionUIResponse::UICancelledResponse(cancelled(id.to_string())))
        {
            return;
        }
        self.with_extensions(|host, context| host.dialog_response_malformed(error, context));
    }

    /// The answer to the question with this title about the call at `at`, if it came before the question was open again.
    pub(crate) fn take_early_answer(&mut self, at: usize, title: &str) -> Option<RpcExtensionUIResponse> {
        let before = &mut self.slot(at)?.before;
        before.question.take_if(|(_, asked)| before.answer.is_some() && *asked == title)?;
        before.answer.take()
    }

    /// Whether another process has asked about the call at `at`, and this one has not yet.
    pub(crate) fn has_inherited_question(&mut self, at: usize) -> bool {
        self.slot(at).is_some_and(|slot| slot.before.question.is_some())
    }

    /// The id and the title of the question that another process has asked about the call at `at`, if this is its title. It is not
    /// to be opened again any more.
    pub(crate) fn take_inherited_question(&mut self, at: usize, title: &str) -> Option<(String, String)> {
        let before = &mut self.slot(at)?.before;
        before.answer = None;
        before.question.take().filter(|(_, asked)| *asked == title)
    }

    /// The tool and the arguments of the call that a question is about which is to be opened again.
    pub(crate) fn call_of_inherited_question(&self, id: &str) -> Option<(String, JsonObject)> {
        let calls = &self.activity.batch()?.calls;
        let at = calls.iter().position(|slot| asks(slot, id))?;
        let call = &calls[at].call;
        let arguments = self.consent_arguments(at).unwrap_or_else(|| call.arguments.clone());
        Some((call.name.clone(), arguments))
    }
}

/// Whether the question with this id is to be opened again for the call.
fn asks(slot: &CallSlot, id: &str) -> bool {
    slot.is_to_be_asked_again() && slot.before.question.as_ref().is_some_and(|(asked, _)| asked == id)
}
