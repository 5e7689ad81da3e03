//! `pi-rpc host` and `--mode rpc --multi-session`: many sessions in one process.

use super::{
    host_sockets::HostSockets,
    host_status, log,
    options::{self, HostOptions, Refusal},
    other_backend::other_server,
    print, process_privacy, refuse,
    serve::{log_panics, log_to_stderr},
    session::all_folders,
    session_options::load_config,
    session_template::SessionTemplate,
    traces,
    upgrade::{self, NO_FILE, Successor},
    webhook,
};
use futures_util::FutureExt as _;
#[cfg(feature = "cluster")]
use pi_rpc_cluster::{Connection, NatsOptions, Node, NodeInfo, NodeOptions, NodeSessions};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_host::{
    Access, AuthCommand, FileOwners, HostError, Listener, OpenSession, Records, Server, SessionHost,
    SessionLimits, SessionSource, SharedSessions, SocketFile, Unattended, UnattendedAction, UsageBook,
    serve_stdio,
};
use pi_rpc_login::finish_refreshes;
use pi_rpc_protocol::FRAME_LIMIT;
use pi_rpc_server::MAX_PENDING_BYTES;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;
use std::{ffi::OsString, io, os::fd::OwnedFd, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Default of `--kept-output`, in bytes.
const KEPT_OUTPUT: usize = 4 * 1024 * 1024;

/// Default of `--keep-idle`.
const KEEP_IDLE: Duration = Duration::from_secs(600);

/// Parses the options and serves until a signal comes; with `--multi-session`, until the end of input.
pub fn run(started_as: Option<&OsString>, arguments: &[OsString]) -> ExitCode {
    if host_status::is_asked(arguments) {
        return host_status::run(arguments);
    }
    let options = match options::parse(arguments) {
        Ok(options) if options.help => return print(&format!("{USAGE}\n{}", options::HELP)),
        Ok(options) => options,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    log_to_stderr(options.log_format);
    log_panics();
    raise_file_limit();
    for warning in options.warnings.iter().cloned().chain(options.misspelt_warnings()) {
        tracing::warn!("{warning}");
    }
    let format = options.log_format;
    let wait = Duration::from_millis(options.upgrade_wait_ms.unwrap_or(UPGRADE_WAIT_MS));
    let (sockets, successor) = match (HostSockets::new(&options), Successor::new()) {
        (Ok(sockets), Ok(successor)) => (sockets, successor),
        (Err(Refusal(text, status)), _) => return refuse(&text, status),
        (_, Err(error)) => return refuse(&format!("the program's file: {error}"), 1),
    };
    if !sockets.is_empty()
        && let Err(error) = upgrade::unblock_signal()
    {
        return refuse(&format!("signals: {error}"), 1);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let server = match runtime.block_on(server(started_as, options, arguments)) {
        Ok(server) => server,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    let served = runtime.block_on(async {
        let served = match sockets.is_empty() {
            true => serve_stdio(server).await.map(|()| End::Exit(0)).map_err(|error| error.to_string()),
            false => match HostSignals::listen() {
                Ok(signals) => match sockets.bind(format).await {
                    Ok(listeners) => listen(server, listeners, signals, &successor, wait).await,
                    Err(text) => Err(text),
                },
                Err(error) => Err(format!("signals: {error}")),
            },
        };
        finish_refreshes().await;
        served
    });
    let status = match served {
        Ok(End::Exit(status)) => ExitCode::from(status),
        Ok(End::Replaced(sockets, files)) => {
            // Tasks that end close descriptors in other threads, and the sockets get the numbers of these: wait for them.
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
            traces::finish();
            return refuse(&format!("upgrade: {}", successor.start(sockets, &files)), 1);
        }
        Err(text) => refuse(&text, 1),
    };
    // Blocked threads may never end; nothing waits for them.
    runtime.shutdown_background();
    traces::finish();
    status
}

/// How a host ends.
enum End {
    /// With this exit status.
    Exit(u8),
    /// Another program takes its place, with these sockets, and the identities of their files.
    Replaced(Vec<OwnedFd>, Vec<String>),
}

/// Default of `--upgrade-wait`, in milliseconds.
const UPGRADE_WAIT_MS: u64 = 600_000;

/// How long the threads of a session host that is replaced may take to end. Those that are blocked may never.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a host that is to be replaced looks for a moment without runs.
const UPGRADE_INTERVAL: Duration = Duration::from_millis(50);

/// Raises the soft limit of open files to the hard one: each session with a file, each connection and each child takes some.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!("the limit of open files stays {:?}: {error}", limit.current);
    }
}

const USAGE: &str = "\
Run many sessions in one process, for clients that come and go

Usage: pi-rpc host --listen unix:PATH [--listen ws://HOST:PORT] [OPTIONS]
       pi-rpc host --status URL [--json] [--tls-ca FILE]
       pi-rpc --mode rpc --multi-session [OPTIONS]

The options are those of pi-rpc serve, for every session that is opened.
";

/// Signals to a host that listens.
struct HostSignals {
    terminate: Signal,
    interrupt: Signal,
    upgrade: Signal,
}

impl HostSignals {
    /// Listens for them from now on: before anybody can know that the host is there.
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            upgrade: signal(SignalKind::user_defined2())?,
        })
    }
}

/// Serves clients until a signal comes.
async fn listen(
    server: Server,
    listeners: Vec<Listener>,
    HostSignals { mut terminate, mut interrupt, mut upgrade }: HostSignals,
    successor: &Successor,
    wait: Duration,
) -> Result<End, String> {
    let files: Vec<Option<SocketFile>> =
        listeners.iter().map(|listener| listener.socket_file().cloned()).collect();
    let sockets: Result<Vec<OwnedFd>, _> = listeners.iter().map(Listener::descriptor).collect();
    let sockets = sockets.map_err(|error| format!("the sockets: {error}"))?;
    let host = server.host.clone();
    let mut served = tokio::task::JoinSet::new();
    for listener in listeners {
        served.spawn(listener.serve(server.clone()));
    }
    notify(&[NotifyState::Ready]);
    let mut is_replaced = false;
    let mut checks = tokio::task::JoinSet::new();
    let end = loop {
        tokio::select! {
            _ = terminate.recv() => break Ok(End::Exit(0)),
            _ = interrupt.recv() => break Ok(End::Exit(130)),
            _ = upgrade.recv(), if !is_replaced && checks.is_empty() => {
                checks.spawn(successor.check());
            }
            Some(checked) = checks.join_next() => match checked {
                Ok(Ok(())) => is_replaced = true,
                Ok(Err(error)) => tracing::error!("upgrade: {error}; the host goes on"),
                Err(error) => tracing::error!("upgrade: {error}; the host goes on"),
            },
            () = idle(&host, wait), if is_replaced => {
                let identity = |file: &Option<SocketFile>| {
                    file.as_ref().map_or_else(|| NO_FILE.to_owned(), SocketFile::identity)
                };
                break Ok(End::Replaced(sockets, files.iter().map(identity).collect()));
            }
            Some(lost) = served.join_next() => break match lost {
                Ok(Ok(())) => Ok(End::Exit(0)),
                Ok(Err(error)) => Err(error.to_string()),
                Err(error) => Err(error.to_string()),
            },
        }
    };
    // A program that is being tried ends with the host.
    checks.shutdown().await;
    match &end {
        // Clients that come from now on wait for the next program.
        Ok(End::Replaced(..)) => {
            served.shutdown().await;
            let now = NotifyState::monotonic_usec_now();
            now.into_iter().for_each(|now| notify(&[NotifyState::Reloading, now]));
        }
        _ => stop_listening(&files),
    }
    host.shut_down().await;
    match end {
        // A signal to end came while the sessions were ended.
        Ok(End::Replaced(..)) if terminate.recv().now_or_never().is_some() => {
            stop_listening(&files);
            Ok(End::Exit(0))
        }
        end => end,
    }
}

/// Removes the files of the sockets. A file that is gone already does no harm.
fn stop_listening(files: &[Option<SocketFile>]) {
    notify(&[NotifyState::Stopping]);
    for file in files.iter().flatten() {
        if let Err(error) = file.remove() {
            tracing::warn!("the file of a socket stays: {error}");
        }
    }
}

/// Waits for a moment without runs, but no longer than this.
async fn idle(host: &SessionHost, wait: Duration) {
    let wait_for_runs = async {
        while host.is_busy() {
            tokio::time::sleep(UPGRADE_INTERVAL).await;
        }
    };
    if tokio::time::timeout(wait, wait_for_runs).await.is_err() {
        tracing::warn!("upgrade: runs are aborted, as there was no moment without one for {wait:?}");
    }
}

/// Reports to systemd, where it has started this process.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("NOTIFY_SOCKET: {error}");
    }
}

/// Who is let in by TCP.
fn access(options: &HostOptions, secrets: &Secrets) -> Result<Access, Refusal> {
    let mut access = Access::new(options.origins.clone());
    if let Some(file) = &options.token_file {
        let wrong = |error: String| Refusal(format!("--token-file {file}: {error}"), 1);
        access = access.with_tokens(file.into()).map_err(wrong)?;
    }
    if let Some(program) = &options.auth_command {
        access = access.with_command(AuthCommand::new(program.into(), secrets.child_environment()));
    }
    Ok(access)
}

/// What becomes of a run that waits for a permission while no client is there.
fn unattended(options: &HostOptions) -> Result<Unattended, Refusal> {
    let usual = Unattended::default();
    let action = options.unattended.unwrap_or_default();
    // The hosts of a cluster do not know of each other's clients.
    if options.nats.is_some() && action != UnattendedAction::Wait {
        let text = "--unattended: not with --nats, where another host may have the clients".to_owned();
        return Err(Refusal(text, super::USAGE));
    }
    let after = options.unattended_after_ms.map_or(usual.after, Duration::from_millis);
    Ok(Unattended { action, after })
}

async fn server(
    started_as: Option<&OsString>,
    options: HostOptions,
    arguments: &[OsString],
) -> Result<Server, Refusal> {
    let dialect = match options.dialect {
        Some(dialect) => dialect,
        None => options::default_dialect(started_as)?,
    };
    let max_frame = options.max_frame.unwrap_or(FRAME_LIMIT);
    let max_pending = options.max_unread.unwrap_or(MAX_PENDING_BYTES);
    let kept_output = options.kept_output.unwrap_or(KEPT_OUTPUT);
    let keep_idle = options.keep_idle_ms;
    let unattended = unattended(&options)?;
    let records = match &options.state {
        Some(folder) => {
            let wrong = |error| Refusal(format!("--state {}: {error}", folder.display()), 1);
            Some(Records::open(folder).map_err(wrong)?)
        }
        None => None,
    };
    let environment = options.environment(dialect)?;
    let directory =
        std::env::current_dir().map_err(|error| Refusal(format!("the working directory: {error}"), 1))?;
    let other = other_server(&options, arguments, dialect, &directory)?;
    let secrets = Secrets::default();
    // Warns of what is wrong with the configuration before anybody opens a session.
    let config = load_config(dialect, &options, &directory, &environment, secrets.clone(), Some(dialect));
    let folders = all_folders(&config, &options, &directory, &environment);
    log::set_secrets(secrets.clone());
    traces::start(&secrets);
    // Tools can show the command line of the host.
    options.nats.iter().flat_map(|urls| urls.split(',')).for_each(|url| secrets.remember_url(url));
    let has_login = options.nats.as_deref().is_some_and(|urls| urls.contains('@'));
    let has_secret = options.api_key.is_some() || has_login || options.webhook.is_some();
    process_privacy::hide(&secrets, &environment, has_secret);
    let access = Arc::new(access(&options, &secrets)?);
    let (folders, known) = (Arc::new(folders), access.clone());
    let noted = records.as_ref().map_or(&[][..], |(_, sessions)| sessions);
    let owners = FileOwners::open(
        options.state.as_deref(),
        noted,
        Box::new(move || known.root_holders()),
        Box::new({
            let folders = folders.clone();
            move || folders()
        }),
    );
    let wrong = |error| Refusal(format!("--state: whose the sessions are: {error}"), 1);
    let owners = owners.map_err(wrong)?;
    let arguments = arguments.to_vec();
    let files = Some(owners.clone());
    let template = Arc::new(SessionTemplate {
        dialect,
        is_host: true,
        options,
        arguments,
        directory,
        environment,
        secrets,
        owners: files,
    });
    let open: Arc<OpenSession> = Arc::new({
        let template = template.clone();
        move |request| {
            let options = template.open(request)?;
            match options.tool_refusal() {
                Some(text) => Err(HostError::OpenFailed(text)),
                None => Ok(options),
            }
        }
    });
    webhook::start(&template.options, &template.secrets)?;
    let kept_idle = keep_idle.map_or(KEEP_IDLE, Duration::from_millis);
    let limits = SessionLimits { max_frame, kept_output, kept_idle, unattended };
    let shared = join_cluster(&template, open.clone(), limits, access.usage()).await;
    let shared = shared.map_err(|text| Refusal(text, 1))?;
    let source = SessionSource { open, other, folders: Box::new(move || folders()), dialect, owners };
    let host = SessionHost::new(source, limits, records, shared);
    Ok(Server { host, dialect, max_frame, access, max_pending })
}

/// Joins the session hosts that `--nats` connects; `None`: the sessions are of this process alone.
#[cfg(feature = "cluster")]
async fn join_cluster(
    template: &SessionTemplate,
    open_session: Arc<OpenSession>,
    limits: SessionLimits,
    usage: UsageBook,
) -> Result<Option<Arc<dyn SharedSessions>>, String> {
    let SessionTemplate { dialect, options, directory, .. } = template;
    let Some(urls) = options.nats.clone() else { return Ok(None) };
    let machine = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let info = NodeInfo {
        name: options.node.clone().unwrap_or_else(machine),
        labels: options.labels.clone(),
        lease_seconds: options.nats_lease.unwrap_or(NodeInfo::default().lease_seconds),
    };
    let nats = NatsOptions {
        urls,
        credentials: options.nats_credentials.as_ref().map(PathBuf::from),
        nkey: options.nats_nkey.as_ref().map(PathBuf::from),
        authorities: options.nats_ca.as_ref().map(PathBuf::from),
        certificate: options.nats_cert.as_ref().map(PathBuf::from),
        key: options.nats_key.as_ref().map(PathBuf::from),
        replicas: options.nats_replicas.unwrap_or(1),
    };
    let kept_closed = options.nats_keep_closed;
    let connection = Connection::open(&nats, &info.name).await.map_err(|error| error.to_string())?;
    let (dialect, directory) = (dialect.as_str().to_owned(), directory.clone());
    let options = NodeOptions { info, dialect, directory, open_session, limits, usage, kept_closed };
    let node = Node::join(connection, options).await?;
    Ok(Some(Arc::new(NodeSessions(node))))
}

#[cfg(not(feature = "cluster"))]
async fn join_cluster(
    template: &SessionTemplate,
    _: Arc<OpenSession>,
    _: SessionLimits,
    _: UsageBook,
) -> Result<Option<Arc<dyn SharedSessions>>, String> {
    match template.options.nats {
        Some(_) => Err("--nats: this pi-rpc was built without the cargo feature `cluster`".to_owned()),
        None => Ok(None),
    }
}
