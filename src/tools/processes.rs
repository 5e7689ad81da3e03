//! The process groups that this server has started, so that none outlives it.
//!
//! Each command runs in a group of its own, and the group is what is ended: TERM to all of it, then KILL to whatever
//! is left after [`GRACE`]. A command may end normally and leave background jobs in its group; those go on, as in pi,
//! and stay in the registry until [`Processes::end_all`].
//!
//! Out of reach are processes that leave their group on purpose (`setsid`, `set -m`), and everything if the server
//! itself is killed with KILL.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// How long a group may take to end after TERM, before it gets KILL.
const GRACE: Duration = Duration::from_millis(200);

/// How long to look on after KILL. Only a process stuck in the kernel, or of another user, lasts this long.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// How often to look whether a group is gone.
const LOOK: Duration = Duration::from_millis(4);

/// All groups that may still be alive. Clones share one registry; a server has one.
#[derive(Debug, Clone, Default)]
pub struct Processes {
    registry: Arc<Mutex<Registry>>,
}

#[derive(Debug, Default)]
struct Registry {
    closed: bool,
    groups: HashSet<Pid>,
}

impl Processes {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every group and returns when all are dead. From the first moment on nothing new is started: whoever
    /// tries gets an error. For the end of the server.
    pub async fn end_all(&self) {
        let groups: Vec<Pid> = {
            let mut registry = self.lock();
            registry.closed = true;
            registry.groups.iter().copied().collect()
        };
        for group in &groups {
            signal(*group, Signal::TERM);
        }
        let deadline = Instant::now() + GRACE;
        for group in groups {
            gone_by(group, deadline).await;
            kill(group).await;
        }
        self.forget(|group| !lives(group));
    }

    /// The ids of the groups that are alive now, running commands included.
    pub fn living(&self) -> Vec<u32> {
        self.forget(|group| !lives(group));
        self.lock().groups.iter().map(|group| group.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Starts `command` in a group of its own.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<(Child, Group)> {
        self.forget(is_gone);
        // The lock is held while spawning, so that `end_all` misses nothing.
        let mut registry = self.lock();
        if registry.closed {
            return Err(io::Error::other("the server is ending"));
        }
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("the process has no id"))?;
        registry.groups.insert(id);
        drop(registry);
        Ok((child, Group { id, processes: self.clone(), released: false }))
    }

    fn forget(&self, is_over: impl Fn(Pid) -> bool) {
        self.lock().groups.retain(|group| !is_over(*group));
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One command's group. Dropped without [`Group::release`], as when the task that runs the command is aborted, it is
/// killed on the spot.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    processes: Processes,
    released: bool,
}

impl Group {
    /// Ends the group; returns when it is dead. The child itself must be waited for meanwhile.
    pub(crate) async fn end(&self) {
        signal(self.id, Signal::TERM);
        gone_by(self.id, Instant::now() + GRACE).await;
        kill(self.id).await;
    }

    /// Lets go of a group whose command has ended. What it left running goes on, and stays registered.
    pub(crate) fn release(mut self) {
        self.released = true;
        self.processes.forget(is_gone);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.released {
            signal(self.id, Signal::KILL);
        }
    }
}

/// KILL, again and again until nothing is left: a group may fork while it is being killed.
async fn kill(group: Pid) {
    let deadline = Instant::now() + LAST_WAIT;
    while lives(group) && Instant::now() < deadline {
        signal(group, Signal::KILL);
        sleep(LOOK).await;
    }
}

async fn gone_by(group: Pid, deadline: Instant) {
    while lives(group) && Instant::now() < deadline {
        sleep(LOOK).await;
    }
}

/// A group that is already gone is no error, and about one that may not be signalled nothing can be done.
fn signal(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}

/// Whether there is no process in the group, not even a zombie. Costs little: nothing of `/proc` is read.
fn is_gone(group: Pid) -> bool {
    matches!(test_kill_process_group(group), Err(Errno::SRCH))
}

fn lives(group: Pid) -> bool {
    !is_gone(group) && has_more_than_zombies(group)
}

/// A zombie takes signals though it is dead. Where nobody reaps orphans (a container without an init), it stays, so
/// it must not count.
#[cfg(target_os = "linux")]
fn has_more_than_zombies(group: Pid) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return true };
    let group = group.as_raw_nonzero().to_string();
    entries.flatten().any(|entry| {
        let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let stat = if is_process { std::fs::read_to_string(entry.path().join("stat")).ok() } else { None };
        stat.is_some_and(|stat| is_alive_in(&stat, &group))
    })
}

#[cfg(not(target_os = "linux"))]
fn has_more_than_zombies(_: Pid) -> bool {
    true
}

/// Whether a line of `/proc/<pid>/stat` (`pid (name) state parent group …`) is of a living member of `group`.
#[cfg(target_os = "linux")]
fn is_alive_in(stat: &str, group: &str) -> bool {
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next();
    fields.nth(1) == Some(group) && !matches!(state, Some("Z" | "X") | None)
}
