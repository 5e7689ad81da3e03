//! Servers of the Model Context Protocol, as far as frames show them.
//!
//! Servers have no frames of their own. Their tools are declared in system messages and called by `mcp__SERVER__TOOL`, the section
//! `mcp_servers` of the system message names those whose tools are not declared, and notices tell users what is wrong with one.

use super::wire::McpServer;
use pi_rpc_recording::{Body, Direction, Record};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What names of tools begin with.
const PREFIX: &str = "mcp__";

/// The most servers, and tools of each, that are kept.
const MAX_SERVERS: usize = 200;
const MAX_TOOLS: usize = 1000;

/// The longest state or error that is kept, in characters.
const MAX_TEXT: usize = 300;

/// The types of frames that tell of servers.
const KINDS: [&str; 4] =
    ["message_end", "tool_execution_start", "tool_execution_end", "extension_ui_request"];

/// What states begin with in the notices of pi and ours.
const STATES: [&str; 6] = ["connected", "connecting", "disconnected", "disabled", "failed", "needs"];

/// The servers of a recording.
#[derive(Debug, Default)]
pub struct ServerIndex(BTreeMap<String, McpServer>);

/// The members of a frame that tell of servers.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServerFrame {
    tool_name: String,
    is_error: bool,
    result: Value,
    /// An object in events, a text in notices.
    message: Value,
    method: String,
}

impl ServerIndex {
    /// The servers by name.
    pub fn servers(&self) -> Vec<McpServer> {
        self.0.values().cloned().collect()
    }

    /// Adds a record of this kind.
    pub fn add(&mut self, number: u32, kind: &str, record: &Record<'_>) {
        let Body::Json(line) = &record.body else { return };
        if record.direction != Direction::Out || !KINDS.contains(&kind) {
            return;
        }
        let Ok(line) = std::str::from_utf8(line) else { return };
        let is_about = match kind {
            "message_end" => line.contains("\"system\"") && line.contains(PREFIX),
            "tool_execution_start" | "tool_execution_end" => line.contains(PREFIX),
            "extension_ui_request" => line.contains("\"notify\""),
            _ => false,
        };
        if !is_about {
            return;
        }
        let Ok(frame) = serde_json::from_str::<ServerFrame>(line) else { return };
        match kind {
            "message_end" if frame.message["role"] == "system" => self.take_system_message(&frame.message),
            "tool_execution_start" => {
                if let Some(server) = self.of_tool(&frame.tool_name) {
                    server.calls += 1;
                }
            }
            "tool_execution_end" => self.end_call(number, &frame),
            "extension_ui_request" if frame.method == "notify" => {
                self.take_notice(number, frame.message.as_str().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn take_system_message(&mut self, message: &Value) {
        for tool in message["toolsAdded"].as_array().into_iter().flatten() {
            if let Some(server) = self.of_tool(tool["name"].as_str().unwrap_or_default()) {
                "connected".clone_into(&mut server.state);
            }
        }
        let section = message["sections"]["mcp_servers"].as_str().unwrap_or_default();
        for line in section.lines().filter_map(|line| line.strip_prefix("- ")?.strip_prefix(PREFIX)) {
            let Some((name, rest)) = line.split_once(" (") else { continue };
            let reached = rest.split(')').next().unwrap_or_default();
            if let Some(server) = self.entry(name) {
                server.reached_by = Some(shorten(reached));
            }
        }
    }

    fn end_call(&mut self, number: u32, frame: &ServerFrame) {
        let Some(server) = self.of_tool(&frame.tool_name) else { return };
        if !frame.is_error {
            "connected".clone_into(&mut server.state);
            return;
        }
        server.failed += 1;
        let text = frame.result["content"].get(0).and_then(|block| block["text"].as_str());
        (server.last_error, server.error_record) = (text.map(shorten), Some(number));
    }

    /// Takes the lines `NAME: STATE` of a notice; what follows a state is its reason.
    fn take_notice(&mut self, number: u32, text: &str) {
        for line in text.lines().map(str::trim) {
            let Some((name, state)) = line.split_once(": ") else { continue };
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
            if !is_name || !STATES.iter().any(|known| state.starts_with(known)) {
                continue;
            }
            let Some(server) = self.entry(name) else { continue };
            let (state, error) =
                state.split_once(": ").map_or((state, None), |(state, error)| (state, Some(error)));
            server.state = shorten(state);
            if let Some(error) = error {
                (server.last_error, server.error_record) = (Some(shorten(error)), Some(number));
            }
        }
    }

    /// The server of a tool, which is noted.
    fn of_tool(&mut self, tool: &str) -> Option<&mut McpServer> {
        let (server, name) = tool.strip_prefix(PREFIX)?.split_once("__")?;
        let server = self.entry(server)?;
        let is_new = !server.tools.iter().any(|known| known == name);
        if is_new && server.tools.len() < MAX_TOOLS {
            server.tools.push(shorten(name));
        }
        Some(server)
    }

    /// The server of this name; tools have `_` for `-`.
    fn entry(&mut self, name: &str) -> Option<&mut McpServer> {
        let name = shorten(&name.replace('-', "_"));
        if !self.0.contains_key(&name) && self.0.len() >= MAX_SERVERS {
            return None;
        }
        let new = || McpServer { name: name.clone(), state: "not known".to_owned(), ..McpServer::default() };
        Some(self.0.entry(name.clone()).or_insert_with(new))
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}
