//! What extensions are told while the engine stands still: events that they wait for to be heard, and the hooks in the
//! midst of a run or of a change of the session. One is told after the other, in the order in which things happened.
//!
//! Meanwhile nothing new begins: no turn, no model, no tool, nothing that follows a run. What is on its way goes on, and
//! is taken in: the host's frames, a model that streams, tools, timers, aborts. What is left of the step that told it is
//! kept as a [`Step`], so that what an extension does in answer counts for what comes next. Source: pi source.

use crate::engine::{
    CallId, Engine,
    activity::Activity,
    extensions::hook::{Hook, SessionStartContinuation},
    prompts::Prompting,
    queues::TurnInput,
    run::state::NextTurn,
};
use crate::machine::Rule;
use crate::protocol::{
    AgentMessage, AssistantContent, CompactedHook, HookName, JsonObject, LevelSelectHook, ModelSelectHook,
    ModelSelectSource, ObservedStep, ObservedUpdate, Outbound, RpcSuccess, Said, SessionStartHook,
    SessionStartReason, Step as Grows, ThinkingLevel,
};
use std::collections::VecDeque;

/// What is being told, and what comes then.
#[derive(Debug, Default)]
pub struct Telling {
    /// What is told just now.
    hook: Option<CallId>,
    /// What is told behind it.
    waiting: VecDeque<Hook>,
    /// What the engine does when all of it was heard.
    steps: VecDeque<Step>,
    /// What was said, and whether it was dealt with: it waits until it is decided what follows the run that has ended.
    pub(in crate::engine) heard: Option<(Box<Prompting>, bool)>,
    /// An extension has put a message in the place of one that the host may have seen grow.
    pub(in crate::engine) replaced: bool,
}

/// The rest of a step of the engine, behind an event.
#[derive(Debug)]
pub enum Step {
    /// The run has begun: its first turn opens.
    OpenTurn(Vec<TurnInput>),
    /// The turn has begun: these messages are said.
    Inputs(Vec<TurnInput>),
    /// A message has begun, and is complete at once.
    Complete(Box<AgentMessage>),
    /// The call at this place of the batch was announced.
    Check(usize),
    /// The end of the call at this place was told: its result follows.
    Result(usize),
    /// The turn has ended.
    TurnOver(NextTurn),
    /// The turn has ended, and with it the run.
    EndRun,
}

impl Engine {
    /// Does this now, or when what was told has been heard.
    pub(in crate::engine) fn then(&mut self, step: Step) {
        match self.is_standing() {
            true => self.telling.steps.push_back(step),
            false => self.go(step),
        }
    }

    /// Does what waited for something to be heard; `false` if there is nothing, or it was not heard yet.
    pub(in crate::engine) fn advance_steps(&mut self) -> bool {
        if self.is_standing() {
            return false;
        }
        let Some(step) = self.telling.steps.pop_front() else { return false };
        self.go(step);
        true
    }

    fn go(&mut self, step: Step) {
        match step {
            Step::OpenTurn(inputs) => self.open_first_turn(inputs),
            Step::Inputs(inputs) => self.begin_turn(inputs),
            Step::Complete(message) => self.conclude(*message),
            Step::Check(at) => self.check_announced(at),
            Step::Result(at) => self.say_result(at),
            Step::TurnOver(next) => self.turn_over(next),
            Step::EndRun => self.end_run(),
        }
    }

    /// Whether something was told that nobody has heard yet.
    pub(in crate::engine) const fn is_standing(&self) -> bool {
        self.telling.hook.is_some() && !self.lifecycle.leaves_work()
    }

    /// Whether something is told, or waits for that.
    pub(in crate::engine) fn is_telling(&self) -> bool {
        self.is_standing() || !self.telling.steps.is_empty()
    }

    /// Whether commands of the host wait: it is not decided yet what follows the run that has just ended, or the session
    /// is being changed.
    pub(in crate::engine) const fn holds_commands(&self) -> bool {
        self.activity.is_undecided() || matches!(self.activity, Activity::Switching)
    }

    /// The input has ended, and nobody is waited for: what was said is kept as it is, and nothing else begins.
    pub(in crate::engine) fn leave_steps(&mut self) {
        self.telling.steps.retain(|step| matches!(step, Step::Complete(_) | Step::Result(_)));
        if let Some(hook) = self.telling.hook.take() {
            self.cut_short(hook);
        }
        self.telling.waiting.clear();
    }

    /// Sends a hook once those before it have completed.
    pub(in crate::engine) fn tell_all(&mut self, hook: Hook) {
        if hook.changes_session() {
            self.activity = Activity::Switching;
        }
        self.telling.waiting.push_back(hook);
        self.tell_next();
    }

    /// What was told was heard.
    pub(in crate::engine) const fn told_all(&mut self, hook: CallId) {
        if matches!(self.telling.hook, Some(told) if told == hook) {
            self.telling.hook = None;
        }
    }

    /// Tells the next thing, if nothing is being told.
    pub(in crate::engine) fn tell_next(&mut self) {
        if self.telling.hook.is_some() {
            return;
        }
        let Some(hook) = self.telling.waiting.pop_front() else { return };
        let id = self.ids.call();
        self.telling.hook = Some(id);
        self.hook_as(id, hook);
    }

    /// Tells which model was chosen, and which level, where that has changed.
    pub(in crate::engine) fn tell_choice(
        &mut self,
        before: (usize, Option<ThinkingLevel>),
        source: ModelSelectSource,
    ) {
        let (model, level) = before;
        if self.level != level && self.is_hooked(HookName::ThinkingLevelSelect) {
            let named = |level: Option<ThinkingLevel>| level.unwrap_or(ThinkingLevel::Off);
            let event = LevelSelectHook { level: named(self.level), previous_level: named(level) };
            self.tell_all(Hook::ThinkingLevelSelect { event });
        }
        if self.model != model && self.is_hooked(HookName::ModelSelect) {
            let event = ModelSelectHook {
                model: self.models[self.model].model.clone(),
                previous_model: self
                    .models
                    .get(model)
                    .filter(|choice| !choice.is_none())
                    .map(|choice| choice.model.clone()),
                source,
            };
            self.tell_all(Hook::ModelSelect { event });
        }
    }

    /// Tells that the conversation was compacted, if somebody wants to hear it; `false` if nobody does.
    pub(in crate::engine) fn tell_compacted(
        &mut self,
        event: impl FnOnce(JsonObject) -> CompactedHook,
    ) -> bool {
        if !self.is_hooked(HookName::SessionCompact) {
            return false;
        }
        let entry = self.session.tree().leaf().and_then(|entry| serde_json::from_slice(entry.line()).ok());
        self.tell_all(Hook::SessionCompact { event: event(entry.unwrap_or_default()) });
        true
    }

    /// Another session has begun: the command is answered when the extensions have heard of it.
    pub(in crate::engine) fn session_begun(
        &mut self,
        reason: SessionStartReason,
        previous: Option<String>,
        response: impl Into<RpcSuccess>,
    ) {
        let response = Box::new(response.into());
        if !self.is_hooked(HookName::SessionStart) {
            return self.session_begun_told(*response);
        }
        let event = SessionStartHook { reason, previous_session_file: previous };
        self.tell_all(Hook::SessionStart { event, then: SessionStartContinuation::Respond(response) });
    }

    /// The extensions know of the session.
    pub(in crate::engine) fn session_begun_told(&mut self, response: RpcSuccess) {
        self.activity = self.resting();
        self.succeed(response);
    }

    /// The session was not left after all: extensions that have taken leave of it begin anew.
    pub(in crate::engine) fn session_stays(&mut self) {
        if !matches!(self.activity, Activity::Switching) {
            return;
        }
        self.activity = self.resting();
        if self.is_hooked(HookName::SessionStart) {
            let reason = SessionStartReason::Resume;
            let event = SessionStartHook { reason, previous_session_file: self.session_file() };
            self.tell_all(Hook::SessionStart { event, then: SessionStartContinuation::Nothing });
        }
    }
}

/// Whether a rule compares a complete message with what was shown of it before, or with itself.
pub(in crate::engine) const fn is_of_messages(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::StartFinalNonassistant
            | Rule::AssistantConstant
            | Rule::AssistantStartEmpty
            | Rule::StartStopReason
            | Rule::BlockProtocol
            | Rule::BlocksAnnounced
            | Rule::ToolcallEndEq
            | Rule::EndEqLast
            | Rule::StopReason
            | Rule::AfterAssistant
            | Rule::ToolStartPerCall
            | Rule::ToolResultEq
            | Rule::UsageSum
            | Rule::StatsConsistent
    )
}

/// What is said as extensions see it: updates come without their snapshots.
pub(in crate::engine) fn observed(said: &Said) -> Option<JsonObject> {
    let value = match said {
        Said::Frame(Outbound::AgentSessionEvent(event)) => serde_json::to_value(event),
        Said::Update(update) => {
            let (delta, content, tool_call) = match &update.step {
                Grows::Start(_) => (None, None, None),
                Grows::Delta(delta) => (Some(delta.clone()), None, None),
                Grows::End(AssistantContent::ToolCall(call)) => (None, None, Some(call.clone())),
                Grows::End(AssistantContent::Text(block)) => (None, Some(block.text.clone()), None),
                Grows::End(AssistantContent::Thinking(block)) => (None, Some(block.thinking.clone()), None),
                Grows::End(AssistantContent::RedactedThinking(_)) => (None, Some(String::new()), None),
            };
            let kind = update.kind().as_str().to_owned();
            let content_index = update.index as u64;
            let step = ObservedStep { type_: kind, content_index, delta, content, tool_call };
            serde_json::to_value(ObservedUpdate { assistant_message_event: step })
        }
        Said::Frame(_) | Said::Line { .. } => return None,
    };
    value.ok()?.as_object().cloned()
}
