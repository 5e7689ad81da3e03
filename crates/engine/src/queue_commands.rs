//! Serves `steer`, `follow_up` and `clear_queue`, and emits the `queue_update` events that show the queues. `prompts.rs` expands
//! the texts.

use crate::{
    core::Engine,
    extensions::hook::{Hook, InputContinuation},
    gate::Gate,
    prompt::{Expansion, Recipient},
    prompts::slash,
    queues::TurnInput,
};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEventKind, ClearQueueResponse, ClearedQueue, FollowUpResponse, HookName,
    ImageContent, InputHook, InputSource, QueueDisposition, QueueOutcome, QueueUpdateEvent, RequestId,
    RpcCommandKind, SteerResponse, StreamingBehavior, UserMessage, errors,
};

impl Engine {
    /// Serves `steer` and `follow_up`: expands and queues the message, in some dialects after the `input` hook.
    pub(crate) fn serve_queue_message(
        &mut self,
        id: Option<RequestId>,
        kind: RpcCommandKind,
        text: String,
        images: Option<Vec<ImageContent>>,
    ) {
        if let Some((name, _)) = slash(&text)
            && self.extension_command(name).is_some()
        {
            let error = errors::cannot_queue(self.dialect.base(), name);
            return self.handler_failed(id, kind, error);
        }
        if let Some(error) = self.missing_command(&text) {
            return self.fail(id, kind, error);
        }
        if !self.dialect.record().queued_input || !self.is_hooked(HookName::Input) {
            return self.expand_queued(id, kind, text, images);
        }
        let streaming_behavior = self.is_under_way().then(|| queue_of(kind));
        let event = InputHook { text, images, source: InputSource::Rpc, streaming_behavior };
        let then = InputContinuation::Queue { id, kind };
        self.send_hook(Hook::Input { event, is_handled: false, then });
    }

    /// Expands and queues a message whose `input` hook has completed.
    pub(crate) fn expand_queued(
        &mut self,
        id: Option<RequestId>,
        kind: RpcCommandKind,
        text: String,
        images: Option<Vec<ImageContent>>,
    ) {
        let skills = self.dialect.record().queued_skills;
        let original = text.clone();
        self.expand(&original, skills, Expansion::Queued { id, kind, images, text });
    }

    /// Queues an expanded message, or starts a run with it, as the gate says.
    pub(crate) fn queue_expanded(
        &mut self,
        id: Option<RequestId>,
        kind: RpcCommandKind,
        text: String,
        images: Option<Vec<ImageContent>>,
    ) {
        let mut message = self.user_message(text, images);
        let queue = queue_of(kind);
        let may_start = !self.is_working()
            && self.backlog.after_run.is_empty()
            && !self.activity.lifecycle().is_stopping()
            && self.prompt_refusal().is_none();
        match self.gate_of_kind(kind) {
            Gate::Reject(text) => self.handler_failed(id, kind, text.to_owned()),
            Gate::Run if may_start => {
                message.steering = (queue == StreamingBehavior::Steer).then_some(true);
                self.admit_prompt(Recipient::Host { id, kind }, message, false);
            }
            _ => {
                self.queue_message(queue, message);
                self.respond_queued(id, kind, QueueDisposition::Queued);
            }
        }
    }

    /// Responds that a message is queued or handled, in some dialects with the disposition.
    pub(crate) fn respond_queued(
        &mut self,
        id: Option<RequestId>,
        kind: RpcCommandKind,
        disposition: QueueDisposition,
    ) {
        let data = Some(QueueOutcome { disposition });
        match kind {
            RpcCommandKind::FollowUp => self.succeed(FollowUpResponse { id, data }),
            _ => self.succeed(SteerResponse { id, data }),
        }
    }

    /// Queues a message of the user, and emits the queues.
    pub(crate) fn queue_message(&mut self, queue: StreamingBehavior, mut message: UserMessage) {
        message.steering = (queue == StreamingBehavior::Steer).then_some(true);
        self.queues.of(queue).push(AgentMessage::User(message));
        self.emit_queue_update();
    }

    /// Serves `clear_queue`: empties both queues, and responds with the texts.
    pub(crate) fn clear_queue(&mut self, id: Option<RequestId>) {
        let data = ClearedQueue {
            steering: self.queues.steering.take_texts(),
            follow_up: self.queues.follow_up.take_texts(),
        };
        self.emit_queue_update();
        self.succeed(ClearQueueResponse { id, data });
    }

    /// Drops all queued messages as their session is left, and emits the queues.
    pub(crate) fn drop_queued_messages(&mut self) {
        let waits = self.queues.count() > 0;
        self.queues.steering.clear();
        self.queues.follow_up.clear();
        if waits {
            self.emit_queue_update();
        }
    }

    /// Removes a message that is about to be emitted from the texts of its queue.
    pub(crate) fn mark_delivered(&mut self, input: &TurnInput) {
        if let (Some(queue), AgentMessage::User(_)) = (input.queue, &input.message) {
            self.queues.of(queue).mark_emitted();
            self.emit_queue_update();
        }
    }

    /// Emits the texts in the queues, in dialects that have an event for that.
    fn emit_queue_update(&mut self) {
        if AgentSessionEventKind::QueueUpdate.is_in(self.dialect.base()) {
            let (steering, follow_up) = (self.queues.steering.texts(), self.queues.follow_up.texts());
            self.emit_event(QueueUpdateEvent { steering, follow_up });
        }
    }
}

/// The queue that a command adds to.
const fn queue_of(kind: RpcCommandKind) -> StreamingBehavior {
    match kind {
        RpcCommandKind::FollowUp => StreamingBehavior::FollowUp,
        _ => StreamingBehavior::Steer,
    }
}
