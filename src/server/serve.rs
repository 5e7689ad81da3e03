//! The loop.

use super::{
    Hazards, ModelLibrary, ToolEnvironment,
    disk::{Disk, SessionFiles},
    outbox::Outbox,
    print_mode::{PrintMode, PrintResult},
    queries::{self, QueryAnswer},
    stdin::FrameReader,
    tasks::Tasks,
};
use crate::{
    engine::{
        Engine, Extending, Input, Modes, Now, Output, Place, Purpose, RequestHooks, Setup, Toolbox,
        limits::Limits,
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

/// How to serve.
pub struct Options {
    /// The dialect to speak.
    pub dialect: Dialect,
    /// The models.
    pub library: ModelLibrary,
    /// The thinking level asked for.
    pub level: Option<ThinkingLevel>,
    /// How the session starts.
    pub modes: Modes,
    /// The tools to offer.
    pub tools: Vec<ToolSpec>,
    /// Tools that are offered only when an extension chooses them.
    pub spare_tools: Vec<ToolSpec>,
    /// The instructions that come first.
    pub system_prompt: Instructions,
    /// What the server is extended by, and what is asked of the host.
    pub extending: Extending,
    /// What runs those of pi's own extensions that it has.
    pub node: Option<NodeHost>,
    /// The model was asked for: a session that is taken up does not choose another.
    pub chosen: bool,
    /// The session's name.
    pub name: Option<String>,
    /// Where sessions are kept.
    pub place: Place,
    /// The session to take up, and its file.
    pub session: Option<OpenedSession>,
    /// The file that the session is written to.
    pub store: Store,
    /// A run to print instead of serving; stdin is not read then.
    pub print: Option<PrintMode>,
    /// How long the file system may take for a request; `None`: for ever.
    pub disk_timeout: Option<Duration>,
    /// The longest line that is read, in bytes.
    pub max_frame: usize,
    /// Bytes of frames that wait for the host before no command is read any more.
    pub max_unread: usize,
    /// How much is kept of what the host says.
    pub limits: Limits,
    /// Where tools and commands run.
    pub tool_environment: ToolEnvironment,
    /// What makes it inconvenient, to try a host.
    pub hazards: Option<Hazards>,
}

/// Inputs of models and tools that wait for the loop.
const INPUT_CAPACITY: usize = 256;

/// Inputs that are taken one after another before anything else has its turn.
const MAX_BURST: usize = 64;

/// The exit status when stdout is gone, as the originals have it.
const STDOUT_GONE: u8 = 1;

/// The exit status when stdin cannot be read.
const STDIN_BROKEN: u8 = 1;

/// What a process answers to the signal `number` with, in the shells' convention.
const fn signal_status(number: u8) -> u8 {
    128 + number
}

/// Speaks the protocol on stdin and stdout until the input ends or a signal comes. Gives the exit status.
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
        &options.extending,
        options.node,
    );
    let files = SessionFiles { store: options.store, base: dialect.base() };
    let mut disk = Disk::start(files, options.disk_timeout).map_err(|error| format!("a thread: {error}"))?;
    let mut library = options.library;
    if let Some(source) = &mut library.source {
        source.names_level = options.chosen || options.session.is_none();
    }
    // A level that only the list of models names is for new sessions.
    let named = library.level().filter(|_| options.chosen || options.session.is_none());
    let setup = Setup {
        dialect,
        models: library.choices().to_vec(),
        start: library.start(),
        scope: library.scope().map(<[_]>::to_vec),
        level: options.level.or(named),
        chosen: options.chosen,
        modes: options.modes,
        limits: options.limits,
        place: options.place,
        session: options.session,
        tools: Toolbox::new(options.tools).with_spare(options.spare_tools),
        system_prompt: options.system_prompt,
        extending: options.extending,
        name: options.name,
        seed: seed(),
        checked: cfg!(debug_assertions),
    };
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
    // Bytes that had been read when nothing waited to be served.
    let mut served = 0;
    let mut exit_reason =
        execute_outputs(&mut engine, &clock, &mut outbox, &mut tasks, &mut library, &mut disk);
    while exit_reason.is_none() {
        let gone = !stopping && (outbox.is_broken() || is_closed && !engine.is_idle());
        if engine.unserved() == 0 {
            served = frames.bytes_read();
        }
        let has_room = frames.bytes_read() - served <= options.limits.queue as u64;
        let reads = outbox.accepts_commands() && has_room && engine.is_open() && !stopping;
        // Nothing wakes the loop for these: they are asked for each time.
        let printed =
            outbox.print_mode().filter(|_| reads && !gone).and_then(|print| print.next(engine.is_idle()));
        // What is there already is taken in before anything is written: its frames go in one write.
        // Models, tools and extensions wait while the disk does not answer: what they say could not be taken in.
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
            // A host that never stops writing, or does not read, must not keep signals, models and tools from having their
            // turn: the runtime learns of them only when nothing is served.
            if burst >= MAX_BURST || outbox.is_full() {
                tokio::task::yield_now().await;
                burst = 0;
            }
        }
        burst += 1;
        if outbox.is_gate_open() != was_open {
            was_open = outbox.is_gate_open();
            engine.handle(Input::Hearing(was_open), clock.now());
        }
        if engine.is_open() {
            tasks.extensions.greeted();
        }
        let input = if gone {
            (stopping, status) = (true, STDOUT_GONE);
            tasks.refuse_processes();
            Input::Shutdown
        } else if let Some(input) = more {
            input
        } else {
            let alarm = engine.deadline().map(|due| clock.start + due);
            // All but a signal have their turns by chance.
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
            Input::ExtensionEnded { from, .. } => tasks.extensions.ended(*from),
            Input::Shutdown => disk.shorten_deadlines(),
            Input::StoreFailed(error) => tracing::error!("{error}"),
            _ => {}
        }
        engine.handle(input, clock.now());
        exit_reason = execute_outputs(&mut engine, &clock, &mut outbox, &mut tasks, &mut library, &mut disk);
    }
    let last = engine.messages().last();
    let printed = outbox.print_mode().filter(|_| !stopping).map(|print| print.end(last.map(|last| &**last)));
    let failure = printed.and_then(|PrintResult { text, failure }| {
        outbox.push_bytes(text.into_bytes());
        failure
    });
    outbox.flush();
    // Nobody hears the extensions any more: what they still say must not keep them from ending.
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

/// Until then; without a time, for ever.
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

/// Does what the engine asks, in order, until it wants to leave or has nothing more to ask.
fn execute_outputs(
    engine: &mut Engine,
    clock: &Clock,
    outbox: &mut Outbox,
    tasks: &mut Tasks,
    library: &mut ModelLibrary,
    disk: &mut Disk,
) -> Option<ExitReason> {
    let mut exit_reason = None;
    while let Some(output) = engine.poll() {
        match output {
            Output::Emit(said) => outbox.push(said),
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
            Output::StartExtension { process, place } => tasks.extensions.start(process, place),
            Output::ToExtension { to, frame } => tasks.extensions.tell(to, &frame),
            Output::Hooked { ask, event } => tasks.provider_hooks.complete(ask, *event),
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
            Output::LookInto { skills, templates } => {
                let found =
                    discover::Discovered::find_in(&tasks.tool_environment.directory, skills, templates);
                for warning in found.warnings {
                    tracing::warn!("{warning}");
                }
                engine.handle(Input::Found(Box::new(found.commands)), clock.now());
            }
            Output::ReadFile(path) => {
                let text = files::text(&path).map_err(|error| format!("{}: {error}", path.display()));
                engine.handle(Input::FileRead(text), clock.now());
            }
            Output::Query { from, query } => match queries::answer(library, from, *query) {
                QueryAnswer::Ready(known) => engine.handle(known, clock.now()),
                QueryAnswer::Key(lookup) => tasks.resolve_key(lookup),
            },
            Output::Provide { name, config, streams } => {
                let provided = library.provide(&name, config, streams);
                engine.handle(Input::Provided(provided), clock.now());
            }
            Output::Choose => {
                let selected = library.choose();
                exit_reason = selected.as_ref().err().cloned().map(ExitReason::Refused);
                engine.handle(Input::Chosen(selected), clock.now());
            }
            Output::Exit => exit_reason = exit_reason.or(Some(ExitReason::Done)),
        }
    }
    exit_reason
}

/// Writes what waits; gives the exit status. A host that does not read is waited for, unless there is a hurry: then a
/// while, and no longer than until the next signal.
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
                tracing::warn!("stdout: nobody reads; leaving");
                return status;
            }
        }
    }
}

/// How long a process that was told to stop waits for its last frames to be read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Chance, to tell conversations apart.
pub fn seed() -> u64 {
    // Without a source of chance the time must do: ids need to differ, not to be secret.
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

/// The signals that end the process in order.
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

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.hang_up.recv() => 1,
            _ = self.interrupt.recv() => 2,
        }
    }
}
