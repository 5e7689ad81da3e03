//! What users and the model are told about the servers.

use super::naming::namespace;
use pi_rpc_config::mcp::{McpEntry, McpExposure};

/// Characters of a server's description in the system prompt.
const MAX_DESCRIPTION: usize = 250;

/// Characters of all lines in the system prompt.
const MAX_SECTION: usize = 4096;

/// The text about servers whose tools are not declared, for the system prompt; `None`: there are none. Scripts are not here, so
/// servers with `codemode` are reached by `tool_search`. Source: pi 1.6.0 source.
pub fn servers_section<'a>(servers: impl Iterator<Item = &'a McpEntry>) -> Option<String> {
    let mut listed: Vec<&McpEntry> =
        servers.filter(|entry| entry.is_enabled && needs_search(entry)).collect();
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    if listed.is_empty() {
        return None;
    }
    let mut text =
        "MCP servers whose tools are not declared to you. Load the tools of `tool_search` servers with \
                    `tool_search`."
            .to_owned();
    let room = (MAX_SECTION - text.len()) / listed.len();
    let total = listed.len();
    for (at, entry) in listed.into_iter().enumerate() {
        let mut line = format!("\n- {} (tool_search)", namespace(&entry.name));
        if text.len() + line.len() > MAX_SECTION {
            let more = total - at;
            let s = if more == 1 { "" } else { "s" };
            text += &format!("\n- … {more} more server{s}; find their tools with tool_search");
            break;
        }
        let summary =
            entry.description.as_deref().unwrap_or_default().trim().lines().next().unwrap_or_default();
        let summary = cut(summary.trim(), MAX_DESCRIPTION.min(room.saturating_sub(line.len() + 2)));
        if !summary.is_empty() {
            line += &format!(": {summary}");
        }
        text += &line;
    }
    Some(text)
}

/// Whether tools of the server are found by `tool_search`.
pub(crate) fn needs_search(entry: &McpEntry) -> bool {
    entry.has_exposure(McpExposure::Codemode) || entry.has_exposure(McpExposure::Deferred)
}

/// The name of an exposure, as it is written.
pub const fn exposure_name(exposure: McpExposure) -> &'static str {
    match exposure {
        McpExposure::Codemode => "codemode",
        McpExposure::Deferred => "deferred",
        McpExposure::Direct => "direct",
        McpExposure::Hidden => "hidden",
    }
}

fn cut(text: &str, most: usize) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    match text.char_indices().nth(most.saturating_sub(1)) {
        Some((end, _)) if text.chars().count() > most => format!("{}…", text[..end].trim_end()),
        _ if most == 0 => String::new(),
        _ => text,
    }
}
