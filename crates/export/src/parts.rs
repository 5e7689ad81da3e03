//! Parts of the protocol that can be exported alone, and the definitions that each consists of.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A part of the protocol that can be exported alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Part {
    /// All frames of hosts and servers, with the definitions of sessions and extensions
    All,
    /// Commands of hosts
    Commands,
    /// Responses to commands
    Responses,
    /// Events of servers
    Events,
    /// Dialogs of extensions, and the responses
    Ui,
    /// Calls of the host's tools and requests for its addresses, and their results
    HostTools,
    /// Lines of session files
    SessionFile,
    /// Frames between server and extensions
    Extension,
    /// Frames of a connection that carries many sessions, and messages about a connection of one
    MultiSession,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 9] = [
        Self::All,
        Self::Commands,
        Self::Responses,
        Self::Events,
        Self::Ui,
        Self::HostTools,
        Self::SessionFile,
        Self::Extension,
        Self::MultiSession,
    ];

    /// The name that `--part` uses.
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
            Self::MultiSession => "multi-session",
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
            Self::MultiSession => "Frames of many sessions",
        }
    }

    /// The definitions that the root of the part's schema accepts, as far as a dialect has them.
    pub const fn roots(self) -> &'static [&'static str] {
        match self {
            Self::All => &["Inbound", "Outbound"],
            Self::Commands => &["RpcCommand"],
            Self::Responses => &["RpcResponse"],
            Self::Events => {
                &["AgentSessionEvent", "ExtensionError", "ReadyFrame", "RpcChunk", "RpcFrameError"]
            }
            Self::Ui => &["RpcExtensionUIRequest", "RpcExtensionUIResponse"],
            Self::HostTools => &[
                "HostToolCall",
                "HostToolCancel",
                "HostToolUpdate",
                "HostToolResult",
                "HostUriRequest",
                "HostUriCancel",
                "HostUriResult",
            ],
            Self::SessionFile => &["SessionHeader", "SessionEntry"],
            Self::Extension => &["ToExtension", "FromExtension"],
            Self::MultiSession => &[
                "MultiSessionCommand",
                "MultiSessionSuccess",
                "RpcErrorResponse",
                "MultiSessionEvent",
                "ConnectionControl",
                "ClientControl",
            ],
        }
    }

    /// Definitions of values that the part has besides its frames: parts of texts, which no frame refers to.
    pub const fn values(self) -> &'static [&'static str] {
        match self {
            Self::MultiSession => &["MultiSessionErrorCode", "ConnectionErrorCode", "SessionTag"],
            _ => &[],
        }
    }
}

/// Adds the `$id` to the schema of a kind of file, and puts the naming keywords first. The version follows the same rules as
/// those of the dialects.
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

/// The `$id` of the schema of a kind of file: a URN, not an address.
pub fn file_id(kind: &str) -> String {
    format!("urn:pi-rpc:{kind}:1.0.0")
}

/// The names of all definitions that `roots` refer to, directly or not, and of the roots.
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

/// The definition that `{"$ref": "#/$defs/X"}` refers to.
pub fn ref_name(schema: &Value) -> Option<&str> {
    target_name(schema.get("$ref")?)
}

/// The definition that `"#/$defs/X"` refers to.
pub fn target_name(target: &Value) -> Option<&str> {
    target.as_str()?.strip_prefix("#/$defs/")
}
