//! Runs the commands that print keys.

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

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The most that a command may print, in bytes. Keys and headers are much shorter.
const LONGEST: u64 = 1024 * 1024;

/// Commands that have been run, with what they printed. What failed is run again.
#[derive(Default)]
pub struct KeyCommands {
    outputs: Mutex<HashMap<String, String>>,
    /// The process group of the command that runs now.
    running: Running,
}

type Running = Mutex<Option<Pid>>;

impl KeyCommands {
    /// What `command`, run by `sh`, prints on stdout, without the blanks around it. `None`: it failed, printed
    /// nothing or more than a mebibyte, or took longer than ten seconds. Waits for it; each command is run once.
    pub fn output(&self, command: &str) -> Option<String> {
        // A command may ask the user to unlock something: two requests at once must not ask twice.
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(output) = outputs.get(command) {
            return Some(output.clone());
        }
        let output = run(command, &self.running)?;
        outputs.insert(command.to_owned(), output.clone());
        Some(output)
    }

    /// Ends the command that runs now, and everything that it started: nobody wants to know any more.
    pub fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = *running {
            // It may have ended in the meantime; its id is not given to another before it is waited for.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn run(command: &str, running: &Running) -> Option<String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Locked meanwhile, so that `stop` does not miss a command that has just begun.
    let mut starting = running.lock().unwrap_or_else(PoisonError::into_inner);
    let mut child = shell.process_group(0).spawn().ok()?;
    let group = Pid::from_child(&child);
    *starting = Some(group);
    drop(starting);
    let stdout = child.stdout.take()?;
    let (send, printed) = mpsc::channel();
    // Nobody waits for the answer any more if the time is over.
    thread::spawn(move || send.send(read_output(stdout, group)));
    let printed = printed.recv_timeout(LIMIT).ok().flatten();
    // Its id may be given to another once it has been waited for.
    *running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    if printed.is_none() {
        // Everything that it started ends; it may have ended by itself in the meantime.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let is_well = child.wait().is_ok_and(|status| status.success());
    let text = String::from_utf8_lossy(&printed.filter(|_| is_well)?).trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// What a command prints until it ends; nothing if that is too long.
fn read_output(stdout: ChildStdout, command: Pid) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    stdout.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > LONGEST {
        return None;
    }
    // It may go on with stdout closed. Not waited for here, so that its id stays its own.
    waitid(WaitId::Pid(command), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()?;
    Some(bytes)
}
