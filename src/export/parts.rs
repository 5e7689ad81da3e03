//! The parts that the protocol comes in, and what each is made of.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A part of the protocol that can be exported alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serve", derive(clap::ValueEnum))]
pub enum Part {
    /// Everything that a host and a server write to each other, and what sessions and extensions are made of
    All,
    /// What a host may ask
    Commands,
    /// What is answered
    Responses,
    /// What a server tells by itself
    Events,
    /// What extensions ask of the user, and the answers
    Ui,
    /// What tools of the host are called with, and what they give
    HostTools,
    /// The lines of a session file
    SessionFile,
    /// What the server and an extension write to each other
    Extension,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 8] = [
        Self::All,
        Self::Commands,
        Self::Responses,
        Self::Events,
        Self::Ui,
        Self::HostTools,
        Self::SessionFile,
        Self::Extension,
    ];

    /// The name that options use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Commands => "commands",
            Self::Responses => "responses",
            Self::Events => "events",
            Self::Ui => "ui",
            Self::HostTools => "host-tools",
            Self::SessionFile => "session-file",
            Self::Extension => "extension",
        }
    }

    /// The name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::All => "RPC frames",
            Self::Commands => "Commands",
            Self::Responses => "Responses",
            Self::Events => "Events",
            Self::Ui => "Extension UI frames",
            Self::HostTools => "Host tool frames",
            Self::SessionFile => "Lines of session files",
            Self::Extension => "Extension frames",
        }
    }

    /// The defs that its root accepts, as far as a dialect has them.
    pub const fn roots(self) -> &'static [&'static str] {
        match self {
            Self::All => &["Inbound", "Outbound"],
            Self::Commands => &["RpcCommand"],
            Self::Responses => &["RpcResponse"],
            Self::Events => &["AgentSessionEvent", "ExtensionError", "ReadyFrame"],
            Self::Ui => &["RpcExtensionUIRequest", "RpcExtensionUIResponse"],
            Self::HostTools => &["HostToolCall", "HostToolCancel", "HostToolUpdate", "HostToolResult"],
            Self::SessionFile => &["SessionHeader", "SessionEntry"],
            Self::Extension => &["ToExtension", "FromExtension"],
        }
    }
}

/// The schema of a kind of file under its `$id`, with what names it first. The version follows the same rules as those of
/// the dialects.
pub fn with_file_id(kind: &str, schema: Value) -> Value {
    let Value::Object(mut rest) = schema else { return schema };
    let mut out = Map::new();
    for key in ["$schema", "$id", "title", "description"] {
        match rest.shift_remove(key) {
            _ if key == "$id" => drop(out.insert(key.to_owned(), file_id(kind).into())),
            Some(value) => drop(out.insert(key.to_owned(), value)),
            None => {}
        }
    }
    out.extend(rest);
    Value::Object(out)
}

/// The `$id` of the schema of a kind of file: a name, no address.
pub fn file_id(kind: &str) -> String {
    format!("urn:pi-rpc:{kind}:1.0.0")
}

/// The names of the defs that `roots` are made of, themselves among them.
pub fn reachable(defs: &Map<String, Value>, roots: &[&str]) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
    while let Some(name) = open.pop() {
        if let Some(def) = defs.get(&name)
            && reached.insert(name)
        {
            collect_refs(def, &mut open);
        }
    }
    reached
}

fn collect_refs(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            into.extend(ref_name(schema).map(str::to_owned));
            map.values().for_each(|inner| collect_refs(inner, into));
        }
        Value::Array(list) => list.iter().for_each(|inner| collect_refs(inner, into)),
        _ => {}
    }
}

/// The def that `{"$ref": "#/$defs/X"}` names.
pub fn ref_name(schema: &Value) -> Option<&str> {
    target_name(schema.get("$ref")?)
}

/// The def that `"#/$defs/X"` names.
pub fn target_name(target: &Value) -> Option<&str> {
    target.as_str()?.strip_prefix("#/$defs/")
}
