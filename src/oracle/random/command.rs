//! A command, drawn from the schema.

use crate::protocol::{BUNDLE, Dialect, RpcCommandKind};
use fastrand::Rng;
use serde_json::{Map, Value, json};

/// What is said to the model; its script knows most of them.
pub(super) const MESSAGES: [&str; 11] = [
    "Hello",
    "Think",
    "Call one",
    "Call two",
    "Call a long one",
    "Call no tool",
    "Speak slowly",
    "Break off",
    "Refuse",
    "Be overloaded once",
    "Be overloaded",
];

/// Shell commands that do no harm and end soon.
const SHELL: [&str; 4] = ["echo hi", "echo out; echo err >&2; exit 3", "sleep 0.2; echo late", ""];

/// One of so many commands has a member that is missing or of another type.
const SPOILT: usize = 8;

/// The commands of a dialect, as the schema has them.
pub(super) struct Commands {
    defs: Map<String, Value>,
    /// All but prompts, which are drawn otherwise.
    kinds: Vec<RpcCommandKind>,
    dialect: Dialect,
}

impl Commands {
    pub fn new(dialect: Dialect) -> Self {
        let mut bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
        let defs = match bundle.get_mut("$defs").map(Value::take) {
            Some(Value::Object(defs)) => defs,
            _ => Map::new(),
        };
        let others = RpcCommandKind::ALL.into_iter().filter(|kind| *kind != RpcCommandKind::Prompt);
        let kinds = others.filter(|kind| kind.is_in(dialect.base())).collect();
        Self { defs, kinds, dialect }
    }

    /// Any command but a prompt, with its members; without an id.
    pub fn any(&self, rng: &mut Rng) -> Map<String, Value> {
        let Some(kind) = rng.choice(&self.kinds) else { return Map::new() };
        let mut command = Map::from_iter([("type".to_owned(), json!(kind.as_str()))]);
        for (name, schema, required) in self.members(kind.as_str()) {
            if required || rng.u8(..3) == 0 {
                command.extend(self.value(name, schema, rng).map(|value| (name.to_owned(), value)));
            }
        }
        if command.len() > 1 && rng.usize(..SPOILT) == 0 {
            spoil(&mut command, rng);
        }
        command
    }

    /// The members of a command beside its type and id: name, schema, whether it has to be there.
    fn members(&self, kind: &str) -> impl Iterator<Item = (&str, &Value, bool)> {
        let def = self.defs.values().find(|def| def["properties"]["type"]["const"] == kind);
        let required = def.and_then(|def| def["required"].as_array());
        let properties = def.and_then(|def| def["properties"].as_object()).into_iter().flatten();
        properties.filter(|(name, schema)| *name != "type" && *name != "id" && self.has(schema)).map(
            move |(name, schema)| {
                let required = required.is_some_and(|required| required.iter().any(|one| one == name));
                (name.as_str(), schema, required)
            },
        )
    }

    fn has(&self, schema: &Value) -> bool {
        let base = Dialect::ALL.into_iter().find(|dialect| dialect.base() == self.dialect.base());
        let only = schema["x-dialects"].as_array();
        only.is_none_or(|only| only.iter().any(|one| base.is_some_and(|base| one == base.as_str())))
    }

    /// A value for a member: of its type, and with some meaning where the name has one.
    fn value(&self, name: &str, schema: &Value, rng: &mut Rng) -> Option<Value> {
        let text = |texts: &[&str], rng: &mut Rng| rng.choice(texts).map(|text| json!(text));
        match name {
            "message" => return text(&MESSAGES, rng),
            "command" => return text(&SHELL, rng),
            "provider" => return text(&["fake", "fake", "none"], rng),
            "modelId" => return text(&["fake-1", "fake-2", "none"], rng),
            "outputPath" => return text(&["out.html", "missing/folder/out.html"], rng),
            "parentSession" | "sessionPath" => return text(&["none.jsonl", ""], rng),
            _ => {}
        }
        let schema = match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(def) => self.defs.get(def)?,
            None => schema,
        };
        match (schema["enum"].as_array(), schema["type"].as_str()) {
            (Some(values), _) => rng.choice(values).cloned(),
            (None, Some("boolean")) => Some(json!(rng.bool())),
            (None, Some("array")) => Some(json!([])),
            (None, Some("string")) => text(&["some text", "", "\u{2028}"], rng),
            _ => None,
        }
    }
}

/// Takes a member away, or makes it something else.
fn spoil(command: &mut Map<String, Value>, rng: &mut Rng) {
    let names: Vec<String> = command.keys().filter(|name| *name != "type").cloned().collect();
    let Some(name) = rng.choice(names) else { return };
    match rng.u8(..3) {
        0 => drop(command.shift_remove(&name)),
        1 => drop(command.insert(name, json!(7))),
        _ => drop(command.insert(name, json!({ "not": "this" }))),
    }
}
