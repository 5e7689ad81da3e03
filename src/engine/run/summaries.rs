//! How models are asked for the summary of a [compaction](crate::engine::run::compaction).
//!
//! The history, the beginning of a turn that is split and, in some dialects, a short version of both are asked for each
//! by itself. Where the dialect has events for it, a request that fails for a passing reason is made again, as often
//! and after such waits as a run is; such dialects ask for one part after the other. Source: pi source, xcsh source,
//! observed.

use crate::engine::{
    CallId, Engine, ModelCall, Purpose,
    run::partial_message::{PartialMessage, Progress},
    run::state::has_failed,
};
use crate::{
    model::{failure, types::StreamEvent},
    protocol::{
        AgentMessage, AgentSessionEventKind, AssistantContent, AssistantMessage, MessageContent,
        SummarizationRetryAttemptStartEvent, SummarizationRetryFinishedEvent,
        SummarizationRetryScheduledEvent, SummarizationSource, TextContent, ThinkingLevel, Usage,
        UserContent, UserMessage, errors,
    },
    session::compaction::{SummaryRequest, short_request, sum_usage},
};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// The parts of a summary, as far as they are there.
#[derive(Debug, Default)]
pub struct Summaries {
    /// Not asked for yet.
    waiting: VecDeque<(Part, SummaryRequest)>,
    asked: Vec<Asked>,
}

/// A part of the summary that a model is asked for.
#[derive(Debug)]
struct Asked {
    part: Part,
    request: SummaryRequest,
    call: CallId,
    /// While the answer comes.
    growing: Option<PartialMessage>,
    /// When it is asked for again, on the monotonic clock.
    wait: Option<Duration>,
    /// How often it was asked for again.
    attempt: u64,
    text: String,
    usage: Option<Usage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    History,
    /// The first part of a turn that is split.
    Prefix,
    /// A sentence or two for display.
    Short,
}

impl Summaries {
    fn text(&self, part: Part) -> Option<&str> {
        self.asked.iter().find(|asked| asked.part == part).map(|asked| asked.text.as_str())
    }

    fn is_open(&self) -> bool {
        self.asked.iter().any(Asked::is_open)
    }

    /// What all answers have cost together.
    fn usage(&self) -> Option<Usage> {
        self.asked.iter().filter_map(|asked| asked.usage.clone()).reduce(sum_usage)
    }
}

impl Asked {
    const fn is_open(&self) -> bool {
        self.growing.is_some() || self.wait.is_some()
    }
}

impl Engine {
    /// Has models write the summary; `focus` is what it is to dwell on.
    pub(in crate::engine) fn ask_for_summaries(&mut self, focus: Option<&str>) {
        let reserve = self.compaction_plan.reserve;
        let Some(compacting) = self.activity.compaction_mut() else { return };
        let preparation = &compacting.preparation;
        let requests = [
            (Part::History, preparation.history_request(reserve, focus)),
            (Part::Prefix, preparation.prefix_request(reserve, focus)),
        ];
        let requests = requests.into_iter().filter_map(|(part, request)| Some((part, request?)));
        compacting.summaries.waiting = requests.collect();
        self.summarised();
    }

    /// Asks for what is missing, and goes on when every part of the summary is there.
    fn summarised(&mut self) {
        let in_turn = self.retries_summaries();
        while let Some(summaries) = self.activity.compaction_mut().map(|compacting| &mut compacting.summaries)
            && !(in_turn && summaries.is_open())
            && let Some((part, request)) = summaries.waiting.pop_front()
        {
            self.ask_for_summary(part, request);
        }
        let Some(compacting) = self.activity.compaction() else { return };
        let summaries = &compacting.summaries;
        if summaries.is_open() {
            return;
        }
        let rules = &self.dialect.record().compaction;
        let (history, prefix) = (summaries.text(Part::History), summaries.text(Part::Prefix));
        let summary = compacting.preparation.summary(history, prefix, rules);
        let short = summaries.text(Part::Short).map(str::to_owned);
        if rules.short_summary && short.is_none() {
            return self.ask_for_summary(Part::Short, short_request(&summary));
        }
        let mut result = compacting.preparation.clone().result(summary, short, rules);
        result.usage = summaries.usage();
        self.keep_compaction(result, false);
    }

    fn ask_for_summary(&mut self, part: Part, request: SummaryRequest) {
        let (call, growing) = self.call_for_summary(&request);
        let asked =
            Asked { part, request, call, growing, wait: None, attempt: 0, text: String::new(), usage: None };
        if let Some(compacting) = self.activity.compaction_mut() {
            compacting.summaries.asked.push(asked);
        }
    }

    fn call_for_summary(&mut self, request: &SummaryRequest) -> (CallId, Option<PartialMessage>) {
        let call = self.ids.call();
        let model = self.models[self.model].model.clone();
        let text = UserContent::Text(TextContent { text: request.text.clone(), text_signature: None });
        let message = UserMessage {
            content: MessageContent::Blocks(vec![text]),
            attribution: None,
            synthetic: None,
            provider_payload: None,
            timestamp: self.now.wall,
        };
        let growing = PartialMessage::new(call, &model, self.dialect, self.now);
        let level = model.reasoning.then(|| self.models[self.model].clamp(ThinkingLevel::High));
        self.request_model(ModelCall {
            call,
            place: self.model,
            model,
            level,
            session_id: self.session.id().to_owned(),
            system_prompt: request.system_prompt.into(),
            messages: Arc::new(vec![Arc::new(AgentMessage::User(message))]),
            tools: Arc::new([]),
            forced_tool: None,
            count: self.calls,
            purpose: Purpose::Summary(request.max_tokens),
        });
        self.calls += 1;
        (call, Some(growing))
    }

    /// A step of the answer to one of the requests; gives it back if the call is none of theirs.
    pub(in crate::engine) fn summary_event(
        &mut self,
        call: CallId,
        event: StreamEvent,
    ) -> Option<StreamEvent> {
        let now = self.now;
        let asked = self.activity.compaction_mut().into_iter();
        let asked = asked.flat_map(|compacting| &mut compacting.summaries.asked);
        let Some(asked) = asked.into_iter().find(|asked| asked.call == call) else { return Some(event) };
        if asked.growing.as_mut()?.apply(event, now) != Progress::Over {
            return None;
        }
        let growing = asked.growing.take()?;
        let stated = growing.retry_after;
        let answer = growing.finish();
        let text = text_of(&answer);
        if has_failed(&answer) {
            let reason = answer.error_message.unwrap_or_default();
            if !self.retry_summary(call, &reason, stated) {
                self.summary_failed(call, reason);
            }
        } else if text.trim().is_empty() {
            self.summary_failed(call, errors::summary_empty(self.dialect.base()));
        } else {
            (asked.text, asked.usage) = (text, Some(answer.usage));
            self.retry_of_summary_over(call);
            self.summarised();
        }
        None
    }

    fn summary_failed(&mut self, call: CallId, reason: String) {
        let base = self.dialect.base();
        let text = match self.asked_by(call).map(|asked| asked.part) {
            Some(Part::Prefix) => errors::prefix_summary_failed(base, &reason),
            _ => errors::summary_failed(base, &reason),
        };
        self.end_compaction(Some(text));
    }

    /// Nobody waits for the summary any more.
    pub(in crate::engine) fn unask_summaries(&mut self, summaries: Summaries) {
        for asked in &summaries.asked {
            if asked.growing.is_some() {
                self.cancel_model(asked.call);
            }
        }
        if summaries.asked.last().is_some_and(|asked| asked.attempt > 0 && asked.text.is_empty()) {
            self.event(SummarizationRetryFinishedEvent {});
        }
    }

    fn asked_by(&mut self, call: CallId) -> Option<&mut Asked> {
        self.activity.compaction_mut()?.summaries.asked.iter_mut().find(|asked| asked.call == call)
    }
}

/// Asking again.
impl Engine {
    fn retries_summaries(&self) -> bool {
        AgentSessionEventKind::SummarizationRetryScheduled.is_in(self.dialect.base())
    }

    /// Waits for another try if the request that just failed is worth one.
    fn retry_summary(&mut self, call: CallId, reason: &str, stated: Option<Duration>) -> bool {
        let (plan, rules, now) = (self.retry_plan, &self.dialect.record().retry, self.now);
        let worth = self.auto_retry && self.retries_summaries() && failure::is_transient(reason, rules);
        let Some(asked) = self.asked_by(call).filter(|asked| worth && asked.attempt < plan.most) else {
            return false;
        };
        let attempt = asked.attempt + 1;
        let Some(delay) = failure::delay(attempt, plan.base_ms, stated, plan.cap_ms, rules) else {
            return false;
        };
        (asked.attempt, asked.wait) = (attempt, Some(now.monotonic + delay));
        self.event(SummarizationRetryScheduledEvent {
            attempt,
            max_attempts: plan.most,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            error_message: reason.to_owned(),
        });
        true
    }

    /// When the next request is made again, on the monotonic clock.
    pub(in crate::engine) fn summary_due(&self) -> Option<Duration> {
        let asked = self.activity.compaction().into_iter();
        let asked = asked.flat_map(|compacting| &compacting.summaries.asked);
        asked.filter_map(|asked| asked.wait).min()
    }

    /// Makes the requests again whose time has come.
    pub(in crate::engine) fn ask_for_summaries_again(&mut self) {
        let now = self.now.monotonic;
        while let Some(compacting) = self.activity.compaction_mut()
            && let Some(asked) =
                compacting.summaries.asked.iter_mut().find(|asked| asked.wait.is_some_and(|due| due <= now))
        {
            asked.wait = None;
            let (old, request) = (asked.call, asked.request.clone());
            let reason = Some(compacting.reason());
            let source = SummarizationSource::Compaction;
            self.event(SummarizationRetryAttemptStartEvent { source, reason });
            let (call, growing) = self.call_for_summary(&request);
            if let Some(asked) = self.asked_by(old) {
                (asked.call, asked.growing) = (call, growing);
            }
        }
    }

    /// The part is there; that it was asked for more than once is over with that.
    fn retry_of_summary_over(&mut self, call: CallId) {
        if self.asked_by(call).is_some_and(|asked| asked.attempt > 0) {
            self.event(SummarizationRetryFinishedEvent {});
        }
    }
}

/// The texts of an answer.
pub(in crate::engine) fn text_of(answer: &AssistantMessage) -> String {
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantContent::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
