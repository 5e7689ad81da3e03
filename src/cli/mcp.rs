//! `pi-rpc mcp`: servers of `mcp.json`, added, removed and tried, and logins at them.

use super::{print, refuse};
use clap::{Args, Subcommand};
use pi_rpc_config::{
    self as config, Config, Environment, Sources,
    mcp::{self, McpEntry, McpServers, McpValues},
    mcp_file,
};
use pi_rpc_files::{harmless::harmless_lines, secrets};
use pi_rpc_mcp::{
    ConnectError, ConnectedServer, LOG, LoginOutcome, Surroundings, connect, exposure_name, log_in, log_out,
};
use pi_rpc_processes::{Processes, line_reader::read_line};
use pi_rpc_protocol::{Dialect, JsonObject};
use serde_json::{Value, json};
use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};
use tokio::sync::mpsc;

/// The longest address that is pasted, in bytes.
const MAX_PASTED: usize = 16 * 1024;

/// Examples, for `--help`.
pub const HELP: &str = "\
The files are pi's: mcp.json of the agent directory, and with --local .pi/mcp.json of the project, which counts once the project \
is approved. Nothing secret is printed.

Examples:
  pi-rpc mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  pi-rpc mcp add docs --url https://example.com/mcp --bearer-token-env-var DOCS_TOKEN
  pi-rpc mcp add -l tools --env 'API_KEY=${TOOLS_KEY}' -- uvx tools-mcp
  pi-rpc mcp list
  pi-rpc mcp login docs";

/// Options of `pi-rpc mcp`.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Add a server to mcp.json, or replace it
    Add(Box<AddOptions>),
    /// Remove a server from mcp.json
    Remove {
        /// The server
        server: String,
        /// Use .pi/mcp.json of the project
        #[arg(short, long)]
        local: bool,
    },
    /// Log in at a server by OAuth, in the browser
    Login {
        /// The server
        server: String,
        /// Only if .pi/mcp.json of the project defines it
        #[arg(short, long)]
        local: bool,
        /// Seconds for the whole login
        #[arg(long, value_name = "SECONDS", default_value_t = 300.0)]
        timeout: f64,
    },
    /// Forget the login at a server
    Logout {
        /// The server
        server: String,
        /// Only if .pi/mcp.json of the project defines it
        #[arg(short, long)]
        local: bool,
    },
    /// Connect to every enabled server and print its state, tools and errors; exit with 1 where something is wrong
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Options of `pi-rpc mcp add`.
#[derive(Args)]
struct AddOptions {
    /// The server: letters, digits, _ and -
    server: String,
    /// Use .pi/mcp.json of the project
    #[arg(short, long)]
    local: bool,
    /// The address of a server by streamable HTTP
    #[arg(long)]
    url: Option<String>,
    /// A variable of the server's process; may name another (${NAME}) or a command (!command)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// The directory of the server's process, from that of the session on
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,
    /// A header of every request; as --env
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    header: Vec<(String, String)>,
    /// Send Authorization: Bearer ${NAME}
    #[arg(long, value_name = "NAME")]
    bearer_token_env_var: Option<String>,
    /// A client that is registered at the authorization server
    #[arg(long, value_name = "ID")]
    oauth_client_id: Option<String>,
    /// Its secret; may be ${NAME} or !command
    #[arg(long, value_name = "SECRET")]
    oauth_client_secret: Option<String>,
    /// The port that the browser comes back to
    #[arg(long, value_name = "PORT")]
    oauth_callback_port: Option<u16>,
    /// The name to register with
    #[arg(long, value_name = "NAME")]
    oauth_client_name: Option<String>,
    /// How the client makes itself known: auto, cimd or dcr
    #[arg(long, value_name = "MODE")]
    oauth_client_registration: Option<String>,
    /// How the model reaches the tools: codemode (default), deferred, direct or hidden
    #[arg(long, value_name = "MODE")]
    exposure: Option<String>,
    /// What the server offers, in a sentence
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The command of a server on stdin and stdout, with its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND",
        conflicts_with = "url"
    )]
    command: Vec<String>,
}

impl AddOptions {
    /// An option that only servers by HTTP have, if one is given.
    fn misplaced(&self) -> Option<&'static str> {
        let given = [
            ("header", !self.header.is_empty()),
            ("bearer-token-env-var", self.bearer_token_env_var.is_some()),
            ("oauth-client-id", self.oauth_client_id.is_some()),
            ("oauth-client-secret", self.oauth_client_secret.is_some()),
            ("oauth-callback-port", self.oauth_callback_port.is_some()),
            ("oauth-client-name", self.oauth_client_name.is_some()),
            ("oauth-client-registration", self.oauth_client_registration.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}

/// Splits `KEY=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        // What was given may be a key.
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Changes or tries the servers.
pub fn run(options: &Options) -> ExitCode {
    let config = match load() {
        Ok(config) => config,
        Err(error) => return refuse(&error, 1),
    };
    let done = match &options.command {
        Command::Add(options) => add(&config, options),
        Command::Remove { server, local } => remove(&config, server, *local),
        Command::Login { server, local, timeout } => login(&config, server, *local, *timeout),
        Command::Logout { server, local } => logout(&config, server, *local),
        Command::List { json } => return list(&config, *json),
    };
    match done {
        Ok(text) => print(&text),
        Err(error) => refuse(&error, 1),
    }
}

/// The configuration of pi, whose files these are.
pub(super) fn load() -> Result<Config, String> {
    let working_directory =
        std::env::current_dir().map_err(|error| format!("the working directory: {error}"))?;
    let environment = Environment::of_process();
    Ok(config::load(Sources { dialect: Dialect::Pi1, working_directory, environment, approve: None }))
}

/// The file that is changed, and whose it is.
fn file(config: &Config, local: bool) -> (PathBuf, &'static str) {
    let (user, project) = mcp::files(config);
    if local { (project, "project") } else { (user, "global") }
}

fn add(config: &Config, options: &AddOptions) -> Result<String, String> {
    let name = &options.server;
    let mut entry = JsonObject::new();
    let mut put = |key: &str, value: Value| {
        let is_empty = value.is_null()
            || value.as_object().is_some_and(JsonObject::is_empty)
            || value.as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            entry.insert(key.to_owned(), value);
        }
    };
    let object = |pairs: &[(String, String)]| -> JsonObject {
        pairs.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect()
    };
    match (&options.url, options.command.split_first()) {
        (Some(url), None) => {
            put("url", url.as_str().into());
            let mut headers = object(&options.header);
            if let Some(variable) = &options.bearer_token_env_var {
                headers.insert("Authorization".to_owned(), format!("Bearer ${{{variable}}}").into());
            }
            put("headers", headers.into());
            let oauth = [
                ("clientId", json!(options.oauth_client_id)),
                ("clientSecret", json!(options.oauth_client_secret)),
                ("callbackPort", json!(options.oauth_callback_port)),
                ("clientName", json!(options.oauth_client_name)),
                ("clientRegistration", json!(options.oauth_client_registration)),
            ];
            let oauth = oauth.into_iter().filter(|(_, value)| !value.is_null());
            put("oauth", oauth.map(|(key, value)| (key.to_owned(), value)).collect::<JsonObject>().into());
        }
        (None, Some((command, words))) => {
            if let Some(option) = options.misplaced() {
                return Err(format!("--{option} only applies to HTTP servers (--url)."));
            }
            put("command", command.as_str().into());
            put("args", words.into());
            put("env", object(&options.env).into());
            put("cwd", json!(options.cwd));
        }
        _ => return Err(format!("mcp add {name}: expected --url URL, or -- COMMAND [ARGUMENTS]")),
    }
    put("exposure", json!(options.exposure));
    put("description", json!(options.description));
    let (path, scope) = file(config, options.local);
    let replaced = mcp_file::add(&path, name, entry)?;
    let done = if replaced { "Replaced" } else { "Added" };
    let mut lines = vec![format!("{done} {scope} MCP server \"{name}\" in {}.", path.display())];
    if options.local && !config.approval.is_approved() {
        lines.push(withheld(&path));
    }
    let may_need_login = options.url.is_some() && options.bearer_token_env_var.is_none();
    let help = may_need_login.then(|| format!(". If it requires sign-in: pi-rpc mcp login {name}"));
    lines.push(format!("Check it with: pi-rpc mcp list{}", help.unwrap_or_default()));
    Ok(lines.join("\n"))
}

fn remove(config: &Config, name: &str, local: bool) -> Result<String, String> {
    let (path, scope) = file(config, local);
    if mcp_file::remove(&path, name)? {
        return Ok(format!("Removed {scope} MCP server \"{name}\" from {}.", path.display()));
    }
    let found = McpServers::load(config).servers;
    let other = found.iter().find(|entry| entry.name == name && entry.is_of_project != local);
    let other = other.map(|entry| {
        let option = if entry.is_of_project { "use --local" } else { "omit --local" };
        format!(" It is defined in {}; {option}.", entry.source.display())
    });
    let other = other.unwrap_or_default();
    Err(format!("No {scope} MCP server named \"{name}\" in {}.{other}", path.display()))
}

/// Whether the project has a file that does not count.
fn is_withheld(config: &Config) -> bool {
    !config.approval.is_approved() && mcp::files(config).1.symlink_metadata().is_ok()
}

/// What is said of the project's file where it does not count.
fn withheld(path: &Path) -> String {
    format!(
        "The project is not approved, so {} does not count until a session starts with --approve.",
        path.display()
    )
}

/// A server as it was found: connected, disabled, or why it is not.
pub(super) enum Tried {
    /// It is not to be connected.
    Disabled,
    /// It answers.
    Connected(ConnectedServer),
    /// The user has to log in.
    NeedsLogin,
    /// It does not answer, for this reason.
    Failed(String),
}

/// What servers are started with.
fn surroundings(config: &Config, log: Option<PathBuf>) -> Surroundings {
    let secrets = config.keys.secrets().clone();
    Surroundings {
        directory: std::env::current_dir().unwrap_or_default(),
        processes: Processes::new(),
        environment: secrets.child_environment(),
        secrets,
        log,
        agent: Some(config.directories.agent.clone()),
    }
}

fn values(config: &Config) -> Arc<McpValues> {
    Arc::new(McpValues::new(Environment::of_process(), config.keys.secrets().clone()))
}

fn log_file(config: &Config) -> Option<PathBuf> {
    Some(config.directories.agent.join(LOG))
}

/// Connects all servers at once, and ends them again; what they log goes to `log`.
pub(super) fn try_all(config: &Config, servers: &[McpEntry], log: Option<PathBuf>) -> Vec<Tried> {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return servers.iter().map(|_| Tried::Failed(error.to_string())).collect(),
    };
    let surroundings = surroundings(config, log);
    let (values, processes) = (values(config), surroundings.processes.clone());
    let tried = runtime.block_on(async {
        let tasks = servers.iter().map(|entry| {
            let (entry, values, surroundings) = (entry.clone(), values.clone(), surroundings.clone());
            tokio::spawn(async move {
                if !entry.is_enabled {
                    return Tried::Disabled;
                }
                match connect(&entry, &values, &surroundings).await {
                    Ok(server) => Tried::Connected(server),
                    Err(ConnectError::NeedsLogin) => Tried::NeedsLogin,
                    Err(ConnectError::Failed(error)) => Tried::Failed(error),
                }
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let mut tried = Vec::new();
        for task in tasks {
            tried.push(task.await.unwrap_or_else(|error| Tried::Failed(error.to_string())));
        }
        for server in &tried {
            if let Tried::Connected(server) = server {
                server.end().await;
            }
        }
        tried
    });
    // Whatever a server has started ends with this program.
    runtime.block_on(processes.end_all());
    tried
}

fn list(config: &Config, as_json: bool) -> ExitCode {
    let found = McpServers::load(config);
    let tried = try_all(config, &found.servers, log_file(config));
    let note = is_withheld(config).then(|| withheld(&mcp::files(config).1));
    let is_wrong =
        !found.errors.is_empty() || tried.iter().any(|it| matches!(it, Tried::Failed(_) | Tried::NeedsLogin));
    let text = match as_json {
        true => {
            let servers = found.servers.iter().zip(&tried).map(|(entry, tried)| described(entry, tried));
            let mut report = json!({ "servers": servers.collect::<Vec<_>>(), "errors": found.errors });
            if let Some(note) = note {
                report["note"] = note.into();
            }
            serde_json::to_string_pretty(&report).unwrap_or_default()
        }
        false => {
            let servers = found.servers.iter().zip(&tried).flat_map(|(entry, tried)| lines(entry, tried));
            let errors = found.errors.iter().map(|error| format!("config error: {error}"));
            let lines: Vec<String> = servers.chain(errors).chain(note).collect();
            match &lines[..] {
                [] => {
                    let (user, project) = mcp::files(config);
                    format!(
                        "No MCP servers configured. Add them to {} or {}.",
                        user.display(),
                        project.display()
                    )
                }
                lines => harmless_lines(&lines.join("\n")),
            }
        }
    };
    let printed = print(&text);
    if is_wrong { ExitCode::FAILURE } else { printed }
}

/// Finds the server that is logged in at.
fn find(config: &Config, name: &str, local: bool) -> Result<McpEntry, String> {
    let found = McpServers::load(config);
    let names: Vec<&str> = found.servers.iter().map(|entry| entry.name.as_str()).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let missing = || {
        let note = if is_withheld(config) {
            " ".to_owned() + &withheld(&mcp::files(config).1)
        } else {
            String::new()
        };
        format!("No MCP server named \"{name}\".{note} Configured: {known}.")
    };
    let entry = found.servers.iter().find(|entry| entry.name == name).ok_or_else(missing)?;
    match local && !entry.is_of_project {
        true => Err(format!(
            "MCP server \"{name}\" is defined in {}, not in the project; omit --local.",
            entry.source.display()
        )),
        false => Ok(entry.clone()),
    }
}

fn login(config: &Config, name: &str, local: bool, seconds: f64) -> Result<String, String> {
    let entry = find(config, name, local)?;
    let patience = Duration::try_from_secs_f64(seconds).ok().filter(|patience| !patience.is_zero());
    let patience = patience.ok_or("--timeout must be a positive number of seconds.")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let shown = name.to_owned();
    let mut notify = move |page: String| {
        eprintln!("Sign in to MCP server \"{shown}\" in your browser:\n{}", harmless_lines(&page));
        if io::stdin().is_terminal() {
            eprintln!("If the browser cannot reach this machine, paste the URL it was redirected to.");
        }
    };
    let surroundings = surroundings(config, log_file(config));
    let values = values(config);
    let outcome = runtime.block_on(async {
        let logging_in = log_in(&entry, &values, &surroundings, &mut notify, pasted(), patience);
        tokio::time::timeout(patience, logging_in).await
    });
    // The thread that reads stdin must not delay the exit.
    runtime.shutdown_background();
    let tools = |count: usize| format!("({count} tool{})", if count == 1 { "" } else { "s" });
    match outcome {
        Ok(Ok(LoginOutcome::AlreadyIn(count))) => {
            Ok(format!("Already signed in to MCP server \"{name}\" {}.", tools(count)))
        }
        Ok(Ok(LoginOutcome::Done(count))) => {
            Ok(format!("Signed in to MCP server \"{name}\" {}.", tools(count)))
        }
        Ok(Err(error)) => Err(format!("Sign-in to MCP server \"{name}\" failed: {error}")),
        Err(_) => {
            Err(format!("Sign-in to MCP server \"{name}\" was not completed within {seconds} seconds."))
        }
    }
}

/// Addresses that are pasted into the terminal.
fn pasted() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    if io::stdin().is_terminal() {
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            while let Ok(Some(line)) = read_line(&mut stdin, MAX_PASTED) {
                if let Ok(line) = line
                    && !line.trim().is_empty()
                    && sender.blocking_send(line).is_err()
                {
                    return;
                }
            }
        });
    }
    receiver
}

fn logout(config: &Config, name: &str, local: bool) -> Result<String, String> {
    let entry = find(config, name, local)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    Ok(match runtime.block_on(log_out(&entry, &config.directories.agent))? {
        true => format!("Signed out of MCP server \"{name}\"."),
        false => format!("No stored credentials for MCP server \"{name}\"."),
    })
}

/// A server and its state as lines.
fn lines(entry: &McpEntry, tried: &Tried) -> Vec<String> {
    let state = match tried {
        Tried::Disabled => "disabled".to_owned(),
        Tried::Failed(_) => "failed".to_owned(),
        Tried::NeedsLogin => "needs sign-in".to_owned(),
        Tried::Connected(server) => {
            let count = server.tool_names().count();
            format!("connected, {count} tool{}", if count == 1 { "" } else { "s" })
        }
    };
    let scope = if entry.is_of_project { "project" } else { "global" };
    let mut lines = vec![
        format!("{}: {state} ({}, {scope})", entry.name, exposure_name(entry.exposure)),
        format!("  {}", shown_place(entry)),
    ];
    if let Some(path) = &entry.changed_by {
        lines.push(format!("  project override: {}", path.display()));
    }
    match tried {
        Tried::Disabled => {}
        Tried::NeedsLogin => lines.push(format!("  sign in with: pi-rpc mcp login {}", entry.name)),
        Tried::Failed(error) => lines.extend(error.lines().map(|line| format!("  {line}"))),
        Tried::Connected(server) => {
            let tools = server.tool_names().map(|tool| match entry.exposure_of(tool) {
                exposure if exposure == entry.exposure => tool.to_owned(),
                exposure => format!("{tool} [{}]", exposure_name(exposure)),
            });
            let tools: Vec<String> = tools.collect();
            if !tools.is_empty() {
                lines.push(format!("  tools: {}", tools.join(", ")));
            }
            if server.has_resources() {
                lines.push("  offers resources".to_owned());
            }
            lines.extend(server.notes().iter().map(|note| format!("  {note}")));
        }
    }
    lines
}

/// A server and its state as JSON, with pi's members.
fn described(entry: &McpEntry, tried: &Tried) -> Value {
    let mut shown = json!({
        "name": entry.name,
        "scope": if entry.is_of_project { "project" } else { "global" },
        "source": entry.source,
    });
    if let Some(path) = &entry.changed_by {
        shown["override"] = json!(path);
    }
    shown["enabled"] = entry.is_enabled.into();
    shown["exposure"] = exposure_name(entry.exposure).into();
    shown["transport"] = shown_place(entry).into();
    let (state, tools) = match tried {
        Tried::Disabled => ("disabled", Vec::new()),
        Tried::Failed(_) => ("failed", Vec::new()),
        Tried::NeedsLogin => ("needs-auth", Vec::new()),
        Tried::Connected(server) => ("connected", server.tool_names().collect()),
    };
    shown["state"] = state.into();
    let differing = tools.iter().filter_map(|tool| {
        let exposure = entry.exposure_of(tool);
        (exposure != entry.exposure).then(|| ((*tool).to_owned(), exposure_name(exposure).into()))
    });
    let differing: JsonObject = differing.collect();
    shown["tools"] = tools.into();
    if !differing.is_empty() {
        shown["toolExposure"] = differing.into();
    }
    match tried {
        Tried::Connected(server) if server.has_resources() => shown["resources"] = true.into(),
        Tried::Failed(error) => shown["error"] = error.as_str().into(),
        Tried::Connected(_) | Tried::NeedsLogin | Tried::Disabled => {}
    }
    shown
}

/// The command line or the address, without what may be a key.
fn shown_place(entry: &McpEntry) -> String {
    match entry.transport {
        mcp::McpTransport::Http { .. } => secrets::redact_url(&entry.place()),
        mcp::McpTransport::Stdio { .. } => entry.place(),
    }
}
