//! Exports what the Node host, which runs extensions of pi, has to know of the schema.

use super::parts::{ref_name, target_name};
use pi_rpc_protocol::BUNDLE;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Lists of hooks, events and actions of extensions, as a module of JavaScript.
pub fn node_host_lists() -> String {
    let bundle: Value = serde_json::from_str(BUNDLE).expect("build.rs wrote JSON");
    let schema = Lists { defs: &bundle["$defs"] };
    let is_handled = |def: &Value| def["x-handler"] == true;
    let is_update = |def: &Value| def["x-update"] == true;
    let lists = [
        (
            "HANDLED_HOOKS",
            "Events of pi that are hooks of the server under the same name.",
            schema.names("HookEvent", is_handled),
        ),
        (
            "RUN_HOOKS",
            "Hooks that belong to a run, so that `ctx.signal` is theirs.",
            schema.names("HookEvent", |hook| hook["x-in-run"] == true),
        ),
        (
            "AWAITED_EVENTS",
            "Events whose handlers the server awaits, as pi does.",
            schema.names("AgentSessionEvent", |event| is_handled(event) && !is_update(event)),
        ),
        (
            "SHOWN_EVENTS",
            "Events whose handlers nothing waits for.",
            schema.names("AgentSessionEvent", |event| is_handled(event) && is_update(event)),
        ),
        (
            "STREAM_EVENTS",
            "The events of an answer that is streamed.",
            schema.names("AssistantMessageEvent", |_| true),
        ),
    ];
    let mut out = String::from(
        "/** Hooks, events and actions by the schema. Generated: `cargo bless` writes it anew; do not edit. */\n",
    );
    for (name, about, items) in lists {
        let _ = writeln!(out, "\n/** {about} */\nexport const {name} = [");
        for item in items {
            let _ = writeln!(out, "  {item:?},");
        }
        out.push_str("];\n");
    }
    for (name, about, kind) in [
        (
            "ACTION_STRINGS",
            "The members of each action that are strings; `!` marks the required ones.",
            "string",
        ),
        ("ACTION_BOOLEANS", "The members of each action that are booleans.", "boolean"),
    ] {
        let _ = writeln!(out, "\n/** {about} */\nexport const {name} = {{");
        for (action, members) in schema.action_members(kind).into_iter().filter(|(_, it)| !it.is_empty()) {
            let _ = writeln!(out, "  {action}: {members:?},");
        }
        out.push_str("};\n");
    }
    out
}

struct Lists<'a> {
    defs: &'a Value,
}

impl<'a> Lists<'a> {
    /// The tags of a union with the definitions that they stand for.
    fn branches(&self, union: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let defs = self.defs;
        let mapping = defs[union]["discriminator"]["mapping"].as_object().into_iter().flatten();
        mapping.filter_map(move |(tag, target)| Some((tag.as_str(), &defs[target_name(target)?])))
    }

    /// The tags of the branches with definitions that fit.
    fn names(&self, union: &str, fits: impl Fn(&Value) -> bool) -> Vec<&'a str> {
        self.branches(union).filter(|(_, def)| fits(def)).map(|(tag, _)| tag).collect()
    }

    /// The members of each action with this type, by their names; a mark `!` behind a required one.
    fn action_members(&self, kind: &str) -> Vec<(&'a str, Vec<String>)> {
        let requires = |def: &Value, name: &str| {
            def["required"].as_array().into_iter().flatten().any(|required| required == name)
        };
        // Frames with an id of their own choice: all others answer a request, or are none that is answered.
        let is_action = |def: &Value| {
            let has = |name: &str| !def["properties"][name].is_null();
            has("id") && (has("origin") || !requires(def, "id"))
        };
        let of = |def: &'a Value| {
            let members: Option<&Map<String, Value>> = def["properties"].as_object();
            let members = members.into_iter().flatten();
            let members = members.filter(|(name, _)| !["type", "id", "origin"].contains(&name.as_str()));
            let members = members.filter(|(_, schema)| self.resolved(schema)["type"] == kind);
            let marked = |name: &str| if requires(def, name) { format!("{name}!") } else { name.to_owned() };
            members.map(|(name, _)| marked(name)).collect()
        };
        self.branches("FromExtension")
            .filter(|(_, def)| is_action(def))
            .map(|(tag, def)| (tag, of(def)))
            .collect()
    }

    fn resolved(&self, schema: &'a Value) -> &'a Value {
        ref_name(schema).map_or(schema, |name| &self.defs[name])
    }
}
