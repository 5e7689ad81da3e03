//! What users and the model are told about the servers.

use super::{
    bridge::{SCRIPT_TOOL, SEARCH_TOOL},
    naming::namespace,
};
use pi_rpc_config::mcp::{McpEntry, McpExposure};

/// Characters of a server's description in the system prompt.
const MAX_DESCRIPTION: usize = 250;

/// Characters of all lines in the system prompt.
const MAX_SECTION: usize = 4096;

/// The text about servers whose tools are not declared, for the system prompt; `None`: there are none. `has_scripts`: tools of
/// `codemode` servers are called from scripts, and else found by `tool_search`. Source: pi 1.6.0 source.
pub fn servers_section<'a>(servers: impl Iterator<Item = &'a McpEntry>, has_scripts: bool) -> Option<String> {
    let is_scripted = |entry: &McpEntry| has_scripts && entry.has_exposure(McpExposure::Codemode);
    let is_listed =
        |entry: &&McpEntry| entry.is_enabled && (is_scripted(entry) || needs_search(entry, has_scripts));
    let mut listed: Vec<&McpEntry> = servers.filter(is_listed).collect();
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    if listed.is_empty() {
        return None;
    }
    let mut text = "MCP servers whose tools are not declared to you.".to_owned();
    if listed.iter().any(|entry| is_scripted(entry)) {
        text += " Call the tools of `codemode` servers from scripts of `codemode`.";
    }
    if listed.iter().any(|entry| needs_search(entry, has_scripts)) {
        text += " Load the tools of `tool_search` servers with `tool_search`.";
    }
    let room = (MAX_SECTION - text.len()) / listed.len();
    let total = listed.len();
    for (at, entry) in listed.into_iter().enumerate() {
        let ways = [(is_scripted(entry), "codemode"), (needs_search(entry, has_scripts), "tool_search")];
        let ways: Vec<&str> = ways.into_iter().filter(|(is_one, _)| *is_one).map(|(_, way)| way).collect();
        let mut line = format!("\n- {} ({})", namespace(&entry.name), ways.join(", "));
        if text.len() + line.len() > MAX_SECTION {
            let more = total - at;
            let s = if more == 1 { "" } else { "s" };
            text += &format!("\n- … {more} more server{s}; look for their tools");
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

/// Whether tools of the server are found by `tool_search` alone.
pub(crate) fn needs_search(entry: &McpEntry, has_scripts: bool) -> bool {
    !has_scripts && entry.has_exposure(McpExposure::Codemode) || entry.has_exposure(McpExposure::Deferred)
}

/// The text for the user where these servers have tools that only `codemode` or `tool_search` can call, and neither is offered;
/// `is_turned_off`: because of `autoEnableCodemode`.
pub fn unreachable_notice<'a>(servers: impl Iterator<Item = &'a McpEntry>, is_turned_off: bool) -> String {
    let unreached = |entry: &&McpEntry| {
        entry.has_exposure(McpExposure::Codemode) || entry.has_exposure(McpExposure::Deferred)
    };
    let names: Vec<&str> = servers.filter(unreached).map(|entry| entry.name.as_str()).collect();
    let reason = if is_turned_off { " (autoEnableCodemode is false)" } else { "" };
    format!(
        "Tools of MCP servers are reached by {SCRIPT_TOOL} or {SEARCH_TOOL}, and neither is offered{reason}; they cannot be called: {}",
        names.join(", ")
    )
}

/// What the log says of those of these servers whose exposure is `codemode`, in a program without scripts; `None`: there are none.
pub fn deferred_notice<'a>(servers: impl Iterator<Item = &'a McpEntry>) -> Option<String> {
    let scripted = servers.filter(|entry| entry.has_exposure(McpExposure::Codemode));
    let names: Vec<&str> = scripted.map(|entry| entry.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "MCP servers with exposure codemode are deferred here, as this program was built without scripts: the model finds their tools by \
             {SEARCH_TOOL} ({})",
            names.join(", ")
        )
    })
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
