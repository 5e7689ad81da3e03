//! Connections that an answer can cut: HTTP libraries have no means of just hanging up.

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use pi_rpc_guarded_listener::{GuardedStream, Place, Strangers};
use std::{
    io::{self, ErrorKind, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::sleep,
};

/// Pause when the system has no room for another connection.
const CROWDED: Duration = Duration::from_millis(100);

const OPEN: u8 = 0;
const CUT_AFTER_WRITING: u8 = 1;
const CUT: u8 = 2;

/// A handle to cut the connection of an answer.
#[derive(Clone)]
pub(super) struct Connection(Arc<AtomicU8>, Place);

impl Connection {
    /// Takes it for that of a client: it has made a request.
    pub fn admit(&self) {
        self.1.admit();
    }

    /// Cuts the connection at once, with all pending bytes.
    pub fn cut(&self) {
        self.0.store(CUT, Ordering::Relaxed);
    }

    /// Cuts the connection once all pending bytes are written.
    pub fn cut_after_writing(&self) {
        self.0.store(CUT_AFTER_WRITING, Ordering::Relaxed);
    }

    fn is(&self, state: u8) -> bool {
        self.0.load(Ordering::Relaxed) == state
    }
}

impl Connected<IncomingStream<'_, CuttableListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, CuttableListener>) -> Self {
        stream.io().connection.clone()
    }
}

/// A listener for connections that can be cut.
pub(super) struct CuttableListener(TcpListener, Arc<Strangers>);

impl CuttableListener {
    pub fn new(listener: TcpListener) -> Self {
        Self(listener, Strangers::of_process(|_| {}))
    }
}

impl Listener for CuttableListener {
    type Io = CuttableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CuttableStream, SocketAddr) {
        loop {
            match self.0.accept().await {
                Ok((stream, address)) => {
                    // Deltas must not be gathered; without this option they still arrive.
                    let _ = stream.set_nodelay(true);
                    let stream = self.1.guard(stream);
                    let connection = Connection(Arc::new(AtomicU8::new(OPEN)), stream.place().clone());
                    return (CuttableStream { stream, connection }, address);
                }
                Err(_) => sleep(CROWDED).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A stream that fails once its connection is cut, so that the HTTP library closes it silently.
pub(super) struct CuttableStream {
    stream: GuardedStream<TcpStream>,
    connection: Connection,
}

impl CuttableStream {
    fn fail<T>() -> Poll<io::Result<T>> {
        Poll::Ready(Err(ErrorKind::ConnectionAborted.into()))
    }
}

impl AsyncRead for CuttableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CuttableStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.connection.is(CUT) {
            return Self::fail();
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.connection.is(CUT) {
            return Self::fail();
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // Flushed when everything is written: the moment for a cut after writing.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.connection.is(OPEN) {
            return Self::fail();
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
