//! Reads what the server says, writes what it is told, and ends it.

use super::{
    Ended, Heard, Process, Signal, What,
    callbacks::Task,
    hub::{End, Hub},
    status_of,
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
const COMPLAINTS: usize = 5;

/// How long a server that has closed a pipe may take to end by itself: most often it is about to.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Writes lines until there are no more, then ends the server's input. Where the server does not read it any more it is
/// lost.
pub(super) async fn write(input: ChildStdin, lines: mpsc::Receiver<Vec<u8>>, hub: Arc<Hub>) {
    if write_lines(input, lines).await.is_err() {
        hub.end(End::Lost);
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
            // What was written already may wait in the pipe for nobody.
            _ = input.ready(Interest::ERROR) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Reads to the server's end. When it is told to end the server, it sees to it that it does.
pub(super) async fn read(mut process: Process, hub: Arc<Hub>, patience: Duration) {
    let (mut complaints, mut too_long) = (VecDeque::new(), None);
    let mut ending = Ending::default();
    // What the callbacks do; dropped with the reader, they are called off.
    let mut tasks = JoinSet::new();
    loop {
        if let Some(end) = hub.ending() {
            ending.begin(end, &process, patience);
        }
        process.set_listening(hub.listens());
        tokio::select! {
            heard = process.next() => match heard.map(|Heard { what, .. }| what) {
                Some(What::Line(line) | What::Unfinished(line)) => {
                    if let Some(task) = hub.hear(line) {
                        task.start(&hub, &mut tasks);
                    }
                }
                // It may have been an answer, or the end of a run: who waits for it would wait for ever.
                Some(What::TooLong(length)) => {
                    too_long = Some(length);
                    hub.end(End::Killed);
                }
                Some(What::Silent) => hub.end(End::Lost),
                Some(What::Stderr(line)) => {
                    complaints.push_back(String::from_utf8_lossy(&line).into_owned());
                    if complaints.len() > COMPLAINTS {
                        complaints.pop_front();
                    }
                }
                Some(What::Exited(status)) => {
                    let status = Some(status_of(status));
                    hub.ended(Ended { status, too_long, complaints: complaints.into() });
                    return;
                }
                None => return,
            },
            () = hub.wake.notified() => {}
            () = ending.patience() => ending.go_on(&process, patience),
            Some(done) = tasks.join_next_with_id() => Task::over(done, &hub, &mut tasks),
        }
    }
}

/// How far the end has come.
#[derive(Default)]
struct Ending {
    begun: Option<End>,
    sent: Option<Signal>,
    deadline: Option<Instant>,
}

impl Ending {
    fn begin(&mut self, end: End, process: &Process, patience: Duration) {
        if self.begun == Some(end) {
            return;
        }
        self.begun = Some(end);
        let patience = if end == End::Lost { patience.min(LAST_WORDS) } else { patience };
        self.deadline = Some(Instant::now() + patience);
        if end == End::Killed {
            self.send(Signal::KILL, process);
        }
    }

    /// Waits until there is reason to be less patient.
    async fn patience(&self) {
        match self.deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    }

    fn go_on(&mut self, process: &Process, patience: Duration) {
        let signal = if self.sent.is_none() { Signal::TERM } else { Signal::KILL };
        self.deadline = Some(Instant::now() + patience);
        self.send(signal, process);
    }

    fn send(&mut self, signal: Signal, process: &Process) {
        self.sent = Some(signal);
        process.signal(signal);
    }
}
