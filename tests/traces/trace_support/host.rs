//! A host that plays a conversation with our server, and records it.

use super::{Record, models, scenarios::Entry};
use crate::serve_support::{FakeVendor, Server, binary, command, write_agent_file};
use pi_rpc::protocol::{AgentSessionEventKind, Dialect};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// The host. Its requests have the ids `r1`, `r2`, … as in the recordings.
pub struct Host {
    pub dialect: Dialect,
    server: Option<Server>,
    /// The server's home, while none runs.
    home: Option<TempDir>,
    log: Vec<Record>,
    vendor: FakeVendor,
    /// The program that runs extensions in TypeScript.
    node: Option<PathBuf>,
    requests: usize,
    barriers: usize,
}

impl Host {
    /// Starts a server for a conversation; the example `ui_check` extends it where the conversation needs one.
    pub fn start(dialect: Dialect, entry: &Entry) -> Self {
        match entry.extended {
            true => Self::start_extended(dialect, entry, &example("ui_check"), None),
            false => Self::start_with(dialect, entry, &[], None),
        }
    }

    /// Starts a server for a conversation, extended by that file.
    pub fn start_extended(dialect: Dialect, entry: &Entry, extension: &str, node: Option<PathBuf>) -> Self {
        Self::start_with(dialect, entry, &["-e", extension], node)
    }

    fn start_with(dialect: Dialect, entry: &Entry, options: &[&str], node: Option<PathBuf>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let vendor = models::vendor(home.path(), dialect);
        if let Some(delay) = entry.retry_base_ms {
            let settings = json!({"retry": {"baseDelayMs": delay}});
            write_agent_file(home.path(), dialect, "settings.json", &settings);
        }
        let (server, home) = (None, Some(home));
        let mut host =
            Self { dialect, server, home, log: Vec::new(), vendor, node, requests: 0, barriers: 0 };
        host.start_again(&[entry.options, options].concat());
        host
    }

    /// Starts another server in the same home, when the one before has ended.
    pub fn start_again(&mut self, options: &[&str]) {
        let home = self.home.take().expect("the server before has ended");
        let mut command = command(binary(), home.path());
        command.args(["--mode", "rpc", "--dialect", self.dialect.as_str()]).args(models::START).args(options);
        command.envs(self.node.iter().map(|node| ("PI_RPC_NODE", node)));
        self.server = Some(Server::start(self.dialect, home, command));
        self.log.push(Record::Spawned);
        self.requests = 0;
    }

    /// Length of the conversation so far.
    pub fn mark(&self) -> usize {
        self.log.len()
    }

    /// Sends a frame as it is.
    pub fn send(&mut self, frame: Value) {
        self.server().send(frame.clone());
        self.log.push(Record::Sent(frame));
    }

    /// Sends a command with the next id, and returns the id.
    pub fn begin(&mut self, mut command: Value) -> String {
        self.requests += 1;
        let id = format!("r{}", self.requests);
        command["id"] = json!(id);
        self.send(command);
        id
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.log.push(Record::SentBytes);
        self.server().send_bytes(bytes);
    }

    /// Waits for a frame that fits, among those since `mark`.
    #[track_caller]
    pub fn await_since(&mut self, mark: usize, fits: impl Fn(&Value) -> bool) -> Value {
        let mut at = mark;
        loop {
            while let Some(record) = self.log.get(at) {
                at += 1;
                if let Record::Said(frame) = record
                    && fits(frame)
                {
                    return frame.clone();
                }
            }
            let frame = self.server().next();
            self.log.push(Record::Said(frame));
        }
    }

    /// Waits for the first response with that id, or to the last request if it has none.
    #[track_caller]
    pub fn response(&mut self, id: &str) -> Value {
        let sent = |record: &Record| matches!(record, Record::Sent(frame) if frame["id"] == *id);
        let mark = self.log.iter().rposition(sent).expect("it was sent");
        self.await_since(mark, |frame| {
            frame["type"] == "response"
                && (frame["id"] == *id || frame.get("id").is_none() && frame["success"] == false)
        })
    }

    /// Sends a command, and waits for its response.
    #[track_caller]
    pub fn call(&mut self, command: Value) -> Value {
        let id = self.begin(command);
        self.response(&id)
    }

    /// Waits for an event of that type, since `mark`.
    #[track_caller]
    pub fn event(&mut self, mark: usize, kind: &str) {
        self.await_since(mark, |frame| frame["type"] == kind);
    }

    /// Runs a prompt to its end.
    #[track_caller]
    pub fn prompt(&mut self, message: &str) {
        let mark = self.mark();
        self.call(json!({"type": "prompt", "message": message}));
        self.over(mark);
    }

    /// Waits until the run since `mark` has ended; where the dialect says so, until nothing follows it.
    #[track_caller]
    pub fn over(&mut self, mark: usize) {
        let settles = AgentSessionEventKind::AgentSettled.is_in(self.dialect.base());
        self.event(mark, if settles { "agent_settled" } else { "agent_end" });
    }

    /// Waits until the command of an extension has ended, where the dialect says so.
    #[track_caller]
    pub fn command_ended(&mut self, mark: usize) {
        if AgentSessionEventKind::PromptResult.is_in(self.dialect.base()) {
            self.event(mark, "prompt_result");
        }
    }

    /// Waits until the run since `mark` has ended, and reads whether the agent is idle.
    #[track_caller]
    pub fn settled(&mut self, mark: usize) {
        self.over(mark);
        self.call(json!({"type": "get_state"}));
    }

    /// Waits until all that was sent has been read; the conversation does not show it.
    #[track_caller]
    pub fn barrier(&mut self) {
        self.barriers += 1;
        let id = format!("barrier {}", self.barriers);
        self.server().send(json!({"id": id, "type": "get_state"}));
        let mark = self.mark();
        self.await_since(mark, |frame| frame["id"] == *id);
        self.log.pop();
    }

    /// Makes a file, which a command waits for.
    pub fn touch(&mut self, file: &str) {
        let path = self.server().path(file);
        fs::write(path, "").unwrap();
    }

    /// Waits for a file, which a command makes.
    #[track_caller]
    pub fn awaits(&mut self, file: &str) {
        self.server().awaits(file);
    }

    /// Records the session file that the response to `get_state` names.
    #[track_caller]
    pub fn look_at_file(&mut self, state: &Value) {
        let path = state["data"]["sessionFile"].as_str().expect("the session has a file");
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        self.log.push(Record::Stored(lines.collect()));
    }

    /// Records the names in the server's folder.
    pub fn look_at_folder(&mut self) {
        let files = fs::read_dir(self.server().dir.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        self.log.push(Record::Folder(names));
    }

    /// Closes our end of stdout.
    pub fn close_stdout(&mut self) {
        self.server().close_stdout();
    }

    /// Ends the input, and waits for the end of the server.
    #[track_caller]
    pub fn finish(&mut self) {
        self.server().close_stdin();
        self.ends();
    }

    /// Waits for the end of the server.
    #[track_caller]
    pub fn ends(&mut self) {
        let ended = self.server.take().expect("it runs").ends();
        self.home = Some(ended.dir);
        self.log.extend(ended.frames.into_iter().map(Record::Said));
        self.log.push(Record::Exited(ended.status.code().map(i64::from)));
        assert_eq!(self.vendor.refusals(), Vec::<String>::new(), "what it asks, the vendor takes");
    }

    /// Records of the conversation.
    pub fn records(self) -> Vec<Record> {
        assert!(self.server.is_none(), "the scenario ends its server");
        self.log
    }

    fn server(&mut self) -> &mut Server {
        self.server.as_mut().expect("it runs")
    }
}

/// An example, which `cargo test` builds together with the tests.
fn example(name: &str) -> String {
    let path = binary().with_file_name("examples").join(name);
    assert!(path.exists(), "cargo build --example {name}");
    path.into_os_string().into_string().unwrap()
}
