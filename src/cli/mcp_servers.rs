//! The servers of `mcp.json`, for a session on stdin and stdout.

use super::options::HostOptions;
use pi_rpc_config::{
    Config, Environment,
    mcp::{McpExposure, McpServers, McpValues},
};
use pi_rpc_engine::matches_tool;
use pi_rpc_mcp::{BRIDGE_TOOLS, McpBridge, servers_section, tool_prefix};
use pi_rpc_protocol::Base;
use pi_rpc_server::SessionOptions;
use std::{path::PathBuf, sync::Arc};

/// Stands in place of the path of an extension, as in pi.
const PATH: &str = "builtin:mcp";

/// The pattern of the tools of all servers.
const ALL_TOOLS: &str = "mcp__*";

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
    if !scripted.is_empty() && program().is_none() {
        tracing::warn!(
            "MCP servers with exposure codemode are deferred here, as this program was built without scripts: the model finds their tools by \
             tool_search ({})",
            scripted.join(", ")
        );
    }
    Some(found)
}

/// Connects the servers when the session begins.
pub fn attach(found: McpServers, values: McpValues, agent: PathBuf, session: &mut SessionOptions) {
    // What options say about tools that a server may still bring is no slip.
    let enabled = found.servers.iter().filter(|entry| entry.is_enabled);
    let prefixes: Vec<String> = enabled.map(|entry| tool_prefix(&entry.name)).collect();
    let may_come = |pattern: &str| {
        let beginning = pattern.split('*').next().unwrap_or_default();
        prefixes.iter().any(|prefix| prefix.starts_with(beginning) || beginning.starts_with(prefix))
    };
    let entries = &mut session.tool_selection.entries;
    entries.retain(|entry| {
        !may_come(&entry.pattern) && !BRIDGE_TOOLS.iter().any(|tool| matches_tool(&entry.pattern, tool))
    });
    if let Some(source) = &mut session.extension_setup.prompt_source {
        source.mcp_servers = servers_section(found.servers.iter(), program().is_some());
    }
    session.extension_setup.extensions.push(PATH.to_owned());
    let bridge = McpBridge::new(found.servers, found.errors, values, agent, program());
    // The tools for resources count as those of servers, whose names they do not have.
    let excludes_all = session.tool_selection.excluded.iter().any(|pattern| pattern == ALL_TOOLS);
    session.built_in = Some(Arc::new(if excludes_all { bridge.without_resources() } else { bridge }));
}

/// What runs scripts: this program, where it can.
#[cfg(feature = "codemode")]
fn program() -> Option<pi_rpc_codemode::SandboxProgram> {
    let own = pi_rpc_codemode::SandboxProgram::own();
    own.inspect_err(|error| tracing::warn!("no scripts: {error}")).ok()
}

/// What runs scripts: nothing.
#[cfg(not(feature = "codemode"))]
const fn program() -> Option<pi_rpc_codemode::SandboxProgram> {
    None
}

/// The values of variables and headers.
pub fn values(config: &Config, environment: &Environment) -> McpValues {
    McpValues::new(environment.clone(), config.keys.secrets().clone())
}
