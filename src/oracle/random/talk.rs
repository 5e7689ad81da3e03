//! A conversation, drawn step by step.

use super::command::{Commands, MESSAGES};
use crate::protocol::Dialect;
use fastrand::Rng;
use serde_json::{Map, Value, json};

/// What the model says.
const SCRIPT: &str = include_str!("script.json");

/// How long a moment is waited for that may never come.
const MOMENT_MS: u64 = 300;

/// How long the server may take to come to rest: longer than anything that the script says.
const REST_MS: u64 = 8000;

/// The scenario that a seed makes, as its file has it.
pub fn conversation(seed: u64, dialect: Dialect) -> Value {
    let mut talk =
        Talk { rng: Rng::with_seed(seed), commands: Commands::new(dialect), sent: 0, steps: Vec::new() };
    for _ in 0..talk.rng.usize(4..16) {
        talk.says();
        if talk.rng.bool() {
            talk.waits();
        }
    }
    talk.steps.push(json!({ "send": { "id": "end", "type": "abort" } }));
    talk.steps.push(json!({ "idle": true, "withinMs": REST_MS }));
    json!({
        "name": format!("seed-{seed}"),
        "title": format!("What seed {seed} makes the host say."),
        "dialects": [dialect.as_str()],
        "toleratesUnknown": true,
        // A server may ask at any time; nobody else would answer.
        "answersDialogs": true,
        "script": serde_json::from_str::<Value>(SCRIPT).unwrap_or_default(),
        "steps": talk.steps,
    })
}

struct Talk {
    rng: Rng,
    commands: Commands,
    sent: usize,
    steps: Vec<Value>,
}

impl Talk {
    /// Something is said to the server.
    fn says(&mut self) {
        let frame = match self.rng.u8(..20) {
            0..8 => self.prompt(),
            8..17 => self.commands.any(&mut self.rng),
            17 => {
                let lines =
                    ["{bad\n", "\n", "[]\n", "{\"id\":\"no type\"}\n", "{\"type\":\"no_such_command\"}\n"];
                let line = self.rng.choice(lines).unwrap_or_default();
                return self.steps.push(json!({ "sendRaw": [line] }));
            }
            _ => Map::from_iter([
                ("type".to_owned(), json!("extension_ui_response")),
                ("id".to_owned(), json!("never asked")),
                ("cancelled".to_owned(), json!(true)),
            ]),
        };
        let frame = self.numbered(frame);
        self.steps.push(json!({ "send": frame }));
    }

    fn prompt(&mut self) -> Map<String, Value> {
        let message = self.rng.choice(MESSAGES).unwrap_or_default();
        let mut prompt =
            Map::from_iter([("type".to_owned(), json!("prompt")), ("message".to_owned(), json!(message))]);
        let behaviour = self.rng.choice([None, None, Some("steer"), Some("followUp")]).flatten();
        prompt.extend(behaviour.map(|behaviour| ("streamingBehavior".to_owned(), json!(behaviour))));
        prompt
    }

    /// Gives a command the next id.
    fn numbered(&mut self, command: Map<String, Value>) -> Map<String, Value> {
        if command.contains_key("id") {
            return command;
        }
        self.sent += 1;
        let id = ("id".to_owned(), json!(format!("c{}", self.sent)));
        std::iter::once(id).chain(command).collect()
    }

    /// A moment is waited for, which may never come.
    fn waits(&mut self) {
        let last = format!("c{}", self.sent);
        let moments = [
            json!({ "type": "response", "id": last }),
            json!({ "type": "agent_start" }),
            json!({ "type": "message_update", "assistantMessageEvent": { "type": "text_delta" } }),
            json!({ "type": "tool_execution_start" }),
            json!({ "type": "tool_execution_update" }),
            json!({ "type": "turn_end" }),
            json!({ "type": "agent_end" }),
            json!({ "type": "auto_retry_start" }),
        ];
        let moment = self.rng.choice(moments);
        self.steps.push(json!({ "expect": moment, "optional": true, "withinMs": MOMENT_MS }));
    }
}
