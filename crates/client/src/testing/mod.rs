//! Servers for tests of clients, and the judgement of what both sides wrote (feature `testing`).
//!
//! [`Servers`] starts servers of the program `pi-rpc` behind a tap, which records the conversation. Where it is dropped, or in
//! [`Servers::judge`], `pi-rpc check` judges both sides, and a broken rule fails the test with its frame.
//!
//! Unlike the rest of this crate it writes files, in a temporary folder, and starts `pi-rpc` for the judgement.
//!
//! ```no_run
//! use pi_rpc_client::{Client, testing::Servers};
//! use pi_rpc_protocol::Dialect;
//! use serde_json::json;
//!
//! #[tokio::test]
//! async fn client_gets_the_answer() -> Result<(), Box<dyn std::error::Error>> {
//!     let servers = Servers::new()?;
//!     let server = servers.scripted(Dialect::Pi1, &json!({ "turns": [{ "say": [{ "text": "Hello" }] }] }))?;
//!     let (client, _events) = Client::spawn(server.options()).await?;
//!     assert_eq!(client.prompt("Hi").await?.text(), "Hello");
//!     client.close().await;
//!     Ok(servers.judge()?)
//! }
//! ```

mod judgement;

use judgement::JudgedRecording;

pub use judgement::JudgementError;

use crate::Options;
use pi_rpc_protocol::Dialect;
use serde::Serialize;
use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
};
use tempfile::TempDir;
use tokio::process::Command;

/// Environment variable: the path of the program.
const PROGRAM: &str = "PI_RPC_BIN";

/// The servers of a test. Dropping it judges their conversations, and panics if a rule is broken, unless the thread panics
/// already; so it stands in front of the clients in a test.
#[derive(Debug)]
pub struct Servers {
    program: OsString,
    /// Scripts and recordings; kept for the reader if a conversation fails.
    folder: Option<TempDir>,
    recordings: Mutex<Recordings>,
}

#[derive(Debug, Default)]
struct Recordings {
    made: usize,
    judged: Vec<JudgedRecording>,
}

/// A server that a client under test starts.
#[derive(Clone, Debug)]
pub struct Server {
    /// The dialect that it speaks.
    pub dialect: Dialect,
    /// What both sides have written, once it was started.
    pub recording: PathBuf,
    /// An empty folder, in which [`command`](Self::command) starts it.
    pub folder: PathBuf,
    command: Vec<OsString>,
}

impl Servers {
    /// Servers of the program at `PI_RPC_BIN`, else of the `pi-rpc` in `PATH`.
    ///
    /// # Errors
    ///
    /// There is no temporary folder.
    pub fn new() -> io::Result<Self> {
        Ok(Self::of_program(env::var_os(PROGRAM).unwrap_or_else(|| "pi-rpc".into()), tempfile::tempdir()?))
    }

    /// Servers of this program.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_program(program: impl Into<OsString>) -> io::Result<Self> {
        Ok(Self::of_program(program.into(), tempfile::tempdir()?))
    }

    fn of_program(program: OsString, folder: TempDir) -> Self {
        Self { program, folder: Some(folder), recordings: Mutex::default() }
    }

    /// A server whose model answers what `script` has: the content of a script, as `pi-rpc schema --format script` describes it.
    ///
    /// # Errors
    ///
    /// The script cannot be written.
    pub fn scripted(&self, dialect: Dialect, script: &impl Serialize) -> io::Result<Server> {
        self.serve(dialect, script, &[], false)
    }

    /// The same, legal and inconvenient: `hazards` are those of `pi-rpc serve --hazard`, such as `all`; the same `seed` is the
    /// same conversation.
    ///
    /// # Errors
    ///
    /// As [`scripted`](Self::scripted).
    pub fn hazards(
        &self,
        dialect: Dialect,
        script: &impl Serialize,
        hazards: &str,
        seed: u64,
    ) -> io::Result<Server> {
        let has_early_events =
            hazards.split(',').any(|it| ["all", judgement::EARLY_EVENTS].contains(&it.trim()));
        self.serve(dialect, script, &["--hazard", hazards, "--seed", &seed.to_string()], has_early_events)
    }

    /// A server that answers what the one in a recording has answered.
    ///
    /// # Errors
    ///
    /// Its folder cannot be made.
    pub fn replay(&self, dialect: Dialect, recording: impl AsRef<Path>) -> io::Result<Server> {
        let recording = std::path::absolute(recording)?;
        self.add(dialect, false, |_| Ok(vec!["replay".into(), recording.into()]))
    }

    /// Leaves the conversation of a server out of the judgement.
    pub fn leave_out(&self, server: &Server) {
        let mut recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.judged.retain(|judged| judged.recording != server.recording);
    }

    /// Judges the conversations, which should be over.
    ///
    /// # Errors
    ///
    /// Either side has broken a MUST or a SHOULD, a server was not started, or `pi-rpc check` cannot judge.
    pub fn judge(mut self) -> Result<(), JudgementError> {
        self.judge_all()
    }

    fn judge_all(&mut self) -> Result<(), JudgementError> {
        let recordings = self.recordings.get_mut().unwrap_or_else(PoisonError::into_inner);
        let judged = judgement::judge(&self.program, &std::mem::take(&mut recordings.judged));
        if judged.is_err() {
            // The message names files in it.
            let _ = self.folder.take().map(TempDir::keep);
        }
        judged
    }

    fn serve(
        &self,
        dialect: Dialect,
        script: &impl Serialize,
        further: &[&str],
        has_early_events: bool,
    ) -> io::Result<Server> {
        let script = serde_json::to_vec(script)?;
        self.add(dialect, has_early_events, |folder| {
            let file = folder.with_extension("script.json");
            fs::write(&file, script)?;
            let mut model = OsString::from("scripted/");
            model.push(file);
            let serve = ["serve", "--dialect", dialect.as_str(), "--no-session", "--model"];
            Ok(serve
                .map(OsString::from)
                .into_iter()
                .chain([model])
                .chain(further.iter().map(OsString::from))
                .collect())
        })
    }

    /// Adds a server of these arguments, which may need its folder.
    fn add(
        &self,
        dialect: Dialect,
        has_early_events: bool,
        arguments: impl FnOnce(&Path) -> io::Result<Vec<OsString>>,
    ) -> io::Result<Server> {
        let mut recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.made += 1;
        let kept = self.folder.as_ref().map_or_else(env::temp_dir, |folder| folder.path().to_owned());
        let folder = kept.join(recordings.made.to_string());
        fs::create_dir(&folder)?;
        let recording = folder.with_extension("jsonl");
        let mut command = vec![self.program.clone()];
        command.extend(["tap", "--dialect", dialect.as_str(), "--record"].map(OsString::from));
        // Violations are told at the end of the test, not on the server's stderr.
        command.extend(
            [recording.as_os_str(), OsStr::new("--report"), OsStr::new("/dev/null"), OsStr::new("--")]
                .map(OsStr::to_owned),
        );
        command.push(self.program.clone());
        command.extend(arguments(&folder)?);
        recordings.judged.push(JudgedRecording { recording: recording.clone(), has_early_events });
        Ok(Server { dialect, recording, folder, command })
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        match self.judge_all() {
            Err(error) if thread::panicking() => eprintln!("{error}"),
            Err(error) => panic!("{error}"),
            Ok(()) => {}
        }
    }
}

impl Server {
    /// The same server with further options, of `pi-rpc serve` or `pi-rpc replay`.
    #[must_use]
    pub fn with_options<S: Into<OsString>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.command.extend(options.into_iter().map(Into::into));
        self
    }

    /// Program and arguments, for a client of your own.
    pub fn command_line(&self) -> &[OsString] {
        &self.command
    }

    /// Starts it in its folder.
    pub fn command(&self) -> Command {
        let (program, arguments) = self
            .command
            .split_first()
            .map_or((OsStr::new("pi-rpc"), &[][..]), |(program, rest)| (program.as_os_str(), rest));
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder);
        command
    }

    /// Options of [`Client::spawn`](crate::Client::spawn).
    pub fn options(&self) -> Options {
        Options::new(self.command(), self.dialect)
    }
}
