//! The servers of `mcp.json` for a session, wherever it is served: on stdin and stdout, in a session host, a cluster, or for ACP.

use super::{
    options::{HostOptions, Refusal},
    session_options::session_options,
};
use pi_rpc_config::{
    Config, Environment,
    mcp::{McpExposure, McpServers, McpValues},
};
use pi_rpc_engine::matches_tool;
use pi_rpc_host::TokenLimits;
use pi_rpc_mcp::{
    BRIDGE_TOOLS, FileCheck, McpBridge, SCRIPT_TOOL, SEARCH_TOOL, ScriptModels, confine, deferred_notice,
    servers_section, tool_prefix, unreachable_notice,
};
use pi_rpc_server::SessionOptions;
use std::{ffi::OsString, path::PathBuf, sync::Arc};

/// Stands in place of the path of an extension, as in pi.
const PATH: &str = "builtin:mcp";

/// The pattern of the tools of all servers.
const ALL_TOOLS: &str = "mcp__*";

/// The options of a session in `directory`, with the servers that its configuration names and these limits leave.
///
/// # Errors
///
/// As those of [`session_options`].
pub fn session_with_servers(
    config: Config,
    options: &HostOptions,
    arguments: &[OsString],
    directory: PathBuf,
    environment: &Environment,
    limits: &TokenLimits,
) -> Result<SessionOptions, Refusal> {
    let Some((mut found, connects)) = read(&config, options, limits) else {
        return session_options(config, options, arguments, directory, environment);
    };
    let is_selected = selects_bridge_tool(&config, options);
    let values = McpValues::new(environment.clone(), config.keys.secrets().clone());
    let admits_file: Option<FileCheck> = limits
        .roots
        .clone()
        .map(|roots| -> FileCheck { Arc::new(move |path| roots.check("path", path).is_ok()) });
    if let Some(admits_file) = &admits_file {
        found.errors.extend(confine(&mut found.servers, &values, &directory, admits_file));
    }
    for error in &found.errors {
        tracing::warn!("{error}");
    }
    let agent = config.directories.agent.clone();
    let is_empty = found.servers.is_empty() && found.errors.is_empty() && !is_selected;
    let options = HostOptions { has_mcp_servers: !is_empty, ..options.clone() };
    let mut session = session_options(config, &options, arguments, directory, environment)?;
    // Without servers it is there for those that extensions may register.
    if !is_empty || !session.extension_setup.extensions.is_empty() {
        let models = script_models(&mut session);
        let bridge = Attached { found, values, agent, models, admits_file, connects, is_selected };
        bridge.attach(&mut session);
    }
    Ok(session)
}

/// Reads the servers, where the dialect's original connects some and nothing turns that off. `None`: none may be connected, and no
/// tool of the bridge is selected. The second value says whether any may be connected.
fn read(config: &Config, options: &HostOptions, limits: &TokenLimits) -> Option<(McpServers, bool)> {
    let turned_off = || {
        let mut entries = config.settings.extensions.iter().flat_map(|list| &list.entries);
        entries.any(|entry| entry.strip_prefix('-') == Some(PATH))
    };
    let has_bridge =
        config.dialect.record().connects_mcp_servers && options.agent.is_none() && !options.no_extensions;
    let is_on = has_bridge && !options.no_mcp && limits.allows_mcp() && !turned_off();
    if is_on {
        return Some((McpServers::load(config), true));
    }
    // Scripts and the search are of use without any server.
    (has_bridge && selects_bridge_tool(config, options)).then(|| (McpServers::default(), false))
}

/// Whether options or settings name `codemode` or `tool_search`, which are offered only then where no server has tools for them.
fn selects_bridge_tool(config: &Config, options: &HostOptions) -> bool {
    let defaults = config.settings.default_tools.iter().flat_map(|list| &list.entries);
    let named = options.tools.iter().flatten().chain(defaults);
    let named = named.map(|entry| entry.strip_prefix('+').unwrap_or(entry));
    let mut named = named.filter(|name| *name == SEARCH_TOOL || *name == SCRIPT_TOOL && program().is_some());
    named.next().is_some()
}

/// What a session gets of the servers.
struct Attached {
    found: McpServers,
    values: McpValues,
    agent: PathBuf,
    /// The models that scripts run.
    models: Option<ScriptModels>,
    /// Whether a file may be read, and a server work in a folder; `None`: any.
    admits_file: Option<FileCheck>,
    /// Whether those that extensions register are connected, too.
    connects: bool,
    /// Whether a tool of the bridge is selected.
    is_selected: bool,
}

impl Attached {
    /// Connects the servers when the session begins.
    fn attach(self, session: &mut SessionOptions) {
        let Self { found, values, agent, models, admits_file, connects, is_selected } = self;
        let enabled = || found.servers.iter().filter(|entry| entry.is_enabled);
        let have = |exposure: McpExposure| enabled().any(|entry| entry.has_exposure(exposure));
        if program().is_none()
            && let Some(text) = deferred_notice(enabled())
        {
            tracing::warn!("{text}");
        }
        // What options say about tools that a server may still bring is no slip.
        let prefixes: Vec<String> = enabled().map(|entry| tool_prefix(&entry.name)).collect();
        let may_come = |pattern: &str| {
            let beginning = pattern.split('*').next().unwrap_or_default();
            prefixes.iter().any(|prefix| prefix.starts_with(beginning) || beginning.starts_with(prefix))
                || connects && beginning.starts_with(ALL_TOOLS.trim_end_matches('*'))
        };
        let selection = &mut session.tool_selection;
        selection.entries.retain(|entry| {
            !may_come(&entry.pattern) && !BRIDGE_TOOLS.iter().any(|tool| matches_tool(&entry.pattern, tool))
        });
        let offers_scripts = found.offers_scripts.unwrap_or(true);
        let has_scripts = program().is_some();
        let needs_scripts = has_scripts && have(McpExposure::Codemode);
        let needs_search = have(McpExposure::Deferred) || !has_scripts && have(McpExposure::Codemode);
        let is_reached = has_scripts && selection.starts_active(SCRIPT_TOOL, needs_scripts && offers_scripts)
            || selection.starts_active(SEARCH_TOOL, needs_search);
        let mut notices = Vec::new();
        if (needs_scripts || needs_search) && !is_reached {
            notices.push(unreachable_notice(enabled(), needs_scripts && !offers_scripts));
        }
        if let Some(source) = &mut session.extension_setup.prompt_source {
            source.mcp_servers = servers_section(found.servers.iter(), has_scripts);
        }
        let setup = &mut session.extension_setup;
        setup.mcp_connector = connects.then_some(setup.extensions.len());
        let awaits_extensions = connects && !setup.extensions.is_empty();
        setup.extensions.push(PATH.to_owned());
        // The tools for resources count as those of servers, whose names they do not have.
        let excludes_all = selection.excluded.iter().any(|pattern| pattern == ALL_TOOLS);
        let mut bridge = McpBridge::new(found.servers, found.errors, values, agent, program());
        bridge.offers_resources = !excludes_all;
        bridge.offers_scripts = offers_scripts;
        bridge.is_selected = is_selected;
        bridge.awaits_extensions = awaits_extensions;
        bridge.notices = notices;
        bridge.admits_file = admits_file;
        bridge.models = models.map(Arc::new);
        session.built_in = Some(Arc::new(bridge));
    }
}

/// The models that scripts run; none beside a scripted model, which must not reach a provider.
fn script_models(session: &mut SessionOptions) -> Option<ScriptModels> {
    let shared = session.library.share_other_models()?;
    // Extensions only change those that there are.
    (!shared.latest().models.is_empty()).then(|| ScriptModels::new(shared, session.library.http()))
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
