//! Judges the number of queued messages that `get_state` reports, and learns from it.
//!
//! Rule: `queue-count`.

use super::{QueueCommand, Queues};
use crate::{
    checks::{frame_context::FrameContext, queue::Queue},
    findings::Findings,
    requests::OpenRequest,
};
use pi_rpc_protocol::{FlowState, QueueMode, RuleId as Rule, SessionState};

impl Queues {
    /// Takes in a reported state.
    pub fn on_state(
        &mut self,
        state: &SessionState,
        request: &OpenRequest,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let changes = |(_, queue_command): &(u64, QueueCommand)| {
            matches!(queue_command, QueueCommand::SteeringMode(_) | QueueCommand::FollowUpMode(_))
        };
        if !self.outstanding.iter().any(changes) {
            self.steering.set_mode(Some(state.steering_mode), self.polls);
            self.follow_up.set_mode(Some(state.follow_up_mode), self.polls);
        }
        let count = state.pending_message_count.or(state.queued_message_count);
        let taken = self.read.take_if(|(number, _)| *number == request.number);
        let has_taken = taken.is_some_and(|(_, polls)| polls == self.polls);
        let moving = match at.now.flow {
            FlowState::StreamingTurn => !has_taken,
            flow => flow == FlowState::StreamingBetween,
        };
        let queues =
            |(_, queue_command): &(u64, QueueCommand)| matches!(queue_command, QueueCommand::Queue(..));
        let still = request.met.len() == 1 && !moving && !self.outstanding.iter().any(queues);
        let Some(count) = count.filter(|_| still) else { return };
        let known = (self.steering.items.len() + self.follow_up.items.len()) as u64;
        if self.unsure {
            if count == 0 {
                self.forget();
            }
            self.unsure = count != 0 && count != known;
            return;
        }
        let has_pending = state.pending_message_count.is_some();
        let at = if has_pending { "/data/pendingMessageCount" } else { "/data/queuedMessageCount" };
        found.expect_same(Rule::QueueCount, at, "the count of what waits", &known, &count);
        self.unsure |= count != known;
    }

    /// Whether the current turn has taken a message, and may take no other before its answer.
    pub(super) fn has_taken_all(&self) -> bool {
        let queues = [&self.steering, &self.follow_up];
        let one = |queue: &&Queue| queue.mode_at(self.polls) == Some(QueueMode::OneAtATime);
        !self.doubtful && queues.iter().all(one) && queues.iter().any(|queue| queue.taken > 0)
    }
}
