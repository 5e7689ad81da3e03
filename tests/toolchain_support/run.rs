//! Running of external programs, and notes about missing ones.

use std::{
    env,
    io::{self, Write as _},
    process::{Command, Stdio},
    thread,
};

/// Unwraps what a test needs; `None`, with a note, if it is missing. `required` names the variable that makes it a
/// failure when it is 1.
#[track_caller]
pub fn had<T>(needed: Result<T, String>, required: &str) -> Option<T> {
    let reason = match needed {
        Ok(it) => return Some(it),
        Err(reason) => reason,
    };
    assert!(!env::var(required).is_ok_and(|value| value == "1"), "{required}=1: {reason}");
    let test = thread::current().name().unwrap_or("a test").to_owned();
    progress(&format!("NOT RUN: {test}: {reason}"));
    None
}

/// Writes a line to stderr that the test harness does not capture.
pub fn progress(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Runs a program to its end; returns its stdout, or its stderr as an error.
pub fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match output.status.success() {
        true => Ok(stdout),
        false => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Err(format!("{name} ends with {}: {}\n{stdout}", output.status, stderr.trim()))
        }
    }
}
