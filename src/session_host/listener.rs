//! Where clients connect: Unix sockets, TCP and stdin with stdout.
//!
//! On sockets HTTP is spoken: `/` is a shared connection, `/sessions/ID` that of one session and `/sessions/new` that of a new
//! one, all by WebSocket. A client of a Unix socket may also write lines at once, without HTTP: that is a shared connection.

use super::{
    access::{self, Access},
    own_connection::{self, CONTROL_PROTOCOL, Client},
    principal::Principal,
    registry::{HostError, OpenRequest, SessionHost, Start, ToolLimits},
    scoped_host::ScopedHost,
    shared_connection::{InputEnd, ReadLines, SharedConnection, WriteLines},
    transports::{StdinReader, StdoutWriter, StreamReader, StreamWriter, web_socket},
};
use crate::protocol::{ConnectionErrorCode, Dialect, MultiSessionErrorCode, ThinkingLevel};
use axum::{
    Extension, Json, Router,
    extract::{
        Path as UrlPath, Query, State,
        rejection::QueryRejection,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, StatusCode},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use rustix::net::{RecvFlags, recv};
use serde::Deserialize;
use serde_json::json;
use std::{
    fmt, fs, io,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{
    net::{TcpListener, UnixListener, UnixStream, unix::SocketAddr as UnixAddress},
    sync::mpsc,
};

/// An address to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp(String),
}

/// Why an address cannot be listened at.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address has neither form.
    #[error("--listen {0}: expected unix:PATH or ws://HOST:PORT")]
    Unknown(String),
    /// The system refuses it.
    #[error("{0}: {1}")]
    Refused(String, #[source] io::Error),
    /// Another process listens there.
    #[error("{0}: another process listens there")]
    InUse(String),
}

/// What all connections of a process share.
#[derive(Clone)]
pub struct Server {
    /// The sessions.
    pub host: Arc<SessionHost>,
    /// The dialect of shared connections, for lines that are no frames.
    pub dialect: Dialect,
    /// The longest line that is read, in bytes.
    pub max_frame: usize,
    /// Tokens and origins for TCP.
    pub access: Arc<Access>,
    /// Pending bytes of a connection at which a snapshot takes the place of frames.
    pub max_pending: usize,
}

/// A bound address.
pub enum Listener {
    /// A Unix socket, and the file that is removed at the end.
    Unix(UnixListener, PathBuf),
    /// A TCP port.
    Tcp(TcpListener),
}

impl Address {
    /// Parses the value of `--listen`.
    ///
    /// # Errors
    ///
    /// It is neither `unix:PATH` nor `ws://HOST:PORT`.
    pub fn parse(text: &str) -> Result<Self, ListenError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        match text.strip_prefix("ws://").map(|address| address.trim_end_matches('/')) {
            Some(address) if address.contains(':') => Ok(Self::Tcp(address.to_owned())),
            _ => Err(ListenError::Unknown(text.to_owned())),
        }
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(_, path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => write!(f, "ws://{address}"),
                Err(error) => write!(f, "ws: {error}"),
            },
        }
    }
}

impl Listener {
    /// Binds an address. The file of a Unix socket is for its owner alone; a file without a listener is replaced.
    ///
    /// # Errors
    ///
    /// The system refuses it, or another process listens there.
    pub async fn bind(address: &Address) -> Result<Self, ListenError> {
        match address {
            Address::Tcp(address) => {
                let bound = TcpListener::bind(address).await;
                bound.map(Self::Tcp).map_err(|error| ListenError::Refused(format!("ws://{address}"), error))
            }
            Address::Unix(path) => {
                let name = format!("unix:{}", path.display());
                let refused = |error| ListenError::Refused(name.clone(), error);
                let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
                if is_socket {
                    if UnixStream::connect(path).await.is_ok() {
                        return Err(ListenError::InUse(name));
                    }
                    fs::remove_file(path).map_err(refused)?;
                }
                // The file has its mode from the start: no other user can connect meanwhile.
                let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
                let bound = UnixListener::bind(path);
                rustix::process::umask(before);
                let listener = bound.map_err(refused)?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(refused)?;
                Ok(Self::Unix(listener, path.clone()))
            }
        }
    }

    /// Serves clients for ever.
    ///
    /// # Errors
    ///
    /// The address is lost.
    pub async fn serve(self, server: Server) -> io::Result<()> {
        let router = router(server.clone());
        match self {
            Self::Tcp(listener) => {
                let guarded = router.layer(middleware::from_fn_with_state(server.access, access::check));
                axum::serve(listener, guarded.route("/healthz", get(|| async { "ok\n" }))).await
            }
            Self::Unix(listener, _) => {
                let open = router.layer(Extension(Principal::local()));
                let open = open.route("/healthz", get(|| async { "ok\n" }));
                axum::serve(Sorted::new(listener, server), open).await
            }
        }
    }

    /// The file of a Unix socket.
    pub fn socket_file(&self) -> Option<&Path> {
        match self {
            Self::Unix(_, path) => Some(path),
            Self::Tcp(_) => None,
        }
    }
}

/// A Unix socket whose clients speak HTTP, or write lines: those are served beside it.
struct Sorted {
    http: mpsc::Receiver<(UnixStream, UnixAddress)>,
    address: io::Result<UnixAddress>,
}

impl Sorted {
    fn new(mut listener: UnixListener, server: Server) -> Self {
        let (sender, http) = mpsc::channel(16);
        let address = listener.local_addr();
        tokio::spawn(async move {
            loop {
                let (stream, from) = axum::serve::Listener::accept(&mut listener).await;
                let (sender, server) = (sender.clone(), server.clone());
                tokio::spawn(async move {
                    match starts_with_brace(&stream).await {
                        Ok(true) => serve_stream(server, stream).await,
                        // The receiver is gone only with the process.
                        Ok(false) => drop(sender.send((stream, from)).await),
                        Err(error) => tracing::warn!("a connection broke: {error}"),
                    }
                });
            }
        });
        Self { http, address }
    }
}

impl axum::serve::Listener for Sorted {
    type Io = UnixStream;
    type Addr = UnixAddress;

    async fn accept(&mut self) -> (UnixStream, UnixAddress) {
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
async fn starts_with_brace(stream: &UnixStream) -> io::Result<bool> {
    loop {
        stream.readable().await?;
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

async fn serve_stream(server: Server, stream: UnixStream) {
    let (from, to) = stream.into_split();
    let (reader, writer) = (StreamReader::new(from, server.max_frame), StreamWriter::new(to));
    serve_shared(server, Principal::local(), reader, writer).await;
}

async fn serve_shared(
    server: Server,
    principal: Arc<Principal>,
    reader: impl ReadLines,
    writer: impl WriteLines,
) {
    let Server { host, dialect, max_pending, .. } = server;
    let (key, limits) = (random_key(), (dialect, max_pending));
    let host = ScopedHost::new(host, principal);
    SharedConnection::serve(host, key, limits, InputEnd::Leaves, reader, writer).await;
}

/// Serves one client on stdin and stdout until its input and with it all sessions have ended.
///
/// # Errors
///
/// stdin or stdout is closed.
pub async fn serve_stdio(server: Server) -> io::Result<()> {
    let reader = StdinReader::new(server.max_frame)?;
    let writer = StdoutWriter::new()?;
    let host = server.host.clone();
    let (key, limits) = (random_key(), (server.dialect, server.max_pending));
    let scoped = ScopedHost::new(server.host, Principal::local());
    SharedConnection::serve(scoped, key, limits, InputEnd::EndsSessions, reader, writer).await;
    host.shut_down().await;
    Ok(())
}

/// A name for a client that has given none.
fn random_key() -> String {
    format!("{:016x}", crate::server::seed())
}

fn router(server: Server) -> Router {
    Router::new()
        .route("/", get(shared))
        .route("/sessions/new", get(new_session))
        .route("/sessions/{id}", get(known_session))
        .with_state(server)
}

/// What a client says of itself in the address of a session.
#[derive(Default, Deserialize)]
struct ClientOptions {
    client: Option<String>,
    after: Option<u64>,
}

/// The items of a list with commas.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// What a client says of a new session in its address.
#[derive(Default, Deserialize)]
struct NewSession {
    dialect: Option<String>,
    session: Option<String>,
    cwd: Option<PathBuf>,
    provider: Option<String>,
    model: Option<String>,
    thinking: Option<String>,
    name: Option<String>,
    fork: Option<String>,
    #[serde(default)]
    newest: bool,
    #[serde(default)]
    in_memory: bool,
    tools: Option<String>,
    #[serde(default)]
    exclude_tools: String,
    #[serde(default)]
    confirm_tools: String,
}

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

async fn shared(
    State(server): State<Server>,
    Extension(principal): Extension<Arc<Principal>>,
    upgrade: Upgrade,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(_) => {
            return refuse(
                StatusCode::UPGRADE_REQUIRED,
                ConnectionErrorCode::UpgradeRequired,
                "this is a WebSocket of frames",
            );
        }
    };
    let upgrade = upgrade.max_message_size(server.max_frame).max_frame_size(server.max_frame);
    upgrade.on_upgrade(move |socket| async move {
        let (reader, writer) = web_socket(socket);
        serve_shared(server, principal, reader, writer).await;
    })
}

async fn known_session(
    State(server): State<Server>,
    Extension(principal): Extension<Arc<Principal>>,
    UrlPath(id): UrlPath<String>,
    client: Result<Query<ClientOptions>, QueryRejection>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    let Query(client) = match client {
        Ok(client) => client,
        Err(error) => {
            return refuse(StatusCode::BAD_REQUEST, ConnectionErrorCode::InvalidQuery, &error.to_string());
        }
    };
    let session = match ScopedHost::new(server.host.clone(), principal.clone()).find(&id) {
        Ok(session) => session,
        Err(error) => return refuse_session(&error),
    };
    connect(&server, principal, session, client, &headers, upgrade)
}

async fn new_session(
    State(server): State<Server>,
    Extension(principal): Extension<Arc<Principal>>,
    client: Result<Query<ClientOptions>, QueryRejection>,
    new: Result<Query<NewSession>, QueryRejection>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    let (Query(mut client), Query(new)) = match (client, new) {
        (Ok(client), Ok(new)) => (client, new),
        (Err(error), _) | (_, Err(error)) => {
            return refuse(StatusCode::BAD_REQUEST, ConnectionErrorCode::InvalidQuery, &error.to_string());
        }
    };
    if upgrade.is_err() {
        return refuse(
            StatusCode::UPGRADE_REQUIRED,
            ConnectionErrorCode::UpgradeRequired,
            "this is a WebSocket of frames",
        );
    }
    let request = match open_request(new) {
        Ok(request) => request,
        Err(error) => return refuse_session(&error),
    };
    let host = ScopedHost::new(server.host.clone(), principal.clone());
    let opened = match host.count_command() {
        Ok(()) => host.open(request).await,
        Err(error) => Err(error),
    };
    match opened {
        Ok(session) => {
            // Nothing of a new session is missed.
            client.after = Some(0);
            connect(&server, principal, session, client, &headers, upgrade)
        }
        Err(error) => refuse_session(&error),
    }
}

fn open_request(new: NewSession) -> Result<OpenRequest, HostError> {
    let dialect = OpenRequest::dialect(new.dialect.as_deref())?;
    let level = match new.thinking {
        Some(name) => Some(ThinkingLevel::parse(&name).ok_or_else(|| {
            let known = ThinkingLevel::ALL.map(ThinkingLevel::as_str).join(", ");
            HostError::OpenFailed(format!("thinking: expected one of {known}, got {name:?}"))
        })?),
        None => None,
    };
    Ok(OpenRequest {
        dialect,
        start: match (new.session, new.fork) {
            (Some(session), None) => Start::Named(session),
            (None, Some(session)) => Start::Fork(session),
            (None, None) if new.newest => Start::Newest,
            (None, None) if new.in_memory => Start::InMemory,
            (None, None) => Start::New,
            (Some(_), Some(_)) => {
                return Err(HostError::OpenFailed("fork: not with session".to_owned()));
            }
        },
        directory: new.cwd,
        provider: new.provider,
        model: new.model,
        level,
        name: new.name,
        owner: None,
        tool_limits: ToolLimits {
            only: new.tools.as_deref().map(list),
            without: list(&new.exclude_tools),
            confirmed: list(&new.confirm_tools),
        },
    })
}

fn connect(
    server: &Server,
    principal: Arc<Principal>,
    session: super::session_task::SessionHandle,
    options: ClientOptions,
    headers: &HeaderMap,
    upgrade: Upgrade,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([CONTROL_PROTOCOL]),
        Err(_) => {
            return refuse(
                StatusCode::UPGRADE_REQUIRED,
                ConnectionErrorCode::UpgradeRequired,
                "this is a WebSocket of frames",
            );
        }
    };
    let asked = headers.get_all("sec-websocket-protocol").iter().filter_map(|value| value.to_str().ok());
    let has_control = asked.flat_map(|names| names.split(',')).any(|name| name.trim() == CONTROL_PROTOCOL);
    let client = Client {
        // A client of one name does not take the place of another's.
        key: options.client.map_or_else(random_key, |key| format!("{}/{key}", principal.name)),
        principal,
        after: options.after,
        has_control,
        max_pending: server.max_pending,
    };
    // A longer line is read, so that it is answered like any other.
    let upgrade = upgrade.max_message_size(2 * server.max_frame).max_frame_size(2 * server.max_frame);
    let stop = server.host.stop();
    upgrade.on_upgrade(|socket| async {
        own_connection::serve(socket, session, client).await;
        drop(stop);
    })
}

fn refuse_session(error: &HostError) -> Response {
    use MultiSessionErrorCode as Code;
    let status = match error.code() {
        Code::UnknownSession => StatusCode::NOT_FOUND,
        Code::SessionOpening | Code::SessionClosing | Code::SessionPathInUse => StatusCode::CONFLICT,
        Code::MissingSessionId | Code::InvalidPath | Code::OpenFailed => StatusCode::BAD_REQUEST,
        Code::ForbiddenDirectory | Code::ForbiddenModel | Code::ForbiddenDialect | Code::ForbiddenTool => {
            StatusCode::FORBIDDEN
        }
        Code::TooManySessions | Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::SpendExceeded => StatusCode::PAYMENT_REQUIRED,
    };
    refusal(status, &error.text())
}

/// The response to a request that is refused with this code, for this reason.
pub(super) fn refuse(status: StatusCode, code: ConnectionErrorCode, reason: &str) -> Response {
    refusal(status, &format!("{}: {reason}", code.as_str()))
}

fn refusal(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}
