//! The prompt of a session that is open, and the messages that reach its run.
//!
//! A message may reach the server when the run has just ended, and begins another one there. The prompt stays open until that has ended,
//! so that no run is without a prompt: the client sees its end, and can cancel it.

use super::{
    prompt::prompt_command,
    session::{BridgedSession, failed, invalid},
};
use agent_client_protocol::{Error as AcpError, v1::schema::ContentBlock};
use pi_rpc_client::{AcceptedPrompt, Error, RunResult};
use pi_rpc_protocol::{FlowState, StreamingBehavior};
use std::{mem, sync::Arc};
use tokio_util::sync::CancellationToken;

/// A prompt from its request to its response.
pub struct OpenPrompt {
    /// Cancels it.
    pub cancel: CancellationToken,
    /// Whether messages for its run are sent now; it does not end while this is so.
    takes_messages: bool,
    /// Messages that the server has not acknowledged yet.
    unacknowledged: usize,
    /// Acknowledged messages whose run was not awaited yet.
    accepted: Vec<AcceptedPrompt>,
}

impl OpenPrompt {
    /// A prompt that was not sent yet.
    pub const fn new(cancel: CancellationToken) -> Self {
        Self { cancel, takes_messages: false, unacknowledged: 0, accepted: Vec::new() }
    }
}

/// A message on its way to the server. The open prompt waits for it until this is dropped.
struct MessageUnderWay<'s>(&'s BridgedSession);

impl Drop for MessageUnderWay<'_> {
    fn drop(&mut self) {
        self.0.prompt.send_modify(|open| {
            if let Some(open) = open {
                open.unacknowledged -= 1;
            }
        });
    }
}

impl BridgedSession {
    /// Queues a message for the run of the open prompt: before the next request to the model, or behind the run. Returns whether
    /// there was one; without a run, nothing is sent.
    ///
    /// # Errors
    ///
    /// The content cannot be carried, or the server refuses it.
    pub async fn steer(
        self: &Arc<Self>,
        content: Vec<ContentBlock>,
        behavior: StreamingBehavior,
    ) -> Result<bool, AcpError> {
        let mut command = prompt_command(content).map_err(invalid)?;
        // A run that has ended meanwhile leaves no message in a queue: this one begins another run then.
        command.streaming_behavior = Some(behavior);
        let (mut prompt, mut revisions) = (self.prompt.subscribe(), self.client.session_revisions());
        let under_way = loop {
            let is_idle = self.client.state().flow == FlowState::Idle;
            if is_idle && prompt.borrow_and_update().is_none() {
                return Ok(false);
            }
            if !is_idle && let Some(under_way) = self.join_prompt() {
                break Some(under_way);
            }
            // A prompt that was just begun has not reached the server yet, and one that is over has no response yet.
            tokio::select! {
                // Its sender is this session's.
                _ = prompt.changed() => {}
                changed = revisions.changed() => if changed.is_err() {
                    // Sending it says how the server has ended.
                    break None;
                },
            }
        };
        let accepted = self.client.send_prompt(command).await.map_err(|error| failed(&error))?;
        self.prompt.send_modify(|open| {
            if let Some(open) = open {
                open.accepted.push(accepted);
            }
        });
        drop(under_way);
        Ok(true)
    }

    /// Has the open prompt wait for a message; `None`: it takes none now. A run without a prompt, which an extension has begun, gets one.
    fn join_prompt(self: &Arc<Self>) -> Option<MessageUnderWay<'_>> {
        let (mut joins, mut adopts) = (false, None);
        self.prompt.send_if_modified(|open| {
            let prompt = open.get_or_insert_with(|| {
                let cancel = CancellationToken::new();
                adopts = Some(cancel.clone());
                OpenPrompt { takes_messages: true, ..OpenPrompt::new(cancel) }
            });
            joins = prompt.takes_messages;
            prompt.unacknowledged += usize::from(joins);
            joins
        });
        if let Some(cancel) = adopts {
            let session = Arc::clone(self);
            tokio::spawn(async move {
                // The client asked for no response; a failed run shows in the updates.
                let work = session.await_messages(Ok(RunResult { message: None }));
                if let Err(error) = session.finish(work, &cancel).await {
                    tracing::warn!(
                        "a run of an extension, which _session/steering reached, has failed: {error}"
                    );
                }
                session.end_prompt().await;
            });
        }
        joins.then_some(MessageUnderWay(self))
    }

    /// From now on, messages are sent for the open prompt.
    pub fn take_messages(&self) {
        self.prompt.send_modify(|open| {
            if let Some(open) = open {
                open.takes_messages = true;
            }
        });
    }

    /// Waits for the runs of all messages that were sent for the open prompt. From then on it takes none. Returns the result of the
    /// last run; `result` is that of the prompt itself.
    pub async fn await_messages(&self, mut result: Result<RunResult, Error>) -> Result<RunResult, Error> {
        let mut prompt = self.prompt.subscribe();
        loop {
            // Its sender is this session's.
            let _ = prompt.wait_for(|open| open.as_ref().is_none_or(|open| open.unacknowledged == 0)).await;
            let mut accepted = Vec::new();
            let is_over = self.prompt.send_if_modified(|open| {
                let Some(open) = open else { return true };
                accepted = mem::take(&mut open.accepted);
                let is_over = accepted.is_empty() && open.unacknowledged == 0;
                open.takes_messages &= !is_over;
                is_over
            });
            if is_over {
                return result;
            }
            for message in accepted {
                match message.end().await {
                    Ok(RunResult { message: None }) => {}
                    Err(error) if !matches!(error, Error::Gone(_)) => {
                        tracing::warn!("a message for the open run was refused: {error}");
                    }
                    ended => result = ended,
                }
            }
        }
    }
}
