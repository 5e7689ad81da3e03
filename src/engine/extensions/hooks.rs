//! What extensions have a say in.
//!
//! A hook asks one extension after another, in the order in which they were given; each sees what those before it made
//! of the matter. An extension that fails, or does not answer in time, has had its say, except about a tool call: what
//! it might have blocked is blocked. Source: pi source.

use crate::engine::{
    CallId, Engine, Output,
    extensions::hook_results::Say,
    extensions::processes::Failing,
    extensions::requests::Bound,
    prompts::{Prompting, Starting},
    run::after::AfterRun,
};
use crate::protocol::{
    AgentToolResult, BashCommand, BeforeAgentStartHook, HookEvent, HookName, HookResult, JsonObject,
    QueueDisposition, RequestId, RpcCommand, RpcCommandKind, RpcSuccess, ShutdownHook, ToolResultHook,
    errors,
};
use serde_json::Value;
use std::collections::VecDeque;

/// A hook that is under way.
#[derive(Debug)]
pub struct Hooking {
    pub(in crate::engine) event: HookEvent,
    /// The extensions that are still to be asked.
    left: VecDeque<usize>,
    pub(in crate::engine) say: Say,
    then: Then,
}

/// What the say is for.
#[derive(Debug)]
pub enum Then {
    /// What the user said is understood.
    Prompt(Box<Prompting>),
    /// A message is queued.
    Queue {
        /// Of the request.
        id: Option<RequestId>,
        /// Of the request: which queue.
        kind: RpcCommandKind,
    },
    /// The run begins.
    Start(Box<Starting>),
    /// The session is left, or forked.
    Leave(RpcCommand),
    /// The conversation is compacted.
    Compact {
        /// What the summary dwells on.
        focus: Option<String>,
    },
    /// Another branch is taken up; the action that wants it.
    Navigate(CallId),
    /// Another branch was taken up; the action that wanted it.
    Moved(CallId),
    /// A request to a provider goes on, under this number.
    Outside(CallId),
    /// The arguments of the call at this place of the batch are checked.
    Prepare(usize),
    /// The call at this place of the batch runs.
    Call(usize),
    /// The call at this place of the batch is over.
    Result {
        /// The place.
        at: usize,
        /// What its tool returned.
        original: Box<AgentToolResult>,
    },
    /// Nothing: it was told, and that is all.
    Told,
    /// The message is kept.
    Keep,
    /// The model is asked.
    Ask,
    /// The compaction is over.
    Compacted,
    /// The session is left for another one.
    Left(Box<AfterRun>),
    /// Another session has begun, and the command that wanted it is answered.
    Begun(Box<RpcSuccess>),
    /// Skills and prompt templates are looked for.
    Discover,
    /// They are looked for where the extensions have said, then the host is served.
    Look,
    /// A shell command of the host runs.
    Shell(Box<BashCommand>),
}

impl Then {
    const fn bound(&self) -> Bound {
        match self {
            Self::Prompt(_) | Self::Start(_) | Self::Outside(_) => Bound::Prompt,
            Self::Queue { .. }
            | Self::Leave(_)
            | Self::Compact { .. }
            | Self::Navigate(_)
            | Self::Moved(_) => Bound::Command,
            Self::Prepare(_) | Self::Call(_) | Self::Result { .. } => Bound::Call,
            _ => Bound::Command,
        }
    }

    /// Whether the session is another one afterwards.
    pub(in crate::engine) const fn changes_session(&self) -> bool {
        matches!(self, Self::Left(_) | Self::Begun(_))
    }
}

impl Engine {
    /// Asks whoever wants a say in `event`, then goes on with `then`; at once if nobody does.
    pub(in crate::engine) fn hook(&mut self, event: HookEvent, then: Then) {
        let hook = self.ids.call();
        self.hook_as(hook, event, then);
    }

    /// Asks under this number.
    pub(in crate::engine) fn hook_as(&mut self, hook: CallId, event: HookEvent, then: Then) {
        let name = HookName::parse(event.kind().as_str());
        // The process is about to end: there is no time for anybody's say.
        let name = name.filter(|_| !self.lifecycle.is_stopping());
        let left = match &event {
            HookEvent::Event(told) => {
                name.map(|_| self.extensions.awaiting(event_type(&told.event))).unwrap_or_default()
            }
            _ => name.map(|name| self.extensions.asked(name)).unwrap_or_default(),
        };
        let hooking = Hooking { event, left: left.into(), say: Say::default(), then };
        self.hooks.insert(hook, hooking);
        self.ask_next(hook);
    }

    /// Asks these alone.
    pub(in crate::engine) fn hook_among(
        &mut self,
        places: impl IntoIterator<Item = usize>,
        event: HookEvent,
        then: Then,
    ) {
        let hook = self.ids.call();
        let left = places.into_iter().collect();
        self.hooks.insert(hook, Hooking { event, left, say: Say::default(), then });
        self.ask_next(hook);
    }

    /// Whether somebody wants a say in it.
    pub(in crate::engine) fn is_hooked(&self, name: HookName) -> bool {
        self.extensions.is_asked(name)
    }

    /// Whether a command waits for somebody's say, in dialects that serve commands one by one.
    pub(in crate::engine) fn is_command_hooked(&self) -> bool {
        self.hooks.values().any(|hooking| matches!(hooking.then, Then::Prompt(_) | Then::Leave(_)))
    }

    /// Whether the session is about to be left if nobody objects.
    pub(in crate::engine) fn is_leave_hooked(&self) -> bool {
        self.hooks.values().any(|hooking| matches!(hooking.then, Then::Leave(_)))
    }

    /// The extension at this place has had its say.
    pub(in crate::engine) fn said(&mut self, hook: CallId, place: usize, result: Option<HookResult>) {
        let base = self.dialect.base();
        let Some(hooking) = self.hooks.get_mut(&hook) else { return };
        let kind = hooking.event.kind();
        match result.map(|result| hooking.take(base, result)) {
            Some(Ok(true)) => hooking.left.clear(),
            Some(Err(text)) => self.extension_failed(Failing::Extension(place, kind.as_str()), &text),
            Some(Ok(false)) | None => {}
        }
        self.ask_next(hook);
    }

    /// An extension has failed over it; `unwanted`: nobody waits for it any more.
    pub(in crate::engine) fn say_failed(&mut self, hook: CallId, place: usize, text: &str, unwanted: bool) {
        let base = self.dialect.base();
        let Some(hooking) = self.hooks.get_mut(&hook) else { return };
        let kind = hooking.event.kind();
        match &hooking.event {
            HookEvent::ToolCall(_) => {
                hooking.say.block = Some(errors::block_failed(base, text));
                hooking.left.clear();
            }
            HookEvent::PrepareArguments(_) => hooking.say.block = Some(text.to_owned()),
            // The process was told to stop before anybody agreed.
            HookEvent::SessionBeforeSwitch(_)
            | HookEvent::SessionBeforeFork(_)
            | HookEvent::SessionBeforeTree(_) => {
                hooking.say.cancel |= unwanted;
            }
            // It might have run somewhere else.
            HookEvent::UserBash(_) => {
                hooking.say.block = Some(text.to_owned());
                hooking.left.clear();
            }
            _ => {}
        }
        let name = match &hooking.event {
            HookEvent::Event(told) => event_type(&told.event).to_owned(),
            _ => kind.as_str().to_owned(),
        };
        // As of a tool that fails, the model alone is told.
        let is_of_tool = matches!(hooking.event, HookEvent::PrepareArguments(_));
        if !unwanted && !is_of_tool {
            self.extension_failed(Failing::Extension(place, &name), text);
        }
        self.ask_next(hook);
    }

    /// What it is about is not wanted any more: whoever is being asked is the last.
    pub(in crate::engine) fn ask_nobody_else(&mut self, hook: CallId) {
        if let Some(hooking) = self.hooks.get_mut(&hook) {
            hooking.left.clear();
        }
    }

    /// Says farewell to the extensions that want to hear it. They are not asked one by one: time is short.
    pub(in crate::engine) fn say_farewell(&mut self) {
        for place in self.extensions.asked(HookName::SessionShutdown) {
            self.ask_for_farewell(place, ShutdownHook { reason: None, target_session_file: None }.into());
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
            let Some(hooking) = self.hooks.get_mut(&hook) else { break };
            match hooking.event {
                HookEvent::ToolCall(_) => {
                    hooking.say.block = Some(errors::block_failed(base, &errors::not_running(base)));
                    hooking.left.clear();
                }
                HookEvent::PrepareArguments(_) => hooking.say.block = Some(errors::not_running(base)),
                _ => {}
            }
        }
        if let Some(Hooking { event, say, then, .. }) = self.hooks.remove(&hook) {
            self.hooked(hook, then, event, say);
        }
    }

    /// Nobody is waited for any more: a message that is being told is kept as it is.
    pub(in crate::engine) fn cut_short(&mut self, hook: CallId) {
        if let Some(Hooking { event: HookEvent::MessageEnd(ended), then: Then::Keep, .. }) =
            self.hooks.remove(&hook)
        {
            self.message_said(ended.message, false);
        }
    }

    /// The prompts that extensions have a say in were aborted: their runs end before a model is asked.
    pub(in crate::engine) fn unask_hooked(&mut self) {
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
        self.told_all(hook);
        // The end of a call is told all the same, and what was said is kept.
        if !self.lifecycle.leaves_work() || matches!(then, Then::Result { .. } | Then::Keep) {
            self.go_on_with(hook, then, event, say);
        }
        self.tell_next();
    }

    fn go_on_with(&mut self, hook: CallId, then: Then, event: HookEvent, say: Say) {
        match (then, event) {
            (Then::Prompt(mut prompting), HookEvent::Input(input)) => {
                (prompting.text, prompting.images) = (input.text, input.images);
                self.hear(*prompting, say.handled);
            }
            (Then::Queue { id, kind }, HookEvent::Input(input)) => match say.handled {
                true => self.accept_queued(id, kind, QueueDisposition::Handled),
                false => self.queue_heard(id, kind, input.text, input.images),
            },
            (
                Then::Start(starting),
                HookEvent::BeforeAgentStart(BeforeAgentStartHook { system_prompt, .. }),
            ) => {
                self.started(*starting, say.messages, Some(system_prompt));
            }
            (Then::Leave(command), _) => self.leave_said(command, say.cancel),
            (Then::Compact { focus }, _) => self.compaction_said(hook, focus.as_deref(), say),
            (Then::Outside(ask), event) => self.push(Output::Hooked { ask, event: Box::new(event) }),
            (Then::Navigate(call), HookEvent::SessionBeforeTree(event)) => {
                self.navigation_said(hook, call, event, say);
            }
            (Then::Moved(call), _) => self.navigated(call),
            (Then::Prepare(at), HookEvent::PrepareArguments(call)) => {
                self.call_prepared(at, call.input, say.block);
            }
            (Then::Call(at), HookEvent::ToolCall(call)) => {
                let arguments = say.changed.then_some(call.input);
                self.call_said(at, arguments, say.block, say.terminate);
            }
            (Then::Result { at, original }, HookEvent::ToolResult(event)) => {
                let ToolResultHook { content, details, is_error, structured_content, .. } = event;
                let result = AgentToolResult {
                    content,
                    details,
                    structured_content,
                    is_error: original.is_error.filter(|_| is_error),
                    is_warning: None,
                    usage: original.usage,
                    terminate: original.terminate,
                };
                self.call_over(at, result, is_error);
            }
            (Then::Told, _) => {}
            (Then::Keep, HookEvent::MessageEnd(ended)) => self.message_said(ended.message, say.changed),
            (Then::Ask, HookEvent::Context(context)) => {
                self.context_said(say.changed.then_some(context.messages));
            }
            (Then::Compacted, _) => self.compaction_over(),
            (Then::Left(next), _) => {
                // What was said at the farewell is not for the next session.
                self.triggering.clear();
                self.leave_now(*next);
            }
            (Then::Begun(response), _) => self.session_begun_told(*response),
            (Then::Discover, _) => self.discover(),
            (Then::Look, _) => self.look_into(say.skill_paths, say.prompt_paths),
            (Then::Shell(command), _) => self.shell_said(*command, say.block, say.bash),
            // A hook is asked with the event that its end looks at.
            (
                Then::Prompt(_)
                | Then::Queue { .. }
                | Then::Start(_)
                | Then::Prepare(_)
                | Then::Call(_)
                | Then::Result { .. }
                | Then::Keep
                | Then::Ask
                | Then::Navigate(_),
                _,
            ) => {}
        }
    }
}

/// The type of an event.
fn event_type(event: &JsonObject) -> &str {
    event.get("type").and_then(Value::as_str).unwrap_or_default()
}
