//! Terminals that the agent opens at its client: shell commands with their output, run as the `bash` tool runs its own.

use agent_client_protocol::{
    Error,
    v1::schema::{
        CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, KillTerminalResponse,
        ReleaseTerminalRequest, ReleaseTerminalResponse, TerminalExitStatus, TerminalId,
        TerminalOutputRequest, TerminalOutputResponse, WaitForTerminalExitRequest,
        WaitForTerminalExitResponse,
    },
};
use pi_rpc_processes::Processes;
use pi_rpc_tools::{CommandEnd, ShellControl, ShellOptions, run_shell};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Bytes of output that are kept of a terminal whose agent sets no limit.
const USUAL_LIMIT: usize = 1024 * 1024;

/// Terminals that may be open at a time.
const MAX_TERMINALS: usize = 64;

/// Pieces of output that wait to be kept.
const PIECES: usize = 4;

/// The terminals of one agent.
#[derive(Clone)]
pub struct Terminals {
    directory: PathBuf,
    options: ShellOptions,
    processes: Processes,
    open: Arc<Mutex<HashMap<String, Terminal>>>,
    made: Arc<std::sync::atomic::AtomicU64>,
}

struct Terminal {
    output: Arc<Mutex<Output>>,
    exit: watch::Receiver<Option<TerminalExitStatus>>,
    cancel: CancellationToken,
}

/// The end of a terminal's output.
#[derive(Default)]
struct Output {
    text: String,
    is_cut: bool,
}

impl Terminals {
    /// No terminal is open yet; commands run in `directory` unless the agent names another one.
    pub fn new(directory: PathBuf, options: ShellOptions, processes: Processes) -> Self {
        Self { directory, options, processes, open: Arc::default(), made: Arc::default() }
    }

    /// Starts a command.
    pub fn create(&self, request: CreateTerminalRequest) -> Result<CreateTerminalResponse, Error> {
        if self.lock().len() >= MAX_TERMINALS {
            return Err(invalid(format!("terminal/create: {MAX_TERMINALS} terminals are open already")));
        }
        let limit = request
            .output_byte_limit
            .map_or(USUAL_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX).min(USUAL_LIMIT * 16));
        let command = command_line(&request);
        let directory = request.cwd.unwrap_or_else(|| self.directory.clone());
        let number = self.made.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let id = format!("terminal-{number}");
        let (report, exit) = watch::channel(None);
        let cancel = CancellationToken::new();
        let output = Arc::new(Mutex::new(Output::default()));
        let terminal = Terminal { output: output.clone(), exit, cancel: cancel.clone() };
        self.lock().insert(id.clone(), terminal);
        let (options, processes) = (self.options.clone(), self.processes.clone());
        tokio::spawn(async move {
            let (follower, mut pieces) = mpsc::channel::<String>(PIECES);
            let (_open, gate) = watch::channel(true);
            let control = ShellControl { cancel, gate, progress: None, follower: Some(follower), processes };
            let run = run_shell(&command, &directory, &options, control);
            let keep = async {
                while let Some(piece) = pieces.recv().await {
                    lock(&output).push(&piece, limit);
                }
            };
            let (ended, ()) = tokio::join!(run, keep);
            let status = match ended {
                Ok(outcome) => exit_status(outcome.ending),
                Err(error) => {
                    lock(&output).push(&error.to_string(), limit);
                    TerminalExitStatus::new().exit_code(127_u32)
                }
            };
            // Fails only once the terminal is released.
            let _ = report.send(Some(status));
        });
        Ok(CreateTerminalResponse::new(TerminalId::new(id)))
    }

    /// The output so far.
    pub fn output(&self, request: &TerminalOutputRequest) -> Result<TerminalOutputResponse, Error> {
        self.with(&request.terminal_id, |terminal| {
            let output = lock(&terminal.output);
            TerminalOutputResponse::new(output.text.clone(), output.is_cut)
                .exit_status(terminal.exit.borrow().clone())
        })
    }

    /// The output of a terminal that is open, for a tool call that shows it.
    pub fn text(&self, id: &str) -> Option<String> {
        self.lock().get(id).map(|terminal| lock(&terminal.output).text.clone())
    }

    /// Waits for the end of the command.
    pub fn exit(
        &self,
        request: &WaitForTerminalExitRequest,
    ) -> impl Future<Output = Result<WaitForTerminalExitResponse, Error>> + Send + use<> {
        let exit = self.with(&request.terminal_id, |terminal| terminal.exit.clone());
        async move {
            let mut exit = exit?;
            let ended = exit.wait_for(Option::is_some).await.map(|status| status.clone());
            let status = ended.ok().flatten().unwrap_or_default();
            Ok(WaitForTerminalExitResponse::new(status))
        }
    }

    /// Ends the command; the terminal stays open.
    pub fn kill(&self, request: &KillTerminalRequest) -> Result<KillTerminalResponse, Error> {
        self.with(&request.terminal_id, |terminal| terminal.cancel.cancel())?;
        Ok(KillTerminalResponse::new())
    }

    /// Ends the command and forgets the terminal.
    pub fn release(&self, request: &ReleaseTerminalRequest) -> Result<ReleaseTerminalResponse, Error> {
        self.with(&request.terminal_id, |terminal| terminal.cancel.cancel())?;
        self.lock().remove(&*request.terminal_id.0);
        Ok(ReleaseTerminalResponse::new())
    }

    /// Ends all commands: the agent is gone.
    pub fn release_all(&self) {
        self.lock().drain().for_each(|(_, terminal)| terminal.cancel.cancel());
    }

    fn with<T>(&self, id: &TerminalId, use_it: impl FnOnce(&Terminal) -> T) -> Result<T, Error> {
        let open = self.lock();
        let terminal = open.get(&*id.0);
        terminal.map(use_it).ok_or_else(|| invalid(format!("terminalId: no terminal {} is open", id.0)))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Terminal>> {
        lock(&self.open)
    }
}

impl Output {
    /// Appends a piece and drops the beginning of what is more than `limit` bytes.
    fn push(&mut self, piece: &str, limit: usize) {
        self.text.push_str(piece);
        if self.text.len() > limit {
            let mut cut = self.text.len() - limit;
            while !self.text.is_char_boundary(cut) {
                cut += 1;
            }
            self.text.drain(..cut);
            self.is_cut = true;
        }
    }
}

/// The request as a line for a shell. Without arguments the command is a line already, as agents send it.
fn command_line(request: &CreateTerminalRequest) -> String {
    let exports =
        request.env.iter().map(|variable| format!("export {}={}; ", variable.name, quoted(&variable.value)));
    let exports: String = exports.collect();
    match request.args.is_empty() {
        true => format!("{exports}{}", request.command),
        false => {
            let arguments = request.args.iter().map(|argument| quoted(argument));
            let words: Vec<String> = std::iter::once(quoted(&request.command)).chain(arguments).collect();
            format!("{exports}{}", words.join(" "))
        }
    }
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn exit_status(end: CommandEnd) -> TerminalExitStatus {
    match end {
        CommandEnd::Exited(code) => TerminalExitStatus::new().exit_code(u32::try_from(code).ok()),
        CommandEnd::Signalled(signal) => TerminalExitStatus::new().signal(signal.to_string()),
        CommandEnd::Cancelled | CommandEnd::TimedOut(_) => {
            TerminalExitStatus::new().signal("TERM".to_owned())
        }
    }
}

fn invalid(text: String) -> Error {
    Error::invalid_params().data(serde_json::Value::String(text))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_keeps_whole_characters() {
        let mut output = Output::default();
        output.push("aé", 2);
        assert_eq!((output.text.as_str(), output.is_cut), ("é", true));
        output.push("bc", 3);
        assert_eq!(output.text, "bc");
    }

    #[test]
    fn arguments_become_words_of_a_shell() {
        let request =
            CreateTerminalRequest::new("s", "echo").args(vec!["it's".to_owned(), "$HOME".to_owned()]);
        assert_eq!(command_line(&request), r"'echo' 'it'\''s' '$HOME'");
        assert_eq!(command_line(&CreateTerminalRequest::new("s", "a | b")), "a | b");
    }
}
