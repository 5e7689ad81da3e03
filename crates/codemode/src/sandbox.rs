//! The process that runs a script, as its user sees it.

use crate::{
    limits::{MAX_COMPUTING, MAX_OUTPUT, MAX_OUTPUT_ITEMS, NAME, ROLE},
    messages::{Answer, CallTarget, OutputItem, Report, ScriptTool, Start},
};
use pi_rpc_processes::{Group, Processes, line_reader::LineReader};
use serde_json::Value;
use std::{collections::BTreeMap, os::unix::process::ExitStatusExt as _, path::PathBuf, process::Stdio};
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
};

/// The longest line that the process may write, in bytes: the largest output, escaped.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// Bytes that all lines of a script may have together.
const MAX_LINES: usize = 512 * 1024 * 1024;

/// Answers that wait for the script.
const QUEUE: usize = 64;

/// The program that is started to run scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProgram(PathBuf);

impl SandboxProgram {
    /// This program itself, also if another one is in its place by now. Its `main` must hand over to `work`.
    ///
    /// # Errors
    ///
    /// Its file cannot be found.
    #[cfg(feature = "quickjs")]
    pub fn own() -> std::io::Result<Self> {
        match cfg!(target_os = "linux") {
            true => Ok(Self("/proc/self/exe".into())),
            false => std::env::current_exe().map(Self),
        }
    }
}

/// What is run.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The body of an async function.
    pub code: String,
    /// The tools that it may call.
    pub tools: Vec<ScriptTool>,
    /// The names of further functions that it may call.
    pub functions: Vec<String>,
    /// What `load` finds.
    pub store: BTreeMap<String, Value>,
}

/// A script that runs. Dropping it ends its process.
pub struct Sandbox {
    child: Child,
    _group: Group,
    lines: LineReader<ChildStdout>,
    answers: mpsc::Sender<Answer>,
    /// Bytes, characters of output, and items of output so far.
    counts: (usize, usize, usize),
}

/// What a script does.
#[derive(Debug)]
pub enum Event {
    /// It calls something.
    Call {
        /// The id for the answer.
        id: u64,
        /// What kind of thing it calls.
        target: CallTarget,
        /// The name of the tool or function.
        name: String,
        /// The arguments; `None`: undefined.
        arguments: Option<Value>,
    },
    /// It puts something out.
    Output(OutputItem),
    /// It has ended; nothing follows.
    Done(Result<Completion, Failure>),
}

/// The end of a script that has not failed.
#[derive(Debug, Default, PartialEq)]
pub struct Completion {
    /// What it returned.
    pub value: Option<Value>,
    /// What it stored; `None`: it has removed the key.
    pub writes: BTreeMap<String, Option<Value>>,
}

/// Why a script has failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// By itself: the error with its frames.
    Script(String),
    /// With its process.
    Sandbox(String),
}

impl Sandbox {
    /// Starts a script.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub fn start(program: &SandboxProgram, processes: &Processes, script: Script) -> Result<Self, String> {
        let mut command = Command::new(&program.0);
        command.arg0(NAME).arg(ROLE).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let (mut child, group) = processes.spawn(&mut command).map_err(|error| error.to_string())?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or("its pipes are missing")?;
        let store = script.store.into_iter().map(|(key, value)| (key, value.to_string())).collect();
        let Script { code, tools, functions, .. } = script;
        let start = Start { code, tools, functions, store };
        let first = line(&start).map_err(|error| error.to_string())?;
        let (answers, queue) = mpsc::channel(QUEUE);
        // Ends with the sandbox, and when the process reads no more.
        tokio::spawn(feed(stdin, first, queue));
        let lines = LineReader::new(stdout, MAX_LINE);
        Ok(Self { child, _group: group, lines, answers, counts: (0, 0, 0) })
    }

    /// What the script does next. Cancel-safe until the script has ended.
    pub async fn next(&mut self) -> Event {
        let line = match self.lines.next_or_fail().await {
            Ok(Some(line)) => line,
            Ok(None) => return Event::Done(Err(Failure::Sandbox(self.reason().await))),
            Err(error) => return Event::Done(Err(Failure::Sandbox(error.to_string()))),
        };
        self.read(&line).unwrap_or_else(|reason| Event::Done(Err(Failure::Sandbox(reason))))
    }

    /// Answers a call; dropped if the script has ended.
    pub async fn answer(&self, id: u64, outcome: Result<Option<Value>, String>) {
        let answer = match outcome {
            Ok(value) => Answer { id, value: value.map(|value| value.to_string()), error: None },
            Err(error) => Answer { id, value: None, error: Some(error) },
        };
        let _ = self.answers.send(answer).await;
    }

    /// An event from a line; the error is what is wrong with it.
    fn read(&mut self, line: &[u8]) -> Result<Event, String> {
        let (bytes, characters, items) = &mut self.counts;
        *bytes += line.len();
        let report: Report =
            serde_json::from_slice(line).map_err(|error| format!("it wrote what is no message: {error}"))?;
        if let Report::Output { item } = &report {
            let (OutputItem::Text { text }
            | OutputItem::Console { text }
            | OutputItem::Image { data: text, .. }) = item;
            *characters += text.encode_utf16().count();
            *items += 1;
        }
        if *bytes > MAX_LINES || *characters > MAX_OUTPUT || *items > MAX_OUTPUT_ITEMS {
            return Err("it wrote more than a script may".to_owned());
        }
        let value = |text: String| -> Result<Value, String> {
            serde_json::from_str(&text).map_err(|error| format!("it wrote what is no JSON: {error}"))
        };
        Ok(match report {
            Report::Call { id, target, name, arguments } => {
                Event::Call { id, target, name, arguments: arguments.map(value).transpose()? }
            }
            Report::Output { item } => Event::Output(item),
            Report::Done { error: Some(error), .. } => Event::Done(Err(Failure::Script(error))),
            Report::Done { value: returned, writes, .. } => {
                let read = |(key, text): (String, Option<String>)| Ok((key, text.map(value).transpose()?));
                Event::Done(Ok(Completion {
                    value: returned.map(value).transpose()?,
                    writes: writes.into_iter().map(read).collect::<Result<_, String>>()?,
                }))
            }
        })
    }

    /// Why the process has ended without a word.
    async fn reason(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) if matches!(status.signal(), Some(KILL | CPU)) => {
                format!("it was killed, which it is after {MAX_COMPUTING} seconds of computing")
            }
            Ok(status) => format!("its process has ended ({status})"),
            Err(error) => error.to_string(),
        }
    }
}

/// The signals by which the kernel keeps the limit of time: `SIGKILL`, `SIGXCPU`.
const KILL: i32 = 9;
const CPU: i32 = 24;

/// Writes the script and the answers.
async fn feed(mut stdin: ChildStdin, first: Vec<u8>, mut answers: mpsc::Receiver<Answer>) {
    let mut next = Some(first);
    while let Some(line) = next {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
        next = match answers.recv().await {
            Some(answer) => self::line(&answer).ok(),
            None => None,
        };
    }
}

fn line(message: &impl serde::Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
