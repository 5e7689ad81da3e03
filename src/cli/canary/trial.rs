//! One trial: the client's test command with one server.

use super::{
    place::{Folder, Place},
    subjects::Subject,
};
use pi_rpc_mock::Mock;
use pi_rpc_model::scripted::Script;
use pi_rpc_processes::Processes;
use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    net::SocketAddr,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{process::Command, time::timeout};

/// How a trial went.
pub struct Trial {
    pub exit: ClientExit,
    /// A recording for each process of the server that the client has started.
    pub recordings: Vec<PathBuf>,
    /// The end of what the client wrote, if it failed.
    pub tail: String,
}

/// How the client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientExit {
    Passed,
    /// Its status, or 128 plus the number of the signal.
    Failed(i32),
    TimedOut,
}

/// The variable with the path of the program.
const PROGRAM: &str = "PI";

/// The most bytes of the client's output that are shown.
const TAIL: u64 = 2048;

/// Runs the client once.
///
/// # Errors
///
/// The client cannot be started, or a file cannot be written.
pub fn play(
    folder: &Folder,
    subject: &Subject,
    script: &Script,
    command: &[OsString],
    patience: Duration,
) -> Result<Trial, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let trial = runtime.block_on(async {
        let mock = Mock::bind(SocketAddr::from(([127, 0, 0, 1], 0)), script.clone()).await;
        let mock = mock.map_err(|error| format!("the scripted model: {error}"))?;
        let place = Place::make(folder, subject, script, mock.address())?;
        tokio::spawn(mock.serve());
        let exit = run_client(&place, command, patience).await?;
        let tail = match exit {
            ClientExit::Passed => String::new(),
            _ => end_of(&place.output).unwrap_or_default(),
        };
        Ok(Trial { exit, recordings: place.recordings(), tail })
    });
    // Answers of the model may be open.
    runtime.shutdown_background();
    trial
}

async fn run_client(place: &Place, words: &[OsString], patience: Duration) -> Result<ClientExit, String> {
    let [program, arguments @ ..] = words else { return Err("expected a test command behind --".to_owned()) };
    let failed = |error: io::Error| format!("cannot start {}: {error}", program.to_string_lossy());
    let output = File::create(&place.output).map_err(failed)?;
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path_with(&place.programs)).env(PROGRAM, &place.program);
    command.stdin(Stdio::null()).stdout(output.try_clone().map_err(failed)?).stderr(output);
    let processes = Processes::new();
    let (mut child, _group) = processes.spawn(&mut command).map_err(failed)?;
    let exit = match timeout(patience, child.wait()).await {
        Ok(status) => {
            let status = status.map_err(failed)?;
            let code = status.code().or_else(|| status.signal().map(|signal| 128 | signal)).unwrap_or(-1);
            if status.success() { ClientExit::Passed } else { ClientExit::Failed(code) }
        }
        Err(_) => ClientExit::TimedOut,
    };
    // Servers that it has left behind; their recordings are complete then.
    processes.end_all().await;
    Ok(exit)
}

/// The user's `PATH` behind a folder.
fn path_with(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = env::var_os("PATH").filter(|it| !it.is_empty()) {
        path.push(OsStr::new(":"));
        path.push(rest);
    }
    path
}

fn end_of(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
