//! Many scenarios, several at a time.

use super::{Server, play};
use crate::oracle::{report::Subject, scenario::Scenario};
use std::{
    io,
    num::{NonZeroU32, NonZeroUsize},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
};

/// How scenarios are played.
#[derive(Clone, Copy, Debug)]
pub struct PlayOptions<'a> {
    /// How many at a time.
    pub jobs: NonZeroUsize,
    /// The directory where the conversations are kept, one file each.
    pub keep: Option<&'a Path>,
    /// Whether they are kept without what was said.
    pub redact: bool,
    /// Whether the report shows the conversations.
    pub timeline: bool,
    /// Multiplies every deadline of the scenarios; one that is missed all the same is not judged. Without it a missed
    /// deadline fails.
    pub patience: Option<NonZeroU32>,
    /// Once it is set, no further scenario begins.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for PlayOptions<'_> {
    fn default() -> Self {
        Self {
            jobs: NonZeroUsize::MIN,
            keep: None,
            redact: false,
            timeline: false,
            patience: None,
            stop: None,
        }
    }
}

/// Plays scenarios, and gives what came out of those that were played, in their order; `done` hears of each as it ends.
///
/// # Errors
///
/// When we are told to stop, all servers having been ended; or when the system has no room for another thread's IO.
pub fn play_all(
    server: &Server,
    scenarios: &[Scenario],
    options: PlayOptions<'_>,
    done: impl Fn(&Subject) + Sync,
) -> io::Result<Vec<Subject>> {
    let next = AtomicUsize::new(0);
    let played = Mutex::new(Vec::with_capacity(scenarios.len()));
    let work = || -> io::Result<()> {
        loop {
            if options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Ok(());
            }
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(at) else { return Ok(()) };
            let subject = play_one(server, scenario, options)?;
            done(&subject);
            played.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, subject));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..options.jobs.get().min(scenarios.len())).map(|_| scope.spawn(work)).collect();
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err(io::Error::other("a panic"))));
        ended.collect::<io::Result<Vec<()>>>()
    })?;
    let mut played = played.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    played.sort_by_key(|(at, _)| *at);
    Ok(played.into_iter().map(|(_, subject)| subject).collect())
}

/// Plays one in a runtime of its own: whatever it leaves open ends with it.
fn play_one(server: &Server, scenario: &Scenario, options: PlayOptions<'_>) -> io::Result<Subject> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let played = runtime.block_on(async {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            subject = play(server, scenario, options) => Ok(subject),
            _ = interrupt.recv() => Err(io::ErrorKind::Interrupted.into()),
            _ = terminate.recv() => Err(io::ErrorKind::Interrupted.into()),
        }
    });
    runtime.shutdown_background();
    played
}
