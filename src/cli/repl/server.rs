//! The server's process: sends what is typed, and prints what comes.

use super::{SharedConversation, printer::Printer};
use pi_rpc_client::{Process, ProcessEvent, ProcessEventKind, Signal, shell_status};
use std::{future::pending, io, time::Duration};
use tokio::{
    process::Command,
    sync::mpsc::UnboundedReceiver,
    time::{Instant, sleep_until},
};

/// What is to be done with the server's input.
pub enum ServerInput {
    /// Write this line.
    Line(String),
    /// Close it.
    End,
}

/// How long the server may take to exit after the end of its input, and after each signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The conversation with a process.
pub struct ServerTask {
    process: Process,
    conversation: SharedConversation,
    printer: Printer,
}

impl ServerTask {
    /// Starts the server. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub fn start(command: Command, conversation: SharedConversation, printer: Printer) -> io::Result<Self> {
        Ok(Self { process: Process::spawn(command)?, conversation, printer })
    }

    /// Converses until the server has exited; a closed channel is the end of input.
    pub async fn run(mut self, mut inputs: UnboundedReceiver<ServerInput>) {
        let mut signals = [Signal::TERM, Signal::KILL].into_iter();
        let mut deadline = None;
        loop {
            tokio::select! {
                event = self.process.next() => match event {
                    Some(event) => self.handle(event),
                    None => return,
                },
                input = inputs.recv(), if deadline.is_none() => match input {
                    Some(ServerInput::Line(line)) => self.write(&line).await,
                    Some(ServerInput::End) | None => {
                        self.process.close_input();
                        self.print(|conversation| conversation.input_closed());
                        deadline = Some(Instant::now() + EXIT_TIMEOUT);
                    }
                },
                () = wait_until(deadline) => {
                    if let Some(signal) = signals.next() {
                        self.process.signal(signal);
                    }
                    deadline = Some(Instant::now() + EXIT_TIMEOUT);
                }
            }
        }
    }

    async fn write(&mut self, line: &str) {
        while let Some(event) = self.process.try_next() {
            self.handle(event);
        }
        self.print(|conversation| conversation.host_wrote(line.as_bytes()));
        if let Err(error) = self.process.write(format!("{line}\n").as_bytes()).await {
            self.printer
                .print([super::frame_text::bad(&format!("the server reads no further line: {error}"))]);
        }
    }

    fn handle(&self, ProcessEvent { kind, .. }: ProcessEvent) {
        self.print(|conversation| match kind {
            ProcessEventKind::Line(line) | ProcessEventKind::Unfinished(line) => {
                conversation.server_wrote(&line)
            }
            ProcessEventKind::TooLong(length) => {
                conversation.server_wrote(format!("a line of {length} bytes").as_bytes())
            }
            ProcessEventKind::Stderr(line) => conversation.server_logged(&line),
            ProcessEventKind::OutputClosed => Vec::new(),
            ProcessEventKind::Exited(status) => conversation.server_ended(shell_status(status)),
        });
    }

    /// Changes the conversation, and prints what comes of it.
    fn print(&self, change: impl FnOnce(&mut super::conversation::Conversation) -> Vec<String>) {
        let said = change(&mut self.conversation.lock());
        self.printer.print(said);
        self.conversation.notify();
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
