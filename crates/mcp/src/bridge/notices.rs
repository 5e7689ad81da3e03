//! What users are told: `/mcp`, and what needs them after the start. Texts as in pi 1.6.0, observed.

use super::*;
use pi_rpc_protocol::{
    ExtensionCommandCall, ExtensionUICall, NotifyRequest, NotifyType, RpcExtensionUIRequest,
};

/// Words that `/mcp` takes.
const USAGE: &str = "Usage: /mcp, /mcp login [server], /mcp logout [server], /mcp reconnect [server]";

impl Server {
    /// The state in words, with the whole of an error.
    fn line(&self) -> String {
        let (name, exposure) = (&self.entry.name, exposure_name(self.entry.exposure));
        let (state, error) = match &self.state {
            State::Disabled => ("disabled".to_owned(), None),
            State::Connecting => ("connecting".to_owned(), None),
            State::Connected(_) => (format!("connected, {} tools", self.tools.len()), None),
            State::Disconnected(error) => ("disconnected, reconnects on next call".to_owned(), Some(error)),
            State::NeedsLogin => (format!("needs sign-in, run /mcp login {name}"), None),
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
            State::NeedsLogin => "needs sign-in".to_owned(),
            State::Failed(error) => format!("failed: {}", error.lines().next().unwrap_or_default()),
        }
    }
}

impl SessionBridge {
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
            if matches!(server.state, State::NeedsLogin) {
                lines.push(format!("  {}: {}", server.entry.name, server.summary()));
            }
            lines.extend(server.notes.iter().map(|note| format!("  {}: {note}", server.entry.name)));
        }
        // Servers may be added later; what was said before is not said again.
        lines.retain(|line| self.reported.insert(line.clone()));
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
                let known = self.servers.iter().filter(|server| server.source != Source::Withdrawn);
                let Registrations { errors, overridden, .. } = &self.registrations;
                let errors = self.errors.iter().chain(errors).map(|error| format!("config error: {error}"));
                let overridden = overridden.iter().map(|line| format!("overridden: {line}"));
                let lines: Vec<String> = known.map(Server::line).chain(errors).chain(overridden).collect();
                (
                    if lines.is_empty() { "No MCP servers.".to_owned() } else { lines.join("\n") },
                    NotifyType::Info,
                )
            }
            [word @ ("login" | "logout" | "reconnect"), ref rest @ ..] if rest.len() <= 1 => {
                match self.meant(word, rest.first().copied()) {
                    Ok(at) if word == "reconnect" => return self.reconnect(at, command.id).await,
                    Ok(at) if word == "login" => return self.begin_login(at, command.id).await,
                    Ok(at) => self.log_out(at).await,
                    Err(text) => (text, NotifyType::Error),
                }
            }
            _ => (USAGE.to_owned(), NotifyType::Warning),
        };
        self.notify(text, kind).await;
        self.output.send(ExtensionDone { id: command.id, result: None }).await;
    }

    /// The server that a word of `/mcp` means: the one of this name, else the only one that the word fits.
    fn meant(&self, word: &str, name: Option<&str>) -> Result<usize, String> {
        let is_login = word != "reconnect";
        let none = match is_login {
            true => "No enabled MCP server uses OAuth. Only HTTP servers without an Authorization header do.",
            false => "No enabled MCP server to reconnect.",
        };
        let fits = |at: &usize| {
            let entry = &self.servers[*at].entry;
            entry.is_enabled && (!is_login || entry.oauth().is_some())
        };
        let all = || 0..self.servers.len();
        if let Some(name) = name {
            let is_it = |it: &Server| it.entry.name == name && it.source != Source::Withdrawn;
            let found = all().find(|at| is_it(&self.servers[*at]));
            let found = found.ok_or_else(|| format!("No MCP server named \"{name}\"."))?;
            return Some(found).filter(fits).ok_or_else(|| none.to_owned());
        }
        let is_wanted = |at: &usize| match self.servers[*at].state {
            State::NeedsLogin => true,
            State::Disconnected(_) | State::Failed(_) => !is_login,
            _ => false,
        };
        let only = single(all().filter(fits)).or_else(|| single(all().filter(fits).filter(is_wanted)));
        let names =
            || -> Vec<&str> { all().filter(fits).map(|at| self.servers[at].entry.name.as_str()).collect() };
        only.ok_or_else(|| match &names()[..] {
            [] => none.to_owned(),
            names => format!("{word}: expected one of {}", names.join(", ")),
        })
    }

    async fn reconnect(&mut self, at: usize, command: String) {
        if self.servers[at].is_settled() {
            self.start(at);
        }
        self.wait(PendingRequest::Reconnect(at, command)).await;
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
            State::NeedsLogin => {
                let text = format!("MCP server \"{name}\" requires sign-in. Run /mcp to sign in.");
                (text, NotifyType::Error)
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
