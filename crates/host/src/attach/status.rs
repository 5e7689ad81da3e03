//! Reads the status of a host.

use super::{
    address::HostAddress,
    connection::{CONNECT_TIMEOUT, ConnectError, bearer, reach, refusal},
    tls::Authorities,
};
use crate::HostStatus;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1,
    header::{AUTHORIZATION, HOST},
};
use hyper_util::rt::TokioIo;

/// The longest status, in bytes.
const MAX_STATUS: usize = 64 * 1024 * 1024;

/// Reads the status of a host and of those that share sessions with it, as far as the token may see it.
///
/// # Errors
///
/// The host cannot be reached, refuses, or does not answer in time.
pub async fn read_status(
    host: &HostAddress,
    token: Option<&str>,
    authorities: &Authorities,
) -> Result<HostStatus, ConnectError> {
    match tokio::time::timeout(CONNECT_TIMEOUT, read(host, token, authorities)).await {
        Ok(read) => read,
        Err(_) => Err(ConnectError::Unreachable(format!("no answer within {CONNECT_TIMEOUT:?}"))),
    }
}

async fn read(
    host: &HostAddress,
    token: Option<&str>,
    authorities: &Authorities,
) -> Result<HostStatus, ConnectError> {
    let (stream, authority) = reach(host, authorities).await?;
    let failed = |error: hyper::Error| ConnectError::Unreachable(error.to_string());
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let mut request = Request::get("/status").header(HOST, authority);
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, bearer(token)?);
    }
    let request = request.body(Empty::<Bytes>::new());
    let request = request.map_err(|error| ConnectError::Refused(error.to_string()))?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_STATUS).collect().await;
        let body = body.map_err(|error| ConnectError::Unreachable(error.to_string()))?.to_bytes();
        if !status.is_success() {
            return Err(refusal(status, &body, token.is_some()));
        }
        serde_json::from_slice(&body)
            .map_err(|error| ConnectError::Refused(format!("not the status of a host: {error}")))
    };
    let connection = async {
        // Reading the body of an answer that is cut fails by itself.
        let _ = connection.await;
        std::future::pending().await
    };
    tokio::select! { answer = answer => answer, never = connection => never }
}
