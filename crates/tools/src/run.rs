//! Runs one tool call: from name and arguments to the result.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{bash, delegate::ToolDelegate, edit, find, grep, ls, read, shell::ShellOptions, write};
use pi_rpc_processes::Processes;
use pi_rpc_protocol::{DialectTools, DialectToolsEdits};
use serde::de::DeserializeOwned;

/// The output of a tool, final or as progress.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// Content for the model.
    pub content: Vec<Block>,
    /// Details for hosts; `None`: the member is absent on the wire.
    pub details: Option<Value>,
    /// The structured result, in dialects that have it.
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
}

/// A part of a tool's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// Its bytes in base64.
        data: String,
        /// Its kind, such as `image/png`.
        mime_type: String,
    },
}

/// Environment of a tool call.
pub struct ToolContext {
    /// The id of the call in the conversation; `None`: the call is not part of it.
    pub call_id: Option<String>,
    /// The directory that relative paths start from and commands run in.
    pub cwd: PathBuf,
    /// Cancels the call, which then returns an error.
    pub cancel: CancellationToken,
    /// Channel for progress, best with capacity 1 (see [`super::Progress`]). The call never waits for it.
    pub progress: Option<mpsc::Sender<ToolOutput>>,
    /// While `false`, a command's output is not read.
    pub gate: watch::Receiver<bool>,
    /// Options of shell commands.
    pub shell: ShellOptions,
    /// The dialect's record of tools.
    pub rules: &'static DialectTools,
    /// Whether images that are too large for providers are scaled down (the setting `images.autoResize`).
    pub scales_images: bool,
    /// Registry of process groups.
    pub processes: Processes,
    /// What is done outside of this process.
    pub delegate: Option<Arc<dyn ToolDelegate>>,
}

impl ToolOutput {
    /// A success with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Block::Text(text.into())], details: None, structured: None, is_error: false }
    }

    /// A failure with its reason; the details are an empty object, as in pi.
    pub fn error(text: impl Into<String>) -> Self {
        Self { details: Some(json!({})), is_error: true, ..Self::text(text) }
    }
}

/// Runs the tool `name`. The engine has checked the arguments against the schema. Every failure becomes an error result.
pub async fn run(name: &str, arguments: &Value, context: ToolContext) -> ToolOutput {
    dispatch(name, arguments, context).await.unwrap_or_else(ToolOutput::error)
}

async fn dispatch(name: &str, arguments: &Value, context: ToolContext) -> Result<ToolOutput, String> {
    match name {
        "read" => {
            let arguments = read_arguments(name, arguments)?;
            run_blocking(context.cancel.clone(), move || read::read(&arguments, &context)).await
        }
        "bash" => bash::bash(read_arguments(name, arguments)?, context).await,
        "edit" => match context.rules.edits {
            DialectToolsEdits::One => edit::edit_one(read_arguments(name, arguments)?, context).await,
            DialectToolsEdits::List => edit::edit_all(read_arguments(name, arguments)?, context).await,
        },
        "write" => write::write(read_arguments(name, arguments)?, context).await,
        "grep" => {
            let arguments = read_arguments(name, arguments)?;
            run_blocking_to_end(context.cancel, move |cancel| grep::grep(&arguments, &context.cwd, cancel))
                .await
        }
        "find" => {
            let arguments = read_arguments(name, arguments)?;
            run_blocking_to_end(context.cancel, move |cancel| find::find(&arguments, &context.cwd, cancel))
                .await
        }
        "ls" => {
            let arguments = read_arguments(name, arguments)?;
            run_blocking(context.cancel.clone(), move || ls::ls(&arguments, &context.cwd)).await
        }
        _ => run_delegated(name, arguments, context).await,
    }
}

/// Runs a tool of the delegate.
async fn run_delegated(name: &str, arguments: &Value, context: ToolContext) -> Result<ToolOutput, String> {
    let delegate = context.delegate.ok_or_else(|| format!("Tool {name} not found"))?;
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(aborted_message()),
        output = delegate.run(name, arguments) => output,
    }
}

fn read_arguments<T: DeserializeOwned>(name: &str, arguments: &Value) -> Result<T, String> {
    T::deserialize(arguments).map_err(|error| format!("{name}: {error}"))
}

/// The result text of a cancelled tool.
pub(super) fn aborted_message() -> String {
    "Operation aborted".to_owned()
}

/// Runs blocking work on another thread. After a cancellation, its result is ignored.
async fn run_blocking(
    cancel: CancellationToken,
    work: impl FnOnce() -> Result<ToolOutput, String> + Send + 'static,
) -> Result<ToolOutput, String> {
    if cancel.is_cancelled() {
        return Err(aborted_message());
    }
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(aborted_message()),
        done = tokio::task::spawn_blocking(work) => done.unwrap_or_else(|panic| Err(panic_message(&panic))),
    }
}

/// [`run_blocking`] for work that must not go on after the result: it is awaited, and checks the token itself. Dropping the
/// future cancels the token.
pub(super) async fn run_blocking_to_end(
    cancel: CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<ToolOutput, String> + Send + 'static,
) -> Result<ToolOutput, String> {
    if cancel.is_cancelled() {
        return Err(aborted_message());
    }
    let token = cancel.child_token();
    let _dropped = token.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || work(&token)).await;
    done.unwrap_or_else(|panic| Err(panic_message(&panic)))
}

fn panic_message(panic: &tokio::task::JoinError) -> String {
    format!("The tool failed: {panic}")
}
