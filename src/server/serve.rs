//! The main loop: takes inputs, feeds the engine, executes its outputs, shuts down.

use super::{
    Hazards, ModelLibrary, ToolEnvironment,
    disk::{Disk, SessionFiles},
    logins::{self, LoginAccess},
    outbox::Outbox,
    print_mode::{PrintMode, PrintResult},
    queries::{self, QueryAnswer},
    stdin::FrameReader,
    tasks::Tasks,
};
use crate::{
    engine::{
        Engine, ExtensionSetup, Input, Modes, Now, Output, Purpose, RequestHooks, SessionStorage, Setup,
        Toolbox, limits::Limits,
    },
    extension::NodeHost,
    model::types::ToolSpec,
    prompt::{Instructions, discover, files},
    protocol::{Dialect, DialectEndOfInput, ThinkingLevel},
    session::{OpenedSession, Store},
};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

/// Everything that a server is started with.
pub struct Options {
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
    /// The system prompt.
    pub system_prompt: Instructions,
    /// Extensions, skills, templates and tools that need consent.
    pub extension_setup: ExtensionSetup,
    /// The Node host for pi's own extensions.
    pub node: Option<NodeHost>,
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
    /// Prints a run instead of serving; stdin is then not read for frames.
    pub print: Option<PrintMode>,
    /// How long the file system may take for a request; `None`: without a limit.
    pub disk_timeout: Option<Duration>,
    /// The longest line that is read, in bytes.
    pub max_frame: usize,
    /// Pending bytes of output from which on no commands are read.
    pub max_unread: usize,
    /// Bounds of queues, sessions and shell commands.
    pub limits: Limits,
    /// Where logins are stored, and how vendors are reached.
    pub login_access: LoginAccess,
    /// Where tools and commands run.
    pub tool_environment: ToolEnvironment,
    /// Hazards that test the host.
    pub hazards: Option<Hazards>,
}

/// Capacity of the channel for inputs of models, tools and commands.
const INPUT_CAPACITY: usize = 256;

/// Inputs that are handled in a row before the runtime gets its turn.
const MAX_BURST: usize = 64;

/// Exit status when stdout is closed, as in the originals.
const STDOUT_GONE: u8 = 1;

/// Exit status when stdin cannot be read.
const STDIN_BROKEN: u8 = 1;

/// Exit status after the signal `number`, by the convention of shells.
const fn signal_status(number: u8) -> u8 {
    128 + number
}

/// Serves the protocol on stdin and stdout until the input ends or a signal comes. Returns the exit status.
pub async fn serve(options: Options) -> Result<u8, String> {
    let dialect = options.dialect;
    let clock = Clock::new();
    let (sender, mut inputs) = mpsc::channel(INPUT_CAPACITY);
    let mut outbox = Outbox::to_stdout(dialect, options.max_unread, options.hazards)
        .map_err(|error| format!("stdout: {error}"))?;
    let mut frames =
        FrameReader::of_stdin(dialect, options.max_frame).map_err(|error| format!("stdin: {error}"))?;
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    let (mut tasks, mut extension_inputs) = Tasks::new(
        sender,
        outbox.gate(),
        dialect,
        options.tool_environment,
        &options.extension_setup,
        options.node,
    );
    let files = SessionFiles { store: options.store, base: dialect.base() };
    let mut disk = Disk::start(files, options.disk_timeout).map_err(|error| format!("a thread: {error}"))?;
    let mut library = options.library;
    if let Some(source) = &mut library.source {
        source.names_level = options.chosen || options.session.is_none();
    }
    // A level that only the list of models names applies to new sessions.
    let named = library.level().filter(|_| options.chosen || options.session.is_none());
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
        tools: Toolbox::new(options.tools).with_spare(options.spare_tools),
        system_prompt: options.system_prompt,
        extension_setup: options.extension_setup,
        name: options.name,
        seed: seed(),
        checked: cfg!(debug_assertions),
    };
    let access = options.login_access;
    let mut engine = Engine::new(setup, clock.now());
    let reads_stdin = options.print.is_none();
    if let Some(print) = options.print {
        outbox.start_print(print, engine.header());
    }
    let mut status = 0;
    let mut stopping = false;
    let mut was_open = true;
    let mut is_closed = false;
    let mut burst = 0;
    // Bytes that had been read when the engine last had no queued command.
    let mut served = 0;
    let mut exit_reason =
        execute_outputs(&mut engine, &clock, &mut outbox, &mut tasks, &mut library, &mut disk, &access);
    while exit_reason.is_none() {
        let gone = !stopping && (outbox.is_broken() || is_closed && !engine.is_idle());
        if engine.unserved() == 0 {
            served = frames.bytes_read();
        }
        let has_room = frames.bytes_read() - served <= options.limits.queue as u64;
        let reads = outbox.accepts_commands() && has_room && engine.is_open() && !stopping;
        // Nothing wakes the loop for prompts of print mode, so it polls.
        let printed =
            outbox.print_mode().filter(|_| reads && !gone).and_then(|print| print.next(engine.is_idle()));
        // Available inputs are handled before the next write, so that their frames share it.
        // While a disk job is outstanding the engine takes no input of models, tools and extensions.
        let hung = disk.is_outstanding();
        let more = match !gone && burst < MAX_BURST && !outbox.is_full() {
            _ if printed.is_some() => printed,
            true if reads => frames.next_buffered().or_else(|| (!hung).then(|| inputs.try_recv().ok())?),
            true if !hung => inputs.try_recv().ok(),
            _ => None,
        };
        if more.is_none() {
            outbox.flush();
            if outbox.is_broken() && !gone && !stopping {
                continue;
            }
            // A host that never stops writing, or does not read, must not starve signals, models and tools, which the
            // runtime polls only when this loop yields.
            if burst >= MAX_BURST || outbox.is_full() {
                tokio::task::yield_now().await;
                burst = 0;
            }
        }
        burst += 1;
        if outbox.is_gate_open() != was_open {
            was_open = outbox.is_gate_open();
            engine.handle(Input::ReadsExtensions(was_open), clock.now());
        }
        if engine.is_open() {
            tasks.extensions.mark_greeted();
        }
        let input = if gone {
            (stopping, status) = (true, STDOUT_GONE);
            tasks.refuse_processes();
            Input::Shutdown
        } else if let Some(input) = more {
            input
        } else {
            let alarm = engine.deadline().map(|due| clock.start + due);
            // Unbiased: the branches are polled in random order. Only signals have priority.
            let next = async {
                tokio::select! {
                    () = until(alarm) => Some(Input::Time),
                    () = outbox.ready(), if outbox.is_behind() => None,
                    () = outbox.closed(), if !is_closed => {
                        is_closed = true;
                        None
                    }
                    input = disk.next(), if hung => Some(input),
                    Some(input) = inputs.recv(), if !hung => Some(input),
                    Some(input) = extension_inputs.next(), if !hung => Some(input),
                    Some(input) = frames.next(), if reads && reads_stdin => {
                        if matches!(input, Input::Shutdown) {
                            (stopping, status) = (true, STDIN_BROKEN);
                        }
                        Some(input)
                    }
                }
            };
            let turn = tokio::select! {
                biased;
                number = signals.next() => Err(number),
                input = next => Ok(input),
            };
            match turn {
                Err(number) => {
                    status = signal_status(number);
                    if std::mem::replace(&mut stopping, true) {
                        tasks.end_all().await;
                        return Ok(status);
                    }
                    Input::Shutdown
                }
                Ok(Some(input)) => input,
                Ok(None) => continue,
            }
        };
        match &input {
            Input::ToolEnd { call, .. } | Input::ShellEnd { call, .. } => tasks.forget(*call),
            Input::LoginEnd { call, .. } => {
                tasks.forget_login(*call);
                // From now on requests use the login.
                library.reload(None);
            }
            Input::LogoutEnd { .. } => drop(library.reload(None)),
            Input::ExtensionEnded { from, .. } => tasks.extensions.forget(*from),
            Input::Shutdown => disk.shorten_deadlines(),
            Input::StoreFailed(error) => tracing::error!("{error}"),
            _ => {}
        }
        engine.handle(input, clock.now());
        exit_reason =
            execute_outputs(&mut engine, &clock, &mut outbox, &mut tasks, &mut library, &mut disk, &access);
    }
    let last = engine.messages().last();
    let printed = outbox.print_mode().filter(|_| !stopping).map(|print| print.end(last.map(|last| &**last)));
    let failure = printed.and_then(|PrintResult { text, failure }| {
        outbox.push_bytes(text.into_bytes());
        failure
    });
    outbox.flush();
    // Frames of extensions are no longer read; a full channel must not keep the extensions from ending.
    drop(extension_inputs);
    tasks.end_all().await;
    disk.close();
    if let Some(ExitReason::Refused(text)) = exit_reason {
        return Err(text);
    }
    let hurry = stopping || dialect.record().end_of_input == DialectEndOfInput::Exit;
    let status = finish(outbox, &mut signals, hurry, status).await;
    match failure {
        Some(failure) if status == 0 => Err(failure),
        _ => Ok(status),
    }
}

/// Waits until the alarm; for ever without one.
async fn until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => tokio::time::sleep_until(alarm.into()).await,
        None => std::future::pending().await,
    }
}

/// Why the loop ends.
enum ExitReason {
    /// Everything is done.
    Done,
    /// There is nothing to serve, for this reason.
    Refused(String),
}

/// Executes the outputs of the engine in order. Returns a reason if the loop is to end.
fn execute_outputs(
    engine: &mut Engine,
    clock: &Clock,
    outbox: &mut Outbox,
    tasks: &mut Tasks,
    library: &mut ModelLibrary,
    disk: &mut Disk,
    access: &LoginAccess,
) -> Option<ExitReason> {
    let mut exit_reason = None;
    while let Some(output) = engine.poll() {
        match output {
            Output::Emit(emission) => outbox.push(emission),
            Output::CallModel(call) => {
                let hooks = match call.purpose {
                    Purpose::Turn => engine.request_hooks(),
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
            Output::StopExtension(process) => tasks.extensions.stop(process),
            Output::Violation(violation) => tracing::error!("{violation}"),
            Output::Store(write) => {
                if let Some(outcome) = disk.write(write) {
                    if let Input::StoreFailed(error) = &outcome {
                        tracing::error!("{error}");
                    }
                    engine.handle(outcome, clock.now());
                }
            }
            Output::OpenSession(path) => {
                if let Some(opened) = disk.open(path) {
                    engine.handle(opened, clock.now());
                }
            }
            Output::CloseSession => disk.release(),
            Output::HurryStore => disk.shorten_deadline(),
            Output::WriteFile { path, text, creates_folders } => {
                if let Some(written) = disk.write_page(path, text, creates_folders) {
                    engine.handle(written, clock.now());
                }
            }
            Output::FindResources { skills, templates } => {
                let found =
                    discover::Discovered::find_in(&tasks.tool_environment.directory, skills, templates);
                for warning in found.warnings {
                    tracing::warn!("{warning}");
                }
                engine.handle(Input::ResourcesFound(Box::new(found.commands)), clock.now());
            }
            Output::ReadFile(path) => {
                let text = files::text(&path).map_err(|error| format!("{}: {error}", path.display()));
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
            Output::Exit => exit_reason = exit_reason.or(Some(ExitReason::Done)),
        }
    }
    exit_reason
}

/// Writes the pending frames and returns the exit status. Waits for a slow reader without a limit; with `hurry`, for
/// [`FLUSH_TIMEOUT`] and at most until the next signal.
async fn finish(mut outbox: Outbox, signals: &mut Signals, hurry: bool, mut status: u8) -> u8 {
    let mut patience = hurry.then(|| Instant::now() + FLUSH_TIMEOUT);
    loop {
        outbox.flush();
        if !outbox.is_behind() {
            return if outbox.is_broken() && status == 0 { STDOUT_GONE } else { status };
        }
        tokio::select! {
            () = outbox.ready() => {}
            number = signals.next() => {
                status = signal_status(number);
                if patience.replace(Instant::now() + FLUSH_TIMEOUT).is_some() {
                    return status;
                }
            }
            () = until(patience) => {
                tracing::warn!("stdout: pending frames were not read within {FLUSH_TIMEOUT:?}; exiting without them");
                return status;
            }
        }
    }
}

/// How long a stopping process waits for the host to read the last frames.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

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

/// Signals that shut the server down.
struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal and returns its number.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.hang_up.recv() => 1,
            _ = self.interrupt.recv() => 2,
        }
    }
}
