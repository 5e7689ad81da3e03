//! Requests of models, tools and shells that are outstanding, each with what follows its completion.
//!
//! There is a table for each kind of completion: the answer of a model finds only what waits for a model, and everything
//! that the continuation needs lies beside it. A request that is not in its table was cancelled: nothing follows it.

use crate::engine::{
    actions::task::ActionTasks, io::CallId, prompt::Expansion, run::partial_message::PartialMessage,
};
use crate::{
    protocol::{RequestId, SwitchSessionCommand},
    session::BranchPreparation,
};
use std::collections::BTreeMap;

/// The outstanding requests of a conversation.
#[derive(Debug, Default)]
pub struct Requests {
    /// How many requests of models were made in this process.
    pub models_made: usize,
    /// Requests of models.
    pub models: BTreeMap<CallId, ModelRequest>,
    /// Tools that run.
    pub tools: BTreeMap<CallId, ToolContinuation>,
    /// Which of them the host carries out, by the ids on the wire.
    pub host_tools: BTreeMap<String, CallId>,
    /// Shell commands of the host that run.
    pub shells: BTreeMap<CallId, Shell>,
    /// The directory of the host's shell, in dialects that keep it.
    pub shell_directory: Option<String>,
    /// What is done for actions of extensions.
    pub actions: ActionTasks,
    /// Files.
    pub files: FileRequests,
}

/// Requests of files; one is outstanding at a time.
#[derive(Debug, Default)]
pub struct FileRequests {
    /// The file of another session, for `switch_session`.
    pub session: Option<SwitchSessionCommand>,
    /// A page that is written, for `export_html`.
    pub page: Option<PageRequest>,
    /// The file of a skill, for what calls it.
    pub skill: Option<Expansion>,
    /// The skills and prompt templates that extensions have named.
    pub resources: Option<ResourceRequest>,
}

/// A page that is written.
#[derive(Debug)]
pub struct PageRequest {
    /// The id of its `export_html` command.
    pub id: Option<RequestId>,
    /// The file, as the response names it.
    pub path: String,
}

/// The skills and prompt templates of extensions are searched; the host is served after that.
#[derive(Debug)]
pub struct ResourceRequest;

/// A request of a model.
#[derive(Debug)]
pub struct ModelRequest {
    /// The answer, as far as it has arrived.
    pub partial: PartialMessage,
    /// What follows it.
    pub continuation: ModelContinuation,
}

/// What follows the answer of a model.
#[derive(Debug)]
pub enum ModelContinuation {
    /// It is the message of the open turn, which the host sees as it grows.
    Turn,
    /// It is this part of the summary that the compaction under way needs.
    Summary(SummaryPart),
    /// It is the summary of what a navigation leaves behind; the request has the id of its action.
    BranchSummary(Box<BranchPreparation>),
    /// It is the outcome of an action of an extension, which has the id of the request.
    Action,
}

/// What follows the end of a tool.
#[derive(Debug)]
pub enum ToolContinuation {
    /// It is the result of the call at this place of the open turn's batch.
    Call(usize),
    /// It is the outcome of an action of an extension, which has the id of the request.
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
    /// Models are not told of it.
    pub excluded: bool,
    /// The session that its message belongs to.
    pub session: String,
    /// That session was left: it was cancelled with it.
    pub left: bool,
}

impl FileRequests {
    /// Whether a request is outstanding.
    pub const fn has_outstanding(&self) -> bool {
        self.session.is_some() || self.page.is_some() || self.skill.is_some() || self.resources.is_some()
    }
}

impl Requests {
    /// The answer of a model that is still outstanding.
    pub fn partial(&self, call: CallId) -> Option<&PartialMessage> {
        Some(&self.models.get(&call)?.partial)
    }
}
