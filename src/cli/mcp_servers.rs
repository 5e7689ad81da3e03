//! The servers of `mcp.json`, for a session on stdin and stdout.

use super::options::HostOptions;
use pi_rpc_config::{
    Config, Environment,
    mcp::{McpExposure, McpServers, McpValues},
};
use pi_rpc_mcp::{McpBridge, servers_section, tool_prefix};
use pi_rpc_protocol::Base;
use pi_rpc_server::SessionOptions;

/// Stands in place of the path of an extension, as in pi.
const PATH: &str = "builtin:mcp";

/// Reads the servers, where the dialect's original connects some and nothing turns that off. `None`: there is nothing to connect.
pub fn read(config: &Config, options: &HostOptions) -> Option<McpServers> {
    let turned_off = || {
        let mut entries = config.settings.extensions.iter().flat_map(|list| &list.entries);
        entries.any(|entry| entry.strip_prefix('-') == Some(PATH))
    };
    let is_on = config.dialect.base() == Base::Pi1
        && options.agent.is_none()
        && !options.no_mcp
        && !options.no_extensions
        && !turned_off();
    let found = McpServers::load_if(is_on, config)?;
    for error in &found.errors {
        tracing::warn!("{error}");
    }
    let scripted =
        |name: &&pi_rpc_config::mcp::McpEntry| name.is_enabled && name.has_exposure(McpExposure::Codemode);
    let scripted: Vec<&str> =
        found.servers.iter().filter(scripted).map(|entry| entry.name.as_str()).collect();
    if !scripted.is_empty() {
        tracing::warn!(
            "MCP servers with exposure codemode are deferred here, as there are no scripts: the model finds their tools by \
             tool_search ({})",
            scripted.join(", ")
        );
    }
    Some(found)
}

/// Connects the servers when the session begins.
pub fn attach(found: McpServers, values: McpValues, session: &mut SessionOptions) {
    // What options say about tools that a server may still bring is no slip.
    let enabled = found.servers.iter().filter(|entry| entry.is_enabled);
    let prefixes: Vec<String> = enabled.map(|entry| tool_prefix(&entry.name)).collect();
    let may_come = |pattern: &str| {
        let beginning = pattern.split('*').next().unwrap_or_default();
        prefixes.iter().any(|prefix| prefix.starts_with(beginning) || beginning.starts_with(prefix))
    };
    let entries = &mut session.tool_selection.entries;
    entries.retain(|entry| !may_come(&entry.pattern) && entry.pattern != "tool_search");
    if let Some(source) = &mut session.extension_setup.prompt_source {
        source.mcp_servers = servers_section(found.servers.iter());
    }
    session.extension_setup.extensions.push(PATH.to_owned());
    session.built_in = Some(McpBridge::new(found.servers, found.errors, values));
}

/// The values of variables and headers.
pub fn values(config: &Config, environment: &Environment) -> McpValues {
    McpValues::new(environment.clone(), config.keys.secrets().clone())
}
