//! What extensions are asked, and how long they have for it.
//!
//! | Asked for | Must answer within | Then |
//! |---|---|---|
//! | a command | [`ACCEPT`], with anything; to end it, [`AFTER_INPUT`] once the input has ended | the host is told, the prompt is answered with success all the same |
//! | a say in something (a hook) | [`HOOK`]; the time stands still while a dialog of it is open | it counts as failed |
//! | a tool | no limit | |
//! | any of them, once it is not wanted any more | [`GRACE`] | it counts as failed |
//!
//! While the host does not read, extensions are not heard, and the time of whatever is wanted stands still.
//!
//! Source: own; settled, "Hook deadlines".

use crate::engine::{
    CallId, Engine, Output, extensions::processes::Failing, extensions::registrations::Called, prompts::Reply,
};
use crate::protocol::{
    AgentToolResult, DialectSlashAck, ExtensionCancel, ExtensionCommandCall, ExtensionHook,
    ExtensionToolCall, HookEvent, HookResult, JsonObject, PromptDisposition, ToExtension, errors,
};
use std::time::Duration;

/// How long an extension may take to take a command up.
pub const ACCEPT: Duration = Duration::from_secs(10);

/// How long an extension may take over a hook.
pub const HOOK: Duration = Duration::from_secs(30);

/// How long an extension may take to end what is not wanted any more.
pub const GRACE: Duration = Duration::from_secs(2);

/// How long extensions may take when the process is about to end.
pub const FAREWELL: Duration = Duration::from_secs(1);

/// How long a command may go on when the input has ended.
pub const AFTER_INPUT: Duration = Duration::from_secs(10);

/// One thing that an extension was asked.
#[derive(Debug)]
pub struct Ask {
    /// The extension.
    pub place: usize,
    process: CallId,
    /// What for.
    pub what: Asked,
    due: Due,
    /// How many dialogs of it are open.
    dialogs: usize,
    /// Nobody wants it any more: its dialogs are over before they open.
    unwanted: bool,
}

/// What an extension was asked for.
#[derive(Debug)]
pub enum Asked {
    /// To carry out a slash command.
    Command {
        /// Its name.
        name: String,
        /// The prompt, until it is answered: when the dialect's `slashAck` says.
        reply: Option<Reply>,
        /// Whether the extension has accepted it.
        is_accepted: bool,
    },
    /// To carry out a tool call of the batch.
    Tool(CallId),
    /// For its say in something.
    Hook {
        /// Which of the hooks that are under way.
        hook: CallId,
        /// What it belongs to.
        owner: Owner,
    },
    /// To get ready for the end.
    Farewell,
}

/// What a hook belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A tool call.
    Call,
    /// A prompt on its way to a run.
    Prompt,
    /// A command of the host.
    Command,
}

/// When an answer is due.
#[derive(Clone, Copy, Debug)]
enum Due {
    Never,
    At(Duration),
    /// The time stands still; this much is left.
    Left(Duration),
}

impl Due {
    fn later(self, by: Duration) -> Self {
        match self {
            Self::At(due) => Self::At(due + by),
            Self::Never | Self::Left(_) => self,
        }
    }
}

impl Asked {
    const fn is_of_call(&self) -> bool {
        matches!(self, Self::Tool(_) | Self::Hook { owner: Owner::Call, .. })
    }

    const fn is_of_run(&self) -> bool {
        self.is_of_call() || matches!(self, Self::Hook { owner: Owner::Prompt, .. })
    }
}

impl Engine {
    /// Asks an extension to carry out a slash command.
    /// `name`: the one that it was called by.
    pub(in crate::engine) fn ask_for_command(
        &mut self,
        called: Called,
        name: &str,
        arguments: &str,
        reply: Reply,
    ) {
        let Called { place, name: own, path } = called;
        let Some(process) = self.extensions.running(place) else {
            let text = errors::not_running(self.dialect.base());
            self.extension_failed(Failing::Command(name), &text);
            return self.accept_said(&reply, PromptDisposition::Handled);
        };
        let asked = Asked::Command { name: name.to_owned(), reply: Some(reply), is_accepted: false };
        let id = self.ask(place, process, asked, Some(ACCEPT));
        self.tell_extension(
            process,
            ExtensionCommandCall { id, name: own, arguments: arguments.to_owned(), path },
        );
    }

    /// Asks an extension to carry out a tool call; `false` if it is not there.
    pub(in crate::engine) fn ask_for_tool(
        &mut self,
        place: usize,
        call: CallId,
        tool_call_id: String,
        tool_name: String,
        arguments: JsonObject,
    ) -> bool {
        let Some(process) = self.extensions.running(place) else { return false };
        let id = self.ask(place, process, Asked::Tool(call), None);
        self.tell_extension(process, ExtensionToolCall { id, tool_call_id, tool_name, arguments });
        true
    }

    /// Asks an extension for its say; `false` if it is not there.
    pub(in crate::engine) fn ask_for_say(
        &mut self,
        place: usize,
        hook: CallId,
        owner: Owner,
        event: HookEvent,
    ) -> bool {
        let Some(process) = self.extensions.running(place) else { return false };
        let id = self.ask(place, process, Asked::Hook { hook, owner }, Some(HOOK));
        self.tell_extension(process, ExtensionHook { id, hook: event });
        true
    }

    /// Has an extension get ready for the end.
    pub(in crate::engine) fn ask_for_farewell(&mut self, place: usize, event: HookEvent) {
        let Some(process) = self.extensions.running(place) else { return };
        let id = self.ask(place, process, Asked::Farewell, Some(FAREWELL));
        self.tell_extension(process, ExtensionHook { id, hook: event });
    }

    /// An extension has taken a command up.
    pub(in crate::engine) fn taken_up(&mut self, process: CallId, id: &str) {
        let limit = self.lifecycle.is_ending().then(|| self.now.monotonic + AFTER_INPUT);
        let ask = self.origin(process, id).and_then(|id| self.asks.get_mut(&id));
        let Some(ask) = ask else { return };
        let Asked::Command { reply, is_accepted, .. } = &mut ask.what else { return };
        if std::mem::replace(is_accepted, true) {
            return;
        }
        let answers = self.dialect.record().slash_ack == DialectSlashAck::Accepted;
        let reply = reply.take_if(|_| answers);
        if !ask.unwanted {
            ask.due = limit.map_or(Due::Never, Due::At);
        }
        if let Some(reply) = reply {
            self.accept_said(&reply, PromptDisposition::Handled);
        }
    }

    /// An extension has ended a command or a hook.
    pub(in crate::engine) fn ask_done(&mut self, process: CallId, id: &str, result: Option<HookResult>) {
        self.taken_up(process, id);
        let Some(id) = self.origin(process, id) else { return };
        match self.asks.get(&id).map(|ask| &ask.what) {
            Some(Asked::Hook { hook, .. }) => {
                let hook = *hook;
                let Some(ask) = self.end_ask(id) else { return };
                self.extensions.answered(ask.place);
                self.hook_responded(hook, ask.place, result);
            }
            Some(Asked::Command { .. } | Asked::Farewell) => {
                let ended = self.end_ask(id).map(|ask| ask.what);
                if let Some(Asked::Command { reply: Some(reply), .. }) = ended {
                    self.accept_said(&reply, PromptDisposition::Handled);
                }
            }
            // A tool ends with its result.
            Some(Asked::Tool(_)) | None => {}
        }
    }

    /// An extension could not do what it was asked for; `text` says why.
    pub(in crate::engine) fn ask_failed(&mut self, process: CallId, id: &str, text: &str) {
        self.taken_up(process, id);
        if let Some(id) = self.origin(process, id) {
            self.fail_ask(id, text);
        }
    }

    /// A tool of an extension has something to show.
    pub(in crate::engine) fn ask_progress(&mut self, process: CallId, id: &str, result: AgentToolResult) {
        if let Some(call) = self.asked_tool(process, id) {
            self.tool_progress(call, result);
        }
    }

    /// A tool of an extension is done.
    pub(in crate::engine) fn ask_result(
        &mut self,
        process: CallId,
        id: &str,
        result: AgentToolResult,
        is_error: bool,
    ) {
        if let Some(call) = self.asked_tool(process, id)
            && let Some(id) = self.origin(process, id)
        {
            self.end_ask(id);
            self.tool_end(call, result, is_error);
        }
    }

    /// Ends what belongs to the run, or to the prompt that leads to one: the extensions are told, their dialogs are over.
    pub(in crate::engine) fn unask_run(&mut self) {
        self.unask(Asked::is_of_run, GRACE);
    }

    /// Ends what is asked for on behalf of `hook`.
    pub(in crate::engine) fn unask_hook(&mut self, wanted: CallId) {
        self.unask(|what| matches!(what, Asked::Hook { hook, .. } if *hook == wanted), GRACE);
    }

    /// Ends what belongs to the calls of the batch.
    pub(in crate::engine) fn unask_calls(&mut self) {
        self.unask(Asked::is_of_call, GRACE);
    }

    /// Ends everything, and waits for nothing.
    pub(in crate::engine) fn unask_all(&mut self) {
        self.unask(|_| true, Duration::ZERO);
    }

    /// The input has ended: commands are not waited for without end.
    pub(in crate::engine) fn limit_commands(&mut self) {
        let due = self.now.monotonic + AFTER_INPUT;
        for ask in self.asks.values_mut().filter(|ask| matches!(ask.what, Asked::Command { .. })) {
            ask.due = Due::At(ask.at().map_or(due, |own| own.min(due)));
        }
    }

    fn unask(&mut self, which: impl Fn(&Asked) -> bool, within: Duration) {
        let due = self.now.monotonic + within;
        let asks = self.asks.iter_mut().filter(|(_, ask)| which(&ask.what));
        let mut news = Vec::new();
        for (id, ask) in asks {
            ask.due = Due::At(ask.at().filter(|_| ask.unwanted).map_or(due, |own| own.min(due)));
            if !std::mem::replace(&mut ask.unwanted, true) {
                let hook = if let Asked::Hook { hook, .. } = ask.what { Some(hook) } else { None };
                news.push((*id, ask.process, hook));
            }
        }
        for (id, process, hook) in news {
            if let Some(hook) = hook {
                self.ask_nobody_else(hook);
            }
            self.tell_extension(process, ExtensionCancel { id: id.to_string() });
            self.dialogs_of(id);
        }
    }

    /// The process of an extension is gone: whatever it was asked for has failed.
    pub(in crate::engine) fn asks_lost(&mut self, process: CallId, text: &str) {
        let ids = self.asks.iter().filter(|(_, ask)| ask.process == process);
        let ids: Vec<CallId> = ids.map(|(id, _)| *id).collect();
        for id in ids {
            self.fail_ask(id, text);
        }
    }

    /// Extensions are heard again, or not any more. Nobody is late for having said what was not heard.
    pub(in crate::engine) fn hearing(&mut self, hears: bool) {
        let now = self.now.monotonic;
        if !hears {
            self.deaf.get_or_insert(now);
            return;
        }
        let Some(since) = self.deaf.take() else { return };
        self.postpone_answers(now.saturating_sub(since));
    }

    /// Moves the deadlines of whatever extensions owe.
    pub(in crate::engine) fn postpone_answers(&mut self, missed: Duration) {
        for ask in self.asks.values_mut().filter(|ask| ask.is_wanted()) {
            ask.due = ask.due.later(missed);
        }
        self.extensions.postpone(missed);
    }

    /// When the next answer is due.
    pub(in crate::engine) fn asks_due(&self) -> Option<Duration> {
        let hears = self.deaf.is_none();
        self.asks.values().filter(|ask| hears || !ask.is_wanted()).filter_map(Ask::at).min()
    }

    /// What was due and did not come has failed.
    pub(in crate::engine) fn expire_asks(&mut self) {
        let now = self.now.monotonic;
        let hears = self.deaf.is_none();
        let late = self.asks.iter().filter(|(_, ask)| hears || !ask.is_wanted());
        let late = late.filter(|(_, ask)| ask.at().is_some_and(|due| due <= now));
        let late: Vec<CallId> = late.map(|(id, _)| *id).collect();
        let base = self.dialect.base();
        for id in late {
            let Some(ask) = self.asks.get(&id) else { continue };
            let (process, place) = (ask.process, ask.place);
            let hangs = !ask.unwanted && matches!(ask.what, Asked::Hook { .. });
            let text = match &ask.what {
                _ if ask.unwanted => errors::tool_aborted(base),
                Asked::Command { is_accepted: false, .. } => {
                    errors::unaccepted(base, &ACCEPT.as_secs().to_string())
                }
                Asked::Command { .. } => errors::unanswered(base, &AFTER_INPUT.as_secs().to_string()),
                _ => errors::unanswered(base, &HOOK.as_secs().to_string()),
            };
            if !ask.unwanted {
                self.tell_extension(process, ExtensionCancel { id: id.to_string() });
                self.dialogs_of(id);
            }
            self.fail_ask(id, &text);
            if hangs {
                self.extension_hangs(place);
            }
        }
    }

    /// A dialog of this request has opened: its time stands still.
    pub(in crate::engine) fn stand_still(&mut self, id: CallId) {
        let now = self.now.monotonic;
        let Some(ask) = self.asks.get_mut(&id) else { return };
        ask.dialogs += 1;
        if let Due::At(due) = ask.due {
            ask.due = Due::Left(due.saturating_sub(now));
        }
    }

    /// A dialog of this request is over.
    pub(in crate::engine) fn move_on(&mut self, id: CallId) {
        let now = self.now.monotonic;
        let Some(ask) = self.asks.get_mut(&id) else { return };
        ask.dialogs = ask.dialogs.saturating_sub(1);
        if let (Due::Left(left), 0) = (ask.due, ask.dialogs) {
            ask.due = Due::At(now + left);
        }
    }

    /// The request that a frame of `process` names as its origin, if it is open.
    pub(in crate::engine) fn origin(&self, process: CallId, id: &str) -> Option<CallId> {
        let id = id.parse().ok()?;
        self.asks.get(&id).filter(|ask| ask.process == process).map(|_| id)
    }

    /// Whether nobody wants it any more.
    pub(in crate::engine) fn is_unwanted(&self, id: CallId) -> bool {
        self.asks.get(&id).is_none_or(|ask| ask.unwanted)
    }

    /// Whether a command is under way.
    pub(in crate::engine) fn is_commanding(&self) -> bool {
        self.asks.values().any(|ask| matches!(ask.what, Asked::Command { .. }))
    }

    /// Whether an extension gets ready for the end.
    pub(in crate::engine) fn is_parting(&self) -> bool {
        self.asks.values().any(|ask| matches!(ask.what, Asked::Farewell))
    }

    /// Whether a command of the host waits to be taken up.
    pub(in crate::engine) fn is_to_be_taken_up(&self) -> bool {
        self.asks.values().any(|ask| matches!(ask.what, Asked::Command { is_accepted: false, .. }))
    }

    /// Tells an extension something.
    pub(in crate::engine) fn tell_extension(&mut self, process: CallId, frame: impl Into<ToExtension>) {
        self.push(Output::ToExtension { to: process, frame: Box::new(frame.into()) });
    }

    fn ask(&mut self, place: usize, process: CallId, what: Asked, within: Option<Duration>) -> String {
        let id = self.ids.call();
        let due = within.map_or(Due::Never, |within| Due::At(self.now.monotonic + within));
        let ask = Ask { place, process, what, due, dialogs: 0, unwanted: false };
        self.asks.insert(id, ask);
        id.to_string()
    }

    fn asked_tool(&self, process: CallId, id: &str) -> Option<CallId> {
        match self.asks.get(&self.origin(process, id)?)?.what {
            Asked::Tool(call) => Some(call),
            _ => None,
        }
    }

    /// The request is over; its dialogs stay open.
    fn end_ask(&mut self, id: CallId) -> Option<Ask> {
        let ask = self.asks.remove(&id)?;
        self.leave_dialogs(ask.process, id);
        Some(ask)
    }

    fn fail_ask(&mut self, id: CallId, text: &str) {
        let Some(ask) = self.end_ask(id) else { return };
        match ask.what {
            Asked::Command { name, reply, .. } => {
                if !ask.unwanted {
                    self.extension_failed(Failing::Command(&name), text);
                }
                if let Some(reply) = reply {
                    self.accept_said(&reply, PromptDisposition::Handled);
                }
            }
            Asked::Tool(call) => {
                let text =
                    if ask.unwanted { errors::tool_aborted(self.dialect.base()) } else { text.to_owned() };
                self.tool_end(call, crate::engine::run::batch::error_result(&text), true);
            }
            Asked::Hook { hook, .. } => self.hook_failed(hook, ask.place, text, ask.unwanted),
            Asked::Farewell => {}
        }
    }
}

impl Ask {
    /// Whether its answer matters: of what was cancelled, or when the process is about to end, only the end does.
    const fn is_wanted(&self) -> bool {
        !self.unwanted && !matches!(self.what, Asked::Farewell)
    }

    const fn at(&self) -> Option<Duration> {
        match self.due {
            Due::At(due) => Some(due),
            Due::Never | Due::Left(_) => None,
        }
    }
}
