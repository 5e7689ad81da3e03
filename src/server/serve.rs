//! The loop.

use super::{
    Hazards, Library, Workplace,
    disk::{Disk, SessionFiles},
    knowing::{self, Found},
    outbox::Outbox,
    perform::Performers,
    print_mode::{PrintEnd, PrintMode},
    reader::Lines,
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
    pub library: Library,
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
    pub workplace: Workplace,
    /// What makes it inconvenient, to try a host.
    pub hazards: Option<Hazards>,
}

/// Inputs of models and tools that wait for the loop.
const AHEAD: usize = 256;

/// Inputs that are taken one after another before anything else has its turn.
const AT_ONCE: usize = 64;

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
    let (sender, mut inputs) = mpsc::channel(AHEAD);
    let mut outbox = Outbox::to_stdout(dialect, options.max_unread, options.hazards)
        .map_err(|error| format!("stdout: {error}"))?;
    let mut lines = Lines::of_stdin(dialect, options.max_frame).map_err(|error| format!("stdin: {error}"))?;
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    let (mut performers, mut said) =
        Performers::new(sender, outbox.gate(), dialect, options.workplace, &options.extending, options.node);
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
        outbox.print(print, engine.header());
    }
    let mut status = 0;
    let mut stopping = false;
    let mut hears = true;
    let mut unheard = false;
    let mut at_once = 0;
    // Bytes that had been read when nothing waited to be served.
    let mut served = 0;
    let mut leaving = perform(&mut engine, &clock, &mut outbox, &mut performers, &mut library, &mut disk);
    while leaving.is_none() {
        let gone = !stopping && (outbox.is_broken() || unheard && !engine.is_idle());
        if engine.unserved() == 0 {
            served = lines.read();
        }
        let has_room = lines.read() - served <= options.limits.queue as u64;
        let reads = outbox.reads() && has_room && engine.is_open() && !stopping;
        // Nothing wakes the loop for these: they are asked for each time.
        let printed =
            outbox.printed().filter(|_| reads && !gone).and_then(|print| print.next(engine.is_idle()));
        // What is there already is taken in before anything is written: its frames go in one write.
        // Models, tools and extensions wait while the disk does not answer: what they say could not be taken in.
        let hung = disk.is_outstanding();
        let more = match !gone && at_once < AT_ONCE && !outbox.is_full() {
            _ if printed.is_some() => printed,
            true if reads => lines.waiting().or_else(|| (!hung).then(|| inputs.try_recv().ok())?),
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
            if at_once >= AT_ONCE || outbox.is_full() {
                tokio::task::yield_now().await;
                at_once = 0;
            }
        }
        at_once += 1;
        if outbox.flows() != hears {
            hears = outbox.flows();
            engine.handle(Input::Hearing(hears), clock.now());
        }
        if engine.is_open() {
            performers.extensions.greeted();
        }
        let input = if gone {
            (stopping, status) = (true, STDOUT_GONE);
            performers.unheard();
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
                    () = outbox.unheard(), if !unheard => {
                        unheard = true;
                        None
                    }
                    input = disk.next(), if hung => Some(input),
                    Some(input) = inputs.recv(), if !hung => Some(input),
                    Some(input) = said.next(), if !hung => Some(input),
                    Some(input) = lines.next(), if reads && reads_stdin => {
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
                        performers.end_all().await;
                        return Ok(status);
                    }
                    Input::Shutdown
                }
                Ok(Some(input)) => input,
                Ok(None) => continue,
            }
        };
        match &input {
            Input::ToolEnd { call, .. } | Input::ShellEnd { call, .. } => performers.ended(*call),
            Input::ExtensionEnded { from, .. } => performers.extensions.ended(*from),
            Input::Shutdown => disk.hurry_always(),
            Input::StoreFailed(error) => tracing::error!("{error}"),
            _ => {}
        }
        engine.handle(input, clock.now());
        leaving = perform(&mut engine, &clock, &mut outbox, &mut performers, &mut library, &mut disk);
    }
    let last = engine.messages().last();
    let printed = outbox.printed().filter(|_| !stopping).map(|print| print.end(last.map(|last| &**last)));
    let failure = printed.and_then(|PrintEnd { text, failure }| {
        outbox.write(text.into_bytes());
        failure
    });
    outbox.flush();
    // Nobody hears the extensions any more: what they still say must not keep them from ending.
    drop(said);
    performers.end_all().await;
    disk.close();
    if let Some(Leaving::Refused(text)) = leaving {
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
enum Leaving {
    /// Everything is done.
    Done,
    /// There is nothing to serve, for this reason.
    Refused(String),
}

/// Does what the engine asks, in order, until it wants to leave or has nothing more to ask.
fn perform(
    engine: &mut Engine,
    clock: &Clock,
    outbox: &mut Outbox,
    performers: &mut Performers,
    library: &mut Library,
    disk: &mut Disk,
) -> Option<Leaving> {
    let mut leaving = None;
    while let Some(output) = engine.poll() {
        match output {
            Output::Emit(said) => outbox.say(said),
            Output::CallModel(call) => {
                let hooks = match call.purpose {
                    Purpose::Turn => engine.request_hooks(),
                    _ => RequestHooks::default(),
                };
                let id = call.call;
                performers.answer(id, library.answer(call), hooks);
            }
            Output::CancelModel(call) => performers.stop_model(call),
            Output::StartTool(start) => performers.run_tool(start),
            Output::StartShell(start) => performers.run_shell(start),
            Output::CancelTool(call) | Output::CancelShell(call) => performers.stop(call),
            Output::StartExtension { process, place } => performers.extensions.start(process, place),
            Output::ToExtension { to, frame } => performers.extensions.tell(to, &frame),
            Output::Hooked { ask, event } => performers.says.said(ask, *event),
            Output::StopExtension(process) => performers.extensions.stop(process),
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
            Output::HurryStore => disk.hurry(),
            Output::WriteFile { path, text, creates_folders } => {
                if let Some(written) = disk.write_page(path, text, creates_folders) {
                    engine.handle(written, clock.now());
                }
            }
            Output::LookInto { skills, templates } => {
                let found = discover::Discovered::find_in(&performers.workplace.directory, skills, templates);
                for warning in found.warnings {
                    tracing::warn!("{warning}");
                }
                engine.handle(Input::Found(Box::new(found.commands)), clock.now());
            }
            Output::ReadFile(path) => {
                let text = files::text(&path).map_err(|error| format!("{}: {error}", path.display()));
                engine.handle(Input::FileRead(text), clock.now());
            }
            Output::Query { from, query } => match knowing::find(library, from, *query) {
                Found::Now(known) => engine.handle(known, clock.now()),
                Found::Key(looking) => performers.look_for_key(looking),
            },
            Output::Provide { name, config, streams } => {
                let provided = library.provide(&name, config, streams);
                engine.handle(Input::Provided(provided), clock.now());
            }
            Output::Choose => {
                let selected = library.choose();
                leaving = selected.as_ref().err().cloned().map(Leaving::Refused);
                engine.handle(Input::Chosen(selected), clock.now());
            }
            Output::Exit => leaving = leaving.or(Some(Leaving::Done)),
        }
    }
    leaving
}

/// Writes what waits; gives the exit status. A host that does not read is waited for, unless there is a hurry: then a
/// while, and no longer than until the next signal.
async fn finish(mut outbox: Outbox, signals: &mut Signals, hurry: bool, mut status: u8) -> u8 {
    let mut patience = hurry.then(|| Instant::now() + LAST_WORDS);
    loop {
        outbox.flush();
        if !outbox.is_behind() {
            return if outbox.is_broken() && status == 0 { STDOUT_GONE } else { status };
        }
        tokio::select! {
            () = outbox.ready() => {}
            number = signals.next() => {
                status = signal_status(number);
                if patience.replace(Instant::now() + LAST_WORDS).is_some() {
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
const LAST_WORDS: Duration = Duration::from_secs(2);

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
