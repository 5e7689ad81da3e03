//! What extensions have a say in.
//!
//! A hook asks one extension after another, in the order in which they were given; each sees what those before it made
//! of the matter. An extension that fails, or does not answer in time, has had its say, except about a tool call: what
//! it might have blocked is blocked. Source: pi source.

use super::{
    CallId, Engine,
    asks::Bound,
    extensions::Failing,
    prompts::{Prompting, Starting},
};
use crate::protocol::{
    AgentToolResult, AssistantContent, BeforeAgentStartHook, ExtensionMessage, HookCompaction, HookEvent,
    HookName, HookResult, InputAction, JsonObject, ObservedStep, ObservedUpdate, Outbound, RpcCommand, Said,
    ShutdownHook, Step, ToolResultHook, errors,
};
use std::collections::VecDeque;

/// A hook that is under way.
#[derive(Debug)]
pub struct Hooking {
    event: HookEvent,
    /// The extensions that are still to be asked.
    left: VecDeque<usize>,
    say: Say,
    then: Then,
}

/// What the extensions have said so far.
#[derive(Debug, Default)]
pub struct Say {
    /// It does not happen.
    pub cancel: bool,
    /// What the user said was dealt with.
    pub handled: bool,
    /// A summary.
    pub compaction: Option<HookCompaction>,
    /// Messages behind that of the user.
    pub messages: Vec<ExtensionMessage>,
    /// Why a tool must not run.
    pub block: Option<String>,
}

/// What the say is for.
#[derive(Debug)]
pub enum Then {
    /// What the user said is understood.
    Prompt(Box<Prompting>),
    /// The run begins.
    Start(Box<Starting>),
    /// The session is left, or forked.
    Leave(RpcCommand),
    /// The conversation is compacted.
    Compact {
        /// What the summary dwells on.
        focus: Option<String>,
    },
    /// The call at this place of the batch runs.
    Call(usize),
    /// The call at this place of the batch is over.
    Result(usize),
}

impl Then {
    const fn bound(&self) -> Bound {
        match self {
            Self::Prompt(_) | Self::Start(_) => Bound::Prompt,
            Self::Leave(_) | Self::Compact { .. } => Bound::Command,
            Self::Call(_) | Self::Result(_) => Bound::Call,
        }
    }
}

impl Engine {
    /// Asks whoever wants a say in `event`, then goes on with `then`; at once if nobody does.
    pub(super) fn hook(&mut self, event: HookEvent, then: Then) {
        let hook = self.ids.call();
        self.hook_as(hook, event, then);
    }

    /// Asks under this number.
    pub(super) fn hook_as(&mut self, hook: CallId, event: HookEvent, then: Then) {
        let name = HookName::parse(event.kind().as_str());
        // The process is about to end: there is no time for anybody's say.
        let name = name.filter(|_| !self.is_cut_off());
        let left = name.map(|name| self.extensions.asked(name)).unwrap_or_default();
        let hooking = Hooking { event, left: left.into(), say: Say::default(), then };
        self.hooks.insert(hook, hooking);
        self.ask_next(hook);
    }

    /// Whether somebody wants a say in it.
    pub(super) fn is_hooked(&self, name: HookName) -> bool {
        !self.extensions.asked(name).is_empty()
    }

    /// Whether a command waits for somebody's say, in dialects that serve commands one by one.
    pub(super) fn is_command_hooked(&self) -> bool {
        self.hooks.values().any(|hooking| matches!(hooking.then, Then::Prompt(_) | Then::Leave(_)))
    }

    /// Whether the session is about to be left if nobody objects.
    pub(super) fn is_leave_hooked(&self) -> bool {
        self.hooks.values().any(|hooking| matches!(hooking.then, Then::Leave(_)))
    }

    /// An extension has had its say.
    pub(super) fn said(&mut self, hook: CallId, result: Option<HookResult>) {
        let Some(hooking) = self.hooks.get_mut(&hook) else { return };
        if result.is_some_and(|result| hooking.take(result)) {
            hooking.left.clear();
        }
        self.ask_next(hook);
    }

    /// An extension has failed over it; `unwanted`: nobody waits for it any more.
    pub(super) fn say_failed(&mut self, hook: CallId, place: usize, text: &str, unwanted: bool) {
        let base = self.dialect.base();
        let Some(hooking) = self.hooks.get_mut(&hook) else { return };
        let kind = hooking.event.kind();
        match &hooking.event {
            HookEvent::ToolCall(_) => {
                hooking.say.block = Some(errors::block_failed(base, text));
                hooking.left.clear();
            }
            // The process was told to stop before anybody agreed.
            HookEvent::SessionBeforeSwitch(_) | HookEvent::SessionBeforeFork(_) => {
                hooking.say.cancel |= unwanted;
            }
            _ => {}
        }
        if !unwanted {
            self.extension_failed(Failing::Extension(place, kind.as_str()), text);
        }
        self.ask_next(hook);
    }

    /// What it is about is not wanted any more: whoever is being asked is the last.
    pub(super) fn ask_nobody_else(&mut self, hook: CallId) {
        if let Some(hooking) = self.hooks.get_mut(&hook) {
            hooking.left.clear();
        }
    }

    /// Says farewell to the extensions that want to hear it. They are not asked one by one: time is short.
    pub(super) fn say_farewell(&mut self) {
        for place in self.extensions.asked(HookName::SessionShutdown) {
            self.ask_for_farewell(place, ShutdownHook {}.into());
        }
    }

    fn ask_next(&mut self, hook: CallId) {
        let base = self.dialect.base();
        while let Some(hooking) = self.hooks.get_mut(&hook) {
            let Some(place) = hooking.left.pop_front() else { break };
            let (event, bound) = (hooking.event.clone(), hooking.then.bound());
            if self.ask_for_say(place, hook, bound, event) {
                return;
            }
            // What it might have blocked stays blocked while it is not there to say.
            if let Some(hooking) = self.hooks.get_mut(&hook)
                && matches!(hooking.event, HookEvent::ToolCall(_))
            {
                hooking.say.block = Some(errors::block_failed(base, &errors::not_running(base)));
                hooking.left.clear();
            }
        }
        if let Some(Hooking { event, say, then, .. }) = self.hooks.remove(&hook) {
            self.hooked(hook, then, event, say);
        }
    }

    /// The prompts that extensions have a say in were aborted: their runs end before a model is asked.
    pub(super) fn unask_hooked(&mut self) {
        for hooking in self.hooks.values_mut() {
            match &mut hooking.then {
                Then::Prompt(prompting) => prompting.unasked = true,
                Then::Start(starting) => starting.unasked = true,
                _ => {}
            }
        }
    }

    /// Everybody has had a say.
    fn hooked(&mut self, hook: CallId, then: Then, event: HookEvent, say: Say) {
        // The end of a call is told all the same.
        if self.leaves_at_once() && !matches!(then, Then::Result(_)) {
            return;
        }
        match (then, event) {
            (Then::Prompt(mut prompting), HookEvent::Input(input)) => {
                (prompting.text, prompting.images) = (input.text, input.images);
                self.heard(*prompting, say.handled);
            }
            (
                Then::Start(starting),
                HookEvent::BeforeAgentStart(BeforeAgentStartHook { system_prompt, .. }),
            ) => {
                self.started(*starting, say.messages, Some(system_prompt));
            }
            (Then::Leave(command), _) => self.leave_said(command, say.cancel),
            (Then::Compact { focus }, _) => self.compaction_said(hook, focus.as_deref(), say),
            (Then::Call(at), _) => self.call_said(at, say.block),
            (Then::Result(at), HookEvent::ToolResult(event)) => {
                let ToolResultHook { content, details, is_error, .. } = event;
                self.call_over(at, AgentToolResult { content, details, is_warning: None }, is_error);
            }
            // A hook is asked with the event that its end looks at.
            (Then::Prompt(_) | Then::Start(_) | Then::Result(_), _) => {}
        }
    }
}

impl Hooking {
    /// Notes what an extension said; `true` if nobody else needs to be asked.
    fn take(&mut self, result: HookResult) -> bool {
        match &mut self.event {
            HookEvent::SessionBeforeSwitch(_) | HookEvent::SessionBeforeFork(_) => {
                self.say.cancel |= result.cancel.unwrap_or(false);
                self.say.cancel
            }
            HookEvent::SessionBeforeCompact(_) => {
                self.say.cancel |= result.cancel.unwrap_or(false);
                self.say.compaction = result.compaction.or(self.say.compaction.take());
                self.say.cancel
            }
            HookEvent::Input(input) => {
                match result.action {
                    Some(InputAction::Handled) => self.say.handled = true,
                    Some(InputAction::Transform) => {
                        input.text = result.text.unwrap_or(std::mem::take(&mut input.text));
                        input.images = result.images.or(input.images.take());
                    }
                    Some(InputAction::Continue) | None => {}
                }
                self.say.handled
            }
            HookEvent::BeforeAgentStart(start) => {
                self.say.messages.extend(result.message);
                if let Some(system_prompt) = result.system_prompt {
                    start.system_prompt = system_prompt;
                }
                false
            }
            HookEvent::ToolCall(_) => {
                if result.block.unwrap_or(false) {
                    self.say.block = Some(result.reason.unwrap_or_default());
                }
                self.say.block.is_some()
            }
            HookEvent::ToolResult(event) => {
                if let Some(content) = result.content {
                    event.content = content;
                }
                if result.details.is_some() {
                    event.details = result.details;
                }
                event.is_error = result.is_error.unwrap_or(event.is_error);
                false
            }
            HookEvent::SessionShutdown(_) => false,
        }
    }
}

/// What is said as extensions see it: updates come without their snapshots.
pub(super) fn observed(said: &Said) -> Option<JsonObject> {
    let value = match said {
        Said::Frame(Outbound::AgentSessionEvent(event)) => serde_json::to_value(event),
        Said::Update(update) => {
            let (delta, content, tool_call) = match &update.step {
                Step::Start(_) => (None, None, None),
                Step::Delta(delta) => (Some(delta.clone()), None, None),
                Step::End(AssistantContent::ToolCall(call)) => (None, None, Some(call.clone())),
                Step::End(AssistantContent::Text(block)) => (None, Some(block.text.clone()), None),
                Step::End(AssistantContent::Thinking(block)) => (None, Some(block.thinking.clone()), None),
                Step::End(AssistantContent::RedactedThinking(_)) => (None, Some(String::new()), None),
            };
            let kind = update.kind().as_str().to_owned();
            let content_index = update.index as u64;
            let step = ObservedStep { type_: kind, content_index, delta, content, tool_call };
            serde_json::to_value(ObservedUpdate { assistant_message_event: step })
        }
        Said::Frame(_) => return None,
    };
    value.ok()?.as_object().cloned()
}
