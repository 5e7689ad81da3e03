//! Exports a dialect as an AsyncAPI document: the channels `stdin` and `stdout` of the server, and what it does with them.

use super::{
    Part, meta, part_schema,
    parts::{ref_name, target_name},
};
use pi_rpc_protocol::Dialect;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The RPC frames of `dialect` as an AsyncAPI 3.0 document, from the server's point of view.
///
/// `stdin` and `stdout` are its channels; each frame is a message of one of them. It receives each command and sends the
/// response, which has the command's `id`; it sends dialogs and receives their responses; it sends events.
///
/// ```
/// use pi_rpc_export::asyncapi;
/// use pi_rpc_protocol::Dialect;
///
/// let document = asyncapi(Dialect::Pi);
/// let reply = &document["operations"]["get_state"]["reply"];
/// assert_eq!(reply["messages"][0]["$ref"], "#/channels/stdout/messages/GetStateResponse");
/// ```
pub fn asyncapi(dialect: Dialect) -> Value {
    let schema = part_schema(dialect, Part::All);
    let empty = Map::new();
    let defs = schema["$defs"].as_object().unwrap_or(&empty);
    let (inbound, outbound) = (frames(defs, "Inbound"), frames(defs, "Outbound"));
    let messages: Map<String, Value> =
        inbound.iter().chain(&outbound).map(|name| ((*name).to_owned(), message(defs, name))).collect();
    let schemas: Map<String, Value> = defs.iter().map(|(name, def)| (name.clone(), plain(def))).collect();
    json!({
        "asyncapi": "3.0.0",
        "id": schema["$id"],
        "info": {
            "title": schema["title"],
            "version": dialect.record().version,
            "description": schema["description"],
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "defaultContentType": "application/json",
        "channels": {
            "stdin": channel("stdin", "Standard input of the server: one frame a line.", &inbound),
            "stdout": channel("stdout", "Standard output of the server: one frame a line.", &outbound),
        },
        "operations": operations(dialect, &inbound, &outbound),
        "components": { "messages": messages, "schemas": schemas },
    })
}

/// The names of the objects that a union consists of.
fn frames<'a>(defs: &'a Map<String, Value>, name: &'a str) -> Vec<&'a str> {
    match defs.get(name).and_then(|def| def["oneOf"].as_array()) {
        Some(branches) => {
            branches.iter().filter_map(ref_name).flat_map(|inner| frames(defs, inner)).collect()
        }
        None => vec![name],
    }
}

fn message(defs: &Map<String, Value>, name: &str) -> Value {
    let def = &defs[name];
    let mut message = json!({
        "name": name,
        "summary": def["description"],
        "payload": { "$ref": format!("#/components/schemas/{name}") },
    });
    if def["properties"].get("id").is_some() {
        message["correlationId"] = json!({ "location": "$message.payload#/id" });
    }
    message
}

fn channel(name: &str, description: &str, frames: &[&str]) -> Value {
    let messages: Map<String, Value> = frames
        .iter()
        .map(|frame| ((*frame).to_owned(), json!({ "$ref": format!("#/components/messages/{frame}") })))
        .collect();
    json!({ "address": name, "description": description, "messages": messages })
}

/// What the server does: an operation for each command and each dialog, one for all events, one for each other frame.
fn operations(dialect: Dialect, inbound: &[&str], outbound: &[&str]) -> Map<String, Value> {
    let meta = meta(dialect);
    let (reads, writes) = (Channel("stdin", inbound), Channel("stdout", outbound));
    let mut operations = Map::new();
    let mut covered: BTreeSet<&str> = BTreeSet::new();
    for command in &meta.commands {
        let replies = [command.response.as_str(), command.error.as_str()];
        covered.extend(replies);
        covered.insert(&command.request);
        let operation = operation("receive", &command.description, &reads, &[&command.request]);
        operations.insert(command.r#type.clone(), with_reply(operation, &writes, &replies));
    }
    for dialog in &meta.dialogs {
        let answers: Vec<&str> = dialog.answers.iter().map(String::as_str).collect();
        covered.extend(&answers);
        covered.insert(&dialog.def);
        let operation = operation("send", &dialog.description, &writes, &[&dialog.def]);
        let operation = if answers.is_empty() { operation } else { with_reply(operation, &reads, &answers) };
        operations.insert(format!("ui_{}", dialog.method), operation);
    }
    for (channel, action) in [(&reads, "receive"), (&writes, "send")] {
        let rest: Vec<&str> = channel.1.iter().copied().filter(|frame| !covered.contains(frame)).collect();
        if !rest.is_empty() {
            let about = format!("All other frames on {}.", channel.0);
            operations.insert(format!("{action}_other_frames"), operation(action, &about, channel, &rest));
        }
    }
    operations
}

/// A channel with its frames.
struct Channel<'a>(&'static str, &'a [&'a str]);

impl Channel<'_> {
    fn messages(&self, frames: &[&str]) -> Vec<Value> {
        let known = frames.iter().filter(|frame| self.1.contains(frame));
        known.map(|frame| json!({ "$ref": format!("#/channels/{}/messages/{frame}", self.0) })).collect()
    }

    fn reference(&self) -> Value {
        json!({ "$ref": format!("#/channels/{}", self.0) })
    }
}

fn operation(action: &str, description: &str, channel: &Channel<'_>, frames: &[&str]) -> Value {
    json!({
        "action": action,
        "summary": description,
        "channel": channel.reference(),
        "messages": channel.messages(frames),
    })
}

fn with_reply(mut operation: Value, channel: &Channel<'_>, frames: &[&str]) -> Value {
    operation["reply"] = json!({ "channel": channel.reference(), "messages": channel.messages(frames) });
    operation
}

/// The schema with the references of a document, and without discriminators: those of AsyncAPI name definitions.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => map
            .iter()
            .filter(|(key, value)| key.as_str() != "discriminator" || value.get("propertyName").is_none())
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect(),
        Value::Array(list) => list.iter().map(plain).collect(),
        _ => match target_name(schema) {
            Some(name) => json!(format!("#/components/schemas/{name}")),
            None => schema.clone(),
        },
    }
}
