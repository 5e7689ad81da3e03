//! The processes of extensions, from their start to their end.
//!
//! Lines of the host wait until every extension has registered or cannot any more, and has been notified that the
//! session has begun. A further registration replaces the one before. The commands, tools and hooks of an extension stay
//! registered while it is not running: a command and a tool of it fail, and what it might have vetoed does not happen.
//! Source: own; pi source for what a host sees.

use crate::{
    extensions::{
        dialog::UnshownDialogs,
        host::{Context, ExtensionHost, ExtensionOutput, LOAD},
        process::{
            FailureSource, HOST_REGISTER_TIMEOUT, MAX_BAD_LINES, MAX_HANGS, MAX_RESTARTS, ProcessStage,
            REGISTER_TIMEOUT,
        },
    },
    io::{CallId, Output},
};
use pi_rpc_protocol::{ExtensionError, ExtensionHello, ExtensionMember, Outbound, errors};
use std::time::Duration;

/// The version of the protocol between server and extension.
const PROTOCOL: u64 = 1;

/// The end of a process.
pub struct ProcessEnd {
    /// The place of its extension.
    pub place: usize,
    /// Whether the extension is restarted.
    pub restarts: bool,
    /// Why it ended, for people.
    pub text: String,
}

impl ExtensionHost {
    /// Starts every extension.
    pub fn start_all(&mut self, context: &mut Context<'_>) {
        for place in 0..self.all.len() {
            self.start(place, context);
        }
    }

    /// Whether there are any.
    pub const fn has_any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Whether one of them has still to register.
    pub fn are_starting(&self) -> bool {
        self.all.iter().any(|extension| extension.stage == ProcessStage::Starting && extension.starts == 1)
    }

    /// The process of an extension that has registered.
    pub fn running(&self, place: usize) -> Option<CallId> {
        let extension = self.all.get(place)?;
        extension.process.filter(|_| extension.stage == ProcessStage::Running)
    }

    /// Whether this process has registered and goes on.
    pub fn is_running(&self, process: CallId) -> bool {
        self.place_of(process).is_some_and(|place| self.all[place].stage == ProcessStage::Running)
    }

    /// The place of the extension whose process this is.
    pub fn place_of(&self, process: CallId) -> Option<usize> {
        self.all.iter().position(|extension| extension.process == Some(process))
    }

    /// The file of an extension.
    pub fn path(&self, place: usize) -> &str {
        self.all.get(place).map_or("", |extension| &extension.path)
    }

    /// Handles a malformed line of an extension. Only the first is reported; too many end the process.
    pub fn report_bad_line(&mut self, process: CallId, text: &str, context: &mut Context<'_>) {
        let Some(place) = self.place_of(process) else { return };
        let extension = &mut self.all[place];
        if extension.stage == ProcessStage::Ending {
            return;
        }
        extension.strays += 1;
        let base = context.dialect.base();
        if extension.strays == 1 {
            self.report(FailureSource::Extension(place, FRAME), &errors::strayed(base, text), context);
        } else if extension.strays == MAX_BAD_LINES {
            let text = errors::strayed_often(base, &MAX_BAD_LINES.to_string());
            self.report(FailureSource::Extension(place, FRAME), &text, context);
            self.stop(place);
        }
    }

    /// Handles a malformed `register`: one that has not registered yet most likely never will.
    pub fn report_bad_register(&mut self, process: CallId, text: &str, context: &mut Context<'_>) {
        match self.place_of(process) {
            Some(place) if self.all[place].stage == ProcessStage::Starting => {
                let text = errors::strayed(context.dialect.base(), text);
                self.abandon_start(place, REGISTERING, &text, context);
            }
            _ => self.report_bad_line(process, text, context),
        }
    }

    /// Records the end of an extension's process. Its requests fail by [`fail_next_request`](Self::fail_next_request),
    /// then [`forget_process`](Self::forget_process) follows.
    pub fn end_process(
        &mut self,
        process: CallId,
        text: &str,
        context: &mut Context<'_>,
    ) -> Option<ProcessEnd> {
        let place = self.place_of(process)?;
        let extension = &mut self.all[place];
        let registered = matches!(extension.stage, ProcessStage::Running | ProcessStage::Ending)
            && extension.due.is_none();
        extension.process = None;
        extension.due = None;
        let restarts =
            registered && extension.starts <= MAX_RESTARTS && !context.lifecycle.disregards_extensions();
        extension.stage = ProcessStage::Gone;
        if !registered {
            self.note_failed_start(place, text);
        }
        let base = context.dialect.base();
        let text = match restarts {
            true => errors::extension_ended(base, text),
            false => errors::not_restarted(base, text),
        };
        if !context.lifecycle.disregards_extensions() {
            self.report(FailureSource::Extension(place, END), &text, context);
        }
        self.close_dialogs(|dialog| dialog.is_of(process), context);
        Some(ProcessEnd { place, restarts, text })
    }

    /// Drops the actions of a process that is gone.
    pub fn drop_actions(&mut self, process: CallId) {
        let lost = self.actions.extract_if(.., |_, it| it.process == process && !it.outlives_process);
        self.outputs.extend(lost.map(|(call, _)| ExtensionOutput::ActionLost(call)));
    }

    /// Fails the model streams of a process that is gone, and starts its extension again if it may.
    pub fn forget_process(&mut self, process: CallId, end: &ProcessEnd, context: &mut Context<'_>) {
        let text = errors::not_running(context.dialect.base());
        let lost = self.providers.streams.extract_if(.., |_, stream| stream.process == process);
        self.providers.failed.extend(lost.map(|(call, _)| (call, text.clone())));
        if end.restarts {
            self.start(end.place, context);
        }
    }

    /// Ends extensions that have not registered in time.
    pub fn expire_processes(&mut self, context: &mut Context<'_>) {
        if self.is_suspended() {
            return;
        }
        for place in 0..self.all.len() {
            if self.all[place].due.is_some_and(|due| due <= context.now.monotonic) {
                let seconds = self.registers_within(place).as_secs().to_string();
                let text = errors::unregistered(context.dialect.base(), &seconds);
                self.abandon_start(place, START, &text, context);
            }
        }
    }

    /// Counts a hook without a response in time; too many end the process.
    pub fn count_hang(&mut self, place: usize) {
        let Some(extension) = self.all.get_mut(place) else { return };
        extension.hangs += 1;
        if extension.hangs == MAX_HANGS && extension.stage == ProcessStage::Running {
            self.stop(place);
        }
    }

    /// Reports a failure to the host, at once or when it is greeted; never the failure of a command.
    pub fn report(&mut self, source: FailureSource<'_>, text: &str, context: &Context<'_>) {
        let (extension_path, event) = match source {
            FailureSource::Command(name) => (format!("command:{name}"), COMMAND),
            FailureSource::Extension(place, event) => (self.path(place).to_owned(), event),
            FailureSource::File(path, event) => (path.to_owned(), event),
            FailureSource::Runtime(event) => (RUNTIME.to_owned(), event),
            FailureSource::Skill(path) => (path.to_owned(), SKILL),
        };
        let error = ExtensionError { extension_path, event: event.to_owned(), error: shortened(text) };
        if error.event == LOAD {
            self.unloaded.insert(error.extension_path.clone(), error.error.clone());
            if !context.lifecycle.is_greeted() {
                self.load_failures.push((error.extension_path.clone(), error.error.clone()));
            }
        }
        match context.lifecycle.is_greeted() {
            true => self.push(ExtensionOutput::Emit(Outbound::ExtensionError(error))),
            false => self.early.push(error),
        }
    }

    /// Ends an extension that has not registered, without restart.
    fn abandon_start(&mut self, place: usize, event: &str, text: &str, context: &Context<'_>) {
        self.report(FailureSource::Extension(place, event), text, context);
        self.note_failed_start(place, text);
        self.stop(place);
        self.all[place].starts = usize::MAX;
        self.all[place].due = None;
    }

    /// Notes why the extensions of a process were not loaded; what was known of one before counts.
    fn note_failed_start(&mut self, place: usize, text: &str) {
        let hosted = self.hosted.iter().filter(|hosted| hosted.place == place).flat_map(|it| &it.members);
        let mut paths: Vec<String> = hosted.map(|member| member.path.clone()).collect();
        if paths.is_empty() {
            paths.push(self.path(place).to_owned());
        }
        for path in paths {
            if self.load_failures.iter().all(|(known, _)| *known != path) {
                self.load_failures.push((path, text.to_owned()));
            }
        }
    }

    /// Why nothing is served, if that needs all extensions and one could not be loaded. Source: pi source.
    pub fn load_refusal(&self) -> Option<String> {
        if !self.requires_all || self.load_failures.is_empty() {
            return None;
        }
        let failures = self.load_failures.iter();
        let lines = failures.map(|(path, text)| format!("Failed to load extension \"{path}\": {text}\n"));
        Some(format!("{}{LOAD_HINT}", lines.collect::<String>()))
    }

    /// Why nothing is served, if options of the command line are flags of no extension. Source: pi source.
    pub fn options_refusal(&self) -> Option<String> {
        let flags = || self.all.iter().flat_map(|it| it.registered.flags.iter().flatten());
        let is_known = |option: &str| {
            let name = option.trim_start_matches('-');
            flags().any(|flag| flag.name == name)
        };
        let unknown = self.unknown_options.iter().map(String::as_str).filter(|option| !is_known(option));
        let unknown: Vec<&str> = unknown.collect();
        let plural = if unknown.len() == 1 { "" } else { "s" };
        (!unknown.is_empty()).then(|| format!("Unknown option{plural}: {}", unknown.join(", ")))
    }

    /// Starts the process of an extension, and sends its first frame.
    fn start(&mut self, place: usize, context: &mut Context<'_>) {
        let process = context.ids.call();
        let due = context.now.monotonic + self.registers_within(place);
        let extension = &mut self.all[place];
        extension.process = Some(process);
        extension.stage = ProcessStage::Starting;
        extension.due = Some(due);
        extension.starts += 1;
        (extension.strays, extension.hangs) = (0, 0);
        extension.unshown = UnshownDialogs::default();
        if self.mcp_connector == Some(place) {
            self.has_passed_servers = self.mcp_servers.is_empty();
        }
        let hosted = self.hosted.as_ref().filter(|hosted| hosted.place == place);
        let hello = ExtensionHello {
            protocol: PROTOCOL,
            dialect: context.dialect.as_str().to_owned(),
            cwd: context.directory.to_owned(),
            agent_directory: self.agent_directory.clone(),
            max_frame: self.max_frame,
            api: hosted.map(|_| context.dialect.record().extension_api.as_str().to_owned()),
            version: hosted.map(|_| env!("CARGO_PKG_VERSION").to_owned()),
            arguments: hosted.map(|hosted| hosted.arguments.clone()),
            has_ui: self.hides_ui.then_some(false),
            project_trusted: hosted.filter(|_| self.is_project_untrusted).map(|_| false),
            connects_mcp: self.mcp_connector.map(|_| true),
            members: hosted.map(|hosted| {
                let member = |it: &ExtensionMember| ExtensionMember {
                    loaded: self.loaded.contains(&it.path).then_some(true),
                    ..it.clone()
                };
                hosted.members.iter().map(member).collect()
            }),
        };
        self.perform(Output::StartExtension { process, place });
        self.send(process, hello);
    }

    /// Stops the process of an extension.
    fn stop(&mut self, place: usize) {
        self.all[place].stage = ProcessStage::Ending;
        if let Some(process) = self.all[place].process {
            self.perform(Output::StopExtension(process));
        }
    }

    /// How long the process at this place may take to register.
    fn registers_within(&self, place: usize) -> Duration {
        let hosts = self.hosted.as_ref().is_some_and(|hosted| hosted.place == place);
        if hosts { HOST_REGISTER_TIMEOUT } else { REGISTER_TIMEOUT }
    }
}

/// What to do about a start that is refused.
const LOAD_HINT: &str =
    "Hint: Start without extensions by -ne, or without those that cannot be loaded by --keep-going.";

/// The longest text of an `extension_error`, in bytes.
const TEXT: usize = 4096;

/// Names of failures for the event of an `extension_error`.
const COMMAND: &str = "command";
const END: &str = "end";
const FRAME: &str = "frame";
pub const REGISTERING: &str = "register";
const RUNTIME: &str = "<runtime>";
const SKILL: &str = "skill_expansion";
const START: &str = "start";

/// Shortens a text to the limit of an `extension_error`.
fn shortened(text: &str) -> String {
    match text.len() > TEXT {
        true => format!("{}…", &text[..text.floor_char_boundary(TEXT)]),
        false => text.to_owned(),
    }
}
