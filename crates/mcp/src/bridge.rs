//! From the servers of `mcp.json` to tools of a session.
//!
//! The bridge speaks as an extension does. It registers at once, so that no start waits for a server; the first run waits for servers
//! with tools that are declared from the start, `tool_search` and the tools for resources for all of them, a script for those that it may
//! call. A server whose connection
//! is closed is connected again by the next call of its tools.

mod calls;
mod connections;
mod logins;
mod model_calls;
mod notices;
mod registered;
mod resources;
mod scripts;
mod tool_search;

use super::{
    script_models::ScriptModels,
    server::{ConnectError, ConnectedServer, LoginOutcome, Surroundings},
    status::{exposure_name, needs_search},
    tool::Tool,
};
use pi_rpc_codemode::SandboxProgram;
use pi_rpc_config::mcp::{McpEntry, McpExposure, McpValues};
use pi_rpc_extension::{BuiltIn, BuiltInOutput, BuiltInSession};
use pi_rpc_protocol::{
    AgentToolResult, ExtensionCommand, ExtensionDone, ExtensionFailed, ExtensionQuery, ExtensionRegister,
    ExtensionSetActiveTools, ExtensionTool, ExtensionToolCall, ExtensionToolResult, HookName, NotifyType,
    QueryKind, ToExtension, ToolExposure,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{
    sync::mpsc,
    task::AbortHandle,
    time::{Instant, sleep_until, timeout},
};

/// The name of the tool that finds others.
pub const SEARCH_TOOL: &str = "tool_search";

/// The name of the tool that runs scripts.
pub const SCRIPT_TOOL: &str = "codemode";

/// The name of the command that shows the servers.
const COMMAND: &str = "mcp";

/// The file for what servers log, in the agent directory.
pub const LOG: &str = "mcp.log";

/// The tools of the bridge itself.
pub const BRIDGE_TOOLS: [&str; 5] =
    [SEARCH_TOOL, SCRIPT_TOOL, resources::TOOLS[0], resources::TOOLS[1], resources::TOOLS[2]];

/// How long the first run waits for servers with declared tools, and a search for all.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the servers get to end with the session.
const END_TIMEOUT: Duration = Duration::from_millis(150);

/// How often to look whether another process has logged in, while a server waits for that.
const LOGIN_CHECK: Duration = Duration::from_secs(1);

/// How many lists of tools in a row are read while a server keeps changing them, a second between them.
const RELIST_PAUSE: Duration = Duration::from_secs(1);

use registered::Registrations;
use scripts::{Scripts, codemode_tool};
use tool_search::search_tool;

/// Connects the servers of a session.
pub struct McpBridge {
    /// The servers, disabled ones included.
    servers: Vec<McpEntry>,
    /// What is wrong with their configuration.
    errors: Vec<String>,
    values: Arc<McpValues>,
    /// The agent directory, with the log of servers and the logins.
    agent: PathBuf,
    /// What runs scripts; `None`: there are none, and their servers are deferred.
    program: Option<SandboxProgram>,
    /// The models that scripts run; `None`: none.
    pub models: Option<Arc<ScriptModels>>,
    /// Whether there are tools for resources.
    pub offers_resources: bool,
    /// Whether scripts are offered from the start where a server has tools for them.
    pub offers_scripts: bool,
    /// Notices for the user at the start of the session.
    pub notices: Vec<String>,
    /// Whether a file may be read as a resource; `None`: any.
    pub admits_file: Option<FileCheck>,
    /// Whether options or settings select one of [`BRIDGE_TOOLS`], which are then registered without any server.
    pub is_selected: bool,
    /// Whether extensions may register servers: then each run begins behind what they have registered.
    pub awaits_extensions: bool,
}

/// Decides about the path of a file.
pub type FileCheck = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

impl McpBridge {
    /// These servers; `errors`: what is wrong with the files, for the user; `agent`: the directory of the log and of logins; `program`:
    /// what runs scripts, where they are possible. All else is as usual.
    pub fn new(
        servers: Vec<McpEntry>,
        errors: Vec<String>,
        values: McpValues,
        agent: PathBuf,
        program: Option<SandboxProgram>,
    ) -> Self {
        Self {
            servers,
            errors,
            values: Arc::new(values),
            agent,
            program,
            models: None,
            offers_resources: true,
            offers_scripts: true,
            notices: Vec::new(),
            admits_file: None,
            is_selected: false,
            awaits_extensions: false,
        }
    }
}

impl BuiltIn for McpBridge {
    fn calls_models(&self) -> bool {
        self.program.is_some() && self.models.is_some()
    }

    fn run(self: Arc<Self>, session: BuiltInSession) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let (events, inbox) = mpsc::channel(16);
        let BuiltInSession { frames, output, directory, processes, secrets } = session;
        let servers = self.servers.iter().map(|entry| Server::new(entry.clone(), Source::File)).collect();
        let errors = self.errors.clone();
        let environment = secrets.child_environment();
        let (log, agent) = (Some(self.agent.join(LOG)), Some(self.agent.clone()));
        let surroundings = Surroundings { directory, processes, environment, secrets, log, agent };
        let bridge = SessionBridge {
            servers,
            errors,
            output,
            events,
            values: self.values.clone(),
            surroundings,
            offers_resources: self.offers_resources,
            offers_scripts: self.offers_scripts,
            first_notices: self.notices.clone(),
            admits_file: self.admits_file.clone(),
            is_selected: self.is_selected,
            awaits_extensions: self.awaits_extensions,
            program: self.program.clone(),
            models: self.models.clone(),
            scripts: Scripts::default(),
            calls: HashMap::new(),
            pending: Vec::new(),
            searches: BTreeMap::new(),
            registrations: Registrations::default(),
            queries: 0,
            notices: 0,
            logins_changed: None,
            limit: None,
            has_waited: false,
            has_reported: false,
            reported: BTreeSet::new(),
        };
        Box::pin(bridge.serve(frames, inbox))
    }
}

struct Server {
    entry: McpEntry,
    source: Source,
    state: State,
    /// Counts its connections: what an earlier one reports is of no use.
    attempt: u64,
    /// Its tools, each with the name for the model.
    tools: Vec<(String, Tool)>,
    notes: Vec<String>,
}

/// Where a server is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// `mcp.json`.
    File,
    /// An extension.
    Extension,
    /// An extension that has unregistered it since. It keeps its index, is not connected and not listed.
    Withdrawn,
}

enum State {
    Disabled,
    Connecting,
    Connected(Arc<ConnectedServer>),
    /// It has ended; the next call connects it again.
    Disconnected(String),
    /// The user has to log in.
    NeedsLogin,
    Failed(String),
}

/// What a server's task reports.
enum Event {
    /// The server at this place, in this attempt, is connected or has failed.
    Connected(usize, u64, Result<ConnectedServer, ConnectError>),
    /// It has other tools.
    Listed(usize, u64, Vec<Tool>, Vec<String>),
    /// Its connection is closed, for this reason.
    Closed(usize, u64, String),
    /// The server refuses the login; the id is that of the call that has failed by it.
    Refused(usize, u64, String),
    /// A login of `/mcp`, by the id of the command, has ended.
    LoggedIn(usize, String, Result<LoginOutcome, String>),
    /// A call has ended; this is its id.
    Ended(String),
    /// A call was not performed, as the server had ended the session before.
    Again(usize, u64, ExtensionToolCall),
}

/// A search that waits for servers, or for the list of tools.
struct Search {
    query: String,
    limit: usize,
}

/// The bridge of one session.
struct SessionBridge {
    servers: Vec<Server>,
    errors: Vec<String>,
    output: BuiltInOutput,
    events: mpsc::Sender<Event>,
    values: Arc<McpValues>,
    surroundings: Surroundings,
    offers_resources: bool,
    offers_scripts: bool,
    first_notices: Vec<String>,
    admits_file: Option<FileCheck>,
    is_selected: bool,
    awaits_extensions: bool,
    program: Option<SandboxProgram>,
    models: Option<Arc<ScriptModels>>,
    scripts: Scripts,
    calls: HashMap<String, AbortHandle>,
    /// Requests that wait for servers.
    pending: Vec<PendingRequest>,
    /// Searches that wait for the list of tools, by the ids of their queries; with the id of the call.
    searches: BTreeMap<String, (String, Search)>,
    registrations: Registrations,
    queries: u64,
    notices: u64,
    /// When the file of logins was changed last, while a server waits for a login.
    logins_changed: Option<SystemTime>,
    /// Until when they wait.
    limit: Option<Instant>,
    has_waited: bool,
    has_reported: bool,
    /// What the user knows of.
    reported: BTreeSet<String>,
}

/// A request that waits for servers.
enum PendingRequest {
    /// The first run, for servers with declared tools.
    Run(String),
    /// A search, for all.
    Search(String, Search),
    /// A tool for resources, for all.
    Resources(ExtensionToolCall),
    /// A script, for all that it may call.
    Script(ExtensionToolCall),
    /// A call, for its server; whether it was tried before.
    Call(usize, ExtensionToolCall, bool),
    /// `/mcp reconnect`, for its server.
    Reconnect(usize, String),
}

impl PendingRequest {
    fn id(&self) -> &str {
        match self {
            Self::Run(id) | Self::Search(id, _) | Self::Reconnect(_, id) => id,
            Self::Resources(call) | Self::Script(call) | Self::Call(_, call, _) => &call.id,
        }
    }

    /// Whether it goes on without the servers after a while; others wait as long as connecting may take.
    const fn is_limited(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Search(..) | Self::Resources(_) | Self::Script(_))
    }
}

impl Server {
    const fn new(entry: McpEntry, source: Source) -> Self {
        let state = if entry.is_enabled { State::Connecting } else { State::Disabled };
        Self { entry, source, state, attempt: 0, tools: Vec::new(), notes: Vec::new() }
    }

    const fn is_settled(&self) -> bool {
        !matches!(self.state, State::Connecting)
    }

    /// The connection, while it is one, if the model may read the server's resources.
    fn with_resources(&self) -> Option<&Arc<ConnectedServer>> {
        match &self.state {
            State::Connected(server)
                if server.has_resources && self.entry.exposure != McpExposure::Hidden =>
            {
                Some(server)
            }
            _ => None,
        }
    }
}

impl SessionBridge {
    async fn serve(
        mut self,
        mut frames: mpsc::UnboundedReceiver<ToExtension>,
        mut events: mpsc::Receiver<Event>,
    ) -> String {
        let mut looks = tokio::time::interval(LOGIN_CHECK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let waits_for_login = self.servers.iter().any(|it| matches!(it.state, State::NeedsLogin));
            let limit = self.limit;
            let late = async {
                match limit {
                    Some(limit) => sleep_until(limit).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                frame = frames.recv() => match frame {
                    Some(frame) => self.handle(frame).await,
                    None => break,
                },
                Some(event) = events.recv() => self.learn(event).await,
                () = late => self.stop_waiting().await,
                _ = looks.tick(), if waits_for_login => self.try_new_logins(),
            }
        }
        self.calls.into_values().for_each(|call| call.abort());
        let ends = self.servers.into_iter().filter_map(|server| match server.state {
            State::Connected(server) => Some(server),
            _ => None,
        });
        // Processes end as their connections are dropped; the session ends what is left.
        let ends: Vec<_> = ends.collect();
        let _ = timeout(END_TIMEOUT, async {
            for server in &ends {
                server.client.end().await;
            }
        })
        .await;
        "the session is over".to_owned()
    }

    async fn handle(&mut self, frame: ToExtension) {
        match frame {
            ToExtension::Hello(_) => {
                self.register().await;
                for at in 0..self.servers.len() {
                    if self.servers[at].entry.is_enabled {
                        self.start(at);
                    }
                }
                for notice in std::mem::take(&mut self.first_notices) {
                    self.notify(notice, NotifyType::Warning).await;
                }
                self.report_problems().await;
            }
            ToExtension::Hook(hook) => {
                if self.has_waited || self.direct_servers_are_settled() {
                    self.has_waited = true;
                    return self.output.send(ExtensionDone { id: hook.id, result: None }).await;
                }
                self.wait(PendingRequest::Run(hook.id)).await;
            }
            ToExtension::ToolCall(call) if call.tool_name == SEARCH_TOOL => self.begin_search(call).await,
            ToExtension::ToolCall(call) if resources::TOOLS.contains(&&*call.tool_name) => {
                self.wait(PendingRequest::Resources(call)).await;
            }
            ToExtension::ToolCall(call) if call.tool_name == SCRIPT_TOOL => self.begin_script(call).await,
            ToExtension::ToolCall(call) => self.call(call, false).await,
            ToExtension::Cancel(cancel) => {
                if let Some(call) = self.calls.remove(&cancel.id) {
                    call.abort();
                }
                self.scripts.forget(&cancel.id);
                self.pending.retain(|it| it.id() != cancel.id);
                self.searches.retain(|_, (id, _)| *id != cancel.id);
                self.fail(cancel.id, "The call was cancelled.".to_owned()).await;
            }
            ToExtension::Answer(answer) => {
                let Some(data) = self.scripts.pass_answer(&answer.id, answer.data.unwrap_or_default()) else {
                    return;
                };
                if self.take_tool_list(&answer.id, &data).await {
                    return;
                }
                if let Some((id, search)) = self.searches.remove(&answer.id) {
                    self.search(id, search, data).await;
                }
            }
            ToExtension::Command(command) => self.command(command).await,
            ToExtension::Response(response) => self.scripts.pass_response(response),
            ToExtension::McpServers(registered) => self.take_registered(registered).await,
            ToExtension::Event(_) | ToExtension::UiAnswer(_) | ToExtension::ModelCall(_) => {}
        }
    }

    /// Registers what is known so far.
    async fn register(&mut self) {
        let mut tools = Vec::new();
        let has_scripts = self.program.is_some();
        let enabled = || self.servers.iter().map(|server| &server.entry).filter(|entry| entry.is_enabled);
        if has_scripts {
            let is_used = enabled().any(|entry| entry.has_exposure(McpExposure::Codemode));
            tools.push(codemode_tool(is_used && self.offers_scripts, self.models.is_some()));
        }
        tools.push(search_tool(enabled().any(|entry| needs_search(entry, has_scripts))));
        if let Some(exposure) = self.resource_exposure() {
            tools.extend(resources::definitions(exposure != McpExposure::Direct));
        }
        for server in &self.servers {
            for (name, tool) in &server.tools {
                let is_declared = match server.entry.exposure_of(&tool.name) {
                    McpExposure::Hidden => continue,
                    McpExposure::Direct => true,
                    McpExposure::Deferred | McpExposure::Codemode => false,
                };
                tools.push(ExtensionTool {
                    name: name.clone(),
                    label: Some(format!("{}/{}", server.entry.name, tool.name)),
                    description: tool.description.clone(),
                    parameters: tool.parameters.clone(),
                    path: None,
                    prompt_snippet: None,
                    prompt_guidelines: None,
                    sequential: None,
                    inactive: (!is_declared).then_some(true),
                    exposure: (!is_declared).then_some(ToolExposure::Deferred),
                    output_schema: Some(tool.result_schema()),
                    runs_scripts: None,
                });
            }
        }
        let is_direct =
            |server: &Server| server.entry.is_enabled && server.entry.has_exposure(McpExposure::Direct);
        let waits = self.awaits_extensions || self.servers.iter().any(is_direct);
        let command = || ExtensionCommand {
            name: COMMAND.to_owned(),
            description: Some("Show the MCP servers".to_owned()),
            path: None,
        };
        // Without any server it is there for those that an extension may still register.
        let has_errors = !self.errors.is_empty() || !self.registrations.errors.is_empty();
        let has_command = !self.servers.is_empty() || has_errors || self.is_selected;
        if !has_command {
            tools.clear();
        }
        let register = ExtensionRegister {
            commands: has_command.then(|| vec![command()]),
            mcp_section: self.section(),
            tools: Some(tools),
            hooks: waits.then(|| vec![HookName::BeforeAgentStart]),
            ..ExtensionRegister::default()
        };
        self.output.send(register).await;
    }

    /// Waits for servers with this; goes on at once where they are there.
    async fn wait(&mut self, request: PendingRequest) {
        if self.is_ready(&request) {
            return self.go_on(vec![request]).await;
        }
        if request.is_limited() {
            self.limit.get_or_insert_with(|| Instant::now() + START_TIMEOUT);
        }
        self.pending.push(request);
    }

    fn is_ready(&self, request: &PendingRequest) -> bool {
        match request {
            PendingRequest::Run(_) => self.direct_servers_are_settled(),
            PendingRequest::Search(..) | PendingRequest::Resources(_) => {
                self.servers.iter().all(Server::is_settled)
            }
            PendingRequest::Script(call) => self.reached_servers_are_settled(call),
            PendingRequest::Call(at, ..) | PendingRequest::Reconnect(at, _) => self.servers[*at].is_settled(),
        }
    }

    /// Goes on with what need not wait any more.
    async fn go_on_where_ready(&mut self) {
        let (ready, pending) =
            std::mem::take(&mut self.pending).into_iter().partition(|it| self.is_ready(it));
        self.pending = pending;
        self.go_on(ready).await;
    }

    /// Whether the first run need not wait.
    fn direct_servers_are_settled(&self) -> bool {
        self.servers
            .iter()
            .all(|server| server.is_settled() || !server.entry.has_exposure(McpExposure::Direct))
    }

    async fn stop_waiting(&mut self) {
        if self.pending.iter().any(|it| matches!(it, PendingRequest::Run(_))) {
            let text = "MCP servers are still connecting; their tools become available once connected.";
            self.notify(text.to_owned(), NotifyType::Info).await;
        }
        let (late, pending) =
            std::mem::take(&mut self.pending).into_iter().partition(PendingRequest::is_limited);
        self.pending = pending;
        self.limit = None;
        self.go_on(late).await;
    }

    async fn go_on(&mut self, ready: Vec<PendingRequest>) {
        for request in ready {
            match request {
                PendingRequest::Run(id) => {
                    self.has_waited = true;
                    self.output.send(ExtensionDone { id, result: None }).await;
                }
                PendingRequest::Search(id, search) => self.query_tools(id, search).await,
                PendingRequest::Resources(call) => self.begin_resources(call),
                PendingRequest::Call(at, call, is_again) => self.call_settled(at, call, is_again).await,
                PendingRequest::Reconnect(at, id) => self.report_reconnection(at, id).await,
                PendingRequest::Script(call) => self.run_script(call),
            }
        }
        if !self.pending.iter().any(PendingRequest::is_limited) {
            self.limit = None;
        }
    }
}
