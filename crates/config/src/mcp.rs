//! Servers of the Model Context Protocol (MCP), from the `mcp.json` of the user and of the project.
//!
//! The user's file lies in the agent directory, the project's in its settings directory. The project's is read only once somebody has
//! approved the project, in every dialect: it names commands. A server of the project replaces one of the user's with the same name;
//! an entry without `command`, `url` and `type` changes its `enabled`, `exposure` and `toolExposure` alone. Source: pi 1.6.0's `mcp.md`, observed.

use super::{
    Config, Environment,
    command::KeyCommands,
    mcp_entry::{read_entry, server_namespace},
    value::interpolate,
};
use indexmap::IndexMap;
use pi_rpc_files::{
    regular_files::{self, CONFIGURATION},
    secrets::Secrets,
};
use pi_rpc_protocol::JsonObject;
use serde_json::Value;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

pub use super::mcp_entry::{McpEntry, McpExposure, McpTransport};

/// The file, in both directories.
const FILE: &str = "mcp.json";

/// What a project may change about a server of the user's.
pub(super) const OVERRIDES: [&str; 3] = ["enabled", "exposure", "toolExposure"];

/// The configured servers, and what is wrong with the files.
#[derive(Clone, Debug, Default)]
pub struct McpServers {
    /// The servers, disabled ones included, in the order of the files.
    pub servers: Vec<McpEntry>,
    /// A line for each entry or file that is left out.
    pub errors: Vec<String>,
    /// `autoEnableCodemode`: whether scripts are offered where a server has tools for them; the project's counts before the user's.
    pub offers_scripts: Option<bool>,
}

/// Values of variables and headers, which can name variables and commands.
pub struct McpValues {
    environment: Environment,
    secrets: Secrets,
    commands: KeyCommands,
}

impl McpServers {
    /// Reads the files, if `is_on`; `None`: there is neither a server nor an error.
    pub fn load_if(is_on: bool, config: &Config) -> Option<Self> {
        let found = is_on.then(|| Self::load(config))?;
        (!found.servers.is_empty() || !found.errors.is_empty()).then_some(found)
    }

    /// Reads both files; the project's only if the project is approved.
    pub fn load(config: &Config) -> Self {
        let mut builder = McpServersBuilder::default();
        for (directory, is_of_project) in
            [(&config.directories.agent, false), (&config.directories.project, true)]
        {
            let path = directory.join(FILE);
            if config.approval.is_of_project(directory) && !config.approval.is_approved() {
                // Where the project's texts are left out as well, that is said once for all of them.
                if config.approval.admits_texts() && path.symlink_metadata().is_ok() {
                    let text =
                        "MCP servers of a project that is not approved are left out; --approve approves it";
                    builder.errors.push(format!("{}: {text}", path.display()));
                }
                continue;
            }
            match regular_files::read_to_string(&path, CONFIGURATION) {
                Ok(text) => builder.read(&path, &text, is_of_project),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => builder.errors.push(format!("{}: {error}", path.display())),
            }
        }
        builder.finish()
    }
}

/// Collects the servers of the files, in the order in which they are read.
#[derive(Default)]
struct McpServersBuilder {
    /// Each server as it was written, and as it is understood.
    servers: IndexMap<String, (JsonObject, McpEntry)>,
    errors: Vec<String>,
    offers_scripts: Option<bool>,
}

impl McpServersBuilder {
    fn read(&mut self, path: &Path, text: &str, is_of_project: bool) {
        let shown = path.display();
        let parsed: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(parsed) => parsed,
            Err(error) => return self.errors.push(format!("{shown}: {error}")),
        };
        match parsed.get("autoEnableCodemode") {
            None => {}
            Some(Value::Bool(offers)) => self.offers_scripts = Some(*offers),
            Some(_) => self.errors.push(format!("{shown}: autoEnableCodemode must be a boolean")),
        }
        let none = JsonObject::new();
        let servers = match parsed.as_object().map(|file| file.get("mcpServers")) {
            Some(None) => &none,
            Some(Some(Value::Object(servers))) => servers,
            _ => {
                return self
                    .errors
                    .push(format!("{shown}: expected an object with an \"mcpServers\" object"));
            }
        };
        for (name, value) in servers {
            if let Err(error) = self.add(path, name, value, is_of_project) {
                self.errors.push(format!("{shown}: {error}"));
            }
        }
    }

    fn add(&mut self, path: &Path, name: &str, value: &Value, is_of_project: bool) -> Result<(), String> {
        let is_override = |entry: &JsonObject| {
            is_of_project && ["command", "url", "type"].iter().all(|key| !entry.contains_key(*key))
        };
        if let Some(change) = value.as_object().filter(|entry| is_override(entry)) {
            let Some((written, before)) = self.servers.get_mut(name) else {
                return Err(format!(
                    "server \"{name}\" needs \"command\" or \"url\", or a global server to override"
                ));
            };
            if change.keys().any(|key| !OVERRIDES.contains(&key.as_str())) {
                return Err(format!("server \"{name}\": an override can only set {}", OVERRIDES.join(", ")));
            }
            let mut whole = written.clone();
            whole.extend(change.clone());
            let entry = McpEntry {
                changed_by: Some(path.to_owned()),
                ..read_entry(name, &Value::Object(whole.clone()), &before.source, before.is_of_project)?
            };
            (*written, *before) = (whole, entry);
            return Ok(());
        }
        let entry = read_entry(name, value, path, is_of_project)?;
        let mut others = self.servers.keys().filter(|other| *other != name);
        if let Some(clash) = others.find(|other| server_namespace(other) == server_namespace(name)) {
            return Err(format!("server \"{name}\" conflicts with \"{clash}\""));
        }
        let written = value.as_object().cloned().unwrap_or_default();
        self.servers.insert(name.to_owned(), (written, entry));
        Ok(())
    }

    fn finish(self) -> McpServers {
        McpServers {
            servers: self.servers.into_values().map(|(_, entry)| entry).collect(),
            errors: self.errors,
            offers_scripts: self.offers_scripts,
        }
    }
}

impl McpValues {
    /// Values by these variables; `secrets` learns what comes from variables and commands.
    pub fn new(environment: Environment, secrets: Secrets) -> Self {
        Self { environment, secrets, commands: KeyCommands::default() }
    }

    /// Resolves a value of `env` or `headers`: `!command` alone, else `${NAME}` and `$NAME` in the text. May run a command and block.
    ///
    /// # Errors
    ///
    /// The command fails, or a variable is not set; the value is not shown.
    pub fn resolve(&self, text: &str) -> Result<String, String> {
        let value = match text.strip_prefix('!') {
            Some(command) => self
                .commands
                .output(command)
                .ok_or_else(|| "its command failed or printed nothing".to_owned())?,
            None => interpolate(text, &self.environment)
                .map_err(|name| format!("the environment variable {name} is not set"))?,
        };
        if value != text {
            self.secrets.remember(&value);
        }
        Ok(value)
    }

    /// The folder in which a server's process works, for a session in `directory`; `None`: the server is no process of ours.
    pub fn working_directory(&self, entry: &McpEntry, directory: &Path) -> Option<PathBuf> {
        let McpTransport::Stdio { cwd, .. } = &entry.transport else { return None };
        Some(directory.join(self.expand_home(cwd.as_deref().unwrap_or("."))))
    }

    /// The path with the home directory in place of a leading `~/`.
    pub fn expand_home(&self, path: &str) -> String {
        super::expand_home(path, &self.environment).to_string_lossy().into_owned()
    }
}

/// The time limit of a request without `timeout`.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The user's file and the project's, to be written.
pub fn files(config: &Config) -> (PathBuf, PathBuf) {
    (config.directories.agent.join(FILE), config.directories.project.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(user: &str, project: Option<&str>) -> McpServers {
        let mut builder = McpServersBuilder::default();
        builder.read(Path::new("/u/mcp.json"), user, false);
        if let Some(project) = project {
            builder.read(Path::new("/p/mcp.json"), project, true);
        }
        builder.finish()
    }

    #[test]
    fn invalid_entries_are_named_and_skipped() {
        for (entry, error) in [
            (
                r#""in valid":{"command":"x"}"#,
                r#"invalid server name "in valid" (use letters, digits, "_" and "-")"#,
            ),
            (r#""a":1"#, r#"server "a" must be an object"#),
            (r#""a":{}"#, r#"server "a" needs either "command" (stdio) or "url" (streamable HTTP)"#),
            (
                r#""a":{"type":"stdio","url":"http://x"}"#,
                r#"server "a" needs either "command" (stdio) or "url" (streamable HTTP)"#,
            ),
            (
                r#""a":{"type":"sse","url":"http://x"}"#,
                r#"server "a": legacy SSE transport is not supported; use the streamable HTTP URL"#,
            ),
            (r#""a":{"url":"ftp://x"}"#, r#"server "a": url must be an http or https URL"#),
            (
                r#""a":{"url":"http://x","headers":{"A":1}}"#,
                r#"server "a": headers must map names to strings"#,
            ),
            (r#""a":{"command":"x","args":[1]}"#, r#"server "a": args must be an array of strings"#),
            (r#""a":{"command":"x","env":[]}"#, r#"server "a": env must map names to strings"#),
            (r#""a":{"command":"x","cwd":1}"#, r#"server "a": cwd must be a string"#),
            (
                r#""a":{"command":"x","timeout":0}"#,
                r#"server "a": timeout must be a positive number of seconds"#,
            ),
            (r#""a":{"command":"x","enabled":1}"#, r#"server "a": enabled must be a boolean"#),
            (r#""a":{"command":"x","description":1}"#, r#"server "a": description must be a string"#),
            (
                r#""a":{"command":"x","exposure":"x"}"#,
                r#"server "a": exposure must be one of "codemode", "deferred", "direct", "hidden""#,
            ),
            (
                r#""a":{"command":"x","toolExposure":{"t":"x"}}"#,
                r#"server "a": toolExposure "t" must be one of "codemode", "deferred", "direct", "hidden""#,
            ),
            (r#""o-k":{"command":"x"}"#, r#"server "o-k" conflicts with "o_k""#),
        ] {
            let found = read(&format!(r#"{{"mcpServers":{{"o_k":{{"command":"x"}},{entry}}}}}"#), None);
            assert_eq!(found.errors, [format!("/u/mcp.json: {error}")], "{entry}");
            assert_eq!(found.servers.len(), 1, "{entry}");
        }
        let not_ours = read("[]", None).errors;
        assert_eq!(not_ours, [r#"/u/mcp.json: expected an object with an "mcpServers" object"#]);
        assert_eq!(read("\u{feff}{}", None).errors, [] as [String; 0]);
        assert!(read("{", None).errors[0].starts_with("/u/mcp.json: "));
    }

    #[test]
    fn project_replaces_or_overrides_user_servers() {
        let user = r#"{"mcpServers":{"a":{"command":"x","env":{"K":"${V}"}},"b":{"command":"y"}}}"#;
        let project = r#"{"mcpServers":{"a":{"enabled":false,"exposure":"codemode-deferred"},"b":{"url":"https://h/m"},
            "c":{"enabled":true},"d":{"command":"z","exposure":"direct"}}}"#;
        let found = read(user, Some(project));
        let [a, b, d] = &found.servers[..] else { panic!("{found:?}") };
        assert_eq!((a.is_enabled, a.exposure, a.is_of_project), (false, McpExposure::Codemode, false));
        let McpTransport::Stdio { env, .. } = &a.transport else { panic!("{a:?}") };
        assert_eq!(env, &[("K".to_owned(), "${V}".to_owned())]);
        assert!(matches!(&b.transport, McpTransport::Http { url, .. } if url == "https://h/m"));
        assert_eq!((b.is_of_project, d.exposure), (true, McpExposure::Direct));
        let needs = r#"server "c" needs "command" or "url", or a global server to override"#;
        assert_eq!(found.errors, [format!("/p/mcp.json: {needs}")]);
        let more = read(user, Some(r#"{"mcpServers":{"a":{"env":{}}}}"#));
        let only = r#"server "a": an override can only set enabled, exposure, toolExposure"#;
        assert_eq!(more.errors, [format!("/p/mcp.json: {only}")]);
    }

    #[test]
    fn project_says_last_whether_scripts_are_offered() {
        let text = |value: &str| format!(r#"{{"autoEnableCodemode":{value}}}"#);
        for (user, project, expected) in
            [("true", "false", Some(false)), ("false", "true", Some(true)), ("false", "1", Some(false))]
        {
            assert_eq!(read(&text(user), Some(&text(project))).offers_scripts, expected, "{project}");
        }
        assert_eq!(read("{}", Some("{}")).offers_scripts, None);
        assert_eq!(read(&text("1"), None).errors, ["/u/mcp.json: autoEnableCodemode must be a boolean"]);
    }

    #[test]
    fn exact_tool_names_win_over_patterns() {
        let text = r#"{"mcpServers":{"a":{"command":"x","exposure":"deferred",
            "toolExposure":{"get_*":"hidden","get_one":"direct","g*":"codemode"}}}}"#;
        let found = read(text, None);
        let exposures = ["get_one", "get_two", "go", "set"].map(|tool| found.servers[0].exposure_of(tool));
        use McpExposure::{Codemode, Deferred, Direct, Hidden};
        assert_eq!(exposures, [Direct, Hidden, Codemode, Deferred]);
    }

    #[test]
    fn values_name_variables_and_commands() {
        let values = McpValues::new([("KEY", "k")].into_iter().collect(), Secrets::default());
        assert_eq!(values.resolve("Bearer ${KEY}"), Ok("Bearer k".to_owned()));
        assert_eq!(values.resolve("!echo out"), Ok("out".to_owned()));
        assert_eq!(values.resolve("${NONE}"), Err("the environment variable NONE is not set".to_owned()));
        assert_eq!(values.resolve("!false"), Err("its command failed or printed nothing".to_owned()));
    }
}
