//! stdin, and the descriptor of answers: a queue, so that whoever tells an extension something never waits for it.

use crate::protocol::ToExtension;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
};

/// Frames that are written at once.
const BATCH: usize = 64;

/// The loop's end of the queue. The other end is at its end when this is dropped.
pub(super) struct FrameQueue {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    /// Bytes that wait.
    waiting: Arc<AtomicUsize>,
    most: usize,
}

/// The extension's end of the queue.
pub(super) struct FrameWriter {
    frames: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

/// An extension that does not read.
pub(super) struct QueueFull;

/// A queue in which `most` bytes may wait, and a frame of any length behind them.
pub(super) fn frame_queue(most: usize) -> (FrameQueue, FrameWriter) {
    let (sender, frames) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (FrameQueue { sender, waiting: waiting.clone(), most }, FrameWriter { frames, waiting })
}

impl FrameQueue {
    /// Adds a frame; one for an extension that is gone is nobody's.
    pub(super) fn push(&self, frame: &ToExtension) -> Result<(), QueueFull> {
        if self.waiting.load(Ordering::Relaxed) > self.most {
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
        self.waiting.fetch_add(line.len(), Ordering::Relaxed);
        let _ = self.sender.send(line);
        Ok(())
    }
}

impl FrameWriter {
    /// Writes until nothing more will come, then closes the pipe. An error: nobody reads any more.
    pub(super) async fn write_to(mut self, mut pipe: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        let mut lines = Vec::new();
        while self.frames.recv_many(&mut lines, BATCH).await > 0 {
            // One long line is not copied.
            let batch = if lines.len() == 1 { lines.swap_remove(0) } else { lines.concat() };
            lines.clear();
            pipe.write_all(&batch).await?;
            self.waiting.fetch_sub(batch.len(), Ordering::Relaxed);
        }
        Ok(())
    }
}
