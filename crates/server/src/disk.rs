//! Writes the session's file on a thread of its own, so that a file system that hangs blocks neither the loop nor the host.
//! The thread starts with the first job and ends when there have been none for a while: idle sessions have none.
//!
//! One job is outstanding at a time. The loop blocks for at most [`GRACE`], so that nothing comes between an entry and the
//! frames about it; a longer job completes later, up to a deadline. A job that misses its deadline has failed: if the disk
//! answers after all, the thread undoes the write.

use super::{page_file::write_page, runner::seed};
use pi_rpc_engine::Input;
use pi_rpc_protocol::Base;
use pi_rpc_session::{OpenedSession, Write};
use pi_rpc_session_store::Store;
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// How long the loop blocks for a job before it goes on without the outcome.
const GRACE: Duration = Duration::from_millis(100);

/// How long a job may take once an abort or a signal depends on its outcome.
const HURRY: Duration = Duration::from_secs(2);

/// How long the thread waits for another job before it ends.
const THREAD_IDLE: Duration = Duration::from_secs(1);

/// File operations of the thread. They call `is_awaited` once the work is done; on `false` they undo it.
pub trait Files: Send + 'static {
    /// The path of the session's file.
    fn path(&self) -> Option<&Path>;
    /// Writes to the session's file.
    fn write(&mut self, write: &Write, is_awaited: &dyn Fn() -> bool) -> Result<(), String>;
    /// Opens another session's file.
    fn open(&mut self, path: &Path, is_awaited: &dyn Fn() -> bool) -> Result<OpenedSession, String>;
    /// Closes the session's file.
    fn release(&mut self);
    /// How long the loop blocks for a job before it goes on without the outcome.
    fn grace(&self) -> Duration {
        GRACE
    }
}

impl Files for Box<dyn Files> {
    fn path(&self) -> Option<&Path> {
        self.as_ref().path()
    }

    fn write(&mut self, write: &Write, is_awaited: &dyn Fn() -> bool) -> Result<(), String> {
        self.as_mut().write(write, is_awaited)
    }

    fn open(&mut self, path: &Path, is_awaited: &dyn Fn() -> bool) -> Result<OpenedSession, String> {
        self.as_mut().open(path, is_awaited)
    }

    fn release(&mut self) {
        self.as_mut().release();
    }

    fn grace(&self) -> Duration {
        self.as_ref().grace()
    }
}

/// Decides which files a session may be in. Blocks.
pub trait FileGuard: Send + Sync {
    /// Called before the file of another session is opened.
    ///
    /// # Errors
    ///
    /// Why it may not be.
    fn before_open(&self, path: &Path) -> Result<(), String>;
    /// Called before the file of a new session is made.
    ///
    /// # Errors
    ///
    /// Why it may not be.
    fn before_create(&self, path: &Path) -> Result<(), String>;
}

/// [`Files`] of a session store, with error texts in the words of the dialect.
pub struct SessionFiles {
    /// The open session.
    pub store: Store,
    /// The dialect's base, for its error texts.
    pub base: Base,
    /// Decides about other files; `None`: all may be used.
    pub guard: Option<Arc<dyn FileGuard>>,
}

impl Files for SessionFiles {
    fn path(&self) -> Option<&Path> {
        self.store.path()
    }

    fn write(&mut self, write: &Write, is_awaited: &dyn Fn() -> bool) -> Result<(), String> {
        if let (Some(guard), Write::Create { path, .. }) = (&self.guard, write) {
            guard.before_create(path)?;
        }
        self.store.write_if_awaited(write, is_awaited).map_err(|error| error.to_string())
    }

    fn open(&mut self, path: &Path, is_awaited: &dyn Fn() -> bool) -> Result<OpenedSession, String> {
        if path.as_os_str().is_empty() {
            return Err("sessionPath: expected the path of a file, got an empty string".to_owned());
        }
        let path = &std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if let Some(guard) = &self.guard {
            guard.before_open(path)?;
        }
        let mut random = fastrand::Rng::with_seed(seed());
        let opened = self.store.open_if_awaited(path, &mut random, is_awaited);
        let opened = opened.map_err(|error| error.host_text(self.base))?;
        for notice in &opened.notices {
            tracing::warn!("{}: {notice}", path.display());
        }
        Ok(opened)
    }

    fn release(&mut self) {
        self.store.release();
    }
}

/// Handle of the disk thread: submits jobs and waits for their outcomes.
pub struct Disk {
    queue: Arc<JobQueue>,
    outstanding: Option<OutstandingJob>,
    /// A job that has missed its deadline and still occupies the thread, with its file and the time of its start.
    stuck: Option<(Arc<Slot>, Option<PathBuf>, Instant)>,
    /// The path of the session's file.
    path: Option<PathBuf>,
    /// How long a job may take; `None`: without a limit.
    timeout: Option<Duration>,
    /// How long the loop blocks for a job.
    grace: Duration,
}

/// A job that has not completed within [`GRACE`].
struct OutstandingJob {
    slot: Arc<Slot>,
    kind: JobKind,
    /// The file that the session has once the job succeeds, if the job changes it.
    path: Option<PathBuf>,
    since: Instant,
    due: Option<Instant>,
}

/// Work for the thread.
enum Job {
    Write(Write),
    Open(PathBuf),
    Page {
        path: PathBuf,
        text: String,
        creates_folders: bool,
    },
    Release,
    /// Ends the thread.
    Close,
}

/// Jobs in order, and what they are performed on.
struct JobQueue {
    state: Mutex<QueueState>,
    added: Condvar,
}

struct QueueState {
    jobs: VecDeque<(Job, Arc<Slot>)>,
    /// The files, while no thread has them; without either, no job is performed any more.
    files: Option<Box<dyn Files>>,
    has_thread: bool,
}

/// The kinds of jobs that have an outcome.
#[derive(Clone, Copy)]
enum JobKind {
    Write,
    Open,
    Page,
}

/// The state of one job, shared by the loop and the thread.
#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
    wakes: Notify,
}

#[derive(Default)]
enum State {
    #[default]
    Pending,
    /// The work is done and counts; its outcome follows at once.
    Committed,
    Done(Box<Input>),
    /// The deadline was missed: the outcome is ignored.
    Abandoned,
    /// The thread is free again.
    Free,
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits the work unless it was abandoned; afterwards it cannot be.
    fn commit(&self) -> bool {
        let mut state = self.state();
        if matches!(*state, State::Pending) {
            *state = State::Committed;
        }
        matches!(*state, State::Committed)
    }

    fn finish(&self, outcome: Input) {
        let mut state = self.state();
        *state = match *state {
            State::Abandoned => State::Free,
            _ => State::Done(Box::new(outcome)),
        };
        self.changed.notify_all();
        self.wakes.notify_one();
    }

    /// Abandons the job; `false` if it is done already.
    fn abandon(&self) -> bool {
        let mut state = self.state();
        let is_pending = matches!(*state, State::Pending);
        if is_pending {
            *state = State::Abandoned;
        }
        is_pending
    }

    fn take(&self) -> Option<Input> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Free) {
            State::Done(outcome) => Some(*outcome),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl Disk {
    /// A disk without jobs.
    pub fn new(files: impl Files, timeout: Option<Duration>) -> Self {
        let (path, grace) = (files.path().map(Path::to_owned), files.grace());
        let state = QueueState { jobs: VecDeque::new(), files: Some(Box::new(files)), has_thread: false };
        let queue = Arc::new(JobQueue { state: Mutex::new(state), added: Condvar::new() });
        Self { queue, outstanding: None, stuck: None, path, timeout, grace }
    }

    /// Whether a job is outstanding.
    pub const fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Writes to the session's file. Returns the outcome, unless it comes later from [`next`](Self::next).
    pub fn write(&mut self, write: Write) -> Option<Input> {
        let path = match &write {
            Write::Create { path, .. } => Some(path.to_path_buf()),
            _ => None,
        };
        self.submit(Job::Write(write), JobKind::Write, path)
    }

    /// Opens another session's file; the outcome comes as that of [`write`](Self::write).
    pub fn open(&mut self, path: PathBuf) -> Option<Input> {
        self.submit(Job::Open(path.clone()), JobKind::Open, Some(path))
    }

    /// Writes an exported page; the outcome comes as that of [`write`](Self::write).
    pub fn write_page(&mut self, path: PathBuf, text: String, creates_folders: bool) -> Option<Input> {
        let job = Job::Page { path: path.clone(), text, creates_folders };
        self.submit(job, JobKind::Page, Some(path))
    }

    /// Closes the session's file after the jobs before.
    pub fn release(&self) {
        // Without a thread to do it, files stay locked until the session ends.
        let _ = self.queue.add(Job::Release, Arc::default());
    }

    /// Ends the thread, which drops the files and with them the claim of a session id. Waits at most [`HURRY`].
    pub fn close(self) {
        let slot = Arc::new(Slot::default());
        if self.stuck.is_none() && self.queue.add(Job::Close, slot.clone()).is_ok() {
            let waits = |state: &mut State| !matches!(state, State::Done(_));
            drop(slot.changed.wait_timeout_while(slot.state(), HURRY, waits));
        }
    }

    /// Limits the remaining time of the outstanding job to [`HURRY`].
    pub fn shorten_deadline(&mut self) {
        if let Some(outstanding) = &mut self.outstanding {
            let soon = Instant::now() + HURRY;
            outstanding.due = Some(outstanding.due.map_or(soon, |due| due.min(soon)));
        }
    }

    /// Limits every job from now on to [`HURRY`], as the process is to end.
    pub fn shorten_deadlines(&mut self) {
        self.timeout = Some(self.timeout.map_or(HURRY, |timeout| timeout.min(HURRY)));
        self.shorten_deadline();
    }

    /// Waits for the outcome of the outstanding job, or for its deadline; for ever if there is none.
    pub async fn next(&mut self) -> Input {
        loop {
            let Some(outstanding) = &self.outstanding else { return std::future::pending().await };
            if let Some(outcome) = outstanding.slot.take() {
                let path = self.outstanding.take().and_then(|outstanding| outstanding.path);
                return self.complete(path, outcome);
            }
            tokio::select! {
                () = outstanding.slot.wakes.notified() => {}
                () = until(outstanding.due) => if outstanding.slot.abandon()
                    && let Some(OutstandingJob { slot, kind, path, since, .. }) = self.outstanding.take()
                {
                    let path = path.or_else(|| self.path.clone());
                    let outcome = kind.failure(&timeout_message(path.as_deref(), since));
                    self.stuck = Some((slot, path, since));
                    return outcome;
                }
            }
        }
    }

    /// Takes over the session's new path if the job has set one.
    fn complete(&mut self, path: Option<PathBuf>, outcome: Input) -> Input {
        let is_bound = match &outcome {
            Input::Stored => true,
            Input::SessionOpened(opened) => opened.is_ok(),
            _ => false,
        };
        if is_bound && path.is_some() {
            self.path = path;
        }
        outcome
    }

    fn submit(&mut self, job: Job, kind: JobKind, path: Option<PathBuf>) -> Option<Input> {
        if let Some((slot, path, since)) = &self.stuck {
            if !matches!(*slot.state(), State::Free) {
                return Some(kind.failure(&timeout_message(path.as_deref(), *since)));
            }
            self.stuck = None;
        }
        let slot = Arc::new(Slot::default());
        let since = Instant::now();
        if let Err(reason) = self.queue.add(job, slot.clone()) {
            return Some(kind.failure(&reason));
        }
        let grace = self.timeout.map_or(self.grace, |timeout| timeout.min(self.grace));
        let waits = |state: &mut State| !matches!(state, State::Done(_));
        let state = slot.changed.wait_timeout_while(slot.state(), grace, waits);
        drop(state.unwrap_or_else(PoisonError::into_inner));
        if let Some(outcome) = slot.take() {
            return Some(self.complete(path, outcome));
        }
        let due = self.timeout.map(|timeout| since + timeout);
        self.outstanding = Some(OutstandingJob { slot, kind, path, since, due });
        None
    }
}

impl JobQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job, and starts a thread if there is none.
    fn add(self: &Arc<Self>, job: Job, slot: Arc<Slot>) -> Result<(), String> {
        let mut state = self.state();
        if !state.has_thread {
            if state.files.is_none() {
                return Err("the thread that writes files has ended".to_owned());
            }
            let queue = self.clone();
            // The thread is never joined, as it may hang for ever.
            let started = thread::Builder::new().name("disk".to_owned()).spawn(move || queue.perform_jobs());
            started.map_err(|error| format!("a thread: {error}"))?;
            state.has_thread = true;
        }
        state.jobs.push_back((job, slot));
        self.added.notify_one();
        Ok(())
    }

    /// Performs jobs until there have been none for a while.
    fn perform_jobs(&self) {
        /// Notes that the thread has panicked, and the files with it.
        struct PanicMark<'q>(&'q JobQueue);
        impl Drop for PanicMark<'_> {
            fn drop(&mut self) {
                if thread::panicking() {
                    self.0.state().has_thread = false;
                }
            }
        }
        let mut state = self.state();
        let Some(mut files) = state.files.take() else { return };
        let _mark = PanicMark(self);
        loop {
            let is_idle = |state: &mut QueueState| state.jobs.is_empty();
            state = match self.added.wait_timeout_while(state, THREAD_IDLE, is_idle) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
            let Some((job, slot)) = state.jobs.pop_front() else {
                // One step for those who add: the files are back, and no thread is there.
                (state.files, state.has_thread) = (Some(files), false);
                return;
            };
            drop(state);
            if matches!(job, Job::Close) {
                drop(files);
                return slot.finish(Input::Stored);
            }
            let outcome = perform(&mut *files, job, &slot);
            slot.finish(outcome);
            state = self.state();
        }
    }
}

fn timeout_message(path: Option<&Path>, since: Instant) -> String {
    let path = path.map(|path| format!("{}: ", path.display())).unwrap_or_default();
    format!("{path}the file system has not answered for {} s (--disk-timeout)", since.elapsed().as_secs())
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

fn perform(files: &mut dyn Files, job: Job, slot: &Slot) -> Input {
    let is_awaited = || slot.commit();
    match job {
        Job::Write(write) => match files.write(&write, &is_awaited) {
            Ok(()) => Input::Stored,
            Err(error) => Input::StoreFailed(error),
        },
        Job::Open(path) => Input::SessionOpened(Box::new(files.open(&path, &is_awaited))),
        Job::Page { path, text, creates_folders } => {
            Input::FileWritten(write_page(&path, &text, creates_folders))
        }
        Job::Release => {
            files.release();
            Input::Stored
        }
        Job::Close => Input::Stored,
    }
}

impl JobKind {
    /// The input for a job of this kind that failed.
    fn failure(self, reason: &str) -> Input {
        let reason = reason.to_owned();
        match self {
            Self::Write => Input::StoreFailed(reason),
            Self::Open => Input::SessionOpened(Box::new(Err(reason))),
            Self::Page => Input::FileWritten(Err(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Files whose operations block until the test lets them complete.
    struct Hung {
        answers: mpsc::Receiver<()>,
        outcomes: mpsc::Sender<bool>,
    }

    impl Files for Hung {
        fn path(&self) -> Option<&Path> {
            Some(Path::new("/slow/old.jsonl"))
        }

        fn write(&mut self, _: &Write, is_awaited: &dyn Fn() -> bool) -> Result<(), String> {
            self.answers.recv().map_err(|_| "gone".to_owned())?;
            let _ = self.outcomes.send(is_awaited());
            Ok(())
        }

        fn open(&mut self, _: &Path, is_awaited: &dyn Fn() -> bool) -> Result<OpenedSession, String> {
            self.answers.recv().map_err(|_| "gone".to_owned())?;
            let _ = self.outcomes.send(is_awaited());
            Err("not a session".to_owned())
        }

        fn release(&mut self) {}
    }

    fn hung(timeout: Option<Duration>) -> (Disk, mpsc::Sender<()>, mpsc::Receiver<bool>) {
        let (let_go, answers) = mpsc::channel();
        let (outcomes, results) = mpsc::channel();
        (Disk::new(Hung { answers, outcomes }, timeout), let_go, results)
    }

    const LATE: &str = "/slow/old.jsonl: the file system has not answered for 0 s (--disk-timeout)";

    fn entry() -> Write {
        Write::Append("{}\n".into())
    }

    fn reason(input: Option<Input>) -> String {
        match input {
            Some(Input::StoreFailed(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn write_that_hangs_completes_later() {
        let (mut disk, let_go, results) = hung(None);
        assert!(disk.write(entry()).is_none() && disk.is_outstanding());
        let_go.send(()).unwrap();
        assert!(matches!(disk.next().await, Input::Stored));
        assert!(!disk.is_outstanding() && results.recv().unwrap());
        let_go.send(()).unwrap();
        assert!(matches!(disk.write(entry()), Some(Input::Stored)), "a disk that answers is waited for");
    }

    #[tokio::test]
    async fn late_write_fails_and_is_undone() {
        let (mut disk, let_go, results) = hung(Some(Duration::from_millis(1)));
        assert!(disk.write(entry()).is_none());
        let late = reason(Some(disk.next().await));
        assert_eq!(late, LATE);
        assert_eq!(reason(disk.write(entry())), LATE, "the thread has yet to come back");
        let_go.send(()).unwrap();
        assert!(!results.recv().unwrap(), "the job was abandoned");
        let_go.send(()).unwrap();
        // Free as soon as the thread has come back from it.
        let outcome = loop {
            match disk.write(entry()) {
                Some(Input::StoreFailed(reason)) if reason == LATE => thread::yield_now(),
                Some(outcome) => break outcome,
                None => break disk.next().await,
            }
        };
        assert!(matches!(outcome, Input::Stored | Input::StoreFailed(_)));
    }

    #[test]
    fn hurry_shortens_a_wait_without_end() {
        let (mut disk, _let_go, _told) = hung(None);
        assert!(disk.open("/slow/s.jsonl".into()).is_none());
        let due = |disk: &Disk| disk.outstanding.as_ref().and_then(|outstanding| outstanding.due);
        assert_eq!(due(&disk), None);
        disk.shorten_deadline();
        let soon = due(&disk).unwrap();
        assert!(soon <= Instant::now() + HURRY);
        disk.shorten_deadline();
        assert_eq!(due(&disk), Some(soon), "a second abort gives it no more time");
    }

    #[tokio::test]
    async fn late_opening_names_the_file() {
        let (mut disk, _let_go, _told) = hung(Some(Duration::from_millis(1)));
        assert!(disk.open("/slow/s.jsonl".into()).is_none());
        let Input::SessionOpened(opened) = disk.next().await else { panic!("another outcome") };
        let refused = opened.unwrap_err();
        assert_eq!(refused, "/slow/s.jsonl: the file system has not answered for 0 s (--disk-timeout)");
    }
}
