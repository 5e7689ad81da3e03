//! `pi-rpc serve` and `--mode rpc`: from options and configuration to the server's [`Options`].

use super::{
    agent_backend, host,
    log::{self, Log},
    models,
    options::{self, HostOptions, LogFormat, Refusal},
    other_backend::refuse_single,
    pi_commands, print, printed_prompts, process_privacy, refuse,
    session_options::{load_session_config, session_with_servers},
    traces,
};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_host::TokenLimits;
use pi_rpc_login::finish_refreshes;
use pi_rpc_protocol::{Dialect, FRAME_LIMIT};
use pi_rpc_server::{Hazards, MAX_PENDING_BYTES, Options, ServeError, StartEnd, serve, signal_status, start};
use std::{
    any::Any,
    backtrace::{Backtrace, BacktraceStatus},
    ffi::OsString,
    io::{self, IsTerminal as _, Write as _},
    panic,
    process::ExitCode,
    thread,
};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// Parses the options and serves until the end of input.
pub fn run(started_as: Option<&OsString>, arguments: &[OsString]) -> ExitCode {
    let options = match options::parse(arguments) {
        Ok(options) if options.version => return print(super::VERSION),
        Ok(HostOptions { list_models: Some(words), dialect, .. }) => {
            return match dialect.map_or_else(|| options::default_dialect(started_as), Ok) {
                Ok(dialect) => models::list(&words, dialect),
                Err(Refusal(text, status)) => refuse(&text, status),
            };
        }
        Ok(HostOptions { export: Some(file), messages, dialect, .. }) => {
            return match dialect.map_or_else(|| options::default_dialect(started_as), Ok) {
                Ok(dialect) => pi_commands::export(&file, messages.first(), dialect),
                Err(Refusal(text, status)) => refuse(&text, status),
            };
        }
        Ok(options) if options.help => {
            let usage = "Serve the protocol on stdin and stdout\n\nUsage: pi-rpc serve [OPTIONS]\n";
            return print(&format!("{usage}\n{}", options::HELP));
        }
        Ok(mut options) => {
            let checked = agent_backend::check(&mut options);
            let is_many = options.multi_session;
            match checked.and_then(|()| if is_many { Ok(()) } else { refuse_single(&options) }) {
                Ok(()) => options,
                Err(Refusal(text, status)) => return refuse(&text, status),
            }
        }
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    if options.multi_session {
        return host::run(started_as, arguments);
    }
    if !options.listen.is_empty() {
        let text = "--listen: expected pi-rpc host; pi-rpc serve has one session, on stdin and stdout";
        return refuse(text, super::USAGE);
    }
    log_to_stderr(options.log_format);
    log_panics();
    for option in &options.ignored {
        tracing::debug!("{option}: has no effect");
    }
    for warning in &options.warnings {
        tracing::warn!("{warning}");
    }
    if options.print_format().is_none() && io::stdin().is_terminal() {
        // A person at a terminal would see nothing otherwise.
        let _ = writeln!(Log, "{}", terminal_notice(started_as, &options));
    }
    let agent = options.agent.clone();
    let mut options = match resolve(started_as, options, arguments) {
        Ok(options) => options,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let served: Result<u8, ServeError> = runtime.block_on(async {
        if let Some(agent) = agent {
            let name = agent.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let starting = agent_backend::start(agent, options.max_frame, &mut options.session);
            match start(starting).await.map_err(|error| error.to_string())? {
                Ok(started) => started?,
                Err(StartEnd::Signal(number)) => return Ok(signal_status(number)),
                Err(StartEnd::Unused) => return Ok(0),
                Err(StartEnd::Late(grace)) => {
                    let seconds = grace.as_secs();
                    let text = format!(
                        "The agent {name} has not started within {seconds} seconds of the end of the input"
                    );
                    return Err(text.into());
                }
            }
        }
        let served = serve(options).await;
        finish_refreshes().await;
        served
    });
    // Blocked threads may never end; nothing waits for them.
    runtime.shutdown_background();
    traces::finish();
    match served {
        Ok(status) => ExitCode::from(status),
        Err(ServeError { text, status }) => refuse(&text, status),
    }
}

/// The notice for a person who has started a server at a terminal.
fn terminal_notice(started_as: Option<&OsString>, options: &HostOptions) -> String {
    let dialect = options.dialect.map_or_else(|| options::default_dialect(started_as), Ok);
    let dialect = dialect.map(Dialect::as_str).unwrap_or_default();
    format!(
        "pi-rpc {}: serving the protocol of {dialect} on stdin and stdout, one JSON object a line, such as \
         {{\"type\":\"get_state\"}}; Ctrl-D ends it. For a prompt and its answer: pi-rpc -p PROMPT; to type commands: \
         pi-rpc repl",
        super::VERSION
    )
}

fn resolve(
    started_as: Option<&OsString>,
    options: HostOptions,
    arguments: &[OsString],
) -> Result<Options, Refusal> {
    let dialect = match options.dialect {
        Some(dialect) => dialect,
        None => options::default_dialect(started_as)?,
    };
    let dialect = if options.wire_login { options::with_logins(dialect)? } else { dialect };
    let max_frame = options.max_frame.unwrap_or(FRAME_LIMIT);
    let print = printed_prompts::read(&options, max_frame)?;
    let directory =
        std::env::current_dir().map_err(|error| Refusal(format!("the working directory: {error}"), 1))?;
    let environment = options.environment(dialect)?;
    let options = options.in_dialect(dialect);
    let refuses_unknown = dialect.record().refuses_unknown_options;
    let warn_of_misspelt = || options.misspelt_warnings().for_each(|warning| tracing::warn!("{warning}"));
    if !refuses_unknown {
        warn_of_misspelt();
    }
    let config =
        load_session_config(dialect, &options, arguments, &directory, &environment, Secrets::default(), None);
    let secrets = config.keys.secrets();
    log::set_secrets(secrets.clone());
    traces::start(secrets);
    process_privacy::hide(secrets, &environment, options.api_key.is_some());
    let limits = TokenLimits::none();
    let mut session = session_with_servers(config, &options, arguments, directory, &environment, &limits)?;
    // An extension may have such an option. The older versions ignore what they do not know. Source: pi 1.6.0, observed.
    if refuses_unknown {
        let has_none = session.extension_setup.extensions.is_empty();
        let is_refused = |option: &&String| has_none || !option.starts_with("--");
        if let Some(unknown) = options.unknown.iter().find(is_refused) {
            return Err(options.unknown_refusal(unknown));
        }
        warn_of_misspelt();
        session.extension_setup.unknown_options.clone_from(&options.unknown);
    }
    Ok(Options {
        session,
        print,
        max_frame,
        max_unread: options.max_unread.unwrap_or(MAX_PENDING_BYTES),
        hazards: (!options.hazards.is_empty()).then(|| Hazards::new(options.hazards, options.seed, dialect)),
    })
}

/// Logs to stderr: stdout belongs to the protocol.
pub(super) fn log_to_stderr(format: LogFormat) {
    let wanted = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    let builder =
        tracing_subscriber::fmt().with_env_filter(log_filter(&wanted)).with_writer(|| Log).with_target(false);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}

/// Selects what is logged: what `wanted` says, else warnings. Clients of AWS log whole answers, with keys that are not
/// known yet and so could not be redacted; their failures are part of the model's error.
fn log_filter(wanted: &str) -> EnvFilter {
    let others = wanted.split(',').map(str::trim).filter(|it| !it.is_empty() && !it.starts_with(AWS_TARGETS));
    let mut directives: Vec<String> = others.map(str::to_owned).collect();
    if directives.is_empty() {
        directives.push(LevelFilter::WARN.to_string());
        // Each refused request is a warning there, with megabytes of quotes.
        directives.push("agent_client_protocol=error".to_owned());
    }
    directives.push(format!("{AWS_TARGETS}=error"));
    EnvFilter::builder().parse_lossy(directives.join(","))
}

/// The beginning of the targets of AWS's clients.
const AWS_TARGETS: &str = "aws_";

/// Logs panics, which must not block on stderr; with `RUST_BACKTRACE`, their backtraces.
pub(super) fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = thread::current();
        let thread = thread.name().unwrap_or("a thread");
        tracing::error!(
            "a defect of this program: panic in {thread} at {place}{}",
            static_message(panic.payload())
        );
        let way = Backtrace::capture();
        if way.status() == BacktraceStatus::Captured {
            tracing::error!("{way}");
        }
    }));
}

/// The message of a panic, if it is a constant: a formatted one may contain a key.
fn static_message(payload: &(dyn Any + Send)) -> String {
    payload.downcast_ref::<&str>().map(|words| format!(": {words}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_constant_panic_messages_are_logged() {
        let logged = |panics: fn()| static_message(&*panic::catch_unwind(panics).unwrap_err());
        assert_eq!(logged(|| panic!("out of order")), ": out of order");
        assert_eq!(logged(|| panic!("the key is {}", std::process::id())), "");
        assert_eq!(logged(|| drop("é"[1..].to_owned())), "");
    }
}
