//! Starting the process of an extension, and why that may fail.

use crate::tools::{Group, Processes};
use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, ErrorKind, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Stdio,
};
use tokio::process::{Child, Command};

/// Set for extensions, to the version of their protocol: tells a program by whom it was started.
const VARIABLE: &str = "PI_RPC_EXTENSION";

/// The version of the protocol.
const VERSION: &str = "1";

/// Starts the executable at `path` in `directory`, its three pipes ours; or says why it cannot be started.
pub(super) fn start(path: &Path, directory: &Path, processes: &Processes) -> Result<(Child, Group), String> {
    let mut command = Command::new(path);
    command.current_dir(directory).env(VARIABLE, VERSION);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    processes.spawn(&mut command).map_err(|error| format!("it cannot be started: {}", reason(path, &error)))
}

/// Whether the file can be started at all, by its mode.
pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Whether the file is one of the original's extensions, which run inside of it.
pub(super) fn is_script_of_pi(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["ts", "mts", "cts", "js", "mjs", "cjs"].contains(&ending))
}

/// The system's error in words that say what to do.
fn reason(path: &Path, error: &io::Error) -> String {
    let Ok(file) = fs::metadata(path) else { return "there is no such file".to_owned() };
    if file.is_dir() {
        return "it is a folder without an executable".to_owned();
    }
    if !is_executable(path) {
        return match is_script_of_pi(path) {
            true => {
                "extensions in TypeScript and JavaScript cannot be run yet; an extension is an executable \
                     that speaks the extension protocol"
                    .to_owned()
            }
            false => "the file is not executable (chmod +x)".to_owned(),
        };
    }
    match (error.kind(), interpreter(path)) {
        (ErrorKind::NotFound, Some(interpreter)) => format!("its interpreter is missing: {interpreter}"),
        (_, None) if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            "the file is neither a program for this machine nor a script that begins with #!".to_owned()
        }
        _ => error.to_string(),
    }
}

/// What a script names behind `#!`.
fn interpreter(path: &Path) -> Option<String> {
    // As much as systems look at.
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?.take(256)).read_until(b'\n', &mut line).ok()?;
    let named = line.strip_prefix(b"#!")?;
    Some(String::from_utf8_lossy(named).trim().to_owned())
}
