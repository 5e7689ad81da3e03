//! The output to an ACP client: whether it still reads, and back-pressure for updates. The library queues without limit.

use std::{
    io::{self, ErrorKind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};
use tokio::{io::AsyncWrite, sync::watch};

/// Updates that wait for the client at which the next one is not queued.
const PENDING_UPDATES: u64 = 256;

/// What marks the line of an update, within its first [`HEAD`] bytes.
const UPDATE: &[u8] = b"\"method\":\"session/update\"";

/// Bytes at the beginning of a line that are looked at.
const HEAD: usize = 64;

/// Counts the updates of all sessions that the client has not read.
#[derive(Clone)]
pub struct PendingUpdates {
    queued: Arc<AtomicU64>,
    /// Updates that were written; `None` once the client has gone.
    written: watch::Receiver<Option<u64>>,
}

impl PendingUpdates {
    /// Counts an update that is queued next. Waits while too many are pending.
    pub async fn queue(&self) {
        let queued = self.queued.fetch_add(1, Ordering::Relaxed);
        let has_room = |written: &Option<u64>| written.is_none_or(|it| queued < it + PENDING_UPDATES);
        // Fails once the connection is over, when nothing is written any more.
        let _ = self.written.clone().wait_for(has_room).await;
    }

    /// Whether the client has stopped reading for good.
    pub fn client_is_gone(&self) -> bool {
        self.written.borrow().is_none()
    }
}

/// A writer that counts the updates that it has written, and tells a client that has gone from a failure.
pub struct ClientOutput<W> {
    inner: W,
    /// The beginning of the line that is being written.
    head: Vec<u8>,
    written: watch::Sender<Option<u64>>,
}

impl<W> ClientOutput<W> {
    /// Writes to `inner`.
    pub fn new(inner: W) -> (Self, PendingUpdates) {
        let (written, receiver) = watch::channel(Some(0));
        let pending = PendingUpdates { queued: Arc::default(), written: receiver };
        (Self { inner, head: Vec::with_capacity(HEAD), written }, pending)
    }

    fn note<T>(&self, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &polled
            && matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
        {
            self.written.send_replace(None);
        }
        polled
    }

    /// Counts the updates whose lines end in these bytes.
    fn count(&mut self, bytes: &[u8]) {
        let mut updates = 0;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = HEAD - self.head.len();
            self.head.extend(piece.iter().take(room));
            if piece.ends_with(b"\n") {
                updates += u64::from(self.head.windows(UPDATE.len()).any(|window| window == UPDATE));
                self.head.clear();
            }
        }
        if updates > 0 {
            self.written.send_modify(|written| *written = written.map(|it| it + updates));
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for ClientOutput<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = polled {
            self.count(&bytes[..count]);
        }
        self.note(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(context);
        self.note(polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_shutdown(context);
        self.note(polled)
    }
}
