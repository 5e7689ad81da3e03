//! Prints lines above the line that is typed, in their order.
//!
//! The editor prints only while it reads a line, so that the printer's thread waits until the editor has painted its prompt
//! since the last print. Beyond that, and without an editor, it writes to stdout itself.

use anstream::adapter::strip_str;
use rustyline::ExternalPrinter;
use std::{
    io::{self, Write as _},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread::{self, JoinHandle},
};

/// Prints lines on a thread of its own.
#[derive(Clone)]
pub struct Printer {
    lines: SyncSender<String>,
    has_colours: bool,
}

/// Whether the editor takes lines to print.
#[derive(Default)]
pub struct EditorGate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    /// Whether the prompt was painted since the last print.
    is_painted: bool,
    /// Whether the editor reads no further line.
    is_closed: bool,
}

/// The most lines that wait to be printed; a server that writes faster has to wait.
const CAPACITY: usize = 256;
/// The most lines that are printed at once.
const MAX_BATCH: usize = 64;

impl EditorGate {
    /// Notes that the editor has painted its prompt.
    pub fn painted(&self) {
        self.change(|state| state.is_painted = true);
    }

    /// Notes that the editor is about to return the line.
    pub fn left(&self) {
        self.change(|state| state.is_painted = false);
    }

    /// Notes that the editor reads no further line.
    pub fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    fn change(&self, change: impl FnOnce(&mut GateState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until the editor takes lines. Returns false if it never will again.
    fn wait(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |state: &mut GateState| !state.is_painted && !state.is_closed;
        let mut state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        state.is_painted = false;
        !state.is_closed
    }

    /// Whether the prompt was painted since the last print, so that the editor has taken it.
    fn has_taken(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_painted
    }
}

impl Printer {
    /// Starts the thread; it ends when the last clone is dropped.
    pub fn start(
        editor: Option<(Box<dyn ExternalPrinter + Send>, Arc<EditorGate>)>,
        has_colours: bool,
    ) -> (Self, JoinHandle<()>) {
        let (lines, receiver) = sync_channel(CAPACITY);
        let thread = thread::spawn(move || match editor {
            Some((editor, gate)) => print_above(&receiver, editor, &gate),
            None => receiver.iter().for_each(|line| print_directly(&line)),
        });
        (Self { lines, has_colours }, thread)
    }

    /// Prints lines.
    pub fn print(&self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            let line = if self.has_colours { line } else { strip_str(&line).to_string() };
            // The thread ends last.
            let _ = self.lines.send(line);
        }
    }
}

fn print_above(lines: &Receiver<String>, mut editor: Box<dyn ExternalPrinter + Send>, gate: &EditorGate) {
    let mut untaken = None;
    while let Ok(line) = lines.recv() {
        let mut batch = vec![line];
        while batch.len() < MAX_BATCH {
            match lines.try_recv() {
                Ok(line) => batch.push(line),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let is_taken = gate.has_taken();
        if gate.wait() {
            let text = batch.join("\n") + "\n";
            match editor.print(text.clone()) {
                Ok(()) => untaken = Some(text),
                Err(_) => print!("{text}"),
            }
            continue;
        }
        // What the editor has not printed before it left.
        let earlier: Option<String> = untaken.take().filter(|_| !is_taken);
        earlier.iter().for_each(|text| print_directly(text.trim_end_matches('\n')));
        batch.iter().for_each(|line| print_directly(line));
    }
}

fn print_directly(line: &str) {
    // stdout may be closed.
    let _ = writeln!(io::stdout(), "{line}");
}
