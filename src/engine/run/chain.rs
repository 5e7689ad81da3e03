//! Chains of runs that one prompt causes: its own, retries, runs after compactions, runs with queued messages.
//! Dialects with `agent_settled` emit it, once, as the last frame of all that. Source: pi 1 source, observed.

use crate::engine::{activity::Activity, core::Engine};
use crate::protocol::{AgentMessage, AgentSettledEvent};

impl Engine {
    /// Aborts the open chain: no further run opens by itself.
    pub(in crate::engine) const fn abort_chain(&mut self) {
        if let Some(chain) = &mut self.series.chain {
            chain.aborted = true;
        }
    }

    /// Ends a chain: queued messages start another run, unless they could not be stored; else the
    /// chain ends. `false` if none is open.
    pub(in crate::engine) fn settle(&mut self) -> bool {
        let Some(chain) = self.series.chain.as_ref().filter(|_| !self.activity.is_retrying()) else {
            return false;
        };
        let aborted = chain.aborted;
        let waits = !self.queues.are_empty();
        if waits && !aborted && !self.lifecycle.is_stopping() && !self.store.has_failed() {
            // An answer that was excluded is requested again first.
            let last = self.store.session.messages().last();
            let answered = last.is_some_and(|last| matches!(**last, AgentMessage::Assistant(_)));
            let waiting = match answered && self.queues.steering.is_empty() {
                true => self.queues.follow_up.take(self.modes.follow_up),
                false => Vec::new(),
            };
            self.start_run(waiting);
        } else if !self.append_shell_message() {
            self.series.chain = None;
            self.activity = Activity::Idle;
            self.emit_event(AgentSettledEvent { aborted: Some(aborted) });
        }
        true
    }
}
