//! `pi-rpc login` and `pi-rpc logout`.

use super::{
    login_key::{self, KeyError},
    print, refuse,
};
use clap::Args;
use pi_rpc_config::{
    self as config, Config, Environment, Keys, Sources,
    catalogue::BUILT_IN,
    host_of,
    login_kinds::{LoginKind, login_kind, login_kinds},
};
use pi_rpc_files::harmless::harmless_lines;
use pi_rpc_login::{
    Flow, FlowError, LoginOptions, Method, Notice, choose_flow, log_in, remove_entry, store_entry,
};
use pi_rpc_model_http::http::Http;
use pi_rpc_processes::line_reader::read_line;
use pi_rpc_protocol::{Dialect, JsonObject};
use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};
use tokio::sync::mpsc;

pub const HELP: &str = "\
The login is kept in auth.json of the agent directory, as pi keeps it, and renewed there before it expires. Nothing secret is \
printed. Without a terminal both ways work, too: they print what is to be opened and wait.

A provider without logins, or any with --key, gets an API key: typed into the terminal, where it is not shown, else the first \
line of stdin. It is kept in auth.json, too. omp reads its own database (agent.db) and no auth.json; here auth.json comes first.

Examples:
  pi-rpc login                          which providers there are
  pi-rpc login anthropic                open the page on this machine
  pi-rpc login openai-codex --device    type a code into a browser on any machine
  pi-rpc login github-copilot --host company.ghe.com
  pi-rpc login groq                     type an API key
  pass show anthropic | pi-rpc login anthropic --key
  pi-rpc models --auth                  what is configured, and until when";

/// Options of `pi-rpc login`.
#[derive(Args)]
pub struct LoginArguments {
    /// Log in at this provider; without one: list them
    provider: Option<String>,
    /// Type a code into a browser on any machine, where the provider offers that
    #[arg(long, conflicts_with = "browser")]
    device: bool,
    /// Use a browser on this machine, where the provider offers that (default)
    #[arg(long)]
    browser: bool,
    /// Store an API key for the provider instead of logging in
    #[arg(long, conflicts_with_all = ["device", "browser", "host"])]
    key: bool,
    /// Log in at this server of a company instead of the public one (github-copilot)
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Use the agent directory of this dialect
    #[arg(long, default_value_t = super::options::DEFAULT_DIALECT.as_str().to_owned(), env = "PI_RPC_DIALECT")]
    dialect: String,
}

/// Options of `pi-rpc logout`.
#[derive(Args)]
pub struct LogoutArguments {
    /// Forget the login at this provider; without one: list them
    provider: Option<String>,
    /// Use the agent directory of this dialect
    #[arg(long, default_value_t = super::options::DEFAULT_DIALECT.as_str().to_owned(), env = "PI_RPC_DIALECT")]
    dialect: String,
}

impl LoginArguments {
    /// Those of pi's `auth login`.
    pub fn of_pi(provider: Option<String>, key: bool) -> Self {
        Self { provider, device: false, browser: false, key, host: None, dialect: dialect_name() }
    }
}

impl LogoutArguments {
    /// Those of pi's `auth logout`.
    pub fn of_pi(provider: Option<String>) -> Self {
        Self { provider, dialect: dialect_name() }
    }
}

/// The dialect of `PI_RPC_DIALECT`, else pi: all of pi's have one agent directory.
fn dialect_name() -> String {
    std::env::var("PI_RPC_DIALECT").unwrap_or_else(|_| Dialect::Pi.to_string())
}

/// Logs in.
pub fn run(arguments: &LoginArguments) -> ExitCode {
    let config = match load(&arguments.dialect) {
        Ok(config) => config,
        Err((text, status)) => return refuse(&text, status),
    };
    let Some(provider) = &arguments.provider else {
        return print(&format!("{}\n\nLog in: pi-rpc login PROVIDER", providers()));
    };
    let takes_key = BUILT_IN.provider(provider).is_some() || config.has_provider(provider);
    let Some(kind) = login_kind(provider).filter(|_| !arguments.key) else {
        return match takes_key {
            true => store_key(&config, provider),
            false => refuse(&no_login(provider, &config.keys), super::USAGE),
        };
    };
    let flow = match flow(arguments, provider, kind) {
        Ok(flow) => flow,
        Err(text) => return refuse(&text, super::USAGE),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let path = config.keys.auth_file();
    let done = runtime.block_on(async {
        let entry = obtain(&config, provider, kind, flow, arguments.host.as_deref()).await;
        let entry = entry.map_err(|error| failed(provider, kind, &error))?;
        store_entry(&path, provider, entry).await.map_err(|error| format!("{}: {error}", path.display()))
    });
    // The thread that reads stdin must not delay the exit.
    runtime.shutdown_background();
    match done {
        Ok(()) => print(&format!("Logged in at {}. The login is in {}.", kind.name, path.display())),
        Err(text) => refuse(&text, 1),
    }
}

/// Stores an API key.
fn store_key(config: &Config, provider: &str) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let stored = login_key::store(&runtime, config, provider);
    // The thread that reads stdin must not delay the exit.
    runtime.shutdown_background();
    match stored {
        Ok(()) => print(&format!("The key of {provider} is in {}.", config.keys.auth_file().display())),
        Err(KeyError::Missing) if login_kind(provider).is_none() => {
            refuse(&no_login(provider, &config.keys), super::USAGE)
        }
        Err(KeyError::Missing) => refuse("stdin: expected an API key, got nothing", super::USAGE),
        Err(KeyError::Cancelled) => refuse("cancelled; no key was stored", INTERRUPTED),
        Err(KeyError::Failed(text)) => refuse(&text, 1),
    }
}

/// Exit status after Ctrl-C, by the convention of shells.
const INTERRUPTED: u8 = 130;

/// Forgets a login.
pub fn run_logout(arguments: &LogoutArguments) -> ExitCode {
    let config = match load(&arguments.dialect) {
        Ok(config) => config,
        Err((text, status)) => return refuse(&text, status),
    };
    let path = config.keys.auth_file();
    let stored = config.keys.stored_providers();
    let Some(provider) = &arguments.provider else {
        return print(&match stored.is_empty() {
            true => format!("There is no login in {}.", path.display()),
            false => format!(
                "In {}:\n  {}\n\nForget one: pi-rpc logout PROVIDER",
                path.display(),
                stored.join("\n  ")
            ),
        });
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let removed = match path.exists() {
        true => runtime.block_on(remove_entry(&path, provider)),
        false => Ok(false),
    };
    match removed {
        Ok(true) => print(&format!(
            "The login at {provider} is no longer in {}. The provider still knows it: it ends there by itself, or on the \
             account's page.",
            path.display()
        )),
        Ok(false) => refuse(&format!("{}: there is no login at {provider}", path.display()), 1),
        Err(error) => refuse(&format!("{}: {error}", path.display()), 1),
    }
}

fn load(dialect: &str) -> Result<Config, (String, u8)> {
    let Some(dialect) = Dialect::parse(dialect) else {
        return Err((super::unknown_dialect(dialect), super::USAGE));
    };
    let working_directory =
        std::env::current_dir().map_err(|error| (format!("the working directory: {error}"), 1))?;
    let environment = Environment::of_process();
    Ok(config::load(Sources { dialect, working_directory, environment, approve: None }))
}

/// Providers with a login, and the ways that they offer.
fn providers() -> String {
    let rows = login_kinds().map(|(provider, kind)| {
        let ways = [(kind.browser.is_some(), "browser"), (kind.device.is_some(), "--device")];
        let ways: Vec<&str> = ways.into_iter().filter(|(has, _)| *has).map(|(_, way)| way).collect();
        format!("{provider:15} {:34} {}", kind.name, ways.join(" or "))
    });
    let rows: Vec<String> = rows.collect();
    format!("{:15} {:34} WAY\n{}", "PROVIDER", "LOGIN", rows.join("\n"))
}

/// The text for a provider without a login.
fn no_login(provider: &str, keys: &Keys) -> String {
    let known: Vec<&str> = login_kinds().map(|(provider, _)| provider).collect();
    let help = match keys.variables(provider) {
        [] => "Its key goes into auth.json or models.json, if there is such a provider.".to_owned(),
        names => format!("Its key goes into {}, or into auth.json.", names.join(" or ")),
    };
    format!("{provider}: there is no login at this provider. {help} Logins: {}", known.join(", "))
}

/// The way to log in.
fn flow<'a>(arguments: &LoginArguments, provider: &str, kind: &'a LoginKind) -> Result<Flow<'a>, String> {
    let wanted = match (arguments.device, arguments.browser) {
        (true, _) => Some(Method::Device),
        (false, true) => Some(Method::Browser),
        (false, false) => None,
    };
    choose_flow(kind, wanted).ok_or_else(|| match wanted {
        Some(Method::Device) => {
            format!("{provider} offers no login by a code; without --device it begins in a browser")
        }
        Some(Method::Browser) => {
            format!("{provider} offers no login in a browser; without --browser it begins with a code")
        }
        None => format!("{provider}: no way to log in is known"),
    })
}

async fn obtain(
    config: &Config,
    provider: &str,
    kind: &LoginKind,
    flow: Flow<'_>,
    host: Option<&str>,
) -> Result<JsonObject, FlowError> {
    let http = Http::with_secrets(config.keys.secrets().clone());
    let mut seed = JsonObject::new();
    if let Some(host) = host {
        seed.insert("enterpriseUrl".to_owned(), host_of(host).into());
    }
    let elsewhere = kind.device.is_some().then(|| format!("pi-rpc login {provider} --device"));
    let mut notify = |notice: Notice| show(&notice, elsewhere.as_deref());
    let options = LoginOptions {
        environment: config.keys.environment(),
        secrets: config.keys.secrets(),
        device_id: config.written_settings.get("deviceId").and_then(|id| id.as_str()).map(str::to_owned),
        seed,
        pasted: pasted(),
    };
    log_in(&http, kind, flow, options, &mut notify).await
}

/// Tells the user what to do. It is for people, as pi prints it: on stdout.
fn show(notice: &Notice, elsewhere: Option<&str>) {
    let text = match notice {
        Notice::OpenPage { page } => {
            let paste = match io::stdin().is_terminal() {
                true => {
                    "\nIf that browser is on another machine: paste the address that it ends at, or the code, here."
                }
                false => "",
            };
            let other =
                elsewhere.map(|command| format!("\nWithout a browser here: {command}")).unwrap_or_default();
            format!("Open this page in a browser:\n  {page}{paste}{other}\nWaiting for the browser …")
        }
        Notice::EnterCode { page, code } => {
            format!(
                "Open this page in any browser:\n  {page}\nand enter the code {code}\nWaiting for the confirmation …"
            )
        }
    };
    // A closed stdout is no reason to stop a login that a browser may end.
    let _ = writeln!(io::stdout(), "{}", harmless_lines(&text));
    let _ = io::stdout().flush();
}

/// The longest address that is pasted, in bytes.
const MAX_PASTED: usize = 64 * 1024;

/// Lines that are pasted into the terminal; none without one.
fn pasted() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    if io::stdin().is_terminal() {
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            while let Ok(Some(line)) = read_line(&mut stdin, MAX_PASTED) {
                // A longer line is no address.
                let Ok(line) = line else { continue };
                if !line.trim().is_empty() && sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

fn failed(provider: &str, kind: &LoginKind, error: &FlowError) -> String {
    let help = match error {
        FlowError::Port(..) if kind.device.is_some() => {
            format!(". Another way: pi-rpc login {provider} --device")
        }
        _ => String::new(),
    };
    format!("Not logged in at {}: {error}{help}", kind.name)
}
