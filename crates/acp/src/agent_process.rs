//! Servers in processes of their own, in any dialect.

use pi_rpc_client::{Client, ConnectionOptions, Events, Options, Process, ProcessEventKind};
use pi_rpc_protocol::Dialect;
use pi_rpc_recording::{DialectSample, Direction, Record};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use tokio::{process::Command, sync::OnceCell, time::timeout};

/// Starts a process for each session.
pub struct AgentProcess {
    command: Vec<OsString>,
    dialect: OnceCell<Dialect>,
}

/// Commands whose responses tell the dialects apart; what a server does not have, it refuses.
const PROBES: [&str; 3] = ["get_commands", "get_available_thinking_levels", "get_state"];

/// How long a server may take to answer them.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

impl AgentProcess {
    /// A program with its arguments. Without a `dialect`, the first use finds it out.
    pub fn new(command: Vec<OsString>, dialect: Option<Dialect>) -> Self {
        Self { command, dialect: OnceCell::new_with(dialect) }
    }

    /// The dialect of the program.
    ///
    /// # Errors
    ///
    /// The program cannot be started, ends, or does not answer.
    pub async fn dialect(&self) -> Result<Dialect, String> {
        let found = self.dialect.get_or_try_init(|| async {
            let found = timeout(PROBE_TIMEOUT, self.probe()).await;
            found.unwrap_or_else(|_| Err(format!("{}: no answer to get_state", self.name())))
        });
        found.await.copied()
    }

    /// Starts the program in `directory`.
    ///
    /// # Errors
    ///
    /// It cannot be started, ends, or is not ready in time.
    pub async fn start(
        &self,
        directory: PathBuf,
        connection: ConnectionOptions,
    ) -> Result<(Client, Events), String> {
        let mut command = self.program();
        command.current_dir(directory);
        let options = Options::with_connection(command, connection);
        Client::spawn(options).await.map_err(|error| format!("{}: {error}", self.name()))
    }

    fn program(&self) -> Command {
        let mut command = Command::new(self.command.first().cloned().unwrap_or_default());
        command.args(self.command.iter().skip(1));
        command
    }

    fn name(&self) -> String {
        self.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Starts the program once, to see which dialect it answers in.
    async fn probe(&self) -> Result<Dialect, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.name());
        let mut process = Process::spawn(self.program()).map_err(failed)?;
        let mut sample = DialectSample::new();
        let mut number = 0;
        for kind in PROBES {
            let line = format!("{{\"id\":\"{kind}\",\"type\":\"{kind}\"}}");
            sample.add(number, &Record::line(0.0, Direction::In, line.as_bytes()));
            number += 1;
            process.write(format!("{line}\n").as_bytes()).await.map_err(failed)?;
        }
        let last = format!("\"{}\"", PROBES[PROBES.len() - 1]);
        while let Some(event) = process.next().await {
            match event.kind {
                ProcessEventKind::Line(line) => {
                    sample.add(number, &Record::line(0.0, Direction::Out, &line));
                    number += 1;
                    let text = String::from_utf8_lossy(&line);
                    if text.contains("\"response\"") && text.contains(&last) {
                        return Ok(sample.found().dialect);
                    }
                }
                ProcessEventKind::Exited(status) => {
                    return Err(format!("{}: ended with {status} before it answered", self.name()));
                }
                _ => {}
            }
        }
        Err(format!("{}: ended before it answered", self.name()))
    }
}
