//! Draws commands from the schema.

use super::Choices;
use pi_rpc_protocol::{BUNDLE, Dialect, RpcCommandKind};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Returns the values to draw for the member of this name, as JSON; none for a member whose schema is enough.
pub type MemberValues = fn(member: &str) -> &'static [&'static str];

/// The definitions of the schema.
static DEFS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
    bundle["$defs"].as_object().cloned().unwrap_or_default()
});

/// A generator of commands of one dialect.
pub struct Commands {
    defs: &'static Map<String, Value>,
    kinds: Vec<(u32, RpcCommandKind)>,
    dialect: Dialect,
    values: MemberValues,
    spoil_odds: usize,
}

impl Commands {
    /// Creates a generator of the commands of `dialect` that have a weight, with the values of `values`. One command in
    /// `spoil_odds` gets a member that is missing or of another type; none for 0.
    pub fn new(
        dialect: Dialect,
        weight: impl Fn(RpcCommandKind) -> u32,
        values: MemberValues,
        spoil_odds: usize,
    ) -> Self {
        let kinds = RpcCommandKind::ALL.into_iter().filter(|kind| kind.is_in(dialect.base()));
        let kinds = kinds.map(|kind| (weight(kind), kind)).filter(|(weight, _)| *weight > 0).collect();
        Self { defs: &DEFS, kinds, dialect, values, spoil_odds }
    }

    /// Draws a command with its members, without an id.
    pub fn draw(&self, choices: &mut Choices) -> Map<String, Value> {
        let kind = *choices.weighted(&self.kinds);
        let mut command = self.draw_kind(kind, 3, choices);
        if self.spoil_odds > 0 && command.len() > 1 && choices.once_in(self.spoil_odds) {
            spoil(&mut command, choices);
        }
        command
    }

    /// Draws a command that shows the effect of `of`: a read of a member that `of` changes, else a prompt. `None` if `of`
    /// changes nothing.
    pub fn witness(&self, of: RpcCommandKind, choices: &mut Choices) -> Option<Map<String, Value>> {
        let changed = of.changes();
        let shows = |kind: &RpcCommandKind| {
            let tells = kind.reported_members().iter().any(|member| changed.contains(member));
            tells && kind.is_read() && kind.is_in(self.dialect.base())
        };
        let reads: Vec<RpcCommandKind> = RpcCommandKind::ALL.into_iter().filter(shows).collect();
        let kind = match reads.is_empty() {
            true => RpcCommandKind::Prompt,
            false => choices.pick(&reads),
        };
        (!changed.is_empty()).then(|| self.draw_kind(kind, 0, choices))
    }

    /// Draws a command of this kind, without an id: with its required members, and one in `odds` of the optional ones (none for
    /// 0).
    fn draw_kind(&self, kind: RpcCommandKind, odds: usize, choices: &mut Choices) -> Map<String, Value> {
        let mut command = Map::from_iter([("type".to_owned(), json!(kind.as_str()))]);
        for (name, schema, required) in self.members(kind.as_str()) {
            if required || (odds > 0 && choices.once_in(odds)) {
                let value = self.value(name, schema, choices);
                command.extend(value.map(|value| (name.to_owned(), value)));
            }
        }
        command
    }

    /// The members of a command except `type` and `id`: name, schema, whether required.
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

    /// Draws a value for a member, from the values of its name or by its schema.
    fn value(&self, name: &str, schema: &Value, choices: &mut Choices) -> Option<Value> {
        let values = (self.values)(name);
        if !values.is_empty() {
            return serde_json::from_str(choices.pick(values)).ok();
        }
        let schema = match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(def) => self.defs.get(def)?,
            None => schema,
        };
        match (schema["enum"].as_array(), schema["type"].as_str()) {
            (Some(values), _) => Some(choices.pick(values)),
            (None, Some("boolean")) => Some(json!(choices.once_in(2))),
            (None, Some("array")) => Some(json!([])),
            (None, Some("string")) => Some(json!(choices.pick(&["some text", "", "\u{2028}"]))),
            _ => None,
        }
    }
}

/// Removes a member, or gives it a value of another type.
fn spoil(command: &mut Map<String, Value>, choices: &mut Choices) {
    let names: Vec<String> = command.keys().filter(|name| *name != "type").cloned().collect();
    let name = choices.pick(&names);
    match choices.below(3) {
        0 => drop(command.shift_remove(&name)),
        1 => drop(command.insert(name, json!(7))),
        _ => drop(command.insert(name, json!({ "not": "this" }))),
    }
}
