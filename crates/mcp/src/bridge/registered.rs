//! Servers that extensions register, which come and go during a session.

use super::*;
use crate::{confinement::confine, status::servers_section};
use pi_rpc_protocol::{ExtensionMcpServers, QueriedTool};

impl SessionBridge {
    /// Connects the servers that extensions have registered, and ends those that they have taken back. One of `mcp.json` with the same
    /// name comes first.
    pub(super) async fn take_registered(&mut self, registered: ExtensionMcpServers) {
        let mut wanted: Vec<McpEntry> = Vec::new();
        let mut errors = Vec::new();
        for server in registered.servers {
            let path = server.path.unwrap_or_default();
            match McpEntry::read(&server.name, &server.config, Path::new(&path)) {
                Ok(entry) if self.is_of_file(&entry.name) => {
                    errors.push(format!("{path}: server \"{}\" is overridden by mcp.json", entry.name));
                }
                Ok(entry) if wanted.iter().any(|other| other.has_name_of(&entry.name)) => {
                    errors.push(format!("{path}: server \"{}\" is registered already", entry.name));
                }
                Ok(entry) => wanted.push(entry),
                Err(error) => errors.push(format!("{path}: {error}")),
            }
        }
        if let Some(admits_file) = &self.admits_file {
            errors.extend(confine(&mut wanted, &self.values, &self.surroundings.directory, admits_file));
        }
        for server in self.servers.iter_mut().filter(|server| server.is_registered) {
            if !wanted.contains(&server.entry) && !matches!(server.state, State::Disabled) {
                // Dropping the connection ends it; what it still reports is of an earlier attempt.
                server.attempt += 1;
                server.state = State::Disabled;
                server.entry.is_enabled = false;
                server.tools.clear();
            }
        }
        for entry in wanted {
            let same = self.servers.iter().position(|it| it.is_registered && it.entry.name == entry.name);
            let at = match same {
                Some(at) if self.servers[at].entry == entry => continue,
                Some(at) => {
                    self.servers[at].entry = entry;
                    at
                }
                None => {
                    self.servers.push(Server { is_registered: true, ..Server::new(entry) });
                    self.servers.len() - 1
                }
            };
            if self.servers[at].entry.is_enabled {
                self.start(at);
            }
        }
        if !errors.is_empty() {
            let lines: Vec<String> = errors.iter().map(|error| format!("  config: {error}")).collect();
            let text = format!("MCP servers need attention:\n{}\nRun /mcp to fix.", lines.join("\n"));
            self.notify(text, NotifyType::Warning).await;
        }
        self.has_reported = false;
        self.has_waited = false;
        self.register().await;
        self.activate_ways().await;
        self.go_on_where_ready().await;
    }

    fn is_of_file(&self, name: &str) -> bool {
        self.servers.iter().any(|server| !server.is_registered && server.entry.has_name_of(name))
    }

    /// Whether an extension has registered a server, so that the system prompt is no longer what it was from the start.
    pub(super) fn section(&self) -> Option<String> {
        let is_changed = self.servers.iter().any(|server| server.is_registered);
        let entries = self.servers.iter().map(|server| &server.entry);
        is_changed.then(|| servers_section(entries, self.program.is_some()).unwrap_or_default())
    }

    /// Has the tools offered by which tools of servers are reached that are not declared, as far as options allow them.
    async fn activate_ways(&mut self) {
        if self.ways().is_empty() {
            return;
        }
        self.queries += 1;
        let id = format!("mcp-{}", self.queries);
        self.activations.insert(id.clone());
        let query =
            ExtensionQuery { id, about: QueryKind::Tools, since: None, provider: None, model_id: None };
        self.output.send(query).await;
    }

    /// The names of the tools that the servers need.
    fn ways(&self) -> Vec<&'static str> {
        let has_scripts = self.program.is_some();
        let enabled = || self.servers.iter().map(|server| &server.entry).filter(|entry| entry.is_enabled);
        let scripted = has_scripts
            && self.offers_scripts
            && enabled().any(|entry| entry.has_exposure(McpExposure::Codemode));
        let searched = enabled().any(|entry| needs_search(entry, has_scripts));
        [(scripted, SCRIPT_TOOL), (searched, SEARCH_TOOL)]
            .into_iter()
            .filter(|it| it.0)
            .map(|it| it.1)
            .collect()
    }

    /// Adds the tools that the servers need to those that are offered.
    pub(super) async fn activate(&self, tools: &Value) {
        let listed = tools.get("tools").cloned().unwrap_or_default();
        let listed: Vec<QueriedTool> = serde_json::from_value(listed).unwrap_or_default();
        let mut names: Vec<String> =
            listed.into_iter().filter(|tool| tool.active).map(|tool| tool.name).collect();
        let missing: Vec<&str> =
            self.ways().into_iter().filter(|way| !names.iter().any(|name| name == way)).collect();
        if !missing.is_empty() {
            names.extend(missing.into_iter().map(str::to_owned));
            self.output.send(ExtensionSetActiveTools { id: None, origin: None, names }).await;
        }
    }
}
