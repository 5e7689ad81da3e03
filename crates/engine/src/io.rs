//! Inputs and outputs of the engine.

use crate::{
    consent::ConsentSubject,
    model_choices::ModelChoice,
    permissions::{GuardedCall, Permission},
    run::waiting_run::WaitingRun,
};
use pi_rpc_machine::Violation;
use pi_rpc_model::types::{StreamEvent, ToolSpec};
use pi_rpc_prompt::Commands;
use pi_rpc_protocol::{
    AgentMessage, AgentToolResult, Dialect, Emission, ExtensionAnswer, ExtensionQuery,
    ExtensionRegisterVirtualModel, FromExtension, HookEvent, Inbound, JsonObject, LineError, LoginMethod,
    LoginProvider, Model, RpcExtensionUIRequest, RpcExtensionUIResponse, SlashCommand, ThinkingLevel,
    ToExtension, Usage, errors,
};
use pi_rpc_session::{OpenedSession, Tree, Write};
use std::{path::PathBuf, sync::Arc, time::Duration};

/// The time of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time since an arbitrary start, for durations.
    pub monotonic: Duration,
    /// Milliseconds since the Unix epoch, for messages.
    pub wall: u64,
}

/// The id of a request that the engine has started; never used twice.
pub type CallId = u64;

/// An event from outside of the engine.
#[derive(Clone, Debug)]
pub enum Input {
    /// The host wrote a frame.
    Frame(Box<Inbound>),
    /// The host wrote a line that is no frame.
    BadLine(LineError),
    /// A step of a model's answer.
    Model {
        /// The call it belongs to.
        call: CallId,
        /// The step.
        event: StreamEvent,
    },
    /// Progress of a tool.
    ToolProgress {
        /// The call it belongs to.
        call: CallId,
        /// The whole result so far, not a delta.
        result: AgentToolResult,
    },
    /// The end of a tool.
    ToolEnd {
        /// The call it belongs to.
        call: CallId,
        /// The result.
        result: AgentToolResult,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// Output of a shell command of the host.
    ShellProgress {
        /// The call it belongs to.
        call: CallId,
        /// The new output, cleaned.
        delta: String,
    },
    /// The end of a shell command of the host.
    ShellEnd {
        /// The call it belongs to.
        call: CallId,
        /// The outcome, or why the command could not start.
        end: Result<ShellEnd, String>,
    },
    /// The result of the [`Output::ListLogins`] just polled.
    LoginsListed(Vec<LoginProvider>),
    /// What the user of the host is to do for a login.
    LoginNotice {
        /// The login.
        call: CallId,
        /// The page, and the code to enter there.
        notice: LoginNotice,
    },
    /// The end of a login. Comes once for each [`Output::StartLogin`].
    LoginEnd {
        /// The login.
        call: CallId,
        /// The outcome.
        end: LoginEnd,
    },
    /// The end of an [`Output::StartLogout`].
    LogoutEnd {
        /// The logout.
        call: CallId,
        /// Whether there was something to remove, or why it cannot be removed.
        removed: Result<bool, String>,
    },
    /// An extension wrote a frame.
    Extension {
        /// Its process.
        from: CallId,
        /// The frame.
        frame: Box<FromExtension>,
    },
    /// An extension wrote a line that is no frame.
    ExtensionBadLine {
        /// Its process.
        from: CallId,
        /// The fault.
        text: String,
    },
    /// An extension wrote a `register` that is no frame.
    ExtensionBadRegister {
        /// Its process.
        from: CallId,
        /// The fault.
        text: String,
    },
    /// The process of an extension is gone, or could not be started. Comes once for each [`Output::StartExtension`],
    /// behind everything that the process wrote.
    ExtensionEnded {
        /// The process.
        from: CallId,
        /// Why, for people.
        text: String,
    },
    /// Whether extensions are read from now on. While they are not, because the host does not read, their deadlines are
    /// suspended.
    ReadsExtensions(bool),
    /// The [`deadline`](crate::Engine::deadline) has come.
    Time,
    /// Goes on with a run that another process has left while it waited for a permission. The first input: it is held until the
    /// host is greeted. If the session has no such run, the one that was cut is closed.
    Resume(Box<WaitingRun>),
    /// The answer to the [`Output::FindPermission`] just polled.
    PermissionFound {
        /// What the call belongs to.
        subject: ConsentSubject,
        /// Whether a stored permission covers it.
        is_covered: bool,
    },
    /// Answers all open permission questions with no, as the host does after a while without clients.
    DenyQuestions,
    /// The outstanding [`Output::Store`] has completed.
    Stored,
    /// The outstanding [`Output::Store`] has failed, and this is why. The file is as it was before.
    StoreFailed(String),
    /// The result of the outstanding [`Output::OpenSession`].
    SessionOpened(Box<Result<OpenedSession, String>>),
    /// The result of the [`Output::FindNewestSession`] just polled.
    NewestSessionFound {
        /// The directory, absolute.
        folder: PathBuf,
        /// The session's file, if there is one.
        file: Option<PathBuf>,
    },
    /// The result of the outstanding [`Output::WritePage`].
    FileWritten(Result<(), String>),
    /// The result of the [`Output::FindResources`] just polled.
    ResourcesFound(Box<Commands>),
    /// The result of the [`Output::ReadFile`] just polled: the text of the file.
    FileRead(Result<String, String>),
    /// The answer to the [`Output::Query`] of an extension.
    QueryAnswered {
        /// Its process.
        to: CallId,
        /// The answer.
        answer: Box<ExtensionAnswer>,
    },
    /// The result of the [`Output::ChangeProvider`] or [`Output::ChangeVirtualModel`] just polled: all models now, those from before at the same places.
    ProviderChanged(Result<Vec<ModelChoice>, String>),
    /// The result of the [`Output::SelectModel`] just polled.
    ModelSelected(Result<ModelSelection, String>),
    /// The result of the [`Output::ReloadModels`] just polled.
    ModelsReloaded(ReloadedModels),
    /// A request of the agent to its user; answered by [`Output::AgentDialogClosed`].
    AgentDialog {
        /// The id for the answer.
        request: CallId,
        /// The dialog; its id is set by the engine.
        dialog: Box<RpcExtensionUIRequest>,
    },
    /// The agent has withdrawn its request: the dialog closes, and nothing is answered.
    AgentDialogWithdrawn(CallId),
    /// The slash commands that the agent has from now on.
    AgentCommands(Vec<SlashCommand>),
    /// A hook about a request to a provider; answered by [`Output::ProviderHookCompleted`].
    ProviderHook {
        /// The id for the answer.
        request: CallId,
        /// The event of the hook.
        event: Box<HookEvent>,
    },
    /// The host has closed its side of the pipe.
    EndOfInput,
    /// A signal to stop: all work is aborted, then comes [`Output::Exit`].
    Shutdown,
}

/// An operation to perform, in order.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "most outputs are frames")]
pub enum Output {
    /// Writes a frame to the host.
    Emit(Emission),
    /// Sends a request to a model.
    CallModel(Box<ModelCall>),
    /// Cancels a request of a model; its further events are ignored.
    CancelModel(CallId),
    /// Runs a tool.
    StartTool(ToolStart),
    /// Cancels a tool; its end still comes.
    CancelTool(CallId),
    /// Runs a shell command of the host.
    StartShell(ShellStart),
    /// Cancels a shell command; its end still comes.
    CancelShell(CallId),
    /// Lists the logins; answered by [`Input::LoginsListed`].
    ListLogins,
    /// Logs in at a provider and stores the login.
    StartLogin(LoginStart),
    /// Passes a login the address that the browser ended at, or the code.
    PasteLogin {
        /// The login.
        call: CallId,
        /// The address or code.
        text: String,
    },
    /// Cancels a login; its end still comes.
    CancelLogin(CallId),
    /// Removes the stored login of a provider; answered by [`Input::LogoutEnd`].
    StartLogout {
        /// The id for its end.
        call: CallId,
        /// The provider.
        provider: String,
    },
    /// Starts the process of an extension.
    StartExtension {
        /// The id for its frames and its end.
        process: CallId,
        /// Its place in [`ExtensionSetup::extensions`](crate::ExtensionSetup::extensions).
        place: usize,
    },
    /// Writes a frame to an extension; ignored if its process is gone.
    ToExtension {
        /// Its process.
        to: CallId,
        /// The frame.
        frame: Box<ToExtension>,
    },
    /// Ends the process of an extension; its end still comes.
    StopExtension(CallId),
    /// The hook of an [`Input::ProviderHook`] has completed.
    ProviderHookCompleted {
        /// The id of the hook.
        request: CallId,
        /// The event with the outcome.
        event: Box<HookEvent>,
    },
    /// The dialog of an [`Input::AgentDialog`] has closed.
    AgentDialogClosed {
        /// The id of the request.
        request: CallId,
        /// The response; `None`: the dialog was dismissed or could not be shown.
        response: Option<RpcExtensionUIResponse>,
    },
    /// Writes to the session's file; answered by [`Input::Stored`] or [`Input::StoreFailed`].
    Store(Write),
    /// Limits the time left for the outstanding request to the disk: the work ends.
    HurryStore,
    /// Opens the file of another session and closes the one before; answered by [`Input::SessionOpened`]. If it cannot
    /// be opened, the one before stays.
    OpenSession(PathBuf),
    /// Finds the session in this folder that was written last and has entries; relative paths are of the process's
    /// directory. Answered by [`Input::NewestSessionFound`].
    FindNewestSession(PathBuf),
    /// Closes the session's file: another session begins.
    CloseSession,
    /// Writes a session as a page for people; answered by [`Input::FileWritten`].
    WritePage {
        /// The file, of the host's choice; relative paths are of the process's directory.
        path: PathBuf,
        /// The session as it is now.
        session: Box<Tree>,
        /// The system prompt.
        instructions: String,
        /// Whether missing folders are created.
        creates_folders: bool,
    },
    /// Looks whether a stored permission covers the call; answered by [`Input::PermissionFound`].
    FindPermission {
        /// What the call belongs to.
        subject: ConsentSubject,
        /// The call.
        call: Box<GuardedCall>,
    },
    /// Stores a permission that the user has given for good.
    StorePermission(Box<Permission>),
    /// Reads a text file; answered by [`Input::FileRead`].
    ReadFile(PathBuf),
    /// Finds skills and prompt templates in these files and folders; answered by [`Input::ResourcesFound`].
    FindResources {
        /// Files and folders of skills; relative paths are of the process's directory.
        skills: Vec<String>,
        /// Files and folders of prompt templates.
        templates: Vec<String>,
    },
    /// Passes on a query of an extension that the server answers; answered by [`Input::QueryAnswered`].
    Query {
        /// Its process.
        from: CallId,
        /// The query.
        query: Box<ExtensionQuery>,
    },
    /// Adds or changes a provider for an extension; without a `config`, removes it. Answered by
    /// [`Input::ProviderChanged`].
    ChangeProvider {
        /// The provider's name.
        name: String,
        /// The provider in the form of `models.json`.
        config: Option<JsonObject>,
        /// Whether the extension streams the answers of its models, so that the server requests none of them.
        streams: bool,
    },
    /// Adds or changes a virtual model of an extension; without a `definition`, removes it. Answered by
    /// [`Input::ProviderChanged`].
    ChangeVirtualModel {
        /// The id of the provider that lists it.
        provider: String,
        /// The model's id.
        id: String,
        /// The model as the extension has it.
        definition: Option<Box<ExtensionRegisterVirtualModel>>,
    },
    /// Selects the model to begin with among all models, after extensions have added some before the session began.
    /// Answered by [`Input::ModelSelected`].
    SelectModel,
    /// Reads the configuration of models and credentials again, which may have changed, and finds this model. Answered
    /// by [`Input::ModelsReloaded`].
    ReloadModels {
        /// Provider and id of a model; `None`: the list is enough.
        wanted: Option<(String, String)>,
    },
    /// Reports what an answer has used that no frame shows: the summary of a branch, or an answer for an extension.
    UnshownUsage(Usage),
    /// Reports that the frame just emitted violates a rule: a defect of the server.
    Violation(Violation),
    /// Ends the process, which has nothing to serve, for this reason; [`Output::Exit`] follows.
    Refuse(String),
    /// Ends the process after all pending output is written.
    Exit,
}

/// A request to a model.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// The id for the answer.
    pub call: CallId,
    /// The place of the model in [`Setup::models`](crate::Setup::models).
    pub place: usize,
    /// The model.
    pub model: Model,
    /// The thinking level; `None`: none is set.
    pub level: Option<ThinkingLevel>,
    /// The id of the session, for the provider's cache.
    pub session_id: String,
    /// The system prompt.
    pub system_prompt: Arc<str>,
    /// The conversation.
    pub messages: Arc<Vec<Arc<AgentMessage>>>,
    /// Whether the system messages of the conversation add up to the system prompt and the tools.
    pub has_system_messages: bool,
    /// The tools that it may call.
    pub tools: Arc<[ToolSpec]>,
    /// The tool that the answer must call, where the provider supports that; `None`: any or none.
    pub forced_tool: Option<String>,
    /// How many requests of models this process has made before.
    pub count: usize,
    /// The purpose of the answer.
    pub purpose: Purpose,
}

/// The purpose of a request to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The next message of the conversation.
    Turn,
    /// A summary.
    Summary,
    /// A request of an extension, with the maximum of the answer's tokens.
    Extension(Option<u64>),
    /// Keeping the vendor's cache warm: the answer has one token, and is not used.
    Warming,
}

impl Purpose {
    /// Whether it is the next message of the conversation.
    pub const fn is_turn(self) -> bool {
        matches!(self, Self::Turn)
    }

    /// The maximum of the answer's tokens; `None`: the model's own.
    pub const fn max_tokens(self) -> Option<u64> {
        match self {
            Self::Turn | Self::Summary => None,
            Self::Extension(tokens) => tokens,
            Self::Warming => Some(1),
        }
    }
}

/// The model to begin with.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSelection {
    /// All models; those from before at the same places.
    pub models: Vec<ModelChoice>,
    /// The place of the model to begin with.
    pub start: usize,
    /// The thinking level named with that model.
    pub level: Option<ThinkingLevel>,
    /// Places and levels of the models that `cycle_model` goes round, if a scope was given.
    pub scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
}

/// The models after the configuration was read again.
#[derive(Clone, Debug, PartialEq)]
pub struct ReloadedModels {
    /// All models; those from before at the same places.
    pub models: Vec<ModelChoice>,
    /// The place of the model that was wanted; `Err`: why it cannot be used, where that is known.
    pub found: Result<usize, Option<String>>,
}

/// The hooks of a provider's request that some extension registered for. Source: pi source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestHooks {
    /// Its headers: `before_provider_headers`.
    pub headers: bool,
    /// Its body: `before_provider_request`.
    pub payload: bool,
    /// The head of the response: `after_provider_response`.
    pub response: bool,
    /// The events of the response: `provider_stream_event`.
    pub stream: bool,
}

/// A tool call to run.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolStart {
    /// The id for progress and end.
    pub call: CallId,
    /// The model's id of the call; `None`: an extension runs the tool.
    pub tool_call_id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments, checked against the tool's schema, types coerced.
    pub arguments: JsonObject,
    /// The session that the call belongs to.
    pub session: Box<ToolSession>,
}

/// A session as its tools show it to the commands that they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSession {
    /// Its id.
    pub id: String,
    /// Its file, if it has one.
    pub file: Option<String>,
    /// Provider and id of its model, if it has one.
    pub model: Option<(String, String)>,
    /// Its thinking level, if its model has levels.
    pub level: Option<ThinkingLevel>,
}

/// A shell command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellStart {
    /// The id for its output and end.
    pub call: CallId,
    /// The command line.
    pub command: String,
    /// The directory to run in; `None`: the server's.
    pub directory: Option<String>,
}

/// The outcome of a shell command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellEnd {
    /// The output, cleaned and truncated.
    pub output: String,
    /// The exit code; absent if the command was killed.
    pub exit_code: Option<i32>,
    /// Whether the command was cancelled.
    pub cancelled: bool,
    /// Whether part of the output is missing.
    pub truncated: bool,
    /// The file with the whole output.
    pub full_output_path: Option<String>,
    /// The shell's directory afterwards, where the dialect keeps it.
    pub directory: Option<String>,
    /// Lines and bytes of the whole output, then of `output`.
    pub counts: [u64; 4],
}

/// A login to perform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginStart {
    /// The id for its notices and its end.
    pub call: CallId,
    /// The provider.
    pub provider: String,
    /// The way to log in; `None`: the first that the provider offers.
    pub method: Option<LoginMethod>,
    /// The host of a company's server; `None`: the public one.
    pub server: Option<String>,
}

/// What the user is to do for a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginNotice {
    /// The page to open.
    pub url: String,
    /// The code to enter there; `None`: the browser comes back by itself.
    pub code: Option<String>,
}

/// The outcome of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginEnd {
    /// The login is stored.
    Stored,
    /// It was cancelled.
    Cancelled,
    /// The provider has no logins.
    Unknown,
    /// It has failed for this reason.
    Failed(String),
}

impl Input {
    /// The input for a line of the host, as parsed by [`pi_rpc_protocol::read_line`].
    pub fn line(read: Result<Inbound, LineError>) -> Self {
        match read {
            Ok(frame) => Self::Frame(Box::new(frame)),
            Err(error) => Self::BadLine(error),
        }
    }

    /// The input for a line longer than the limit; `length` in bytes.
    pub fn too_long(length: usize, limit: usize) -> Self {
        Self::BadLine(LineError::Parse {
            reason: format!("the line has {length} bytes, the limit is {limit}"),
            id: None,
        })
    }
}

/// The error of a command that is not implemented.
pub(crate) fn not_yet(dialect: Dialect, command: &str) -> String {
    errors::not_yet(dialect.base(), command)
}
