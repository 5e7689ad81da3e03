//! `pi-rpc host` and `--mode rpc --multi-session`: many sessions in one process.

use super::{
    log::{self, Log},
    options::{self, HostOptions, LogFormat, Refusal},
    print, process_privacy, refuse,
    serve::{log_panics, log_to_stderr},
    session_options::load_config,
    session_template::SessionTemplate,
};
use crate::{
    config::Environment,
    login::finish_refreshes,
    protocol::FRAME_LIMIT,
    secrets::Secrets,
    server::MAX_PENDING_BYTES,
    session_host::{
        Access, Address, AuthCommand, Certificate, Listener, PassedSocket, Server, SessionHost,
        SessionLimits, passed_sockets, serve_stdio,
    },
};
use sd_notify::NotifyState;
use serde_json::json;
use std::{
    ffi::OsString,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use tokio::signal::unix::{SignalKind, signal};

/// Default of `--kept-output`, in bytes.
const KEPT_OUTPUT: usize = 4 * 1024 * 1024;

/// Parses the options and serves until a signal comes; with `--multi-session`, until the end of input.
pub fn run(started_as: Option<&OsString>, arguments: &[OsString]) -> ExitCode {
    let options = match options::parse(arguments) {
        Ok(options) if options.help => return print(&format!("{USAGE}\n{}", options::HELP)),
        Ok(options) => options,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    log_to_stderr(options.log_format);
    log_panics();
    for warning in &options.warnings {
        tracing::warn!("{warning}");
    }
    let addresses: Result<Vec<Address>, _> = options.listen.iter().map(|text| Address::parse(text)).collect();
    let addresses = match addresses {
        Ok(addresses) => addresses,
        Err(error) => return refuse(&error.to_string(), super::USAGE),
    };
    if addresses.is_empty() && !options.multi_session {
        return refuse(
            "host: expected at least one --listen unix:PATH, ws://HOST:PORT, wss://HOST:PORT or systemd:",
            super::USAGE,
        );
    }
    let passed = match addresses.contains(&Address::Systemd) {
        true => passed_sockets(),
        false => Ok(Vec::new()),
    };
    let passed = match passed {
        Ok(passed) => passed,
        Err(error) => return refuse(&format!("--listen systemd: {error}"), 1),
    };
    let is_open_to_tcp = addresses.iter().any(|address| matches!(address, Address::Tcp(_) | Address::Tls(_)))
        || passed.iter().any(|socket| matches!(socket, PassedSocket::Tcp(_)));
    if is_open_to_tcp && options.token_file.is_none() && options.auth_command.is_none() {
        return refuse(
            "--listen at a TCP port: expected --token-file or --auth-command as well, as every program of this \
             machine could connect",
            super::USAGE,
        );
    }
    let format = options.log_format;
    let certificate = match certificate(&options) {
        Ok(certificate) => certificate,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    let server = match server(started_as, options, arguments) {
        Ok(server) => server,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let served = runtime.block_on(async {
        let served = match addresses.is_empty() {
            true => serve_stdio(server).await.map(|()| 0).map_err(|error| error.to_string()),
            false => listen(server, &addresses, passed, certificate, format).await,
        };
        finish_refreshes().await;
        served
    });
    // Blocked threads may never end; nothing waits for them.
    runtime.shutdown_background();
    match served {
        Ok(status) => ExitCode::from(status),
        Err(text) => refuse(&text, 1),
    }
}

const USAGE: &str = "\
Run many sessions in one process, for clients that come and go

Usage: pi-rpc host --listen unix:PATH [--listen ws://HOST:PORT] [OPTIONS]
       pi-rpc --mode rpc --multi-session [OPTIONS]

The options are those of pi-rpc serve, for every session that is opened.
";

/// Serves all addresses until a signal comes. Returns the exit status.
async fn listen(
    server: Server,
    addresses: &[Address],
    passed: Vec<PassedSocket>,
    certificate: Option<Arc<Certificate>>,
    format: LogFormat,
) -> Result<u8, String> {
    let mut listeners = Vec::new();
    for socket in passed {
        listeners.push(Listener::adopt(socket, certificate.as_ref()).map_err(|error| error.to_string())?);
    }
    for address in addresses.iter().filter(|address| **address != Address::Systemd) {
        listeners
            .push(Listener::bind(address, certificate.as_ref()).await.map_err(|error| error.to_string())?);
    }
    let stop = |kind| signal(kind).map_err(|error| format!("signals: {error}"));
    let (mut terminate, mut interrupt) = (stop(SignalKind::terminate())?, stop(SignalKind::interrupt())?);
    let files: Vec<PathBuf> =
        listeners.iter().filter_map(|listener| listener.socket_file().map(Path::to_owned)).collect();
    let host = server.host.clone();
    let mut served = tokio::task::JoinSet::new();
    for listener in listeners {
        announce(&listener, format);
        served.spawn(listener.serve(server.clone()));
    }
    notify(NotifyState::Ready);
    let outcome = tokio::select! {
        _ = terminate.recv() => Ok(0),
        _ = interrupt.recv() => Ok(130),
        Some(lost) = served.join_next() => match lost {
            Ok(Ok(())) => Ok(0),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        },
    };
    notify(NotifyState::Stopping);
    for file in files {
        // A file that is gone already does no harm.
        let _ = fs::remove_file(file);
    }
    host.shut_down().await;
    outcome
}

/// Reports to systemd, where it has started this process.
fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("NOTIFY_SOCKET: {error}");
    }
}

/// Logs an address, whatever `RUST_LOG` says: a port that the system has chosen is known from here alone.
fn announce(listener: &Listener, format: LogFormat) {
    let text = format!("listening at {listener}");
    // The log is never lost.
    let _ = match format {
        LogFormat::Text => writeln!(Log, "{text}"),
        LogFormat::Json => writeln!(Log, "{}", json!({ "level": "INFO", "fields": { "message": text } })),
    };
}

/// The certificate for `wss://`.
fn certificate(options: &HostOptions) -> Result<Option<Arc<Certificate>>, Refusal> {
    match (&options.tls_cert, &options.tls_key) {
        (None, None) => Ok(None),
        (Some(chain), Some(key)) => {
            let loaded = Certificate::load(chain.into(), key.into());
            let loaded = loaded.map_err(|error| Refusal(format!("--tls-cert, --tls-key: {error}"), 1))?;
            Ok(Some(Arc::new(loaded)))
        }
        (Some(_), None) => Err(Refusal("--tls-cert: expected --tls-key as well".to_owned(), super::USAGE)),
        (None, Some(_)) => Err(Refusal("--tls-key: expected --tls-cert as well".to_owned(), super::USAGE)),
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
        access = access.with_command(AuthCommand::new(program.into(), secrets.withheld()));
    }
    Ok(access)
}

fn server(
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
    let environment = Environment::of_process();
    let directory =
        std::env::current_dir().map_err(|error| Refusal(format!("the working directory: {error}"), 1))?;
    let secrets = Secrets::default();
    // Warns of what is wrong with the configuration before anybody opens a session.
    load_config(dialect, &options, &directory, &environment, secrets.clone());
    log::set_secrets(secrets.clone());
    process_privacy::hide(&secrets, &environment, options.api_key.is_some());
    let access = Arc::new(access(&options, &secrets)?);
    let template =
        SessionTemplate { dialect, options, arguments: arguments.to_vec(), directory, environment, secrets };
    let open = move |request| template.open(request);
    let limits = SessionLimits { max_frame, kept_output };
    Ok(Server { host: SessionHost::new(Arc::new(open), limits), dialect, max_frame, access, max_pending })
}
