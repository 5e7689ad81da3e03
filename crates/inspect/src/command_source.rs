//! A server that the inspector starts, and whose client it is.

use super::{
    live_recording::LiveRecording,
    sender::{Line, SourceEvent, SourceRequest},
    wire::ProcessAction,
};
use pi_rpc_client::{Process, ProcessEventKind, Signal, shell_status};
use pi_rpc_protocol::FRAME_LIMIT;
use pi_rpc_recording::{Direction, Meta};
use std::{ffi::OsString, io, time::Duration};
use tokio::{
    io::AsyncWriteExt as _,
    process::{ChildStdin, Command},
    sync::mpsc::{self, Receiver, Sender},
};

/// A server to start.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    /// The program, as the shell would find it.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The whole command line with credentials redacted.
    pub shown: Vec<String>,
    /// The dialect that it is expected to speak, if the user names one.
    pub dialect: Option<String>,
}

/// Lines that wait for the server to read them.
const PENDING_LINES: usize = 64;
/// How long the server has after its input was closed at the end.
const CLOSE_TIME: Duration = Duration::from_secs(3);
/// How long the server has after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the server, and again when it is wanted, until `requests` is closed.
pub async fn run(
    command: ServerCommand,
    recording: LiveRecording,
    mut requests: Receiver<SourceRequest>,
    events: Sender<SourceEvent>,
) {
    loop {
        let ended = match spawn(&command) {
            Ok(process) => {
                let _ = events.send(SourceEvent::Started(process.id())).await;
                recording.event(&Meta::Spawn {
                    argv: &command.shown,
                    dialect: command.dialect.as_deref(),
                    server: command.shown.first().map(|word| base_name(word)).unwrap_or_default(),
                });
                serve(process, &recording, &mut requests, &events).await
            }
            Err(error) => {
                let text = format!("cannot start {}: {error}", command.program.to_string_lossy());
                recording.line(Direction::Err, text.as_bytes());
                let _ = events.send(SourceEvent::Ended(text, None)).await;
                End::Exited
            }
        };
        match ended {
            End::Restart => {}
            End::Closed => return,
            End::Exited => loop {
                match requests.recv().await {
                    Some(SourceRequest::Process(ProcessAction::Restart)) => break,
                    Some(_) => {}
                    None => return,
                }
            },
        }
    }
}

/// Why a process is over.
enum End {
    Exited,
    Restart,
    Closed,
}

fn spawn(command: &ServerCommand) -> io::Result<Process> {
    let mut process = Command::new(&command.program);
    process.args(&command.arguments);
    Process::spawn_with_limit(process, FRAME_LIMIT)
}

async fn serve(
    mut process: Process,
    recording: &LiveRecording,
    requests: &mut Receiver<SourceRequest>,
    events: &Sender<SourceEvent>,
) -> End {
    let (lines, pending) = mpsc::channel(PENDING_LINES);
    let writer =
        process.take_input().map(|input| tokio::spawn(write_lines(input, pending, recording.clone())));
    let mut lines = Some(lines);
    // Whether the server may be further than the index: then it is not read.
    let (mut restarts, mut is_ahead) = (false, false);
    loop {
        tokio::select! {
            event = process.next(), if !is_ahead => {
                let Some(event) = event else { break };
                match event.kind {
                    ProcessEventKind::Line(line) => recording.line(Direction::Out, &line),
                    ProcessEventKind::Unfinished(rest) => recording.unended(Direction::Out, &rest),
                    ProcessEventKind::TooLong(bytes) => recording.event(&Meta::Lost { bytes: bytes as u64 }),
                    ProcessEventKind::Stderr(line) => recording.line(Direction::Err, &line),
                    ProcessEventKind::OutputClosed => {}
                    ProcessEventKind::Exited(status) => {
                        // The host has not closed this pipe: the server is gone.
                        if let Some(writer) = &writer {
                            writer.abort();
                        }
                        let code = shell_status(status);
                        recording.event(&Meta::Exit { code });
                        let text = format!("the server has exited with status {code}");
                        let _ = events.send(SourceEvent::Ended(text, Some(code))).await;
                    }
                }
                is_ahead = true;
            }
            () = recording.wait_for_index(), if is_ahead => is_ahead = false,
            request = requests.recv() => match request {
                None => {
                    drop(lines.take());
                    let is_over = async { while process.next().await.is_some() {} };
                    // One that stays is killed.
                    let _ = tokio::time::timeout(CLOSE_TIME, is_over).await;
                    return End::Closed;
                }
                Some(SourceRequest::Line(Line { text, sent })) => {
                    let taken = lines.as_ref().is_some_and(|lines| lines.try_send(text).is_ok());
                    let refusal = "the server's input is closed, or it does not read".to_owned();
                    let _ = sent.send(if taken { Ok(()) } else { Err(refusal) });
                }
                Some(SourceRequest::Process(action)) => {
                    match action {
                        ProcessAction::CloseInput => lines = None,
                        ProcessAction::Kill => process.signal(Signal::KILL),
                        ProcessAction::Terminate => process.signal(Signal::TERM),
                        ProcessAction::Restart => {
                            restarts = true;
                            lines = None;
                            process.signal(Signal::TERM);
                        }
                    }
                    if let Some(number) = signal_of(action) {
                        recording.event(&Meta::Signal { number });
                    }
                }
            },
            () = tokio::time::sleep(PATIENCE), if restarts => process.signal(Signal::KILL),
        }
    }
    if restarts { End::Restart } else { End::Exited }
}

/// Writes lines to the server, each recorded before the server can have read it.
async fn write_lines(mut input: ChildStdin, mut lines: Receiver<String>, recording: LiveRecording) {
    while let Some(line) = lines.recv().await {
        recording.line(Direction::In, line.as_bytes());
        if input.write_all(format!("{line}\n").as_bytes()).await.is_err() {
            return;
        }
    }
    drop(input);
    recording.event(&Meta::StdinClosed);
}

const fn signal_of(action: ProcessAction) -> Option<i32> {
    match action {
        ProcessAction::CloseInput => None,
        ProcessAction::Terminate | ProcessAction::Restart => Some(Signal::TERM.as_raw()),
        ProcessAction::Kill => Some(Signal::KILL.as_raw()),
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
