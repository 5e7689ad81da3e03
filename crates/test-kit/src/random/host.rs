//! Generator of host lines: commands from the schema, with meaningful values.

use crate::{HostLine, Kind};
use pi_rpc_protocol::{Dialect, RpcCommandKind};
use pi_rpc_scenario::random::{Choices, Commands, JUNK};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Frames of the host that respond to nothing open.
const STRAYS: [&str; 3] = [
    r#"{"type":"extension_ui_response","id":"nothing","value":"yes"}"#,
    r#"{"type":"extension_ui_response","id":"nothing","confirmed":true}"#,
    r#"{"type":"host_tool_result","id":"nothing","result":{"content":[]}}"#,
];

/// Command generator for a kind of conversation in a dialect; created once.
pub fn commands(kind: Kind, dialect: Dialect) -> &'static Commands {
    static KNOWN: Mutex<BTreeMap<(Kind, Dialect), &'static Commands>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry((kind, dialect)).or_insert_with(|| {
        let (words, spoils): (fn(&str) -> &'static [&'static str], usize) = match kind {
            Kind::Brief => (brief, 12),
            Kind::Crowded => (brief, 0),
            Kind::Lasting => (lasting, 0),
            Kind::Asking => (asking, 0),
            Kind::Acting => (acting, 0),
        };
        Box::leak(Box::new(Commands::new(dialect, |command| weight(kind, command), words, spoils)))
    })
}

/// Generates the host line with this number, and its command.
pub fn line(
    kind: Kind,
    dialect: Dialect,
    number: usize,
    wait: u64,
    choices: &mut Choices,
) -> (HostLine, Option<RpcCommandKind>) {
    if kind == Kind::Brief && choices.once_in(16) {
        let line = match choices.once_in(3) {
            true => choices.pick(&STRAYS),
            false => choices.pick(&JUNK),
        };
        return (HostLine { wait, line: line.to_owned() }, None);
    }
    let command = commands(kind, dialect).draw(choices);
    let is_named = kind != Kind::Brief || !choices.once_in(8);
    let kind = command.get("type").and_then(|it| RpcCommandKind::parse(it.as_str()?));
    (named(Value::Object(command), number, is_named, wait), kind)
}

/// The line of a command; `$` in it stands for the number.
pub fn named(command: Value, number: usize, is_named: bool, wait: u64) -> HostLine {
    let line =
        command.to_string().replace('$', &number.to_string()).replace("\"@\"", &format!("\"@{number}\""));
    let line = match is_named {
        true => line.replacen('{', &format!(r#"{{"id":"c{number}","#), 1),
        false => line,
    };
    HostLine { wait, line }
}

fn weight(kind: Kind, command: RpcCommandKind) -> u32 {
    let weights: &[(u32, &[&str])] = match kind {
        Kind::Brief => &[
            (18, &["prompt"]),
            (9, &["steer"]),
            (6, &["abort", "bash"]),
            (5, &["follow_up", "set_interrupt_mode"]),
            (4, &["abort_and_prompt"]),
            (
                3,
                &[
                    "new_session",
                    "get_state",
                    "set_steering_mode",
                    "set_follow_up_mode",
                    "abort_bash",
                    "set_model",
                ],
            ),
            (2, &["get_messages", "cycle_model", "set_thinking_level", "set_session_name"]),
            (0, &["clear_queue", "clone", "get_entries", "get_tree", "get_available_thinking_levels"]),
            (0, &["get_login_providers", "login", "abort_login", "logout", "navigate_tree"]),
            (1, &[""]),
        ],
        Kind::Crowded => &[
            (6, &["steer"]),
            (2, &["follow_up", "abort"]),
            (1, &["abort_and_prompt", "new_session", "prompt", "bash", "get_state"]),
        ],
        Kind::Lasting | Kind::Asking => &[
            (18, &["prompt"]),
            (3, &["steer", "follow_up", "abort", "compact", "switch_session", "fork", "branch"]),
            (2, &["abort_and_prompt", "new_session", "abort_retry", "bash", "set_model", "set_session_name"]),
            (if kind == Kind::Asking { 3 } else { 0 }, &["set_host_tools", "set_interrupt_mode"]),
            (
                1,
                &[
                    "abort_bash",
                    "set_thinking_level",
                    "cycle_thinking_level",
                    "cycle_model",
                    "set_auto_retry",
                    "set_auto_compaction",
                    "get_state",
                    "export_html",
                ],
            ),
        ],
        Kind::Acting => {
            &[(2, &["prompt"]), (1, &["abort", "compact", "new_session", "switch_session", "steer"])]
        }
    };
    let of = weights.iter().find(|(_, names)| names.contains(&command.as_str()) || names.contains(&""));
    of.map_or(0, |(weight, _)| *weight)
}

fn brief(member: &str) -> &'static [&'static str] {
    match member {
        "message" => &["\"ask $\"", "\"see $\"", "\"turn $\"", "\"then $\""],
        "images" => &["[]", r#"[{"type":"image","data":"aGk=","mimeType":"image/png"}]"#],
        "command" => &["\"echo $\""],
        "provider" => &["\"lab\""],
        "modelId" => &["\"thinker\"", "\"plain\"", "\"nobody\""],
        "enabled" | "excludeFromContext" => &["false"],
        "name" => &["\" a\\tname \"", "\"  \""],
        "entryId" => &["\"0badcafe\""],
        "sessionPath" => &["\"/other.jsonl\""],
        "parentSession" => &["\"/old.jsonl\""],
        "locale" => &["\"en\""],
        _ => &[],
    }
}

fn lasting(member: &str) -> &'static [&'static str] {
    match member {
        "message" => &["\"ask for something $\"", "\"turn to $\"", "\"and then $\""],
        "images" => &["[]"],
        "modelId" => &["\"thinker\"", "\"plain\""],
        "enabled" => &["false", "true"],
        // A member that the dialect does not have makes the line invalid.
        "level" => &["\"off\"", "\"low\"", "\"high\""],
        "name" => &["\"name $\""],
        "entryId" | "sessionPath" => &["\"@\""],
        _ => brief(member),
    }
}

fn asking(member: &str) -> &'static [&'static str] {
    match member {
        "message" => &["\"ask for something $\"", "\"turn to $\"", "\"and then $\"", "\"/do $\""],
        "tools" => &[
            r#"[{"name":"ask","description":"Asks.","parameters":{"type":"object"}},{"name":"tell","description":"Tells.","parameters":{"type":"object"}}]"#,
        ],
        _ => lasting(member),
    }
}

fn acting(member: &str) -> &'static [&'static str] {
    match member {
        "message" => &["\"go $\"", "\"and $\""],
        "sessionPath" => &["\"/sessions/other.jsonl\""],
        _ => lasting(member),
    }
}
