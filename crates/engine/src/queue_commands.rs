//! Changes of the message queues, and the `queue_update` events that show them. `steer` and `follow_up` come from `prompts.rs`, which
//! expands their text first.

use crate::{core::Engine, queues::TurnInput};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEventKind, ClearQueueResponse, ClearedQueue, QueueUpdateEvent, RequestId,
    StreamingBehavior, UserMessage,
};

impl Engine {
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
