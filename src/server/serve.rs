//! The loop.

use super::{Library, Workplace, outbox::Outbox, perform::Performers, reader};
use crate::{
    engine::{Engine, Extending, Input, Modes, Now, Output, Place, Setup, Toolbox},
    model::types::ToolSpec,
    prompt::files,
    protocol::{Dialect, DialectEndOfInput, ThinkingLevel},
    session::{Opened, Store},
};
use std::{
    fs,
    path::Path,
    time::{Instant, SystemTime, UNIX_EPOCH},
};
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
    /// The instructions that come first.
    pub system_prompt: String,
    /// What the server is extended by, and what is asked of the host.
    pub extending: Extending,
    /// The model was asked for: a session that is taken up does not choose another.
    pub chosen: bool,
    /// The session's name.
    pub name: Option<String>,
    /// Where sessions are kept.
    pub place: Place,
    /// The session to take up, and its file.
    pub session: Option<Opened>,
    /// The file that the session is written to.
    pub store: Store,
    /// The longest line that is read, in bytes.
    pub max_frame: usize,
    /// Where tools and commands run.
    pub workplace: Workplace,
}

/// Inputs of models and tools that wait for the loop.
const AHEAD: usize = 256;

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
    let outbox = Outbox::start().map_err(|error| format!("stdout: {error}"))?;
    let mut lines = reader::start(dialect, options.max_frame).map_err(|error| format!("stdin: {error}"))?;
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    let mut level = outbox.level();
    let (mut performers, mut said) =
        Performers::new(sender, outbox.gate(), dialect, options.workplace, &options.extending);
    let mut library = options.library;
    let mut store = options.store;
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
        place: options.place,
        session: options.session,
        tools: Toolbox::new(options.tools)?,
        system_prompt: options.system_prompt.into(),
        extending: options.extending,
        name: options.name,
        seed: seed(),
        checked: cfg!(debug_assertions),
    };
    let mut engine = Engine::new(setup, clock.now());
    let mut status = 0;
    let mut stopping = false;
    let mut hears = true;
    let mut leaving = perform(&mut engine, &clock, &outbox, &mut performers, &mut library, &mut store);
    while !leaving {
        let now = *level.borrow_and_update();
        if now.flows != hears {
            hears = now.flows;
            engine.handle(Input::Hearing(hears), clock.now());
        }
        if engine.is_open() {
            performers.extensions.greeted();
        }
        let gone = now.broken || now.unheard && !engine.is_idle();
        let input = if gone && !std::mem::replace(&mut stopping, true) {
            status = STDOUT_GONE;
            Input::Shutdown
        } else {
            let alarm = engine.deadline().map(|due| clock.start + due);
            tokio::select! {
                () = until(alarm) => Input::Time,
                number = signals.next() => {
                    status = signal_status(number);
                    if std::mem::replace(&mut stopping, true) {
                        performers.end_all().await;
                        return Ok(status);
                    }
                    Input::Shutdown
                }
                Ok(()) = level.changed() => continue,
                Some(input) = inputs.recv() => input,
                Some(input) = said.next() => input,
                Some(input) = lines.recv(), if now.reads && engine.is_open() && !stopping => {
                    if matches!(input, Input::Shutdown) {
                        (stopping, status) = (true, STDIN_BROKEN);
                    }
                    input
                }
            }
        };
        match &input {
            Input::ToolEnd { call, .. } | Input::ShellEnd { call, .. } => performers.ended(*call),
            Input::ExtensionEnded { from, .. } => performers.extensions.ended(*from),
            _ => {}
        }
        engine.handle(input, clock.now());
        leaving = perform(&mut engine, &clock, &outbox, &mut performers, &mut library, &mut store);
    }
    // Nobody hears the extensions any more: what they still say must not keep them from ending.
    drop(said);
    performers.end_all().await;
    let hurry = stopping || dialect.record().end_of_input == DialectEndOfInput::Exit;
    Ok(finish(outbox, &mut signals, hurry, status).await)
}

/// Until then; without a time, for ever.
async fn until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => tokio::time::sleep_until(alarm.into()).await,
        None => std::future::pending().await,
    }
}

/// Does what the engine asks, in order; `true` when it wants to leave.
fn perform(
    engine: &mut Engine,
    clock: &Clock,
    outbox: &Outbox,
    performers: &mut Performers,
    library: &mut Library,
    store: &mut Store,
) -> bool {
    let mut leaving = false;
    while let Some(output) = engine.poll() {
        match output {
            Output::Say(said) => outbox.say(said),
            Output::CallModel(call) => {
                let id = call.call;
                performers.answer(id, library.answer(call));
            }
            Output::CancelModel(call) => performers.stop_model(call),
            Output::StartTool(start) => performers.run_tool(start),
            Output::StartShell(start) => performers.run_shell(start),
            Output::CancelTool(call) | Output::CancelShell(call) => performers.stop(call),
            Output::StartExtension { process, place } => performers.extensions.start(process, place),
            Output::ToExtension { to, frame } => performers.extensions.tell(to, &frame),
            Output::StopExtension(process) => performers.extensions.stop(process),
            Output::Violation(violation) => tracing::error!("{violation}"),
            Output::Store(write) => {
                if let Err(error) = store.write(&write) {
                    tracing::error!("{error}");
                    engine.handle(Input::StoreFailed(error.to_string()), clock.now());
                }
            }
            Output::OpenSession(path) => {
                let opened = open_session(store, &path);
                engine.handle(Input::Opened(Box::new(opened)), clock.now());
            }
            Output::CloseSession => store.release(),
            Output::WriteFile { path, text, creates_folders } => {
                let written = write_file(&path, &text, creates_folders);
                engine.handle(Input::FileWritten(written), clock.now());
            }
            Output::ReadFile(path) => {
                let text = files::text(&path).map_err(|error| format!("{}: {error}", path.display()));
                engine.handle(Input::FileRead(text), clock.now());
            }
            Output::Exit => leaving = true,
        }
    }
    leaving
}

/// Opens another session's file, and tells what was found in it.
fn open_session(store: &mut Store, path: &Path) -> Result<Opened, String> {
    if path.as_os_str().is_empty() {
        return Err("sessionPath: expected the path of a file, not nothing".to_owned());
    }
    let path = &std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut random = fastrand::Rng::with_seed(seed());
    let opened = store.open(path, &mut random).map_err(|error| error.to_string())?;
    for notice in &opened.notices {
        tracing::warn!("{}: {notice}", path.display());
    }
    Ok(opened)
}

fn write_file(path: &Path, text: &str, creates_folders: bool) -> Result<(), String> {
    if creates_folders && let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes what waits; gives the exit status. A host that does not read is waited for, unless there is a hurry: then a
/// while, and no longer than until the next signal.
async fn finish(outbox: Outbox, signals: &mut Signals, mut hurry: bool, mut status: u8) -> u8 {
    let written = tokio::task::spawn_blocking(|| outbox.finish());
    tokio::pin!(written);
    loop {
        let patience = if hurry { LAST_WORDS } else { std::time::Duration::MAX };
        tokio::select! {
            written = &mut written => {
                let gone = !matches!(written, Ok(true));
                return if gone && status == 0 { STDOUT_GONE } else { status };
            }
            number = signals.next() => {
                status = signal_status(number);
                if std::mem::replace(&mut hurry, true) {
                    return status;
                }
            }
            () = tokio::time::sleep(patience) => {
                tracing::warn!("stdout: nobody reads; leaving");
                return status;
            }
        }
    }
}

/// How long a process that was told to stop waits for its last frames to be read.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(2);

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
