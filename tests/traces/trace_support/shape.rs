//! Shapes of frames: the part that is compared, without texts.

use serde_json::Value;

/// Depth of the outline of a value.
const DEPTH: usize = 3;

/// Numbers that are each conversation's own: times, lengths of texts, and messages counted together with those that a
/// server adds by itself.
const OWN: [&str; 10] = [
    "timestamp",
    "timeout",
    "totalBytes",
    "outputBytes",
    "totalLines",
    "outputLines",
    "messageCount",
    "totalMessages",
    "durationMs",
    "estimatedTokensAfter",
];

/// An event: its type, and what tells it from others of the type.
pub fn event(frame: &Value, retry_base_ms: u64) -> String {
    let kind = text(&frame["type"]);
    let message = &frame["message"];
    let told = match kind {
        "message_update" => text(&frame["assistantMessageEvent"]["type"]).to_owned(),
        "message_start" => joined([named(message), unfinished(message)]),
        "message_end" => joined([told(message), facts(message)]),
        "turn_end" => {
            let results = list(&frame["toolResults"], |result| {
                format!("{}{}", text(&result["toolName"]), error(result))
            });
            format!("{} {results}", text(&message["stopReason"]))
        }
        "agent_end" => joined([list(&frame["messages"], told), flag(frame, "willRetry")]),
        "tool_execution_end" => {
            let (result, name) = (&frame["result"], format!("{}{}", text(&frame["toolName"]), error(frame)));
            let structured = flag_of("structuredContent", result.get("structuredContent").is_some());
            joined([name, flag_of("durationMs", frame.get("durationMs").is_some()), structured])
        }
        _ if kind.starts_with("tool_execution_") => format!("{}{}", text(&frame["toolName"]), error(frame)),
        "extension_ui_request" => asked(frame),
        "extension_error" => format!("{} {}", text(&frame["extensionPath"]), text(&frame["event"])),
        "host_tool_call" => format!("{} {}", text(&frame["toolName"]), outline(&frame["arguments"], 1)),
        "auto_retry_start" => {
            let [attempt, most, delay] =
                ["attempt", "maxAttempts", "delayMs"].map(|key| frame[key].as_f64().unwrap_or_default());
            // A part of the wait that is left to chance only shortens it.
            format!("{attempt} of {most}, wait × {}", (delay / retry_base_ms as f64).ceil())
        }
        "auto_compaction_start" => format!("{} {}", text(&frame["reason"]), text(&frame["action"])),
        "compaction_start" => text(&frame["reason"]).to_owned(),
        "compaction_end" => joined([text(&frame["reason"]).to_owned(), fields(frame)]),
        "queue_update" => {
            let count = |key: &str| frame[key].as_array().map_or(0, Vec::len);
            format!("steering {}, followUp {}", count("steering"), count("followUp"))
        }
        "thinking_level_changed" => text(&frame["level"]).to_owned(),
        "entry_appended" => {
            let entry = &frame["entry"];
            let keys: Vec<&str> =
                entry.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            format!("{}: {}", text(&entry["type"]), keys.join(", "))
        }
        "auto_retry_end" | "auto_compaction_end" | "agent_settled" | "session_info_changed" => fields(frame),
        "bash_execution_update" => flag(frame, "id"),
        _ if kind.starts_with("summarization_retry_") => fields(frame),
        _ => String::new(),
    };
    format!("{kind} {told}").trim_end().to_owned()
}

/// Shape of a UI request. A widget is named: some servers have one of their own. What the recordings'
/// extension has got for an answer, it tells as `kind=value`.
fn asked(frame: &Value) -> String {
    let method = text(&frame["method"]);
    let what = match (method, text(&frame["message"]).split_once('=')) {
        ("notify", Some((kind, got))) => {
            let got = serde_json::from_str(got).map_or(got.to_owned(), |got| outline(&got, DEPTH));
            return format!("{method} {kind}={got}");
        }
        ("setWidget", _) => format!(" {}", text(&frame["widgetKey"])),
        _ => String::new(),
    };
    let mut fields = frame.as_object().cloned().unwrap_or_default();
    fields.retain(|key, _| !["type", "id", "method", "widgetKey"].contains(&key.as_str()));
    format!("{method}{what} {}", outline(&Value::Object(fields), 0))
}

/// A response to a request with that id and command; neither is known of a line that was sent as bytes.
pub fn answer(frame: &Value, id: Option<&str>, command: Option<&str>) -> String {
    let mut told = Vec::new();
    if frame["command"].as_str() != command || command.is_none() {
        told.push(frame["command"].as_str().unwrap_or("no command").to_owned());
    }
    told.push(if frame["success"] == true { "ok" } else { "failed" }.to_owned());
    if let Some(data) = frame.get("data") {
        told.push(outline(data, 0));
    }
    if frame.get("id").is_none() && (id.is_some() || command.is_none()) {
        told.push("without id".to_owned());
    }
    told.join(" ")
}

/// The keys of a value with the flags and numbers that they hold, of anything else the type; messages as in events.
fn outline(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) if items.iter().any(|item| item.get("parameters").is_some()) => {
            "[tool]".to_owned()
        }
        Value::Array(items) if items.iter().any(|item| item.get("role").is_some()) => list(value, told),
        Value::Array(items) => {
            let mut kinds: Vec<String> = items.iter().map(|item| outline(item, depth)).collect();
            kinds.sort();
            kinds.dedup();
            format!("[{}]", kinds.join(" | "))
        }
        Value::Object(_) if depth == DEPTH => "{…}".to_owned(),
        Value::Object(fields) => {
            let told = |(key, value): (&String, &Value)| match value {
                Value::Number(_) if OWN.contains(&key.as_str()) => format!("{key}: number"),
                // What a model's API can do is its server's own affair.
                Value::Object(_) if key == "compat" => format!("{key}: {{…}}"),
                // A fast answer has no speed.
                _ if key == "tokensPerSecond" => format!("{key}: number or null"),
                Value::String(word) if key == "disposition" => format!("{key}: {word}"),
                _ => format!("{key}: {}", outline(value, depth + 1)),
            };
            let mut fields: Vec<String> = fields.iter().map(told).collect();
            fields.sort();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

/// The fields of an event but its type.
fn fields(frame: &Value) -> String {
    let mut fields = frame.as_object().cloned().unwrap_or_default();
    fields.remove("type");
    outline(&Value::Object(fields), 0)
}

/// Shape of an unfinished message.
fn unfinished(message: &Value) -> String {
    match text(&message["stopReason"]) {
        "stop" => String::new(),
        reason => reason.to_owned(),
    }
}

/// Facts about its request in a complete answer.
fn facts(message: &Value) -> String {
    let known = ["rawStopReason", "durationMs", "thinkingLevel"].into_iter();
    let told = known.filter_map(|key| match message.get(key)? {
        Value::String(word) => Some(format!("{key}={word}")),
        _ => Some(key.to_owned()),
    });
    match message["role"] == "assistant" {
        true => told.collect::<Vec<_>>().join(" "),
        false => String::new(),
    }
}

/// A message that is complete.
pub fn told(message: &Value) -> String {
    let content = match &message["content"] {
        _ if message["role"] == "system" => sections(message),
        Value::Array(_) => list(&message["content"], |block| text(&block["type"]).to_owned()),
        Value::Null => String::new(),
        other => outline(other, 0),
    };
    let parts = [named(message), content, text(&message["stopReason"]).to_owned()];
    joined(parts)
}

/// Content of a system message: the names of its sections, with `-` where one is taken away, and of its tools.
fn sections(message: &Value) -> String {
    let sections = message["sections"].as_object().into_iter().flatten();
    let sections: Vec<String> =
        sections.map(|(name, text)| format!("{}{name}", if text.is_null() { "-" } else { "" })).collect();
    let tools = |key: &str, sign: &str| list(&message[key], |tool| format!("{sign}{}", text(&tool["name"])));
    let tools = [("toolsAdded", "+"), ("toolsRemoved", "-")].map(|(key, sign)| match message.get(key) {
        Some(_) => tools(key, sign),
        None => String::new(),
    });
    let [added, removed] = tools;
    joined([format!("{{{}}}", sections.join(", ")), added, removed])
}

fn joined<const N: usize>(parts: [String; N]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn flag(frame: &Value, key: &str) -> String {
    flag_of(key, frame.get(key).is_some_and(|value| *value != Value::Bool(false)))
}

fn flag_of(name: &str, is: bool) -> String {
    if is { name.to_owned() } else { String::new() }
}

/// Role or custom type of a message.
fn named(message: &Value) -> String {
    let role = text(&message["role"]);
    match role {
        "toolResult" => format!("{role} {}{}", text(&message["toolName"]), error(message)),
        "custom" => format!("{role} {}", text(&message["customType"])),
        "bashExecution" => format!("{role} {}", outline(message, DEPTH - 1)),
        _ => role.to_owned(),
    }
}

fn list(items: &Value, told: impl Fn(&Value) -> String) -> String {
    let items: Vec<String> = items.as_array().into_iter().flatten().map(told).collect();
    format!("[{}]", items.join(", "))
}

fn error(value: &Value) -> &str {
    if value["isError"] == true { " error" } else { "" }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
