//! Requests the parts of the summary from a model, for a [compaction](crate::run::compaction).
//!
//! The history, the beginning of a turn that is split and, in some dialects, a short version of both are requested each
//! by itself. Where the dialect has events for it, a request that fails for a passing reason is made again, as often
//! and after such waits as a run is; such dialects request one part after the other. Source: pi source, xcsh source,
//! observed.

use crate::{
    core::Engine,
    io::CallId,
    requests::{ModelContinuation, SummaryPart},
    run::{
        partial_message::{PartialMessage, has_failed},
        summaries::{RequestedPart, Summaries, SummaryProgress},
    },
};
use pi_rpc_model::failure;
use pi_rpc_protocol::{
    AgentSessionEventKind, AssistantContent, AssistantMessage, DialectCompactionSummaryLevel, StopReason,
    SummarizationRetryAttemptStartEvent, SummarizationRetryFinishedEvent, SummarizationRetryScheduledEvent,
    SummarizationSource, ThinkingLevel, errors,
};
use pi_rpc_session::compaction::{SummaryRequest, short_request};
use std::time::Duration;

impl Engine {
    /// Requests the summary; `focus`: what it is to emphasise.
    pub(crate) fn request_summaries(&mut self, focus: Option<&str>) {
        let Some(compacting) = self.activity.compaction_mut() else { return };
        let preparation = &compacting.preparation;
        let requests = [
            (SummaryPart::History, preparation.history_request(focus)),
            (SummaryPart::Prefix, preparation.prefix_request(focus)),
        ];
        let requests = requests.into_iter().filter_map(|(part, request)| Some((part, request?)));
        compacting.summaries.waiting = requests.collect();
        self.advance_summary();
    }

    /// Requests missing parts; appends the compaction once every part is written.
    fn advance_summary(&mut self) {
        let in_turn = self.retries_summaries();
        while let Some(summaries) = self.activity.compaction_mut().map(|compacting| &mut compacting.summaries)
            && !(in_turn && summaries.is_open())
            && let Some((part, request)) = summaries.waiting.pop_front()
        {
            self.begin_part(part, request);
        }
        let Some(compacting) = self.activity.compaction() else { return };
        let summaries = &compacting.summaries;
        if summaries.is_open() {
            return;
        }
        let rules = &self.dialect.record().compaction;
        let (history, prefix) = (summaries.text(SummaryPart::History), summaries.text(SummaryPart::Prefix));
        let summary = compacting.preparation.summary(history, prefix, rules);
        let short = summaries.text(SummaryPart::Short).map(str::to_owned);
        if rules.short_summary && short.is_none() {
            return self.begin_part(SummaryPart::Short, short_request(&summary));
        }
        let mut result = compacting.preparation.clone().result(summary, short, rules);
        result.usage = summaries.usage();
        self.append_compaction(result, false);
    }

    /// Requests a part of the summary for the first time.
    fn begin_part(&mut self, part: SummaryPart, request: SummaryRequest) {
        let progress = SummaryProgress::Outstanding(self.request_part(part, &request));
        if let Some(compaction) = self.activity.compaction_mut() {
            compaction.summaries.requested.push(RequestedPart { part, request, progress, attempt: 0 });
        }
    }

    fn request_part(&mut self, part: SummaryPart, request: &SummaryRequest) -> CallId {
        let call = self.ids.call();
        let choice = &self.models.choice();
        let level = match self.dialect.record().compaction.summary_level {
            DialectCompactionSummaryLevel::High => Some(choice.clamp(ThinkingLevel::High)),
            DialectCompactionSummaryLevel::Selected => self.models.level,
        };
        let level = level.filter(|_| choice.model.reasoning);
        self.request_summary(call, level, request, ModelContinuation::Summary(part));
        call
    }

    /// The answer to the request of a part is complete, or has failed.
    pub(crate) fn on_summary_answer(&mut self, part: SummaryPart, partial: PartialMessage) {
        let stated = partial.retry_after;
        let answer = partial.finish();
        let text = text_of(&answer);
        if has_failed(&answer) {
            let reason = answer.error_message.unwrap_or_default();
            if !self.retry_summary(part, &reason, stated) {
                self.summary_failed(part, &reason);
            }
        } else if calls_tool(&answer) {
            let base = self.dialect.base();
            self.end_compaction(Some(match part {
                SummaryPart::Prefix => errors::prefix_summary_called(base),
                SummaryPart::History | SummaryPart::Short => errors::summary_called(base),
            }));
        } else if let Some(reason) = self.summary_fault(&answer, &text) {
            self.summary_failed(part, &reason);
        } else if let Some(requested) = self.requested_part(part) {
            requested.progress = SummaryProgress::Written { text, usage: answer.usage };
            if requested.attempt > 0 {
                self.emit_event(SummarizationRetryFinishedEvent {});
            }
            self.advance_summary();
        }
    }

    /// Why the text of an answer must not take the place of messages.
    pub(crate) fn summary_fault(&self, answer: &AssistantMessage, text: &str) -> Option<String> {
        let base = self.dialect.base();
        match answer.stop_reason {
            StopReason::Length => Some(errors::summary_truncated(base)),
            _ => text.trim().is_empty().then(|| errors::summary_empty(base)),
        }
    }

    /// Fails the compaction whose part could not be written.
    fn summary_failed(&mut self, part: SummaryPart, reason: &str) {
        let base = self.dialect.base();
        self.end_compaction(Some(match part {
            SummaryPart::Prefix => errors::prefix_summary_failed(base, reason),
            SummaryPart::History | SummaryPart::Short => errors::summary_failed(base, reason),
        }));
    }

    /// Cancels the outstanding requests of a summary.
    pub(crate) fn cancel_summaries(&mut self, summaries: &Summaries) {
        for requested in &summaries.requested {
            if let SummaryProgress::Outstanding(call) = requested.progress {
                self.cancel_model(call);
            }
        }
        let retried =
            |it: &RequestedPart| it.attempt > 0 && !matches!(it.progress, SummaryProgress::Written { .. });
        if summaries.requested.last().is_some_and(retried) {
            self.emit_event(SummarizationRetryFinishedEvent {});
        }
    }

    /// The state of a requested part.
    fn requested_part(&mut self, part: SummaryPart) -> Option<&mut RequestedPart> {
        self.activity.compaction_mut()?.summaries.requested.iter_mut().find(|it| it.part == part)
    }
}

/// Retries of parts.
impl Engine {
    fn retries_summaries(&self) -> bool {
        AgentSessionEventKind::SummarizationRetryScheduled.is_in(self.dialect.base())
    }

    /// Begins the wait for a retry if the failed request qualifies; `false` if not.
    fn retry_summary(&mut self, part: SummaryPart, reason: &str, stated: Option<Duration>) -> bool {
        let (plan, rules, now) = (self.modes.retry, &self.dialect.record().retry, self.now);
        let worth =
            self.modes.auto_retry && self.retries_summaries() && failure::is_transient_error(reason, rules);
        let Some(requested) = self.requested_part(part).filter(|it| worth && it.attempt < plan.most) else {
            return false;
        };
        let attempt = requested.attempt + 1;
        let Some(delay) = failure::delay(attempt, plan.base_ms, plan.longest_ms, stated, plan.cap_ms, rules)
        else {
            return false;
        };
        (requested.attempt, requested.progress) = (attempt, SummaryProgress::Retrying(now.monotonic + delay));
        self.emit_event(SummarizationRetryScheduledEvent {
            attempt,
            max_attempts: plan.most,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            error_message: reason.to_owned(),
        });
        true
    }

    /// Requests the parts whose wait for a retry is over.
    pub(crate) fn retry_summaries(&mut self) {
        let now = self.now.monotonic;
        let is_due =
            |it: &&RequestedPart| matches!(it.progress, SummaryProgress::Retrying(due) if due <= now);
        while let Some(compaction) = self.activity.compaction()
            && let Some(requested) = compaction.summaries.requested.iter().find(is_due)
        {
            let (part, request) = (requested.part, requested.request.clone());
            let reason = Some(compaction.reason());
            let source = SummarizationSource::Compaction;
            self.emit_event(SummarizationRetryAttemptStartEvent { source, reason });
            let call = self.request_part(part, &request);
            if let Some(requested) = self.requested_part(part) {
                requested.progress = SummaryProgress::Outstanding(call);
            }
        }
    }
}

/// Whether an answer calls a tool. Such an answer is no summary: the call is not executed, and its text is not whole.
pub(crate) fn calls_tool(answer: &AssistantMessage) -> bool {
    answer.content.iter().any(|block| matches!(block, AssistantContent::ToolCall(_)))
}

/// Joins the texts of an answer.
pub(crate) fn text_of(answer: &AssistantMessage) -> String {
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantContent::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
