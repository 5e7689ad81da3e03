//! One entry of `mcpServers`: its fields, checked one by one.

use super::{
    mcp::TIMEOUT,
    mcp_oauth::{McpOAuth, read_oauth},
};
use pi_rpc_protocol::JsonObject;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// A configured server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpEntry {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// How the server is reached.
    pub transport: McpTransport,
    /// The time limit of a request; progress starts it anew.
    pub timeout: Duration,
    /// Whether it is connected.
    pub is_enabled: bool,
    /// How the model reaches tools that `tool_exposure` does not name.
    pub exposure: McpExposure,
    /// Names or patterns of tools, and how the model reaches them.
    pub tool_exposure: Vec<(String, McpExposure)>,
    /// What the server offers, in a sentence.
    pub description: Option<String>,
    /// The file that defines it.
    pub source: PathBuf,
    /// Whether that is the project's.
    pub is_of_project: bool,
    /// The project's file, where that changes it.
    pub changed_by: Option<PathBuf>,
}

/// How a server is reached. Values of `env` and `headers` are as written: see [`McpValues`](super::mcp::McpValues).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A process, on its stdin and stdout.
    Stdio {
        /// The executable.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables besides those of this process.
        env: Vec<(String, String)>,
        /// The working directory, from that of the session on.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
        /// How a login is made where there is no header `Authorization`.
        oauth: Box<McpOAuth>,
    },
}

/// How the model reaches a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpExposure {
    /// From scripts.
    Codemode,
    /// Once `tool_search` has loaded it.
    Deferred,
    /// Declared from the start.
    Direct,
    /// Not at all.
    Hidden,
}

impl McpEntry {
    /// Reads an entry that no file has; `source` is who has it in place of a file.
    ///
    /// # Errors
    ///
    /// The field that is wrong, and what was expected.
    pub fn read(name: &str, config: &JsonObject, source: &Path) -> Result<Self, String> {
        read_entry(name, &Value::Object(config.clone()), source, false)
    }

    /// Whether this name stands for the same server as another: they differ at most in `-` and `_`.
    pub fn has_name_of(&self, name: &str) -> bool {
        server_namespace(&self.name) == server_namespace(name)
    }

    /// How the model reaches this tool: by the exact name, else by the first pattern, else as all of the server's.
    pub fn exposure_of(&self, tool: &str) -> McpExposure {
        let exact = self.tool_exposure.iter().find(|(name, _)| name == tool);
        let of_pattern =
            || self.tool_exposure.iter().find(|(pattern, _)| pattern.contains('*') && matches(pattern, tool));
        exact.or_else(of_pattern).map_or(self.exposure, |(_, exposure)| *exposure)
    }

    /// The address, and how a login is made there; `None`: none is made, as there is a header `Authorization`, or no address.
    pub fn oauth(&self) -> Option<(&str, &McpOAuth)> {
        match &self.transport {
            McpTransport::Http { url, headers, oauth }
                if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) =>
            {
                Some((url, oauth))
            }
            _ => None,
        }
    }

    /// The command line or the address, as it is written.
    pub fn place(&self) -> String {
        match &self.transport {
            McpTransport::Stdio { command, args, .. } => {
                std::iter::once(command).chain(args).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            McpTransport::Http { url, .. } => url.clone(),
        }
    }

    /// Whether tools of the server can have this exposure.
    pub fn has_exposure(&self, exposure: McpExposure) -> bool {
        self.exposure == exposure || self.tool_exposure.iter().any(|(_, other)| *other == exposure)
    }
}

/// Names of one namespace are the same server: they differ only in `-` and `_`.
pub(super) fn server_namespace(name: &str) -> String {
    name.replace('-', "_")
}

/// Whether `*` in the pattern can stand for characters so that it is the name.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').map_or((None, rest), |(middle, tail)| (Some(middle), tail));
    let Some(mut name) = name.strip_suffix(tail) else { return false };
    for part in middle.into_iter().flat_map(|middle| middle.split('*')) {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    true
}

const EXPOSURES: &str = r#""codemode", "deferred", "direct", "hidden""#;

fn exposure(value: &Value) -> Option<McpExposure> {
    match value.as_str()? {
        "codemode" | "codemode-deferred" => Some(McpExposure::Codemode),
        "deferred" => Some(McpExposure::Deferred),
        "direct" => Some(McpExposure::Direct),
        "hidden" => Some(McpExposure::Hidden),
        _ => None,
    }
}

/// Reads one entry.
///
/// # Errors
///
/// The field that is wrong, and what was expected.
pub(super) fn read_entry(
    name: &str,
    value: &Value,
    source: &Path,
    is_of_project: bool,
) -> Result<McpEntry, String> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
        return Err(format!("invalid server name \"{name}\" (use letters, digits, \"_\" and \"-\")"));
    }
    let Value::Object(fields) = value else { return Err(format!("server \"{name}\" must be an object")) };
    let wrong = |text: &str| format!("server \"{name}\": {text}");
    let base = base_fields(fields).map_err(|text| wrong(&text))?;
    let kind = fields.get("type").map(|kind| kind.as_str().unwrap_or_default());
    if kind == Some("sse") {
        return Err(wrong("legacy SSE transport is not supported; use the streamable HTTP URL"));
    }
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let transport = match (text("url"), text("command"), kind) {
        (Some(url), _, None | Some("http" | "streamable-http")) => http(fields, url),
        (_, Some(command), None | Some("stdio")) => stdio(fields, command),
        _ => {
            return Err(format!(
                "server \"{name}\" needs either \"command\" (stdio) or \"url\" (streamable HTTP)"
            ));
        }
    };
    let transport = transport.map_err(|text| wrong(&text))?;
    Ok(McpEntry { name: name.to_owned(), transport, source: source.to_owned(), is_of_project, ..base })
}

/// What servers of both kinds have; the rest of the entry is empty.
fn base_fields(fields: &JsonObject) -> Result<McpEntry, String> {
    let is_enabled = match fields.get("enabled") {
        None => true,
        Some(value) => value.as_bool().ok_or("enabled must be a boolean")?,
    };
    let description = match fields.get("description") {
        None => None,
        Some(value) => Some(value.as_str().ok_or("description must be a string")?.to_owned()),
    };
    let timeout = match fields.get("timeout") {
        None => TIMEOUT,
        Some(value) => {
            let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
            let seconds = seconds.ok_or("timeout must be a positive number of seconds")?;
            // No timer runs longer than some years.
            Duration::try_from_secs_f64(seconds.min(1e8)).unwrap_or(TIMEOUT)
        }
    };
    let own = match fields.get("exposure") {
        None => McpExposure::Codemode,
        Some(value) => exposure(value).ok_or_else(|| format!("exposure must be one of {EXPOSURES}"))?,
    };
    let mut tool_exposure = Vec::new();
    match fields.get("toolExposure") {
        None => {}
        Some(Value::Object(tools)) => {
            for (tool, value) in tools {
                let of_tool = exposure(value);
                let of_tool =
                    of_tool.ok_or_else(|| format!("toolExposure \"{tool}\" must be one of {EXPOSURES}"))?;
                tool_exposure.push((tool.clone(), of_tool));
            }
        }
        Some(_) => return Err("toolExposure must map tool names to exposures".to_owned()),
    }
    Ok(McpEntry {
        name: String::new(),
        transport: McpTransport::Http { url: String::new(), headers: Vec::new(), oauth: Box::default() },
        timeout,
        is_enabled,
        exposure: own,
        tool_exposure,
        description,
        source: PathBuf::new(),
        is_of_project: false,
        changed_by: None,
    })
}

fn http(fields: &JsonObject, url: String) -> Result<McpTransport, String> {
    let lower = url.to_ascii_lowercase();
    let host = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
    if !host.is_some_and(|host| host.starts_with(|c: char| c.is_alphanumeric() || c == '[')) {
        return Err("url must be an http or https URL".to_owned());
    }
    if fields.contains_key("auth") {
        return Err("auth (the token of a provider's login) is not supported; expected headers".to_owned());
    }
    let headers = texts(fields.get("headers")).ok_or("headers must map names to strings")?;
    let oauth = Box::new(read_oauth(fields.get("oauth"))?);
    Ok(McpTransport::Http { url, headers, oauth })
}

fn stdio(fields: &JsonObject, command: String) -> Result<McpTransport, String> {
    let args = match fields.get("args") {
        None => Vec::new(),
        Some(value) => {
            let words = value
                .as_array()
                .and_then(|words| words.iter().map(|it| Some(it.as_str()?.to_owned())).collect());
            words.ok_or("args must be an array of strings")?
        }
    };
    let env = texts(fields.get("env")).ok_or("env must map names to strings")?;
    let cwd = match fields.get("cwd") {
        None => None,
        Some(value) => Some(value.as_str().ok_or("cwd must be a string")?.to_owned()),
    };
    Ok(McpTransport::Stdio { command, args, env, cwd })
}

/// The members of an object of strings; `None`: it is none.
fn texts(value: Option<&Value>) -> Option<Vec<(String, String)>> {
    let Some(value) = value else { return Some(Vec::new()) };
    value.as_object()?.iter().map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect()
}
