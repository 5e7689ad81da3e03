//! Queue of frames for an extension's stdin, or its descriptor of answers, so that the sender never blocks.

use pi_rpc_protocol::ToExtension;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
};

/// How many frames are written at once.
const BATCH: usize = 64;

/// The sender's end of the queue. Dropping it ends the queue.
pub(super) struct FrameQueue {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    /// Pending bytes.
    pending: Arc<AtomicUsize>,
    max_pending: usize,
}

/// The writer's end of the queue.
pub(super) struct FrameWriter {
    frames: mpsc::UnboundedReceiver<Vec<u8>>,
    pending: Arc<AtomicUsize>,
}

/// The error if too many bytes are pending: the extension does not read.
pub(super) struct QueueFull;

/// Creates a queue that accepts frames while at most `max_pending` bytes are pending.
pub(super) fn frame_queue(max_pending: usize) -> (FrameQueue, FrameWriter) {
    let (sender, frames) = mpsc::unbounded_channel();
    let pending = Arc::new(AtomicUsize::new(0));
    (FrameQueue { sender, pending: pending.clone(), max_pending }, FrameWriter { frames, pending })
}

impl FrameQueue {
    /// Appends a frame; it is dropped if the extension is gone.
    pub(super) fn push(&self, frame: &ToExtension) -> Result<(), QueueFull> {
        if self.pending.load(Ordering::Relaxed) > self.max_pending {
            return Err(QueueFull);
        }
        let mut line = match serde_json::to_vec(frame) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!("a frame for an extension cannot be written: {error}");
                return Ok(());
            }
        };
        line.push(b'\n');
        self.pending.fetch_add(line.len(), Ordering::Relaxed);
        let _ = self.sender.send(line);
        Ok(())
    }
}

impl FrameWriter {
    /// Writes the frames until the queue ends, then closes the pipe.
    ///
    /// # Errors
    ///
    /// The reader has closed the pipe.
    pub(super) async fn write_to(mut self, mut pipe: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        let mut lines = Vec::new();
        while self.frames.recv_many(&mut lines, BATCH).await > 0 {
            // One long line is not copied.
            let batch = if lines.len() == 1 { lines.swap_remove(0) } else { lines.concat() };
            lines.clear();
            pipe.write_all(&batch).await?;
            self.pending.fetch_sub(batch.len(), Ordering::Relaxed);
        }
        Ok(())
    }
}
