//! Runs the commands that print keys.

use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    collections::HashMap,
    io::Read as _,
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
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
pub struct Commands(Mutex<HashMap<String, String>>);

impl Commands {
    /// What `command`, run by `sh`, prints on stdout, without the blanks around it. `None`: it failed, printed
    /// nothing or more than a mebibyte, or took longer than ten seconds. Waits for it; each command is run once.
    pub fn output(&self, command: &str) -> Option<String> {
        // A command may ask the user to unlock something: two requests at once must not ask twice.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(output) = known.get(command) {
            return Some(output.clone());
        }
        let output = run(command)?;
        known.insert(command.to_owned(), output.clone());
        Some(output)
    }
}

fn run(command: &str) -> Option<String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = shell.process_group(0).spawn().ok()?;
    let group = Pid::from_child(&child);
    let (send, printed) = mpsc::channel();
    thread::spawn(move || {
        // Nobody waits any more if the time is over.
        let _ = send.send(printed_by(&mut child));
        let _ = child.wait();
    });
    let Some(bytes) = printed.recv_timeout(LIMIT).ok().flatten() else {
        // Everything that it started ends; it may have ended by itself in the meantime.
        let _ = kill_process_group(group, Signal::KILL);
        return None;
    };
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// What a command prints before it ends well; nothing if that is too long.
fn printed_by(child: &mut Child) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    child.stdout.take()?.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    let is_well = bytes.len() as u64 <= LONGEST && child.wait().ok()?.success();
    is_well.then_some(bytes)
}
