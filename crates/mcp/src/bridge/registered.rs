//! Servers that extensions register, which come and go during a session.

use super::*;
use crate::{
    confinement::confine,
    status::{deferred_notice, servers_section, unreachable_notice},
};
use pi_rpc_protocol::{ExtensionMcpServers, QueriedTool};

/// What is known of the servers that extensions register.
#[derive(Default)]
pub(super) struct Registrations {
    /// What is wrong with them.
    pub(super) errors: Vec<String>,
    /// Those that are not connected, as a server of a file has their name.
    pub(super) overridden: Vec<String>,
    /// Queries of the list of tools, each with what follows.
    queries: BTreeMap<String, AfterQuery>,
    /// Whether the user knows that their tools cannot be reached.
    has_told_unreachable: bool,
}

/// What follows on the list of tools.
enum AfterQuery {
    /// Tools are added by which those of servers are reached.
    Activate,
    /// Tells the user of servers whose tools the options leave out.
    Check,
}

impl SessionBridge {
    /// Connects the servers that extensions have registered, and ends those that they have taken back. One of `mcp.json` with the same
    /// name comes first.
    pub(super) async fn take_registered(&mut self, registered: ExtensionMcpServers) {
        let wanted = self.read_registered(registered).await;
        for server in self.servers.iter_mut().filter(|server| server.source == Source::Extension) {
            if !wanted.contains(&server.entry) {
                // Dropping the connection ends it; what it still reports is of an earlier attempt.
                server.attempt += 1;
                server.source = Source::Withdrawn;
                server.state = State::Disabled;
                server.entry.is_enabled = false;
                server.tools.clear();
                server.notes.clear();
            }
        }
        for entry in wanted {
            let is_it = |it: &Server| it.source != Source::File && it.entry.name == entry.name;
            let at = match self.servers.iter().position(is_it) {
                Some(at) if self.servers[at].source == Source::Extension => continue,
                Some(at) => at,
                None => {
                    self.servers.push(Server::new(entry.clone(), Source::Extension));
                    self.servers.len() - 1
                }
            };
            let is_enabled = entry.is_enabled;
            (self.servers[at].entry, self.servers[at].source) = (entry, Source::Extension);
            if is_enabled {
                self.start(at);
            }
        }
        if self.program.is_none()
            && let Some(text) = deferred_notice(self.registered())
        {
            tracing::warn!("{text}");
        }
        self.has_reported = false;
        self.has_waited = false;
        self.register().await;
        if self.registered().any(is_reached_by_tools) {
            self.query_for(AfterQuery::Activate).await;
        }
        self.go_on_where_ready().await;
    }

    /// Reads the entries of extensions; tells the user what is wrong with them, unless that is known.
    async fn read_registered(&mut self, registered: ExtensionMcpServers) -> Vec<McpEntry> {
        let mut wanted: Vec<McpEntry> = Vec::new();
        let (mut errors, mut overridden) = (Vec::new(), Vec::new());
        for server in registered.servers {
            let path = server.path.unwrap_or_default();
            match McpEntry::read(&server.name, &server.config, Path::new(&path)) {
                Ok(entry) => match self.entry_of_file(&entry.name) {
                    Some(own) => {
                        let (name, own, file) = (&entry.name, &own.name, own.source.display());
                        overridden.push(format!(
                            "\"{name}\" registered by {path} is overridden by \"{own}\" in {file}"
                        ));
                    }
                    None if wanted.iter().any(|other| other.has_name_of(&entry.name)) => {
                        errors.push(format!("{path}: server \"{}\" is registered already", entry.name));
                    }
                    None => wanted.push(entry),
                },
                Err(error) => errors.push(format!("{path}: {error}")),
            }
        }
        if let Some(admits_file) = &self.admits_file {
            errors.extend(confine(&mut wanted, &self.values, &self.surroundings.directory, admits_file));
        }
        let is_new = |error: &&String| !self.registrations.errors.contains(error);
        let lines: Vec<String> =
            errors.iter().filter(is_new).map(|error| format!("  config: {error}")).collect();
        (self.registrations.errors, self.registrations.overridden) = (errors, overridden);
        if !lines.is_empty() {
            let text = format!("MCP servers need attention:\n{}\nRun /mcp to fix.", lines.join("\n"));
            self.notify(text, NotifyType::Warning).await;
        }
        wanted
    }

    /// The server of a file that has this name.
    fn entry_of_file(&self, name: &str) -> Option<&McpEntry> {
        let mut of_files = self.servers.iter().filter(|server| server.source == Source::File);
        of_files.find(|server| server.entry.has_name_of(name)).map(|server| &server.entry)
    }

    /// The enabled servers that extensions have registered.
    fn registered(&self) -> impl Iterator<Item = &McpEntry> {
        let of_extensions = self.servers.iter().filter(|server| server.source == Source::Extension);
        of_extensions.map(|server| &server.entry).filter(|entry| entry.is_enabled)
    }

    /// The section of the system prompt, once an extension has registered a server, so that it is no longer what it was from the start.
    pub(super) fn section(&self) -> Option<String> {
        let is_changed = self.servers.iter().any(|server| server.source != Source::File);
        let entries = self.servers.iter().map(|server| &server.entry);
        is_changed.then(|| servers_section(entries, self.program.is_some()).unwrap_or_default())
    }

    async fn query_for(&mut self, next: AfterQuery) {
        self.queries += 1;
        let id = format!("mcp-{}", self.queries);
        self.registrations.queries.insert(id.clone(), next);
        let query =
            ExtensionQuery { id, about: QueryKind::Tools, since: None, provider: None, model_id: None };
        self.output.send(query).await;
    }

    /// Takes the answer to a query of the list of tools; `false`: it is not for this.
    pub(super) async fn take_tool_list(&mut self, query: &str, tools: &Value) -> bool {
        let Some(next) = self.registrations.queries.remove(query) else { return false };
        let listed = tools.get("tools").cloned().unwrap_or_default();
        let listed: Vec<QueriedTool> = serde_json::from_value(listed).unwrap_or_default();
        let mut names: Vec<String> =
            listed.into_iter().filter(|tool| tool.active).map(|tool| tool.name).collect();
        match next {
            AfterQuery::Activate => {
                let missing: Vec<&str> =
                    self.ways().into_iter().filter(|way| !names.iter().any(|name| name == way)).collect();
                if !missing.is_empty() {
                    names.extend(missing.into_iter().map(str::to_owned));
                    self.output.send(ExtensionSetActiveTools { id: None, origin: None, names }).await;
                }
                self.query_for(AfterQuery::Check).await;
            }
            AfterQuery::Check => {
                let is_reached = names.iter().any(|name| name == SCRIPT_TOOL || name == SEARCH_TOOL);
                if !is_reached && !self.registrations.has_told_unreachable {
                    self.registrations.has_told_unreachable = true;
                    let is_turned_off = !self.offers_scripts && self.program.is_some();
                    let text = unreachable_notice(self.registered(), is_turned_off);
                    self.notify(text, NotifyType::Warning).await;
                }
            }
        }
        true
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
}

/// Whether tools of the server are reached by other tools.
fn is_reached_by_tools(entry: &McpEntry) -> bool {
    entry.has_exposure(McpExposure::Codemode) || entry.has_exposure(McpExposure::Deferred)
}
