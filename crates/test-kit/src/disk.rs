//! A disk in memory, for engines in virtual time; and what must be on it before it is told.

use bytes::Bytes;
use pi_rpc::{
    protocol::{AgentMessage, AssistantContent},
    session::{OpenedSession, ParsedFile, ReadError, Tree, Write},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Why nothing can be written.
const FULL: &str = "no space left on device";

/// Session files, of which one may be open.
#[derive(Default)]
pub struct Disk {
    files: BTreeMap<PathBuf, Vec<u8>>,
    open: Option<Arc<Path>>,
    /// Nothing can be written now.
    pub full: bool,
    /// So many writes still succeed before the disk is full.
    pub left: Option<usize>,
    /// Why nothing can be written, where it is not for want of space.
    pub text: Option<&'static str>,
}

impl Disk {
    /// A file that is there.
    pub fn put(&mut self, path: &str, text: &str) {
        self.files.insert(path.into(), text.as_bytes().to_vec());
    }

    /// The text of a file.
    pub fn text(&self, path: &Path) -> Option<&str> {
        self.files.get(path).map(|bytes| std::str::from_utf8(bytes).expect("UTF-8"))
    }

    /// Reads a file that is no session.
    pub fn read(&self, path: &Path) -> Result<String, String> {
        self.text(path).map(str::to_owned).ok_or_else(|| "No such file or directory".to_owned())
    }

    /// The files that there are.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// The file that is open, if it has begun.
    pub fn open_file(&self) -> Option<&Path> {
        self.open.as_deref().filter(|path| self.files.contains_key(*path))
    }

    /// The session in the file that is open.
    pub fn tree(&self) -> Option<Tree> {
        let bytes = self.files.get(self.open_file()?)?;
        Some(read(bytes).expect("what the engine has written")?.tree)
    }

    /// Does what the engine wants to be written, whole or not at all.
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

    /// Opens another session.
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

    /// Lets go of the session's file.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// The entries of the file that is open, its header first; none while it has not begun.
    pub fn lines(&self) -> Vec<Value> {
        let text = self.open_file().and_then(|path| self.text(path)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Whether everything that `frame` tells of is in the file that is open. What is not meant to be there yet, because
    /// the user has said nothing or a run is open that a shell's message has to wait for, need not be.
    pub fn has_reported(&self, frame: &Value, run_open: bool) -> bool {
        let lines = self.lines();
        if lines.is_empty() {
            // A file begins with the first message of the user; what is put in front of that waits for it.
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

/// The session in these bytes; `None`: there is none yet.
fn read(bytes: &[u8]) -> Result<Option<ParsedFile>, ReadError> {
    match Tree::read(Bytes::copy_from_slice(bytes), &mut fastrand::Rng::with_seed(1)) {
        Ok(read) => Ok(Some(read)),
        Err(ReadError::Empty) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The messages as files have them, without answers that failed: those that were asked for again are in the file alone,
/// with the results of their calls. Reminders are in memory alone.
pub fn stored_messages(messages: &[Arc<AgentMessage>]) -> Vec<Value> {
    let mut uncalled = BTreeSet::new();
    let mut kept = Vec::new();
    for message in messages {
        let mut json = serde_json::to_value(message.as_ref()).expect("JSON");
        let fields = json.as_object_mut().expect("an object");
        // Not every dialect has them in its files.
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
            _ => kept.push(json),
        }
    }
    kept
}
