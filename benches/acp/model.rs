//! The scripted model behind the API of Anthropic, and the configuration that leads to it.

use crate::{Outcome, conversations::CONVERSATIONS, text};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The answer to everything that the script does not name.
pub const END: &str = "An answer.";

/// Bytes of long prompts and answers.
pub const LONG: usize = 5_000_000;

/// The process of the model, which ends with this.
pub struct Model {
    child: Child,
    /// Host and port.
    pub address: String,
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Model {
    /// Starts the model.
    pub fn start(place: &Path) -> Outcome<Self> {
        let path = place.join("script.json");
        fs::write(&path, script().to_string()).map_err(text)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
        command.args(["mock-llm", "--lenient", "--exit-with-stdin", "--script"]).arg(path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(text)?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("no stdout")?;
        BufReader::new(stdout).read_line(&mut line).map_err(text)?;
        let address = line.trim().rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Self { child, address })
    }
}

fn script() -> Value {
    // Behind an API, the newest prompt is still the one before the tool call.
    let mut turns = vec![json!({ "onResult": "", "repeat": true, "say": [{ "text": END, "size": 3 }] })];
    turns.extend(CONVERSATIONS.iter().flat_map(|conversation| (conversation.turns)()));
    let sleep = json!([{ "tool": "bash", "arguments": { "command": "sleep 60" } }]);
    turns.extend([
        json!({ "match": { "regex": "^long$" }, "repeat": true, "say": [{ "deltas": 50, "size": LONG / 50 }] }),
        json!({ "match": { "regex": "^silent$" }, "repeat": true, "hang": true }),
        json!({ "match": { "regex": "^endless$" }, "repeat": true, "say": [{ "deltas": 6000, "size": 1, "delayMs": 10 }] }),
        json!({ "match": { "regex": "^sleep$" }, "repeat": true, "say": sleep }),
        json!({ "match": { "regex": "^busy$" }, "repeat": true, "fail": { "status": 529, "message": "overloaded" } }),
        json!({ "match": { "regex": "^ask$" }, "repeat": true, "say": [{ "tool": "asker", "arguments": { "q": "Really?" } }] }),
        json!({ "repeat": true, "say": [{ "text": END, "size": 3 }] }),
    ]);
    json!({ "turns": turns })
}

/// A home whose agent uses the model, with a template and an extension; and the directory of sessions.
pub fn configure(place: &Path, address: &str) -> Outcome<(PathBuf, PathBuf)> {
    let (home, project) = (place.join("home"), place.join("project"));
    let folder = home.join(".pi/agent");
    for folder in [folder.join("prompts"), folder.join("extensions"), project.clone()] {
        fs::create_dir_all(folder).map_err(text)?;
    }
    let models = json!({ "providers": { "fake": {
        "baseUrl": format!("http://{address}"), "apiKey": "key", "api": "anthropic-messages",
        "models": [{
            "id": "fake-1", "name": "Fake 1", "reasoning": true, "input": ["text", "image"],
            "contextWindow": 10_000_000, "maxTokens": 64_000,
            "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
        }],
    } } });
    let settings = json!({
        "defaultProvider": "fake", "defaultModel": "fake-1", "quietStartup": true,
        "compaction": { "enabled": false }, "retry": { "baseDelayMs": 60_000 },
    });
    let extension = include_str!("../../adapters/pi-extension.ts");
    for (path, contents) in [
        (folder.join("models.json"), models.to_string()),
        (folder.join("settings.json"), settings.to_string()),
        (folder.join("prompts/review.md"), "Review the file $1".to_owned()),
        (folder.join("extensions/dialogs.ts"), extension.to_owned()),
    ] {
        fs::write(path, contents).map_err(text)?;
    }
    Ok((home, project))
}
