//! One server: connected, its tools listed, and called.

use super::{
    MAX_TOOLS,
    client::{Client, Inbox, RequestError, Transport},
    http::{HttpTransport, http_client},
    log::ServerLog,
    oauth::{Login, SignIn, requests::Requests, sign_in, store::LoginStore},
    stdio::{self, ServerProcess},
    tool::Tool,
};
use pi_rpc_config::mcp::{McpEntry, McpTransport, McpValues};
use pi_rpc_files::secrets::{ChildEnvironment, Secrets};
use pi_rpc_processes::Processes;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::mpsc;

/// The most pages of a list of tools.
const MAX_PAGES: usize = 100;

/// The largest definitions of a server's tools together, in bytes; the rest is left out.
const MAX_DEFINITIONS: usize = 2 * 1024 * 1024;

/// Notes about tools that are left out, of which a server causes at most so many.
const MAX_NOTES: usize = 5;

/// A server that answers.
pub struct ConnectedServer {
    pub(crate) client: Arc<Client>,
    /// Its tools.
    pub(crate) tools: Vec<Tool>,
    /// What it says of itself and its tools.
    pub(crate) instructions: Option<String>,
    /// What was left out.
    pub(crate) notes: Vec<String>,
    lists_tools: bool,
    /// Whether it has resources.
    pub(crate) has_resources: bool,
}

impl ConnectedServer {
    /// The names of its tools, at the server.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    /// What was left out of its list of tools.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether it has resources.
    pub const fn has_resources(&self) -> bool {
        self.has_resources
    }

    /// Ends the session.
    pub async fn end(&self) {
        self.client.end().await;
    }

    /// Lists the tools again.
    pub(crate) async fn relist(&self, name: &str) -> Result<(Vec<Tool>, Vec<String>), RequestError> {
        match self.lists_tools {
            true => list(&self.client, name).await,
            false => Ok((Vec::new(), Vec::new())),
        }
    }
}

/// How a server is reached, with nothing left to resolve.
pub(crate) enum ServerAddress {
    /// A process, on its stdin and stdout.
    Stdio(ServerProcess),
    /// Streamable HTTP.
    Http { url: String, headers: Vec<(String, String)>, login: Option<Box<Login>> },
}

/// What servers are started with.
#[derive(Clone)]
pub struct Surroundings {
    /// The directory of the session, which servers are told of as their root.
    pub directory: PathBuf,
    /// The registry of processes that may be alive.
    pub processes: Processes,
    /// Variables that processes do not get.
    pub environment: ChildEnvironment,
    /// What errors and the log must not show.
    pub secrets: Secrets,
    /// The file for what servers log; `None`: that is left out.
    pub log: Option<PathBuf>,
    /// The agent directory, where logins are; `None`: none is used.
    pub agent: Option<PathBuf>,
}

/// Why a server is not connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The user has to log in.
    NeedsLogin,
    /// For this reason, with the end of stderr of a process.
    Failed(String),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsLogin => f.write_str("it requires a login"),
            Self::Failed(text) => f.write_str(text),
        }
    }
}

impl From<String> for ConnectError {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

/// What became of a login, with the number of tools that the server then has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginOutcome {
    /// None was needed.
    AlreadyIn(usize),
    /// The user has logged in.
    Done(usize),
}

/// Connects a server of `mcp.json` and lists its tools.
///
/// # Errors
///
/// The user has to log in, or the reason, with the end of stderr of a process.
pub async fn connect(
    entry: &McpEntry,
    values: &Arc<McpValues>,
    surroundings: &Surroundings,
) -> Result<ConnectedServer, ConnectError> {
    let login = login_of(entry, values, surroundings).await?;
    connect_with(entry, values, surroundings, login).await
}

async fn connect_with(
    entry: &McpEntry,
    values: &Arc<McpValues>,
    surroundings: &Surroundings,
    login: Option<Login>,
) -> Result<ConnectedServer, ConnectError> {
    let address = address_of(entry, values, surroundings, login).await?;
    connect_to(&entry.name, address, entry.timeout, surroundings).await
}

/// Logs in at a server of `mcp.json`, by OAuth in the browser. `notify` takes the page that the user has to open, `pasted` the address
/// that the browser ended at, where that is on another machine.
///
/// # Errors
///
/// The server has no such login, or what has failed.
pub async fn log_in(
    entry: &McpEntry,
    values: &Arc<McpValues>,
    surroundings: &Surroundings,
    notify: &mut (dyn FnMut(String) + Send),
    pasted: mpsc::Receiver<String>,
    patience: Duration,
) -> Result<LoginOutcome, String> {
    let login = login_of(entry, values, surroundings).await?;
    let login = login.ok_or_else(|| no_login(&entry.name))?;
    // Says whether a login is needed, and what the server wants.
    match connect_with(entry, values, surroundings, Some(login.clone())).await {
        Ok(server) => {
            server.end().await;
            return Ok(LoginOutcome::AlreadyIn(server.tools.len()));
        }
        Err(ConnectError::Failed(error)) => return Err(error),
        Err(ConnectError::NeedsLogin) => {}
    }
    sign_in(SignIn { login: login.clone(), notify, pasted, patience }).await?;
    match connect_with(entry, values, surroundings, Some(login.clone())).await {
        Ok(server) => {
            server.end().await;
            Ok(LoginOutcome::Done(server.tools.len()))
        }
        Err(error) => Err(format!("logged in, but {error}")),
    }
}

/// Forgets the login at a server; says whether there was one.
///
/// # Errors
///
/// The server has no such login, or the file cannot be changed.
pub async fn log_out(entry: &McpEntry, agent: &Path) -> Result<bool, String> {
    let (url, _) = entry.oauth().ok_or_else(|| no_login(&entry.name))?;
    let url = url.parse().map_err(|_| "url must be an http or https URL".to_owned())?;
    LoginStore::new(agent, &entry.name, &url).remove().await.map_err(|error| error.to_string())
}

fn no_login(name: &str) -> String {
    format!("MCP server \"{name}\" does not use OAuth. Only HTTP servers without an Authorization header do.")
}

/// The login at a server; `None`: it has none.
async fn login_of(
    entry: &McpEntry,
    values: &Arc<McpValues>,
    surroundings: &Surroundings,
) -> Result<Option<Login>, String> {
    let Some(((url, settings), agent)) = entry.oauth().zip(surroundings.agent.as_ref()) else {
        return Ok(None);
    };
    let mut settings = settings.clone();
    if let Some(secret) = settings.client_secret.take() {
        let pairs = resolve(values, "oauth", &[("clientSecret".to_owned(), secret)]).await?;
        settings.client_secret = pairs.into_iter().next().map(|(_, secret)| secret);
    }
    let requests = Requests { client: http_client()? };
    Login::new(agent, &entry.name, url, settings, requests, surroundings.secrets.clone()).map(Some)
}

async fn address_of(
    entry: &McpEntry,
    values: &Arc<McpValues>,
    surroundings: &Surroundings,
    login: Option<Login>,
) -> Result<ServerAddress, String> {
    Ok(match &entry.transport {
        McpTransport::Stdio { command, args, env, .. } => ServerAddress::Stdio(ServerProcess {
            command: values.expand_home(command).into(),
            args: args.iter().map(|word| values.expand_home(word)).collect(),
            env: resolve(values, "env", env).await?,
            directory: values.working_directory(entry, &surroundings.directory).unwrap_or_default(),
        }),
        McpTransport::Http { url, headers, .. } => ServerAddress::Http {
            url: url.clone(),
            headers: resolve(values, "headers", headers).await?,
            login: login.map(Box::new),
        },
    })
}

/// Connects a server and lists its tools; `timeout` is that of each request.
///
/// # Errors
///
/// The reason, with the end of stderr of a process.
pub(crate) async fn connect_to(
    name: &str,
    address: ServerAddress,
    timeout: Duration,
    surroundings: &Surroundings,
) -> Result<ConnectedServer, ConnectError> {
    let log = surroundings.log.clone().map(|path| {
        let (server, secrets) = (name.to_owned(), surroundings.secrets.clone());
        ServerLog { path, server, secrets }
    });
    let inbox = Inbox::new(format!("file://{}", surroundings.directory.display()), log);
    let transport = match address {
        ServerAddress::Stdio(process) => {
            if !process.directory.is_dir() {
                return Err(format!("cwd: {} is no directory", process.directory.display()).into());
            }
            Transport::Stdio(stdio::start(&process, surroundings, inbox.clone())?)
        }
        ServerAddress::Http { url, headers, login } => {
            Transport::Http(Box::new(HttpTransport::new(url, &headers, login)?))
        }
    };
    let client = Client::new(transport, inbox.clone(), timeout);
    match open(client, name).await {
        Ok(server) => Ok(server),
        Err(RequestError::NeedsLogin) => Err(ConnectError::NeedsLogin),
        // The process may have ended, and its stderr says why.
        Err(error) => {
            Err(ConnectError::Failed(inbox.closed.borrow().clone().unwrap_or_else(|| error.to_string())))
        }
    }
}

async fn open(client: Client, name: &str) -> Result<ConnectedServer, RequestError> {
    let said = client.initialize().await?;
    let instructions = said.get("instructions").and_then(Value::as_str).map(|text| text.trim().to_owned());
    // A server without that capability answers no request for tools.
    let lists_tools = said.pointer("/capabilities/tools").is_some();
    let (tools, notes) = match lists_tools {
        true => list(&client, name).await?,
        false => (Vec::new(), Vec::new()),
    };
    let instructions = instructions.filter(|text| !text.is_empty());
    let has_resources = said.pointer("/capabilities/resources").is_some();
    Ok(ConnectedServer { client: Arc::new(client), tools, instructions, notes, lists_tools, has_resources })
}

/// Resolves values of variables or headers; the error names the one that cannot be.
async fn resolve(
    values: &Arc<McpValues>,
    field: &str,
    pairs: &[(String, String)],
) -> Result<Vec<(String, String)>, String> {
    let mut resolved = Vec::new();
    for (name, text) in pairs {
        let (values, text) = (values.clone(), text.clone());
        // May run a command that prints the value.
        let value = tokio::task::spawn_blocking(move || values.resolve(&text)).await;
        let value = value.unwrap_or_else(|_| Err("it could not be resolved".to_owned()));
        resolved.push((name.clone(), value.map_err(|error| format!("{field}.{name}: {error}"))?));
    }
    Ok(resolved)
}

/// Lists the tools, and what was left out of them.
async fn list(client: &Client, server: &str) -> Result<(Vec<Tool>, Vec<String>), RequestError> {
    let (mut tools, mut notes, mut size) = (Vec::<Tool>::new(), Vec::new(), 0);
    let mut left_out = 0_usize;
    let mut names = BTreeSet::new();
    let mut cursor: Option<String> = None;
    for page in 0.. {
        if page == MAX_PAGES {
            notes.push(format!("its list of tools has more than {MAX_PAGES} pages; the rest is left out"));
            break;
        }
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let mut answer = client.request("tools/list", params).await?;
        let Some(Value::Array(listed)) = answer.get_mut("tools").map(Value::take) else {
            return Err(RequestError::Failed("tools/list: tools: expected a list".to_owned()));
        };
        for value in listed {
            if tools.len() == MAX_TOOLS {
                left_out += 1;
                continue;
            }
            match Tool::read(server, &value) {
                Ok(tool) if names.contains(&tool.name) => {}
                Ok(tool) => {
                    size += value.to_string().len();
                    if size > MAX_DEFINITIONS {
                        left_out += 1;
                        continue;
                    }
                    names.insert(tool.name.clone());
                    tools.push(tool);
                }
                Err(note) => notes.push(note),
            }
        }
        let next = answer.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        if next.is_none() || next == cursor || tools.len() == MAX_TOOLS {
            break;
        }
        cursor = next;
    }
    notes.truncate(MAX_NOTES);
    if left_out > 0 || tools.len() == MAX_TOOLS && cursor.is_some() {
        let kept = tools.len();
        notes.push(format!(
            "only {kept} of its tools are offered; expected at most {MAX_TOOLS}, with {MAX_DEFINITIONS} bytes of definitions"
        ));
    }
    Ok((tools, notes))
}
