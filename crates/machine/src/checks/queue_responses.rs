//! What a response says of its message: whether it was queued, and whether a run begins with it.

use crate::{kind::begins_no_run, requests::OpenRequest};
use pi_rpc_protocol::{PromptDisposition, QueueDisposition, QueueOutcome, RpcCommandKind, RpcSuccess};

/// Whether a response shows that its prompt begins no run.
pub fn is_runless(response: Option<&RpcSuccess>) -> bool {
    matches!(response, Some(RpcSuccess::Prompt(it))
        if it.data.as_ref().is_some_and(begins_no_run))
}

/// Whether a response shows that its message was queued, or leaves that to an earlier report; `None` if it was not queued,
/// or that is not known.
pub fn is_queued(response: Option<&RpcSuccess>, request: &OpenRequest, was_reported: bool) -> Option<bool> {
    let queued = match response? {
        RpcSuccess::Prompt(it) => match it.data.as_ref().and_then(|data| data.disposition) {
            None => Some(was_reported),
            Some(PromptDisposition::Started) => Some(false),
            Some(PromptDisposition::Queued) => Some(true),
            Some(PromptDisposition::Handled) => None,
        },
        RpcSuccess::Steer(it) => queued(it.data.as_ref()),
        RpcSuccess::FollowUp(it) => queued(it.data.as_ref()),
        _ => None,
    };
    queued.filter(|_| request.command != RpcCommandKind::AbortAndPrompt)
}

/// Whether an outcome means that the message was queued, which is the default.
fn queued(outcome: Option<&QueueOutcome>) -> Option<bool> {
    outcome.is_none_or(|it| it.disposition == QueueDisposition::Queued).then_some(true)
}
