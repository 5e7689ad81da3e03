//! Processes of the system: memory, states and children.

use super::{Server, eventually};
use rustix::process::Signal;
use std::{path::Path, time::Duration};

/// The living processes that were started in `directory` by [`command`]: id and command line.
pub fn processes_of(directory: &Path) -> Vec<String> {
    let mark = format!("HOME={}", directory.display());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let marked = processes.filter(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    });
    let told = marked.map(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        format!("{} {}", process.file_name().display(), String::from_utf8_lossy(&line).replace('\0', " "))
    });
    told.collect()
}

impl Server {
    /// Peak memory of the server, in MiB, without the pages of the program itself.
    pub fn peak_mib(&self) -> u64 {
        self.memory("VmHWM:") - self.memory("RssFile:")
    }

    /// Current memory of the server, in MiB, without the pages of the program itself.
    pub fn resident_mib(&self) -> u64 {
        self.memory("RssAnon:")
    }

    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of that name");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Waits until the server is blocked: none of its threads runs in many samples in a row.
    #[track_caller]
    pub fn stands_still(&self) {
        let (mut looks, mut before) = (0, 0);
        eventually("the server is at rest", || {
            std::thread::sleep(Duration::from_millis(5));
            let (sleeps, ticks) = self.activity();
            looks = if sleeps && ticks == before { looks + 1 } else { 0 };
            before = ticks;
            looks == 20
        });
    }

    /// Has the signal delivered before anything else is done: the process is stopped meanwhile. Gives what `seen` sees of it
    /// while it stands.
    #[track_caller]
    pub fn signal_at_a_stop<T>(&self, signal: Signal, seen: impl FnOnce() -> T) -> T {
        self.signal(Signal::STOP);
        eventually("the server is stopped", || self.states().iter().all(|state| state == "T"));
        let seen = seen();
        self.signal(signal);
        self.signal(Signal::CONT);
        seen
    }

    /// State of each thread: `S` sleeps, `T` is stopped.
    fn states(&self) -> Vec<String> {
        self.stats().map(|fields| fields[0].clone()).collect()
    }

    /// Whether all threads sleep, and the time that they have run.
    fn activity(&self) -> (bool, u64) {
        self.stats().fold((true, 0), |(sleep, ticks), fields| {
            let run: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
            (sleep && fields[0] == "S", ticks + run)
        })
    }

    /// Fields of `stat` of each thread, from the state on.
    fn stats(&self) -> impl Iterator<Item = Vec<String>> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().flatten();
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        stats.map(|stat| stat.rsplit_once(')').unwrap().1.split_whitespace().map(str::to_owned).collect())
    }
}
