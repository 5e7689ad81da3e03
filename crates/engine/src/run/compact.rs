//! Compaction: replaces the beginning of the conversation by a summary, written by a model or an extension.
//!
//! | Begun by | Told by |
//! |---|---|
//! | `compact` | its response; before it by `compaction_start` and `compaction_end`, where the dialect has them |
//! | an answer that fills the context, or a request that did not fit | the same two, or `auto_compaction_start` and `auto_compaction_end` |
//!
//! What is summed up, what stays and the words are [`compaction`](pi_rpc_session::compaction)'s; here is the order of
//! things. How models are asked is in [`summaries`](crate::run::summaries). Source: pi source, xcsh source,
//! observed.

use crate::{
    activity::Next,
    core::Engine,
    extensions::hook::Hook,
    io::CallId,
    prompt::RunStart,
    queues::NextTurn,
    run::{
        compaction::{AfterCompaction, Compaction, CompactionCause},
        partial_message::has_failed,
        summaries::Summaries,
    },
    setup::CompactionPlan,
    store::{Appended, after_append::AfterAppend},
};
use pi_rpc_machine::Step;
use pi_rpc_model::failure;
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEventKind, AssistantMessage, Attribution, AutoCompactionEndEvent,
    AutoCompactionStartEvent, BeforeCompactHook, CompactCommand, CompactResponse, CompactedHook,
    CompactionAction, CompactionDetails, CompactionEndEvent, CompactionReason, CompactionResult,
    CompactionStartEvent, DeveloperMessage, DialectCompactionSkipped, FlowState, HookCompaction, HookName,
    MessageContent, RequestId, RpcCommandKind, StopReason, TextContent, UserContent, errors,
};
use pi_rpc_session::{
    Entry, NewEntry,
    compaction::{
        NothingToCompact, Preparation, checkpoint, context_tokens, is_full, prepare, prepare_overflow,
    },
};
use std::sync::Arc;

impl Engine {
    /// Serves the command `compact`.
    pub(crate) fn compact(&mut self, command: CompactCommand) {
        let base = self.dialect.base();
        let CompactCommand { id, custom_instructions: focus } = command;
        let prepared = match self.models.choice().unusable.clone() {
            Some(text) => Err(text),
            None => self.prepare_compaction().map_err(|nothing| match nothing {
                NothingToCompact::AlreadyCompacted => errors::already_compacted(base),
                NothingToCompact::TooSmall => errors::nothing_to_compact(base),
            }),
        };
        match prepared {
            Ok(preparation) => self.begin_compaction(
                CompactionCause::Command(id),
                preparation,
                focus.as_deref(),
                AfterCompaction::Nothing,
            ),
            Err(text) => {
                self.emit_compaction_start(CompactionReason::Manual, Next::Kept);
                self.respond_compact_failed(id, Some(text));
            }
        }
    }

    /// Responds to a `compact` that was aborted before its compaction began.
    pub(crate) fn refuse_compaction(&mut self, command: CompactCommand) {
        self.emit_compaction_start(CompactionReason::Manual, Next::Kept);
        self.respond_compact_failed(command.id, None);
    }

    /// Compacts between two turns of a run if the context needs it; `true` if the next turn waits for that.
    pub(crate) fn compact_between_turns(&mut self, next: NextTurn) -> bool {
        let rules = &self.dialect.record().compaction;
        if !rules.between_turns || !self.may_compact() {
            return false;
        }
        let tokens = context_tokens(self.store.session.messages(), self.store.session.compacted());
        let window = self.limits_model().context_window;
        is_full(tokens, window, self.compaction_plan().reserve, rules)
            && self.compact_full(CompactionReason::Threshold, false, AfterCompaction::Turn(next)).is_none()
    }

    /// Compacts before a run if needed; gives the prompt back if its run may start. Otherwise it waits for a
    /// compaction: one under way, or one that the context needs first.
    pub(crate) fn compact_before_run(&mut self, start: RunStart) -> Option<RunStart> {
        if self.activity.compaction().is_some() {
            self.take_step(Step::PromptWaits, Next::PromptWaits(Box::new(start)));
            return None;
        }
        if std::mem::take(&mut self.series.skips_compaction) || start.is_aborted {
            return Some(start);
        }
        let last = self.store.session.messages().iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(answer) => Some(answer.clone()),
            _ => None,
        });
        let Some(answer) = last else { return Some(start) };
        match self.check_context(&answer, AfterCompaction::Prompt(Box::new(start))) {
            Some(AfterCompaction::Prompt(start)) => Some(*start),
            _ => None,
        }
    }

    /// Whether automatic compaction is enabled now. At a limit of the budget the host is asked first.
    fn may_compact(&self) -> bool {
        self.modes.auto_compaction
            && !self.store.has_failed()
            && !self.activity.lifecycle().aborts_work()
            && self.reached_limit().is_none()
    }

    /// Compacts if it is time to, judged by the last answer. What is `next` waits for that, or is given back.
    pub(crate) fn check_context(
        &mut self,
        answer: &AssistantMessage,
        next: AfterCompaction,
    ) -> Option<AfterCompaction> {
        let own = self.limits_of_answer(answer).map(|model| model.context_window);
        let (window, same) = (own.unwrap_or(self.limits_model().context_window), own.is_some());
        // The answer is among the last messages.
        let is_old = !self.store.session.messages()[self.store.session.compacted()..].iter().rev().any(|message| {
            matches!(message.as_ref(), AgentMessage::Assistant(it) if it.timestamp == answer.timestamp)
        });
        if !self.may_compact() {
            return Some(next);
        }
        let has_prompt = matches!(next, AfterCompaction::Prompt(_));
        let record = self.dialect.record();
        if same && !is_old && failure::overflows(answer, window) {
            // An answer that has arrived nevertheless is not requested again.
            let will_retry = !has_prompt && has_failed(answer);
            if will_retry && std::mem::replace(&mut self.series.overflowed, true) {
                // Newer events report the failure without a start.
                if !self.emits_manual_compactions() {
                    self.emit_compaction_start(CompactionReason::Overflow, Next::Kept);
                }
                let text = errors::overflow_again(self.dialect.base());
                let end =
                    CompactionEndEvent { error_message: Some(text), ..ended(CompactionReason::Overflow) };
                self.emit_compaction_end(end);
                return Some(next);
            }
            if will_retry {
                self.series.failed_answer = Some(Box::new(answer.clone()));
            }
            if will_retry && self.emits_entries() {
                self.exclude_answer(StopReason::Error);
                self.store.compact_after_append();
                return None;
            }
            return self.compact_full(CompactionReason::Overflow, will_retry, next);
        }
        let tokens = context_tokens(self.store.session.messages(), self.store.session.compacted());
        let judged = !has_failed(answer) || has_prompt || record.compaction.checks_after_error;
        match judged && is_full(tokens, window, self.compaction_plan().reserve, &record.compaction) {
            true => self.compact_full(CompactionReason::Threshold, false, next),
            false => Some(next),
        }
    }

    /// Compacts after the failed answer is excluded, and requests the model again.
    pub(crate) fn compact_overflow(&mut self) {
        self.compact_full(CompactionReason::Overflow, true, AfterCompaction::Nothing);
    }

    /// Compacts because the context is full. Where that is impossible nothing changes, and some dialects emit an
    /// event; what is `next` is given back.
    fn compact_full(
        &mut self,
        reason: CompactionReason,
        will_retry: bool,
        next: AfterCompaction,
    ) -> Option<AfterCompaction> {
        let prepared = match reason {
            // An earlier message may exceed the context.
            CompactionReason::Overflow => {
                let window = self.limits_model().context_window;
                let path = self.store.session.tree().path_entries();
                prepare_overflow(&path, self.kept_tokens(), window, self.compaction_plan().reserve)
            }
            _ => self.prepare_compaction(),
        };
        match prepared {
            Ok(preparation) if self.models.choice().unusable.is_none() => {
                self.begin_compaction(CompactionCause::Full { reason, will_retry }, preparation, None, next);
                None
            }
            _ => {
                self.skip_compaction(reason);
                Some(next)
            }
        }
    }

    /// Selects the messages to summarise and to keep; fails if there is nothing to compact.
    fn prepare_compaction(&self) -> Result<Preparation, NothingToCompact> {
        prepare(&self.store.session.tree().path_entries(), self.kept_tokens())
    }

    /// How much of the context a compaction leaves, by the settings of the model.
    pub(crate) fn compaction_plan(&self) -> CompactionPlan {
        let model = &self.models.choice().model;
        let own = self.modes.compaction_overrides.get(&format!("{}/{}", model.provider, model.id));
        own.copied().unwrap_or(self.modes.compaction)
    }

    /// How many tokens of the newest messages a compaction keeps. In a small window less is kept, or nothing could
    /// ever give way. Own: the originals give up there.
    fn kept_tokens(&self) -> u64 {
        let most = match self.limits_model().context_window {
            0 => u64::MAX,
            window => window / 2,
        };
        self.compaction_plan().keep_recent.min(most)
    }

    /// Begins a compaction: emits its start, then sends `session_before_compact`, or requests the summary.
    fn begin_compaction(
        &mut self,
        why: CompactionCause,
        preparation: Preparation,
        focus: Option<&str>,
        next: AfterCompaction,
    ) {
        self.abandon_host_navigation();
        let hook = self.ids.call();
        let (start, next) = match next {
            AfterCompaction::Prompt(start) => (Some(start), AfterCompaction::Nothing),
            next => (None, next),
        };
        let compaction = Compaction {
            why,
            preparation,
            hook,
            summaries: Summaries::default(),
            result: None,
            next,
            is_aborted: false,
            from_extension: false,
            done: false,
        };
        let is_hooked = self.is_hooked(HookName::SessionBeforeCompact);
        let event = is_hooked.then(|| hook_event(&compaction, focus, self.compaction_plan()));
        self.emit_compaction_start(compaction.reason(), Next::Compaction(Box::new(compaction)));
        if let Some(start) = start {
            self.take_step(Step::PromptWaits, Next::PromptWaits(start));
        }
        let focus = focus.map(str::to_owned);
        match event {
            Some(event) => {
                let before =
                    Hook::SessionBeforeCompact { event, is_cancelled: false, compaction: None, focus };
                self.send_hook_as(hook, before);
            }
            None => self.request_summaries(focus.as_deref()),
        }
    }

    /// Cancels the hook of the compaction, so that an abort waits for no extension.
    pub(crate) fn cancel_compaction_hook(&mut self) {
        if let Some(hook) = self.activity.compaction().map(|compaction| compaction.hook) {
            self.cancel_hook(hook);
        }
    }

    /// Handles the outcome of `session_before_compact`: cancels, takes an extension's summary, or requests a model's.
    pub(crate) fn on_compaction_hooked(
        &mut self,
        hook: CallId,
        focus: Option<&str>,
        is_cancelled: bool,
        compaction: Option<HookCompaction>,
    ) {
        let Some(under_way) = self.activity.compaction().filter(|it| it.hook == hook) else { return };
        if is_cancelled {
            return self.end_compaction(None);
        }
        let Some(made) = compaction else { return self.request_summaries(focus) };
        let rules = &self.dialect.record().compaction;
        let mut result = under_way.preparation.clone().result(made.summary, None, rules);
        let on_path = |entry: &&Entry| **entry.id() == *made.first_kept_entry_id;
        if self.store.session.tree().path().iter().find(|entry| on_path(entry)).is_none() {
            let text = errors::kept_entry_unknown(self.dialect.base(), &made.first_kept_entry_id);
            return self.end_compaction(Some(text));
        }
        result.first_kept_entry_id = made.first_kept_entry_id;
        result.tokens_before = made.tokens_before;
        result.details = made.details;
        result.usage = made.usage;
        self.append_compaction(result, true);
    }

    /// Appends the compaction's entry.
    pub(crate) fn append_compaction(&mut self, result: CompactionResult, from_hook: bool) {
        let system_message = checkpoint(self.store.session.system_messages(), self.now.wall).map(Box::new);
        self.append(NewEntry::Compaction { result: Box::new(result.clone()), from_hook, system_message });
        if let Some(compaction) = self.activity.compaction_mut() {
            compaction.result = Some(result);
            compaction.from_extension = from_hook;
        }
        self.store.after_append(AfterAppend::Compaction);
    }

    /// Ends a compaction whose entry is written: the model receives the summary from now on, the extensions are
    /// notified.
    pub(crate) fn on_compaction_stored(&mut self, _: &Appended) {
        self.store.session.rebuild();
        let Some(compaction) = self.activity.compaction_mut() else { return };
        compaction.done = true;
        let (reason, will_retry, from_extension) =
            (compaction.hook_reason(), compaction.will_retry(), compaction.from_extension);
        if !self.is_hooked(HookName::SessionCompact) {
            return self.finish_compaction();
        }
        let leaf = self.store.session.tree().leaf();
        let compaction_entry = leaf.and_then(|entry| serde_json::from_slice(entry.line()).ok());
        let compaction_entry = compaction_entry.unwrap_or_default();
        let event = CompactedHook { compaction_entry, from_extension, reason, will_retry };
        self.notify(Hook::SessionCompact { event });
    }

    /// Emits the end of a compaction of which the extensions are notified; what waited for it goes on.
    pub(crate) fn finish_compaction(&mut self) {
        let Some(compaction) = self.activity.take_compaction() else { return };
        let Compaction { why, result: Some(mut result), next, is_aborted, .. } = compaction else { return };
        let messages = self.store.session.messages();
        result.estimated_tokens_after = Some(context_tokens(messages, messages.len()));
        match why {
            CompactionCause::Command(id) => {
                let end =
                    CompactionEndEvent { result: Some(result.clone()), ..ended(CompactionReason::Manual) };
                self.emit_compaction_end(end);
                self.succeed(CompactResponse { id, data: result });
                self.resume_after_compaction(next, is_aborted);
            }
            CompactionCause::Full { reason, will_retry } => {
                if will_retry {
                    self.store.session.forget_last_answer(StopReason::Error);
                }
                // A prompt that came meanwhile requests the model instead.
                let will_retry = will_retry && matches!(next, AfterCompaction::Nothing) && !is_aborted;
                let end = CompactionEndEvent { result: Some(result), will_retry, ..ended(reason) };
                self.emit_compaction_end(end);
                if will_retry {
                    self.start_run([]);
                } else if !matches!(next, AfterCompaction::Nothing) {
                    self.resume_after_compaction(next, is_aborted);
                } else if !is_aborted {
                    self.continue_after(reason);
                }
            }
        }
    }

    /// Continues after an automatic compaction: in some dialects the model is asked to continue; messages that
    /// waited are mark_delivered.
    fn continue_after(&mut self, reason: CompactionReason) {
        let rules = &self.dialect.record().compaction;
        if let Some(text) = rules.continue_text.filter(|_| reason == CompactionReason::Threshold) {
            if rules.skips_once_more {
                self.skip_compaction(CompactionReason::Threshold);
            }
            let text = UserContent::Text(TextContent { text: text.to_owned(), text_signature: None });
            let message = DeveloperMessage {
                content: MessageContent::Blocks(vec![text]),
                attribution: Some(Attribution::Agent),
                timestamp: self.now.wall,
                synthetic: None,
            };
            return self.start_run([AgentMessage::Developer(message).into()]);
        }
        if !self.queues.steering.is_empty() {
            self.start_run([]);
        } else if !self.queues.follow_up.is_empty() {
            let waiting = self.queues.follow_up.take(self.modes.follow_up);
            self.start_run(waiting);
        }
    }

    /// Continues with the work that waited for the compaction.
    fn resume_after_compaction(&mut self, next: AfterCompaction, is_aborted: bool) {
        match next {
            AfterCompaction::Nothing => {}
            AfterCompaction::Prompt(start) => self.send_before_agent_start(RunStart { is_aborted, ..*start }),
            AfterCompaction::Turn(next) => self.open_next_turn(next),
        }
    }

    /// Cancels the compaction, if one is under way.
    pub(crate) fn cancel_compaction(&mut self) {
        match self.activity.compaction_mut() {
            Some(compaction) if compaction.done => compaction.is_aborted = true,
            _ => self.end_compaction(None),
        }
    }

    /// Ends a compaction that comes to nothing: it failed for that reason, or was cancelled.
    pub(crate) fn end_compaction(&mut self, failure: Option<String>) {
        let Some(compaction) = self.activity.take_compaction() else { return };
        let Compaction { why, hook, summaries, next, is_aborted, .. } = compaction;
        self.cancel_hook(hook);
        self.cancel_summaries(&summaries);
        match why {
            CompactionCause::Command(id) => self.respond_compact_failed(id, failure),
            CompactionCause::Full { reason, .. } => {
                let base = self.dialect.base();
                let error_message = failure.map(|text| match reason {
                    CompactionReason::Overflow => errors::overflow_compaction_failed(base, &text),
                    _ => errors::threshold_compaction_failed(base, &text),
                });
                let aborted = error_message.is_none();
                self.emit_compaction_end(CompactionEndEvent { aborted, error_message, ..ended(reason) });
            }
        }
        self.resume_after_compaction(next, is_aborted);
    }

    /// Responds with the failure of a `compact`; without a reason it was cancelled.
    fn respond_compact_failed(&mut self, id: Option<RequestId>, failure: Option<String>) {
        let base = self.dialect.base();
        let error_message = failure.as_deref().map(|text| errors::manual_compaction_failed(base, text));
        let aborted = error_message.is_none();
        self.emit_compaction_end(CompactionEndEvent {
            aborted,
            error_message,
            ..ended(CompactionReason::Manual)
        });
        let text = failure.unwrap_or_else(|| errors::compaction_cancelled(base));
        self.handler_failed(id, RpcCommandKind::Compact, text);
    }

    /// Emits a compaction without content: there is nothing to compact.
    fn skip_compaction(&mut self, reason: CompactionReason) {
        if self.dialect.record().compaction.skipped != DialectCompactionSkipped::Silent {
            self.emit_compaction_start(reason, Next::Kept);
            self.emit_compaction_end(ended(reason));
        }
    }

    /// Whether the dialect has events for manual compactions.
    pub(crate) fn emits_manual_compactions(&self) -> bool {
        AgentSessionEventKind::CompactionStart.is_in(self.dialect.base())
    }

    /// Emits the dialect's event for the start of a compaction; the state after it carries `next`.
    fn emit_compaction_start(&mut self, reason: CompactionReason, next: Next) {
        if self.emits_manual_compactions() {
            self.emit_event_with(CompactionStartEvent { reason }, next);
        } else if reason != CompactionReason::Manual {
            let action = Some(CompactionAction::ContextFull);
            self.emit_event_with(AutoCompactionStartEvent { reason, action }, next);
        } else if self.activity.state() == FlowState::Idle {
            // Otherwise it is refused at once, beside a prompt that starts or whatever else is under way.
            self.take_step(Step::CompactionBegins, next);
        }
    }

    /// Emits the dialect's event for the end of a compaction.
    fn emit_compaction_end(&mut self, end: CompactionEndEvent) {
        if self.emits_manual_compactions() {
            return self.emit_event(end);
        }
        let CompactionEndEvent { reason, result, aborted, will_retry, error_message } = end;
        let came_to_nothing = result.is_none() && !aborted && error_message.is_none();
        let flagged = self.dialect.record().compaction.skipped == DialectCompactionSkipped::Flagged;
        if reason != CompactionReason::Manual {
            self.emit_event(AutoCompactionEndEvent {
                action: Some(CompactionAction::ContextFull),
                result,
                aborted,
                will_retry,
                error_message,
                skipped: (came_to_nothing && flagged).then_some(true),
            });
        } else if self.activity.compaction().is_none()
            && matches!(
                self.activity.state(),
                FlowState::CompactingManual | FlowState::CompactingBeforePrompt
            )
        {
            // Unless it was refused beside another one.
            self.take_step(Step::CompactionEnds, Next::Kept);
        }
    }
}

/// The event of `session_before_compact`.
fn hook_event(compaction: &Compaction, focus: Option<&str>, plan: CompactionPlan) -> BeforeCompactHook {
    let preparation = &compaction.preparation;
    let CompactionDetails { read_files, modified_files } = preparation.files.details();
    let owned = |messages: &[Arc<AgentMessage>]| messages.iter().map(|it| it.as_ref().clone()).collect();
    let messages = preparation.history.iter().chain(&preparation.prefix);
    BeforeCompactHook {
        first_kept_entry_id: preparation.first_kept.to_string(),
        tokens_before: preparation.tokens_before,
        custom_instructions: focus.map(str::to_owned),
        messages_to_summarize: messages.map(|message| message.as_ref().clone()).collect(),
        previous_summary: preparation.previous_summary.clone(),
        is_split_turn: Some(!preparation.prefix.is_empty()),
        turn_prefix_messages: Some(owned(&preparation.prefix)),
        read_files: Some(read_files),
        modified_files: Some(modified_files),
        reserve_tokens: Some(plan.reserve),
        keep_recent_tokens: Some(plan.keep_recent),
        reason: Some(compaction.hook_reason()),
        will_retry: Some(compaction.will_retry()),
    }
}

/// The event for the end of a compaction that changes nothing.
const fn ended(reason: CompactionReason) -> CompactionEndEvent {
    CompactionEndEvent { reason, result: None, aborted: false, will_retry: false, error_message: None }
}
