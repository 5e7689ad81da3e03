//! One inspection with its source: what the page's requests act on.

use super::{
    command_source::{self, ServerCommand},
    dispositions::Dispositions,
    host_source::{self, HostAccess},
    indexer,
    inspection::Inspection,
    live_recording::LiveRecording,
    record_filter::{FilterQuery, FilterView},
    recording_file::RecordingFile,
    rows::{body_matches, state_view},
    scripts::ScriptFolder,
    sender::{Line, SourceEvent, SourceRequest},
    wire::{ProcessAction, RunningScript, Scripts, Session, Source},
};
use pi_rpc_oracle::View;
use pi_rpc_protocol::{Dialect, DialectVersion};
use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::timeout,
};

/// What to inspect.
pub enum Subject {
    /// A server to start.
    Command(ServerCommand),
    /// A host, and the session to attach to at once.
    Host(HostAccess, Option<String>),
    /// A recording.
    File(PathBuf),
}

/// An inspection, its source, and what was saved.
pub struct App {
    /// The recording.
    pub inspection: Arc<Inspection>,
    controls: Mutex<Controls>,
    /// Counts changes of the source.
    controls_changed: watch::Sender<u64>,
    host: Option<HostAccess>,
    /// The folder of own recordings; removed at the end.
    folder: TempDir,
    recordings: AtomicU32,
    dispositions: Mutex<Option<(Dialect, Arc<Dispositions>)>>,
    views: Mutex<VecDeque<CachedView>>,
    /// Saved scripts.
    pub scripts: ScriptFolder,
    running: Mutex<Option<RunningScript>>,
}

/// A filter with its matches, of one index.
struct CachedView {
    generation: u64,
    query: FilterQuery,
    view: Arc<Mutex<FilterView>>,
}

/// The source, and whether lines can be sent to it.
struct Controls {
    source: Source,
    live: bool,
    sends: Result<(), String>,
    requests: Option<mpsc::Sender<SourceRequest>>,
    /// Counts the sources: what an earlier one reports does not count any more.
    number: u64,
    task: Option<JoinHandle<()>>,
}

/// Filters whose matches are kept.
const MAX_VIEWS: usize = 4;
/// How long one request scans.
const SCAN_TIME: Duration = Duration::from_millis(300);
/// Records that are scanned without looking at the time.
const SCAN_STEP: u32 = 16_384;
/// The most bytes of one read while scanning.
const SCAN_READ: usize = 4 << 20;
/// How long the end waits for the server.
const CLOSE_TIME: Duration = Duration::from_secs(4);
/// Requests that wait for the source.
const PENDING_REQUESTS: usize = 16;

impl App {
    /// Starts an inspection. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the system refuses what an inspection needs.
    pub fn start(subject: Subject, chosen: Option<DialectVersion>, scripts: &Path) -> io::Result<Arc<Self>> {
        let inspection = Inspection::new(chosen);
        let (source, host) = match &subject {
            Subject::Command(command) => {
                (Source::Command { argv: command.shown.clone(), pid: None, exit: None }, None)
            }
            Subject::Host(access, _) => {
                (Source::Host { address: access.address.to_string(), session: None }, Some(access.clone()))
            }
            Subject::File(path) => {
                (Source::File { path: path.to_string_lossy().into_owned(), grows: false }, None)
            }
        };
        let sends = match &subject {
            Subject::File(_) => Err("A recording takes no commands.".to_owned()),
            _ => Err("Nothing has started yet.".to_owned()),
        };
        let app = Arc::new(Self {
            inspection: inspection.clone(),
            controls: Mutex::new(Controls {
                source,
                live: host.is_none(),
                sends,
                requests: None,
                number: 0,
                task: None,
            }),
            controls_changed: watch::Sender::new(0),
            host,
            folder: TempDir::with_prefix("pi-rpc-inspect-")?,
            recordings: AtomicU32::new(0),
            dispositions: Mutex::new(None),
            views: Mutex::new(VecDeque::new()),
            scripts: ScriptFolder::new(scripts),
            running: Mutex::new(None),
        });
        match subject {
            Subject::Command(command) => app.start_command(command)?,
            Subject::Host(_, Some(session)) => app.attach(session)?,
            Subject::Host(_, None) => {}
            Subject::File(path) => inspection.show_file(RecordingFile::open(&path)?),
        }
        indexer::start(inspection)?;
        Ok(app)
    }

    /// Ends the inspection: the server that it has started is stopped, and waited for a little.
    pub async fn close(&self) {
        let task = {
            let mut controls = self.controls();
            controls.requests = None;
            controls.task.take()
        };
        if let Some(task) = task {
            // A server that stays is killed with its task.
            let _ = timeout(CLOSE_TIME, task).await;
        }
        self.inspection.close();
    }

    fn controls(&self) -> MutexGuard<'_, Controls> {
        lock(&self.controls)
    }

    /// Changes of the source.
    pub fn source_changes(&self) -> watch::Receiver<u64> {
        self.controls_changed.subscribe()
    }

    fn notify_source(&self) {
        self.controls_changed.send_modify(|count| *count += 1);
    }

    fn recording(&self) -> io::Result<LiveRecording> {
        let number = self.recordings.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("{number}.jsonl"));
        LiveRecording::start(self.inspection.clone(), &path)
    }

    fn start_command(self: &Arc<Self>, command: ServerCommand) -> io::Result<()> {
        let recording = self.recording()?;
        let (requests, events) = self.connect_source();
        let task = tokio::spawn(command_source::run(command, recording, requests, events));
        self.controls().task = Some(task);
        Ok(())
    }

    /// Inspects a session of the host from now on.
    ///
    /// # Errors
    ///
    /// There is no host, or no room for a recording.
    pub fn attach(self: &Arc<Self>, session: String) -> io::Result<()> {
        let access = self.host.clone();
        let access = access.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "expected a host"))?;
        // Lines of other clients are not seen.
        self.inspection.set_view(View::Server);
        let recording = self.recording()?;
        let (requests, events) = self.connect_source();
        let task = tokio::spawn(host_source::run(access, session, recording, requests, events));
        self.controls().task = Some(task);
        Ok(())
    }

    /// Takes the place of the source so far, which ends.
    fn connect_source(self: &Arc<Self>) -> (mpsc::Receiver<SourceRequest>, mpsc::Sender<SourceEvent>) {
        let (to_source, requests) = mpsc::channel(PENDING_REQUESTS);
        let (events, mut from_source) = mpsc::channel(PENDING_REQUESTS);
        let number = {
            let mut controls = self.controls();
            controls.requests = Some(to_source);
            controls.sends = Ok(());
            controls.live = true;
            controls.number += 1;
            controls.number
        };
        let app = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(event) = from_source.recv().await {
                let Some(app) = app.upgrade() else { return };
                if app.controls().number == number {
                    app.take_event(event);
                }
            }
        });
        (requests, events)
    }

    fn take_event(&self, event: SourceEvent) {
        let mut controls = self.controls();
        match event {
            SourceEvent::Started(number) => {
                (controls.live, controls.sends) = (true, Ok(()));
                if let Source::Command { pid, exit, .. } = &mut controls.source {
                    (*pid, *exit) = (Some(number), None);
                }
            }
            SourceEvent::Ended(reason, code) => {
                (controls.live, controls.sends) = (false, Err(reason));
                if let Source::Command { pid, exit, .. } = &mut controls.source {
                    (*pid, *exit) = (None, code);
                }
            }
            SourceEvent::Attached(handle) => {
                if let Source::Host { session, .. } = &mut controls.source {
                    *session = Some(handle);
                }
            }
            SourceEvent::Dialect(name) => {
                drop(controls);
                if let Some(dialect) = DialectVersion::parse(&name) {
                    self.inspection.declare_dialect(dialect);
                }
            }
        }
        self.notify_source();
    }

    /// What is inspected.
    pub fn session(&self) -> Session {
        let (mut source, mut live, sends) = {
            let controls = self.controls();
            (controls.source.clone(), controls.live, controls.sends.clone())
        };
        let reading = self.inspection.reading();
        let state = self.inspection.state();
        if let Source::File { grows, .. } = &mut source {
            *grows = state.has_grown;
            live = state.has_grown;
        }
        let index = &state.index;
        Session {
            source,
            live,
            sends: sends.is_ok(),
            sends_not: sends.err(),
            dialect: state.spoken.dialect.as_str().to_owned(),
            version: state.spoken.version.map(|version| version.to_string()),
            dialect_by: state.origin,
            dialects: Dialect::ALL.map(|dialect| dialect.as_str().to_owned()).to_vec(),
            totals: *index.totals(),
            state: state_view(index.state_at(index.len())),
            reading,
            program: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// The command line of the server, or that of the original.
    pub fn server_command(&self) -> Vec<String> {
        match &self.controls().source {
            Source::Command { argv, .. } => argv.clone(),
            _ => ["pi", "--mode", "rpc"].map(str::to_owned).to_vec(),
        }
    }

    /// The open sessions of the host.
    ///
    /// # Errors
    ///
    /// There is no host, or it does not list them.
    pub async fn host_sessions(&self) -> Result<Vec<super::wire::HostSession>, String> {
        match &self.host {
            Some(access) => host_source::sessions(access).await,
            None => Err("there is no host".to_owned()),
        }
    }

    /// What the current dialect allows.
    pub fn dispositions(&self) -> Arc<Dispositions> {
        let dialect = self.inspection.state().spoken.dialect;
        let mut cached = lock(&self.dispositions);
        match &*cached {
            Some((of, dispositions)) if *of == dialect => dispositions.clone(),
            _ => {
                let dispositions = Arc::new(Dispositions::new(dialect));
                *cached = Some((dialect, dispositions.clone()));
                dispositions
            }
        }
    }

    /// Sends a line.
    ///
    /// # Errors
    ///
    /// Nothing can be sent, or the server does not read.
    pub async fn send(&self, text: String) -> Result<(), String> {
        let requests = {
            let controls = self.controls();
            controls.sends.clone()?;
            controls.requests.clone().ok_or("nothing has started yet")?
        };
        let (sent, answer) = oneshot::channel();
        let line = SourceRequest::Line(Line { text, sent });
        requests.send(line).await.map_err(|_| "the source is gone")?;
        answer.await.map_err(|_| "the source is gone".to_owned())?
    }

    /// Acts on the process of the server.
    ///
    /// # Errors
    ///
    /// The inspector has started none.
    pub async fn act(&self, action: ProcessAction) -> Result<(), String> {
        let requests = {
            let controls = self.controls();
            let is_command = matches!(controls.source, Source::Command { .. });
            controls
                .requests
                .clone()
                .filter(|_| is_command)
                .ok_or("expected a server that was started here")?
        };
        requests.send(SourceRequest::Process(action)).await.map_err(|_| "the source is gone".to_owned())
    }

    /// The matches of a filter, scanned further for a while.
    ///
    /// # Errors
    ///
    /// The filter is none.
    pub fn filtered(&self, query: FilterQuery) -> Result<Arc<Mutex<FilterView>>, String> {
        let generation = self.inspection.state().generation;
        let view = {
            let mut views = lock(&self.views);
            views.retain(|cached| cached.generation == generation);
            let known = views.iter().position(|cached| cached.query == query);
            let cached = match known.and_then(|at| views.remove(at)) {
                Some(cached) => cached,
                None => {
                    let view = Arc::new(Mutex::new(FilterView::new(query.clone())?));
                    CachedView { generation, query, view }
                }
            };
            let view = cached.view.clone();
            views.push_front(cached);
            views.truncate(MAX_VIEWS);
            view
        };
        self.scan(&mut lock(&view), generation);
        Ok(view)
    }

    fn scan(&self, view: &mut FilterView, generation: u64) {
        let deadline = Instant::now() + SCAN_TIME;
        while Instant::now() < deadline {
            let (candidates, scanned, file) = {
                let state = self.inspection.state();
                if state.generation != generation || view.scanned() >= state.index.len() {
                    return;
                }
                let (candidates, scanned) = view.candidates(&state.index, SCAN_STEP);
                (candidates, scanned, state.file_and_form())
            };
            if !view.needs_texts() {
                view.add(candidates.into_iter().map(|(number, _)| number), scanned);
                continue;
            }
            let Some((file, form)) = file else { return };
            let mut rest = candidates.as_slice();
            while let Some((first, facts)) = rest.first() {
                let start = facts.offset;
                let end = |facts: &super::facts::RecordFacts| facts.offset + u64::from(facts.span);
                let count = rest.partition_point(|(_, other)| end(other) - start <= SCAN_READ as u64).max(1);
                let (chunk, further) = rest.split_at(count);
                let length = chunk.last().map(|(_, last)| end(last) - start).unwrap_or_default();
                let bytes = file.read(start, length as usize).unwrap_or_default();
                let found = chunk.iter().filter(|(_, facts)| {
                    let from = (facts.offset - start) as usize;
                    let line = bytes.get(from..from + facts.span as usize).unwrap_or_default();
                    // Most lines are refused without being read as JSON.
                    view.matches_text(line) && body_matches(form, line, |body| view.matches_text(body))
                });
                let found: Vec<u32> = found.map(|(number, _)| *number).collect();
                let last = chunk.last().map_or(*first, |(number, _)| *number);
                view.add(found, last);
                rest = further;
                if Instant::now() >= deadline && !rest.is_empty() {
                    return;
                }
            }
            view.add([], scanned);
        }
    }

    /// The saved scripts, and the one that runs.
    pub fn scripts(&self) -> Scripts {
        Scripts { scripts: self.scripts.list(), running: lock(&self.running).clone() }
    }

    /// Runs a saved script: each line is sent when the response to the one before has come.
    ///
    /// # Errors
    ///
    /// There is none of this name, or another one runs.
    pub fn run_script(self: &Arc<Self>, name: &str) -> Result<(), String> {
        let script = self.scripts.read(name).ok_or_else(|| format!("{name}: there is no such script"))?;
        self.controls().sends.clone()?;
        let mut running = lock(&self.running);
        if let Some(running) = &*running {
            return Err(format!("{}: it runs already", running.name));
        }
        *running = Some(RunningScript { name: script.name.clone(), line: 0, of: script.lines.len() as u32 });
        drop(running);
        self.notify_source();
        let app = Arc::downgrade(self);
        tokio::spawn(async move {
            for line in script.lines {
                let Some(app) = app.upgrade() else { return };
                if app.send_and_wait(line).await.is_err() {
                    break;
                }
                if let Some(running) = &mut *lock(&app.running) {
                    running.line += 1;
                }
                app.notify_source();
            }
            if let Some(app) = app.upgrade() {
                *lock(&app.running) = None;
                app.notify_source();
            }
        });
        Ok(())
    }

    /// Sends a line and waits until no command is outstanding that was sent with or after it.
    async fn send_and_wait(&self, line: String) -> Result<(), String> {
        let mut changes = self.inspection.changes();
        let before = self.inspection.state().index.len();
        let kind: Option<String> = serde_json::from_str::<serde_json::Value>(&line)
            .ok()
            .and_then(|frame| frame["type"].as_str().map(str::to_owned));
        let is_command = kind.is_some_and(|kind| !super::figures::is_answer(&kind));
        self.send(line).await?;
        loop {
            let is_answered = {
                let state = self.inspection.state();
                let requests = state.index.figures().requests();
                let from = requests.partition_point(|request| request.record <= before);
                let own = &requests[from..];
                !is_command || !own.is_empty() && own.iter().all(|request| request.response > 0)
            };
            if is_answered {
                return Ok(());
            }
            self.controls().sends.clone()?;
            // A source that ends changes the index, too.
            let _ = timeout(Duration::from_secs(1), changes.changed()).await;
        }
    }
}

/// Locks what another thread cannot leave half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
