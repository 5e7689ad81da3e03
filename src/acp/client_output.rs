//! [`ClientOutput`]: the output to an ACP client, which notes that its reader has gone.

use std::{
    io::{self, ErrorKind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};
use tokio::io::AsyncWrite;

/// A writer that tells a client that has gone from a failure.
pub struct ClientOutput<W> {
    inner: W,
    is_gone: Arc<AtomicBool>,
}

impl<W> ClientOutput<W> {
    /// Writes to `inner`; the flag is set once nothing reads from there.
    pub fn new(inner: W) -> (Self, Arc<AtomicBool>) {
        let is_gone = Arc::new(AtomicBool::new(false));
        (Self { inner, is_gone: is_gone.clone() }, is_gone)
    }

    fn note<T>(&self, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &polled
            && matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
        {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for ClientOutput<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
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
