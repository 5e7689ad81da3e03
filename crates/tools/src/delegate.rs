//! What tools leave to others: files, commands and further tools that the client of a session provides.

use super::run::ToolOutput;
use pi_rpc_model::types::ToolSpec;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    pin::Pin,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// A future of a delegate.
pub type Delegated<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Does parts of the tools' work outside of this process.
pub trait ToolDelegate: Send + Sync {
    /// Tools besides the built-in ones.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Runs one of them; the engine has checked the arguments against its schema. Dropping the future cancels the call.
    fn run<'a>(&'a self, name: &'a str, arguments: &'a Value) -> Delegated<'a, Result<ToolOutput, String>>;

    /// The text of a file, with changes that are not saved; `None`: files are read from the disk. May block.
    fn read_file(&self, path: &Path) -> Option<Result<String, String>>;

    /// Writes a text file; `None`: files are written to the disk. May block.
    fn write_file(&self, path: &Path, text: &str) -> Option<Result<(), String>>;

    /// Whether commands run outside of this process.
    fn runs_commands(&self) -> bool;

    /// Runs a shell command to its end.
    fn run_command(&self, command: DelegatedCommand) -> Delegated<'_, Result<DelegatedOutcome, String>>;
}

/// A shell command for a delegate.
pub struct DelegatedCommand {
    /// The id of its call in the conversation; `None`: the call is not part of it.
    pub call_id: Option<String>,
    /// The command.
    pub command: String,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// Stops the command.
    pub cancel: CancellationToken,
    /// When it is stopped by itself.
    pub timeout: Option<Duration>,
}

/// How the command of a delegate has ended.
pub struct DelegatedOutcome {
    /// The output, stdout and stderr together; only its end, if it is long.
    pub output: String,
    /// How it ended.
    pub ending: super::CommandEnd,
}
