//! One WebSocket to a session.

use super::{address::HostAddress, pipe::AttachError, tls::Authorities};
use crate::CONTROL_PROTOCOL;
use futures_util::{SinkExt as _, StreamExt as _};
use pi_rpc_protocol::ConnectionControl;
use pi_rpc_server::TraceContext;
use std::time::Duration;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest as _,
        error::{CapacityError, ProtocolError},
        http::{
            HeaderValue, StatusCode,
            header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL},
        },
        protocol::WebSocketConfig,
    },
};

/// The usual limit of a host's messages, in bytes. Frames may be as long as the session's messages.
pub const MAX_MESSAGE: usize = 256 * 1024 * 1024;

/// How long a host may take to accept a connection.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A stream of bytes to a host.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection to a session.
pub struct Connection(WebSocketStream<Box<dyn Stream>>);

/// What a host sends.
pub enum Received {
    /// A frame, without its line feed.
    Frame(String),
    /// A message about the connection.
    Control(Box<ConnectionControl>),
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host cannot be reached; it may be later.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The host refuses, with the code of the error and what follows it.
    #[error("{0}")]
    Refused(String),
}

impl Connection {
    /// Connects to a session; `path` and query name it. The host's messages have at most `max_message` bytes.
    pub async fn open(
        host: &HostAddress,
        path: &str,
        token: Option<&str>,
        authorities: &Authorities,
        max_message: usize,
    ) -> Result<Self, ConnectError> {
        Self::open_with(open(host, path, Some(CONTROL_PROTOCOL), token, authorities, max_message)).await
    }

    /// Connects to the host itself, on a connection of many sessions.
    pub async fn open_shared(
        host: &HostAddress,
        token: Option<&str>,
        authorities: &Authorities,
    ) -> Result<Self, ConnectError> {
        Self::open_with(open(host, "/", None, token, authorities, MAX_MESSAGE)).await
    }

    async fn open_with(
        opening: impl Future<Output = Result<Self, ConnectError>>,
    ) -> Result<Self, ConnectError> {
        match tokio::time::timeout(CONNECT_TIMEOUT, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(ConnectError::Unreachable(format!("no answer within {CONNECT_TIMEOUT:?}"))),
        }
    }

    /// The next thing that the host sends; `None`: the connection is over. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Received, AttachError>> {
        loop {
            return match self.0.next().await {
                Some(Ok(Message::Text(text))) => Some(Ok(Received::Frame(text.to_string()))),
                Some(Ok(Message::Binary(message))) => Some(match serde_json::from_slice(&message) {
                    Ok(control) => Ok(Received::Control(Box::new(control))),
                    Err(error) => Err(AttachError::NotAHost(error.to_string())),
                }),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Err(tungstenite::Error::Capacity(CapacityError::MessageTooLong { size, max_size }))) => {
                    Some(Err(AttachError::TooLong { length: size, limit: max_size }))
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => None,
            };
        }
    }

    /// Sends a line. `false`: the connection is over.
    pub async fn send_line(&mut self, line: &str) -> bool {
        self.0.send(Message::Text(line.into())).await.is_ok()
    }

    /// Sends a message about the connection. `false`: the connection is over.
    pub async fn send_control(&mut self, message: Vec<u8>) -> bool {
        self.0.send(Message::Binary(message.into())).await.is_ok()
    }

    /// Finds out whether the host is still there. `false`: the connection is over.
    pub async fn ping(&mut self) -> bool {
        self.0.send(Message::Ping(Vec::new().into())).await.is_ok()
    }
}

/// A stream to a host, and its name.
pub(super) async fn reach<'h>(
    host: &'h HostAddress,
    authorities: &Authorities,
) -> Result<(Box<dyn Stream>, &'h str), ConnectError> {
    let unreachable = |error: std::io::Error| ConnectError::Unreachable(error.to_string());
    Ok(match host {
        HostAddress::Unix(socket) => {
            (Box::new(UnixStream::connect(socket).await.map_err(unreachable)?), "localhost")
        }
        HostAddress::Tcp(address) => {
            let stream = TcpStream::connect(address).await.map_err(unreachable)?;
            // Deltas are small, and each is awaited.
            let _ = stream.set_nodelay(true);
            (Box::new(stream), address)
        }
        HostAddress::Tls(address) => {
            let stream = TcpStream::connect(address).await.map_err(unreachable)?;
            let _ = stream.set_nodelay(true);
            (Box::new(authorities.connect(address, stream).await?), address)
        }
    })
}

/// The header that shows a token.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, ConnectError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| ConnectError::Refused("the token has letters that no header takes".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Why a host refuses a request, by its answer.
pub(super) fn refusal(status: StatusCode, body: &[u8], has_token: bool) -> ConnectError {
    let error = serde_json::from_slice::<serde_json::Value>(body).ok();
    let text = error.as_ref().and_then(|body| body["error"].as_str()).map(str::to_owned);
    let text = text.unwrap_or_else(|| format!("HTTP status {status}"));
    ConnectError::Refused(match status == StatusCode::UNAUTHORIZED && !has_token {
        true => format!("{text}; set PI_RPC_TOKEN to the token"),
        false => text,
    })
}

async fn open(
    host: &HostAddress,
    path: &str,
    protocol: Option<&'static str>,
    token: Option<&str>,
    authorities: &Authorities,
    max_message: usize,
) -> Result<Connection, ConnectError> {
    let (stream, authority) = reach(host, authorities).await?;
    let wrong = |error: tungstenite::Error| ConnectError::Refused(error.to_string());
    let mut request = format!("ws://{authority}{path}").into_client_request().map_err(wrong)?;
    if let Some(protocol) = protocol {
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    }
    if let Some(token) = token {
        request.headers_mut().insert(AUTHORIZATION, bearer(token)?);
    }
    // Runs are below the span that this process was started for.
    if let Some(TraceContext { traceparent, tracestate }) = TraceContext::of_environment() {
        let fields = [("traceparent", Some(traceparent)), ("tracestate", tracestate)];
        for (name, value) in fields {
            let value = value.and_then(|value| HeaderValue::try_from(value).ok());
            value.map(|value| request.headers_mut().insert(name, value));
        }
    }
    let config = WebSocketConfig::default().max_message_size(Some(max_message));
    let config = config.max_frame_size(Some(max_message));
    match client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, _)) => Ok(Connection(socket)),
        Err(tungstenite::Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            Err(refusal(response.status(), body, token.is_some()))
        }
        Err(tungstenite::Error::Protocol(ProtocolError::HttparseError(error))) => {
            let advice =
                if matches!(host, HostAddress::Tls(_)) { "" } else { "; a host with TLS is at wss://" };
            Err(ConnectError::Refused(format!("the answer is not HTTP ({error}){advice}")))
        }
        Err(error) => Err(ConnectError::Unreachable(error.to_string())),
    }
}
