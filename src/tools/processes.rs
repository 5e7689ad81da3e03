//! Registry of the process groups that this server has started, so that none outlives it.
//!
//! Each command runs in a group of its own. To end a command, its group and the groups of its descendants (`timeout`,
//! `set -m`, `setsid`) get TERM and, after [`GRACE`], KILL. Background jobs of a command that has ended normally go on, as in
//! pi, and stay registered until [`Processes::end_all`].
//!
//! Out of reach are processes in a group of their own whose parent has ended: daemons, which are meant to stay, as in the
//! originals. If the server is killed with KILL, everything goes on. As the parent of daemons (`PR_SET_CHILD_SUBREAPER`),
//! the server could not tell those that are meant to stay from others, nor which command they belong to.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// Time from TERM to KILL.
const GRACE: Duration = Duration::from_millis(200);

/// Longest wait after KILL. Only a process stuck in the kernel, or of another user, lasts that long.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Interval of polls whether a group has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(4);

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
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// The ids of the groups that are alive, running commands included.
    pub fn live_groups(&self) -> Vec<u32> {
        self.forget(|group| !is_alive(group));
        self.lock().groups.iter().map(|group| group.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Spawns `command` in a group of its own.
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

/// The group of one command. Killed on drop unless it was [released](Group::release), as when its task is aborted.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    processes: Processes,
    released: bool,
}

impl Group {
    /// Ends the group and returns when it is dead. The caller must wait for the child meanwhile.
    pub(crate) async fn end(&self) {
        terminate([self.id]).await;
    }

    /// Releases a group whose command has ended. Its background jobs go on and stay registered.
    pub(crate) fn release(mut self) {
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

/// Groups, and the groups of their members' descendants.
struct ProcessTree {
    groups: HashSet<Pid>,
}

impl ProcessTree {
    /// The groups with their current descendants.
    fn of(groups: impl IntoIterator<Item = Pid>) -> Self {
        let mut tree = Self { groups: groups.into_iter().collect() };
        tree.is_alive();
        tree
    }

    /// Whether a member is alive. Adds groups of new descendants, which could not be attributed any more once their parents
    /// have ended.
    fn is_alive(&mut self) -> bool {
        self.groups.retain(|group| !is_gone(*group));
        if self.groups.is_empty() {
            return false;
        }
        let Some(processes) = live_processes() else { return true };
        let mut members: HashSet<Pid> = HashSet::new();
        loop {
            let known = members.len();
            let is_of = |it: &Process| {
                self.groups.contains(&it.group) || it.parent.is_some_and(|parent| members.contains(&parent))
            };
            let found: Vec<Pid> = processes.iter().filter(|it| is_of(it)).map(|it| it.id).collect();
            members.extend(found);
            if members.len() == known {
                break;
            }
        }
        // A group that also has foreign processes is left alone.
        let foreign: HashSet<Pid> =
            processes.iter().filter(|it| !members.contains(&it.id)).map(|it| it.group).collect();
        let of_members = processes.iter().filter(|it| members.contains(&it.id)).map(|it| it.group);
        self.groups.extend(of_members.filter(|group| !foreign.contains(group)));
        !members.is_empty()
    }

    fn signal(&self, with: Signal) {
        self.groups.iter().for_each(|group| signal(*group, with));
    }
}

/// Signals a group. Ignores errors: it has ended, or may not be signalled.
fn signal(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}

/// Whether the group has no process, not even a zombie. Cheap: does not read `/proc`.
fn is_gone(group: Pid) -> bool {
    matches!(test_kill_process_group(group), Err(Errno::SRCH))
}

fn is_alive(group: Pid) -> bool {
    !is_gone(group) && live_processes().is_none_or(|processes| processes.iter().any(|it| it.group == group))
}

/// A process, as `/proc` shows it.
struct Process {
    id: Pid,
    /// `None`: in another namespace.
    parent: Option<Pid>,
    group: Pid,
}

/// The live processes; `None` if the system does not list them. Zombies do not count: without an init that reaps orphans,
/// as in some containers, they stay.
#[cfg(target_os = "linux")]
fn live_processes() -> Option<Vec<Process>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let stats = entries.flatten().filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        process(Pid::from_raw(id)?, &std::fs::read_to_string(entry.path().join("stat")).ok()?)
    });
    Some(stats.collect())
}

#[cfg(not(target_os = "linux"))]
fn live_processes() -> Option<Vec<Process>> {
    None
}

/// Parses a line of `/proc/<pid>/stat` (`pid (name) state parent group …`); `None`: dead, or of the kernel.
#[cfg(target_os = "linux")]
fn process(id: Pid, stat: &str) -> Option<Process> {
    // A name may hold anything, even parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    // A process that is just exiting is in group -1.
    let mut next = || fields.next()?.parse().ok().filter(|id: &i32| *id >= 0);
    let (parent, group) = (Pid::from_raw(next()?), Pid::from_raw(next()?)?);
    Some(Process { id, parent, group })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn dead_and_exiting_processes_are_skipped() {
        let id = Pid::from_raw(7).unwrap();
        let read = |stat: &str| process(id, stat).map(|it| (it.parent, it.group.as_raw_nonzero().get()));
        assert_eq!(read("7 (a ) (b) S 1 5 5 0 -1"), Some((Pid::from_raw(1), 5)));
        assert_eq!(read("7 (of another namespace) R 0 5 5 0 -1"), Some((None, 5)));
        for none in
            ["7 (z) Z 1 5 5", "7 (x) X 0 -1 -1", "7 (x) R 0 -1 -1", "7 (of the kernel) S 2 0 0", "7 (", ""]
        {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
