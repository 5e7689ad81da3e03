//! Disk in memory for engines in virtual time, and the check that frames are on disk before they are emitted.

use bytes::Bytes;
use pi_rpc_protocol::{AgentMessage, AssistantContent};
use pi_rpc_session::{OpenedSession, ParsedFile, ReadError, Tree, Write};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Default error of a write.
const FULL: &str = "no space left on device";

/// Files in memory, of which one session file may be open.
#[derive(Default)]
pub struct Disk {
    files: BTreeMap<PathBuf, Vec<u8>>,
    open: Option<Arc<Path>>,
    /// Whether every write fails.
    pub full: bool,
    /// Number of writes that still succeed before the disk is full.
    pub left: Option<usize>,
    /// Error of a write, if it is not that the disk is full.
    pub text: Option<&'static str>,
}

impl Disk {
    /// Adds a file.
    pub fn put(&mut self, path: &str, text: &str) {
        self.files.insert(path.into(), text.as_bytes().to_vec());
    }

    /// Text of a file.
    pub fn text(&self, path: &Path) -> Option<&str> {
        self.files.get(path).map(|bytes| std::str::from_utf8(bytes).expect("UTF-8"))
    }

    /// Reads a file that is not a session.
    pub fn read(&self, path: &Path) -> Result<String, String> {
        self.text(path).map(str::to_owned).ok_or_else(|| "No such file or directory".to_owned())
    }

    /// Paths of all files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// Session of a folder whose file has the last name and entries behind its header.
    pub fn newest(&self, folder: &Path) -> Option<PathBuf> {
        let here = self.files.iter().rev().filter(|(path, _)| path.parent() == Some(folder));
        let mut with_entries =
            here.filter(|(_, bytes)| bytes.iter().filter(|byte| **byte == b'\n').count() > 1);
        with_entries.next().map(|(path, _)| path.clone())
    }

    /// Path of the open session file, if the file exists.
    pub fn open_file(&self) -> Option<&Path> {
        self.open.as_deref().filter(|path| self.files.contains_key(*path))
    }

    /// Session in the open file.
    pub fn tree(&self) -> Option<Tree> {
        let bytes = self.files.get(self.open_file()?)?;
        Some(read(bytes).expect("what the engine has written")?.tree)
    }

    /// Performs a write of the engine, completely or not at all.
    pub fn write(&mut self, write: &Write) -> Result<(), String> {
        self.full |= self.left == Some(0);
        if self.full {
            return Err(self.text.unwrap_or(FULL).to_owned());
        }
        self.left = self.left.map(|left| left - 1);
        match write {
            Write::Create { path, lines } => {
                let is_empty = self.files.get(path.as_ref()).is_none_or(Vec::is_empty);
                assert!(is_empty, "a file is begun that is there: {}", path.display());
                self.files.insert(path.to_path_buf(), lines.concat());
                self.open = Some(path.clone());
            }
            Write::Append(lines) => self.current().extend_from_slice(lines),
            Write::Rewrite(lines) => *self.current() = lines.concat(),
            Write::Sync => {}
        }
        Ok(())
    }

    fn current(&mut self) -> &mut Vec<u8> {
        let path = self.open_file().expect("a file is open").to_owned();
        self.files.get_mut(&path).expect("it has begun")
    }

    /// Opens a session file.
    pub fn open(&mut self, path: &Path) -> Result<OpenedSession, String> {
        let read = match self.files.get(path) {
            Some(bytes) => read(bytes).map_err(|_| format!("Not a session file: {}", path.display()))?,
            None => None,
        };
        let path: Arc<Path> = path.into();
        self.open = Some(path.clone());
        let (tree, notices) = read.map_or((None, Vec::new()), |read| (Some(read.tree), read.notices));
        Ok(OpenedSession { path, tree, notices })
    }

    /// Closes the session file.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Entries of the open file, header first; none before the file exists.
    pub fn lines(&self) -> Vec<Value> {
        let text = self.open_file().and_then(|path| self.text(path)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Whether everything that `frame` reports is in the open file. Entries that are not due yet, because there is no
    /// user message or an open run delays the message of a shell, need not be there.
    pub fn has_reported(&self, frame: &Value, run_open: bool) -> bool {
        let lines = self.lines();
        if lines.is_empty() {
            // A file begins with the first user message; earlier entries wait for it.
            let waits = ["custom", "system"].map(Some).contains(&frame["message"]["role"].as_str());
            let is_complete = frame["type"] == "message_end" && !waits;
            let is_summary = frame["type"] == "compaction_end" && frame["result"].is_object();
            return !is_complete && !is_summary && frame["type"] != "auto_compaction_end";
        }
        let of = |kind: &'static str| lines.iter().rev().filter(move |line| line["type"] == kind);
        let said = |message: &Value| {
            of("message").any(|line| {
                ["role", "timestamp", "content"].iter().all(|key| line["message"][key] == message[key])
            })
        };
        let data = &frame["data"];
        let succeeded = frame["type"] == "response" && frame["success"] == true;
        match (frame["type"].as_str().unwrap_or_default(), frame["command"].as_str().unwrap_or_default()) {
            ("message_end", _) if frame["message"]["role"] == "custom" => {
                let keys = ["customType", "content", "display"];
                of("custom_message").any(|line| keys.iter().all(|key| line[key] == frame["message"][key]))
            }
            ("message_end", _) => said(&frame["message"]),
            ("auto_compaction_end" | "compaction_end", _) if frame["result"].is_object() => {
                of("compaction").next().is_some_and(|line| line["summary"] == frame["result"]["summary"])
            }
            ("response", _) if !succeeded => true,
            ("response", "compact") => {
                of("compaction").next().is_some_and(|line| line["summary"] == data["summary"])
            }
            ("response", "bash") if !run_open => {
                of("message").any(|line| line["message"]["output"] == data["output"])
            }
            ("response", "set_model") => {
                let whole = format!("{}/{}", text(&data["provider"]), text(&data["id"]));
                of("model_change").next().is_some_and(|line| {
                    line["modelId"] == data["id"] && line["provider"] == data["provider"]
                        || line["model"] == whole
                })
            }
            ("response", "cycle_thinking_level") if data.is_object() => {
                of("thinking_level_change").next().is_some_and(|line| line["thinkingLevel"] == data["level"])
            }
            _ => true,
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Reads a session; `None`: the file is empty.
fn read(bytes: &[u8]) -> Result<Option<ParsedFile>, ReadError> {
    match Tree::read(Bytes::copy_from_slice(bytes), &mut fastrand::Rng::with_seed(1)) {
        Ok(read) => Ok(Some(read)),
        Err(ReadError::Empty) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Messages in the form of session files, without failed answers (those that were retried are only in the file) and the
/// results of their calls, and without reminders, which are only in memory.
pub fn stored_messages(messages: &[Arc<AgentMessage>]) -> Vec<Value> {
    let mut uncalled = BTreeSet::new();
    let mut kept = Vec::new();
    for message in messages {
        let mut json = serde_json::to_value(message.as_ref()).expect("JSON");
        let fields = json.as_object_mut().expect("an object");
        // Not every dialect stores these members.
        for key in ["attribution", "duration", "ttft", "isWarning"] {
            fields.remove(key);
        }
        match message.as_ref() {
            AgentMessage::Assistant(it) if it.error_message.is_some() => {
                let calls = it.content.iter().filter_map(|block| match block {
                    AssistantContent::ToolCall(call) => Some(call.id.clone()),
                    _ => None,
                });
                uncalled.extend(calls);
            }
            AgentMessage::ToolResult(it) if uncalled.contains(&it.tool_call_id) => {}
            AgentMessage::Developer(_) => {}
            // In the file these have the time of their entry.
            AgentMessage::Custom(_) => {
                fields.remove("timestamp");
                kept.push(json);
            }
            _ => kept.push(json),
        }
    }
    kept
}
