//! Reader of lines with a deadline.

use super::TOO_LONG;
use std::{
    io::{BufRead, BufReader},
    process::ChildStdout,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
};

/// Lines, read on a thread so that a read can have a deadline; one at a time, when it is asked for.
pub struct Lines {
    wanted: Sender<()>,
    found: Receiver<Vec<u8>>,
    thread: JoinHandle<()>,
}

impl Lines {
    pub fn new(stdout: ChildStdout) -> Self {
        let (wanted, asked) = channel();
        let (sender, found) = channel();
        let thread = std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).split(b'\n');
            while asked.recv().is_ok()
                && let Some(Ok(line)) = lines.next()
                && sender.send(line).is_ok()
            {}
        });
        Self { wanted, found, thread }
    }

    pub fn next(&mut self) -> Result<Vec<u8>, RecvTimeoutError> {
        // A thread that has ended finds nothing more.
        let _ = self.wanted.send(());
        self.found.recv_timeout(TOO_LONG)
    }

    pub fn close(self) {
        drop(self.wanted);
        self.thread.join().unwrap();
    }
}
