//! An extension of ours that runs in this process: the same frames, as values instead of lines.

use super::stdout::QueuedInput;
use pi_rpc_engine::{CallId, Input};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_processes::Processes;
use pi_rpc_protocol::{FromExtension, ToExtension};
use std::{path::PathBuf, pin::Pin, sync::Arc};
use tokio::sync::{mpsc, watch};

/// A part of this program that speaks as an extension does. The code of extensions never runs like this.
pub trait BuiltIn: Send + Sync {
    /// Serves a session until its frames end; the text says why it ended before.
    fn run(self: Arc<Self>, session: BuiltInSession) -> Pin<Box<dyn Future<Output = String> + Send>>;

    /// Whether it may send requests to models by itself, whichever the session has selected.
    fn calls_models(&self) -> bool;
}

/// What a built-in extension works with.
pub struct BuiltInSession {
    /// The frames of the server; closed at the end of the session.
    pub frames: mpsc::UnboundedReceiver<ToExtension>,
    /// Takes frames for the server.
    pub output: BuiltInOutput,
    /// The working directory.
    pub directory: PathBuf,
    /// The registry of processes that may be alive.
    pub processes: Processes,
    /// Variables to withhold from processes, and texts to redact.
    pub secrets: Secrets,
}

/// Sends frames to the engine, as fast as its loop handles them.
#[derive(Clone)]
pub struct BuiltInOutput {
    pub(super) from: CallId,
    /// While `false`, nothing is sent, because the host does not read.
    pub(super) gate: watch::Receiver<bool>,
    /// While `false`, nothing but `register` is sent.
    pub(super) greeted: watch::Receiver<bool>,
    pub(super) inputs: mpsc::Sender<Box<QueuedInput>>,
}

impl BuiltInOutput {
    /// Sends a frame; dropped once the session is over.
    pub async fn send(&self, frame: impl Into<FromExtension>) {
        let frame = frame.into();
        // Fails only when the loop has ended; then the last send fails, too.
        let _ = self.gate.clone().wait_for(|open| *open).await;
        if !matches!(frame, FromExtension::Register(_)) {
            let _ = self.greeted.clone().wait_for(|greeted| *greeted).await;
        }
        let input = Input::Extension { from: self.from, frame: Box::new(frame) };
        let _ = self.inputs.send(Box::new(QueuedInput { input, share: None })).await;
    }
}
