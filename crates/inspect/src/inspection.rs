//! What is inspected: the file with the records and their index, shared by the thread that fills it, the source and the
//! page's requests.

use super::{
    facts::RecordFacts,
    index::Index,
    item_view::Frames,
    recording_file::{FileForm, RecordingFile, with_record},
    wire::{DialectOrigin, Reading},
};
use pi_rpc_oracle::View;
use pi_rpc_protocol::{Dialect, DialectVersion};
use std::{
    io,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, watch};

/// A recording under inspection.
pub struct Inspection {
    state: Mutex<InspectionState>,
    /// Counts changes of the index.
    changes: watch::Sender<u64>,
    /// Notified when something was written or another recording is shown.
    wake: Condvar,
    /// Notified when the index goes on.
    indexed: Notify,
}

/// The recording and its index.
pub struct InspectionState {
    /// The index.
    pub index: Index,
    /// The dialect by which it is judged.
    pub spoken: DialectVersion,
    /// How the dialect was found.
    pub origin: DialectOrigin,
    /// The dialect that the user chose.
    pub chosen: Option<DialectVersion>,
    /// Counts the indexes: a page has to read everything again when there is another.
    pub generation: u64,
    file: Option<Arc<RecordingFile>>,
    /// What its lines are.
    pub form: FileForm,
    view: View,
    /// Whether the recording is written by this process.
    is_own: bool,
    /// Whether a file has grown since it was opened.
    pub has_grown: bool,
    /// Bytes that were written to an own recording.
    written: u64,
    /// Bytes that are indexed.
    pub done: u64,
    is_over: bool,
}

/// What the indexing thread begins with.
pub struct IndexJob {
    /// The file.
    pub file: Arc<RecordingFile>,
    /// Which index it fills.
    pub generation: u64,
    /// Whether the dialect is to be found out.
    pub finds_dialect: bool,
    /// Whether the recording is written by this process.
    pub is_own: bool,
}

impl Inspection {
    /// An inspection of nothing yet.
    pub fn new(chosen: Option<DialectVersion>) -> Arc<Self> {
        let spoken = chosen.unwrap_or(Dialect::Pi.into());
        let origin = if chosen.is_some() { DialectOrigin::Chosen } else { DialectOrigin::Default };
        let state = InspectionState {
            index: Index::new(spoken, View::Both),
            spoken,
            origin,
            chosen,
            generation: 0,
            file: None,
            form: FileForm::Trace,
            view: View::Both,
            is_own: false,
            has_grown: false,
            written: 0,
            done: 0,
            is_over: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changes: watch::Sender::new(0),
            wake: Condvar::new(),
            indexed: Notify::new(),
        })
    }

    /// The recording and its index. Not to be held while a file is read.
    pub fn state(&self) -> MutexGuard<'_, InspectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes of the index.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Announces a change.
    pub fn notify(&self) {
        self.changes.send_modify(|count| *count += 1);
        self.indexed.notify_waiters();
    }

    /// Shows a file from now on.
    pub fn show_file(&self, file: RecordingFile) {
        let mut state = self.state();
        (state.is_own, state.view, state.has_grown) = (false, View::Both, false);
        state.file = Some(Arc::new(file));
        state.restart();
        drop(state);
        self.restarted();
    }

    /// Shows a recording of this process from now on.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn show_live(&self, path: &Path) -> io::Result<()> {
        let file = RecordingFile::open(path)?;
        let mut state = self.state();
        (state.is_own, state.written) = (true, 0);
        state.file = Some(Arc::new(file));
        state.restart();
        drop(state);
        self.restarted();
        Ok(())
    }

    /// Sets which sides the recording shows, before it is shown.
    pub fn set_view(&self, view: View) {
        self.state().view = view;
    }

    /// Judges the recording anew, by a dialect that the user chose.
    pub fn judge_by(&self, dialect: DialectVersion) {
        let mut state = self.state();
        state.chosen = Some(dialect);
        state.restart();
        drop(state);
        self.restarted();
    }

    /// Judges the recording anew, by a dialect that its frames show.
    pub fn found_dialect(&self, generation: u64, dialect: DialectVersion) {
        let mut state = self.state();
        if state.generation == generation {
            state.restart();
            state.set_dialect(dialect, DialectOrigin::Frames);
        }
        drop(state);
        self.restarted();
    }

    /// Judges the recording by a dialect that the source names, unless the user chose one.
    pub fn declare_dialect(&self, dialect: DialectVersion) {
        let mut state = self.state();
        if state.chosen.is_some() || state.spoken == dialect {
            return;
        }
        state.restart();
        state.set_dialect(dialect, DialectOrigin::Recording);
        drop(state);
        self.restarted();
    }

    fn restarted(&self) {
        self.wake.notify_all();
        self.notify();
    }

    /// Something was written to the own recording.
    pub fn wrote(&self, written: u64) {
        self.state().written = written;
        self.wake.notify_all();
    }

    /// Waits until the index is at most `behind` bytes behind what was written.
    pub async fn wait_until_indexed(&self, behind: u64) {
        loop {
            let indexed = self.indexed.notified();
            {
                let state = self.state();
                if state.written.saturating_sub(state.done) <= behind || state.is_over {
                    return;
                }
            }
            // The notification may have come in between.
            let _ = tokio::time::timeout(Duration::from_millis(100), indexed).await;
        }
    }

    /// Ends the indexing thread.
    pub fn close(&self) {
        self.state().is_over = true;
        self.restarted();
    }

    /// Waits for a recording to index. `None`: the end.
    pub fn next_job(&self, after: Option<u64>) -> Option<IndexJob> {
        let mut state = self.state();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(file) = state.file.clone().filter(|_| Some(state.generation) != after) {
                let finds_dialect = state.chosen.is_none() && state.origin == DialectOrigin::Default;
                let (generation, is_own) = (state.generation, state.is_own);
                return Some(IndexJob { file, generation, finds_dialect, is_own });
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until there may be more than `done` bytes, or until `time` is over. `false`: another recording is shown.
    pub fn wait_for_more(&self, generation: u64, done: u64, time: Duration) -> bool {
        let mut state = self.state();
        if state.generation == generation && !state.is_over && !(state.is_own && state.written > done) {
            state = self.wake.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.generation == generation && !state.is_over
    }

    /// Changes the index, unless another is being filled.
    pub fn update(&self, generation: u64, change: impl FnOnce(&mut InspectionState)) -> bool {
        let mut state = self.state();
        let is_current = state.generation == generation && !state.is_over;
        if is_current {
            change(&mut state);
        }
        is_current
    }

    /// How far a file is read.
    pub fn reading(&self) -> Option<Reading> {
        let (file, done) = {
            let state = self.state();
            (state.file.clone().filter(|_| !state.is_own)?, state.done)
        };
        Some(Reading { done, total: file.length().max(done) })
    }

    /// The bytes of a record's line, without what the recording adds to it.
    pub fn line(&self, record: u32) -> Option<Vec<u8>> {
        let (file, form, facts) = {
            let state = self.state();
            (state.file.clone()?, state.form, *state.index.record(record)?)
        };
        let line = file.read(facts.offset, facts.span as usize).ok()?;
        with_record(form, &line, |record| record.body.bytes().to_vec()).ok()
    }
}

impl InspectionState {
    fn restart(&mut self) {
        self.generation += 1;
        self.done = 0;
        self.form = FileForm::Trace;
        let (spoken, origin) = match self.chosen {
            Some(chosen) => (chosen, DialectOrigin::Chosen),
            None => (Dialect::Pi.into(), DialectOrigin::Default),
        };
        self.set_dialect(spoken, origin);
    }

    /// The file, and the form of its lines.
    pub fn file_and_form(&self) -> Option<(Arc<RecordingFile>, FileForm)> {
        Some((self.file.clone()?, self.form))
    }

    /// Begins the index anew, by this dialect.
    pub fn set_dialect(&mut self, spoken: DialectVersion, origin: DialectOrigin) {
        (self.spoken, self.origin) = (spoken, origin);
        let view = if self.form == FileForm::Log { View::Server } else { self.view };
        self.index = Index::new(spoken, view);
    }
}

impl Frames for Inspection {
    fn facts(&self, record: u32) -> Option<RecordFacts> {
        self.state().index.record(record).copied()
    }

    fn line(&self, record: u32) -> Option<Vec<u8>> {
        Self::line(self, record)
    }

    fn name(&self, number: u16) -> String {
        self.state().index.names().name(number).to_owned()
    }

    fn tool(&self, session: u16, call: &str, after: u32) -> Option<u32> {
        self.state().index.items().tool(session, call, after)
    }
}
