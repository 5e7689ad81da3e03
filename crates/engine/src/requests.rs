//! Outstanding requests of models, tools, shells and files, each with its continuation.
//!
//! One table for each kind of request; the continuation holds all data that it needs. A completion whose id is in no
//! table belongs to a cancelled request and is ignored.

use crate::{
    actions::task::ActionTasks, io::CallId, prompt::Expansion, run::partial_message::PartialMessage,
};
use pi_rpc_protocol::{
    ContinueSessionCommand, RequestId, RpcSuccess, SetModelCommand, SwitchSessionCommand, TreeNavigation,
};
use pi_rpc_session::BranchPreparation;
use std::collections::{BTreeMap, VecDeque};

/// The outstanding requests of a conversation.
#[derive(Debug, Default)]
pub struct Requests {
    /// How many requests of models this process has made.
    pub models_made: usize,
    /// Outstanding requests of models.
    pub models: BTreeMap<CallId, ModelRequest>,
    /// Running tools.
    pub tools: BTreeMap<CallId, ToolContinuation>,
    /// Tool calls at the host, by their ids on the wire.
    pub host_tools: BTreeMap<String, CallId>,
    /// Running shell commands of the host.
    pub shells: BTreeMap<CallId, Shell>,
    /// The directory of the host's shell, in dialects that keep it.
    pub shell_directory: Option<String>,
    /// Outstanding actions of extensions.
    pub actions: ActionTasks,
    /// The outstanding request of a file.
    pub files: FileRequests,
    /// Outstanding logins and logouts.
    pub logins: LoginRequests,
    /// Outstanding navigations to other branches of the session.
    pub navigations: BTreeMap<CallId, Navigation>,
}

/// A navigation to another branch of the session.
#[derive(Debug)]
pub struct Navigation {
    /// The id of its `navigate_tree` command.
    pub id: Option<RequestId>,
    /// The id of the chosen entry.
    pub target: String,
    /// The label for the summary or the entry, once extensions have decided.
    pub label: Option<String>,
    pub stage: NavigationStage,
}

/// How far a navigation is.
#[derive(Debug)]
pub enum NavigationStage {
    /// No hook or summary is outstanding.
    Between,
    /// Extensions may cancel it, by this hook.
    Hooked(CallId),
    /// A model summarises the branch that is left.
    Summarising,
    /// The leaf has moved; this is the outcome.
    Moved(Box<TreeNavigation>),
}

/// Outstanding logins, logouts and lists of them.
#[derive(Debug, Default)]
pub struct LoginRequests {
    /// The ids of the `get_login_providers` that wait for the list.
    pub lists: VecDeque<Option<RequestId>>,
    /// The open login.
    pub open: Option<OpenLogin>,
    /// The ids and providers of the `logout` commands.
    pub logouts: BTreeMap<CallId, (Option<RequestId>, String)>,
}

/// A login that has not ended.
#[derive(Debug)]
pub struct OpenLogin {
    /// The call that performs the login.
    pub call: CallId,
    /// The id of its `login` command.
    pub id: Option<RequestId>,
    /// The provider.
    pub provider: String,
}

impl LoginRequests {
    /// Whether a login or a logout is outstanding.
    pub fn has_outstanding(&self) -> bool {
        self.open.is_some() || !self.logouts.is_empty()
    }
}

/// The command that opens the file of another session.
#[derive(Debug)]
pub enum SessionOpening {
    /// `switch_session`.
    Switch(SwitchSessionCommand),
    /// `open_session`, by its id.
    Continue(Option<RequestId>),
}

/// Requests of files; one is outstanding at a time.
#[derive(Debug, Default)]
pub struct FileRequests {
    /// Opening the file of another session.
    pub session: Option<SessionOpening>,
    /// Finding the newest session of a directory, for `open_session`, in the order of the commands.
    pub newest: VecDeque<ContinueSessionCommand>,
    /// Writing a page, for `export_html`.
    pub page: Option<PageRequest>,
    /// Reading a skill, for the text that calls it.
    pub skill: Option<Expansion>,
    /// Finding the skills and prompt templates of extensions.
    pub resources: Option<ResourceRequest>,
    /// Reading the configuration of models again.
    pub models: Option<ModelsRequest>,
}

/// A command that needs the configuration of models as it is now.
#[derive(Debug)]
pub enum ModelsRequest {
    /// A `set_model` whose model is not known yet.
    Set(SetModelCommand),
    /// A `get_available_models`, with its id.
    List(Option<RequestId>),
}

/// An `export_html` whose page is being written.
#[derive(Debug)]
pub struct PageRequest {
    /// The id of its `export_html` command.
    pub id: Option<RequestId>,
    /// The file, as the response names it.
    pub path: String,
}

/// The search for skills and prompt templates of extensions; the host is served once it completes.
#[derive(Debug)]
pub struct ResourceRequest {
    /// The response to the command that opened the session; `None`: it is the first of the process.
    pub response: Option<Box<RpcSuccess>>,
}

/// An outstanding request of a model.
#[derive(Debug)]
pub struct ModelRequest {
    /// The partial message.
    pub partial: PartialMessage,
    /// The continuation once the answer is complete.
    pub continuation: ModelContinuation,
}

/// The continuation of a request of a model.
#[derive(Debug)]
pub enum ModelContinuation {
    /// Complete the message of the open turn, whose deltas the host sees.
    Turn,
    /// Use it as this part of the compaction's summary.
    Summary(SummaryPart),
    /// Use it as the summary of the branch that a navigation leaves; the request's id is that of the action.
    BranchSummary(Box<BranchPreparation>),
    /// End the action of an extension with it; the request's id is that of the action.
    Action,
    /// Note what it has used: it kept the vendor's cache warm.
    Warming,
}

/// The continuation of a tool.
#[derive(Debug)]
pub enum ToolContinuation {
    /// End the call at this place of the open turn's batch.
    Call(usize),
    /// End the action of an extension with it; the request's id is that of the action.
    Action,
}

/// A part of the summary of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryPart {
    /// The messages that are summed up.
    History,
    /// The first part of a turn that is split.
    Prefix,
    /// A sentence or two for display.
    Short,
}

/// A shell command of the host that runs.
#[derive(Debug)]
pub struct Shell {
    /// The id of its `bash` command.
    pub id: Option<RequestId>,
    /// The command line.
    pub command: String,
    /// Whether the command is excluded from the context.
    pub excluded: bool,
    /// The session that its message belongs to.
    pub session: String,
    /// Whether that session was left; the command was cancelled then.
    pub left: bool,
}

impl FileRequests {
    /// Whether a request is outstanding.
    pub const fn has_outstanding(&self) -> bool {
        self.session.is_some()
            || self.page.is_some()
            || self.skill.is_some()
            || self.resources.is_some()
            || self.models.is_some()
    }
}

impl Requests {
    /// The partial message of an outstanding request.
    pub fn partial(&self, call: CallId) -> Option<&PartialMessage> {
        Some(&self.models.get(&call)?.partial)
    }
}
