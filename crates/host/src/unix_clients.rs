//! The clients of a Unix socket: some speak HTTP, others write lines at once.

use pi_rpc_guarded_listener::{GuardedStream, Strangers};
use rustix::net::{RecvFlags, recv};
use std::{io, sync::Arc};
use tokio::{
    net::{UnixListener, UnixStream, unix::SocketAddr as UnixAddress},
    sync::mpsc,
};
use tokio_util::task::AbortOnDropHandle;

/// A Unix socket whose clients speak HTTP, or write lines: those are served beside it.
pub struct UnixClients {
    http: mpsc::Receiver<(GuardedStream<UnixStream>, UnixAddress)>,
    address: io::Result<UnixAddress>,
    _accepting: AbortOnDropHandle<()>,
}

impl UnixClients {
    /// Accepts clients of `listener`; `serve_lines` serves those that write lines. Until their first line or request is there,
    /// they are strangers.
    pub fn new<F: Future<Output = ()> + Send + 'static>(
        mut listener: UnixListener,
        strangers: Arc<Strangers>,
        serve_lines: impl Fn(GuardedStream<UnixStream>) -> F + Clone + Send + 'static,
    ) -> Self {
        let (sender, http) = mpsc::channel(16);
        let address = listener.local_addr();
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, from) = axum::serve::Listener::accept(&mut listener).await;
                let (sender, serve_lines) = (sender.clone(), serve_lines.clone());
                let mut stream = strangers.guard(stream);
                tokio::spawn(async move {
                    match starts_with_brace(&mut stream).await {
                        Ok(true) => serve_lines(stream.admitting_lines()).await,
                        // The receiver is gone only with the process.
                        Ok(false) => drop(sender.send((stream, from)).await),
                        Err(error) => tracing::info!("a connection broke: {error}"),
                    }
                });
            }
        });
        Self { http, address, _accepting: AbortOnDropHandle::new(accepting) }
    }
}

impl axum::serve::Listener for UnixClients {
    type Io = GuardedStream<UnixStream>;
    type Addr = UnixAddress;

    async fn accept(&mut self) -> (GuardedStream<UnixStream>, UnixAddress) {
        match self.http.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<UnixAddress> {
        self.address.as_ref().map(Clone::clone).map_err(|error| error.kind().into())
    }
}

/// Whether a client begins with a JSON object, not with HTTP.
async fn starts_with_brace(guarded: &mut GuardedStream<UnixStream>) -> io::Result<bool> {
    loop {
        guarded.readable().await?;
        let stream = guarded.get_ref();
        let mut first = [0];
        match stream.try_io(tokio::io::Interest::READABLE, || {
            recv(stream, &mut first, RecvFlags::PEEK).map_err(io::Error::from)
        }) {
            Ok((_, 0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => return Ok(!first[0].is_ascii_uppercase()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}
