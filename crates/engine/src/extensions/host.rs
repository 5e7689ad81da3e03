//! The extension component (no host of the protocol): its state, and its outputs to the engine.
//!
//! Each call into [`ExtensionHost`] gets a [`Context`] and leaves [`ExtensionOutput`]s, which the engine takes right
//! after it and carries out in order. The component knows processes, requests and outcomes; runs, queues and the
//! session are the engine's.

use crate::{
    extensions::{
        dialog::Dialog,
        hook::{Hook, OutstandingHook},
        model_stream::ModelStream,
        process::Extension,
        request::Request,
    },
    ids::Ids,
    io::{CallId, Now, Output},
    prompt::Recipient,
    setup::{HostedExtensions, NamedCommands},
};
use pi_rpc_machine::Lifecycle;
use pi_rpc_model::types::StreamEvent;
use pi_rpc_protocol::{
    AgentToolResult, Dialect, ExtensionError, ExtensionMcpServer, ExtensionQuery, FromExtension, Outbound,
    RpcExtensionUIResponse, ToExtension,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

/// The extensions, in the order in which hooks are sent to them, and all outstanding requests, hooks, dialogs and
/// actions.
#[derive(Debug)]
pub struct ExtensionHost {
    pub(super) all: Vec<Extension>,
    pub(super) agent_directory: String,
    pub(super) max_frame: u64,
    /// Titles are emitted in dialects that emit them on demand.
    pub emits_title: bool,
    /// Nothing that extensions ask or tell the user is shown.
    pub hides_ui: bool,
    /// Extensions are told that the project is not trusted.
    pub is_project_untrusted: bool,
    /// The place of the extension that connects servers of the Model Context Protocol.
    pub mcp_connector: Option<usize>,
    /// The servers of all extensions.
    pub(super) mcp_servers: Vec<ExtensionMcpServer>,
    /// The connector knows the servers.
    pub(super) has_passed_servers: bool,
    /// An extension has replaced a message of which the host may have seen deltas.
    pub has_replaced_message: bool,
    pub(super) hosted: Option<HostedExtensions>,
    pub(super) named_commands: Vec<NamedCommands>,
    /// Why extensions of pi's own kind were not loaded, by path.
    pub(super) unloaded: BTreeMap<String, String>,
    /// Failures to report once the host is greeted.
    pub early: Vec<ExtensionError>,
    /// Whether the process is to refuse its service where an extension cannot be loaded.
    pub(super) requires_all: bool,
    /// Extensions of pi's own kind that a process has loaded.
    pub(super) loaded: BTreeSet<String>,
    /// Why extensions could not be loaded, by path, in the order in which that was found.
    pub(super) load_failures: Vec<(String, String)>,
    /// Requests to extensions, by their ids.
    pub(super) requests: BTreeMap<CallId, Request>,
    /// Since when extensions are not read, because the host is not reading.
    pub(super) suspended: Option<Duration>,
    pub(super) hooks: BTreeMap<CallId, OutstandingHook>,
    /// The notification under way: the engine waits for it.
    pub(super) notification: Option<CallId>,
    /// The notifications behind it.
    pub(super) notifications: VecDeque<Hook>,
    /// The open dialogs, oldest first.
    pub(super) dialogs: Vec<Dialog>,
    /// Actions that have not ended.
    pub(super) actions: BTreeMap<CallId, Action>,
    /// Options of the command line that only an extension may know, as written.
    pub unknown_options: Vec<String>,
    pub(super) providers: Providers,
    pub(super) outputs: VecDeque<ExtensionOutput>,
}

/// An outstanding action of an extension.
#[derive(Debug)]
pub struct Action {
    pub process: CallId,
    /// The extension's own id; without one it gets no response.
    pub id: Option<String>,
    /// Goes on when the process is gone.
    pub outlives_process: bool,
}

/// The models of extensions.
#[derive(Debug, Default)]
pub struct Providers {
    /// Providers whose models an extension streams, by name, each with the place of its extension.
    pub(super) streaming: BTreeMap<String, usize>,
    /// Virtual models by provider and id, each with the place of the extension that routes its requests.
    pub(super) virtual_models: BTreeMap<(String, String), usize>,
    /// What the server is adding or removing.
    pub(super) change: Option<ProviderChange>,
    /// The responses that extensions stream.
    pub(super) streams: BTreeMap<CallId, ModelStream>,
    /// Calls that fail, with why.
    pub(super) failed: VecDeque<(CallId, String)>,
}

/// A provider or virtual model that the server is adding or removing for an extension.
#[derive(Debug)]
pub struct ProviderChange {
    pub name: String,
    pub process: CallId,
    /// The action's id.
    pub id: Option<String>,
    /// The file of the extension.
    pub path: Option<String>,
    /// What is added or removed.
    pub kind: ChangedProvider,
}

/// What the server adds or removes for an extension.
#[derive(Debug)]
pub enum ChangedProvider {
    /// A provider; `streams`: the extension streams the responses of its models.
    Provider { streams: bool },
    /// A virtual model of the provider; `is_added`: it is not removed.
    VirtualModel { model: String, is_added: bool },
}

/// The engine's state that one call of the component may use.
pub struct Context<'a> {
    pub now: Now,
    pub dialect: Dialect,
    pub lifecycle: &'a Lifecycle,
    /// Events are not emitted any more.
    pub withholds_events: bool,
    /// The directory that extensions work in.
    pub directory: &'a str,
    pub ids: &'a mut Ids,
}

/// An output of the component, to be performed by the engine.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "each is moved once")]
pub enum ExtensionOutput {
    /// Perform this.
    Perform(Output),
    /// Emit a frame.
    Emit(Outbound),
    /// Resume what waited for the hook.
    HookCompleted { id: CallId, hook: Hook },
    /// Emit the frame that the oldest handlers hold back.
    FrameReleased,
    /// Respond to the prompt that called a command.
    CommandHandled(Recipient),
    /// A command has ended whose response was sent before.
    CommandEnded(Recipient),
    /// A tool of an extension is this far.
    ToolProgress { call: CallId, result: AgentToolResult },
    /// A tool of an extension has ended.
    ToolEnded { call: CallId, result: AgentToolResult, is_error: bool },
    /// Carry out an action.
    Action { process: CallId, action: FromExtension },
    /// Answer a query.
    Query { process: CallId, query: ExtensionQuery },
    /// Tell the machine that the dialog with this id is closed.
    DialogClosed(String),
    /// The host has responded, or not, whether the call at this place of the batch may run.
    CallConsent { at: usize, response: Option<RpcExtensionUIResponse> },
    /// The dialog of a run at a limit of its budget has closed; `None`: without a response.
    LimitResponse { response: Option<RpcExtensionUIResponse> },
    /// The host has responded, or not, whether a tool may run for the action.
    ActionConsent { action: CallId, response: Option<RpcExtensionUIResponse> },
    /// The host has responded, or not, to the dialog of a login.
    LoginDialog { login: CallId, response: Option<RpcExtensionUIResponse> },
    /// A model of an extension streams.
    ModelEvents { call: CallId, events: Vec<StreamEvent> },
    /// The extension at this place has registered; the texts say what cannot be.
    Registered { place: usize, restarted: bool, faults: Vec<String> },
    /// An extension that had registered has added or removed servers: these are all.
    McpServersChanged(Vec<ExtensionMcpServer>),
    /// The process of an action is gone.
    ActionLost(CallId),
}

/// Errors of extensions that are known before any is started.
pub struct EarlyErrors {
    /// Of those that cannot be loaded.
    pub troubles: Vec<ExtensionError>,
    /// Of those that may be missing.
    pub excused: Vec<ExtensionError>,
    /// Whether the session is refused where one cannot be loaded.
    pub requires_all: bool,
}

impl ExtensionHost {
    /// Creates the component with extensions that are not started yet.
    pub fn new(
        paths: Vec<String>,
        hosted: Option<HostedExtensions>,
        named_commands: Vec<NamedCommands>,
        EarlyErrors { troubles, excused, requires_all }: EarlyErrors,
        agent_directory: String,
        max_frame: u64,
        emits_title: bool,
    ) -> Self {
        let load_failures = troubles.iter().map(|it| (it.extension_path.clone(), it.error.clone())).collect();
        let early: Vec<ExtensionError> = troubles.into_iter().chain(excused).collect();
        let unloaded = early.iter().filter(|it| it.event == LOAD);
        Self {
            unloaded: unloaded.map(|it| (it.extension_path.clone(), it.error.clone())).collect(),
            all: paths.into_iter().map(Extension::new).collect(),
            agent_directory,
            max_frame,
            emits_title,
            hides_ui: false,
            is_project_untrusted: false,
            mcp_connector: None,
            mcp_servers: Vec::new(),
            // There are none.
            has_passed_servers: true,
            has_replaced_message: false,
            hosted,
            named_commands,
            early,
            requires_all,
            loaded: BTreeSet::new(),
            load_failures,
            requests: BTreeMap::new(),
            suspended: None,
            hooks: BTreeMap::new(),
            notification: None,
            notifications: VecDeque::new(),
            dialogs: Vec::new(),
            actions: BTreeMap::new(),
            unknown_options: Vec::new(),
            providers: Providers::default(),
            outputs: VecDeque::new(),
        }
    }

    /// What the system prompt says of servers of the Model Context Protocol; `None`: what it says from the start.
    pub fn mcp_section(&self) -> Option<&str> {
        self.all.get(self.mcp_connector?)?.registered.mcp_section.as_deref()
    }

    /// Takes the outputs of the last call, in order.
    pub fn take_outputs(&mut self) -> VecDeque<ExtensionOutput> {
        std::mem::take(&mut self.outputs)
    }

    /// When the next deadline of an extension, a dialog or a request is due.
    pub fn deadline(&self) -> Option<Duration> {
        let reads = self.suspended.is_none();
        let processes = self.all.iter().filter_map(|extension| extension.due).filter(|_| reads);
        let dialogs = self.dialogs.iter().filter_map(|dialog| dialog.due);
        let requests = self.requests.values().filter(|it| reads || !it.is_suspendable());
        let frames = self.frame_due().filter(|_| reads);
        processes.chain(dialogs).chain(requests.filter_map(Request::due)).chain(frames).min()
    }

    /// Writes a frame to a process.
    pub fn send(&mut self, process: CallId, frame: impl Into<ToExtension>) {
        self.perform(Output::ToExtension { to: process, frame: Box::new(frame.into()) });
    }

    pub(super) fn perform(&mut self, output: Output) {
        self.outputs.push_back(ExtensionOutput::Perform(output));
    }

    pub(super) fn push(&mut self, output: ExtensionOutput) {
        self.outputs.push_back(output);
    }
}

/// Stands for the event in an `extension_error` about an extension that could not be loaded.
pub const LOAD: &str = "load";
