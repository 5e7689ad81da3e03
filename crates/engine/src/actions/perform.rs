//! Performs the actions of extensions: dispatch, messages, commands on the session.
//!
//! What a command of the host does, too, is served as that command, under an id that no host can know; the response then
//! goes to the extension alone. Source: own; pi source for what the actions do.

use crate::{
    actions::task::{ActionTask, ServedCommand},
    core::Engine,
    extensions::host::Action,
    io::{CallId, Output},
    prompt::{Prompt, Recipient, parts},
    run::deferred::AfterRun,
    store::after_append::{AfterAppend, ChangeResponse, Rollback},
};
use pi_rpc_protocol::{
    AbortCommand, AgentMessage, BranchCommand, CompactCommand, DeliverAs, ExtensionFork,
    ExtensionNavigateTree, ExtensionNewSession, ExtensionSendMessage, ExtensionSendUserMessage, ForkCommand,
    ForkPosition, FromExtension, JsonObject, NavigateTreeCommand, NewSessionCommand, PromptCommand,
    RequestId, RpcCommand, RpcCommandKind, RpcSuccess, StreamingBehavior, SwitchSessionCommand, errors,
};
use pi_rpc_session::NewEntry;
use serde_json::Value;
use std::sync::Arc;

impl Engine {
    /// Performs an action.
    pub(crate) fn perform_action(&mut self, process: CallId, action: FromExtension) {
        let recipient = |id: Option<String>| Recipient::Extension { process, id, event: None };
        match action {
            FromExtension::SendMessage(it) => self.send_message(process, it),
            FromExtension::SendUserMessage(it) => self.send_user_message(process, it),
            FromExtension::AppendEntry(it) => {
                let appended = self.append(NewEntry::Custom { kind: it.custom_type, data: it.data });
                let before = Rollback { changes: 1, appended, ..self.rollback_point() };
                self.respond_after_append(before, ChangeResponse::Success(recipient(it.id)));
            }
            FromExtension::SetModel(it) => match self.find_usable(&it.provider, &it.model_id) {
                Some(at) => {
                    let before = self.rollback_point();
                    self.switch_model(at);
                    self.append_model_change(before, ChangeResponse::Success(recipient(it.id)));
                }
                None => {
                    let text = errors::model_not_found(self.dialect.base(), &it.provider, &it.model_id);
                    self.respond_failure(&recipient(it.id), text);
                }
            },
            FromExtension::SetThinkingLevel(it) => {
                let before = self.rollback_point();
                self.models.level = self.clamp_level(it.level);
                self.append_level_change(before, ChangeResponse::Success(recipient(it.id)));
            }
            FromExtension::SetSessionName(it) => self.rename(&it.name, recipient(it.id)),
            FromExtension::Shutdown(it) => {
                self.respond_success(&recipient(it.id));
                self.drain();
            }
            FromExtension::SetActiveTools(it) => {
                self.tools.choose(&it.names);
                self.rebuild_instructions();
                self.respond(process, it.id, Ok(None));
            }
            FromExtension::SetLabel(it) => self.set_label(process, it),
            FromExtension::SetLeaf(it) => self.set_leaf(process, it),
            FromExtension::Abort(it) => {
                self.serve_as_command(process, it.id, |id| RpcCommand::Abort(AbortCommand { id }));
            }
            FromExtension::Compact(it) => {
                let custom_instructions = it.custom_instructions;
                self.serve_as_command(process, it.id, |id| {
                    RpcCommand::Compact(CompactCommand { id, custom_instructions })
                });
            }
            FromExtension::NewSession(it) => self.act_new_session(process, it),
            FromExtension::Fork(it) => self.act_fork(process, it),
            FromExtension::SwitchSession(it) => {
                let session_path = it.session_path;
                self.serve_as_command(process, Some(it.id), |id| {
                    RpcCommand::SwitchSession(SwitchSessionCommand { id, session_path })
                });
            }
            FromExtension::NavigateTree(it) => self.act_navigate(process, it),
            FromExtension::WaitForIdle(it) => {
                self.open_task(process, Some(it.id), ActionTask::AwaitIdle);
            }
            FromExtension::RunTool(it) => self.run_action_tool(process, it),
            FromExtension::CallTool(it) => self.call_nested_tool(process, it),
            FromExtension::Complete(it) => self.request_completion(process, it),
            FromExtension::Withdraw(it) => self.withdraw(process, &it.id),
            // Handled by the component.
            FromExtension::Register(_)
            | FromExtension::Accept(_)
            | FromExtension::Done(_)
            | FromExtension::Failed(_)
            | FromExtension::ToolUpdate(_)
            | FromExtension::ToolResult(_)
            | FromExtension::Ui(_)
            | FromExtension::UiCancel(_)
            | FromExtension::Error(_)
            | FromExtension::Query(_)
            | FromExtension::ModelEvent(_)
            | FromExtension::RegisterProvider(_)
            | FromExtension::UnregisterProvider(_)
            | FromExtension::RegisterVirtualModel(_)
            | FromExtension::UnregisterVirtualModel(_) => {}
        }
    }

    /// Registers an action that does not end at once, with its task.
    pub(crate) fn open_task(&mut self, process: CallId, id: Option<String>, task: ActionTask) -> CallId {
        let outlives_process = matches!(task, ActionTask::Command(_));
        let action = Action { process, id, outlives_process };
        let call = self.with_extensions(|host, context| host.open_action(action, context));
        self.requests.actions.0.insert(call, task);
        call
    }

    /// Ends an action with its outcome.
    pub(crate) fn end_action(&mut self, call: CallId, outcome: Result<Option<Value>, String>) {
        self.requests.actions.0.remove(&call);
        self.with_extensions(|host, _| host.end_action(call, outcome));
    }

    /// Responds to an action of an extension.
    pub(crate) fn respond(
        &mut self,
        process: CallId,
        id: Option<String>,
        outcome: Result<Option<Value>, String>,
    ) {
        self.with_extensions(|host, _| host.respond(process, id, outcome));
    }

    /// Drops the task of an extension that is gone.
    pub(crate) fn abandon_action(&mut self, call: CallId) {
        match self.requests.actions.0.remove(&call) {
            Some(ActionTask::Tool) => {
                self.requests.tools.remove(&call);
                self.push(Output::CancelTool(call));
            }
            Some(ActionTask::Model) => drop(self.cancel_model(call)),
            Some(ActionTask::NestedCall(at)) => self.cancel_nested_call(at),
            // Its dialog is closed by now.
            Some(ActionTask::Consent { .. } | ActionTask::AwaitIdle | ActionTask::Command(_)) | None => {}
        }
    }

    /// Serves an action like a command of the host.
    fn serve_as_command(
        &mut self,
        process: CallId,
        own: Option<String>,
        command: impl FnOnce(Option<RequestId>) -> RpcCommand,
    ) {
        self.serve_as_command_with(process, own, command, Vec::new(), false);
    }

    fn serve_as_command_with(
        &mut self,
        process: CallId,
        own: Option<String>,
        command: impl FnOnce(Option<RequestId>) -> RpcCommand,
        first_messages: Vec<AgentMessage>,
        includes_entry: bool,
    ) {
        let id = RequestId::String(self.ids.uuid());
        let served = ServedCommand { id: id.clone(), first_messages, includes_entry };
        self.open_task(process, own, ActionTask::Command(served));
        self.serve_command(command(Some(id)), false);
    }

    /// Serves `new_session` of an extension.
    fn act_new_session(&mut self, process: CallId, action: ExtensionNewSession) {
        let ExtensionNewSession { id: own, parent_session, entries, .. } = action;
        match messages(entries.unwrap_or_default(), self.now.wall) {
            Ok(messages) => {
                let command = |id| RpcCommand::NewSession(NewSessionCommand { id, parent_session });
                self.serve_as_command_with(process, Some(own), command, messages, false);
            }
            Err(text) => self.respond(process, Some(own), Err(text)),
        }
    }

    /// Serves `fork` of an extension.
    fn act_fork(&mut self, process: CallId, action: ExtensionFork) {
        let ExtensionFork { id: own, entry_id, position, .. } = action;
        let includes = position == Some(ForkPosition::At);
        let is_branch = RpcCommandKind::Branch.is_in(self.dialect.base());
        let command = |id| match is_branch {
            true => RpcCommand::Branch(BranchCommand { id, entry_id }),
            false => RpcCommand::Fork(ForkCommand { id, entry_id }),
        };
        self.serve_as_command_with(process, Some(own), command, Vec::new(), includes);
    }

    /// Serves `navigate_tree` of an extension.
    fn act_navigate(&mut self, process: CallId, action: ExtensionNavigateTree) {
        let ExtensionNavigateTree { id: own, origin: _, target_id, summarize, .. } = action;
        let (custom_instructions, label) = (action.custom_instructions, action.label);
        let replace_instructions = action.replace_instructions;
        self.serve_as_command(process, Some(own), |id| {
            RpcCommand::NavigateTree(NavigateTreeCommand {
                id,
                target_id,
                summarize,
                custom_instructions,
                replace_instructions,
                label,
            })
        });
    }

    /// An extension withdraws an action.
    fn withdraw(&mut self, process: CallId, own: &str) {
        let Some(call) = self.extensions.action(process, own) else { return };
        match self.requests.actions.0.get(&call) {
            Some(ActionTask::Command(command)) => {
                let id = command.id.clone();
                self.withdraw_compaction(call, &id);
            }
            Some(ActionTask::AwaitIdle) => {
                let text = errors::withdrawn(self.dialect.base());
                self.end_action(call, Err(text));
            }
            // As if the host had not consented.
            Some(ActionTask::Consent { .. }) => {
                self.with_extensions(|host, context| host.close_consent(call, context));
            }
            // Its end still comes.
            Some(ActionTask::Tool) => {
                self.push(Output::CancelTool(call));
            }
            Some(&ActionTask::NestedCall(at)) => self.cancel_nested_call(at),
            Some(ActionTask::Model) => self.stop_model_action(call),
            None => {}
        }
    }

    /// Cancels a compaction that an extension has requested, whether it has begun or not.
    fn withdraw_compaction(&mut self, call: CallId, id: &RequestId) {
        let waits = |next: &AfterRun| matches!(next, AfterRun::Compact(it) | AfterRun::AbortedCompaction(it) if it.id.as_ref() == Some(id));
        if let Some(at) = self.backlog.after_run.iter().position(waits) {
            self.backlog.after_run.remove(at);
            let text = errors::compaction_cancelled(self.dialect.base());
            self.end_action(call, Err(text));
        } else if self.activity.compaction().is_some_and(|it| it.is_requested_by(id)) {
            self.cancel_compaction();
        }
    }

    /// Ends the action that a response belongs to; gives the response back if it is for the host.
    pub(crate) fn take_action_response(&mut self, response: RpcSuccess) -> Option<RpcSuccess> {
        let Some(call) = self.requests.actions.command(response.id()) else { return Some(response) };
        let mut response = serde_json::to_value(&response).unwrap_or_default();
        let data = response.get_mut("data").map(Value::take);
        self.end_action(call, Ok(data));
        None
    }

    /// Fails the action that an error belongs to; gives the error back if it is for the host.
    pub(crate) fn take_action_failure(&mut self, id: Option<&RequestId>, text: String) -> Option<String> {
        let Some(call) = self.requests.actions.command(id) else { return Some(text) };
        self.end_action(call, Err(text));
        None
    }

    /// Takes the first messages of the session that the command with this id opens.
    pub(crate) fn take_first_messages(&mut self, id: Option<&RequestId>) -> Vec<AgentMessage> {
        let call = self.requests.actions.command(id);
        match call.and_then(|call| self.requests.actions.0.get_mut(&call)) {
            Some(ActionTask::Command(command)) => std::mem::take(&mut command.first_messages),
            _ => Vec::new(),
        }
    }

    /// Whether the fork under this id ends with its entry, not before it.
    pub(crate) fn forks_at(&self, id: Option<&RequestId>) -> bool {
        let task = self.requests.actions.command(id).and_then(|call| self.requests.actions.0.get(&call));
        matches!(task, Some(ActionTask::Command(command)) if command.includes_entry)
    }

    /// Serves `send_message`: adds a message to the open run, a queue or the session.
    fn send_message(&mut self, process: CallId, sent: ExtensionSendMessage) {
        let message = AgentMessage::Custom(self.custom_message(sent.message));
        let recipient = Recipient::Extension { process, id: sent.id, event: Some(SEND_MESSAGE) };
        let triggers = sent.trigger_turn.unwrap_or(false);
        if let Some(error) = self.no_room() {
            return self.respond_failure(&recipient, error);
        }
        let waits = self.is_under_way();
        match sent.deliver_as {
            Some(DeliverAs::NextTurn) => self.queues.next_prompt.push(message),
            Some(DeliverAs::FollowUp) if waits => self.queues.follow_up.push(message),
            _ if waits => self.queues.steering.push(message),
            // A prompt may still open no run.
            _ if triggers && self.has_prompt_under_way() => self.queues.triggering.push(message),
            _ if triggers => {
                if let Some(error) = self.models.choice().unusable.clone() {
                    return self.respond_failure(&recipient, error);
                }
                self.start_run([message.into()]);
            }
            _ => {
                // The message is emitted once it is persisted.
                let message = Arc::new(message);
                self.append(NewEntry::Message(message.clone()));
                return self.store.after_append(AfterAppend::ExtensionMessage(message, recipient));
            }
        }
        self.respond_success(&recipient);
    }

    /// Serves `send_user_message`: a prompt on behalf of the user.
    fn send_user_message(&mut self, process: CallId, sent: ExtensionSendUserMessage) {
        let recipient = Recipient::Extension { process, id: sent.id, event: Some(SEND_USER_MESSAGE) };
        if let Some(error) = self.no_room() {
            return self.respond_failure(&recipient, error);
        }
        let streaming_behavior = match sent.deliver_as {
            Some(DeliverAs::Steer) => Some(StreamingBehavior::Steer),
            Some(DeliverAs::FollowUp) => Some(StreamingBehavior::FollowUp),
            Some(DeliverAs::NextTurn) | None => None,
        };
        let (text, images) = parts(&sent.content);
        let command = PromptCommand {
            id: None,
            message: text.clone(),
            images: images.clone(),
            streaming_behavior,
            locale: None,
        };
        self.serve_prompt(Prompt {
            command: RpcCommand::Prompt(command),
            recipient,
            text,
            images,
            is_aborted: false,
        });
    }
}

/// Parses the messages that a session is to begin with; `now` is the default time.
fn messages(entries: Vec<JsonObject>, now: u64) -> Result<Vec<AgentMessage>, String> {
    let read = |(at, mut entry): (usize, JsonObject)| {
        entry.entry("timestamp").or_insert_with(|| now.into());
        serde_json::from_value(Value::Object(entry)).map_err(|error| format!("entries[{at}]: {error}"))
    };
    entries.into_iter().enumerate().map(read).collect()
}

/// Stands for the event in an `extension_error`.
const SEND_MESSAGE: &str = "send_message";
const SEND_USER_MESSAGE: &str = "send_user_message";
