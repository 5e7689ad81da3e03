//! Tasks of the engine for the outstanding actions of extensions.

use crate::io::CallId;
use pi_rpc_protocol::{AgentMessage, JsonObject, RequestId};
use std::collections::BTreeMap;

/// The tasks of outstanding actions.
#[derive(Debug, Default)]
pub struct ActionTasks(pub BTreeMap<CallId, ActionTask>);

/// The task of the engine for an action.
#[derive(Debug)]
pub enum ActionTask {
    /// The action is served like a command of the host.
    Command(ServedCommand),
    /// The extension waits until the agent is idle.
    AwaitIdle,
    /// The host is asked whether a tool may run outside of the conversation.
    Consent {
        tool_name: String,
        /// The arguments of the tool.
        arguments: JsonObject,
    },
    /// A tool runs outside of the conversation.
    Tool,
    /// A tool runs for another one, as the call at this place of the batch.
    NestedCall(usize),
    /// A model is requested outside of the conversation.
    Model,
}

/// An action that is served as a command of the host.
#[derive(Debug)]
pub struct ServedCommand {
    /// The id that stands for the action.
    pub id: RequestId,
    /// The messages that a new session begins with.
    pub first_messages: Vec<AgentMessage>,
    /// A session is forked with the entry that is named, not before it.
    pub includes_entry: bool,
}

impl ActionTasks {
    /// The action that is served as a command under this id.
    pub fn command(&self, id: Option<&RequestId>) -> Option<CallId> {
        let id = id?;
        let is_it = |task: &ActionTask| matches!(task, ActionTask::Command(it) if it.id == *id);
        self.0.iter().find(|(_, task)| is_it(task)).map(|(call, _)| *call)
    }
}
