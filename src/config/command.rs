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

/// Commands that have been run, with what they printed. What failed is run again.
#[derive(Default)]
pub struct Commands(Mutex<HashMap<String, String>>);

impl Commands {
    /// What `command`, run by `sh`, prints on stdout, without the blanks around it. `None`: it failed, printed
    /// nothing, or took longer than ten seconds. Waits for it; each command is run once.
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
    let mut stdout = child.stdout.take()?;
    let (send, printed) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.read_to_end(&mut bytes);
        // Nobody waits any more if the time is over.
        let _ = send.send(read.map(|_| bytes));
    });
    let Ok(Ok(bytes)) = printed.recv_timeout(LIMIT) else {
        stop(&mut child);
        return None;
    };
    if !child.wait().ok()?.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// Ends the command and everything that it started.
fn stop(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended in the meantime.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
