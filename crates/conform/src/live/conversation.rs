//! The conversation between the scenario's host and a server: recorded, judged, and queued for the steps of the scenario.

use pi_rpc_client::{Process, ProcessEvent, ProcessEventKind, Signal, shell_status};
use pi_rpc_files::{
    regular_files::{self, SERVER_FILE},
    secrets::redact_command_line,
};
use pi_rpc_oracle::{Examination, View, report::Subject};
use pi_rpc_processes::environment_search::{FoundProcess, processes_with_variable};
use pi_rpc_protocol::{
    DialectVersion, FlowState, Inbound, LineSplitter, Outbound, RpcCommandKind, RpcExtensionUIRequest,
    RpcExtensionUIResponse, SplitLine, UIConfirmedResponse, UIValueResponse, errors, read, read_line,
};
use pi_rpc_recording::{DialectMismatch, DialectSample, Direction, Meta, Record, TraceWriter};
use serde_json::Value;
use std::{
    collections::VecDeque,
    ffi::OsString,
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::{
    process::Command,
    time::{Instant as Deadline, sleep, timeout_at},
};

/// The number of last lines of stderr that are kept for the report.
const STDERR_LINES: usize = 5;

/// How long what the server has started may outlive it: it has been told to end, and needs a moment for it.
const LAST_MOMENT: Duration = Duration::from_secs(3);

/// The interval at which processes are looked for again.
const LOOK: Duration = Duration::from_millis(20);

/// A conversation with all processes of one scenario.
pub struct Conversation {
    /// Frames of the server that no step has consumed.
    pub unread_frames: VecDeque<Value>,
    /// Whether dialogs are answered as soon as they arrive.
    pub answers_dialogs: bool,
    /// Dialogs to answer.
    dialogs: VecDeque<RpcExtensionUIRequest>,
    /// A command of the dialect that the server has refused as unknown.
    pub unknown_command: Option<RpcCommandKind>,
    dialect: DialectVersion,
    examination: Examination,
    records: u64,
    /// The recording.
    trace: Option<TraceWriter<BufWriter<File>>>,
    /// The first error in writing the recording.
    trace_error: Option<io::Error>,
    process: Option<Process>,
    /// Bytes written to the server, to be split into lines.
    written: LineSplitter,
    /// The ids of outstanding commands, oldest first.
    open_requests: Vec<String>,
    /// The exit status of the last process, if it has ended.
    status: Option<i32>,
    /// The path of the session file, by the latest `get_state` response.
    session_file: Option<PathBuf>,
    /// The home of the process, by which those that it has started are found; `None` once they were looked for.
    home: Option<OsString>,
    has_server_written: bool,
    /// Whether any process has written a line.
    has_ever_written: bool,
    /// Frames that show the dialect.
    sample: DialectSample,
    stderr_tail: VecDeque<String>,
    since: Instant,
}

/// The reason why no more output came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The deadline has passed.
    TimedOut,
    /// The server has exited with this status.
    Ended(i32),
}

impl Conversation {
    /// Creates a conversation without a process, for the scenario called `name`. It is recorded in `trace`, if given, and with
    /// `timeline` also for the report.
    pub fn new(
        name: &str,
        dialect: DialectVersion,
        trace: Option<TraceWriter<BufWriter<File>>>,
        timeline: bool,
    ) -> Self {
        let examination = Examination::new(name, dialect, View::Both);
        Self {
            unread_frames: VecDeque::new(),
            answers_dialogs: false,
            dialogs: VecDeque::new(),
            unknown_command: None,
            dialect,
            examination: if timeline { examination.with_timeline() } else { examination },
            records: 0,
            trace,
            trace_error: None,
            process: None,
            written: LineSplitter::new(usize::MAX),
            open_requests: Vec::new(),
            status: None,
            session_file: None,
            home: None,
            has_server_written: false,
            has_ever_written: false,
            sample: DialectSample::new(),
            stderr_tail: VecDeque::new(),
            since: Instant::now(),
        }
    }

    /// Starts a server process.
    ///
    /// # Errors
    ///
    /// When the process cannot be started.
    pub fn start(&mut self, command: Command) -> io::Result<()> {
        let std = command.as_std();
        let words = std::iter::once(std.get_program()).chain(std.get_args());
        let argv = redact_command_line(words);
        let home = std.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, home)| home);
        self.home = home.map(ToOwned::to_owned);
        self.process = Some(Process::spawn(command)?);
        self.written = LineSplitter::new(usize::MAX);
        (self.status, self.has_server_written) = (None, false);
        self.open_requests.clear();
        self.unread_frames.clear();
        self.dialogs.clear();
        let server = argv.first().map(String::as_str).unwrap_or_default();
        self.record_meta(&Meta::Spawn { argv: &argv, dialect: Some(&self.dialect.to_string()), server });
        Ok(())
    }

    /// Writes bytes to the server.
    ///
    /// # Errors
    ///
    /// When the server has closed its input.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.take_pending_output();
        let now = Instant::now();
        self.written.push(bytes);
        while let Some(line) = next_written(&mut self.written) {
            self.record_line_written(&line, now);
        }
        match &mut self.process {
            Some(process) => process.write(bytes).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits for the next output or event of the server.
    ///
    /// # Errors
    ///
    /// When none comes until `deadline`, or the server has exited.
    pub async fn wait_for_output(&mut self, deadline: Deadline) -> Result<(), WaitError> {
        let Some(process) = &mut self.process else { return Err(WaitError::Ended(self.status.unwrap_or(0))) };
        match timeout_at(deadline, process.next()).await {
            Ok(Some(output)) => {
                self.handle(output);
                self.answer_dialogs(deadline).await;
                Ok(())
            }
            Ok(None) => Err(WaitError::Ended(self.status.unwrap_or(0))),
            Err(_) => Err(WaitError::TimedOut),
        }
    }

    /// Answers the queued dialogs with default responses.
    async fn answer_dialogs(&mut self, deadline: Deadline) {
        while let Some(request) = self.dialogs.pop_front() {
            let Some(answer) = default_response(&request) else { continue };
            let Ok(mut line) = serde_json::to_vec(&Inbound::ExtensionUIResponse(answer)) else { continue };
            line.push(b'\n');
            // That a server has closed its input or exited, its next event shows.
            let _ = timeout_at(deadline, self.write(&line)).await;
        }
    }

    /// Records what the process, which has exited, has started and still runs, and kills it.
    pub async fn record_processes_left(&mut self) {
        let Some(home) = self.home.take() else { return };
        let deadline = Deadline::now() + LAST_MOMENT;
        let left = loop {
            let Some(left) = processes_with_variable("HOME", &home) else { return };
            if left.is_empty() || Deadline::now() >= deadline {
                break left;
            }
            sleep(LOOK).await;
        };
        left.iter().for_each(FoundProcess::kill);
        let commands: Vec<String> = left.into_iter().map(|process| process.command).collect();
        self.record_meta(&Meta::ProcessesLeft { commands: &commands });
    }

    /// Closes the server's input.
    pub fn close_input(&mut self) {
        self.take_pending_output();
        let rest = match self.written.finish() {
            Some(SplitLine::Line(rest)) => Some(rest.to_vec()),
            _ => None,
        };
        if let Some(rest) = rest {
            self.record_line_written(&rest, Instant::now());
        }
        if let Some(process) = self.process.as_mut().filter(|process| process.input_is_open()) {
            process.close_input();
            self.record_meta(&Meta::StdinClosed);
        }
    }

    /// Closes the host's end of the server's output.
    pub fn close_output(&mut self) {
        self.take_pending_output();
        if let Some(process) = &mut self.process {
            process.close_output();
            self.record_meta(&Meta::StdoutClosed);
        }
    }

    /// Stops or resumes reading the server's output.
    pub fn set_reading(&mut self, listens: bool) {
        if let Some(process) = &mut self.process {
            process.set_reading(listens);
        }
    }

    /// Sends a signal to the server.
    pub fn signal(&mut self, signal: Signal) {
        self.take_pending_output();
        self.record_meta(&Meta::Signal { number: signal.as_raw() });
        if let Some(process) = &self.process {
            process.signal(signal);
        }
    }

    /// Records that a step waited for `what` in vain.
    pub fn record_timeout(&mut self, what: &str) {
        self.record_meta(&Meta::Timeout { what });
    }

    /// Whether a process runs.
    pub const fn runs(&self) -> bool {
        self.process.is_some() && self.status.is_none()
    }

    /// The exit status of the process, if it has ended.
    pub const fn status(&self) -> Option<i32> {
        self.status
    }

    /// Whether the process has written a line.
    pub const fn has_written(&self) -> bool {
        self.has_server_written
    }

    /// Whether any process has written a line.
    pub const fn has_ever_written(&self) -> bool {
        self.has_ever_written
    }

    /// The dialect that the server plainly speaks, if it is another one than the judged one.
    pub fn dialect_mismatch(&self) -> Option<DialectMismatch> {
        self.sample.mismatch(self.dialect.dialect)
    }

    /// Whether no run, compaction, retry, dialog or command is outstanding, judging by frames; `None` if a prompt was
    /// acknowledged and it is open whether a run begins.
    pub fn is_idle(&self) -> Option<bool> {
        let state = self.examination.state();
        let quiet = state.dialogs == 0 && state.shell == 0 && self.open_requests.is_empty();
        match state.flow {
            FlowState::Starting if quiet => None,
            flow => Some(quiet && flow == FlowState::Idle),
        }
    }

    /// The last lines of stderr.
    pub fn stderr_tail(&self) -> impl Iterator<Item = &str> {
        self.stderr_tail.iter().map(String::as_str)
    }

    /// Ends the conversation. Returns the subject for the report, and the error in writing the recording, if any.
    pub fn finish(mut self) -> (Subject, Option<io::Error>) {
        let flushed = self.trace.as_mut().map_or(Ok(()), TraceWriter::flush);
        (self.examination.finish(), self.trace_error.or(flushed.err()))
    }

    /// Records output that has already arrived, so that it precedes what is written next.
    fn take_pending_output(&mut self) {
        while let Some(output) = self.process.as_mut().and_then(Process::try_next) {
            self.handle(output);
        }
    }

    fn handle(&mut self, ProcessEvent { at, kind: what }: ProcessEvent) {
        match what {
            ProcessEventKind::Line(line) | ProcessEventKind::Unfinished(line) => {
                (self.has_server_written, self.has_ever_written) = (true, true);
                let frame: Option<Value> = serde_json::from_slice(&line).ok();
                if self.answers_dialogs
                    && let Ok(Outbound::ExtensionUIRequest(request)) = read(&line, self.dialect.dialect)
                {
                    self.dialogs.push_back(request);
                }
                self.record(&Record::line(self.t(at), Direction::Out, &line));
                if let Some(frame) = frame {
                    self.track_response(&frame);
                    self.unread_frames.push_back(frame);
                }
            }
            ProcessEventKind::TooLong(length) => {
                let line = format!("a line of {length} bytes");
                self.record(&Record::line(self.t(at), Direction::Out, line.as_bytes()));
            }
            ProcessEventKind::Stderr(line) => {
                self.record(&Record::line(self.t(at), Direction::Err, &line));
                self.stderr_tail.push_back(String::from_utf8_lossy(&line).into_owned());
                if self.stderr_tail.len() > STDERR_LINES {
                    self.stderr_tail.pop_front();
                }
            }
            ProcessEventKind::OutputClosed => {}
            ProcessEventKind::Exited(status) => {
                let status = shell_status(status);
                self.status = Some(status);
                self.record_meta(&Meta::Exit { code: status });
                // A server that was killed may not have written the whole file.
                if let Some(file) = self.session_file.take().filter(|_| status < 128) {
                    self.record_session_file(&file);
                }
            }
        }
    }

    /// Tracks outstanding commands, the session file and unknown commands by a response.
    fn track_response(&mut self, frame: &Value) {
        if frame["type"] != "response" {
            return;
        }
        match frame["id"].as_str() {
            Some(id) => self.open_requests.retain(|open| open != id),
            // An error response without an id belongs to the oldest outstanding command.
            None if !self.open_requests.is_empty() => drop(self.open_requests.remove(0)),
            None => {}
        }
        if frame["command"] == RpcCommandKind::GetState.as_str() && frame["success"] == true {
            self.session_file = frame["data"]["sessionFile"].as_str().map(PathBuf::from);
        }
        let base = self.dialect.base();
        let command =
            frame["command"].as_str().and_then(RpcCommandKind::parse).filter(|kind| kind.is_in(base));
        self.unknown_command = self.unknown_command.or(command.filter(|command| {
            frame["success"] == false && frame["error"] == errors::unknown_command(base, command.as_str())
        }));
    }

    /// Records the content of the session file, if there is one.
    fn record_session_file(&mut self, file: &Path) {
        let Ok(text) = regular_files::read_to_string(file, SERVER_FILE) else { return };
        let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| line.into());
        let lines: Vec<Value> = text.lines().map(line).collect();
        self.record_meta(&Meta::SessionFile { lines: &lines });
    }

    fn record_line_written(&mut self, line: &[u8], at: Instant) {
        if let Ok(Some(Inbound::Command(command))) = read_line(line, self.dialect.dialect) {
            self.open_requests.extend(command.id().map(ToString::to_string));
        }
        self.record(&Record::line(self.t(at), Direction::In, line));
    }

    fn record_meta(&mut self, meta: &Meta<'_>) {
        self.record(&Record::meta(self.t(Instant::now()), meta));
    }

    fn record(&mut self, record: &Record<'_>) {
        self.records += 1;
        self.sample.add(self.records, record);
        self.examination.observe(self.records, record);
        let written = self.trace.as_mut().map_or(Ok(()), |trace| trace.write(record));
        self.trace_error = self.trace_error.take().or(written.err());
    }

    /// Milliseconds since the conversation began.
    fn t(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.since).as_secs_f64() * 1000.0
    }
}

/// The response of a host without a user: the first choice, yes, or some text. `None` if the request is not a dialog.
fn default_response(request: &RpcExtensionUIRequest) -> Option<RpcExtensionUIResponse> {
    let id = request.id().to_owned();
    let value = match request {
        RpcExtensionUIRequest::Select(request) => request.options.first().cloned().unwrap_or_default(),
        RpcExtensionUIRequest::Confirm(_) => {
            return Some(RpcExtensionUIResponse::UIConfirmedResponse(UIConfirmedResponse {
                id,
                confirmed: true,
            }));
        }
        RpcExtensionUIRequest::Input(_) | RpcExtensionUIRequest::Editor(_) => "as you like".to_owned(),
        _ => return None,
    };
    Some(RpcExtensionUIResponse::UIValueResponse(UIValueResponse { id, value }))
}

fn next_written(written: &mut LineSplitter) -> Option<Vec<u8>> {
    match written.next_line()? {
        SplitLine::Line(line) => Some(line.to_vec()),
        SplitLine::TooLong(_) => None,
    }
}
