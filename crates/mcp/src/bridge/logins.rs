//! Logins at servers: from `/mcp`, and those that another process has made.

use super::*;
use crate::{
    oauth::store::FILE,
    server::{log_in, log_out},
};
use pi_rpc_protocol::{ExtensionUICall, NotifyRequest, NotifyType, RpcExtensionUIRequest};

/// How long the user may take.
const PATIENCE: Duration = Duration::from_secs(300);

impl SessionBridge {
    /// Notes that a server waits for a login.
    pub(super) fn require_login(&mut self, at: usize) {
        self.servers[at].state = State::NeedsLogin;
        self.logins_changed = self.changed();
    }

    /// When the file of logins was changed.
    fn changed(&self) -> Option<SystemTime> {
        let file = self.surroundings.agent.as_ref()?.join(FILE);
        std::fs::metadata(file).and_then(|found| found.modified()).ok()
    }

    /// Connects what waits for a login, if the file of logins has changed.
    pub(super) fn try_new_logins(&mut self) {
        let changed = self.changed();
        if changed == self.logins_changed {
            return;
        }
        self.logins_changed = changed;
        for at in 0..self.servers.len() {
            if matches!(self.servers[at].state, State::NeedsLogin) {
                self.start(at);
            }
        }
    }

    /// Logs in, beside everything else.
    pub(super) async fn begin_login(&mut self, at: usize, command: String) {
        self.notices += 1;
        let (entry, values) = (self.servers[at].entry.clone(), self.values.clone());
        let (surroundings, output) = (self.surroundings.clone(), self.output.clone());
        let (events, number) = (self.events.downgrade(), self.notices);
        let id = command.clone();
        let task = tokio::spawn(async move {
            let (pages, mut shown) = mpsc::channel(1);
            let mut notify = move |page: String| drop(pages.try_send(page));
            // A host has no terminal to paste into.
            let (_, pasted) = mpsc::channel(1);
            let logging_in = log_in(&entry, &values, &surroundings, &mut notify, pasted, PATIENCE);
            tokio::pin!(logging_in);
            let outcome = loop {
                tokio::select! {
                    outcome = &mut logging_in => break outcome,
                    Some(page) = shown.recv() => {
                        let message =
                            format!("Sign in to MCP server \"{}\" in your browser:\n{page}", entry.name);
                        let id = format!("mcp-{number}-page");
                        let notice = NotifyRequest { id, message, notify_type: Some(NotifyType::Info) };
                        let request = RpcExtensionUIRequest::Notify(notice);
                        output.send(ExtensionUICall { origin: None, request }).await;
                    }
                }
            };
            if let Some(events) = events.upgrade() {
                // Fails only when the session is over.
                let _ = events.send(Event::LoggedIn(at, command, outcome)).await;
            }
        });
        self.calls.insert(id, task.abort_handle());
    }

    /// Says what became of a login, and connects the server with it.
    pub(super) async fn report_login(
        &mut self,
        at: usize,
        command: String,
        outcome: Result<LoginOutcome, String>,
    ) {
        self.calls.remove(&command);
        let name = self.servers[at].entry.name.clone();
        let (text, kind) = match outcome {
            Ok(LoginOutcome::AlreadyIn(count)) => {
                (format!("Already signed in to MCP server \"{name}\" ({count} tools)."), NotifyType::Info)
            }
            Ok(LoginOutcome::Done(count)) => {
                (format!("Signed in to MCP server \"{name}\" ({count} tools)."), NotifyType::Info)
            }
            Err(error) => (format!("Sign-in failed: {error}"), NotifyType::Error),
        };
        let is_done = kind == NotifyType::Info;
        // It may have been taken back or switched off meanwhile.
        let server = &self.servers[at];
        let is_wanted = server.entry.is_enabled && server.source != Source::Withdrawn;
        if is_done && is_wanted && !matches!(server.state, State::Connected(_) | State::Connecting) {
            self.start(at);
        }
        self.notify(text, kind).await;
        self.output.send(ExtensionDone { id: command, result: None }).await;
    }

    /// Forgets the login at a server, and ends the connection.
    pub(super) async fn log_out(&mut self, at: usize) -> (String, NotifyType) {
        let name = self.servers[at].entry.name.clone();
        let agent = self.surroundings.agent.clone().unwrap_or_default();
        match log_out(&self.servers[at].entry, &agent).await {
            Ok(was_in) => {
                if let State::Connected(server) = &self.servers[at].state {
                    server.end().await;
                }
                // What the connection still reports is of no use.
                self.servers[at].attempt += 1;
                self.require_login(at);
                let text = match was_in {
                    true => format!("Signed out of MCP server \"{name}\"."),
                    false => format!("No stored credentials for MCP server \"{name}\"."),
                };
                (text, NotifyType::Info)
            }
            Err(error) => (error, NotifyType::Error),
        }
    }
}
