//! A published pi or this server, from the side of a host.

use super::install::Words;
use crate::serve_support::{Server, binary, command, write_agent_file};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// Program that reads and writes session files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The tested server.
    Ours,
    /// A published pi or omp, by its command.
    Pi(Words),
}

impl Kind {
    /// Starts the program with this home.
    fn command(self, home: &Path) -> Command {
        let (program, words) = match self {
            Self::Ours => (binary(), [].as_slice()),
            Self::Pi(words) => {
                words.split_first().map(|(program, words)| (program.as_path(), words)).unwrap()
            }
        };
        let mut command = command(program, home);
        command.env("PI_OFFLINE", "1").args(words);
        command
    }
}

/// Running program, with a home of its own.
pub struct Agent {
    pub server: Server,
    pub kind: Kind,
    asked: usize,
}

impl Agent {
    /// Starts a program with these further options.
    pub fn start(kind: Kind, vendor: SocketAddr, options: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), kind, vendor, options)
    }

    /// Starts a program in this home.
    pub fn start_in(dir: TempDir, kind: Kind, vendor: SocketAddr, options: &[&str]) -> Self {
        Self::start_with(dir, kind, &models(vendor), options)
    }

    /// Starts a program in this home, with this `models.json`.
    pub fn start_with(dir: TempDir, kind: Kind, models: &Value, options: &[&str]) -> Self {
        Self::start_with_variables(dir, kind, models, options, &[])
    }

    /// Starts in that home, with that `models.json` and these variables.
    pub fn start_with_variables(
        dir: TempDir,
        kind: Kind,
        models: &Value,
        options: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        Self::start_with_settings(dir, kind, models, &settings(), options, variables)
    }

    /// Starts in that home, with these files and variables.
    pub fn start_with_settings(
        dir: TempDir,
        kind: Kind,
        models: &Value,
        settings: &Value,
        options: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        write_agent_file(dir.path(), Dialect::Pi, "models.json", models);
        write_agent_file(dir.path(), Dialect::Pi, "settings.json", settings);
        let mut command = kind.command(dir.path());
        command.envs(variables.iter().copied()).args(["--mode", "rpc"]).args(options);
        Self { server: Server::start(Dialect::Pi, dir, command), kind, asked: 0 }
    }

    /// Starts in the dialect omp, in this folder: omp opens no session of another. The files are YAML, as omp writes them.
    pub fn start_in_omp(project: &Path, kind: Kind, vendor: SocketAddr) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // JSON is YAML.
        write_agent_file(dir.path(), Dialect::Omp, "models.yml", &models(vendor));
        let settings = "modelRoles:\n  default: first/model:high\ncompaction:\n  enabled: false\n";
        fs::write(dir.path().join(".omp/agent/config.yml"), settings).unwrap();
        let mut command = kind.command(dir.path());
        command.current_dir(project).args(["--mode", "rpc"]);
        if kind == Kind::Ours {
            command.args(["--dialect", "omp"]);
        }
        Self { server: Server::start(Dialect::Omp, dir, command), kind, asked: 0 }
    }

    /// Sends a command, and reads up to its response; returns the data, if the command succeeds.
    #[track_caller]
    pub fn try_ask(&mut self, mut command: Value) -> Result<Value, String> {
        self.asked += 1;
        let id = format!("q{}", self.asked);
        command["id"] = id.clone().into();
        self.server.send(command);
        let mut response = self.until(|frame| frame["type"] == "response" && frame["id"] == id.as_str());
        match response["success"] == true {
            true => Ok(response["data"].take()),
            false => Err(response["error"].as_str().unwrap_or_default().to_owned()),
        }
    }

    /// Sends a command, which must succeed, and returns its data.
    #[track_caller]
    pub fn ask(&mut self, command: Value) -> Value {
        self.try_ask(command.clone()).unwrap_or_else(|error| panic!("{:?}: {command}: {error}", self.kind))
    }

    /// Runs a prompt to its end.
    #[track_caller]
    pub fn run(&mut self, message: &str) {
        self.run_with(json!({ "message": message }));
    }

    /// Sends a prompt, and reads nothing.
    pub fn prompt(&mut self, message: &str) {
        self.server.send(json!({ "type": "prompt", "message": message }));
    }

    /// Runs a prompt with these fields to its end.
    #[track_caller]
    pub fn run_with(&mut self, mut prompt: Value) {
        prompt["type"] = "prompt".into();
        self.server.send(prompt);
        self.until(|frame| frame["type"] == "agent_end");
    }

    /// Reads up to the first frame that fits. Frames are not checked: pi's are its own.
    #[track_caller]
    pub fn until(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let Some(line) = self.server.next_line() else { panic!("{:?} has ended", self.kind) };
            let frame = serde_json::from_slice(&line).unwrap_or_else(|error| {
                panic!("{:?}: {error}: {}", self.kind, String::from_utf8_lossy(&line))
            });
            if fits(&frame) {
                return frame;
            }
        }
    }

    /// Switches to this session file.
    #[track_caller]
    pub fn switch(&mut self, path: &Path) {
        let data = self.ask(json!({ "type": "switch_session", "sessionPath": path }));
        assert_eq!(data["cancelled"], false, "{:?}", self.kind);
    }

    /// All messages of the conversation, without `responseId`, which only pi 0.73 has.
    #[track_caller]
    pub fn messages(&mut self) -> Vec<Value> {
        let mut data = self.ask(json!({ "type": "get_messages" }));
        let Value::Array(messages) = data["messages"].take() else { panic!("no messages: {data}") };
        messages.into_iter().map(|message| plain(without_response_id(message))).collect()
    }

    #[track_caller]
    pub fn state(&mut self) -> Value {
        self.ask(json!({ "type": "get_state" }))
    }

    /// Path of the session file.
    #[track_caller]
    pub fn file(&mut self) -> PathBuf {
        let state = self.state();
        state["sessionFile"].as_str().unwrap_or_else(|| panic!("no file: {state}")).into()
    }

    /// Ends the program; its files stay until the result is dropped.
    #[track_caller]
    pub fn ends(mut self) -> TempDir {
        self.server.close_stdin();
        self.ended()
    }

    /// Waits for the exit of the program.
    #[track_caller]
    pub fn ended(mut self) -> TempDir {
        while self.server.next_line().is_some() {}
        self.server.ends().dir
    }
}

/// The lines of a session file.
#[track_caller]
pub fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn without_response_id(mut message: Value) -> Value {
    if let Value::Object(fields) = &mut message {
        fields.shift_remove("responseId");
    }
    message
}

/// Numbers as all programs read them: 0 and 0.0 are the same.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(list) => list.into_iter().map(plain).collect(),
        Value::Object(object) => object.into_iter().map(|(key, value)| (key, plain(value))).collect(),
        other => other,
    }
}

/// Two models of two vendors behind one address.
fn models(vendor: SocketAddr) -> Value {
    let provider = |api: &str, base: String| {
        json!({
            "baseUrl": base, "apiKey": "key", "api": api,
            "models": [{
                "id": "model", "name": "Model", "reasoning": true, "input": ["text", "image"],
                "contextWindow": 200_000, "maxTokens": 8000,
                "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
            }],
        })
    };
    json!({ "providers": {
        "first": provider("anthropic-messages", format!("http://{vendor}")),
        "second": provider("openai-completions", format!("http://{vendor}/v1")),
    } })
}

/// The model is not one of the command line: pi 0.73 would take that for every session that it opens. A compaction
/// keeps next to nothing, so that it has something to do in a short conversation.
fn settings() -> Value {
    json!({ "defaultProvider": "first", "defaultModel": "model", "compaction": { "enabled": false, "keepRecentTokens": 1 }, "retry": { "enabled": false } })
}
