//! Records in other forms: as JSON, as steps of a scenario, as a test with one of the clients.

use super::wire::Copied;
use pi_rpc_protocol::{Dialect, RpcCommandKind as Command};
use pi_rpc_recording::Direction;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyForm {
    /// The frames, each on a line.
    Json,
    /// Steps of a scenario for `conform`.
    Scenario,
    /// A test with the Python client.
    Python,
    /// A test with the TypeScript client.
    TypeScript,
    /// A test with the Rust client.
    Rust,
}

impl CopyForm {
    /// The form with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "json" => Self::Json,
            "scenario" => Self::Scenario,
            "python" => Self::Python,
            "typescript" => Self::TypeScript,
            "rust" => Self::Rust,
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Scenario => "scenario",
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Rust => "rust",
        }
    }

    /// The names of all forms.
    pub const NAMES: &str = "json, scenario, python, typescript or rust";
}

/// The frames in this form.
pub fn copied(form: CopyForm, dialect: Dialect, server: &[String], frames: &[(Direction, Value)]) -> Copied {
    let (text, language) = match form {
        CopyForm::Json => (json_lines(frames), "json"),
        CopyForm::Scenario => (scenario(frames), "json"),
        CopyForm::Python => (python(dialect, server, frames), "py"),
        CopyForm::TypeScript => (typescript(dialect, server, frames), "ts"),
        CopyForm::Rust => (rust(dialect, server, frames), "rs"),
    };
    Copied { r#as: form.name().to_owned(), text, language: language.to_owned() }
}

fn json_lines(frames: &[(Direction, Value)]) -> String {
    frames.iter().map(|(_, frame)| frame.to_string()).collect::<Vec<_>>().join("\n")
}

/// Steps: commands are sent, frames of the server expected by the members that tell them from others.
fn scenario(frames: &[(Direction, Value)]) -> String {
    let mut steps: Vec<Value> = Vec::new();
    for (direction, frame) in frames {
        let step = match direction {
            Direction::In if is_command(frame) => {
                let has_response = frames.iter().any(|(_, other)| is_response_to(other, frame));
                let sent = without_id(frame);
                if has_response { json!({ "ask": sent }) } else { json!({ "send": sent }) }
            }
            Direction::In => json!({ "send": frame }),
            // The step `ask` waits for it.
            Direction::Out if frame["type"] == "response" && frames.len() > 1 => continue,
            Direction::Out => json!({ "expect": pattern(frame) }),
            Direction::Err | Direction::Meta => continue,
        };
        steps.push(step);
    }
    match steps.as_slice() {
        [step] => step.to_string(),
        steps => format!("{:#}", json!({ "steps": steps })),
    }
}

/// The members by which a frame of the server is recognized.
fn pattern(frame: &Value) -> Value {
    let mut pattern = Map::new();
    for name in ["type", "command", "success", "error", "method", "title", "toolName", "isError", "reason"] {
        if let Some(value) = frame.get(name) {
            pattern.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(step) = frame["assistantMessageEvent"]["type"].as_str() {
        pattern.insert("assistantMessageEvent".to_owned(), json!({ "type": step }));
    }
    if let Some(role) = frame["message"]["role"].as_str() {
        let mut message = json!({ "role": role });
        if let Some(reason) = frame["message"].get("stopReason") {
            message["stopReason"] = reason.clone();
        }
        pattern.insert("message".to_owned(), message);
    }
    Value::Object(pattern)
}

/// A command, and what the client's test expects of it.
struct Call<'a> {
    kind: &'a str,
    members: Vec<(&'a String, &'a Value)>,
    /// The error text, if it was refused.
    error: Option<&'a str>,
}

fn calls(frames: &[(Direction, Value)]) -> Vec<Call<'_>> {
    let commands =
        frames.iter().filter(|(direction, frame)| *direction == Direction::In && is_command(frame));
    let call = |(_, frame): &'_ (Direction, Value)| -> Option<Call<'_>> {
        // The borrow of the frame outlives the closure's argument.
        let frame = frames.iter().map(|(_, other)| other).find(|other| std::ptr::eq(*other, frame))?;
        let members = frame.as_object()?.iter().filter(|(name, _)| !["type", "id"].contains(&name.as_str()));
        let response = frames.iter().map(|(_, other)| other).find(|other| is_response_to(other, frame));
        Some(Call {
            kind: frame["type"].as_str()?,
            members: members.collect(),
            error: response.and_then(|response| response["error"].as_str()),
        })
    };
    commands.filter_map(call).collect()
}

fn python(dialect: Dialect, server: &[String], frames: &[(Direction, Value)]) -> String {
    let module = dialect.base().as_str().replace('-', "_");
    let calls = calls(frames);
    let refused = calls.iter().any(|call| call.error.is_some());
    let mut text = String::new();
    if refused {
        text.push_str("from pi_rpc_client import CallError\n");
    }
    let _ = writeln!(text, "from pi_rpc_client.{module} import Client\n\n");
    let _ = writeln!(text, "def test_conversation():\n    with Client({}) as agent:", list(server));
    for call in &calls {
        let arguments: Vec<String> = call
            .members
            .iter()
            .map(|(name, value)| format!("{}={}", snake_case(name), literal(value, PYTHON)))
            .collect();
        let line = format!("agent.{}({})", call.kind, arguments.join(", "));
        match call.error {
            Some(error) => {
                let _ = writeln!(text, "        try:\n            {line}");
                text.push_str("            raise AssertionError(\"expected a refusal\")\n");
                let _ = writeln!(text, "        except CallError as refusal:");
                let _ = writeln!(text, "            assert refusal.error == {}", json!(error));
            }
            None => {
                let _ = writeln!(text, "        {line}");
            }
        }
    }
    for event in expected_events(frames) {
        let _ = writeln!(text, "        # The server emits {event}.");
    }
    text
}

fn typescript(dialect: Dialect, server: &[String], frames: &[(Direction, Value)]) -> String {
    let module = dialect.base().as_str();
    let class = format!("{}Client", pascal_case(module));
    let mut text = format!(
        "import assert from \"node:assert/strict\";\nimport {{ test }} from \"node:test\";\nimport {{ {class} }} from \"pi-rpc-client/{module}\";\n\n"
    );
    text.push_str("test(\"conversation\", async () => {\n");
    let _ = writeln!(text, "  await using client = await {class}.spawn({{ command: {} }});", list(server));
    for call in calls(frames) {
        let members: Map<String, Value> =
            call.members.iter().map(|(name, value)| ((*name).clone(), (*value).clone())).collect();
        let line = format!("client.call({}, {})", json!(call.kind), Value::Object(members));
        let _ = match call.error {
            Some(error) => writeln!(text, "  await assert.rejects({line}, {{ error: {} }});", json!(error)),
            None => writeln!(text, "  await {line};"),
        };
    }
    for event in expected_events(frames) {
        let _ = writeln!(text, "  // The server emits {event}.");
    }
    text.push_str("});\n");
    text
}

fn rust(dialect: Dialect, server: &[String], frames: &[(Direction, Value)]) -> String {
    let (program, arguments) =
        server.split_first().map_or(("", &[][..]), |(program, rest)| (program.as_str(), rest));
    let mut text = String::from(
        "use pi_rpc::{\n    client::{Client, Error, Options},\n    protocol::{Dialect, *},\n};\nuse tokio::process::Command;\n\n#[tokio::test]\nasync fn conversation() -> Result<(), Error> {\n",
    );
    let _ = writeln!(text, "    let mut server = Command::new({});", json!(program));
    let _ = writeln!(text, "    server.args({});", list(arguments));
    let _ = writeln!(
        text,
        "    let (client, _events) = Client::spawn(Options::new(server, Dialect::{})).await?;",
        pascal_case(dialect.as_str())
    );
    for call in calls(frames) {
        let mut frame: Map<String, Value> =
            call.members.iter().map(|(name, value)| ((*name).clone(), (*value).clone())).collect();
        frame.insert("type".to_owned(), call.kind.into());
        let command = format!("{}Command", pascal_case(call.kind));
        frame.shift_remove("type");
        frame.shift_insert(0, "type".to_owned(), call.kind.into());
        let _ = writeln!(
            text,
            "    let command: {command} = serde_json::from_str(r##\"{}\"##).unwrap();",
            Value::Object(frame)
        );
        let _ = match call.error {
            Some(error) => writeln!(
                text,
                "    let refusal = client.call(command).await.unwrap_err();\n    assert!(refusal.to_string().contains({}));",
                json!(error)
            ),
            None => writeln!(text, "    client.call(command).await?;"),
        };
    }
    for event in expected_events(frames) {
        let _ = writeln!(text, "    // The server emits {event}.");
    }
    text.push_str("    client.close().await;\n    Ok(())\n}\n");
    text
}

/// A list of texts, which is written alike in Python, TypeScript and Rust.
fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| json!(word).to_string()).collect();
    format!("[{}]", words.join(", "))
}

/// The types of the server's events, each once.
fn expected_events(frames: &[(Direction, Value)]) -> Vec<String> {
    let mut events: Vec<String> = Vec::new();
    for (direction, frame) in frames {
        let kind = frame["type"].as_str().unwrap_or_default();
        if *direction == Direction::Out && kind != "response" && !events.iter().any(|known| known == kind) {
            events.push(
                kind.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect(),
            );
        }
    }
    events
}

fn is_command(frame: &Value) -> bool {
    frame["type"].as_str().is_some_and(|kind| Command::parse(kind).is_some())
}

fn is_response_to(response: &Value, command: &Value) -> bool {
    response["type"] == "response"
        && response["command"] == command["type"]
        && response.get("id") == command.get("id")
}

fn without_id(frame: &Value) -> Value {
    let members = frame.as_object().into_iter().flatten().filter(|(name, _)| *name != "id");
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The words of a language for `null`, `true` and `false`.
type Words = [&'static str; 3];

const PYTHON: Words = ["None", "True", "False"];

/// A value as a literal. Strings, numbers, lists and objects are alike in JSON and Python.
fn literal(value: &Value, words: Words) -> String {
    match value {
        Value::Null => words[0].to_owned(),
        Value::Bool(flag) => words[if *flag { 1 } else { 2 }].to_owned(),
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(|item| literal(item, words)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let items: Vec<String> = members
                .iter()
                .map(|(name, item)| format!("{}: {}", json!(name), literal(item, words)))
                .collect();
            format!("{{{}}}", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn pascal_case(name: &str) -> String {
    let upper = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    };
    name.split(['-', '_']).map(upper).collect()
}
