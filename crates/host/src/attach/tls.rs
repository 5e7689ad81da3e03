//! TLS to a host (`wss://HOST:PORT`).

use super::connection::ConnectError;
use rustls::{
    CertificateError, ClientConfig,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use rustls_platform_verifier::Verifier;
use std::{path::Path, sync::Arc};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Who vouches for a host: the authorities that the system trusts, and further ones.
#[derive(Clone, Debug, Default)]
pub struct Authorities(Vec<CertificateDer<'static>>);

impl Authorities {
    /// Those of the system, and those of a PEM file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no certificate.
    pub fn read(file: &Path) -> Result<Self, String> {
        let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
        let certificates: Vec<_> = read.map_err(|error| error.to_string())?;
        match certificates.is_empty() {
            true => Err("expected a certificate in PEM".to_owned()),
            false => Ok(Self(certificates)),
        }
    }

    /// Speaks TLS over a stream to the host at `address`, which has to prove its name.
    pub(super) async fn connect(
        &self,
        address: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, ConnectError> {
        let refused = |error: &dyn std::fmt::Display| ConnectError::Refused(format!("TLS: {error}"));
        let config = self.config().map_err(|error| refused(&error))?;
        let name = address.rsplit_once(':').map_or(address, |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|error| refused(&error))?;
        match TlsConnector::from(config).connect(name, stream).await {
            Ok(stream) => Ok(stream),
            Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                // Of a certificate that is not trusted now, the next one is not, either.
                Some(reason) => Err(refused(&format!("{reason}{}", advice(reason)))),
                None => Err(ConnectError::Unreachable(format!("TLS: {error}"))),
            },
        }
    }

    fn config(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier::new_with_extra_roots(self.0.iter().cloned(), provider.clone())?;
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// What helps against an error of TLS, behind its text.
fn advice(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidMessage(_) => "; a host without TLS is at ws://",
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "; --tls-ca names a file of the authority that has signed it"
        }
        // The reason has a type of the verifier of each system.
        rustls::Error::InvalidCertificate(CertificateError::Other(other))
            if format!("{other:?}").contains("CaUsedAsEndEntity") =>
        {
            "; the host shows the certificate of an authority (CA:TRUE): give it one of its own, which that authority has signed"
        }
        _ => "",
    }
}
