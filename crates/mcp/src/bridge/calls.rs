//! Calls of tools, each beside everything else.

use super::*;
use crate::{
    client::{Client, RequestError},
    content::{progress, tool_result},
};
use pi_rpc_extension::BuiltInOutput;
use pi_rpc_protocol::ExtensionToolUpdate;

impl SessionBridge {
    pub(super) async fn fail(&self, id: String, error: String) {
        self.output.send(ExtensionFailed { id, error }).await;
    }

    /// Calls a tool of a server; connects the server first where it is not. `is_again`: the call was tried before.
    pub(super) async fn call(&mut self, call: ExtensionToolCall, is_again: bool) {
        let mut found = None;
        for (at, server) in self.servers.iter().enumerate() {
            if server.tools.iter().any(|(name, _)| *name == call.tool_name) {
                found = Some(at);
            }
        }
        let Some(at) = found else {
            return self.fail(call.id, format!("Tool {} not found", call.tool_name)).await;
        };
        let is_gone = match &self.servers[at].state {
            State::Connected(server) => server.client.inbox().closed.borrow().is_some(),
            State::Disconnected(_) | State::NeedsLogin | State::Failed(_) => true,
            State::Connecting | State::Disabled => false,
        };
        if is_gone {
            self.start(at);
        }
        self.wait(PendingRequest::Call(at, call, is_again)).await;
    }

    /// Calls a tool of a server that is connected, has failed or is disabled.
    pub(super) async fn call_settled(&mut self, at: usize, call: ExtensionToolCall, is_again: bool) {
        let server = &self.servers[at];
        let name = server.entry.name.clone();
        let connected = match &server.state {
            State::Connected(connected) => connected,
            State::Disconnected(reason) | State::Failed(reason) => {
                let error = format!("MCP server \"{name}\" failed to connect: {reason}");
                return self.fail(call.id, error).await;
            }
            State::NeedsLogin => return self.fail(call.id, needs_login(&name)).await,
            State::Disabled => {
                return self.fail(call.id, format!("MCP server \"{name}\" is disabled.")).await;
            }
            State::Connecting => {
                return self.fail(call.id, format!("MCP server \"{name}\" is still starting.")).await;
            }
        };
        let Some((_, tool)) = server.tools.iter().find(|(name, _)| *name == call.tool_name) else {
            let error = format!("MCP tool \"{}\" is no longer available.", call.tool_name);
            return self.fail(call.id, error).await;
        };
        let running = RunningCall {
            client: connected.client.clone(),
            output: self.output.clone(),
            server: name,
            tool: tool.name.clone(),
            can_read: server.with_resources().is_some(),
        };
        let (events, attempt, id) = (self.events.downgrade(), server.attempt, call.id.clone());
        let task = tokio::spawn(async move {
            let id = call.id.clone();
            let outcome = running.run(&call).await;
            let report = match outcome {
                Err(RequestError::SessionOver) if !is_again => Event::Again(at, attempt, call),
                Err(RequestError::NeedsLogin) => {
                    let error = needs_login(&running.server);
                    running.output.send(ExtensionFailed { id: call.id, error }).await;
                    Event::Refused(at, attempt, id)
                }
                Err(error) => {
                    running.output.send(ExtensionFailed { id: call.id, error: error.to_string() }).await;
                    Event::Ended(id)
                }
                Ok(()) => Event::Ended(id),
            };
            if let Some(events) = events.upgrade() {
                // Fails only when the session is over.
                let _ = events.send(report).await;
            }
        });
        self.calls.insert(id, task.abort_handle());
    }
}

/// A call at a server.
struct RunningCall {
    client: Arc<Client>,
    output: BuiltInOutput,
    server: String,
    /// The name at the server.
    tool: String,
    /// Whether the model can read resources of the server.
    can_read: bool,
}

impl RunningCall {
    /// Performs it, and sends its progress and its result.
    async fn run(&self, call: &ExtensionToolCall) -> Result<(), RequestError> {
        let params = json!({ "name": self.tool, "arguments": call.arguments });
        let (sender, mut news) = mpsc::channel(1);
        let request = self.client.request_with_progress("tools/call", params, Some(sender));
        tokio::pin!(request);
        let result = loop {
            tokio::select! {
                biased;
                outcome = &mut request => break outcome?,
                Some(params) = news.recv() => {
                    let partial_result = progress(&self.server, &self.tool, &params);
                    self.output.send(ExtensionToolUpdate { id: call.id.clone(), partial_result }).await;
                }
            }
        };
        let (result, is_error) = tool_result(&self.server, &self.tool, result, self.can_read);
        let is_error = is_error.then_some(true);
        self.output.send(ExtensionToolResult { id: call.id.clone(), result, is_error }).await;
        Ok(())
    }
}

/// What the model is told of a server that waits for a login.
fn needs_login(server: &str) -> String {
    format!("MCP server \"{server}\" requires sign-in. Run /mcp to sign in.")
}
