//! Finds processes by a variable of their environment, which children inherit wherever they move.

use crate::process_tree::{Process, live_processes};
use rustix::process::{Pid, Signal, kill_process};
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

/// The most bytes of a process's environment and of its command line that are read.
const MOST_READ: u64 = 1024 * 1024;

/// A live process that was found.
pub struct FoundProcess {
    id: Pid,
    /// Its command line, with a space between the words.
    pub command: String,
}

impl FoundProcess {
    /// Kills the process.
    pub fn kill(&self) {
        // It may have ended meanwhile.
        let _ = kill_process(self.id, Signal::KILL);
    }
}

/// The live processes of this user that were started with the variable `name` at `value`; `None` if the system does not tell.
/// A process may change its own variables unseen: what counts is the environment that it was started with.
pub fn processes_with_variable(name: &str, value: &OsStr) -> Option<Vec<FoundProcess>> {
    let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
    let found = |Process { id, .. }: Process| {
        let environment = read_process_file(id, "environ")?;
        environment.split(|byte| *byte == 0).any(|it| it == entry).then_some(())?;
        let mut command = read_process_file(id, "cmdline")?;
        while command.pop_if(|byte| *byte == 0).is_some() {}
        command.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        Some(FoundProcess { id, command: String::from_utf8_lossy(&command).into_owned() })
    };
    live_processes().map(|processes| processes.into_iter().filter_map(found).collect())
}

fn read_process_file(id: Pid, name: &str) -> Option<Vec<u8>> {
    let file = fs::File::open(format!("/proc/{}/{name}", id.as_raw_nonzero())).ok()?;
    crate::line_reader::read_beginning(file, MOST_READ).ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::{
        io::{BufRead as _, BufReader},
        process::{Command, Stdio},
    };

    #[test]
    fn grandchild_is_found_by_variable() {
        // Another run may have left processes.
        let value = format!("environment_search test {}", std::process::id());
        let value = OsStr::new(&value);
        let mut command = Command::new("/bin/sh");
        // Neither calls exec, during which a process has no environment.
        command
            .args(["-c", "exec 3<&0; (read line <&3) & echo ready; read line"])
            .env("PI_RPC_SEARCHED", value);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let found = || processes_with_variable("PI_RPC_SEARCHED", value).expect("Linux tells");
        assert_eq!(found().len(), 2);
        assert!(found().iter().all(|it| it.command.ends_with("read line")));
        found().iter().for_each(FoundProcess::kill);
        child.wait().expect("a status");
    }
}
