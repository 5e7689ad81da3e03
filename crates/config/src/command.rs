//! Runs commands that print keys.
//!
//! They get the whole environment: they are the user's own, and print a key by means of others (`vault`, `op`, `aws`).

use pi_rpc_processes::process_watcher::{self, WatchedGroup};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::{
    collections::HashMap,
    io::Read as _,
    os::unix::process::CommandExt as _,
    process::{ChildStdout, Command, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// Time limit of a command.
const LIMIT: Duration = Duration::from_secs(10);

/// Output limit of a command in bytes. Keys and headers are much shorter.
const LONGEST: u64 = 1024 * 1024;

/// The outputs of commands that have run. A failed command is run again.
#[derive(Default)]
pub struct KeyCommands {
    outputs: Mutex<HashMap<String, String>>,
    /// Process group of the running command.
    running: Running,
}

type Running = Mutex<Option<Pid>>;

impl KeyCommands {
    /// Runs `command` by `sh` and returns its stdout, trimmed. `None`: it failed, printed nothing or more than a
    /// mebibyte, or took longer than ten seconds. Blocks; each command runs once.
    pub fn output(&self, command: &str) -> Option<String> {
        // Held while the command runs: it may ask the user to unlock something, and two requests must not ask twice.
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(output) = outputs.get(command) {
            return Some(output.clone());
        }
        let output = run(command, &self.running)?;
        outputs.insert(command.to_owned(), output.clone());
        Some(output)
    }

    /// Kills the running command and all that it started.
    pub fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = *running {
            // The command may have ended already; its id is not reused before it is waited for.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn run(command: &str, running: &Running) -> Option<String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Locked while starting, so that `stop` does not miss the command.
    let mut starting = running.lock().unwrap_or_else(PoisonError::into_inner);
    let start = process_watcher::announce_start(&mut shell);
    let mut child = shell.process_group(0).spawn().ok()?;
    let group = Pid::from_child(&child);
    let _watched = WatchedGroup::new(start, group);
    *starting = Some(group);
    drop(starting);
    let stdout = child.stdout.take()?;
    let (send, printed) = mpsc::channel();
    // Sending fails only after the time limit.
    thread::spawn(move || send.send(read_output(stdout, group)));
    let printed = printed.recv_timeout(LIMIT).ok().flatten();
    // Its id may be reused once it is waited for.
    *running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    if printed.is_none() {
        // Kills all that it started; it may have ended already.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let is_well = child.wait().is_ok_and(|status| status.success());
    let text = String::from_utf8_lossy(&printed.filter(|_| is_well)?).trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// Reads a command's output until it ends; `None`: the output is too long.
fn read_output(stdout: ChildStdout, command: Pid) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    stdout.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > LONGEST {
        return None;
    }
    // The command may go on with stdout closed. Not reaped here, so that its id is not reused.
    waitid(WaitId::Pid(command), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()?;
    Some(bytes)
}
