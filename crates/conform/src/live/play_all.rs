//! Plays many scenarios, several at a time.

use super::{Played, Server, play};
use pi_rpc_oracle::report::Subject;
use pi_rpc_scenario::Scenario;
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

/// Options for playing scenarios.
#[derive(Clone, Copy, Debug)]
pub struct PlayOptions<'a> {
    /// The number of scenarios played at a time.
    pub jobs: NonZeroUsize,
    /// The directory for recordings of the conversations, one file each.
    pub keep: Option<&'a Path>,
    /// Whether the recordings are redacted.
    pub redact: bool,
    /// Whether the report shows the conversations.
    pub timeline: bool,
    /// A factor for every deadline of the scenarios. With it, a scenario that misses a deadline all the same is not judged;
    /// without it, the scenario fails.
    pub patience: Option<NonZeroU32>,
    /// Whether a scenario fails that misses a deadline in spite of the patience.
    pub strict: bool,
    /// A flag: once set, no further scenario begins.
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
            strict: false,
            stop: None,
        }
    }
}

/// What happens while scenarios are played.
#[derive(Clone, Copy, Debug)]
pub enum PlayEvent<'a> {
    /// A scenario begins.
    Started(&'a Scenario),
    /// A scenario has ended.
    Ended(&'a Played),
}

/// Plays scenarios, and returns the results in their order. `observe` is called with each beginning and end as it happens.
///
/// # Errors
///
/// When SIGINT or SIGTERM arrives, after all servers were ended; or when no runtime can be created.
pub fn play_all(
    server: &Server,
    scenarios: &[Scenario],
    options: PlayOptions<'_>,
    observe: impl Fn(PlayEvent<'_>) + Sync,
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
            observe(PlayEvent::Started(scenario));
            let ended = play_one(server, scenario, options)?;
            observe(PlayEvent::Ended(&ended));
            played.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, ended.subject));
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

/// Plays one scenario in a runtime of its own, so that everything it leaves open ends with the runtime.
fn play_one(server: &Server, scenario: &Scenario, options: PlayOptions<'_>) -> io::Result<Played> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let played = runtime.block_on(async {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            played = play(server, scenario, options) => Ok(played),
            _ = interrupt.recv() => Err(io::ErrorKind::Interrupted.into()),
            _ = terminate.recv() => Err(io::ErrorKind::Interrupted.into()),
        }
    });
    runtime.shutdown_background();
    played
}
