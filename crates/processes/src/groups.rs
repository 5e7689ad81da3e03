//! Registry of the process groups that this server has started, so that none outlives it.
//!
//! Each command runs in a group of its own. To end a command, its group and the groups of its descendants (`timeout`,
//! `set -m`, `setsid`) get TERM and, after [`GRACE`], KILL. Background jobs of a command that has ended normally go on, as in
//! pi, and stay registered until [`Processes::end_all`].
//!
//! Out of reach are processes in a group of their own whose parent has ended: daemons, which are meant to stay, as in the
//! originals. As the parent of daemons (`PR_SET_CHILD_SUBREAPER`), the server could not tell those that are meant to stay
//! from others, nor which command they belong to. If the server itself is killed with KILL, its
//! [watcher](crate::process_watcher) ends the same groups.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::{
    process_tree::{GRACE, LAST_WAIT, POLL_INTERVAL, ProcessTree, is_alive, is_gone},
    process_watcher,
};

/// All process groups that may be alive. Clones share one registry; a server has one.
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

    /// Ends every group and returns when all are dead. New processes are refused from then on.
    pub async fn end_all(&self) {
        let groups: Vec<Pid> = {
            let mut registry = self.lock();
            registry.closed = true;
            registry.groups.iter().copied().collect()
        };
        terminate(groups).await;
        self.forget(|group| !is_alive(group));
    }

    /// Refuses new processes from now on.
    pub fn close(&self) {
        self.lock().closed = true;
    }

    /// Whether new processes are refused.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// The ids of the groups that are alive, running commands included.
    pub fn live_groups(&self) -> Vec<u32> {
        self.forget(|group| !is_alive(group));
        self.lock().groups.iter().map(|group| group.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Spawns `command` in a group of its own.
    pub fn spawn(&self, command: &mut Command) -> io::Result<(Child, Group)> {
        self.forget(is_gone);
        // The lock is held while spawning, so that `end_all` misses nothing.
        let mut registry = self.lock();
        if registry.closed {
            return Err(io::Error::other("the server is ending"));
        }
        let start = process_watcher::announce_start(command.as_std_mut());
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("the process has no id"))?;
        start.succeeded(id);
        registry.groups.insert(id);
        drop(registry);
        Ok((child, Group { id, processes: self.clone(), released: false }))
    }

    fn forget(&self, is_over: impl Fn(Pid) -> bool) {
        for group in self.lock().groups.extract_if(|group| is_over(*group)) {
            process_watcher::forget(group);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The group of one command. Killed on drop unless it was [released](Group::release), as when its task is aborted.
#[derive(Debug)]
pub struct Group {
    id: Pid,
    processes: Processes,
    released: bool,
}

impl Group {
    /// Ends the group and returns when it is dead. The caller must wait for the child meanwhile.
    pub async fn end(&self) {
        terminate([self.id]).await;
    }

    /// Releases a group whose command has ended. Its background jobs go on and stay registered.
    pub fn release(mut self) {
        self.released = true;
        self.processes.forget(is_gone);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.released {
            ProcessTree::of([self.id]).signal(Signal::KILL);
        }
    }
}

/// Ends groups and their descendants; returns when all are dead.
async fn terminate(groups: impl IntoIterator<Item = Pid>) {
    let mut tree = ProcessTree::of(groups);
    tree.signal(Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while tree.is_alive() && Instant::now() < deadline {
        sleep(POLL_INTERVAL).await;
    }
    // Repeatedly, as processes may fork while they are being killed.
    let deadline = Instant::now() + LAST_WAIT;
    while tree.is_alive() && Instant::now() < deadline {
        tree.signal(Signal::KILL);
        sleep(POLL_INTERVAL).await;
    }
}
