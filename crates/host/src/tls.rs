//! TLS for clients by TCP (`--listen wss://HOST:PORT`).

use super::file_watch::FileStamp;
use pi_rpc_guarded_listener::{GuardedStream, Strangers};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::task::AbortOnDropHandle;

/// Connections that wait to be served.
const ACCEPTED: usize = 16;

/// A certificate with its key, read again when its file has changed.
#[derive(Debug)]
pub struct Certificate {
    certificates: PathBuf,
    key: PathBuf,
    loaded: Mutex<(FileStamp, Arc<ServerConfig>)>,
}

impl Certificate {
    /// Reads a chain of certificates and the key of the first one, both in PEM.
    ///
    /// # Errors
    ///
    /// A file cannot be read, has no certificate or key, or they do not fit each other.
    pub fn load(certificates: PathBuf, key: PathBuf) -> Result<Self, String> {
        let stamp = FileStamp::of(&certificates);
        let config = load(&certificates, &key)?;
        Ok(Self { certificates, key, loaded: Mutex::new((stamp, config)) })
    }

    /// The newest certificate that can be used.
    fn config(&self) -> Arc<ServerConfig> {
        let stamp = FileStamp::of(&self.certificates);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.0 != stamp {
            match load(&self.certificates, &self.key) {
                Ok(config) => *loaded = (stamp, config),
                // The key may not have been replaced yet.
                Err(error) => tracing::warn!("the certificate is not replaced: {error}"),
            }
        }
        loaded.1.clone()
    }
}

fn load(certificates: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let wrong = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain: Vec<CertificateDer<'_>> = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(certificates, &error))?;
    if chain.is_empty() {
        return Err(wrong(certificates, &"expected a certificate in PEM"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
    let mut config = config.map_err(|error| wrong(certificates, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config.into())
}

/// A client by TLS.
type TlsClient = TlsStream<GuardedStream<TcpStream>>;

/// A TCP port whose clients speak TLS. Handshakes run beside each other.
pub struct TlsListener {
    accepted: mpsc::Receiver<(TlsClient, SocketAddr)>,
    address: io::Result<SocketAddr>,
    _accepting: AbortOnDropHandle<()>,
}

impl TlsListener {
    /// Accepts clients of `listener`, which are strangers from then on.
    pub fn new(mut listener: TcpListener, certificate: Arc<Certificate>, strangers: Arc<Strangers>) -> Self {
        let (sender, accepted) = mpsc::channel(ACCEPTED);
        let address = listener.local_addr();
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, from) = axum::serve::Listener::accept(&mut listener).await;
                let (sender, acceptor) = (sender.clone(), TlsAcceptor::from(certificate.config()));
                // Deltas are small, and each is awaited.
                let _ = stream.set_nodelay(true);
                let stream = strangers.guard(stream);
                tokio::spawn(async move {
                    match acceptor.accept(stream).await {
                        // The receiver is gone only with the process.
                        Ok(stream) => drop(sender.send((stream, from)).await),
                        Err(error) => tracing::info!("{from}: no TLS: {error}"),
                    }
                });
            }
        });
        Self { accepted, address, _accepting: AbortOnDropHandle::new(accepting) }
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsClient;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TlsClient, SocketAddr) {
        match self.accepted.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address.as_ref().map(Clone::clone).map_err(|error| error.kind().into())
    }
}
