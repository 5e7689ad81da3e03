//! Chains of runs that one prompt causes: its own, retries, runs after compactions, runs with queued messages.
//! Dialects with `agent_settled` emit it, once, as the last frame of all that; others have their only `agent_end` there.
//! Source: pi 1 source, oh-my-pi source, observed.

use crate::{activity::Next, core::Engine};
use pi_rpc_protocol::{AgentEndEvent, AgentMessage, AgentSessionEventKind, AgentSettledEvent, DialectRunEnd};

impl Engine {
    /// Aborts the open chain: no further run opens by itself.
    pub(crate) const fn abort_chain(&mut self) {
        if let Some(chain) = &mut self.series.chain {
            chain.aborted = true;
        }
    }

    /// Whether runs that follow each other by themselves are a chain, whose end is emitted.
    pub(crate) fn chains_runs(&self) -> bool {
        self.ends_chains() || AgentSessionEventKind::AgentSettled.is_in(self.dialect.base())
    }

    /// Whether `agent_end` is emitted at the end of a chain.
    pub(crate) fn ends_chains(&self) -> bool {
        self.dialect.record().run_end == DialectRunEnd::Chain
    }

    /// Ends a chain: queued messages start another run, unless they could not be stored; else the
    /// chain ends. `false` if none is open.
    pub(crate) fn settle(&mut self) -> bool {
        let Some(chain) = self.series.chain.as_ref().filter(|_| !self.activity.is_retrying()) else {
            return false;
        };
        let aborted = chain.aborted;
        // Where a chain has one end, only what the chart names continues it; messages that are queued follow its end.
        let waits = !self.queues.are_empty() && !self.ends_chains();
        if waits && !aborted && !self.activity.lifecycle().is_stopping() && !self.store.has_failed() {
            // An answer that was excluded is requested again first.
            let last = self.store.session.messages().last();
            let answered = last.is_some_and(|last| matches!(**last, AgentMessage::Assistant(_)));
            let waiting = match answered && self.queues.steering.is_empty() {
                true => self.queues.follow_up.take(self.modes.follow_up),
                false => Vec::new(),
            };
            self.start_run(waiting);
        } else if !self.notify_before_settling() && !self.append_shell_message() {
            self.end_chain();
        }
        true
    }

    /// Emits the end of the chain.
    fn end_chain(&mut self) {
        let chain = self.series.chain.take().unwrap_or_default();
        self.settle_warming();
        if !self.ends_chains() {
            return self.emit_event(AgentSettledEvent { aborted: Some(chain.aborted) });
        }
        self.series.delivers_queued = !chain.keeps_queue && self.dialect.record().abort_delivers;
        let messages = chain.messages.iter().map(|message| without_completion(message)).collect();
        let end = AgentEndEvent {
            messages,
            is_terminal: Some(true),
            message_count: None,
            will_retry: None,
            yielded: Some(true),
            awaiting_async_work: None,
        };
        self.note_chain_end(&chain);
        self.emit_run_end(end, Next::Nothing);
        if let Some(attempt) = chain.recovered {
            self.emit_retry_success(attempt);
        }
    }

    /// Starts the run with the messages that were queued when the chain was aborted; `false` if there is none to start.
    pub(crate) fn deliver_queued(&mut self) -> bool {
        if !std::mem::take(&mut self.series.delivers_queued)
            || self.queues.are_empty()
            || self.activity.lifecycle().is_stopping()
            || self.store.has_failed()
        {
            return false;
        }
        let waiting = match self.queues.steering.is_empty() {
            true => self.queues.follow_up.take(self.modes.follow_up),
            false => Vec::new(),
        };
        self.start_run(waiting);
        true
    }
}

/// A message as events other than `message_end` have it.
fn without_completion(message: &AgentMessage) -> AgentMessage {
    let mut message = message.clone();
    if let AgentMessage::Assistant(answer) = &mut message {
        answer.completed_at = None;
    }
    message
}
