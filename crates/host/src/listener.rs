//! Where clients connect: Unix sockets, TCP and stdin with stdout.
//!
//! On sockets HTTP is spoken: `/` is a shared connection, `/sessions/ID` that of one session and `/sessions/new` that of a new
//! one, all by WebSocket. A client of a Unix socket may also write lines at once, without HTTP: that is a shared connection.

use super::{
    access::{self, Access},
    client_place::ClientPlace,
    field_lengths::MAX_CLIENT_NAME,
    host_error::HostError,
    metrics::METRICS,
    new_session::{NewSession, SESSION_PARAMETERS, open_request, unknown_parameter},
    operator_routes,
    own_connection::{self, CONTROL_PROTOCOL, Client},
    passed_sockets::PassedSocket,
    permission::Permitted,
    principal::{Principal, check_text},
    registry::SessionHost,
    scoped_host::ScopedHost,
    session_handle::SessionHandle,
    shared_connection::{InputEnd, ReadLines, SharedConnection, WriteLines},
    socket_file::SocketFile,
    tls::{Certificate, TlsListener},
    transports::{StdinReader, StdoutWriter, StreamWriter, web_socket},
    unix_clients::UnixClients,
};
use axum::{
    Extension, Json, Router,
    extract::{
        ConnectInfo, Path as UrlPath, Query, Request, State,
        rejection::QueryRejection,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, StatusCode, Uri},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use pi_rpc_guarded_listener::{GuardedListener, GuardedStream, Strangers};
use pi_rpc_processes::line_reader::LineReader;
use pi_rpc_protocol::{ConnectionErrorCode, Dialect, MultiSessionErrorCode};
use pi_rpc_server::TraceContext;
use serde::Deserialize;
use serde_json::json;
use std::{
    fmt, fs, io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tracing::Instrument as _;

/// An address to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp(String),
    /// A TCP port whose clients speak TLS.
    Tls(String),
    /// The sockets that systemd passes.
    Systemd,
}

/// Why an address cannot be listened at.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address has neither form.
    #[error("--listen {0}: expected unix:PATH, ws://HOST:PORT, wss://HOST:PORT or systemd:")]
    Unknown(String),
    /// The system refuses it.
    #[error("{0}: {1}")]
    Refused(String, #[source] io::Error),
    /// There is no certificate.
    #[error("--listen {0}: expected --tls-cert and --tls-key as well")]
    NoCertificate(String),
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
    /// A Unix socket, and the file that is removed at the end, if it is ours.
    Unix(UnixListener, Option<SocketFile>),
    /// A TCP port.
    Tcp(TcpListener),
    /// A TCP port whose clients speak TLS.
    Tls(TcpListener, Arc<Certificate>),
}

impl Address {
    /// Parses the value of `--listen`.
    ///
    /// # Errors
    ///
    /// It is neither `unix:PATH`, `ws://HOST:PORT`, `wss://HOST:PORT` nor `systemd:`.
    pub fn parse(text: &str) -> Result<Self, ListenError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        if text == "systemd:" {
            return Ok(Self::Systemd);
        }
        let authority = |scheme: &str| {
            let address = text.strip_prefix(scheme)?.trim_end_matches('/');
            address.contains(':').then(|| address.to_owned())
        };
        let tcp = authority("ws://").map(Self::Tcp);
        let known = tcp.or_else(|| authority("wss://").map(Self::Tls));
        known.ok_or_else(|| ListenError::Unknown(text.to_owned()))
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(listener, _) => match listener.local_addr() {
                Ok(address) => {
                    write!(f, "unix:{}", address.as_pathname().unwrap_or(Path::new("")).display())
                }
                Err(error) => write!(f, "unix: {error}"),
            },
            Self::Tcp(listener) | Self::Tls(listener, _) => {
                let scheme = if matches!(self, Self::Tcp(_)) { "ws" } else { "wss" };
                match listener.local_addr() {
                    Ok(address) => write!(f, "{scheme}://{address}"),
                    Err(error) => write!(f, "{scheme}: {error}"),
                }
            }
        }
    }
}

impl Listener {
    /// Binds an address. The file of a Unix socket is for its owner alone; a file without a listener is replaced.
    ///
    /// # Errors
    ///
    /// The system refuses it, or another process listens there.
    pub async fn bind(
        address: &Address,
        certificate: Option<&Arc<Certificate>>,
    ) -> Result<Self, ListenError> {
        match address {
            Address::Systemd => Err(ListenError::Unknown("systemd:".to_owned())),
            Address::Tls(address) => {
                let name = format!("wss://{address}");
                let certificate = certificate.ok_or_else(|| ListenError::NoCertificate(name.clone()))?;
                let bound = TcpListener::bind(address).await;
                let bound = bound.map_err(|error| ListenError::Refused(name, error))?;
                Ok(Self::Tls(bound, certificate.clone()))
            }
            Address::Tcp(address) => {
                let bound = TcpListener::bind(address).await;
                bound.map(Self::Tcp).map_err(|error| ListenError::Refused(format!("ws://{address}"), error))
            }
            Address::Unix(path) => {
                let name = format!("unix:{}", path.display());
                let refused = |error| ListenError::Refused(name.clone(), error);
                if let Some(left_behind) = SocketFile::at(path) {
                    if UnixStream::connect(path).await.is_ok() {
                        return Err(ListenError::InUse(name));
                    }
                    // Another host may have come meanwhile.
                    left_behind.remove().map_err(refused)?;
                }
                // The file has its mode from the start: no other user can connect meanwhile.
                let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
                let bound = UnixListener::bind(path);
                rustix::process::umask(before);
                let listener = bound.map_err(refused)?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(refused)?;
                Ok(Self::Unix(listener, SocketFile::at(path)))
            }
        }
    }

    /// Listens at a socket that another process has bound. A TCP port speaks TLS if there is a certificate, and `address`
    /// is not another one; the file of a Unix socket is ours if `address` names it, and it has the `identity` that the process
    /// before has named.
    ///
    /// # Errors
    ///
    /// The system refuses it.
    pub fn adopt(
        socket: PassedSocket,
        address: &Address,
        identity: Option<&str>,
        certificate: Option<&Arc<Certificate>>,
    ) -> io::Result<Self> {
        let certificate = certificate.filter(|_| !matches!(address, Address::Tcp(_)));
        match socket {
            PassedSocket::Unix(socket) => {
                socket.set_nonblocking(true)?;
                let file = match (address, identity) {
                    (Address::Unix(path), Some(identity)) => SocketFile::known(path, identity),
                    _ => None,
                };
                Ok(Self::Unix(UnixListener::from_std(socket)?, file))
            }
            PassedSocket::Tcp(socket) => {
                socket.set_nonblocking(true)?;
                let listener = TcpListener::from_std(socket)?;
                Ok(match certificate {
                    Some(certificate) => Self::Tls(listener, certificate.clone()),
                    None => Self::Tcp(listener),
                })
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
        let health = get(operator_routes::health).with_state(server.clone());
        let guarded = || {
            let check = middleware::from_fn_with_state(server.access.clone(), access::check);
            router.clone().layer(check).route("/healthz", health.clone())
        };
        let tokens = server.access.clone().watch_tokens();
        match self {
            Self::Tcp(listener) => {
                // Deltas are small, and each is awaited.
                let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
                    let _ = stream.set_nodelay(true);
                });
                let service = guarded().into_make_service_with_connect_info::<ClientPlace>();
                let served = axum::serve(GuardedListener::new(listener, STRANGERS.clone()), service);
                tokio::select! { served = served.into_future() => served, () = tokens => Ok(()) }
            }
            Self::Tls(listener, certificate) => {
                let service = guarded().into_make_service_with_connect_info::<ClientPlace>();
                let served = axum::serve(TlsListener::new(listener, certificate, STRANGERS.clone()), service);
                tokio::select! { served = served.into_future() => served, () = tokens => Ok(()) }
            }
            Self::Unix(listener, _) => {
                let open = router.layer(Extension(Principal::local())).route("/healthz", health);
                let service = open.layer(middleware::from_fn(admit));
                let service = service.into_make_service_with_connect_info::<ClientPlace>();
                let lines = move |stream| serve_stream(server.clone(), stream);
                axum::serve(UnixClients::new(listener, LOCAL_STRANGERS.clone(), lines), service).await
            }
        }
    }

    /// Another descriptor of the socket.
    ///
    /// # Errors
    ///
    /// The system refuses it.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Unix(listener, _) => listener.as_fd().try_clone_to_owned(),
            Self::Tcp(listener) | Self::Tls(listener, _) => listener.as_fd().try_clone_to_owned(),
        }
    }

    /// The file of a Unix socket.
    pub const fn socket_file(&self) -> Option<&SocketFile> {
        match self {
            Self::Unix(_, file) => file.as_ref(),
            Self::Tcp(_) | Self::Tls(..) => None,
        }
    }
}

/// Clients by TCP that have shown no token yet.
static STRANGERS: LazyLock<Arc<Strangers>> =
    LazyLock::new(|| Strangers::of_process(|event| METRICS.stranger(event)));

/// Clients of Unix sockets that have said nothing yet. They are apart, so that those by TCP do not take their place.
static LOCAL_STRANGERS: LazyLock<Arc<Strangers>> =
    LazyLock::new(|| Strangers::of_process(|event| METRICS.stranger(event)));

/// Takes the client of a Unix socket for who it is: the local user.
async fn admit(
    ConnectInfo(ClientPlace(place)): ConnectInfo<ClientPlace>,
    request: Request,
    next: Next,
) -> Response {
    place.admit();
    next.run(request).await
}

async fn serve_stream(server: Server, stream: GuardedStream<UnixStream>) {
    let (from, to) = tokio::io::split(stream);
    let (reader, writer) = (LineReader::new(from, server.max_frame), StreamWriter::new(to));
    serve_shared(server, Principal::local(), None, reader, writer).await;
}

async fn serve_shared(
    server: Server,
    principal: Arc<Principal>,
    trace_context: Option<TraceContext>,
    reader: impl ReadLines,
    writer: impl WriteLines,
) {
    let Server { host, dialect, max_pending, .. } = server;
    let (key, limits) = (random_key(), (dialect, max_pending));
    let span = tracing::error_span!("connection", id = key, client = principal.name);
    let host = ScopedHost::new(host, principal);
    let client = (key, trace_context);
    let serving = SharedConnection::serve(host, client, limits, InputEnd::Leaves, reader, writer);
    serving.instrument(span).await;
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
    let (client, limits) = ((random_key(), None), (server.dialect, server.max_pending));
    let scoped = ScopedHost::new(server.host, Principal::local());
    SharedConnection::serve(scoped, client, limits, InputEnd::EndsSessions, reader, writer).await;
    host.shut_down().await;
    Ok(())
}

/// The beginning of [`CONTROL_PROTOCOL`], of any version.
const CONTROL_PROTOCOLS: &str = "pi-rpc.control.";

/// A name for a client that has given none.
fn random_key() -> String {
    format!("{:016x}", pi_rpc_server::seed())
}

fn router(server: Server) -> Router {
    Router::new()
        .route("/", get(shared))
        .route("/sessions/new", get(new_session))
        .route("/sessions/{id}", get(known_session))
        .route("/metrics", get(operator_routes::metrics))
        .route("/status", get(operator_routes::status))
        .with_state(server)
}

/// What a client says of itself in the address of a session.
#[derive(Default, Deserialize)]
struct ClientOptions {
    client: Option<String>,
    after: Option<u64>,
}

impl ClientOptions {
    /// What a client says of itself.
    ///
    /// # Errors
    ///
    /// The query cannot be read, or the name is none.
    fn read(query: Result<Query<Self>, QueryRejection>) -> Result<Self, String> {
        let Query(options) = query.map_err(|error| error.to_string())?;
        // It becomes a part of headers and records.
        options.client.as_deref().map_or(Ok(()), |name| check_text("client", name))?;
        Ok(options)
    }

    /// Names the client in every session.
    fn key(&self, principal: &Principal) -> String {
        self.client.as_deref().map_or_else(random_key, |client| principal.client_key(client))
    }
}

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

async fn shared(
    State(server): State<Server>,
    Extension(principal): Extension<Arc<Principal>>,
    headers: HeaderMap,
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
    let trace_context = trace_context(&headers);
    upgrade.on_upgrade(move |socket| async move {
        let (reader, writer) = web_socket(socket);
        serve_shared(server, principal, trace_context, reader, writer).await;
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
    let client = match ClientOptions::read(client) {
        Ok(client) => client,
        Err(reason) => {
            return refuse(StatusCode::BAD_REQUEST, ConnectionErrorCode::InvalidQuery, &reason);
        }
    };
    let session = match ScopedHost::new(server.host.clone(), principal.clone()).find(&id).await {
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
    uri: Uri,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    // One that is ignored could have taken something away.
    if let Some(name) = unknown_parameter(&uri) {
        let text = format!("{name:?}: expected one of {}", SESSION_PARAMETERS.join(", "));
        return refuse(StatusCode::BAD_REQUEST, ConnectionErrorCode::InvalidQuery, &text);
    }
    let mut client = match ClientOptions::read(client) {
        Ok(client) => client,
        Err(reason) => {
            return refuse(StatusCode::BAD_REQUEST, ConnectionErrorCode::InvalidQuery, &reason);
        }
    };
    let Query(new) = match new {
        Ok(new) => new,
        Err(error) => {
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
    let opened = match host.count_command(true).await {
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

fn connect(
    server: &Server,
    principal: Arc<Principal>,
    session: Permitted<SessionHandle>,
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
    let offered: Vec<&str> = asked.flat_map(|names| names.split(',')).map(str::trim).collect();
    let has_control = offered.contains(&CONTROL_PROTOCOL);
    if let Some(other) = offered.iter().find(|name| !has_control && name.starts_with(CONTROL_PROTOCOLS)) {
        let reason = format!("expected {CONTROL_PROTOCOL}, got {other:?}");
        return refuse(StatusCode::BAD_REQUEST, ConnectionErrorCode::UnsupportedVersion, &reason);
    }
    if let Some(length) = options.client.as_ref().map(String::len).filter(|length| *length > MAX_CLIENT_NAME)
    {
        let reason = format!("client: expected at most {MAX_CLIENT_NAME} bytes, got {length}");
        return refuse(StatusCode::BAD_REQUEST, ConnectionErrorCode::InvalidQuery, &reason);
    }
    let client = Client {
        key: options.key(&principal),
        principal,
        after: options.after,
        has_control,
        max_pending: server.max_pending,
        trace_context: trace_context(headers),
    };
    // A longer line is read, so that it is answered like any other.
    let upgrade = upgrade.max_message_size(2 * server.max_frame).max_frame_size(2 * server.max_frame);
    let (host, stop) = (server.host.clone(), server.host.stop());
    let span = tracing::error_span!(
        "connection",
        id = random_key(),
        client = client.principal.name,
        session = session.id
    );
    upgrade.on_upgrade(|socket| {
        let serving = async move {
            own_connection::serve(&host, socket, session, client).await;
            drop(stop);
        };
        serving.instrument(span)
    })
}

/// The span that a client names in its request.
fn trace_context(headers: &HeaderMap) -> Option<TraceContext> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    TraceContext::new(text("traceparent")?, text("tracestate"))
}

/// The response to a request that is refused with this error.
pub(super) fn refuse_session(error: &HostError) -> Response {
    use MultiSessionErrorCode as Code;
    let status = match error.code() {
        Code::UnknownSession => StatusCode::NOT_FOUND,
        Code::SessionOpening | Code::SessionClosing | Code::SessionPathInUse => StatusCode::CONFLICT,
        Code::MissingSessionId | Code::InvalidPath | Code::OpenFailed | Code::SessionFailed => {
            StatusCode::BAD_REQUEST
        }
        Code::ForbiddenDirectory | Code::ForbiddenModel | Code::ForbiddenDialect | Code::ForbiddenTool => {
            StatusCode::FORBIDDEN
        }
        Code::TooManySessions | Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::SpendExceeded => StatusCode::PAYMENT_REQUIRED,
        Code::ClusterUnavailable | Code::NodeLost => StatusCode::SERVICE_UNAVAILABLE,
    };
    METRICS.refusal(error.code().as_str());
    refusal(status, &error.text())
}

/// The response to a request that is refused with this code, for this reason.
pub(super) fn refuse(status: StatusCode, code: ConnectionErrorCode, reason: &str) -> Response {
    METRICS.refusal(code.as_str());
    refusal(status, &format!("{}: {reason}", code.as_str()))
}

fn refusal(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}
