//! Dialogs of the server, as permission requests and elicitations of ACP.

use super::session::PumpHandle;
use agent_client_protocol::{
    Client as AcpClient,
    v1::{
        ConnectionTo,
        schema::{
            ClientCapabilities, ContentBlock, CreateElicitationRequest, ElicitationAction,
            ElicitationContentValue, ElicitationFormMode, ElicitationMode, ElicitationPropertySchema,
            ElicitationSchema, ElicitationScope, ElicitationSessionScope, NoticeSeverity, PermissionOption,
            PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, SessionId,
            StringPropertySchema, TextContent, ToolCallContent, ToolCallStatus, ToolCallUpdate,
            ToolCallUpdateFields, ToolKind,
        },
    },
};
use pi_rpc_client::{DialogHandler, DialogResponse};
use pi_rpc_protocol::{RpcExtensionUIRequest, texts};
use std::{future::pending, time::Duration};
use tokio::{sync::watch, time::sleep};

/// What dialogs need of their session.
#[derive(Clone)]
pub struct DialogContext {
    /// The connection to the client.
    pub connection: ConnectionTo<AcpClient>,
    /// The session, once the client knows it.
    pub session: watch::Receiver<Option<(SessionId, PumpHandle)>>,
    /// Whether the client shows forms.
    pub has_forms: bool,
}

/// The member of the form with the user's text.
const VALUE: &str = "value";

impl DialogContext {
    /// A session that the client will know.
    pub fn new(
        connection: ConnectionTo<AcpClient>,
        session: watch::Receiver<Option<(SessionId, PumpHandle)>>,
        client: &ClientCapabilities,
    ) -> Self {
        let has_forms = client.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some());
        Self { connection, session, has_forms }
    }

    /// A handler that passes dialogs on to the client.
    pub fn handler(self) -> DialogHandler {
        DialogHandler::new(move |request| {
            let context = self.clone();
            async move { context.respond(request).await }
        })
    }

    /// Shows the dialog until the prompt is cancelled; after its timeout, the server has gone on by itself.
    async fn respond(mut self, request: RpcExtensionUIRequest) -> DialogResponse {
        // Ends with the session, which then needs no response.
        let Ok(session) = self.session.wait_for(Option::is_some).await.map(|session| session.clone()) else {
            return DialogResponse::Cancelled;
        };
        let Some((id, pump)) = session else { return DialogResponse::Cancelled };
        tokio::select! {
            response = self.show(&id, &pump, &request) => response,
            () = pump.dialogs_cancelled() => DialogResponse::Cancelled,
            () = expired(timeout_of(&request)) => DialogResponse::Cancelled,
        }
    }

    async fn show(
        &self,
        id: &SessionId,
        pump: &PumpHandle,
        request: &RpcExtensionUIRequest,
    ) -> DialogResponse {
        match request {
            RpcExtensionUIRequest::Select(select) => {
                let is_consent = select.options.contains(&texts::allow_once());
                let call = if is_consent { pump.last_call().await } else { None };
                let call = call.unwrap_or_else(|| dialog_call(&select.id, &select.title, None));
                let options = select.options.iter().enumerate();
                let options =
                    options.map(|(index, text)| option(index, text, kind_of(text, is_consent))).collect();
                match self.permission(id, call, options).await {
                    Some(index) => {
                        let chosen = select.options.get(index).cloned();
                        chosen.map_or(DialogResponse::Cancelled, DialogResponse::Value)
                    }
                    None => DialogResponse::Cancelled,
                }
            }
            RpcExtensionUIRequest::Confirm(confirm) => {
                let call = dialog_call(&confirm.id, &confirm.title, Some(&confirm.message));
                let options = vec![
                    option(0, "Yes", PermissionOptionKind::AllowOnce),
                    option(1, "No", PermissionOptionKind::RejectOnce),
                ];
                match self.permission(id, call, options).await {
                    Some(index) => DialogResponse::Confirmed(index == 0),
                    None => DialogResponse::Cancelled,
                }
            }
            RpcExtensionUIRequest::Input(input) => {
                let schema = StringPropertySchema::new().description(input.placeholder.clone());
                self.elicit(id, pump, &input.title, schema).await
            }
            RpcExtensionUIRequest::Editor(editor) => {
                let schema = StringPropertySchema::new().default_value(editor.prefill.clone());
                self.elicit(id, pump, &editor.title, schema).await
            }
            _ => DialogResponse::Cancelled,
        }
    }

    /// Lets the user choose an option; `None`: they have not.
    async fn permission(
        &self,
        id: &SessionId,
        call: ToolCallUpdate,
        options: Vec<PermissionOption>,
    ) -> Option<usize> {
        let request = RequestPermissionRequest::new(id.clone(), call, options);
        match self.connection.send_request(request).block_task().await {
            Ok(response) => match response.outcome {
                RequestPermissionOutcome::Selected(selected) => selected.option_id.0.parse().ok(),
                _ => None,
            },
            Err(error) => {
                tracing::warn!("session/request_permission: {error}");
                None
            }
        }
    }

    /// Lets the user enter a text.
    async fn elicit(
        &self,
        id: &SessionId,
        pump: &PumpHandle,
        title: &str,
        schema: StringPropertySchema,
    ) -> DialogResponse {
        if !self.has_forms {
            let text = format!("{title}: this editor cannot ask for a text, so the dialog was cancelled");
            pump.notice(NoticeSeverity::Warning, text).await;
            return DialogResponse::Cancelled;
        }
        let form = ElicitationSchema::new().property(VALUE, ElicitationPropertySchema::String(schema), true);
        let scope = ElicitationScope::Session(ElicitationSessionScope::new(id.clone()));
        let mode = ElicitationMode::Form(ElicitationFormMode::new(scope, form));
        let request = CreateElicitationRequest::new(mode, title);
        match self.connection.send_request(request).block_task().await {
            Ok(response) => match response.action {
                ElicitationAction::Accept(accept) => match accept.content.and_then(|mut it| it.remove(VALUE))
                {
                    Some(ElicitationContentValue::String(text)) => DialogResponse::Value(text),
                    _ => DialogResponse::Cancelled,
                },
                _ => DialogResponse::Cancelled,
            },
            Err(error) => {
                tracing::warn!("elicitation/create: {error}");
                DialogResponse::Cancelled
            }
        }
    }
}

/// The call that stands for a dialog about no tool.
fn dialog_call(id: &str, title: &str, message: Option<&str>) -> ToolCallUpdate {
    let mut fields = ToolCallUpdateFields::new()
        .title(title.to_owned())
        .kind(ToolKind::Other)
        .status(ToolCallStatus::Pending);
    if let Some(message) = message {
        let block = ContentBlock::Text(TextContent::new(message));
        fields = fields.content(vec![ToolCallContent::from(block)]);
    }
    ToolCallUpdate::new(format!("dialog-{id}"), fields)
}

fn option(index: usize, text: &str, kind: PermissionOptionKind) -> PermissionOption {
    PermissionOption::new(index.to_string(), text, kind)
}

/// The kind of an option, by the texts of consent; every other choice lets the server go on.
fn kind_of(text: &str, is_consent: bool) -> PermissionOptionKind {
    match text {
        text if text == texts::deny() => PermissionOptionKind::RejectOnce,
        text if is_consent && text != texts::allow_once() => PermissionOptionKind::AllowAlways,
        _ => PermissionOptionKind::AllowOnce,
    }
}

fn timeout_of(request: &RpcExtensionUIRequest) -> Option<Duration> {
    let millis = match request {
        RpcExtensionUIRequest::Select(select) => select.timeout,
        RpcExtensionUIRequest::Confirm(confirm) => confirm.timeout,
        RpcExtensionUIRequest::Input(input) => input.timeout,
        _ => None,
    };
    millis.map(Duration::from_millis)
}

/// Waits for the end of a timeout; for ever without one.
async fn expired(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => sleep(timeout).await,
        None => pending().await,
    }
}
