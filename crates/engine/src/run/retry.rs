//! Retries a run that failed for a transient reason, after a wait.

use crate::{activity::Next, core::Engine, run::state::EndedRun, store::after_append::AfterAppend};
use pi_rpc_model::failure;
use pi_rpc_protocol::{AgentSessionEventKind, AutoRetryEndEvent, AutoRetryStartEvent, StopReason, errors};
use pi_rpc_session::NewEntry;
use std::{sync::Arc, time::Duration};

impl Engine {
    /// Begins the wait for a retry if the ended run qualifies; `false` if not.
    pub(crate) fn retry(&mut self, ended: &EndedRun) -> bool {
        let text = ended.answer.error_message.clone().unwrap_or_default();
        match ended.answer.stop_reason {
            StopReason::Error => {}
            StopReason::Aborted => {
                self.abandon_retry(errors::retry_cancelled(self.dialect.base()));
                return false;
            }
            _ => return false,
        }
        let Some(delay) = self.retry_wait(ended) else {
            self.abandon_retry(text);
            return false;
        };
        // The success of an earlier retry in this chain comes first.
        if let Some(attempt) = self.series.chain.as_mut().and_then(|chain| chain.recovered.take()) {
            self.emit_retry_success(attempt);
        }
        self.series.attempt += 1;
        let start = AutoRetryStartEvent {
            attempt: self.series.attempt,
            max_attempts: self.modes.retry.most,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX).into(),
            error_message: text,
            error_id: None,
        };
        self.emit_event_with(start, Next::Retry(self.now.monotonic + delay));
        self.exclude_answer(StopReason::Error);
        self.series.failed_answer = Some(Box::new(ended.answer.clone()));
        true
    }

    /// The wait before the retry of an ended run; `None`: no retry.
    pub(crate) fn retry_wait(&self, ended: &EndedRun) -> Option<Duration> {
        let text = ended.answer.error_message.as_deref().unwrap_or_default();
        let plan = self.modes.retry;
        let rules = &self.dialect.record().retry;
        let failed = ended.answer.stop_reason == StopReason::Error && !ended.is_unpersisted;
        let worth = failed && self.modes.auto_retry && failure::is_transient_error(text, rules);
        let delay = failure::delay(
            self.series.attempt + 1,
            plan.base_ms,
            plan.longest_ms,
            ended.retry_after,
            plan.cap_ms,
            rules,
        );
        delay.filter(|_| worth && self.series.attempt < plan.most)
    }

    /// Excludes the last answer from the context if it ended for `reason`, with the results of its calls. In
    /// dialects that emit entries, an entry is emitted for each of them.
    pub(crate) fn exclude_answer(&mut self, reason: StopReason) {
        let left_out = self.store.session.forget_last_answer(reason);
        if !self.emits_entries() {
            return;
        }
        let edits: Vec<Arc<str>> =
            left_out.into_iter().filter_map(|entry| self.append(NewEntry::LeftOut(entry))).collect();
        self.store.after_append(AfterAppend::Entries { entries: edits, compacts: false });
    }

    /// Whether the dialect emits entries that no other frame shows.
    pub(crate) fn emits_entries(&self) -> bool {
        AgentSessionEventKind::EntryAppended.is_in(self.dialect.base())
    }

    /// Cancels the wait for a retry, if there is one.
    pub(crate) fn cancel_retry(&mut self) {
        if self.activity.is_retrying() {
            self.abandon_retry(errors::retry_cancelled(self.dialect.base()));
        }
    }

    /// Emits that retries have failed, if there were any.
    pub(crate) fn abandon_retry(&mut self, text: String) {
        let attempt = std::mem::take(&mut self.series.attempt);
        if attempt > 0 {
            self.emit_event(AutoRetryEndEvent {
                success: false,
                attempt,
                final_error: Some(text),
                retry_errors: None,
            });
        }
    }
}
