//! Starts the process of an extension, or explains why that fails.

use super::node::NodeHost;
use command_fds::{CommandFdExt as _, FdMapping};
use pi_rpc_files::{regular_files, secrets::ChildEnvironment};
use pi_rpc_processes::{Group, Processes};
use std::{
    fs,
    io::{self, BufRead as _, BufReader, ErrorKind, Read as _},
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::Path,
    process::Stdio,
};
use tokio::process::{Child, Command};

/// Set for extensions, to the version of their protocol: tells a program by whom it was started.
const VARIABLE: &str = "PI_RPC_EXTENSION";

/// The version of the protocol.
const VERSION: &str = "1";

/// Variables that pi sets for its extensions and their children. Source: pi source.
const PI_VARIABLES: [(&str, &str); 2] = [("PI_CODING_AGENT", "true"), ("AI_AGENT", "pi")];

/// Names the folder in which the Node host may keep what it has made of pi's extensions.
const CACHE: &str = "PI_RPC_CACHE";

/// Names this program, for extensions that start another agent.
const PROGRAM: &str = "PI_RPC_PROGRAM";

/// Names the program whose `strip-types` removes the types of TypeScript where the runtime cannot: this one, if it can.
const TYPE_STRIPPER: &str = "PI_RPC_TYPE_STRIPPER";

/// Options that let Node before 22.15 load modules as extensions need; ignored by newer versions.
const NODE_OPTIONS: [&str; 2] = ["--experimental-vm-modules", "--experimental-import-meta-resolve"];

/// The name of that folder, beside the program, so that each version has its own.
const PREPARED: &str = "prepared";

/// Names the directory that the Node host is to work in, where it is not started there.
const DIRECTORY: &str = "PI_RPC_DIRECTORY";

/// The descriptor on which the Node host reads answers.
const ANSWER_DESCRIPTOR: i32 = 3;

/// Starts the executable at `path` in `directory`, with pipes to it; the error says why it cannot be started.
pub(super) fn spawn_executable(
    path: &Path,
    directory: &Path,
    environment: &ChildEnvironment,
    processes: &Processes,
) -> Result<(Child, Group), String> {
    let mut command = Command::new(path);
    spawn(&mut command, directory, environment, processes)
        .map_err(|error| format!("it cannot be started: {}", start_failure(path, &error)))
}

/// Starts `main`, the program of the Node host, which reads `answers`.
pub(super) fn spawn_host(
    node: &NodeHost,
    main: &Path,
    answers: OwnedFd,
    directory: &Path,
    environment: &ChildEnvironment,
    processes: &Processes,
) -> Result<(Child, Group), String> {
    let mut command = Command::new(&node.runtime);
    if !node.is_bun() {
        command.args(NODE_OPTIONS);
    }
    command.arg(main).envs(PI_VARIABLES).env(CACHE, main.with_file_name(PREPARED));
    // The server may itself have been started by an extension of another one.
    command.env_remove(TYPE_STRIPPER);
    if let Some(program) = &node.program {
        command.env(PROGRAM, program);
        if cfg!(feature = "strip-types") {
            command.env(TYPE_STRIPPER, program);
        }
    }
    let text =
        |error: &dyn std::fmt::Display| format!("{} cannot be started: {error}", node.runtime.display());
    let mapping = FdMapping { parent_fd: answers, child_fd: ANSWER_DESCRIPTOR };
    command.fd_mappings(vec![mapping]).map_err(|error| text(&error))?;
    let mut starts_in = directory;
    // Bun runs what a `bunfig.toml` there names, and takes variables from an `.env`: a project could bring them along.
    if let (true, Some(own)) = (node.is_bun(), main.parent()) {
        command.env(DIRECTORY, directory);
        starts_in = own;
    }
    spawn(&mut command, starts_in, environment, processes).map_err(|error| text(&error))
}

/// Spawns a command in that environment, with variables of its own.
fn spawn(
    command: &mut Command,
    directory: &Path,
    environment: &ChildEnvironment,
    processes: &Processes,
) -> io::Result<(Child, Group)> {
    environment.withhold_keys(command.as_std_mut());
    command.current_dir(directory).env(VARIABLE, VERSION);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    processes.spawn(command)
}

/// Whether the file is an extension that is started as a process.
pub(super) fn is_program(path: &Path) -> bool {
    is_executable(path) && !is_pi_extension(path)
}

/// Whether the file can be started at all, by its mode.
pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Whether the file is one of pi's own extensions, which run inside of another process: JavaScript or TypeScript by its
/// name, and not a program of its own.
pub fn is_pi_extension(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_script = ending.is_some_and(|ending| SCRIPTS.contains(&ending));
    is_script && !(is_executable(path) && interpreter(path).is_some())
}

/// The file name endings of pi's extensions.
pub const SCRIPTS: [&str; 7] = ["ts", "mts", "cts", "tsx", "js", "mjs", "cjs"];

/// Explains a failed start, and what to do.
fn start_failure(path: &Path, error: &io::Error) -> String {
    let Ok(file) = fs::metadata(path) else { return "there is no such file".to_owned() };
    if file.is_dir() {
        return "it is a folder without an executable".to_owned();
    }
    if !is_executable(path) {
        return "the file is not executable (chmod +x)".to_owned();
    }
    match (error.kind(), interpreter(path)) {
        (ErrorKind::NotFound, Some(interpreter)) => format!("its interpreter is missing: {interpreter}"),
        (_, None) if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            "the file is neither a program for this machine nor a script that begins with #!".to_owned()
        }
        _ => error.to_string(),
    }
}

/// The interpreter that a script names after `#!`.
fn interpreter(path: &Path) -> Option<String> {
    // Systems read at most this much of the first line.
    let mut line = Vec::new();
    BufReader::new(regular_files::open(path).ok()?.take(256)).read_until(b'\n', &mut line).ok()?;
    let named = line.strip_prefix(b"#!")?;
    Some(String::from_utf8_lossy(named).trim().to_owned())
}
