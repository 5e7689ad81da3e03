//! `pi-rpc attach`: a pipe to a session of a session host.

use super::{
    options::{self, DisabledTools, HostOptions, LogFormat, Refusal, SessionStart},
    print, refuse,
    serve::log_to_stderr,
};
use pi_rpc_host::attach::{Authorities, HostAddress, Options, SessionAddress, attach};
use pi_rpc_protocol::{Dialect, FRAME_LIMIT, ThinkingLevel};
use std::{ffi::OsString, path::Path, process::ExitCode, time::Duration};

/// Help of `pi-rpc attach`.
const HELP: &str = "\
Connect stdin and stdout to a session of pi-rpc host, as if the session ran here

Usage: pi-rpc attach URL [OPTIONS]

  URL                          unix:PATH, ws://HOST:PORT or wss://HOST:PORT for a new session; with /sessions/ID for
                               an open one; with --nats, several hosts, separated by commas: the next is used where
                               one is lost
      --speak <DIALECT>        Translate between the session and a client that speaks this (pi-rpc front)
      --leave                  Leave the session open at the end of input; for an open session that is the default
      --reconnect <SECONDS>    Try so long to reach a host that was lost (60)
      --tls-ca <FILE>          Trust the hosts at wss:// that these authorities vouch for, too; in PEM
      --cwd <DIR>              Working directory of a new session (this one if the host is on this machine)
      --dialect, --provider, --model, --thinking, --name, --session, --continue, --fork,
      --no-session             As for pi-rpc serve
      --tools, --no-tools, --exclude-tools, --confirm-tools
                               As for pi-rpc serve, of the tools that the host offers; all other options are the host's
                               and are ignored
      --max-cost, --max-turns, --max-time
                               As for pi-rpc serve; they lower the limits of the host
  -h, --help                   Print this text

A host at ws:// or wss:// wants a token: set PI_RPC_TOKEN.

Point a client at \"pi-rpc attach URL\" where it starts \"pi\": the options that it passes are understood.

Examples:
  pi-rpc attach unix:/run/user/1000/pi-rpc.sock --mode rpc --no-session
  pi-rpc attach ws://build-server:7878/sessions/3a13f1ea-69c3-4961-a689-886a8d3603ec";

/// The variable with the token for the host.
const TOKEN: &str = "PI_RPC_TOKEN";

/// Parses the options and passes lines until the session or the input ends.
pub fn run(started_as: Option<&OsString>, arguments: &[OsString]) -> ExitCode {
    match spoken(arguments) {
        Ok(None) => {}
        Ok(Some((client, rest))) => return run_behind_front(client, &rest),
        Err(Refusal(text, status)) => return refuse(&text, status),
    }
    let options = match parse(started_as, arguments) {
        Ok(Some(options)) => options,
        Ok(None) => return print(HELP),
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    log_to_stderr(LogFormat::Text);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    match runtime.block_on(attach(options)) {
        Ok(status) => ExitCode::from(status),
        Err(error) => refuse(&error.to_string(), 1),
    }
}

/// The dialect of `--speak`, and the other words.
fn spoken(arguments: &[OsString]) -> Result<Option<(Dialect, Vec<OsString>)>, Refusal> {
    let Some(at) = arguments.iter().position(|word| word == "--speak") else { return Ok(None) };
    let usage = |text: String| Refusal(text, super::USAGE);
    let name = arguments.get(at + 1).map(|name| name.to_string_lossy());
    let name = name.ok_or_else(|| usage("--speak: expected a dialect".to_owned()))?;
    let client = super::named_dialect(&name).map_err(|reason| usage(format!("--speak: {reason}")))?;
    let rest = arguments.iter().enumerate().filter(|(other, _)| ![at, at + 1].contains(other));
    Ok(Some((client, rest.map(|(_, word)| word.clone()).collect())))
}

/// Runs this program again without `--speak`, behind a front.
fn run_behind_front(client: Dialect, rest: &[OsString]) -> ExitCode {
    let program = match std::env::current_exe() {
        Ok(program) => program.into_os_string(),
        Err(error) => return refuse(&format!("this program: {error}"), 1),
    };
    let words = [program, "attach".into()].into_iter().chain(rest.iter().cloned());
    super::front::run_before(client, words.collect())
}

/// The options; `None`: help is asked for.
fn parse(started_as: Option<&OsString>, arguments: &[OsString]) -> Result<Option<Options>, Refusal> {
    let usage = |text: String| Refusal(text, super::USAGE);
    let (mut leaves, mut patience, mut directory, mut rest) = (false, 60, None, Vec::new());
    let mut authorities = Authorities::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = |name: &str| {
            let value = words.next().map(|value| value.to_string_lossy().into_owned());
            value.ok_or_else(|| usage(format!("{name}: expected a value")))
        };
        match word.to_str() {
            Some("--leave") => leaves = true,
            Some("--reconnect") => {
                let text = value("--reconnect")?;
                patience = text
                    .parse()
                    .map_err(|_| usage(format!("--reconnect {text}: expected a number of seconds")))?;
            }
            Some("--tls-ca") => {
                let file = value("--tls-ca")?;
                let read = Authorities::read(Path::new(&file));
                authorities = read.map_err(|error| Refusal(format!("--tls-ca {file}: {error}"), 1))?;
            }
            Some("--cwd") => directory = Some(value("--cwd")?),
            _ => rest.push(word.clone()),
        }
    }
    let mut options = options::parse(&rest)?;
    if options.help {
        return Ok(None);
    }
    if options.messages.is_empty() {
        return Err(usage(
            "attach: expected the address of a host, unix:PATH, ws://HOST:PORT or wss://HOST:PORT".to_owned(),
        ));
    }
    let (hosts, open) = HostAddress::parse_list(&options.messages.remove(0)).map_err(usage)?;
    let unpassed = [
        (options.no_mcp, "--no-mcp"),
        (options.no_extensions, "--no-extensions"),
        (options.no_ui, "--no-ui"),
        (options.agent.is_some() || options.other_server.is_some(), "--backend"),
    ];
    if let Some((_, name)) = unpassed.into_iter().find(|(is_given, _)| *is_given) {
        let text = "the host decides that, by its own options and the limits of the token";
        return Err(usage(format!("attach: {name}: {text}")));
    }
    if open.is_some()
        && let Some(names) = narrowing(&options)
    {
        return Err(usage(format!("attach: {names}: for a new session, and this one is open")));
    }
    let ends_session = open.is_none() && !leaves;
    let max_frame = options.max_frame.unwrap_or(FRAME_LIMIT);
    let session = match open {
        Some(id) => SessionAddress::Open(id),
        None => {
            if directory.is_none() && matches!(hosts[..], [HostAddress::Unix(_), ..]) {
                let here = std::env::current_dir();
                let here = here.map_err(|error| Refusal(format!("the working directory: {error}"), 1))?;
                directory = Some(here.to_string_lossy().into_owned());
            }
            let dialect = match options.dialect {
                Some(dialect) => Some(dialect),
                None => options::implied_dialect(started_as)?,
            };
            SessionAddress::New(parameters(options, dialect, directory))
        }
    };
    let patience = Duration::from_secs(patience);
    Ok(Some(Options { hosts, session, token: token(), authorities, ends_session, patience, max_frame }))
}

/// The token for the host. A command line is seen by every program of the machine.
pub fn token() -> Option<String> {
    std::env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

/// The options that narrow what a session may do, if some were given: an open session would ignore them.
fn narrowing(options: &HostOptions) -> Option<&'static str> {
    let names_tools = options.tools.is_some()
        || options.no_tools.is_some()
        || !options.exclude_tools.is_empty()
        || !options.confirm_tools.is_empty();
    match names_tools {
        true => Some("--tools, --no-tools, --exclude-tools and --confirm-tools"),
        false if !options.budget.is_unlimited() => Some("--max-cost, --max-turns and --max-time"),
        false => None,
    }
}

fn parameters(
    options: HostOptions,
    dialect: Option<Dialect>,
    directory: Option<String>,
) -> Vec<(&'static str, String)> {
    let dialect = dialect.map(|dialect| ("dialect", dialect.as_str().to_owned()));
    let mut parameters: Vec<_> = dialect.into_iter().collect();
    match options.session {
        SessionStart::New => {}
        SessionStart::InMemory => parameters.push(("in_memory", "true".to_owned())),
        SessionStart::Open(session) => parameters.push(("session", session)),
        SessionStart::Newest => parameters.push(("newest", "true".to_owned())),
        SessionStart::Fork(session) => parameters.push(("fork", session)),
    }
    parameters.extend(directory.map(|directory| ("cwd", directory)));
    parameters.extend(options.provider.map(|provider| ("provider", provider)));
    parameters.extend(options.model.map(|model| ("model", model)));
    parameters
        .extend(options.thinking.map(ThinkingLevel::as_str).map(|level| ("thinking", level.to_owned())));
    parameters.extend(options.name.map(|name| ("name", name)));
    match (options.no_tools, options.tools) {
        // Nothing is left but what `--tools` names, which `+` stands in front of.
        (Some(DisabledTools::All), tools) => {
            let named = tools.unwrap_or_default().into_iter().filter(|entry| !entry.starts_with('-'));
            let named: Vec<String> = named
                .map(|entry| entry.strip_prefix('+').map_or_else(|| entry.clone(), str::to_owned))
                .collect();
            parameters.push(("tools", named.join(",")));
        }
        (disabled, tools) => {
            parameters.extend(disabled.map(|_| ("no_builtin_tools", "true".to_owned())));
            parameters.extend(tools.map(|tools| ("tools", tools.join(","))));
        }
    }
    for (name, tools) in [("exclude_tools", options.exclude_tools), ("confirm_tools", options.confirm_tools)]
    {
        parameters.extend((!tools.is_empty()).then(|| (name, tools.join(","))));
    }
    let budgets = ["max_cost", "max_turns", "max_time"].into_iter().zip(options.budget.values());
    parameters.extend(budgets.filter_map(|(name, value)| Some((name, value?))));
    parameters
}
