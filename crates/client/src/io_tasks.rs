//! The IO tasks of a client: one reads the server's output and shuts the server down, one writes its input.

use super::{
    Process, ProcessEvent, ProcessEventKind, ServerExit, Signal,
    callbacks::CallbackTask,
    hub::{Hub, ShutdownMode},
    shell_status,
};
use std::{collections::VecDeque, future::pending, io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncWriteExt as _, Interest},
    net::unix::pipe::Sender,
    process::ChildStdin,
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

/// Lines of stderr that are kept.
const STDERR_TAIL: usize = 5;

/// How long a server that has closed a pipe may take to exit by itself.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Writes lines until the channel closes, then closes the server's stdin. If the server has closed its end, the client is
/// shut down.
pub(super) async fn write(input: ChildStdin, lines: mpsc::Receiver<Vec<u8>>, hub: Arc<Hub>) {
    if write_lines(input, lines).await.is_err() {
        hub.shut_down(ShutdownMode::Lost);
    }
}

async fn write_lines(input: ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut input = Sender::from_owned_fd(input.into_owned_fd()?)?;
    loop {
        tokio::select! {
            biased;
            line = lines.recv() => match line {
                Some(line) => input.write_all(&line).await?,
                None => return Ok(()),
            },
            // A write into the pipe succeeds although the server no longer reads it.
            _ = input.ready(Interest::ERROR) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Reads until the server exits, and shuts it down when the hub asks for that.
pub(super) async fn read(mut process: Process, hub: Arc<Hub>, patience: Duration) {
    let (mut stderr_tail, mut too_long) = (VecDeque::new(), None);
    let mut progress = ShutdownProgress::default();
    // Running callbacks, cancelled with this task.
    let mut tasks = JoinSet::new();
    loop {
        if let Some(end) = hub.shutdown() {
            progress.begin(end, &process, patience);
        }
        process.set_reading(hub.is_reading());
        tokio::select! {
            event = process.next() => match event.map(|ProcessEvent { kind, .. }| kind) {
                Some(ProcessEventKind::Line(line) | ProcessEventKind::Unfinished(line)) => {
                    if let Some(task) = hub.receive_line(line) {
                        task.start(&hub, &mut tasks);
                    }
                }
                // The line may be a response or the end of a run, for which calls would wait for ever.
                Some(ProcessEventKind::TooLong(length)) => {
                    too_long = Some(length);
                    hub.shut_down(ShutdownMode::Killed);
                }
                Some(ProcessEventKind::OutputClosed) => hub.shut_down(ShutdownMode::Lost),
                Some(ProcessEventKind::Stderr(line)) => {
                    stderr_tail.push_back(String::from_utf8_lossy(&line).into_owned());
                    if stderr_tail.len() > STDERR_TAIL {
                        stderr_tail.pop_front();
                    }
                }
                Some(ProcessEventKind::Exited(status)) => {
                    let status = Some(shell_status(status));
                    hub.finish(ServerExit { status, too_long, stderr_tail: stderr_tail.into() });
                    return;
                }
                None => return,
            },
            () = hub.wake.notified() => {}
            () = progress.deadline_passed() => progress.escalate(&process, patience),
            Some(done) = tasks.join_next_with_id() => CallbackTask::finish(done, &hub, &mut tasks),
        }
    }
}

/// Reads the lines of a server in this process until it is over.
pub(super) async fn read_channel(mut lines: mpsc::Receiver<Vec<u8>>, hub: Arc<Hub>) {
    // Running callbacks, cancelled with this task.
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            line = lines.recv(), if hub.is_reading() => match line {
                Some(line) => {
                    if let Some(task) = hub.receive_line(line) {
                        task.start(&hub, &mut tasks);
                    }
                }
                None => return hub.finish(ServerExit::default()),
            },
            () = hub.wake.notified() => {}
            Some(done) = tasks.join_next_with_id() => CallbackTask::finish(done, &hub, &mut tasks),
        }
    }
}

/// Progress of the shutdown: mode, last signal, deadline of the next.
#[derive(Default)]
struct ShutdownProgress {
    mode: Option<ShutdownMode>,
    sent: Option<Signal>,
    deadline: Option<Instant>,
}

impl ShutdownProgress {
    fn begin(&mut self, end: ShutdownMode, process: &Process, patience: Duration) {
        if self.mode == Some(end) {
            return;
        }
        self.mode = Some(end);
        let patience = if end == ShutdownMode::Lost { patience.min(EXIT_TIMEOUT) } else { patience };
        self.deadline = Some(Instant::now() + patience);
        if end == ShutdownMode::Killed {
            self.send(Signal::KILL, process);
        }
    }

    /// Waits for the deadline; for ever without one.
    async fn deadline_passed(&self) {
        match self.deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    }

    fn escalate(&mut self, process: &Process, patience: Duration) {
        let signal = if self.sent.is_none() { Signal::TERM } else { Signal::KILL };
        self.deadline = Some(Instant::now() + patience);
        self.send(signal, process);
    }

    fn send(&mut self, signal: Signal, process: &Process) {
        self.sent = Some(signal);
        process.signal(signal);
    }
}
