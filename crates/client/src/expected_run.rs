//! Expects runs that frames announce but that have not begun: of acknowledged prompts, and after compactions.

use pi_rpc_protocol::{AgentSessionEvent, FlowState, Outbound};
use std::time::Duration;
use tokio::time::Instant;

/// How long a repeated request is expected after a compaction. Servers begin it on a timer (observed: 100 ms).
const RETRY_WITHIN: Duration = Duration::from_secs(2);
/// How long a run for queued messages is expected after a compaction.
const QUEUED_WITHIN: Duration = Duration::from_millis(250);

/// Deadlines until which the flow is expected to move.
pub(super) struct ExpectedRun {
    begin_within: Duration,
    /// Number of moves of the flow.
    moves: u64,
    /// Deadline for the run of an acknowledged prompt.
    run: Option<Instant>,
    /// Deadline for a run that the server begins by itself.
    next: Option<Instant>,
}

impl ExpectedRun {
    pub const fn new(begin_within: Duration) -> Self {
        Self { begin_within, moves: 0, run: None, next: None }
    }

    pub const fn moves(&self) -> u64 {
        self.moves
    }

    /// Counts a move of the flow, which meets every expectation.
    pub fn note_move(&mut self, from: FlowState, to: FlowState) {
        if from != to {
            self.moves += 1;
            (self.run, self.next) = (None, None);
        }
    }

    /// Notes a frame and the move of the flow that it made.
    pub fn note_frame(&mut self, frame: &Outbound, from: FlowState, to: FlowState) {
        self.note_move(from, to);
        // Only an automatic compaction that ends idle leaves open whether a run follows.
        let will_retry = match frame {
            Outbound::AgentSessionEvent(AgentSessionEvent::AutoCompactionEnd(end)) => end.will_retry,
            Outbound::AgentSessionEvent(AgentSessionEvent::CompactionEnd(end)) => end.will_retry,
            _ => return,
        };
        if !matches!(from, FlowState::Idle | FlowState::CompactingManual) && to == FlowState::Idle {
            self.next = Some(Instant::now() + if will_retry { RETRY_WITHIN } else { QUEUED_WITHIN });
        }
    }

    /// Expects the run of a prompt that was acknowledged.
    pub fn expect_run(&mut self) {
        self.run = Some(Instant::now() + self.begin_within);
    }

    /// Deadline until which a move of the flow is expected, if one is.
    pub fn deadline(&self, flow: FlowState) -> Option<Instant> {
        let due = match flow {
            FlowState::Starting => self.run,
            FlowState::Idle => self.next,
            _ => None,
        };
        due.filter(|due| *due > Instant::now())
    }
}
