//! A small agent of the Agent Client Protocol, for tests of `pi-rpc serve --backend acp`: the first word of a prompt
//! selects what it does.

use agent_client_protocol::{
    Agent, ByteStreams, Client, Error,
    v1::{
        ConnectionTo,
        schema::{
            AgentCapabilities, AvailableCommand, AvailableCommandsUpdate, CancelNotification, ContentBlock,
            ContentChunk, CreateTerminalRequest, Diff, Implementation, InitializeRequest, InitializeResponse,
            NewSessionRequest, NewSessionResponse, PermissionOption, PermissionOptionKind, PromptRequest,
            PromptResponse, ReadTextFileRequest, RequestPermissionOutcome, RequestPermissionRequest,
            SessionId, SessionNotification, SessionUpdate, StopReason, Terminal, ToolCall, ToolCallContent,
            ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, WaitForTerminalExitRequest,
            WriteTextFileRequest,
        },
    },
};
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

/// What a prompt turn needs: the connection, the session, and whether it is cancelled.
struct Turn {
    client: ConnectionTo<Client>,
    session: SessionId,
    cancelled: Arc<Notify>,
}

impl Turn {
    fn send(&self, update: SessionUpdate) -> Result<(), Error> {
        self.client.send_notification(SessionNotification::new(self.session.clone(), update))
    }

    fn send_text(&self, text: &str) -> Result<(), Error> {
        self.send(SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into())))
    }

    fn begin(&self, id: &str, title: &str, kind: ToolKind) -> Result<(), Error> {
        self.send(SessionUpdate::ToolCall(ToolCall::new(id.to_owned(), title).kind(kind)))
    }

    fn update(&self, id: &str, fields: ToolCallUpdateFields) -> Result<(), Error> {
        self.send(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)))
    }

    fn end(&self, id: &str, text: &str) -> Result<(), Error> {
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
        self.update(id, fields.content(vec![ToolCallContent::from(ContentBlock::from(text))]))
    }

    async fn run(self, prompt: &str) -> Result<StopReason, Error> {
        let (word, rest) = prompt.split_once(' ').unwrap_or((prompt, ""));
        match word {
            "permission" => self.request_permission().await?,
            "two" => {
                self.begin("a", "First", ToolKind::Read)?;
                self.begin("b", "Second", ToolKind::Read)?;
                self.end("b", "2")?;
                self.end("a", "1")?;
                self.send_text("both")?;
            }
            "edit" => self.edit(rest).await?,
            "terminal" => self.use_terminal(rest).await?,
            "flood" => {
                for number in 0..2000 {
                    self.send_text(&format!("{number:0>999}\n"))?;
                }
            }
            "separators" => self.send_text("a\u{2028}b\u{2029}c")?,
            "die" => {
                self.send_text("I am about")?;
                eprintln!("out of luck");
                // Time for the chunk to be written: the process takes its queue along.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                std::process::exit(3);
            }
            "wait" => {
                self.send_text("waiting")?;
                self.cancelled.notified().await;
                return Ok(StopReason::Cancelled);
            }
            "hang" => {
                self.begin("h", "Hang", ToolKind::Execute)?;
                self.cancelled.notified().await;
                return Ok(StopReason::Cancelled);
            }
            "refuse" => return Ok(StopReason::Refusal),
            _ => {
                self.send(SessionUpdate::AgentThoughtChunk(ContentChunk::new("Hm.".into())))?;
                self.send_text(&format!("You said: {prompt}"))?;
            }
        }
        Ok(StopReason::EndTurn)
    }

    async fn request_permission(&self) -> Result<(), Error> {
        self.begin("p", "Delete everything", ToolKind::Delete)?;
        let options = vec![
            PermissionOption::new("yes", "Allow", PermissionOptionKind::AllowOnce),
            PermissionOption::new("no", "Reject", PermissionOptionKind::RejectOnce),
        ];
        let call = ToolCallUpdate::new("p", ToolCallUpdateFields::new());
        let request = RequestPermissionRequest::new(self.session.clone(), call, options);
        let response = self.client.send_request(request).block_task().await?;
        match response.outcome {
            RequestPermissionOutcome::Selected(selected) => {
                self.end("p", &format!("chosen: {}", selected.option_id))
            }
            _ => self.end("p", "cancelled"),
        }
    }

    async fn edit(&self, path: &str) -> Result<(), Error> {
        self.begin("e", "Edit", ToolKind::Edit)?;
        let read = ReadTextFileRequest::new(self.session.clone(), path);
        let old = self.client.send_request(read).block_task().await?.content;
        let new = old.to_uppercase();
        let write = WriteTextFileRequest::new(self.session.clone(), path, new.clone());
        self.client.send_request(write).block_task().await?;
        let diff = ToolCallContent::Diff(Diff::new(path, new).old_text(old));
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
        self.update("e", fields.content(vec![diff]))?;
        self.send_text("edited")
    }

    async fn use_terminal(&self, command: &str) -> Result<(), Error> {
        let create = CreateTerminalRequest::new(self.session.clone(), command);
        let id = self.client.send_request(create).block_task().await?.terminal_id;
        self.begin("t", command, ToolKind::Execute)?;
        let shown = ToolCallContent::Terminal(Terminal::new(id.clone()));
        self.update("t", ToolCallUpdateFields::new().content(vec![shown]))?;
        let wait = WaitForTerminalExitRequest::new(self.session.clone(), id);
        let status = self.client.send_request(wait).block_task().await?.exit_status;
        self.update("t", ToolCallUpdateFields::new().status(ToolCallStatus::Completed))?;
        self.send_text(&format!("exit code {:?}", status.exit_code))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let cancelled = Arc::new(Notify::new());
    let cancel = cancelled.clone();
    let transport = ByteStreams::new(tokio::io::stdout().compat_write(), tokio::io::stdin().compat());
    Agent
        .v1()
        .on_receive_request(
            async move |request: InitializeRequest, responder, _| {
                let response = InitializeResponse::new(request.protocol_version)
                    .agent_capabilities(AgentCapabilities::new())
                    .agent_info(Implementation::new("small-agent", "1"));
                responder.respond(response)
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |_: NewSessionRequest, responder, client: ConnectionTo<Client>| {
                responder.respond(NewSessionResponse::new("small-session"))?;
                let commands = vec![AvailableCommand::new("shout", "Says it louder")];
                let update = SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands));
                client.send_notification(SessionNotification::new("small-session", update))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, client: ConnectionTo<Client>| {
                let cancelled = cancelled.clone();
                let turn = Turn { client: client.clone(), session: request.session_id, cancelled };
                let texts = request.prompt.into_iter().filter_map(|block| match block {
                    ContentBlock::Text(text) => Some(text.text),
                    _ => None,
                });
                let prompt = texts.collect::<Vec<_>>().join("\n");
                client.spawn(async move {
                    responder.respond_with_result(turn.run(&prompt).await.map(PromptResponse::new))
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |_: CancelNotification, _| {
                cancel.notify_one();
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_to(transport)
        .await
}
