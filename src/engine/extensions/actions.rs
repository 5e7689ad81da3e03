//! Actions of extensions that are not over at once.
//!
//! Each that has an id gets one response: what came of it, or why nothing did. What a command of the host does, too, is
//! served as that command, under an id that no host can know; the response is then told to the extension alone.
//! Source: own; pi source for what the actions do.

use crate::engine::{
    CallId, Engine, Output, extensions::navigation::Navigating, run::after::AfterRun,
    run::compaction::Compaction, run::partial_message::PartialMessage,
};
use crate::protocol::{
    AbortCommand, AgentMessage, BranchCommand, CompactCommand, Dialect, ExtensionFork, ExtensionNewSession,
    ExtensionResponse, ForkCommand, ForkPosition, FromExtension, JsonObject, NewSessionCommand, RequestId,
    RpcCommand, RpcSuccess, SwitchSessionCommand, errors,
};
use serde_json::Value;

/// An action that is under way.
#[derive(Debug)]
pub struct Action {
    /// The extension.
    pub process: CallId,
    /// The extension's own id; without one nobody waits for a response.
    pub id: Option<String>,
    /// What is done.
    pub acting: Acting,
}

/// What an extension has done.
#[derive(Debug)]
pub enum Acting {
    /// What a command of the host does.
    Command(Commanding),
    /// The extension waits until nothing goes on.
    Waiting,
    /// The host is asked whether a tool may run outside of the conversation.
    Consent {
        /// Its name.
        tool_name: String,
        /// What it is to run with.
        arguments: JsonObject,
    },
    /// A tool runs outside of the conversation.
    Tool,
    /// A model is asked outside of the conversation.
    Asking(Box<PartialMessage>),
    /// Another branch of the session is taken up.
    Navigating(Box<Navigating>),
}

/// An action that is served as a command of the host.
#[derive(Debug)]
pub struct Commanding {
    /// The id that stands for it.
    id: RequestId,
    /// What a new session begins with.
    begins_with: Vec<AgentMessage>,
    /// A session is forked with the entry that is named, not before it.
    includes_entry: bool,
}

impl Engine {
    /// Does what an extension wants and takes a while, or concerns what is not said to the model.
    pub(in crate::engine) fn act_on(&mut self, process: CallId, action: FromExtension) {
        match action {
            FromExtension::SetActiveTools(it) => {
                self.choose_tools(&it.names);
                self.respond(process, it.id, Ok(None));
            }
            FromExtension::SetLabel(it) => self.set_label(process, it),
            FromExtension::SetLeaf(it) => self.set_leaf(process, it),
            FromExtension::Abort(it) => {
                self.act_as(process, it.id, |id| RpcCommand::Abort(AbortCommand { id }));
            }
            FromExtension::Compact(it) => {
                let custom_instructions = it.custom_instructions;
                self.act_as(process, it.id, |id| {
                    RpcCommand::Compact(CompactCommand { id, custom_instructions })
                });
            }
            FromExtension::NewSession(it) => self.act_new_session(process, it),
            FromExtension::Fork(it) => self.act_fork(process, it),
            FromExtension::SwitchSession(it) => {
                let session_path = it.session_path;
                self.act_as(process, Some(it.id), |id| {
                    RpcCommand::SwitchSession(SwitchSessionCommand { id, session_path })
                });
            }
            FromExtension::NavigateTree(it) => self.navigate(process, it),
            FromExtension::WaitForIdle(it) => {
                self.open_action(process, Some(it.id), Acting::Waiting);
            }
            FromExtension::RunTool(it) => self.run_tool_outside(process, it),
            FromExtension::Complete(it) => self.complete(process, it),
            FromExtension::Withdraw(it) => self.withdraw(process, &it.id),
            // Everything else is an answer, or was dealt with.
            _ => {}
        }
    }

    /// An action that comes too late for anything: it fails if somebody waits for it.
    pub(in crate::engine) fn decline(&mut self, process: CallId, action: &FromExtension) {
        if let Some(id) = action_id(action) {
            let text = errors::shutting_down(self.dialect.base());
            self.respond(process, Some(id.to_owned()), Err(text));
        }
    }

    /// Notes an action that is not over at once.
    pub(in crate::engine) fn open_action(
        &mut self,
        process: CallId,
        id: Option<String>,
        acting: Acting,
    ) -> CallId {
        let call = self.ids.call();
        self.actions.insert(call, Action { process, id, acting });
        call
    }

    /// An action is over: with what it gave, or with why it failed.
    pub(in crate::engine) fn end_action(&mut self, call: CallId, outcome: Result<Option<Value>, String>) {
        if let Some(Action { process, id, .. }) = self.actions.remove(&call) {
            self.respond(process, id, outcome);
        }
    }

    /// Tells an extension what came of an action.
    pub(in crate::engine) fn respond(
        &mut self,
        process: CallId,
        id: Option<String>,
        outcome: Result<Option<Value>, String>,
    ) {
        let Some(id) = id else { return };
        let response = match outcome {
            Ok(data) => ExtensionResponse { id, success: true, error: None, data },
            Err(error) => ExtensionResponse { id, success: false, error: Some(error), data: None },
        };
        self.tell_extension(process, response);
    }

    /// Serves an action as a command of the host.
    fn act_as(
        &mut self,
        process: CallId,
        own: Option<String>,
        command: impl FnOnce(Option<RequestId>) -> RpcCommand,
    ) {
        self.act_as_with(process, own, command, Vec::new(), false);
    }

    fn act_as_with(
        &mut self,
        process: CallId,
        own: Option<String>,
        command: impl FnOnce(Option<RequestId>) -> RpcCommand,
        begins_with: Vec<AgentMessage>,
        includes_entry: bool,
    ) {
        let id = RequestId::String(self.ids.uuid());
        let commanding = Commanding { id: id.clone(), begins_with, includes_entry };
        self.open_action(process, own, Acting::Command(commanding));
        self.command(command(Some(id)), false);
    }

    fn act_new_session(&mut self, process: CallId, action: ExtensionNewSession) {
        let ExtensionNewSession { id: own, parent_session, entries, .. } = action;
        match messages(entries.unwrap_or_default(), self.now.wall) {
            Ok(messages) => {
                let command = |id| RpcCommand::NewSession(NewSessionCommand { id, parent_session });
                self.act_as_with(process, Some(own), command, messages, false);
            }
            Err(text) => self.respond(process, Some(own), Err(text)),
        }
    }

    fn act_fork(&mut self, process: CallId, action: ExtensionFork) {
        let ExtensionFork { id: own, entry_id, position, .. } = action;
        let includes = position == Some(ForkPosition::At);
        let dialect = self.dialect;
        let command = |id| match dialect {
            Dialect::Xcsh => RpcCommand::Branch(BranchCommand { id, entry_id }),
            _ => RpcCommand::Fork(ForkCommand { id, entry_id }),
        };
        self.act_as_with(process, Some(own), command, Vec::new(), includes);
    }

    /// An action is not wanted any more.
    fn withdraw(&mut self, process: CallId, own: &str) {
        let is_it = |action: &Action| action.process == process && action.id.as_deref() == Some(own);
        let Some((&call, action)) = self.actions.iter().find(|(_, action)| is_it(action)) else { return };
        match &action.acting {
            Acting::Command(commanding) => {
                let id = commanding.id.clone();
                self.withdraw_compaction(call, &id);
            }
            Acting::Waiting => {
                let text = errors::withdrawn(self.dialect.base());
                self.end_action(call, Err(text));
            }
            // As a no of the host.
            Acting::Consent { .. } => self.end_consent(call),
            // Its end still comes.
            Acting::Tool => self.push(Output::CancelTool(call)),
            Acting::Asking(_) => self.stop_asking(call),
            Acting::Navigating(_) => {}
        }
    }

    /// A compaction is not wanted any more, whether it has begun or not; other commands go on.
    fn withdraw_compaction(&mut self, call: CallId, id: &RequestId) {
        let waits = |next: &AfterRun| matches!(next, AfterRun::Compact(it) | AfterRun::StoppedCompaction(it) if it.id.as_ref() == Some(id));
        if let Some(at) = self.after_run.iter().position(waits) {
            self.after_run.remove(at);
            let text = errors::compaction_cancelled(self.dialect.base());
            self.end_action(call, Err(text));
        } else if self.activity.compaction().is_some_and(|it: &Compaction| it.is_asked_by(id)) {
            self.cancel_compaction();
        }
    }

    /// A response to an action; gives it back if it is one to the host.
    pub(in crate::engine) fn acted(&mut self, response: RpcSuccess) -> Option<RpcSuccess> {
        let Some(call) = self.commanding(response.id()) else { return Some(response) };
        let mut response = serde_json::to_value(&response).unwrap_or_default();
        let data = response.get_mut("data").map(Value::take);
        self.end_action(call, Ok(data));
        None
    }

    /// The failure of an action; gives the text back if it is one of a command of the host.
    pub(in crate::engine) fn act_failed(&mut self, id: Option<&RequestId>, text: String) -> Option<String> {
        let Some(call) = self.commanding(id) else { return Some(text) };
        self.end_action(call, Err(text));
        None
    }

    /// What the session begins with that is asked for under this id.
    pub(in crate::engine) fn take_beginning(&mut self, id: Option<&RequestId>) -> Vec<AgentMessage> {
        let call = self.commanding(id);
        match call.and_then(|call| self.actions.get_mut(&call)).map(|action| &mut action.acting) {
            Some(Acting::Command(commanding)) => std::mem::take(&mut commanding.begins_with),
            _ => Vec::new(),
        }
    }

    /// Whether the fork that is asked for under this id ends with its entry, not before it.
    pub(in crate::engine) fn forks_at(&self, id: Option<&RequestId>) -> bool {
        let action = self.commanding(id).and_then(|call| self.actions.get(&call));
        matches!(action.map(|action| &action.acting), Some(Acting::Command(it)) if it.includes_entry)
    }

    /// The action that is served under this id.
    fn commanding(&self, id: Option<&RequestId>) -> Option<CallId> {
        let id = id?;
        let is_it = |action: &Action| matches!(&action.acting, Acting::Command(it) if it.id == *id);
        self.actions.iter().find(|(_, action)| is_it(action)).map(|(call, _)| *call)
    }

    /// The process of an extension is gone: what it alone wanted is not done any more. What it has begun goes on.
    pub(in crate::engine) fn actions_lost(&mut self, process: CallId) {
        let of_it = self.actions.extract_if(.., |_, action| {
            let lasts = matches!(action.acting, Acting::Command(_) | Acting::Navigating(_));
            action.process == process && !lasts
        });
        let lost: Vec<_> = of_it.collect();
        for (call, action) in lost {
            match action.acting {
                Acting::Tool => self.push(Output::CancelTool(call)),
                Acting::Asking(_) => self.cancel_model(call),
                // Its dialogs are over by now.
                Acting::Consent { .. } | Acting::Waiting | Acting::Command(_) | Acting::Navigating(_) => {}
            }
        }
    }

    /// The process ends: nothing comes of what is still under way.
    pub(in crate::engine) fn end_actions(&mut self) {
        let text = errors::shutting_down(self.dialect.base());
        while let Some((_, Action { process, id, .. })) = self.actions.pop_first() {
            self.respond(process, id, Err(text.clone()));
        }
    }
}

/// The messages that a session is to begin with. One without a time has this one.
fn messages(entries: Vec<JsonObject>, now: u64) -> Result<Vec<AgentMessage>, String> {
    let read = |(at, mut entry): (usize, JsonObject)| {
        entry.entry("timestamp").or_insert_with(|| now.into());
        serde_json::from_value(Value::Object(entry)).map_err(|error| format!("entries[{at}]: {error}"))
    };
    entries.into_iter().enumerate().map(read).collect()
}

/// The id of an action, if it has one.
fn action_id(action: &FromExtension) -> Option<&str> {
    match action {
        FromExtension::SendMessage(it) => it.id.as_deref(),
        FromExtension::SendUserMessage(it) => it.id.as_deref(),
        FromExtension::AppendEntry(it) => it.id.as_deref(),
        FromExtension::SetModel(it) => it.id.as_deref(),
        FromExtension::SetThinkingLevel(it) => it.id.as_deref(),
        FromExtension::SetSessionName(it) => it.id.as_deref(),
        FromExtension::Shutdown(it) => it.id.as_deref(),
        FromExtension::SetActiveTools(it) => it.id.as_deref(),
        FromExtension::SetLabel(it) => it.id.as_deref(),
        FromExtension::SetLeaf(it) => it.id.as_deref(),
        FromExtension::Abort(it) => it.id.as_deref(),
        FromExtension::Compact(it) => it.id.as_deref(),
        FromExtension::NewSession(it) => Some(&it.id),
        FromExtension::Fork(it) => Some(&it.id),
        FromExtension::SwitchSession(it) => Some(&it.id),
        FromExtension::NavigateTree(it) => Some(&it.id),
        FromExtension::WaitForIdle(it) => Some(&it.id),
        FromExtension::RunTool(it) => Some(&it.id),
        FromExtension::Complete(it) => Some(&it.id),
        FromExtension::RegisterProvider(it) => it.id.as_deref(),
        FromExtension::UnregisterProvider(it) => it.id.as_deref(),
        _ => None,
    }
}
