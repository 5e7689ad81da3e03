//! What becomes of each message between this protocol and ACP, from `schema/acp.json`.

use super::{code, table};
use serde_json::{Map, Value};

const MAPPING: &str = include_str!("../../../schema/acp.json");

/// The directions of the mapping, with what they are called.
const DIRECTIONS: [(&str, &str); 2] = [
    ("agent", "pi-rpc acp: an ACP client, a server of this protocol"),
    ("backend", "serve --backend acp: a host of this protocol, an ACP agent"),
];

/// The tables of fates, with what they are called.
const TITLES: [(&str, &str); 7] = [
    ("methods", "Methods of ACP"),
    ("commands", "Commands of this protocol"),
    ("events", "Events"),
    ("updates", "Updates"),
    ("roles", "Messages by role, in a replay"),
    ("ui", "Requests of the user interface"),
    ("frames", "Other frames"),
];

/// All tables.
pub(super) fn all() -> String {
    let mapping: Value = serde_json::from_str(MAPPING).unwrap_or_default();
    let mut text = String::new();
    for (key, title) in DIRECTIONS {
        let Some(tables) = mapping[key].as_object() else { continue };
        text += &format!("## {title}\n\n");
        for (name, entries) in tables {
            let title =
                TITLES.iter().find(|(table, _)| table == name).map_or(name.as_str(), |(_, title)| title);
            text += &format!("### {title}\n\n{}\n", fates(entries.as_object()));
        }
    }
    text += &format!("## Tools\n\n{}\n", tools(mapping["tools"].as_object()));
    let mut reasons = pairs(mapping["stopReasons"].as_object());
    let errors = mapping["errorStopReasons"].as_object().into_iter().flatten();
    reasons.extend(errors.map(|(name, reason)| {
        let text = format!("`error`, with the text `{name}`");
        [text, code(reason.as_str().unwrap_or_default())]
    }));
    text += &format!("## Stop reasons\n\n{}", table(["Of the last message", "Of the prompt"], reasons));
    text
}

fn fates(entries: Option<&Map<String, Value>>) -> String {
    let rows = entries.into_iter().flatten().map(|(name, entry)| {
        let text = |member: &str| entry[member].as_str().unwrap_or_default().to_owned();
        [code(name), text("fate"), text("to"), text("why")]
    });
    table(["Name", "Fate", "Becomes", "Why not as it is"], rows)
}

fn tools(entries: Option<&Map<String, Value>>) -> String {
    let rows = entries.into_iter().flatten().map(|(name, entry)| {
        let argument = |member: &str| code(entry[member].as_str().unwrap_or_default());
        [code(name), argument("kind"), argument("title"), argument("path"), argument("newText")]
    });
    table(["Tool", "Kind", "Title", "Location", "New text of the difference"], rows)
}

fn pairs(entries: Option<&Map<String, Value>>) -> Vec<[String; 2]> {
    let entries = entries.into_iter().flatten();
    entries.map(|(name, value)| [code(name), value.as_str().map_or("an error".to_owned(), code)]).collect()
}
