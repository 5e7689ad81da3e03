//! Ends the process groups that this program has started, also when the program itself is killed.
//!
//! A program that is killed by `SIGKILL` ends nothing that it has started. So the first process that is started also starts the
//! watcher: this program once more, in a role of its own (`ROLE`), in another process group, with a pipe as stdin whose
//! other end only this process has. Through it the watcher is told of each group, when it begins and when it is gone. The
//! system closes the pipe however this process ends, and the watcher ends what is left then, as
//! the registry of groups does: TERM, and KILL after a moment.
//!
//! A group costs two writes of five bytes. There is one watcher for the whole process, as there is one death of it. Only a
//! program may be started again in another role, so it is the command line that calls [`enable`]; a user of the library has no
//! watcher.

use crate::process_tree::{
    GRACE, LAST_WAIT, POLL_INTERVAL, Process, ProcessTree, live_process, live_processes,
};
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    process::{Pid, Signal, getppid},
};
use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsStr,
    io::{self, Read, Write as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

/// The first argument of the program in the role of the watcher; the second is the id of the process that it watches.
const ROLE: &str = "watch-processes";

/// The name that the watcher has in lists of processes. Not that of the program: who kills all of that name kills no watcher.
const NAME: &str = "process-watcher";

/// The variable by which the watcher recognizes a process that was just being started: the id of the process that starts it.
const MARK: &str = "PI_RPC_PARENT";

/// How long the watcher looks for a process that was being started when the program was killed.
const START_TIMEOUT: Duration = Duration::from_millis(500);

/// The greatest age of such a process, in ticks of the kernel, of which every Linux shows 100 a second.
const START_TICKS: u64 = 200;

/// Bytes of a message: its kind and the id of a group.
const MESSAGE: usize = 5;

/// A process is about to be started.
const STARTING: u8 = b'?';
/// It could not be started.
const FAILED: u8 = b'!';
/// It was started, and leads this group.
const STARTED: u8 = b'+';
/// The group is gone.
const GONE: u8 = b'-';

/// The watcher of this process.
static WATCHER: Mutex<Watcher> = Mutex::new(Watcher::disabled());

struct Watcher {
    is_enabled: bool,
    /// The groups that may be alive.
    groups: BTreeSet<i32>,
    /// Processes that are being started.
    starting: usize,
    process: Option<(Child, ChildStdin)>,
}

/// Has a watcher started with the first process.
pub fn enable() {
    watcher().is_enabled = true;
}

/// Ends the watcher, and with it the groups that it still knows. For a process that is about to become another program, which
/// has a watcher of its own.
pub fn stop() {
    let mut watcher = watcher();
    watcher.is_enabled = false;
    if let Some((mut process, pipe)) = watcher.process.take() {
        drop(pipe);
        // Fails only if it was waited for.
        let _ = process.wait();
    }
}

/// Announces a process that `command` is about to start as the leader of a group.
pub fn announce_start(command: &mut Command) -> Start {
    command.env(MARK, std::process::id().to_string());
    let mut watcher = watcher();
    watcher.starting += 1;
    watcher.send(STARTING, 0);
    Start { has_succeeded: false }
}

/// Forgets a group that is gone.
pub fn forget(group: Pid) {
    let mut watcher = watcher();
    if watcher.groups.remove(&group.as_raw_nonzero().get()) {
        watcher.send(GONE, group.as_raw_nonzero().get());
    }
}

/// A process that is being started; it could not be if this is dropped.
pub struct Start {
    has_succeeded: bool,
}

impl Start {
    /// The process was started, and leads `group`.
    pub fn succeeded(mut self, group: Pid) {
        self.has_succeeded = true;
        let mut watcher = watcher();
        watcher.starting = watcher.starting.saturating_sub(1);
        watcher.groups.insert(group.as_raw_nonzero().get());
        watcher.send(STARTED, group.as_raw_nonzero().get());
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        if !self.has_succeeded {
            let mut watcher = watcher();
            watcher.starting = watcher.starting.saturating_sub(1);
            watcher.send(FAILED, 0);
        }
    }
}

/// A group that the watcher knows until this is dropped.
pub struct WatchedGroup(Pid);

impl WatchedGroup {
    /// The group that a process leads which was [announced](announce_start) and started.
    pub fn new(start: Start, group: Pid) -> Self {
        start.succeeded(group);
        Self(group)
    }
}

impl Drop for WatchedGroup {
    fn drop(&mut self) {
        forget(self.0);
    }
}

fn watcher() -> MutexGuard<'static, Watcher> {
    WATCHER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watcher {
    const fn disabled() -> Self {
        Self { is_enabled: false, groups: BTreeSet::new(), starting: 0, process: None }
    }

    /// Sends a message; to a watcher that is new, all that is known instead.
    fn send(&mut self, kind: u8, id: i32) {
        if !self.is_enabled {
            return;
        }
        if let Some((_, pipe)) = &mut self.process
            && pipe.write_all(&message(kind, id)).is_ok()
        {
            return;
        }
        if let Some((mut process, _pipe)) = self.process.take() {
            // It was killed, or does not read; it must not take the end of the pipe for that of this process.
            let _ = process.kill();
            let _ = process.wait();
        }
        match self.start() {
            Ok(process) => self.process = Some(process),
            Err(error) => {
                tracing::warn!("no watcher: what runs goes on if this process is killed: {error}");
            }
        }
    }

    fn start(&self) -> io::Result<(Child, ChildStdin)> {
        let mut command = Command::new(program()?);
        command.arg0(NAME).arg(ROLE).arg(std::process::id().to_string());
        command.env_clear().current_dir("/").process_group(0);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut pipe = process.stdin.take().ok_or_else(|| io::Error::other("it has no pipe"))?;
        let starting = (0..self.starting).map(|_| message(STARTING, 0));
        // As a process that is started replaces an announced one, one is announced for each.
        let known = self.groups.iter().flat_map(|group| [message(STARTING, 0), message(STARTED, *group)]);
        pipe.write_all(&known.chain(starting).collect::<Vec<_>>().concat())?;
        // From now on a watcher that does not read is replaced instead of waited for.
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        Ok((process, pipe))
    }
}

/// The file of this program, also if another one is in its place by now.
fn program() -> io::Result<PathBuf> {
    match cfg!(target_os = "linux") {
        true => Ok("/proc/self/exe".into()),
        false => std::env::current_exe(),
    }
}

fn message(kind: u8, id: i32) -> [u8; MESSAGE] {
    let [a, b, c, d] = id.to_le_bytes();
    [kind, a, b, c, d]
}

/// Whether this process was started in the role of the watcher.
pub fn is_watcher(arguments: &[impl AsRef<OsStr>]) -> bool {
    arguments.first().is_some_and(|name| name.as_ref() == NAME)
        && arguments.get(1).is_some_and(|role| role.as_ref() == ROLE)
}

/// Reads which groups there are until the end of input, and ends those that are left. `arguments` are those of the command line.
pub fn watch(arguments: &[impl AsRef<OsStr>], mut input: impl Read) {
    // It may be dead by now, and have another process in its place as the parent.
    let program = arguments.get(2).and_then(|id| Pid::from_raw(id.as_ref().to_str()?.parse().ok()?));
    let mut known = KnownGroups::default();
    let mut message = [0; MESSAGE];
    while input.read_exact(&mut message).is_ok() {
        let [kind, id @ ..] = message;
        known.update(kind, i32::from_le_bytes(id));
    }
    let late = known.find_started(program);
    end(known.alive().chain(late));
}

/// The groups of the program, as the watcher knows them.
#[derive(Default)]
struct KnownGroups {
    /// When the leader of each was started, in ticks of the kernel; `None`: it had ended by then.
    leaders: HashMap<Pid, Option<u64>>,
    /// Processes that are being started.
    starting: usize,
}

impl KnownGroups {
    fn update(&mut self, kind: u8, id: i32) {
        let id = Pid::from_raw(id);
        match (kind, id) {
            (STARTING, _) => self.starting += 1,
            (FAILED, _) => self.starting = self.starting.saturating_sub(1),
            (STARTED, Some(id)) => {
                self.starting = self.starting.saturating_sub(1);
                self.leaders.insert(id, live_process(id).map(|leader| leader.started));
            }
            (GONE, Some(id)) => drop(self.leaders.remove(&id)),
            _ => {}
        }
    }

    /// The groups that are still those of the program: the id of one that is gone may be that of a stranger by now.
    fn alive(&self) -> impl Iterator<Item = Pid> {
        let is_same = |(id, started): &(&Pid, &Option<u64>)| {
            live_process(**id).is_none_or(|leader| **started == Some(leader.started))
        };
        self.leaders.iter().filter(is_same).map(|(id, _)| *id)
    }

    /// The processes that were started without the program having been able to say so: the youngest leaders of groups that
    /// bear its mark and have just lost their parent, as the watcher has.
    fn find_started(&self, program: Option<Pid>) -> Vec<Pid> {
        let oldest = uptime_ticks().saturating_sub(START_TICKS);
        let deadline = Instant::now() + START_TIMEOUT;
        let mut found = Vec::new();
        while found.len() < self.starting && Instant::now() < deadline {
            let parent = getppid();
            let is_late = |it: &Process| {
                it.group == it.id
                    && it.parent == parent
                    && parent != program
                    && it.started >= oldest
                    && !self.leaders.contains_key(&it.id)
                    && program.is_some_and(|program| has_mark(it.id, program))
            };
            found = live_processes().into_iter().flatten().filter(is_late).collect();
            sleep(POLL_INTERVAL);
        }
        found.sort_by_key(|it| std::cmp::Reverse(it.started));
        found.into_iter().take(self.starting).map(|it| it.id).collect()
    }
}

/// Whether a process was started by `program`, by its environment.
fn has_mark(process: Pid, program: Pid) -> bool {
    let mark = format!("{MARK}={}", program.as_raw_nonzero());
    let environment =
        std::fs::read(format!("/proc/{}/environ", process.as_raw_nonzero())).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

/// Time since the machine's start, in ticks of the kernel.
fn uptime_ticks() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: Option<f64> = uptime.split(' ').next().and_then(|seconds| seconds.parse().ok());
    seconds.map_or(0, |seconds| (seconds * 100.0) as u64)
}

/// Ends groups and their descendants; returns when all are dead.
fn end(groups: impl IntoIterator<Item = Pid>) {
    let mut tree = ProcessTree::of(groups);
    tree.signal(Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while tree.is_alive() && Instant::now() < deadline {
        sleep(POLL_INTERVAL);
    }
    // Repeatedly, as processes may fork while they are being killed.
    let deadline = Instant::now() + LAST_WAIT;
    while tree.is_alive() && Instant::now() < deadline {
        tree.signal(Signal::KILL);
        sleep(POLL_INTERVAL);
    }
}
