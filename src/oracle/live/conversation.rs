//! What is said between the host and a server: everything goes past the judge, and what the server says is kept until
//! the host looks at it.

use crate::{
    client::{Heard, Process, Signal, What, status_of},
    oracle::{Direction, Examination, Meta, Record, TraceWriter, View, report::Subject},
    protocol::{
        DialectVersion, FlowState, Inbound, LineSplitter, Outbound, RpcCommandKind, RpcExtensionUIRequest,
        RpcExtensionUIResponse, SplitLine, UIConfirmedResponse, UIValueResponse, errors, read, read_line,
    },
    secrets::redact_command_line,
};
use serde_json::Value;
use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
    time::Instant,
};
use tokio::{
    process::Command,
    time::{Instant as Deadline, timeout_at},
};

/// Lines of stderr that are kept for the report.
const STDERR_LINES: usize = 5;

/// A conversation, over all processes of one scenario.
pub struct Conversation {
    /// What the server said and nobody has looked at.
    pub unread_frames: VecDeque<Value>,
    /// Every dialog is answered as soon as it is heard of.
    pub answers_dialogs: bool,
    /// Dialogs that are to be answered.
    dialogs: VecDeque<RpcExtensionUIRequest>,
    /// A command that the dialect has and the server does not know.
    pub unknown_command: Option<RpcCommandKind>,
    dialect: DialectVersion,
    examination: Examination,
    records: u64,
    /// Where the conversation is kept.
    trace: Option<TraceWriter<BufWriter<File>>>,
    /// Why it could not be kept.
    trace_error: Option<io::Error>,
    process: Option<Process>,
    /// What was written, to be split into lines.
    written: LineSplitter,
    /// The ids of the requests that have no response, oldest first.
    open_requests: Vec<String>,
    /// How the last process ended.
    status: Option<i32>,
    /// Where the server keeps its session, as it said last.
    session_file: Option<PathBuf>,
    has_server_written: bool,
    stderr_tail: VecDeque<String>,
    since: Instant,
}

/// Why nothing more came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The time is over.
    TimedOut,
    /// The server has ended, with this status.
    Ended(i32),
}

impl Conversation {
    /// A conversation that has not begun, for the scenario called `name`. It is kept in `trace`, if that is given,
    /// and for a report that shows it with `timeline`.
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
            has_server_written: false,
            stderr_tail: VecDeque::new(),
            since: Instant::now(),
        }
    }

    /// Starts a process.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(&mut self, command: Command) -> io::Result<()> {
        let std = command.as_std();
        let words = std::iter::once(std.get_program()).chain(std.get_args());
        let argv = redact_command_line(words);
        self.process = Some(Process::spawn(command)?);
        self.written = LineSplitter::new(usize::MAX);
        (self.status, self.has_server_written) = (None, false);
        self.open_requests.clear();
        self.unread_frames.clear();
        self.dialogs.clear();
        let server = argv.first().map(String::as_str).unwrap_or_default();
        self.record_meta(&Meta::Spawn { argv: &argv, dialect: &self.dialect.to_string(), server });
        Ok(())
    }

    /// Writes bytes to the server.
    ///
    /// # Errors
    ///
    /// When the server does not read its input any more.
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

    /// Waits until the server does something more.
    ///
    /// # Errors
    ///
    /// When it does nothing until `deadline`, or has ended.
    pub async fn wait_for_output(&mut self, deadline: Deadline) -> Result<(), WaitError> {
        let Some(process) = &mut self.process else { return Err(WaitError::Ended(self.status.unwrap_or(0))) };
        match timeout_at(deadline, process.next()).await {
            Ok(Some(heard)) => {
                self.handle(heard);
                self.answer_dialogs(deadline).await;
                Ok(())
            }
            Ok(None) => Err(WaitError::Ended(self.status.unwrap_or(0))),
            Err(_) => Err(WaitError::TimedOut),
        }
    }

    /// Answers what was asked, while the server reads.
    async fn answer_dialogs(&mut self, deadline: Deadline) {
        while let Some(request) = self.dialogs.pop_front() {
            let Some(answer) = default_response(&request) else { continue };
            let Ok(mut line) = serde_json::to_vec(&Inbound::ExtensionUIResponse(answer)) else { continue };
            line.push(b'\n');
            // One that does not read any more, or has ended, shows in what it says.
            let _ = timeout_at(deadline, self.write(&line)).await;
        }
    }

    /// Ends the server's input.
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

    /// Stops to read the server's output, or goes on.
    pub fn set_listening(&mut self, listens: bool) {
        if let Some(process) = &mut self.process {
            process.set_listening(listens);
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

    /// Notes that somebody waited for `what` in vain.
    pub fn record_timeout(&mut self, what: &str) {
        self.record_meta(&Meta::Timeout { what });
    }

    /// Whether a process runs.
    pub const fn runs(&self) -> bool {
        self.process.is_some() && self.status.is_none()
    }

    /// How the process has ended, if it has.
    pub const fn status(&self) -> Option<i32> {
        self.status
    }

    /// Whether the process has said something.
    pub const fn has_written(&self) -> bool {
        self.has_server_written
    }

    /// Whether no run, compaction, retry, dialog and request is open, as far as frames tell; `None`: a prompt was
    /// acknowledged, which may or may not begin a run.
    pub fn is_idle(&self) -> Option<bool> {
        let state = self.examination.state();
        let quiet = state.asks == 0 && state.shell == 0 && self.open_requests.is_empty();
        match state.flow {
            FlowState::Starting if quiet => None,
            flow => Some(quiet && flow == FlowState::Idle),
        }
    }

    /// The last lines of stderr.
    pub fn stderr_tail(&self) -> impl Iterator<Item = &str> {
        self.stderr_tail.iter().map(String::as_str)
    }

    /// The conversation is over: what there is to say of it, and why it could not be kept, if it could not.
    pub fn finish(mut self) -> (Subject, Option<io::Error>) {
        let flushed = self.trace.as_mut().map_or(Ok(()), TraceWriter::flush);
        (self.examination.finish(), self.trace_error.or(flushed.err()))
    }

    /// Takes what was heard already, so that it stands before what is written next.
    fn take_pending_output(&mut self) {
        while let Some(heard) = self.process.as_mut().and_then(Process::heard) {
            self.handle(heard);
        }
    }

    fn handle(&mut self, Heard { at, what }: Heard) {
        match what {
            What::Line(line) | What::Unfinished(line) => {
                self.has_server_written = true;
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
            What::TooLong(length) => {
                let line = format!("a line of {length} bytes");
                self.record(&Record::line(self.t(at), Direction::Out, line.as_bytes()));
            }
            What::Stderr(line) => {
                self.record(&Record::line(self.t(at), Direction::Err, &line));
                self.stderr_tail.push_back(String::from_utf8_lossy(&line).into_owned());
                if self.stderr_tail.len() > STDERR_LINES {
                    self.stderr_tail.pop_front();
                }
            }
            What::Silent => {}
            What::Exited(status) => {
                let status = status_of(status);
                self.status = Some(status);
                self.record_meta(&Meta::Exit { code: status });
                // A server that was killed may not have written all of it.
                if let Some(file) = self.session_file.take().filter(|_| status < 128) {
                    self.record_session_file(&file);
                }
            }
        }
    }

    /// Notes what a frame of the server means for the host.
    fn track_response(&mut self, frame: &Value) {
        if frame["type"] != "response" {
            return;
        }
        match frame["id"].as_str() {
            Some(id) => self.open_requests.retain(|open| open != id),
            // A refusal that does not say whose it is; those that do not are given in order.
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

    /// Shows the judge what the server has kept, if it has.
    fn record_session_file(&mut self, file: &Path) {
        let Ok(text) = fs::read_to_string(file) else { return };
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
        self.examination.observe(self.records, record);
        let written = self.trace.as_mut().map_or(Ok(()), |trace| trace.write(record));
        self.trace_error = self.trace_error.take().or(written.err());
    }

    /// Milliseconds since the conversation began.
    fn t(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.since).as_secs_f64() * 1000.0
    }
}

/// What somebody in a hurry answers: the first choice, yes, any text. `None`: it is no dialog.
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
