//! What users are told: `/mcp`, and what needs them after the start. Texts as in pi 1.6.0, observed.

use super::*;
use pi_rpc_protocol::{
    ExtensionCommandCall, ExtensionUICall, NotifyRequest, NotifyType, RpcExtensionUIRequest,
};

/// Words that `/mcp` takes.
const USAGE: &str = "Usage: /mcp, /mcp reconnect [server]";

impl Server {
    /// The state in words, with the whole of an error.
    fn line(&self) -> String {
        let (name, exposure) = (&self.entry.name, exposure_name(self.entry.exposure));
        let (state, error) = match &self.state {
            State::Disabled => ("disabled".to_owned(), None),
            State::Connecting => ("connecting".to_owned(), None),
            State::Connected(_) => (format!("connected, {} tools", self.tools.len()), None),
            State::Disconnected(error) => ("disconnected, reconnects on next call".to_owned(), Some(error)),
            State::Failed(error) => ("failed".to_owned(), Some(error)),
        };
        let error = error.map(|error| format!("\n    {}", error.replace('\n', "\n    ")));
        format!("{name}: {state} ({exposure}){}", error.unwrap_or_default())
    }

    /// The state in some words.
    fn summary(&self) -> String {
        match &self.state {
            State::Disabled => "disabled".to_owned(),
            State::Connecting => "connecting…".to_owned(),
            State::Connected(server) => {
                let count = self.tools.len();
                let s = if count == 1 { "" } else { "s" };
                let resources = if server.has_resources { " · resources" } else { "" };
                format!("connected · {count} tool{s}{resources}")
            }
            State::Disconnected(_) => "disconnected".to_owned(),
            State::Failed(error) => format!("failed: {}", error.lines().next().unwrap_or_default()),
        }
    }
}

impl Running {
    /// Reports what needs the user, once every server is connected or has failed.
    pub(super) async fn report_problems(&mut self) {
        if self.has_reported || !self.servers.iter().all(Server::is_settled) {
            return;
        }
        self.has_reported = true;
        let mut lines: Vec<String> = self.errors.iter().map(|error| format!("  config: {error}")).collect();
        for server in &self.servers {
            if let State::Failed(error) = &server.state {
                tracing::warn!("MCP server {}: {}", server.entry.name, error.replace('\n', "; "));
                lines.push(format!("  {}: {}", server.entry.name, server.summary()));
            }
            lines.extend(server.notes.iter().map(|note| format!("  {}: {note}", server.entry.name)));
        }
        if !lines.is_empty() {
            let text = format!("MCP servers need attention:\n{}\nRun /mcp to fix.", lines.join("\n"));
            self.notify(text, NotifyType::Warning).await;
        }
    }

    pub(super) async fn notify(&mut self, message: String, kind: NotifyType) {
        self.notices += 1;
        let id = format!("mcp-{}", self.notices);
        let request = NotifyRequest { id, message, notify_type: Some(kind) };
        self.output
            .send(ExtensionUICall { origin: None, request: RpcExtensionUIRequest::Notify(request) })
            .await;
    }

    /// Serves `/mcp`.
    pub(super) async fn command(&mut self, command: ExtensionCommandCall) {
        let words: Vec<&str> = command.arguments.split_whitespace().collect();
        let (text, kind) = match words[..] {
            [] => {
                let servers = self.servers.iter().map(Server::line);
                let errors = self.errors.iter().map(|error| format!("config error: {error}"));
                let lines: Vec<String> = servers.chain(errors).collect();
                (
                    if lines.is_empty() { "No MCP servers.".to_owned() } else { lines.join("\n") },
                    NotifyType::Info,
                )
            }
            ["reconnect"] => match self.only_failed() {
                Some(at) => return self.reconnect(at, command.id).await,
                None => (USAGE.to_owned(), NotifyType::Warning),
            },
            ["reconnect", name] => {
                let found = self.servers.iter().position(|server| server.entry.name == name);
                match found.map(|at| (at, self.servers[at].entry.is_enabled)) {
                    Some((at, true)) => return self.reconnect(at, command.id).await,
                    Some((_, false)) => (format!("MCP server \"{name}\" is disabled."), NotifyType::Error),
                    None => (format!("No MCP server named \"{name}\"."), NotifyType::Error),
                }
            }
            _ => (USAGE.to_owned(), NotifyType::Warning),
        };
        self.notify(text, kind).await;
        self.output.send(ExtensionDone { id: command.id, result: None }).await;
    }

    /// The server that `/mcp reconnect` means: the only one that is enabled, or the only one that is not connected.
    fn only_failed(&self) -> Option<usize> {
        let enabled = || (0..self.servers.len()).filter(|at| self.servers[*at].entry.is_enabled);
        let is_gone =
            |at: &usize| matches!(self.servers[*at].state, State::Disconnected(_) | State::Failed(_));
        single(enabled()).or_else(|| single(enabled().filter(is_gone)))
    }

    async fn reconnect(&mut self, at: usize, command: String) {
        if self.servers[at].is_settled() {
            self.start(at);
        }
        self.wait(Waiting::Reconnect(at, command)).await;
    }

    pub(super) async fn report_reconnection(&mut self, at: usize, command: String) {
        let server = &self.servers[at];
        let name = &server.entry.name;
        let (text, kind) = match &server.state {
            State::Connected(_) => {
                (format!("Reconnected to MCP server \"{name}\" ({}).", server.summary()), NotifyType::Info)
            }
            State::Disconnected(error) | State::Failed(error) => {
                (format!("MCP server \"{name}\" failed to connect: {error}"), NotifyType::Error)
            }
            State::Disabled | State::Connecting => (server.summary(), NotifyType::Warning),
        };
        self.notify(text, kind).await;
        self.output.send(ExtensionDone { id: command, result: None }).await;
    }
}

/// The item, if it is the only one.
fn single(mut items: impl Iterator<Item = usize>) -> Option<usize> {
    items.next().filter(|_| items.next().is_none())
}
