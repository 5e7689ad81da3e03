//! What the task does with the events of the agent: updates, requests for permission, the end of a turn and of the agent.

use super::{CANCEL_TIMEOUT, PendingCommand, PendingPermission, Task};
use crate::backend::{
    connection::{AgentEvent, error_text},
    permission,
};
use agent_client_protocol::v1::{
    Responder,
    schema::{
        AvailableCommand, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
        SessionNotification, SessionUpdate, StopReason,
    },
};
use pi_rpc_engine::{CallId, Input};
use pi_rpc_protocol::{
    CommandSource, RpcExtensionUIResponse, SlashCommand, SourceInfo, SourceOrigin, SourceScope,
};

impl Task {
    pub(super) async fn on_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Update(notification) => self.on_update(*notification).await,
            AgentEvent::Permission(request, responder) => self.on_permission(*request, responder).await,
            AgentEvent::Terminal(request, responder) => {
                self.commands.push(PendingCommand { request, responder });
                self.start_commands();
            }
            AgentEvent::PromptEnded(Err(_)) if self.connection.as_ref().is_some_and(|it| !it.is_open()) => {
                // The agent is gone; its end follows.
            }
            AgentEvent::PromptEnded(ended) => match ended {
                Ok(response) => self.on_turn_ended(Ok(response.stop_reason)).await,
                Err(error) => {
                    // The prompt was not taken: a retry sends it again.
                    if let Some(open) = &self.turn {
                        self.sessions.remove_sent(&open.session_id, open.sent);
                    }
                    let text = format!("session/prompt was refused by the agent: {}", error_text(&error));
                    self.on_turn_ended(Err(text)).await;
                }
            },
            AgentEvent::Closed(reason) => self.on_closed(reason).await,
        }
    }

    async fn on_update(&mut self, SessionNotification { session_id, update, .. }: SessionNotification) {
        match update {
            SessionUpdate::AvailableCommandsUpdate(update) => {
                let commands =
                    update.available_commands.into_iter().map(|it| self.slash_command(it)).collect();
                // Fails only when the loop has ended.
                let _ = self.inputs.send(Input::AgentCommands(commands)).await;
                return;
            }
            SessionUpdate::CurrentModeUpdate(update) => {
                if let Some(modes) = self.sessions.settings_mut(&session_id).and_then(|it| it.modes.as_mut())
                {
                    modes.current_mode_id = update.current_mode_id;
                }
                return;
            }
            SessionUpdate::ConfigOptionUpdate(update) => {
                if let Some(settings) = self.sessions.settings_mut(&session_id) {
                    settings.options = update.config_options;
                }
                return;
            }
            _ => {}
        }
        let Some(open) = self.turn.as_mut().filter(|open| open.session == session_id) else {
            return tracing::debug!("an update of the agent outside of a prompt turn is dropped");
        };
        if open.cancel_due.is_some() {
            return;
        }
        let id = match &update {
            SessionUpdate::ToolCallUpdate(update) => Some(update.tool_call_id.0.to_string()),
            _ => None,
        };
        open.turn.push(update);
        if let Some(id) = id {
            self.report_call(&id);
        }
        self.emit().await;
    }

    /// Opens a dialog for the user. It may belong to a call that was not announced yet.
    pub(super) async fn on_permission(
        &mut self,
        request: RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) {
        let RequestPermissionRequest { tool_call, options, session_id, .. } = request;
        let open = self.turn.as_mut().filter(|it| it.session == session_id && it.cancel_due.is_none());
        let Some(open) = open else {
            let outcome = RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
            // Fails only once the connection is closed.
            let _ = responder.respond(outcome);
            return;
        };
        let id = tool_call.tool_call_id.0.to_string();
        let title = tool_call.fields.title.clone();
        open.turn.update_call(tool_call);
        let title = title.or_else(|| open.turn.title(&id).map(str::to_owned)).unwrap_or(id);
        self.dialogs += 1;
        let dialog = Box::new(permission::dialog(&title, &options));
        self.permissions.insert(self.dialogs, PendingPermission { responder, options });
        self.emit().await;
        // The user sees the call before the question.
        if let Some(open) = &mut self.turn {
            open.turn.end_calls();
        }
        self.emit().await;
        let _ = self.inputs.send(Input::AgentDialog { request: self.dialogs, dialog }).await;
    }

    pub(super) fn close_dialog(&mut self, request: CallId, response: Option<&RpcExtensionUIResponse>) {
        if let Some(PendingPermission { responder, options }) = self.permissions.remove(&request) {
            let outcome = permission::outcome(&options, response);
            // Fails only once the connection is closed.
            let _ = responder.respond(RequestPermissionResponse::new(outcome));
        }
    }

    /// Withdraws the dialogs of a turn that is over.
    pub(super) async fn withdraw_dialogs(&mut self) {
        for (request, PendingPermission { responder, .. }) in std::mem::take(&mut self.permissions) {
            let outcome = RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
            let _ = responder.respond(outcome);
            let _ = self.inputs.send(Input::AgentDialogWithdrawn(request)).await;
        }
    }

    /// Handles the end of the turn.
    async fn on_turn_ended(&mut self, end: Result<StopReason, String>) {
        let Some(open) = &mut self.turn else { return };
        if open.cancel_due.is_some() {
            return self.close_turn().await;
        }
        open.turn.end(end);
        let running: Vec<String> = open.tools.keys().cloned().collect();
        for id in running {
            self.report_call(&id);
        }
        self.emit().await;
    }

    pub(super) async fn on_cancel_overdue(&mut self) {
        let seconds = CANCEL_TIMEOUT.as_secs();
        tracing::warn!(
            "the agent has not ended a cancelled turn for {seconds} seconds: its process is ended"
        );
        self.drop_connection().await;
        self.close_turn().await;
    }

    /// Ends the turn of an agent that is gone: the run fails, and the next prompt starts the agent again.
    pub(super) async fn on_closed(&mut self, reason: Option<String>) {
        let Some(connection) = &mut self.connection else { return };
        let text = connection.ending(reason).await;
        tracing::warn!("{text}");
        self.drop_connection().await;
        match &mut self.turn {
            Some(open) if open.cancel_due.is_none() => {
                open.steering = None;
                self.sessions.remove_sent(&open.session_id, open.sent);
                self.on_turn_ended(Err(text)).await;
            }
            _ => self.close_turn().await,
        }
    }

    pub(super) async fn drop_connection(&mut self) {
        self.sessions.close_all();
        self.commands.clear();
        if let Some(connection) = self.connection.take() {
            connection.end().await;
        }
    }

    fn slash_command(&self, command: AvailableCommand) -> SlashCommand {
        let program = self.options.program.to_string_lossy().into_owned();
        SlashCommand {
            name: command.name,
            description: Some(command.description),
            source: CommandSource::Extension,
            location: None,
            path: Some(program.clone()),
            source_info: Some(SourceInfo {
                path: program,
                source: "acp".to_owned(),
                scope: SourceScope::Temporary,
                origin: SourceOrigin::TopLevel,
                base_dir: None,
                changelog_path: None,
            }),
        }
    }
}
