//! A session at work: its engine, and what performs the engine's requests.
//!
//! It reads no commands and writes no frames: its owner does, from stdin ([`serve`](super::serve())) or for connections of a
//! host, and passes inputs in and emissions on.

use super::{
    Agent, ModelLibrary, ToolEnvironment,
    disk::{Disk, FileGuard, Files, SessionFiles},
    logins::{self, LoginAccess},
    observer::{Observer, TraceContext},
    permissions::PermissionFile,
    queries::{self, QueryAnswer},
    tasks::{ExtensionRuntimes, Tasks},
};
use pi_rpc_config::prompt::{discover, files};
use pi_rpc_engine::{
    Engine, ExtensionSetup, Input, Modes, Now, Output, Purpose, RequestHooks, SessionStorage, Setup,
    ToolSelection, Toolbox, limits::Limits,
};
use pi_rpc_extension::{BuiltIn, ExtensionInputs, NodeHost};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_page::{self as page, PageOptions};
use pi_rpc_prompt::Instructions;
use pi_rpc_protocol::{Dialect, Emission, ThinkingLevel, Usage};
use pi_rpc_session::{OpenedSession, Stamp};
use pi_rpc_session_store::{Store, find_newest_with_entries};
use std::{
    collections::BTreeSet,
    path::{self, Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::sync::{mpsc, watch};

/// Everything that a session is started with.
pub struct SessionOptions {
    /// The dialect to speak.
    pub dialect: Dialect,
    /// The models.
    pub library: ModelLibrary,
    /// The thinking level of the command line.
    pub level: Option<ThinkingLevel>,
    /// Initial modes of the session.
    pub modes: Modes,
    /// The tools to offer.
    pub tools: Vec<ToolSpec>,
    /// Tools that only extensions can offer.
    pub spare_tools: Vec<ToolSpec>,
    /// What options, settings and limits leave of all tools.
    pub tool_selection: ToolSelection,
    /// The system prompt.
    pub system_prompt: Instructions,
    /// Extensions, skills, templates and tools that need consent.
    pub extension_setup: ExtensionSetup,
    /// The Node host for pi's own extensions.
    pub node: Option<NodeHost>,
    /// What stands in place of the last extension and runs in this process.
    pub built_in: Option<Arc<dyn BuiltIn>>,
    /// Whether the command line names the model, which then takes precedence over a resumed session's.
    pub chosen: bool,
    /// The session's name.
    pub name: Option<String>,
    /// The folder and id of new sessions.
    pub place: SessionStorage,
    /// The session to resume, and its file.
    pub session: Option<OpenedSession>,
    /// The file that the session is written to.
    pub store: Store,
    /// Where the session is written in place of the file; `None`: to the file.
    pub files: Option<Box<dyn Files>>,
    /// Decides which files the session may be in; `None`: it may be in any.
    pub file_guard: Option<Arc<dyn FileGuard>>,
    /// How long the file system may take for a request; `None`: without a limit.
    pub disk_timeout: Option<Duration>,
    /// Where permissions are kept that the user gives for good; `None`: they are for the session, and kept in memory.
    pub permissions: Option<PermissionFile>,
    /// Bounds of queues, sessions and shell commands.
    pub limits: Limits,
    /// Where logins are stored, and how vendors are reached.
    pub login_access: LoginAccess,
    /// The agent that answers in place of models and tools.
    pub agent: Option<Box<dyn Agent>>,
    /// Where tools and commands run.
    pub tool_environment: ToolEnvironment,
    /// Is told of each input and output of the engine, to trace the session.
    pub observer: Option<Box<dyn Observer>>,
}

impl SessionOptions {
    /// Why the session would not start: an entry that takes tools away matches none. Where extensions may yet register
    /// tools, this is known later.
    pub fn tool_refusal(&self) -> Option<String> {
        if !self.extension_setup.extensions.is_empty() {
            return None;
        }
        self.tool_selection.report(&self.tools.iter().map(|tool| tool.name.clone()).collect()).refusal
    }

    /// Closes the run that the session's last process did not live to end, as an abort would have.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn close_cut_run(&mut self) -> Result<(), String> {
        let stamp = Stamp { dialect: self.dialect, wall_ms: wall_ms() };
        let tree = self.session.as_mut().and_then(|session| session.tree.as_mut());
        let lines = tree.map(|tree| tree.close_cut_run(stamp, &mut fastrand::Rng::with_seed(seed())));
        match lines.filter(|lines| !lines.is_empty()) {
            Some(lines) => self.store.append(lines).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }
}

/// Capacity of the channel for inputs of models, tools and commands.
const INPUT_CAPACITY: usize = 256;

/// The engine of a session and everything that it has started.
pub struct Runner {
    /// The engine.
    pub engine: Engine,
    /// Models, tools, shell commands and extensions that run.
    pub tasks: Tasks,
    clock: Clock,
    library: ModelLibrary,
    disk: Disk,
    access: LoginAccess,
    permissions: Option<PermissionFile>,
    inputs: mpsc::Receiver<Input>,
    extension_inputs: ExtensionInputs,
    violations: u64,
    /// What answers have used that no frame shows.
    unshown_usage: Vec<Usage>,
    /// What was warned of.
    warned: BTreeSet<String>,
    observer: Option<Box<dyn Observer>>,
}

/// Why a session ends.
pub enum ExitReason {
    /// Everything is done.
    Done,
    /// There is nothing to serve, for this reason.
    Refused(String),
    /// An option or a setting cannot be heeded.
    Misused(String),
}

impl Runner {
    /// Sets a session up; [`execute`](Self::execute) starts it. While `gate` is `false`, models, tools and extensions pause.
    pub fn new(options: SessionOptions, gate: watch::Receiver<bool>) -> Self {
        let dialect = options.dialect;
        let clock = Clock::new();
        let (sender, inputs) = mpsc::channel(INPUT_CAPACITY);
        let (tasks, extension_inputs) = Tasks::new(
            sender,
            gate,
            dialect,
            options.tool_environment,
            &options.extension_setup,
            ExtensionRuntimes { node: options.node, built_in: options.built_in },
            options.agent,
        );
        let (store, base, guard) = (options.store, dialect.base(), options.file_guard);
        let files = options.files.unwrap_or_else(|| Box::new(SessionFiles { store, base, guard }));
        let disk = Disk::new(files, options.disk_timeout);
        let mut library = options.library;
        if let Some(source) = &mut library.source {
            source.names_level = options.chosen || options.session.is_none();
        }
        // A level that only the list of models names applies to new sessions.
        let named = library.level().filter(|_| options.chosen || options.session.is_none());
        let extension_setup =
            ExtensionSetup { stores_permissions: options.permissions.is_some(), ..options.extension_setup };
        let setup = Setup {
            dialect,
            models: library.choices().to_vec(),
            start: library.start(),
            scope: library.scope().map(<[_]>::to_vec),
            reloads_models: library.reloads(),
            level: options.level.or(named),
            chosen: options.chosen,
            modes: options.modes,
            limits: options.limits,
            place: options.place,
            session: options.session,
            tools: match tasks.has_agent() {
                true => Toolbox::of_agent(),
                false => Toolbox::new(options.tools)
                    .with_spare(options.spare_tools)
                    .selecting(options.tool_selection),
            },
            system_prompt: options.system_prompt,
            extension_setup,
            name: options.name,
            seed: seed(),
            checked: cfg!(debug_assertions),
        };
        let engine = Engine::new(setup, clock.now());
        let access = options.login_access;
        Self {
            engine,
            tasks,
            clock,
            library,
            disk,
            access,
            permissions: options.permissions,
            inputs,
            extension_inputs,
            violations: 0,
            unshown_usage: Vec::new(),
            warned: BTreeSet::new(),
            observer: options.observer,
        }
    }

    /// Takes what answers have used that no frame shows.
    pub fn take_unshown_usage(&mut self) -> Vec<Usage> {
        std::mem::take(&mut self.unshown_usage)
    }

    /// Whether what passes between the engine and the world is seen.
    pub const fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    /// Notes that the frame that comes next carries the trace context of its client.
    pub fn note_trace_context(&mut self, context: &TraceContext) {
        if let Some(observer) = &mut self.observer {
            observer.on_trace_context(context);
        }
    }

    /// How many violations of our own the machine has reported.
    pub const fn violations(&self) -> u64 {
        self.violations
    }

    /// Handles an input and executes what the engine makes of it. Returns a reason if the session is to end.
    pub fn handle(&mut self, input: Input, emit: &mut impl FnMut(Emission)) -> Option<ExitReason> {
        match &input {
            Input::ToolEnd { call, .. } | Input::ShellEnd { call, .. } => self.tasks.forget(*call),
            Input::LoginEnd { call, .. } => {
                self.tasks.forget_login(*call);
                // From now on requests use the login.
                self.library.reload(None);
            }
            Input::LogoutEnd { .. } => drop(self.library.reload(None)),
            Input::ExtensionEnded { from, .. } => self.tasks.extensions.forget(*from),
            Input::Shutdown => self.disk.shorten_deadlines(),
            Input::StoreFailed(error) => tracing::error!("{error}"),
            _ => {}
        }
        let now = self.clock.now();
        if let Some(observer) = &mut self.observer {
            observer.on_input(&input, now);
        }
        self.engine.handle(input, now);
        self.execute(emit)
    }

    /// Executes the outputs of the engine in order. Returns a reason if the session is to end.
    pub fn execute(&mut self, emit: &mut impl FnMut(Emission)) -> Option<ExitReason> {
        let mut exit_reason = None;
        let Self {
            engine,
            tasks,
            clock,
            library,
            disk,
            access,
            permissions,
            violations,
            unshown_usage,
            warned,
            observer,
            ..
        } = self;
        while let Some(output) = engine.poll() {
            if let Some(observer) = observer {
                observer.on_output(&output, clock.now());
            }
            match output {
                Output::Emit(emission) => emit(emission),
                Output::CallModel(call) if tasks.has_agent() => tasks.call_agent(call),
                Output::CallModel(call) => {
                    let hooks = match call.purpose {
                        Purpose::Turn | Purpose::Warming => engine.request_hooks(),
                        _ => RequestHooks::default(),
                    };
                    let id = call.call;
                    tasks.call_model(id, library.prepare(call), hooks);
                }
                Output::CancelModel(call) => tasks.cancel_model(call),
                Output::StartTool(start) => tasks.run_tool(start),
                Output::StartShell(start) => tasks.run_shell(start),
                Output::CancelTool(call) | Output::CancelShell(call) => tasks.cancel(call),
                Output::ListLogins => {
                    let providers = logins::list(&access.auth_file);
                    engine.handle(Input::LoginsListed(providers), clock.now());
                }
                Output::StartLogin(start) => tasks.log_in(start, access.clone()),
                Output::PasteLogin { call, text } => tasks.paste_login(call, text),
                Output::CancelLogin(call) => tasks.cancel_login(call),
                Output::StartLogout { call, provider } => tasks.log_out(call, provider, access.clone()),
                Output::StartExtension { process, place } => tasks.extensions.start(process, place),
                Output::ToExtension { to, frame } => tasks.extensions.send(to, &frame),
                Output::ProviderHookCompleted { request, event } => {
                    tasks.provider_hooks.complete(request, *event)
                }
                Output::AgentDialogClosed { request, response } => {
                    tasks.close_agent_dialog(request, response);
                }
                Output::StopExtension(process) => tasks.extensions.stop(process),
                Output::Violation(violation) => {
                    tracing::error!("{violation}");
                    *violations += 1;
                }
                Output::UnshownUsage(usage) => unshown_usage.push(usage),
                Output::Store(write) => {
                    if let Some(outcome) = disk.write(write) {
                        if let Input::StoreFailed(error) = &outcome {
                            tracing::error!("{error}");
                        }
                        engine.handle(outcome, clock.now());
                    }
                }
                Output::OpenSession(path) => {
                    let path = in_directory(&tasks.tool_environment.directory, path);
                    if let Some(opened) = disk.open(path) {
                        engine.handle(opened, clock.now());
                    }
                }
                Output::FindNewestSession(folder) => {
                    let folder = in_directory(&tasks.tool_environment.directory, folder);
                    // The directory of a server may itself be relative.
                    let folder = path::absolute(&folder).unwrap_or(folder);
                    let file = find_newest_with_entries(&folder);
                    engine.handle(Input::NewestSessionFound { folder, file }, clock.now());
                }
                Output::CloseSession => disk.release(),
                Output::HurryStore => disk.shorten_deadline(),
                Output::WritePage { path, session, instructions, creates_folders } => {
                    let path = in_directory(&tasks.tool_environment.directory, path);
                    let options = PageOptions {
                        written_by: concat!("pi-rpc ", env!("CARGO_PKG_VERSION")).to_owned(),
                        instructions: Some(instructions),
                    };
                    let text = page::html(&session, &options);
                    if let Some(written) = disk.write_page(path, text, creates_folders) {
                        engine.handle(written, clock.now());
                    }
                }
                Output::FindResources { skills, templates } => {
                    let ToolEnvironment { directory, confinement, secrets, .. } = &tasks.tool_environment;
                    let mut found = discover::Discovered::find_in(directory, skills, templates, confinement);
                    found.commands.map_texts(|text| secrets.redact(text).into_owned());
                    for warning in found.warnings {
                        tracing::warn!("{warning}");
                    }
                    engine.handle(Input::ResourcesFound(Box::new(found.commands)), clock.now());
                }
                Output::FindPermission { subject, call } => {
                    let is_covered = permissions.as_ref().is_some_and(|file| file.covers(*call));
                    engine.handle(Input::PermissionFound { subject, is_covered }, clock.now());
                }
                Output::StorePermission(permission) => {
                    let directory = &tasks.tool_environment.directory;
                    let id = format!("{:016x}", seed());
                    let stored =
                        permissions.as_ref().map(|file| file.add(*permission, directory, id, wall_ms()));
                    if let Some(Err(error)) = stored {
                        tracing::error!("the permission is for this call alone: {error}");
                    }
                }
                Output::ReadFile(path) => {
                    let ToolEnvironment { confinement, secrets, .. } = &tasks.tool_environment;
                    let text = files::text(&path, confinement);
                    let text = text.map(|text| secrets.redact(&text).into_owned());
                    let text = text.map_err(|error| format!("{}: {error}", path.display()));
                    engine.handle(Input::FileRead(text), clock.now());
                }
                Output::Query { from, query } => match queries::answer(library, from, *query) {
                    QueryAnswer::Ready(known) => engine.handle(known, clock.now()),
                    QueryAnswer::Key(lookup) => tasks.resolve_key(lookup),
                },
                Output::ChangeProvider { name, config, streams } => {
                    let provided = library.provide(&name, config, streams);
                    engine.handle(Input::ProviderChanged(provided), clock.now());
                }
                Output::ChangeVirtualModel { provider, id, definition } => {
                    let provided = library.provide_virtual(&provider, &id, definition.map(|it| *it));
                    engine.handle(Input::ProviderChanged(provided), clock.now());
                }
                Output::SelectModel => {
                    let selected = library.choose();
                    exit_reason = selected.as_ref().err().cloned().map(ExitReason::Refused);
                    engine.handle(Input::ModelSelected(selected), clock.now());
                }
                Output::ReloadModels { wanted } => {
                    let wanted = wanted.as_ref().map(|(provider, id)| (provider.as_str(), id.as_str()));
                    let reloaded = library.reload(wanted);
                    engine.handle(Input::ModelsReloaded(reloaded), clock.now());
                }
                Output::Refuse(text) => exit_reason = Some(ExitReason::Refused(text)),
                Output::Exit => {
                    let misused = engine.tool_refusal().map(ExitReason::Misused);
                    exit_reason = exit_reason.or(misused).or(Some(ExitReason::Done));
                }
            }
        }
        for warning in engine.take_warnings() {
            // Each change of the session may have the same.
            if warned.insert(warning.clone()) {
                tracing::warn!("{warning}");
            }
        }
        exit_reason
    }

    /// Whether a write of the session, or another job of the disk, is outstanding.
    pub const fn is_writing(&self) -> bool {
        self.disk.is_outstanding()
    }

    /// An input that is there already. While a disk job is outstanding, there is none of models, tools and extensions.
    pub fn try_next(&mut self) -> Option<Input> {
        (!self.disk.is_outstanding()).then(|| self.inputs.try_recv().ok())?
    }

    /// Waits for the next input of the disk, of models, tools and extensions, or for the engine's deadline. Cancel-safe.
    pub async fn next(&mut self) -> Input {
        let alarm = self.engine.deadline().map(|due| self.clock.start + due);
        let hung = self.disk.is_outstanding();
        // Unbiased: the branches are polled in random order.
        tokio::select! {
            () = until(alarm) => Input::Time,
            input = self.disk.next(), if hung => input,
            Some(input) = self.inputs.recv(), if !hung => input,
            Some(input) = self.extension_inputs.next(), if !hung => input,
        }
    }

    /// Ends every process and closes the session's file.
    pub async fn end(self) {
        let Self { mut tasks, disk, extension_inputs, clock, observer, .. } = self;
        if let Some(mut observer) = observer {
            observer.on_end(clock.now());
        }
        // Frames of extensions are no longer read; a full channel must not keep the extensions from ending.
        drop(extension_inputs);
        tasks.end_all().await;
        disk.close();
    }
}

/// Waits until the alarm; for ever without one.
pub async fn until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => tokio::time::sleep_until(alarm.into()).await,
        None => std::future::pending().await,
    }
}

/// A random seed for ids.
pub fn seed() -> u64 {
    // Ids have to differ, not to be secret, so the time is good enough.
    getrandom::u64().unwrap_or_else(|_| wall_ms())
}

struct Clock {
    start: Instant,
}

impl Clock {
    fn new() -> Self {
        Self { start: Instant::now() }
    }

    fn now(&self) -> Now {
        Now { monotonic: self.start.elapsed(), wall: wall_ms() }
    }
}

/// Milliseconds since the Unix epoch.
pub fn wall_ms() -> u64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(wall.as_millis()).unwrap_or_default()
}

/// The path that a client names, from the session's working directory where that of the process is another one.
fn in_directory(directory: &Path, path: PathBuf) -> PathBuf {
    // An empty one is no path, and is refused as that.
    let is_elsewhere = || std::env::current_dir().is_ok_and(|current| current != directory);
    if !path.as_os_str().is_empty() && path.is_relative() && is_elsewhere() {
        directory.join(path)
    } else {
        path
    }
}
