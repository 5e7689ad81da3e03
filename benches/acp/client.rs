//! A client of the Agent Client Protocol that knows just enough to measure.

use crate::Outcome;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// How long every answer may take, unless something else is set.
const LIMIT: Duration = Duration::from_secs(30);

/// How long a prompt is left alone of which nothing is to be seen.
const SILENCE: Duration = Duration::from_secs(1);

/// A client and the bridge that it has started.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    directory: PathBuf,
    session: Value,
    next: u64,
    initialized: Value,
    opened: Value,
    /// How long every answer may take.
    pub limit: Duration,
    /// The answer to the dialog that is left open, for the time after a cancel.
    held: Option<Value>,
}

/// What came of a prompt.
#[derive(Default)]
pub struct Seen {
    /// Updates of the session, in their order.
    pub updates: Vec<Value>,
    /// Methods that the bridge has called.
    pub requests: Vec<String>,
    /// When the first piece of the answer came.
    pub first_chunk: Option<Duration>,
    /// Why the turn has ended, or the error.
    pub end: String,
}

impl Seen {
    /// The updates of one kind.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// The texts of chunks of one kind, joined.
    pub fn texts(&self, kind: &str) -> String {
        self.of(kind).iter().map(|it| it["content"]["text"].as_str().unwrap_or_default()).collect()
    }

    /// The text of the answer.
    pub fn text(&self) -> String {
        self.texts("agent_message_chunk")
    }

    /// The last update of a tool call.
    pub fn last_call(&self) -> Value {
        self.of("tool_call_update").last().map(|it| (*it).clone()).unwrap_or_default()
    }

    /// The status of the tool call that has changed last.
    pub fn status(&self) -> String {
        self.last_call()["status"].as_str().unwrap_or_default().to_owned()
    }

    /// Number of tool calls that have ended well.
    pub fn ended_calls(&self) -> usize {
        self.of("tool_call_update").iter().filter(|it| it["status"] == "completed").count()
    }

    /// Whether a tool call names a file of this name as its place.
    pub fn place(&self, name: &str) -> bool {
        let calls = self.of("tool_call").into_iter().chain(self.of("tool_call_update"));
        let mut places = calls.filter_map(|it| it["locations"].as_array()).flatten();
        places.any(|it| it["path"].as_str().is_some_and(|path| path.starts_with('/') && path.ends_with(name)))
    }

    /// Whether a tool call shows how a text becomes another.
    pub fn difference(&self, old: &str, new: &str) -> bool {
        let calls = self.of("tool_call").into_iter().chain(self.of("tool_call_update"));
        let mut contents = calls.filter_map(|it| it["content"].as_array()).flatten();
        contents.any(|it| {
            let has = |member: &str, text: &str| {
                it[member].as_str().unwrap_or_default().trim_end() == text.trim_end()
            };
            it["type"] == "diff" && has("oldText", old) && has("newText", new)
        })
    }

    /// Whether the bridge has called this method.
    pub fn asked(&self, method: &str) -> bool {
        self.requests.iter().any(|it| it == method)
    }
}

impl Client {
    /// Starts a bridge, and opens a session.
    pub fn start(command: &mut Command, directory: &Path) -> Outcome<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().ok_or("no stdout")?);
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str(&line) else { continue };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let directory = directory.to_owned();
        let (initialized, opened, session) = (Value::Null, Value::Null, Value::Null);
        let mut client = Self {
            child,
            stdin,
            lines,
            directory,
            session,
            next: 0,
            initialized,
            opened,
            limit: LIMIT,
            held: None,
        };
        let parameters = json!({ "protocolVersion": 1, "clientCapabilities": {
            "fs": { "readTextFile": true, "writeTextFile": true },
            "elicitation": { "form": {} },
            "session": { "notices": {}, "compaction": {} },
        } });
        client.initialized = client.request("initialize", parameters)?;
        client.new_session()?;
        Ok(client)
    }

    /// Opens another session.
    pub fn new_session(&mut self) -> Outcome<()> {
        let parameters = json!({ "cwd": self.directory, "mcpServers": [] });
        self.opened = self.request("session/new", parameters)?;
        self.session = self.opened["sessionId"].clone();
        Ok(())
    }

    /// Sends a text, and reads up to the end of what it sets off.
    pub fn prompt(&mut self, prompt: &str) -> Outcome<Seen> {
        self.send_prompt(json!([{ "type": "text", "text": prompt }]))
    }

    /// Sends a prompt with this content, and reads up to the end of what it sets off.
    pub fn send_prompt(&mut self, content: Value) -> Outcome<Seen> {
        let since = Instant::now();
        let id = self.begin(content)?;
        self.turn(id, since)
    }

    /// Sends a prompt; returns the id of the request.
    pub fn begin(&mut self, content: Value) -> Outcome<u64> {
        let parameters = json!({ "sessionId": self.session, "prompt": content });
        self.send_request("session/prompt", parameters)
    }

    /// Reads up to a message with this text.
    pub fn wait_for(&mut self, sign: &str) -> Outcome<()> {
        loop {
            let message = self.next(false)?;
            if message.to_string().contains(sign) {
                return Ok(());
            }
        }
    }

    /// Cancels a prompt once a message with this sign has come; for `None`, after some time in which none does. Dialogs
    /// stay open. Returns why the turn has ended.
    pub fn cancel(&mut self, prompt: &str, sign: Option<&str>) -> Outcome<String> {
        let since = Instant::now();
        let id = self.begin(json!([{ "type": "text", "text": prompt }]))?;
        match sign {
            Some(sign) => self.wait_for(sign)?,
            None => thread::sleep(SILENCE),
        }
        self.send(&json!({
            "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": self.session },
        }))?;
        if let Some(cancelled) = self.held.take() {
            self.send(&cancelled)?;
        }
        Ok(self.turn(id, since)?.end)
    }

    /// Closes both pipes; whether no process of the group is left within `limit`.
    pub fn vanish(mut self, limit: Duration) -> bool {
        // Those that the bridge leaves behind have another parent afterwards.
        let known = self.processes();
        drop(self.stdin.take());
        let since = Instant::now();
        while since.elapsed() < limit {
            // The zombie of the bridge itself is ours to reap.
            let _ = self.child.try_wait();
            if known.iter().all(|id| !is_alive(*id)) {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Proportional memory of the bridge and of everything that it has started, in bytes.
    pub fn memory(&self) -> f64 {
        let share = |pid: &u32| {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
            line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() * 1024.0
        };
        self.processes().iter().map(share).sum()
    }

    /// What the bridge claims: a feature, and whether it has it.
    pub fn claims(&self) -> Vec<(&'static str, bool)> {
        let agent = &self.initialized["agentCapabilities"];
        let has = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        let sessions = &agent["sessionCapabilities"];
        let options = self.opened["configOptions"].as_array();
        let option =
            |category: &str| options.is_some_and(|it| it.iter().any(|it| it["category"] == category));
        vec![
            ("`session/load`", has(&agent["loadSession"])),
            ("`session/list`", has(&sessions["list"])),
            ("`session/resume`", has(&sessions["resume"])),
            ("`session/fork`", has(&sessions["fork"])),
            ("`session/close`", has(&sessions["close"])),
            ("`session/delete`", has(&sessions["delete"])),
            ("images in prompts", has(&agent["promptCapabilities"]["image"])),
            ("embedded context in prompts", has(&agent["promptCapabilities"]["embeddedContext"])),
            ("MCP servers", has(&agent["mcpCapabilities"]["http"])),
            ("modes", has(&self.opened["modes"])),
            ("models", option("model") || has(&self.opened["models"])),
            ("thinking levels", option("thought_level") || has(&self.opened["modes"])),
        ]
    }

    fn request(&mut self, method: &str, parameters: Value) -> Outcome<Value> {
        let id = self.send_request(method, parameters)?;
        loop {
            let mut message = self.next(true)?;
            if message["id"] == id && message.get("method").is_none() {
                return match message["error"].is_null() {
                    true => Ok(message["result"].take()),
                    false => Err(format!("{method} is refused: {}", message["error"])),
                };
            }
        }
    }

    fn turn(&mut self, id: u64, since: Instant) -> Outcome<Seen> {
        let mut seen = Seen::default();
        loop {
            let mut message = self.next(true)?;
            let update = &mut message["params"]["update"];
            if update["sessionUpdate"] == "agent_message_chunk" {
                seen.first_chunk.get_or_insert_with(|| since.elapsed());
            }
            if !update.is_null() {
                seen.updates.push(update.take());
            } else if let Some(method) = message["method"].as_str() {
                seen.requests.push(method.to_owned());
            } else if message["id"] == id {
                seen.end = match message["error"].is_null() {
                    true => message["result"]["stopReason"].as_str().unwrap_or_default().to_owned(),
                    false => message["error"].to_string(),
                };
                return Ok(seen);
            }
        }
    }

    fn send_request(&mut self, method: &str, parameters: Value) -> Outcome<u64> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        Ok(id)
    }

    fn send(&mut self, message: &Value) -> Outcome<()> {
        let stdin = self.stdin.as_mut().ok_or("stdin is closed")?;
        stdin
            .write_all(format!("{message}\n").as_bytes())
            .map_err(|error| format!("it does not read: {error}"))
    }

    /// The next message; requests of the bridge are answered. Those to the user are left open unless `agrees`.
    fn next(&mut self, agrees: bool) -> Outcome<Value> {
        let message = self.lines.recv_timeout(self.limit).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("nothing for {} s", self.limit.as_secs()),
            RecvTimeoutError::Disconnected => "it has ended".to_owned(),
        })?;
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            let is_dialog = ["session/request_permission", "elicitation/create"].contains(&method);
            match answer(method, &message["params"]) {
                _ if is_dialog && !agrees => {
                    let cancelled = match method {
                        "elicitation/create" => json!({ "action": "cancel" }),
                        _ => json!({ "outcome": { "outcome": "cancelled" } }),
                    };
                    self.held = Some(json!({ "jsonrpc": "2.0", "id": id, "result": cancelled }));
                }
                Some(result) => self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))?,
                None => {
                    let error = json!({ "code": -32601, "message": "Method not found" });
                    self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))?;
                }
            }
        }
        Ok(message)
    }

    /// The bridge and its descendants.
    fn processes(&self) -> Vec<u32> {
        let mut parents = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(id) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let mut fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ');
            let is_alive = fields.next().is_some_and(|state| state != "Z");
            let parent = fields.next().and_then(|parent| parent.parse::<u32>().ok());
            let group = fields.next().and_then(|group| group.parse::<u32>().ok());
            if let (true, Some(parent)) = (is_alive, parent) {
                parents.push((id, parent, group));
            }
        }
        let own = self.child.id();
        let mut found: Vec<u32> =
            parents.iter().filter(|it| it.0 == own || it.2 == Some(own)).map(|it| it.0).collect();
        let mut at = 0;
        while at < found.len() {
            let parent = found[at];
            let children = parents.iter().filter(|it| it.1 == parent).map(|it| it.0);
            let new: Vec<u32> = children.filter(|id| !found.contains(id)).collect();
            found.extend(new);
            at += 1;
        }
        found
    }
}

/// The result of a request of the bridge: files are read and written, the first choice is taken, forms get a text.
fn answer(method: &str, parameters: &Value) -> Option<Value> {
    let path = || parameters["path"].as_str();
    match method {
        "fs/read_text_file" => fs::read_to_string(path()?).ok().map(|content| json!({ "content": content })),
        "fs/write_text_file" => fs::write(path()?, parameters["content"].as_str()?).ok().map(|()| json!({})),
        "session/request_permission" => {
            let chosen = &parameters["options"][0]["optionId"];
            Some(json!({ "outcome": { "outcome": "selected", "optionId": chosen } }))
        }
        "elicitation/create" => {
            let name = parameters["requestedSchema"]["properties"].as_object()?.keys().next()?;
            Some(json!({ "action": "accept", "content": { name: "Ada" } }))
        }
        _ => None,
    }
}

/// Whether a process runs.
fn is_alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        for id in self.processes() {
            let _ = Command::new("kill").args(["-KILL", &id.to_string()]).stderr(Stdio::null()).status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
