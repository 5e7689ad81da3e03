//! The servers' connections: they begin, their tools are listed, and they end.

use super::{Event, RELIST_PAUSE, SessionBridge, State};
use crate::{
    client::closed_reason,
    naming::tool_names,
    server::{ConnectError, ConnectedServer, connect},
    tool::Tool,
};
use std::{collections::BTreeSet, sync::Arc};
use tokio::time::timeout;

impl SessionBridge {
    /// Connects a server, beside everything else.
    pub(super) fn start(&mut self, at: usize) {
        let server = &mut self.servers[at];
        server.attempt += 1;
        server.state = State::Connecting;
        let (entry, attempt) = (server.entry.clone(), server.attempt);
        let (values, surroundings) = (self.values.clone(), self.surroundings.clone());
        let events = self.events.downgrade();
        tokio::spawn(async move {
            let connecting = connect(&entry, &values, &surroundings);
            // Each request has a limit of its own; so has the whole, with many pages of tools.
            let limit = entry.timeout.saturating_mul(3);
            let connected = timeout(limit, connecting).await;
            let late = || {
                Err(ConnectError::Failed(format!("it is not ready within {} seconds", limit.as_secs_f64())))
            };
            let connected = connected.unwrap_or_else(|_| late());
            if let Some(events) = events.upgrade() {
                // Fails only when the session is over.
                let _ = events.send(Event::Connected(at, attempt, connected)).await;
            }
        });
    }

    /// Reports changes of a server's tools, and its end.
    fn follow(&self, at: usize, server: &Arc<ConnectedServer>) {
        let (name, attempt) = (self.servers[at].entry.name.clone(), self.servers[at].attempt);
        let (events, inbox, server) =
            (self.events.downgrade(), server.client.inbox().clone(), Arc::downgrade(server));
        tokio::spawn(async move {
            let mut closed = inbox.closed.subscribe();
            loop {
                let reason = tokio::select! {
                    reason = closed_reason(&mut closed) => Some(reason),
                    () = inbox.list_changed.notified() => None,
                };
                if let Some(reason) = reason {
                    if let Some(events) = events.upgrade() {
                        let _ = events.send(Event::Closed(at, attempt, reason)).await;
                    }
                    return;
                }
                let Some(server) = server.upgrade() else { return };
                let listed = server.relist(&name).await;
                drop(server);
                if let (Ok((tools, notes)), Some(events)) = (listed, events.upgrade()) {
                    let _ = events.send(Event::Listed(at, attempt, tools, notes)).await;
                }
                let _ = timeout(RELIST_PAUSE, closed_reason(&mut closed)).await;
            }
        });
    }

    pub(super) async fn learn(&mut self, event: Event) {
        let is_current = |it: &Self, at: usize, attempt: u64| it.servers[at].attempt == attempt;
        match event {
            Event::Connected(at, attempt, connected) if is_current(self, at, attempt) => match connected {
                Ok(server) => {
                    let server = Arc::new(server);
                    self.follow(at, &server);
                    self.servers[at].state = State::Connected(server.clone());
                    self.offer(at, server.tools.clone(), server.notes.clone()).await;
                }
                Err(error) => {
                    match error {
                        ConnectError::Failed(error) => self.servers[at].state = State::Failed(error),
                        ConnectError::NeedsLogin => self.require_login(at),
                    }
                    // Tools for resources may have waited for this server.
                    self.register().await;
                }
            },
            Event::Refused(at, attempt, id) => {
                self.calls.remove(&id);
                if is_current(self, at, attempt) {
                    self.require_login(at);
                }
                return;
            }
            Event::LoggedIn(at, command, outcome) => return self.report_login(at, command, outcome).await,
            Event::Listed(at, attempt, tools, notes) if is_current(self, at, attempt) => {
                let is_same = self.servers[at].tools.iter().map(|(_, tool)| tool).eq(&tools);
                if !is_same {
                    self.offer(at, tools, notes).await;
                }
                return;
            }
            Event::Closed(at, attempt, reason) if is_current(self, at, attempt) => {
                // Its tools stay declared: a call of one connects it again.
                self.servers[at].state = State::Disconnected(reason);
                return;
            }
            Event::Connected(..) | Event::Listed(..) | Event::Closed(..) => return,
            Event::Ended(id) => {
                self.calls.remove(&id);
                self.scripts.forget(&id);
                return;
            }
            Event::Again(at, attempt, call) => {
                // One that was cancelled meanwhile must not be performed after all.
                if self.calls.remove(&call.id).is_none() {
                    return;
                }
                if is_current(self, at, attempt) {
                    self.servers[at].state =
                        State::Disconnected("the server has ended the session".to_owned());
                }
                return self.call(call, true).await;
            }
        }
        self.report_problems().await;
        self.go_on_where_ready().await;
    }

    /// Names the tools of a server and registers all.
    async fn offer(&mut self, at: usize, tools: Vec<Tool>, notes: Vec<String>) {
        let others = self.servers.iter().enumerate().filter(|(other, _)| *other != at);
        let taken: BTreeSet<String> =
            others.flat_map(|(_, it)| it.tools.iter().map(|(name, _)| name.clone())).collect();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let names = tool_names(&self.servers[at].entry.name, &names, &taken);
        for note in &notes {
            tracing::warn!("MCP server {}: {note}", self.servers[at].entry.name);
        }
        self.servers[at].tools = names.into_iter().zip(tools).collect();
        self.servers[at].notes = notes;
        self.register().await;
    }
}
