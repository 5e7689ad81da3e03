//! Process groups with all descendants of their members, as `/proc` shows them.

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process_group, test_kill_process_group},
};
use std::{collections::HashSet, time::Duration};

/// Time from TERM to KILL.
pub const GRACE: Duration = Duration::from_millis(200);

/// Longest wait after KILL. Only a process stuck in the kernel, or of another user, lasts that long.
pub const LAST_WAIT: Duration = Duration::from_secs(2);

/// Interval of polls whether a group has ended.
pub const POLL_INTERVAL: Duration = Duration::from_millis(4);

/// Groups, and the groups of their members' descendants.
pub struct ProcessTree {
    groups: HashSet<Pid>,
}

impl ProcessTree {
    /// The groups with their current descendants.
    pub fn of(groups: impl IntoIterator<Item = Pid>) -> Self {
        let mut tree = Self { groups: groups.into_iter().collect() };
        tree.is_alive();
        tree
    }

    /// Whether a member is alive. Adds groups of new descendants, which could not be attributed any more once their parents
    /// have ended.
    pub fn is_alive(&mut self) -> bool {
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

    /// Signals every group. Ignores errors: a group has ended, or may not be signalled.
    pub fn signal(&self, signal: Signal) {
        for group in &self.groups {
            let _ = kill_process_group(*group, signal);
        }
    }
}

/// Whether the group has no process, not even a zombie. Cheap: does not read `/proc`.
pub fn is_gone(group: Pid) -> bool {
    matches!(test_kill_process_group(group), Err(Errno::SRCH))
}

/// Whether the group has a process that is no zombie.
pub fn is_alive(group: Pid) -> bool {
    !is_gone(group) && live_processes().is_none_or(|processes| processes.iter().any(|it| it.group == group))
}

/// A process, as `/proc` shows it.
pub struct Process {
    /// Its id.
    pub id: Pid,
    /// The process that started it, or the one that has taken it over; `None`: in another namespace.
    pub parent: Option<Pid>,
    /// Its group.
    pub group: Pid,
    /// When it was started, in ticks of the kernel since the machine's start.
    pub started: u64,
}

/// The live processes; `None` if the system does not list them. Zombies do not count: without an init that reaps orphans,
/// as in some containers, they stay.
#[cfg(target_os = "linux")]
pub fn live_processes() -> Option<Vec<Process>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let ids = entries.flatten().filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    Some(ids.filter_map(live_process).collect())
}

/// The process with this id, if it is alive and the system tells.
#[cfg(target_os = "linux")]
pub fn live_process(id: Pid) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
    parse_stat(id, &stat)
}

/// The live processes; `None`: the system does not list them.
#[cfg(not(target_os = "linux"))]
pub fn live_processes() -> Option<Vec<Process>> {
    None
}

/// The process with this id, if it is alive and the system tells.
#[cfg(not(target_os = "linux"))]
pub fn live_process(_: Pid) -> Option<Process> {
    None
}

/// Parses a line of `/proc/<pid>/stat` (`pid (name) state parent group …`); `None`: dead, or of the kernel.
#[cfg(any(test, target_os = "linux"))]
fn parse_stat(id: Pid, stat: &str) -> Option<Process> {
    // A name may hold anything, even parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    // A process that is just exiting is in group -1.
    let id_at = |place: usize| fields.get(place)?.parse().ok().filter(|id: &i32| *id >= 0);
    Some(Process {
        id,
        parent: Pid::from_raw(id_at(1)?),
        group: Pid::from_raw(id_at(2)?)?,
        // Field 22 of the file. Source: `proc_pid_stat(5)`.
        started: fields.get(19).and_then(|ticks| ticks.parse().ok()).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_and_exiting_processes_are_skipped() {
        let id = Pid::from_raw(7).unwrap();
        let number = |id: Option<Pid>| id.map(|id| id.as_raw_nonzero().get());
        let read = |stat: &str| {
            parse_stat(id, stat).map(|it| (number(it.parent), number(Some(it.group)), it.started))
        };
        assert_eq!(read("7 (a ) (b) S 1 5 4 0 -1"), Some((Some(1), Some(5), 0)));
        assert_eq!(read("7 (of another namespace) R 0 5 0 0 -1"), Some((None, Some(5), 0)));
        let whole = "7 (a) S 1 5 4 0 -1 4194368 94 0 0 0 0 0 0 0 20 0 1 0 65721 5259264 609";
        assert_eq!(read(whole), Some((Some(1), Some(5), 65721)));
        for none in
            ["7 (z) Z 1 5 5", "7 (x) X 0 -1 -1", "7 (x) R 0 -1 -1", "7 (of the kernel) S 2 0 0", "7 (", ""]
        {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
