//! What goes into the engine and what comes out.

use crate::engine::model_choices::ModelChoice;
use crate::{
    machine::Violation,
    model::types::{StreamEvent, ToolSpec},
    prompt::Commands,
    protocol::{
        AgentMessage, AgentToolResult, Dialect, Emission, ExtensionAnswer, ExtensionQuery, FromExtension,
        HookEvent, Inbound, JsonObject, LineError, Model, ThinkingLevel, ToExtension, errors,
    },
    session::{OpenedSession, Write},
};
use std::{path::PathBuf, sync::Arc, time::Duration};

/// The time of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since an arbitrary start, never going back: for durations.
    pub monotonic: Duration,
    /// Milliseconds since the Unix epoch: for messages.
    pub wall: u64,
}

/// Tells apart what the engine has started; never used twice.
pub type CallId = u64;

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// The host wrote a frame.
    Frame(Box<Inbound>),
    /// The host wrote a line that is no frame.
    BadLine(LineError),
    /// A model said something.
    Model {
        /// The call it belongs to.
        call: CallId,
        /// What it said.
        event: StreamEvent,
    },
    /// A tool has something to show.
    ToolProgress {
        /// The call it belongs to.
        call: CallId,
        /// Everything so far, not what is new.
        result: AgentToolResult,
    },
    /// A tool is done.
    ToolEnd {
        /// The call it belongs to.
        call: CallId,
        /// What it returns.
        result: AgentToolResult,
        /// Whether it failed.
        is_error: bool,
    },
    /// A shell command of the host has printed something.
    ShellProgress {
        /// The call it belongs to.
        call: CallId,
        /// What is new, cleaned.
        delta: String,
    },
    /// A shell command of the host is done.
    ShellEnd {
        /// The call it belongs to.
        call: CallId,
        /// What came of it; or why it could not start.
        end: Result<ShellEnd, String>,
    },
    /// An extension wrote a frame.
    Extension {
        /// Its process.
        from: CallId,
        /// What it wrote.
        frame: Box<FromExtension>,
    },
    /// An extension wrote a line that is no frame.
    ExtensionBadLine {
        /// Its process.
        from: CallId,
        /// What is wrong with the line.
        text: String,
    },
    /// An extension wrote a `register` that is no frame.
    ExtensionBadRegister {
        /// Its process.
        from: CallId,
        /// What is wrong with it.
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
    /// From now on extensions are heard, or they are not because the host does not read: what they owe is not due
    /// meanwhile.
    ReadsExtensions(bool),
    /// The [`deadline`](crate::engine::Engine::deadline) has come.
    Time,
    /// The outstanding [`Output::Store`] has completed.
    Stored,
    /// The outstanding [`Output::Store`] has failed, and this is why. The file is as it was before.
    StoreFailed(String),
    /// The outstanding [`Output::OpenSession`] is done; or why the file cannot be opened.
    SessionOpened(Box<Result<OpenedSession, String>>),
    /// The outstanding [`Output::WriteFile`] is done; or why the file could not be written.
    FileWritten(Result<(), String>),
    /// The [`Output::FindResources`] just polled is done: what was found.
    ResourcesFound(Box<Commands>),
    /// The [`Output::ReadFile`] just polled is done, with what is in the file; or why it could not be read.
    FileRead(Result<String, String>),
    /// What an extension wanted to know: the answer to an [`Output::Query`].
    QueryAnswered {
        /// Its process.
        to: CallId,
        /// The answer.
        answer: Box<ExtensionAnswer>,
    },
    /// The [`Output::ChangeProvider`] just polled is done, and these are all models now: those that there were before at the same
    /// places. Or why it came to nothing.
    ProviderChanged(Result<Vec<ModelChoice>, String>),
    /// The [`Output::SelectModel`] just polled is done; or why no model can be chosen.
    ModelSelected(Result<ModelSelection, String>),
    /// A hook of something that happens beside the engine; answered by [`Output::ProviderHookCompleted`].
    ProviderHook {
        /// For the answer.
        request: CallId,
        /// What happens.
        event: Box<HookEvent>,
    },
    /// The host has closed its side of the pipe.
    EndOfInput,
    /// The process was told to stop: abort, then [`Output::Exit`].
    Shutdown,
}

/// What to do now.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "most outputs are frames")]
pub enum Output {
    /// Write this frame to the host.
    Emit(Emission),
    /// Ask a model.
    CallModel(Box<ModelCall>),
    /// Stop asking; whatever it still says is not heard.
    CancelModel(CallId),
    /// Run a tool.
    StartTool(ToolStart),
    /// Stop a tool; its end still comes.
    CancelTool(CallId),
    /// Run a shell command of the host.
    StartShell(ShellStart),
    /// Stop it; its end still comes.
    CancelShell(CallId),
    /// Start the process of an extension.
    StartExtension {
        /// For its frames and its end.
        process: CallId,
        /// Its place in [`ExtensionSetup::extensions`](crate::engine::ExtensionSetup::extensions).
        place: usize,
    },
    /// Write a frame to an extension; one whose process is gone hears nothing.
    ToExtension {
        /// Its process.
        to: CallId,
        /// What to write.
        frame: Box<ToExtension>,
    },
    /// End the process of an extension; its end still comes.
    StopExtension(CallId),
    /// The hook of an [`Input::ProviderHook`] has completed.
    ProviderHookCompleted {
        /// Which.
        request: CallId,
        /// What became of it.
        event: Box<HookEvent>,
    },
    /// Write to the session's file; answered by [`Input::Stored`] or [`Input::StoreFailed`].
    Store(Write),
    /// Work is to end: the outstanding request to the disk gets only a little more time.
    HurryStore,
    /// Open the file of another session and let go of the one before; answered by [`Input::SessionOpened`]. If it cannot be
    /// opened, the one before stays.
    OpenSession(PathBuf),
    /// Let go of the session's file: another session begins.
    CloseSession,
    /// Write a file of the host's choice; answered by [`Input::FileWritten`].
    WriteFile {
        /// Where; relative paths are of the process's directory.
        path: PathBuf,
        /// What.
        text: String,
        /// Whether folders that are missing are made.
        creates_folders: bool,
    },
    /// Read a text file; answered by [`Input::FileRead`].
    ReadFile(PathBuf),
    /// Look for skills and prompt templates in these files and folders; answered by [`Input::ResourcesFound`].
    FindResources {
        /// Those of skills; relative paths are of the process's directory.
        skills: Vec<String>,
        /// Those of prompt templates.
        templates: Vec<String>,
    },
    /// An extension wants to know something that the engine does not: answered by [`Input::QueryAnswered`].
    Query {
        /// Its process.
        from: CallId,
        /// What.
        query: Box<ExtensionQuery>,
    },
    /// An extension adds a provider or changes one; without a `config` it takes that back. Answered by
    /// [`Input::ProviderChanged`].
    ChangeProvider {
        /// The provider's name.
        name: String,
        /// As `models.json` has it.
        config: Option<JsonObject>,
        /// The extension answers for its models: it is asked by the engine, and the server never.
        streams: bool,
    },
    /// Extensions have added models before the session begins: the model to begin with is chosen among all of them.
    /// Answered by [`Input::ModelSelected`].
    SelectModel,
    /// The machine objected to what was just said: a defect of ours.
    Violation(Violation),
    /// Everything is done: write what was said and end.
    Exit,
}

/// One request to a model.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// For the answer.
    pub call: CallId,
    /// The place of the model asked, in [`Setup::models`](crate::engine::Setup::models).
    pub place: usize,
    /// The model asked.
    pub model: Model,
    /// The thinking level; `None`: none is set.
    pub level: Option<ThinkingLevel>,
    /// The session, for the provider's cache.
    pub session_id: String,
    /// The instructions that come first.
    pub system_prompt: Arc<str>,
    /// The conversation.
    pub messages: Arc<Vec<Arc<AgentMessage>>>,
    /// The tools that it may call.
    pub tools: Arc<[ToolSpec]>,
    /// The tool that the answer is to call, where the model can be made to; `None`: it decides by itself.
    pub forced_tool: Option<String>,
    /// How many models were asked before, in this process.
    pub count: usize,
    /// What the answer is for.
    pub purpose: Purpose,
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The next message of the conversation.
    Turn,
    /// A summary of so many tokens at most.
    Summary(u64),
    /// Something that an extension asks, to be answered in so many tokens at most.
    Extension(Option<u64>),
}

impl Purpose {
    /// How long the answer may be, in tokens; `None`: as long as the model likes.
    pub const fn max_tokens(self) -> Option<u64> {
        match self {
            Self::Turn => None,
            Self::Summary(tokens) => Some(tokens),
            Self::Extension(tokens) => tokens,
        }
    }
}

/// The model to begin with.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSelection {
    /// All models, those that there were before at the same places.
    pub models: Vec<ModelChoice>,
    /// The place of the one to begin with.
    pub start: usize,
    /// The thinking level that was named with it.
    pub level: Option<ThinkingLevel>,
    /// What `cycle_model` goes round, if a scope was given.
    pub scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
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
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolStart {
    /// For progress and end.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// Checked against the tool's schema, types coerced.
    pub arguments: JsonObject,
}

/// One shell command of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellStart {
    /// For its end.
    pub call: CallId,
    /// The command line.
    pub command: String,
    /// The directory to run in; `None`: the server's.
    pub directory: Option<String>,
}

/// What came of a shell command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellEnd {
    /// What it printed, cleaned and cut.
    pub output: String,
    /// Absent when it was killed.
    pub exit_code: Option<i32>,
    /// It was stopped before it ended.
    pub cancelled: bool,
    /// Part of the output is missing.
    pub truncated: bool,
    /// The file that holds everything.
    pub full_output_path: Option<String>,
    /// The shell's directory afterwards, where the dialect keeps it.
    pub directory: Option<String>,
    /// Lines and bytes of everything, then of `output`.
    pub counts: [u64; 4],
}

impl Input {
    /// A line of the host, as [`crate::protocol::read_line`] has it.
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

/// The text of a command that is not there yet.
pub(in crate::engine) fn not_yet(dialect: Dialect, command: &str) -> String {
    errors::not_yet(dialect.base(), command)
}
