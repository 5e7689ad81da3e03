//! Compaction: a model sums up what was said first, and is told the summary from then on.
//!
//! | Begun by | Told by |
//! |---|---|
//! | `compact` | its response alone |
//! | an answer that fills the context, or a request that did not fit | `auto_compaction_start`, `auto_compaction_end` |
//!
//! What is summed up, what stays and the words are [`compaction`](crate::session::compaction)'s; here is the order of
//! things. Source: pi source, xcsh source, observed.

use super::{
    CallId, Engine, ModelCall, Output, Purpose,
    growing::{Growing, Grown},
    hooks::{Say, Then},
    keep::Tell,
    run::{Ended, has_failed},
};
use crate::{
    model::{failure, types::StreamEvent},
    protocol::{
        AgentMessage, AssistantContent, AssistantMessage, Attribution, AutoCompactionEndEvent,
        AutoCompactionStartEvent, BeforeCompactHook, CompactCommand, CompactResponse, CompactionAction,
        CompactionReason, CompactionResult, DeveloperMessage, HookName, MessageContent, RequestId,
        RpcCommandKind, StopReason, TextContent, ThinkingLevel, UserContent, UserMessage, errors,
    },
    session::{
        Entry, NewEntry,
        compaction::{
            NothingToDo, Preparation, SummaryRequest, context_tokens, is_full, prepare, short_request,
        },
    },
};
use std::sync::Arc;

/// How much of the context a compaction leaves. Source: pi source, its settings `compaction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionPlan {
    /// Tokens of the context window that are kept free.
    pub reserve: u64,
    /// Tokens of the newest messages that stay as they are.
    pub keep_recent: u64,
}

/// A compaction that is under way.
#[derive(Debug)]
pub struct Compacting {
    why: Why,
    preparation: Preparation,
    /// The hook by which extensions have a say in it.
    hook: CallId,
    asked: Vec<Asked>,
    /// What came of it, once it is kept.
    result: Option<CompactionResult>,
    /// A prompt that was acknowledged meanwhile, or that found the context full.
    prompt: Option<UserMessage>,
    /// It was aborted since: no model is asked to go on, nor for the prompt that waits.
    unasked: bool,
}

#[derive(Debug)]
enum Why {
    /// By `compact`.
    Asked(Option<RequestId>),
    /// By a full context.
    Full {
        reason: CompactionReason,
        /// The request that did not fit is made again.
        will_retry: bool,
    },
}

/// A part of the summary that a model is asked for.
#[derive(Debug)]
struct Asked {
    part: Part,
    call: CallId,
    /// While the answer comes.
    growing: Option<Growing>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    History,
    /// The first part of a turn that is split.
    Prefix,
    /// A sentence or two for display.
    Short,
}

impl Compacting {
    /// Whether a command waits for it.
    pub(super) const fn is_asked_for(&self) -> bool {
        matches!(self.why, Why::Asked(_))
    }

    /// Whether a prompt waits for it.
    pub(super) const fn has_prompt(&self) -> bool {
        self.prompt.is_some()
    }

    /// Nothing is asked for afterwards: the run of a prompt that waits ends at once, and none opens by itself.
    pub(super) const fn ask_no_more(&mut self) {
        self.unasked = true;
    }

    fn text(&self, part: Part) -> Option<&str> {
        self.asked.iter().find(|asked| asked.part == part).map(|asked| asked.text.as_str())
    }
}

impl Engine {
    /// Compacts because the host wants it.
    pub(super) fn compact(&mut self, command: CompactCommand) {
        if let Some(text) = self.models[self.model].unusable.clone() {
            return self.handler_failed(command.id, RpcCommandKind::Compact, text);
        }
        let base = self.dialect.base();
        match self.prepare_compaction() {
            Ok(preparation) => {
                let focus = command.custom_instructions;
                self.begin_compaction(Why::Asked(command.id), preparation, focus.as_deref(), None);
            }
            Err(nothing) => {
                let text = match nothing {
                    NothingToDo::AlreadyCompacted => errors::already_compacted(base),
                    NothingToDo::TooSmall => errors::nothing_to_compact(base),
                };
                self.handler_failed(command.id, RpcCommandKind::Compact, text);
            }
        }
    }

    /// After a run: compacts if its request did not fit, or its answer leaves too little of the context free.
    pub(super) fn compact_if_full(&mut self, ended: &Ended) {
        if ended.answer.stop_reason != StopReason::Aborted {
            self.look_at_context(&ended.answer, None);
        }
    }

    /// Before a run: gives the message back if its run may start. Otherwise it waits for a compaction: one that is
    /// under way, or one that the context needs first.
    pub(super) fn compacting_first(&mut self, message: UserMessage, unasked: bool) -> Option<UserMessage> {
        if let Some(compacting) = &mut self.compacting {
            compacting.prompt = Some(message);
            compacting.unasked = unasked;
            return None;
        }
        if unasked {
            return Some(message);
        }
        let last = self.session.messages().iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(answer) => Some(answer.clone()),
            _ => None,
        });
        match last {
            Some(answer) => self.look_at_context(&answer, Some(message)),
            None => Some(message),
        }
    }

    /// Compacts if it is time to, judged by the last answer. A `prompt` waits for that, or is given back.
    fn look_at_context(
        &mut self,
        answer: &AssistantMessage,
        prompt: Option<UserMessage>,
    ) -> Option<UserMessage> {
        let model = &self.models[self.model].model;
        let window = model.context_window;
        let same = answer.provider == model.provider && answer.model == model.id;
        let is_old = !self.session.messages()[self.session.compacted()..].iter().any(|message| {
            matches!(message.as_ref(), AgentMessage::Assistant(it) if it.timestamp == answer.timestamp)
        });
        if !self.auto_compaction || self.broken.is_some() || self.stopping {
            return prompt;
        }
        let record = self.dialect.record();
        if same && !is_old && failure::overflows(answer, window) {
            // An answer that came all the same is not asked for again.
            let will_retry = prompt.is_none() && has_failed(answer);
            if std::mem::replace(&mut self.overflowed, true) && will_retry {
                let text = errors::overflow_again(self.dialect.base());
                self.say_compaction_start(CompactionReason::Overflow);
                self.event(AutoCompactionEndEvent { error_message: Some(text), ..ended() });
                return prompt;
            }
            return self.compact_full(CompactionReason::Overflow, will_retry, prompt);
        }
        let tokens = context_tokens(self.session.messages(), self.session.compacted());
        let judged = !has_failed(answer) || prompt.is_some() || record.compaction.checks_after_error;
        match judged && is_full(tokens, window, self.compaction_plan.reserve, &record.compaction) {
            true => self.compact_full(CompactionReason::Threshold, false, prompt),
            false => prompt,
        }
    }

    /// Compacts because the context is full. What cannot be compacted is told, and nothing changes.
    fn compact_full(
        &mut self,
        reason: CompactionReason,
        will_retry: bool,
        prompt: Option<UserMessage>,
    ) -> Option<UserMessage> {
        self.say_compaction_start(reason);
        match self.prepare_compaction() {
            Ok(preparation) if self.models[self.model].unusable.is_none() => {
                self.begin_compaction(Why::Full { reason, will_retry }, preparation, None, prompt);
                None
            }
            _ => {
                self.skip_compaction();
                prompt
            }
        }
    }

    fn prepare_compaction(&self) -> Result<Preparation, NothingToDo> {
        // In a small window less is kept, or nothing could ever give way. Own: the originals give up there.
        let most = match self.models[self.model].model.context_window {
            0 => u64::MAX,
            window => window / 2,
        };
        prepare(&self.session.tree().on_path(), self.compaction_plan.keep_recent.min(most))
    }

    fn begin_compaction(
        &mut self,
        why: Why,
        preparation: Preparation,
        focus: Option<&str>,
        prompt: Option<UserMessage>,
    ) {
        let hook = self.ids.call();
        let event = self.is_hooked(HookName::SessionBeforeCompact).then(|| hook_event(&preparation, focus));
        let focus = focus.map(str::to_owned);
        let asked = Vec::new();
        self.compacting =
            Some(Compacting { why, preparation, hook, asked, result: None, prompt, unasked: false });
        match event {
            Some(event) => self.hook_as(hook, event.into(), Then::Compact { focus }),
            None => self.ask_for_summaries(focus.as_deref()),
        }
    }

    /// An abort waits for the compaction: no extension is waited for on top of that.
    pub(super) fn unask_compaction(&mut self) {
        if let Some(Compacting { hook, .. }) = self.compacting {
            self.unask_hook(hook);
        }
    }

    /// The extensions have had their say: it is given up, or done already, or a model is asked.
    pub(super) fn compaction_said(&mut self, hook: CallId, focus: Option<&str>, say: Say) {
        let Some(compacting) = self.compacting.as_ref().filter(|it| it.hook == hook) else { return };
        if say.cancel {
            return self.end_compaction(None);
        }
        let Some(made) = say.compaction else { return self.ask_for_summaries(focus) };
        let rules = &self.dialect.record().compaction;
        let mut result = compacting.preparation.clone().result(made.summary, None, rules);
        let on_path = |entry: &&Entry| **entry.id() == *made.first_kept_entry_id;
        if self.session.tree().path().iter().find(|entry| on_path(entry)).is_none() {
            let text = errors::kept_entry_unknown(self.dialect.base(), &made.first_kept_entry_id);
            return self.end_compaction(Some(text));
        }
        result.first_kept_entry_id = made.first_kept_entry_id;
        result.tokens_before = made.tokens_before;
        result.details = made.details;
        self.keep_compaction(result, true);
    }

    fn ask_for_summaries(&mut self, focus: Option<&str>) {
        let reserve = self.compaction_plan.reserve;
        let Some(Compacting { preparation, .. }) = &self.compacting else { return };
        let requests = [
            (Part::History, preparation.history_request(reserve, focus)),
            (Part::Prefix, preparation.prefix_request(reserve, focus)),
        ];
        let mut asked = Vec::new();
        for (part, request) in requests {
            if let Some(request) = request {
                asked.push(self.ask_for_summary(part, request));
            }
        }
        if let Some(compacting) = &mut self.compacting {
            compacting.asked = asked;
        }
        self.summarised();
    }

    fn ask_for_summary(&mut self, part: Part, request: SummaryRequest) -> Asked {
        let call = self.ids.call();
        let model = self.models[self.model].model.clone();
        let text = UserContent::Text(TextContent { text: request.text, text_signature: None });
        let message = UserMessage {
            content: MessageContent::Blocks(vec![text]),
            attribution: None,
            synthetic: None,
            provider_payload: None,
            timestamp: self.now.wall,
        };
        let growing = Growing::new(call, &model, self.dialect, self.now);
        let level = model.reasoning.then(|| self.models[self.model].clamp(ThinkingLevel::High));
        self.push(Output::CallModel(Box::new(ModelCall {
            call,
            place: self.model,
            model,
            level,
            session_id: self.session.id().to_owned(),
            system_prompt: request.system_prompt.into(),
            messages: vec![Arc::new(AgentMessage::User(message))],
            tools: Arc::new([]),
            forced_tool: None,
            count: self.calls,
            purpose: Purpose::Summary(request.max_tokens),
        })));
        self.calls += 1;
        Asked { part, call, growing: Some(growing), text: String::new() }
    }

    /// A step of the answer to one of the requests; gives it back if the call is none of theirs.
    pub(super) fn summary_event(&mut self, call: CallId, event: StreamEvent) -> Option<StreamEvent> {
        let now = self.now;
        let asked = self.compacting.iter_mut().flat_map(|compacting| &mut compacting.asked);
        let Some(asked) = asked.into_iter().find(|asked| asked.call == call) else { return Some(event) };
        if asked.growing.as_mut()?.apply(event, now) != Grown::Over {
            return None;
        }
        let answer = asked.growing.take()?.finish();
        let (part, text) = (asked.part, text_of(&answer));
        if has_failed(&answer) {
            self.summary_failed(part, answer.error_message.unwrap_or_default());
        } else if text.trim().is_empty() {
            self.summary_failed(part, errors::summary_empty(self.dialect.base()));
        } else {
            asked.text = text;
            self.summarised();
        }
        None
    }

    /// Goes on when every part of the summary is there.
    fn summarised(&mut self) {
        let Some(compacting) = &self.compacting else { return };
        if compacting.asked.iter().any(|asked| asked.growing.is_some()) {
            return;
        }
        let rules = &self.dialect.record().compaction;
        let (history, prefix) = (compacting.text(Part::History), compacting.text(Part::Prefix));
        let summary = compacting.preparation.summary(history, prefix, rules);
        let short = compacting.text(Part::Short).map(str::to_owned);
        if rules.short_summary && short.is_none() {
            let asked = self.ask_for_summary(Part::Short, short_request(&summary));
            if let Some(compacting) = &mut self.compacting {
                compacting.asked.push(asked);
            }
            return;
        }
        let result = compacting.preparation.clone().result(summary, short, rules);
        self.keep_compaction(result, false);
    }

    fn keep_compaction(&mut self, result: CompactionResult, from_hook: bool) {
        self.keep(NewEntry::Compaction { result: result.clone(), from_hook });
        if let Some(compacting) = &mut self.compacting {
            compacting.result = Some(result);
        }
        self.tell = Some(Tell::Compacted);
    }

    /// The entry is stored: the model is told the summary from now on.
    pub(super) fn compacted(&mut self) {
        let Some(Compacting { why, result: Some(result), prompt, unasked, .. }) = self.compacting.take()
        else {
            return;
        };
        self.session.rebuild();
        match why {
            Why::Asked(id) => {
                self.succeed(CompactResponse { id, data: result });
                self.go_on(prompt, unasked);
            }
            Why::Full { reason, will_retry } => {
                if will_retry {
                    self.session.forget_answer(StopReason::Error);
                }
                // A prompt that came meanwhile asks in its place.
                let will_retry = will_retry && prompt.is_none() && !unasked;
                self.event(AutoCompactionEndEvent { result: Some(result), will_retry, ..ended() });
                if will_retry {
                    self.start_run([]);
                } else if prompt.is_some() {
                    self.go_on(prompt, unasked);
                } else if !unasked {
                    self.continue_after(reason);
                }
            }
        }
    }

    /// What follows an automatic compaction by itself: in some dialects the model is asked to go on; messages that
    /// waited are delivered.
    fn continue_after(&mut self, reason: CompactionReason) {
        let rules = &self.dialect.record().compaction;
        if let Some(text) = rules.continue_text.filter(|_| reason == CompactionReason::Threshold) {
            if rules.skips_once_more {
                self.say_compaction_start(CompactionReason::Threshold);
                self.skip_compaction();
            }
            let text = UserContent::Text(TextContent { text: text.to_owned(), text_signature: None });
            let message = DeveloperMessage {
                content: MessageContent::Blocks(vec![text]),
                attribution: Some(Attribution::Agent),
                timestamp: self.now.wall,
            };
            return self.start_run([AgentMessage::Developer(message)]);
        }
        if !self.steering.is_empty() {
            self.start_run([]);
        } else if !self.follow_up.is_empty() {
            let waiting = self.follow_up.take();
            self.start_run(waiting);
        }
    }

    /// Opens the run of the prompt that waited, if one did.
    fn go_on(&mut self, prompt: Option<UserMessage>, unasked: bool) {
        if let Some(prompt) = prompt {
            self.begin(prompt, unasked);
        }
    }

    /// The summary could not be stored.
    pub(super) fn compaction_unkept(&mut self, text: String) {
        self.session.undo();
        self.end_compaction(Some(text));
    }

    /// Gives a compaction up, if one is under way.
    pub(super) fn cancel_compaction(&mut self) {
        self.end_compaction(None);
    }

    fn summary_failed(&mut self, part: Part, reason: String) {
        let base = self.dialect.base();
        let text = match part {
            Part::Prefix => errors::prefix_summary_failed(base, &reason),
            Part::History | Part::Short => errors::summary_failed(base, &reason),
        };
        self.end_compaction(Some(text));
    }

    /// Ends a compaction that comes to nothing: it failed for that reason, or was cancelled.
    fn end_compaction(&mut self, failure: Option<String>) {
        let Some(Compacting { why, hook, asked, prompt, unasked, .. }) = self.compacting.take() else {
            return;
        };
        self.unask_hook(hook);
        for asked in asked.iter().filter(|asked| asked.growing.is_some()) {
            self.push(Output::CancelModel(asked.call));
        }
        let base = self.dialect.base();
        match why {
            Why::Asked(id) => {
                let text = failure.unwrap_or_else(|| errors::compaction_cancelled(base));
                self.handler_failed(id, RpcCommandKind::Compact, text);
            }
            Why::Full { reason, .. } => {
                let text = failure.map(|text| match reason {
                    CompactionReason::Overflow => errors::overflow_compaction_failed(base, &text),
                    _ => errors::threshold_compaction_failed(base, &text),
                });
                let aborted = text.is_none();
                self.event(AutoCompactionEndEvent { aborted, error_message: text, ..ended() });
            }
        }
        self.go_on(prompt, unasked);
    }

    fn say_compaction_start(&mut self, reason: CompactionReason) {
        self.event(AutoCompactionStartEvent { reason, action: Some(CompactionAction::ContextFull) });
    }

    /// There is nothing to compact after all.
    fn skip_compaction(&mut self) {
        let skipped = self.dialect.record().compaction.says_skipped.then_some(true);
        self.event(AutoCompactionEndEvent { skipped, ..ended() });
    }
}

/// What extensions are told of a compaction.
fn hook_event(preparation: &Preparation, focus: Option<&str>) -> BeforeCompactHook {
    let messages = preparation.history.iter().chain(&preparation.prefix);
    BeforeCompactHook {
        first_kept_entry_id: preparation.first_kept.to_string(),
        tokens_before: preparation.tokens_before,
        custom_instructions: focus.map(str::to_owned),
        messages_to_summarize: messages.map(|message| message.as_ref().clone()).collect(),
        previous_summary: preparation.previous_summary.clone(),
    }
}

/// The end of an automatic compaction from which nothing follows.
const fn ended() -> AutoCompactionEndEvent {
    AutoCompactionEndEvent {
        action: Some(CompactionAction::ContextFull),
        result: None,
        aborted: false,
        will_retry: false,
        error_message: None,
        skipped: None,
    }
}

/// The texts of an answer.
fn text_of(answer: &AssistantMessage) -> String {
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantContent::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
