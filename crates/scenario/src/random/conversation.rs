//! Draws a conversation, step by step.

use super::{Choices, Commands};
use pi_rpc_protocol::{Dialect, RpcCommandKind};
use serde_json::{Map, Value, json};

/// The script of the model.
const SCRIPT: &str = include_str!("script.json");

/// Milliseconds to wait for a moment that may never come.
const MOMENT_MS: u64 = 300;

/// Milliseconds to wait for an idle server: more than any turn of the script takes.
const REST_MS: u64 = 8000;

/// Lines that are not commands.
pub const JUNK: [&str; 9] = [
    "{bad",
    "",
    "[]",
    "not json",
    "{\"id\":\"no type\"}",
    "{\"type\":\"no_such_command\"}",
    "{\"type\":7}",
    "{\"type\":\"prompt\",\"type\":\"prompt\",\"message\":\"twice\"}",
    " \r",
];

/// The values of members that need one with a meaning. The script knows most of the messages; the shell commands are
/// harmless and short.
fn values(member: &str) -> &'static [&'static str] {
    match member {
        "message" => &[
            "\"Hello\"",
            "\"Think\"",
            "\"Call one\"",
            "\"Call two\"",
            "\"Call a long one\"",
            "\"Call no tool\"",
            "\"Speak slowly\"",
            "\"Break off\"",
            "\"Refuse\"",
            "\"Be overloaded once\"",
            "\"Be overloaded\"",
        ],
        "command" => {
            &["\"echo hi\"", "\"echo out; echo err >&2; exit 3\"", "\"sleep 0.2; echo late\"", "\"\""]
        }
        "provider" => &["\"fake\"", "\"fake\"", "\"none\""],
        "modelId" => &["\"fake-1\"", "\"fake-2\"", "\"none\""],
        "outputPath" => &["\"out.html\"", "\"missing/folder/out.html\""],
        "parentSession" | "sessionPath" => &["\"none.jsonl\"", "\"\""],
        _ => &[],
    }
}

/// The weight of `prompt`: about that of all other commands together.
const PROMPTS: u32 = 32;

/// One command in this many has a member that is missing or of another type.
const SPOIL_ODDS: usize = 8;

/// Draws a scenario from a seed, in the format of scenario files.
pub fn conversation(seed: u64, dialect: Dialect) -> Value {
    let weight = |kind| if kind == RpcCommandKind::Prompt { PROMPTS } else { 1 };
    let commands = Commands::new(dialect, weight, values, SPOIL_ODDS);
    let mut generator = Generator { choices: Choices::seeded(seed), commands, sent: 0, steps: Vec::new() };
    for _ in 0..4 + generator.choices.below(12) {
        generator.push_command();
        if generator.choices.once_in(2) {
            generator.push_wait();
        }
    }
    generator.steps.push(json!({ "send": { "id": "end", "type": "abort" } }));
    generator.steps.push(json!({ "idle": true, "withinMs": REST_MS }));
    json!({
        "name": format!("seed-{seed}"),
        "title": format!("What seed {seed} makes the host say."),
        "dialects": [dialect.as_str()],
        "toleratesUnknown": true,
        // A server may open a dialog at any time.
        "answersDialogs": true,
        "script": serde_json::from_str::<Value>(SCRIPT).unwrap_or_default(),
        "steps": generator.steps,
    })
}

/// A conversation that is being drawn.
struct Generator {
    choices: Choices,
    commands: Commands,
    sent: usize,
    steps: Vec<Value>,
}

impl Generator {
    /// Adds a command, a dialog response or an invalid line.
    fn push_command(&mut self) {
        let frame = match self.choices.below(20) {
            18 => {
                let line = format!("{}\n", self.choices.pick(&JUNK));
                return self.steps.push(json!({ "sendRaw": [line] }));
            }
            19 => Map::from_iter([
                ("type".to_owned(), json!("extension_ui_response")),
                ("id".to_owned(), json!("never asked")),
                ("cancelled".to_owned(), json!(true)),
            ]),
            _ => self.commands.draw(&mut self.choices),
        };
        let kind = frame.get("type").and_then(|kind| RpcCommandKind::parse(kind.as_str()?));
        let frame = self.with_id(frame);
        self.steps.push(json!({ "send": frame }));
        if let Some(kind) = kind.filter(|_| self.choices.once_in(2)) {
            self.push_witness(kind);
        }
    }

    /// Adds a command that shows the effect of `kind`, at once or when the server is idle.
    fn push_witness(&mut self, kind: RpcCommandKind) {
        let Some(witness) = self.commands.witness(kind, &mut self.choices) else { return };
        if self.choices.once_in(2) {
            self.steps.push(json!({ "idle": true, "withinMs": REST_MS }));
        }
        let witness = self.with_id(witness);
        self.steps.push(json!({ "send": witness }));
    }

    /// Gives a command the next id, unless it has one.
    fn with_id(&mut self, command: Map<String, Value>) -> Map<String, Value> {
        if command.contains_key("id") {
            return command;
        }
        self.sent += 1;
        let id = ("id".to_owned(), json!(format!("c{}", self.sent)));
        std::iter::once(id).chain(command).collect()
    }

    /// Adds an optional wait for a moment of the run.
    fn push_wait(&mut self) {
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
        let moment = self.choices.pick(&moments);
        self.steps.push(json!({ "expect": moment, "optional": true, "withinMs": MOMENT_MS }));
    }
}
