//! From the servers of `mcp.json` to tools of a session.
//!
//! The bridge speaks as an extension does. It registers at once, so that no start waits for a server; the first run waits for servers
//! with tools that are declared from the start, `tool_search` for all of them.

mod tool_search;

use super::{
    client::closed_reason,
    content::{progress, tool_result},
    naming::tool_names,
    server::{ConnectedServer, connect},
    status::{exposure_name, needs_search},
    tool::Tool,
};
use pi_rpc_config::mcp::{McpEntry, McpExposure, McpValues};
use pi_rpc_extension::{BuiltIn, BuiltInOutput, BuiltInSession};
use pi_rpc_protocol::{
    AgentToolResult, ExtensionCommand, ExtensionCommandCall, ExtensionDone, ExtensionFailed, ExtensionQuery,
    ExtensionRegister, ExtensionSetActiveTools, ExtensionTool, ExtensionToolCall, ExtensionToolResult,
    ExtensionToolUpdate, ExtensionUICall, HookName, NotifyRequest, NotifyType, QueryKind,
    RpcExtensionUIRequest, ToExtension,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::mpsc,
    task::AbortHandle,
    time::{Instant, sleep_until, timeout},
};

/// The name of the tool that finds others, and of the command that shows the servers.
const SEARCH: &str = "tool_search";
const COMMAND: &str = "mcp";

/// How long the first run waits for servers with declared tools, and a search for all.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the servers get to end with the session.
const END_TIMEOUT: Duration = Duration::from_millis(150);

/// How many lists of tools in a row are read while a server keeps changing them, a second between them.
const RELIST_PAUSE: Duration = Duration::from_secs(1);

use tool_search::search_tool;

/// Connects the servers of a session.
pub struct McpBridge {
    /// The servers, disabled ones included.
    servers: Vec<McpEntry>,
    /// What is wrong with their configuration.
    errors: Vec<String>,
    values: Arc<McpValues>,
}

impl McpBridge {
    /// These servers; `errors`: what is wrong with the files, for the user.
    pub fn new(servers: Vec<McpEntry>, errors: Vec<String>, values: McpValues) -> Arc<Self> {
        Arc::new(Self { servers, errors, values: Arc::new(values) })
    }
}

impl BuiltIn for McpBridge {
    fn run(self: Arc<Self>, session: BuiltInSession) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let (events, inbox) = mpsc::channel(16);
        let BuiltInSession { frames, output, directory, processes, secrets } = session;
        let servers = self.servers.iter().map(|entry| Server::new(entry.clone())).collect();
        let errors = self.errors.clone();
        let starts = Starts { values: self.values.clone(), directory, processes, secrets };
        let bridge = Running {
            servers,
            errors,
            output,
            events,
            starts,
            calls: HashMap::new(),
            waiting: Vec::new(),
            searches: BTreeMap::new(),
            queries: 0,
            notices: 0,
            limit: None,
            has_waited: false,
            has_reported: false,
        };
        Box::pin(bridge.serve(frames, inbox))
    }
}

/// What servers are started with.
#[derive(Clone)]
struct Starts {
    values: Arc<McpValues>,
    directory: PathBuf,
    processes: pi_rpc_processes::Processes,
    secrets: pi_rpc_files::secrets::Secrets,
}

struct Server {
    entry: McpEntry,
    state: State,
    /// Its tools, each with the name for the model.
    tools: Vec<(String, Tool)>,
    notes: Vec<String>,
}

enum State {
    Disabled,
    Connecting,
    Connected(Arc<ConnectedServer>),
    Failed(String),
}

/// What a server's task reports.
enum Event {
    Connected(usize, Result<ConnectedServer, String>),
    Listed(usize, Vec<Tool>, Vec<String>),
    Closed(usize, String),
    /// A call has ended; this is its id.
    Ended(String),
}

/// A search that waits for servers, or for the list of tools.
struct Search {
    query: String,
    limit: usize,
}

/// The bridge of one session.
struct Running {
    servers: Vec<Server>,
    errors: Vec<String>,
    output: BuiltInOutput,
    events: mpsc::Sender<Event>,
    starts: Starts,
    calls: HashMap<String, AbortHandle>,
    /// Hooks and searches that wait for servers, by the ids of their requests.
    waiting: Vec<Waiting>,
    /// Searches that wait for the list of tools, by the ids of their queries; with the id of the call.
    searches: BTreeMap<String, (String, Search)>,
    queries: u64,
    notices: u64,
    /// Until when they wait.
    limit: Option<Instant>,
    has_waited: bool,
    has_reported: bool,
}

enum Waiting {
    Run(String),
    Search(String, Search),
}

impl Server {
    fn new(entry: McpEntry) -> Self {
        let state = if entry.is_enabled { State::Connecting } else { State::Disabled };
        Self { entry, state, tools: Vec::new(), notes: Vec::new() }
    }

    const fn is_settled(&self) -> bool {
        !matches!(self.state, State::Connecting)
    }

    /// The state, in words.
    fn line(&self) -> String {
        let (name, exposure) = (&self.entry.name, exposure_name(self.entry.exposure));
        match &self.state {
            State::Disabled => format!("{name}: disabled ({exposure})"),
            State::Connecting => format!("{name}: connecting ({exposure})"),
            State::Connected(_) => format!("{name}: connected, {} tools ({exposure})", self.tools.len()),
            State::Failed(error) => {
                format!("{name}: failed ({exposure})\n    {}", error.replace('\n', "\n    "))
            }
        }
    }
}

impl Running {
    async fn serve(
        mut self,
        mut frames: mpsc::UnboundedReceiver<ToExtension>,
        mut events: mpsc::Receiver<Event>,
    ) -> String {
        loop {
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
                self.report_problems().await;
            }
            ToExtension::Hook(hook) => {
                if self.has_waited || self.direct_servers_are_settled() {
                    self.has_waited = true;
                    return self.output.send(ExtensionDone { id: hook.id, result: None }).await;
                }
                self.waiting.push(Waiting::Run(hook.id));
                self.limit.get_or_insert_with(|| Instant::now() + START_TIMEOUT);
            }
            ToExtension::ToolCall(call) if call.tool_name == SEARCH => self.begin_search(call).await,
            ToExtension::ToolCall(call) => self.call(call).await,
            ToExtension::Cancel(cancel) => {
                if let Some(call) = self.calls.remove(&cancel.id) {
                    call.abort();
                }
                self.waiting.retain(
                    |it| !matches!(it, Waiting::Run(id) | Waiting::Search(id, _) if *id == cancel.id),
                );
                self.searches.retain(|_, (id, _)| *id != cancel.id);
                self.fail(cancel.id, "The call was cancelled.".to_owned()).await;
            }
            ToExtension::Answer(answer) => {
                if let Some((id, search)) = self.searches.remove(&answer.id) {
                    self.search(id, search, answer.data.unwrap_or_default()).await;
                }
            }
            ToExtension::Command(command) => self.show(command).await,
            ToExtension::Event(_)
            | ToExtension::UiAnswer(_)
            | ToExtension::Response(_)
            | ToExtension::ModelCall(_) => {}
        }
    }

    /// Registers what is known so far.
    async fn register(&mut self) {
        let mut tools = Vec::new();
        if self.servers.iter().any(|server| server.entry.is_enabled && needs_search(&server.entry)) {
            tools.push(search_tool());
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
                });
            }
        }
        let is_direct =
            |server: &Server| server.entry.is_enabled && server.entry.has_exposure(McpExposure::Direct);
        let waits = self.servers.iter().any(is_direct);
        let command = ExtensionCommand {
            name: COMMAND.to_owned(),
            description: Some("Show the MCP servers".to_owned()),
            path: None,
        };
        let register = ExtensionRegister {
            commands: Some(vec![command]),
            tools: Some(tools),
            hooks: waits.then(|| vec![HookName::BeforeAgentStart]),
            ..ExtensionRegister::default()
        };
        self.output.send(register).await;
    }

    /// Connects a server, beside everything else, and follows it.
    fn start(&self, at: usize) {
        let entry = self.servers[at].entry.clone();
        let Starts { values, directory, processes, secrets } = self.starts.clone();
        let events = self.events.downgrade();
        tokio::spawn(async move {
            let connecting = connect(&entry, &values, &directory, &processes, &secrets);
            // Each request has a limit of its own; so has the whole, with many pages of tools.
            let limit = entry.timeout.saturating_mul(3);
            let connected = timeout(limit, connecting).await;
            let late = || Err(format!("it is not ready within {} seconds", limit.as_secs_f64()));
            let connected = connected.unwrap_or_else(|_| late());
            if let Some(events) = events.upgrade() {
                // Fails only when the session is over.
                let _ = events.send(Event::Connected(at, connected)).await;
            }
        });
    }

    /// Reports changes of a server's tools, and its end.
    fn follow(&self, at: usize, server: &Arc<ConnectedServer>) {
        let name = self.servers[at].entry.name.clone();
        let (events, inbox, server) =
            (self.events.downgrade(), server.client.inbox().clone(), Arc::downgrade(server));
        tokio::spawn(async move {
            let mut closed = inbox.closed.subscribe();
            loop {
                let reason = tokio::select! {
                    reason = closed_reason(&mut closed) => Some(reason),
                    () = inbox.list_changed.notified() => None,
                };
                if let Some(reason) = reason {
                    if let Some(events) = events.upgrade() {
                        let _ = events.send(Event::Closed(at, reason)).await;
                    }
                    return;
                }
                let Some(server) = server.upgrade() else { return };
                let listed = server.relist(&name).await;
                drop(server);
                if let (Ok((tools, notes)), Some(events)) = (listed, events.upgrade()) {
                    let _ = events.send(Event::Listed(at, tools, notes)).await;
                }
                let _ = timeout(RELIST_PAUSE, closed_reason(&mut closed)).await;
            }
        });
    }

    async fn learn(&mut self, event: Event) {
        match event {
            Event::Connected(at, Ok(server)) => {
                let server = Arc::new(server);
                self.follow(at, &server);
                self.servers[at].state = State::Connected(server.clone());
                self.offer(at, server.tools.clone(), server.notes.clone()).await;
            }
            Event::Connected(at, Err(error)) => self.servers[at].state = State::Failed(error),
            Event::Listed(at, tools, notes) => {
                let is_same = self.servers[at].tools.iter().map(|(_, tool)| tool).eq(&tools);
                if !is_same {
                    self.offer(at, tools, notes).await;
                }
                return;
            }
            Event::Closed(at, reason) => {
                // Its tools stay declared; calls of them say why they fail.
                self.servers[at].state = State::Failed(reason);
                return;
            }
            Event::Ended(id) => {
                self.calls.remove(&id);
                return;
            }
        }
        self.report_problems().await;
        let is_ready = |waiting: &Waiting, it: &Self| match waiting {
            Waiting::Run(_) => it.direct_servers_are_settled(),
            Waiting::Search(..) => it.servers.iter().all(Server::is_settled),
        };
        let (ready, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|it| is_ready(it, self));
        self.waiting = waiting;
        self.go_on(ready).await;
    }

    /// Names the tools of a server and registers all.
    async fn offer(&mut self, at: usize, tools: Vec<Tool>, notes: Vec<String>) {
        let others = self.servers.iter().enumerate().filter(|(other, _)| *other != at);
        let taken: BTreeSet<String> =
            others.flat_map(|(_, it)| it.tools.iter().map(|(name, _)| name.clone())).collect();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let names = tool_names(&self.servers[at].entry.name, &names, &taken);
        for note in &notes {
            tracing::warn!("MCP server {}: {note}", self.servers[at].entry.name);
        }
        self.servers[at].tools = names.into_iter().zip(tools).collect();
        self.servers[at].notes = notes;
        self.register().await;
    }

    /// Whether the first run need not wait.
    fn direct_servers_are_settled(&self) -> bool {
        self.servers
            .iter()
            .all(|server| server.is_settled() || !server.entry.has_exposure(McpExposure::Direct))
    }

    async fn stop_waiting(&mut self) {
        if self.waiting.iter().any(|it| matches!(it, Waiting::Run(_))) {
            let text = "MCP servers are still connecting; their tools become available once connected.";
            self.notify(text.to_owned(), NotifyType::Info).await;
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.go_on(waiting).await;
    }

    async fn go_on(&mut self, ready: Vec<Waiting>) {
        for waiting in ready {
            match waiting {
                Waiting::Run(id) => {
                    self.has_waited = true;
                    self.output.send(ExtensionDone { id, result: None }).await;
                }
                Waiting::Search(id, search) => self.query_tools(id, search).await,
            }
        }
        if self.waiting.is_empty() {
            self.limit = None;
        }
    }

    /// Reports what needs the user, once every server is connected or has failed.
    async fn report_problems(&mut self) {
        if self.has_reported || !self.servers.iter().all(Server::is_settled) {
            return;
        }
        self.has_reported = true;
        let mut lines: Vec<String> = self.errors.iter().map(|error| format!("  config: {error}")).collect();
        for server in &self.servers {
            if let State::Failed(error) = &server.state {
                let first = error.lines().next().unwrap_or_default();
                tracing::warn!("MCP server {}: {}", server.entry.name, error.replace('\n', "; "));
                lines.push(format!("  {}: failed: {first}", server.entry.name));
            }
            lines.extend(server.notes.iter().map(|note| format!("  {}: {note}", server.entry.name)));
        }
        if !lines.is_empty() {
            let text = format!("MCP servers need attention:\n{}\nRun /mcp to fix.", lines.join("\n"));
            self.notify(text, NotifyType::Warning).await;
        }
    }

    async fn notify(&mut self, message: String, kind: NotifyType) {
        self.notices += 1;
        let id = format!("mcp-{}", self.notices);
        let request = NotifyRequest { id, message, notify_type: Some(kind) };
        self.output
            .send(ExtensionUICall { origin: None, request: RpcExtensionUIRequest::Notify(request) })
            .await;
    }

    /// Serves `/mcp`.
    async fn show(&mut self, command: ExtensionCommandCall) {
        let (text, kind) = match command.arguments.trim() {
            "" => {
                let servers = self.servers.iter().map(Server::line);
                let errors = self.errors.iter().map(|error| format!("config error: {error}"));
                let lines: Vec<String> = servers.chain(errors).collect();
                (
                    if lines.is_empty() { "No MCP servers.".to_owned() } else { lines.join("\n") },
                    NotifyType::Info,
                )
            }
            _ => (
                "Usage: /mcp (logins and reconnections are not supported here)".to_owned(),
                NotifyType::Warning,
            ),
        };
        self.notify(text, kind).await;
        self.output.send(ExtensionDone { id: command.id, result: None }).await;
    }

    async fn fail(&self, id: String, error: String) {
        self.output.send(ExtensionFailed { id, error }).await;
    }

    /// Calls a tool of a server, beside everything else.
    async fn call(&mut self, call: ExtensionToolCall) {
        let mut found = None;
        for server in &self.servers {
            if let Some((_, tool)) = server.tools.iter().find(|(name, _)| *name == call.tool_name) {
                found = Some((server, tool.name.clone()));
            }
        }
        let Some((server, tool)) = found else {
            return self.fail(call.id, format!("Tool {} not found", call.tool_name)).await;
        };
        let name = server.entry.name.clone();
        let State::Connected(connected) = &server.state else {
            let reason = match &server.state {
                State::Failed(reason) => format!("MCP server \"{name}\" is not connected: {reason}"),
                _ => format!("MCP server \"{name}\" is still starting."),
            };
            return self.fail(call.id, reason).await;
        };
        let (client, output, events) =
            (connected.client.clone(), self.output.clone(), self.events.downgrade());
        let id = call.id.clone();
        let task = tokio::spawn(async move {
            let params = json!({ "name": tool, "arguments": call.arguments });
            let (sender, mut news) = mpsc::channel(1);
            let request = client.request_with_progress("tools/call", params, Some(sender));
            tokio::pin!(request);
            let outcome = loop {
                tokio::select! {
                    biased;
                    outcome = &mut request => break outcome,
                    Some(params) = news.recv() => {
                        let partial_result = progress(&name, &tool, &params);
                        output.send(ExtensionToolUpdate { id: call.id.clone(), partial_result }).await;
                    }
                }
            };
            match outcome {
                Ok(result) => {
                    let (result, is_error) = tool_result(&name, &tool, result);
                    let is_error = is_error.then_some(true);
                    output.send(ExtensionToolResult { id: call.id.clone(), result, is_error }).await;
                }
                Err(error) => output.send(ExtensionFailed { id: call.id.clone(), error }).await,
            }
            if let Some(events) = events.upgrade() {
                let _ = events.send(Event::Ended(call.id)).await;
            }
        });
        self.calls.insert(id, task.abort_handle());
    }
}
