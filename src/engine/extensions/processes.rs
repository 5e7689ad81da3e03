//! The processes that extend the server: how they begin, what they add, how they end.
//!
//! | Limit | | Then |
//! |---|---|---|
//! | a `register` that is no frame | before a valid one | ended, not started again |
//! | time until `register` | [`REGISTER`]; of the process that hosts pi's own extensions [`REGISTER_HOSTED`] | ended, not started again |
//! | lines that are no frames | [`STRAYS`] | ended, started again |
//! | hooks in a row without an answer in time | [`HANGS`] | ended, started again |
//! | starts after an end that nobody asked for | [`RESTARTS`] | not started again |
//!
//! Each is told to the host as `extension_error`. Lines of the host wait until every extension has registered or cannot
//! any more, and has heard that the session has begun. What an extension registers again takes the place of what it had
//! registered before. The commands, tools and hooks of an extension stay registered while it is not running: a command and a tool
//! of it fail, and what it might have blocked is blocked. Source: own; pi source for what a host sees.

use crate::engine::{
    CallId, Engine, Hosted, NamedCommands, Output,
    extensions::dialogs::Unshown,
    extensions::hook::{Hook, SessionStartContinuation},
    extensions::notifications::observed,
};
use crate::protocol::{
    AgentSessionEventKind, EventHook, ExtensionError, ExtensionEvent, ExtensionFault, ExtensionHello,
    ExtensionRegister, ExtensionTool, FromExtension, HookName, Outbound, Said, SessionStartHook,
    SessionStartReason, errors,
};
use std::{collections::BTreeMap, time::Duration};

/// How long an extension may take to register.
pub const REGISTER: Duration = Duration::from_secs(10);

/// How long the process that hosts pi's own extensions may take: it loads all of them first.
pub const REGISTER_HOSTED: Duration = Duration::from_secs(60);

/// How many lines of one process may be no frames.
pub const STRAYS: usize = 16;

/// How many hooks in a row an extension may leave without an answer.
pub const HANGS: usize = 2;

/// How often an extension that has ended is started again.
pub const RESTARTS: usize = 3;

/// The version of the protocol between server and extension.
const PROTOCOL: u64 = 1;

/// All extensions, in the order in which they are asked.
#[derive(Debug)]
pub struct Extensions {
    pub(in crate::engine) all: Vec<Extension>,
    agent_directory: String,
    max_frame: u64,
    pub(in crate::engine) hosted: Option<Hosted>,
    named_commands: Vec<NamedCommands>,
    /// Why extensions of pi's own kind were not loaded, by path.
    unloaded: BTreeMap<String, String>,
    /// What went wrong before anything may be said.
    pub(in crate::engine) early: Vec<ExtensionError>,
}

#[derive(Debug)]
pub struct Extension {
    /// Its executable.
    pub(in crate::engine) path: String,
    /// Its process, while there is one.
    process: Option<CallId>,
    stage: Stage,
    /// When it must have registered.
    due: Option<Duration>,
    starts: usize,
    strays: usize,
    /// Hooks in a row that it did not answer in time.
    hangs: usize,
    /// Its dialogs that were not shown.
    pub(in crate::engine) unshown: Unshown,
    pub(in crate::engine) adds: ExtensionRegister,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not registered yet.
    Starting,
    Running,
    /// Its end is waited for.
    Ending,
    /// Gone for good.
    Gone,
}

/// What of an extension failed, for the host.
pub enum Failing<'a> {
    /// One of its slash commands.
    Command(&'a str),
    /// The extension at this place, over what the text names.
    Extension(usize, &'a str),
    /// The extension of that file, over what the second text names.
    Member(&'a str, &'a str),
    /// Something that it had said on its own behalf.
    Runtime(&'a str),
    /// The file of a skill.
    Skill(&'a str),
    /// The extension in this file, over what the second text names.
    File(&'a str, &'a str),
}

impl Extensions {
    /// None of them is started yet.
    pub fn new(
        paths: Vec<String>,
        hosted: Option<Hosted>,
        named_commands: Vec<NamedCommands>,
        early: Vec<ExtensionError>,
        agent_directory: String,
        max_frame: u64,
    ) -> Self {
        let all = paths.into_iter().map(|path| Extension {
            path,
            process: None,
            stage: Stage::Gone,
            due: None,
            starts: 0,
            strays: 0,
            hangs: 0,
            unshown: Unshown::default(),
            adds: nothing(),
        });
        let unloaded = early.iter().filter(|it| it.event == LOAD);
        Self {
            unloaded: unloaded.map(|it| (it.extension_path.clone(), it.error.clone())).collect(),
            all: all.collect(),
            agent_directory,
            max_frame,
            hosted,
            named_commands,
            early,
        }
    }

    /// The extension that has a slash command of that name but was not loaded, and the reason.
    pub fn unloaded_command(&self, name: &str) -> Option<(&str, &str)> {
        let unhosted = self.hosted.as_ref().and_then(|hosted| self.all.get(hosted.place));
        let unhosted =
            unhosted.is_some_and(|host| host.stage != Stage::Running && host.adds.commands.is_none());
        let named = self.named_commands.iter().filter(|it| it.names.iter().any(|known| known == name));
        named.map(|it| it.path.as_str()).find_map(|path| match self.unloaded.get(path) {
            Some(reason) => Some((path, reason.as_str())),
            None => unhosted.then_some((path, UNHOSTED)),
        })
    }

    /// The process of an extension that has registered.
    pub fn running(&self, place: usize) -> Option<CallId> {
        let extension = self.all.get(place)?;
        extension.process.filter(|_| extension.stage == Stage::Running)
    }

    /// Whether this process has registered and goes on.
    pub fn is_running(&self, process: CallId) -> bool {
        self.of(process).is_some_and(|place| self.all[place].stage == Stage::Running)
    }

    /// Whether there are any.
    pub const fn are_any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Whether one of them has still to register.
    pub fn are_starting(&self) -> bool {
        self.all.iter().any(|extension| extension.stage == Stage::Starting && extension.starts == 1)
    }

    /// Those that want a say in `hook`, in order.
    pub fn asked(&self, hook: HookName) -> Vec<usize> {
        let places = self.all.iter().enumerate().filter(|(_, extension)| extension.wants(hook));
        places.map(|(place, _)| place).collect()
    }

    /// Whether somebody wants a say in `hook`.
    pub fn is_asked(&self, hook: HookName) -> bool {
        self.all.iter().any(|extension| extension.wants(hook))
    }

    /// Those that wait for events of that type to be heard, in order.
    pub fn awaiting(&self, event: &str) -> Vec<usize> {
        let places = self.all.iter().enumerate().filter(|(_, extension)| extension.awaits(event));
        places.map(|(place, _)| place).collect()
    }

    /// Whether somebody waits for events of that type to be heard.
    fn is_awaited(&self, event: &str) -> bool {
        self.all.iter().any(|extension| extension.awaits(event))
    }

    /// The file of an extension.
    pub fn path(&self, place: usize) -> &str {
        self.all.get(place).map_or("", |extension| &extension.path)
    }

    /// A tool of an extension, as it was registered.
    pub fn tool(&self, place: usize, name: &str) -> Option<&ExtensionTool> {
        let mut tools = self.all.get(place)?.adds.tools.iter().flatten();
        tools.find(|tool| tool.name.trim() == name)
    }

    /// The place of the extension whose process this is.
    pub fn place_of(&self, process: CallId) -> Option<usize> {
        self.of(process)
    }

    /// It has answered a hook.
    pub fn answered(&mut self, place: usize) {
        if let Some(extension) = self.all.get_mut(place) {
            extension.hangs = 0;
        }
    }

    /// When the next of them must have registered.
    pub fn due(&self) -> Option<Duration> {
        self.all.iter().filter_map(|extension| extension.due).min()
    }

    /// What they have to say could not be heard for that long.
    pub fn postpone(&mut self, missed: Duration) {
        self.all.iter_mut().filter_map(|extension| extension.due.as_mut()).for_each(|due| *due += missed);
    }

    fn of(&self, process: CallId) -> Option<usize> {
        self.all.iter().position(|extension| extension.process == Some(process))
    }

    /// The processes that want to see events of that type, and do not wait for them.
    fn watching(&self, event: &str) -> Vec<CallId> {
        let wants = |extension: &&Extension| {
            extension.stage == Stage::Running
                && !extension.awaits(event)
                && extension.adds.events.iter().flatten().any(|name| name == event || name == ALL_EVENTS)
        };
        self.all.iter().filter(wants).filter_map(|extension| extension.process).collect()
    }
}

impl Extension {
    fn wants(&self, hook: HookName) -> bool {
        self.adds.hooks.iter().flatten().any(|name| *name == hook)
    }

    fn awaits(&self, event: &str) -> bool {
        self.adds.awaits.iter().flatten().any(|name| name == event) && self.wants(HookName::Event)
    }
}

/// Stands for the events of every type.
const ALL_EVENTS: &str = "*";

impl Engine {
    /// Starts all of them.
    pub(in crate::engine) fn start_extensions(&mut self) {
        for place in 0..self.extensions.all.len() {
            self.start_extension(place);
        }
    }

    /// An extension wrote a frame.
    pub(in crate::engine) fn extension_frame(&mut self, process: CallId, frame: FromExtension) {
        let Some(place) = self.extensions.of(process) else { return };
        let registers = matches!(frame, FromExtension::Register(_));
        match self.extensions.all[place].stage {
            Stage::Starting
                if registers || matches!(frame, FromExtension::Error(_)) || is_provider(&frame) => {}
            Stage::Running => {}
            Stage::Ending => return self.extension_declined(process, frame),
            Stage::Gone => return,
            Stage::Starting => {
                let text = errors::registers_first(self.dialect.base());
                return self.extension_strayed(process, &text);
            }
        }
        if let Some(origin) = origin(&frame) {
            self.taken_up(process, origin);
        }
        match frame {
            FromExtension::Register(adds) => self.register(place, adds),
            FromExtension::Error(ExtensionFault { extension_path, event, error }) => {
                self.extension_failed(Failing::Member(&extension_path, &event), &error);
            }
            FromExtension::Accept(it) => self.taken_up(process, &it.id),
            FromExtension::Done(it) => self.ask_done(process, &it.id, it.result),
            FromExtension::Failed(it) if self.is_asked_model(process, &it.id) => {
                self.model_failed(process, &it.id, it.error);
            }
            FromExtension::Failed(it) => self.ask_failed(process, &it.id, &it.error),
            FromExtension::ToolUpdate(it) => self.ask_progress(process, &it.id, it.partial_result),
            FromExtension::ToolResult(it) => {
                self.ask_result(process, &it.id, it.result, it.is_error.unwrap_or(false));
            }
            FromExtension::Ui(it) => self.ui(process, it),
            FromExtension::UiCancel(it) => self.dialog_withdrawn(process, &it.id),
            FromExtension::Query(it) => self.query(process, it),
            FromExtension::ModelEvent(it) => self.model_said(process, &it.id, it.event),
            FromExtension::RegisterProvider(it) => self.register_provider(process, it),
            FromExtension::UnregisterProvider(it) => self.unregister_provider(process, it),
            // The host is not spoken to any more.
            action if !self.is_open() => self.decline(process, &action),
            action => self.act(process, action),
        }
    }

    /// Declines what an extension that is being ended wants, as it may wait for the answer: a dialog resolves with its
    /// default, an action fails.
    fn extension_declined(&mut self, process: CallId, frame: FromExtension) {
        match frame {
            FromExtension::Ui(it) if it.request.kind().wants_answer() => {
                self.dialog_declined(process, it.request.id().to_owned());
            }
            action => self.decline(process, &action),
        }
    }

    /// An extension wrote a line that is no frame. Only the first is reported.
    pub(in crate::engine) fn extension_strayed(&mut self, process: CallId, text: &str) {
        let Some(place) = self.extensions.of(process) else { return };
        let extension = &mut self.extensions.all[place];
        if extension.stage == Stage::Ending {
            return;
        }
        extension.strays += 1;
        let base = self.dialect.base();
        if extension.strays == 1 {
            let text = errors::strayed(base, text);
            self.extension_failed(Failing::Extension(place, FRAME), &text);
        } else if extension.strays == STRAYS {
            let text = errors::strayed_often(base, &STRAYS.to_string());
            self.extension_failed(Failing::Extension(place, FRAME), &text);
            self.stop_extension(place);
        }
    }

    /// The process of an extension is gone.
    pub(in crate::engine) fn extension_ended(&mut self, process: CallId, text: &str) {
        let Some(place) = self.extensions.of(process) else { return };
        let leaving = self.lifecycle.disregards_extensions();
        let extension = &mut self.extensions.all[place];
        let registered = matches!(extension.stage, Stage::Running | Stage::Ending) && extension.due.is_none();
        extension.process = None;
        extension.due = None;
        let again = registered && extension.starts <= RESTARTS && !leaving;
        extension.stage = Stage::Gone;
        let base = self.dialect.base();
        let said = match again {
            true => errors::extension_ended(base, text),
            false => errors::not_restarted(base, text),
        };
        if !leaving {
            self.extension_failed(Failing::Extension(place, END), &said);
        }
        self.dialogs_lost(process);
        self.asks_lost(process, &said);
        self.actions_lost(process);
        self.models_lost(process);
        if again {
            self.start_extension(place);
        }
    }

    /// Ends extensions that have not registered in time.
    pub(in crate::engine) fn expire_extensions(&mut self) {
        let now = self.now.monotonic;
        if self.deaf.is_some() {
            return;
        }
        for place in 0..self.extensions.all.len() {
            if self.extensions.all[place].due.is_some_and(|due| due <= now) {
                let seconds = self.extensions.register_within(place).as_secs().to_string();
                let text = errors::unregistered(self.dialect.base(), &seconds);
                self.give_up(place, START, &text);
            }
        }
    }

    /// An extension wrote a `register` that is no frame: one that has not registered yet most likely never will.
    pub(in crate::engine) fn extension_misregistered(&mut self, process: CallId, text: &str) {
        match self.extensions.of(process) {
            Some(place) if self.extensions.all[place].stage == Stage::Starting => {
                let text = errors::strayed(self.dialect.base(), text);
                self.give_up(place, REGISTERING, &text);
            }
            _ => self.extension_strayed(process, text),
        }
    }

    /// Ends an extension that has not registered, and does not start it again.
    fn give_up(&mut self, place: usize, event: &str, text: &str) {
        self.extension_failed(Failing::Extension(place, event), text);
        self.stop_extension(place);
        self.extensions.all[place].starts = usize::MAX;
        self.extensions.all[place].due = None;
    }

    /// An extension did not answer a hook in time.
    pub(in crate::engine) fn extension_hangs(&mut self, place: usize) {
        let Some(extension) = self.extensions.all.get_mut(place) else { return };
        extension.hangs += 1;
        if extension.hangs == HANGS && extension.stage == Stage::Running {
            self.stop_extension(place);
        }
    }

    /// Tells the host what went wrong; it is never the failure of a command.
    pub(in crate::engine) fn extension_failed(&mut self, what: Failing<'_>, text: &str) {
        let (extension_path, event) = match what {
            Failing::Command(name) => (format!("command:{name}"), COMMAND),
            Failing::Extension(place, event) => (self.extensions.path(place).to_owned(), event),
            Failing::Member(path, event) => (path.to_owned(), event),
            Failing::Runtime(event) => (RUNTIME.to_owned(), event),
            Failing::Skill(path) => (path.to_owned(), SKILL),
            Failing::File(path, event) => (path.to_owned(), event),
        };
        let error = ExtensionError { extension_path, event: event.to_owned(), error: shortened(text) };
        if error.event == LOAD {
            self.extensions.unloaded.insert(error.extension_path.clone(), error.error.clone());
        }
        match self.lifecycle.is_greeted() {
            true => self.say(Outbound::ExtensionError(error)),
            false => self.extensions.early.push(error),
        }
    }

    /// Shows an event to the extensions that want to see it.
    pub(in crate::engine) fn show(&mut self, said: &Said) {
        let kind = match said {
            Said::Frame(Outbound::AgentSessionEvent(event)) => event.kind(),
            Said::Update(_) => AgentSessionEventKind::MessageUpdate,
            Said::Frame(_) | Said::Line { .. } => return,
        };
        let watching = self.extensions.watching(kind.as_str());
        if watching.is_empty() {
            return;
        }
        let Some(event) = observed(said) else { return };
        for process in watching {
            self.tell_extension(process, ExtensionEvent { event: event.clone() });
        }
    }

    /// What is said, for the extensions that wait for it to be heard; `None` if nobody does.
    pub(in crate::engine) fn awaited(&self, said: &Said) -> Option<EventHook> {
        let Said::Frame(Outbound::AgentSessionEvent(event)) = said else { return None };
        let awaited = self.extensions.is_awaited(event.kind().as_str());
        awaited.then(|| observed(said)).flatten().map(|event| EventHook { event })
    }

    fn start_extension(&mut self, place: usize) {
        let process = self.ids.call();
        let due = self.now.monotonic + self.extensions.register_within(place);
        let extension = &mut self.extensions.all[place];
        extension.process = Some(process);
        extension.stage = Stage::Starting;
        extension.due = Some(due);
        extension.starts += 1;
        (extension.strays, extension.hangs) = (0, 0);
        extension.unshown = Unshown::default();
        let hosted = self.extensions.hosted.as_ref().filter(|hosted| hosted.place == place);
        let hello = ExtensionHello {
            protocol: PROTOCOL,
            dialect: self.dialect.as_str().to_owned(),
            cwd: self.place.directory.clone(),
            agent_directory: self.extensions.agent_directory.clone(),
            max_frame: self.extensions.max_frame,
            api: hosted.map(|_| self.dialect.record().extension_api.as_str().to_owned()),
            version: hosted.map(|_| env!("CARGO_PKG_VERSION").to_owned()),
            arguments: hosted.map(|hosted| hosted.arguments.clone()),
            members: hosted.map(|hosted| hosted.members.clone()),
        };
        self.push(Output::StartExtension { process, place });
        self.tell_extension(process, hello);
    }

    fn stop_extension(&mut self, place: usize) {
        let extension = &mut self.extensions.all[place];
        extension.stage = Stage::Ending;
        if let Some(process) = extension.process {
            self.push(Output::StopExtension(process));
        }
    }

    fn register(&mut self, place: usize, mut adds: ExtensionRegister) {
        let base = self.dialect.base();
        let mut wrong = Vec::new();
        adds.commands.iter_mut().for_each(|commands| {
            commands.retain(|command| {
                let fits = !command.name.is_empty() && !command.name.contains(char::is_whitespace);
                if !fits {
                    wrong.push(errors::command_name(base, &command.name));
                }
                fits
            });
        });
        for name in adds.events.iter().flatten() {
            if name != ALL_EVENTS && AgentSessionEventKind::parse(name).is_none() {
                wrong.push(errors::unknown_event(base, name));
            }
        }
        // Nobody waits for these: a stream is not to be held up.
        adds.awaits.iter_mut().for_each(|names| names.retain(|name| !is_progress(name)));
        let extension = &mut self.extensions.all[place];
        let again = extension.stage == Stage::Starting && extension.starts > 1;
        extension.stage = Stage::Running;
        extension.due = None;
        extension.adds = adds;
        let (own, of_others): (Vec<_>, Vec<_>) =
            self.offer_tools(place).into_iter().partition(|(of, _)| *of == place);
        wrong.extend(own.into_iter().map(|(_, text)| text));
        let more = wrong.len().saturating_sub(COMPLAINTS);
        wrong.truncate(COMPLAINTS);
        if more > 0 {
            wrong.push(errors::more_wrong(base, &more.to_string()));
        }
        for text in wrong {
            self.extension_failed(Failing::Extension(place, REGISTERING), &text);
        }
        for (other, text) in of_others {
            self.extension_failed(Failing::Extension(other, REGISTERING), &text);
        }
        if again && self.extensions.all[place].wants(HookName::SessionStart) {
            let event = SessionStartHook { reason: SessionStartReason::Reload, previous_session_file: None };
            let id = self.ids.call();
            let then = SessionStartContinuation::Nothing;
            self.hook_among(id, [place], Hook::SessionStart { event, then });
        }
        self.renew_instructions();
    }
}

impl Extensions {
    /// How long the process at this place may take to register.
    fn register_within(&self, place: usize) -> Duration {
        let hosts = self.hosted.as_ref().is_some_and(|hosted| hosted.place == place);
        if hosts { REGISTER_HOSTED } else { REGISTER }
    }
}

/// Whether events of this type say how far something has come.
fn is_progress(event: &str) -> bool {
    let kind = AgentSessionEventKind::parse(event);
    matches!(kind, Some(AgentSessionEventKind::MessageUpdate | AgentSessionEventKind::ToolExecutionUpdate))
}

/// How much of what is wrong with a registration is told.
const COMPLAINTS: usize = 8;

/// The longest text of an `extension_error`, in bytes.
const TEXT: usize = 4096;

/// What extensions do, in the words of `extension_error`.
const COMMAND: &str = "command";
const END: &str = "end";
const FRAME: &str = "frame";
const LOAD: &str = "load";
const REGISTERING: &str = "register";
const RUNTIME: &str = "<runtime>";
const SKILL: &str = "skill_expansion";
const START: &str = "start";

/// Why no extension of pi's own kind is loaded.
const UNHOSTED: &str = "the process that hosts it is not running";

fn shortened(text: &str) -> String {
    match text.len() > TEXT {
        true => format!("{}…", &text[..text.floor_char_boundary(TEXT)]),
        false => text.to_owned(),
    }
}

/// The request that a frame belongs to.
fn origin(frame: &FromExtension) -> Option<&str> {
    match frame {
        FromExtension::Ui(it) => it.origin.as_deref(),
        FromExtension::SendMessage(it) => it.origin.as_deref(),
        FromExtension::SendUserMessage(it) => it.origin.as_deref(),
        FromExtension::AppendEntry(it) => it.origin.as_deref(),
        FromExtension::SetModel(it) => it.origin.as_deref(),
        FromExtension::SetThinkingLevel(it) => it.origin.as_deref(),
        FromExtension::SetSessionName(it) => it.origin.as_deref(),
        FromExtension::Shutdown(it) => it.origin.as_deref(),
        FromExtension::SetActiveTools(it) => it.origin.as_deref(),
        FromExtension::SetLabel(it) => it.origin.as_deref(),
        FromExtension::SetLeaf(it) => it.origin.as_deref(),
        FromExtension::Abort(it) => it.origin.as_deref(),
        FromExtension::Compact(it) => it.origin.as_deref(),
        FromExtension::NewSession(it) => it.origin.as_deref(),
        FromExtension::Fork(it) => it.origin.as_deref(),
        FromExtension::SwitchSession(it) => it.origin.as_deref(),
        FromExtension::NavigateTree(it) => it.origin.as_deref(),
        FromExtension::WaitForIdle(it) => it.origin.as_deref(),
        FromExtension::RunTool(it) => it.origin.as_deref(),
        FromExtension::Complete(it) => it.origin.as_deref(),
        _ => None,
    }
}

/// Whether a frame tells of models: it may come before `register`, so that a session can begin with one of them.
const fn is_provider(frame: &FromExtension) -> bool {
    matches!(frame, FromExtension::RegisterProvider(_) | FromExtension::UnregisterProvider(_))
}

fn nothing() -> ExtensionRegister {
    ExtensionRegister {
        commands: None,
        tools: None,
        hooks: None,
        events: None,
        awaits: None,
        flags: None,
        shortcuts: None,
    }
}
