//! A host that has a conversation with our server, and keeps it.

use super::Record;
use crate::serve_support::{Server, binary, command};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What the model says; the counterpart of the fake vendor of the recordings.
const SCRIPT: &str = include_str!("../traces/model.json");

/// Where the models of a server come from.
struct Models {
    options: Vec<String>,
    /// Provider and id of the one that it starts with, and of another one.
    first: [&'static str; 2],
    second: [&'static str; 2],
}

/// The one place that knows: for now the server plays the script itself. A vendor over HTTP is to come: the same script
/// in a process that this holds until the server has ended, and a `models.json` in `.pi/agent` or `.xcsh/agent` of
/// `dir`, which is the server's home.
fn models(dir: &TempDir) -> Models {
    std::fs::write(dir.path().join("model.json"), SCRIPT).unwrap();
    Models {
        options: ["--model", "scripted/model.json"].map(str::to_owned).to_vec(),
        first: ["scripted", "model.json"],
        second: ["scripted", "demo"],
    }
}

/// The host. Its requests have the ids `r1`, `r2`, … as in the recordings.
pub struct Host {
    pub dialect: Dialect,
    server: Option<Server>,
    log: Vec<Record>,
    models: Models,
    requests: usize,
    barriers: usize,
}

impl Host {
    /// Starts a server.
    pub fn start(dialect: Dialect, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let models = models(&dir);
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--dialect", dialect.as_str()]).args(&models.options).args(options);
        let server = Some(Server::start(dialect, dir, command));
        Self { dialect, server, log: vec![Record::Spawned], models, requests: 0, barriers: 0 }
    }

    /// The command that chooses the model that the server started with, or the other one.
    pub fn set_model(&self, first: bool) -> Value {
        let [provider, id] = if first { self.models.first } else { self.models.second };
        json!({"type": "set_model", "provider": provider, "modelId": id})
    }

    /// How much of the conversation there is.
    pub fn mark(&self) -> usize {
        self.log.len()
    }

    /// Sends a frame as it is.
    pub fn send(&mut self, frame: Value) {
        self.server().send(frame.clone());
        self.log.push(Record::Sent(frame));
    }

    /// Sends a command with the next id, and gives the id.
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

    /// A prompt with its run.
    #[track_caller]
    pub fn prompt(&mut self, message: &str) {
        let mark = self.mark();
        self.call(json!({"type": "prompt", "message": message}));
        self.event(mark, "agent_end");
    }

    /// Waits until the run since `mark` has ended, and looks whether the agent has nothing more to do.
    #[track_caller]
    pub fn settled(&mut self, mark: usize) {
        self.event(mark, "agent_end");
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
        std::fs::write(path, "").unwrap();
    }

    /// Waits for a file, which a command makes.
    #[track_caller]
    pub fn awaits(&mut self, file: &str) {
        self.server().awaits(file);
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
        self.log.extend(ended.frames.into_iter().map(Record::Said));
        self.log.push(Record::Exited(ended.status.code().map(i64::from)));
    }

    /// The conversation.
    pub fn records(self) -> Vec<Record> {
        assert!(self.server.is_none(), "the scenario ends its server");
        self.log
    }

    fn server(&mut self) -> &mut Server {
        self.server.as_mut().expect("it runs")
    }
}
