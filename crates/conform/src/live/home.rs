//! The temporary home and working directory of a server while a scenario is played, separate from the user's.

use super::{Adapter, Server};
use pi_rpc_protocol::ErrorText;
use pi_rpc_scenario::{Scenario, Variables};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    env, fs, io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use tokio::process::Command;

/// The environment variables that servers inherit.
pub(super) const INHERITED: [&str; 3] = ["PATH", "LANG", "TERM"];

/// The API key for the scripted model, which accepts any.
const KEY: &str = "key";

/// Words of refusals of a command that has a member of another type or lacks one, as the originals and this server write them.
const MALFORMED: [&str; 7] =
    ["undefined", "null", "not a function", "not an object", "not found", "expected", "missing"];

/// The pattern of such a refusal.
fn malformed() -> Value {
    let words: Vec<Value> = MALFORMED.iter().map(|word| json!({ "$contains": word })).collect();
    json!({ "$one": words })
}

/// A temporary home directory with a working directory beside it. Dropping it removes both.
pub struct Home {
    /// The variables of the scenario so far.
    pub variables: Variables,
    adapter: Adapter,
    cwd: PathBuf,
    home: PathBuf,
    options: Vec<String>,
    _dir: TempDir,
}

impl Home {
    /// Creates the directories for a scenario, with the files of the adapter and of the scenario; `model` and `mcp` are the addresses of
    /// the scripted model and of the scripted servers.
    ///
    /// # Errors
    ///
    /// When something could not be created; the text names the path.
    pub fn make(
        server: &Server,
        scenario: &Scenario,
        model: SocketAddr,
        mcp: &BTreeMap<String, SocketAddr>,
    ) -> Result<Self, String> {
        let adapter = server.adapter.clone();
        let dir = tempfile::Builder::new().prefix("pi-rpc-").tempdir();
        let dir = dir.map_err(|error| format!("no temporary directory: {error}"))?;
        // Servers report canonical paths.
        let root = dir.path().canonicalize().map_err(|error| error.to_string())?;
        let (home, cwd, extension) = (root.join("home"), root.join("work"), root.join("extension"));
        let mut variables = Variables::default();
        variables.set("home", text(&home));
        variables.set("cwd", text(&cwd));
        variables.set("extension", text(&extension));
        variables.set("baseUrl", format!("http://{model}"));
        variables.set("apiKey", KEY);
        variables.set("dialect", server.dialect.as_str());
        for error in ErrorText::ALL {
            variables.set(format!("error.{}", error.as_str()), error.template(server.dialect.base()));
        }
        variables.set("malformed", malformed());
        variables.set("contextWindow", scenario.script.model.context_window);
        variables.set("maxTokens", scenario.script.model.max_tokens);
        variables.set("reasoning", scenario.script.model.reasoning);
        variables.set("agentDir", variables.fill_text(&adapter.agent_dir)?);
        let options = scenario.args.clone();
        let mut made = Self { variables, adapter, cwd, home, options, _dir: dir };
        for folder in [&made.home.join("tmp"), &made.cwd, &extension] {
            fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        }
        made.write_files(scenario)?;
        made.write_mcp(scenario, mcp)?;
        if scenario.needs.contains(&pi_rpc_scenario::Capability::Extension) {
            made.install_extension(&extension)?;
        }
        Ok(made)
    }

    /// The command that starts the server, with `more` options after all others.
    ///
    /// # Errors
    ///
    /// Names a variable that is not known.
    pub fn command(&self, server: &Server, more: &[String]) -> Result<Command, String> {
        let fill = |text: &String| self.variables.fill_text(text);
        let mut command = Command::new(&server.program);
        command.args(&server.args).env_clear().current_dir(&self.cwd);
        for option in self.adapter.args.iter().chain(&self.options).chain(more) {
            command.arg(fill(option)?);
        }
        for name in INHERITED {
            command.envs(env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", &self.home).env("TMPDIR", self.home.join("tmp"));
        for (name, value) in &self.adapter.env {
            command.env(name, fill(value)?);
        }
        Ok(command)
    }

    /// Resolves a path of the scenario: variables are filled in, and it is relative to the working directory.
    ///
    /// # Errors
    ///
    /// Names a variable that is not known.
    pub fn path(&self, written: &str) -> Result<PathBuf, String> {
        self.variables.fill_text(written).map(|path| self.cwd.join(path))
    }

    /// Writes a file and creates its parent folders.
    ///
    /// # Errors
    ///
    /// When something could not be written; the text names the path.
    pub fn put(&self, written: &str, content: &[u8]) -> Result<PathBuf, String> {
        let path = self.path(written)?;
        let folder = path.parent().unwrap_or(&self.cwd);
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        fs::write(&path, content).map_err(|error| failed(&path, &error))?;
        Ok(path)
    }

    fn write_files(&mut self, scenario: &Scenario) -> Result<(), String> {
        let mut files = self.adapter.files.clone();
        if let Some(Value::Object(settings)) =
            self.adapter.settings.as_ref().and_then(|path| files.get_mut(path))
        {
            merge(settings, &scenario.settings);
        }
        for (path, content) in files.iter().chain(&scenario.files) {
            let content = match self.variables.fill(content)? {
                Value::String(text) => text,
                json => format!("{json:#}\n"),
            };
            self.put(path, content.as_bytes())?;
        }
        Ok(())
    }

    /// Writes the entries of the scripted servers.
    fn write_mcp(&self, scenario: &Scenario, addresses: &BTreeMap<String, SocketAddr>) -> Result<(), String> {
        let Some(path) = self.adapter.mcp.as_ref().filter(|_| !addresses.is_empty()) else { return Ok(()) };
        let entries = scenario.mcp_servers.iter().filter_map(|(name, server)| {
            let mut entry = server.entry.clone();
            entry.insert("url".to_owned(), format!("http://{}/mcp", addresses.get(name)?).into());
            Some((name.clone(), Value::Object(entry)))
        });
        let file = serde_json::json!({ "mcpServers": entries.collect::<Map<String, Value>>() });
        self.put(path, file.to_string().as_bytes()).map(drop)
    }

    /// Copies the files of the test extension, and adds the options that load it.
    fn install_extension(&mut self, folder: &Path) -> Result<(), String> {
        let Some(extension) = &self.adapter.extension else { return Ok(()) };
        for name in &extension.copy {
            let path = folder.join(name);
            let copied = self.adapter.extension_file(name).and_then(|text| {
                fs::write(&path, text)?;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            });
            copied.map_err(|error: io::Error| failed(&path, &error))?;
        }
        self.options.splice(0..0, extension.args.iter().cloned());
        Ok(())
    }
}

/// Merges `added` into `settings`, member by member.
fn merge(settings: &mut Map<String, Value>, added: &Map<String, Value>) {
    for (key, value) in added {
        match (settings.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            (Some(there), value) => *there = value.clone(),
            (None, value) => drop(settings.insert(key.clone(), value.clone())),
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
