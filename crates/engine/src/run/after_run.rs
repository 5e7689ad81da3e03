//! Continues after a run: with deferred work, a retry, rules, a compaction, or a reminder of todos.

use crate::{
    core::Engine,
    extensions::hook::Hook,
    run::{
        compaction::{AfterCompaction, Compaction},
        deferred::AfterRun,
        state::EndedRun,
    },
    store::next_session::{NewestSession, NextSession},
};
use pi_rpc_protocol::{HookName, RpcCommandKind, ShutdownHook, ShutdownReason, StopReason, errors};

impl Engine {
    /// Begins deferred work; a change of the session sends `session_shutdown` first.
    pub(crate) fn begin_after_run(&mut self, next: AfterRun) {
        let AfterRun::Session(session) = &next else { return self.perform_after_run(next) };
        let (reason, target_session_file) = match session {
            NextSession::New(_) => (ShutdownReason::New, None),
            NextSession::File(it) => (ShutdownReason::Resume, Some(it.session_path.clone())),
            NextSession::Newest(NewestSession { file, .. }) => match file {
                Some(file) => (ShutdownReason::Resume, Some(file.to_string_lossy().into_owned())),
                None => (ShutdownReason::New, None),
            },
            NextSession::Fork(_) | NextSession::Clone(_) => (ShutdownReason::Fork, None),
        };
        if !self.is_hooked(HookName::SessionShutdown) {
            return self.perform_after_run(next);
        }
        let event = ShutdownHook { reason: Some(reason), target_session_file };
        self.notify(Hook::SessionShutdown { event, next: Box::new(next) });
    }

    /// Performs deferred work.
    pub(crate) fn perform_after_run(&mut self, next: AfterRun) {
        if !matches!(next, AfterRun::AbortResponse { .. } | AfterRun::AfterPrompt(_)) {
            self.abandon_navigation();
        }
        match next {
            AfterRun::AbortResponse { id, kind } => self.acknowledge(kind, id),
            AfterRun::Session(next) => self.begin_session(next),
            AfterRun::Compact(command) if self.activity.lifecycle().aborts_work() => {
                let text = errors::compaction_cancelled(self.dialect.base());
                self.handler_failed(command.id, RpcCommandKind::Compact, text);
            }
            AfterRun::Compact(command) => self.compact(command),
            AfterRun::AbortedCompaction(command) => self.refuse_compaction(command),
            AfterRun::Prompt(prompt) if self.activity.lifecycle().aborts_work() => {
                let error = errors::shutting_down(self.dialect.base());
                self.respond_failure(&prompt.recipient, error);
            }
            AfterRun::Prompt(prompt) | AfterRun::AfterPrompt(prompt) => self.serve_prompt(*prompt),
        }
    }

    /// Performs deferred work that came after the start of the compaction under way; `false` if there is none. An
    /// abort that meant the prompt which waits for the compaction is answered when that prompt's run is over.
    pub(crate) fn advance_after_run_while_compacting(&mut self) -> bool {
        let held = self.activity.compaction().is_some_and(Compaction::has_prompt);
        let held = held || self.has_prompt_under_way();
        let waits = |next: &AfterRun| match next {
            AfterRun::AbortResponse { .. } => held,
            next => next.waits_for_prompt(),
        };
        let Some(at) = self.backlog.after_run.iter().position(|next| !waits(next)) else { return false };
        match &self.backlog.after_run[at] {
            AfterRun::AbortResponse { .. } => {
                if let Some(next) = self.backlog.after_run.remove(at) {
                    self.begin_after_run(next);
                }
            }
            AfterRun::Compact(command) => {
                let id = command.id.clone();
                self.backlog.after_run.remove(at);
                let text = errors::compacting(self.dialect.base());
                self.handler_failed(id, RpcCommandKind::Compact, text);
            }
            AfterRun::AbortedCompaction(command) => {
                let id = command.id.clone();
                self.backlog.after_run.remove(at);
                let text = errors::compaction_cancelled(self.dialect.base());
                self.handler_failed(id, RpcCommandKind::Compact, text);
            }
            _ => self.cancel_compaction(),
        }
        true
    }

    /// Decides what follows the ended run: deferred work, a rule's next run, a retry, a compaction, or nothing.
    pub(crate) fn continue_after_run(&mut self, ended: &EndedRun) {
        if self.ends_at_once() {
            self.abandon_retry(errors::retry_cancelled(self.dialect.base()));
        } else if !self.inject_rules(ended) && !self.retry(ended) {
            if ended.answer.stop_reason != StopReason::Aborted {
                self.check_context(&ended.answer, AfterCompaction::Nothing);
            }
            self.remind(ended);
        }
    }
}
