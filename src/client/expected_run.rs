//! What the server is about to begin, as far as frames promise it.

use crate::protocol::{AgentSessionEvent, FlowState, Outbound};
use std::time::Duration;
use tokio::time::Instant;

/// How long what a compaction has made room for is waited for: a request that is made again, and one for messages that
/// wait. Servers begin them on a timer (observed: 100 ms).
const RETRY_WITHIN: Duration = Duration::from_secs(2);
const QUEUED_WITHIN: Duration = Duration::from_millis(250);

/// See the module.
pub(super) struct ExpectedRun {
    begin_within: Duration,
    /// How often the flow has moved.
    moves: u64,
    /// Until when an acknowledged prompt may begin its run.
    run: Option<Instant>,
    /// Until when an idle server may begin a run by itself.
    next: Option<Instant>,
}

impl ExpectedRun {
    pub const fn new(begin_within: Duration) -> Self {
        Self { begin_within, moves: 0, run: None, next: None }
    }

    pub const fn moves(&self) -> u64 {
        self.moves
    }

    /// The flow may have moved.
    pub fn note_move(&mut self, from: FlowState, to: FlowState) {
        if from != to {
            self.moves += 1;
            (self.run, self.next) = (None, None);
        }
    }

    /// A frame has moved the flow so.
    pub fn note_frame(&mut self, frame: &Outbound, from: FlowState, to: FlowState) {
        self.note_move(from, to);
        // Where one that nobody asked for leads to anything but idle, the server says how it goes on.
        let will_retry = match frame {
            Outbound::AgentSessionEvent(AgentSessionEvent::AutoCompactionEnd(end)) => end.will_retry,
            Outbound::AgentSessionEvent(AgentSessionEvent::CompactionEnd(end)) => end.will_retry,
            _ => return,
        };
        if !matches!(from, FlowState::Idle | FlowState::CompactingManual) && to == FlowState::Idle {
            self.next = Some(Instant::now() + if will_retry { RETRY_WITHIN } else { QUEUED_WITHIN });
        }
    }

    /// A prompt was acknowledged that begins a run, unless it has begun and ended already.
    pub fn expect_run(&mut self) {
        self.run = Some(Instant::now() + self.begin_within);
    }

    /// Until when a change of the flow is to be waited for.
    pub fn deadline(&self, flow: FlowState) -> Option<Instant> {
        let due = match flow {
            FlowState::Starting => self.run,
            FlowState::Idle => self.next,
            _ => None,
        };
        due.filter(|due| *due > Instant::now())
    }
}
