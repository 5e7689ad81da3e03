//! Index of `schema/`: definitions grouped for readers, with anchors, uses and directions.

use crate::{
    Meta, json_schema, meta,
    parts::{ref_name, target_name},
};
use pi_rpc_protocol::{BUNDLE, Dialect};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    iter::successors,
};

/// A group of definitions in one section of the page.
pub(super) struct Family {
    /// The anchor of the section.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The union whose branches are the members; empty for the groups of remaining definitions.
    pub union: &'static str,
    pub members: Vec<Member>,
}

/// A definition on the page.
pub(super) struct Member {
    pub def: String,
    /// The tag of a frame, else the name of the definition.
    pub label: String,
    pub anchor: String,
}

/// The groups: id of the section, heading, union, prefix of the anchors. Those without a union are for frames in no union, and
/// for the remaining definitions.
const FAMILIES: [(&str, &str, &str, &str); 13] = [
    ("commands", "Commands", "RpcCommand", "command"),
    ("responses", "Responses", "RpcResponse", ""),
    ("events", "Events", "AgentSessionEvent", "event"),
    ("updates", "How a message grows", "AssistantMessageEvent", "update"),
    ("frames", "Other frames", "", "frame"),
    ("dialogs", "Dialogs and notices", "RpcExtensionUIRequest", "ui"),
    ("answers", "Answers to dialogs", "RpcExtensionUIResponse", ""),
    ("messages", "Messages", "AgentMessage", "message"),
    ("entries", "Session files", "SessionEntry", "entry"),
    ("to-extension", "To extensions", "ToExtension", "to-extension"),
    ("hooks", "Hooks of extensions", "HookEvent", "hook"),
    ("from-extension", "From extensions", "FromExtension", "from-extension"),
    ("types", "Types", "", "type"),
];

/// The union of success responses, which are shown with their commands.
const SUCCESSES: &str = "RpcSuccess";

/// The direction of the frames of a union.
const DIRECTIONS: [(&str, &str); 4] = [
    ("Inbound", "host → server"),
    ("Outbound", "server → host"),
    ("ToExtension", "server → extension"),
    ("FromExtension", "extension → server"),
];

/// First member of a group, besides the branches of its union.
const FIRST_MEMBERS: [(&str, &str); 1] = [("entries", "SessionHeader")];

/// The index of definitions that the page is made from.
pub(super) struct SchemaIndex {
    bundle: Value,
    /// The base dialects, in the order of the page.
    pub bases: Vec<Dialect>,
    /// All dialects, in the order of the page.
    pub dialects: Vec<Dialect>,
    pub families: Vec<Family>,
    /// The exported definitions of each base.
    exported: BTreeMap<&'static str, Value>,
    metas: BTreeMap<&'static str, Meta>,
    anchors: BTreeMap<String, String>,
    used_by: BTreeMap<String, BTreeSet<String>>,
    directions: BTreeMap<String, &'static str>,
}

impl SchemaIndex {
    /// Builds the index, with the dialect `first` before the others.
    pub fn new(first: Dialect) -> Self {
        let bundle: Value = serde_json::from_str(BUNDLE).expect("build.rs wrote JSON");
        let mut dialects = Dialect::ALL.to_vec();
        let extended = successors(first.record().extends, |name| Dialect::parse(name)?.record().extends);
        let extended: Vec<&str> = extended.collect();
        let is_extended = |dialect: &Dialect| extended.contains(&dialect.as_str());
        dialects.sort_by_key(|dialect| {
            (*dialect != first, !is_extended(dialect), dialect.base() != first.base())
        });
        let is_base = |dialect: &Dialect| dialect.record().extends.is_none();
        let bases: Vec<Dialect> = dialects.iter().copied().filter(is_base).collect();
        let exported = bases.iter().map(|base| (base.as_str(), json_schema(*base)["$defs"].take())).collect();
        let metas = dialects.iter().map(|dialect| (dialect.as_str(), meta(*dialect))).collect();
        let mut index = Self {
            used_by: uses(&bundle["$defs"]),
            bundle,
            bases,
            dialects,
            metas,
            families: Vec::new(),
            exported,
            anchors: BTreeMap::new(),
            directions: BTreeMap::new(),
        };
        index.directions = DIRECTIONS
            .into_iter()
            .flat_map(|(root, way)| index.frames(root).into_iter().map(move |it| (it, way)))
            .collect();
        index.families = index.build_families();
        let members = index.families.iter().flat_map(|family| &family.members);
        let mut anchors: BTreeMap<String, String> =
            members.map(|member| (member.def.clone(), member.anchor.clone())).collect();
        anchors.extend(
            index.branches(SUCCESSES, "response").into_iter().map(|member| (member.def, member.anchor)),
        );
        let unions = FAMILIES.iter().map(|(_, _, union, _)| *union).chain([SUCCESSES]);
        anchors.extend(unions.map(|union| (union.to_owned(), format!("type-{union}"))));
        index.anchors = anchors;
        index
    }

    /// A part of the bundle besides the definitions: `states`, `errors`, `texts`, `rules`, `record`, `dialects`.
    pub fn part(&self, name: &str) -> &Value {
        &self.bundle[name]
    }

    /// A definition with its annotations.
    pub fn def(&self, name: &str) -> &Value {
        &self.bundle["$defs"][name]
    }

    pub fn defs(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.bundle["$defs"].as_object().into_iter().flatten()
    }

    /// The exported definitions of a base, without annotations.
    pub fn exported(&self, base: Dialect) -> &Value {
        self.exported.get(base.as_str()).unwrap_or(&Value::Null)
    }

    /// The meta file of a dialect.
    pub fn meta(&self, dialect: Dialect) -> Option<&Meta> {
        self.metas.get(dialect.as_str())
    }

    /// Whether a base has this definition, property or case, by the list under `key`.
    pub fn has(&self, base: Dialect, schema: &Value, key: &str) -> bool {
        schema.get(key).and_then(Value::as_array).is_none_or(|ids| ids.iter().any(|id| id == base.as_str()))
    }

    /// The bases that have this definition or property.
    pub fn bases_of(&self, schema: &Value) -> Vec<Dialect> {
        self.bases_in(schema, "x-dialects")
    }

    /// The bases in the list under `key`; all without a list.
    pub fn bases_in(&self, limited: &Value, key: &str) -> Vec<Dialect> {
        self.bases.iter().copied().filter(|base| self.has(*base, limited, key)).collect()
    }

    /// The anchor of a definition.
    pub fn anchor(&self, def: &str) -> &str {
        self.anchors.get(def).map_or("", String::as_str)
    }

    /// The anchor for a name in a text: a definition, the frames of a type, or a command, event or hook with a unique name.
    pub fn place_of(&self, term: &str) -> Option<&str> {
        if let Some(anchor) = self.anchors.get(term) {
            return Some(anchor);
        }
        let is_of_type = |member: &Member| self.def(&member.def)["properties"]["type"]["const"] == term;
        let of_type = |family: &&Family| family.members.len() > 1 && family.members.iter().all(is_of_type);
        if let Some(family) = self.families.iter().find(of_type) {
            return Some(family.id);
        }
        let mut called =
            self.families.iter().flat_map(|family| &family.members).filter(|it| it.label == term);
        let first = called.next().filter(|_| term.contains('_'))?;
        called.next().is_none().then_some(first.anchor.as_str())
    }

    /// The anchor of a command.
    pub fn command(&self, name: &str) -> Option<&str> {
        let commands = self.families.iter().filter(|family| family.union == "RpcCommand");
        let mut members = commands.flat_map(|family| &family.members);
        members.find(|member| member.label == name).map(|member| member.anchor.as_str())
    }

    /// The direction of a frame; `None` for other definitions.
    pub fn direction(&self, def: &str) -> Option<&'static str> {
        self.directions.get(def).copied()
    }

    /// The definitions whose properties refer to this one.
    pub fn used_by(&self, def: &str) -> impl Iterator<Item = &String> {
        self.used_by.get(def).into_iter().flatten()
    }

    fn build_families(&self) -> Vec<Family> {
        let unions = FAMILIES.iter().map(|(_, _, union, _)| named(union));
        let elsewhere = unions.chain(self.branches(SUCCESSES, "")).chain([named(SUCCESSES)]);
        let mut taken: BTreeSet<String> = elsewhere.map(|member| member.def).collect();
        let mut families = Vec::new();
        for (id, title, union, prefix) in FAMILIES {
            let opens = FIRST_MEMBERS.iter().filter(|(family, _)| *family == id).map(|(_, def)| named(def));
            let mut members: Vec<Member> = match id {
                "frames" => self.ungrouped_frames(prefix),
                "types" => self.defs().map(|(name, _)| named(name)).collect(),
                _ => opens.chain(self.branches(union, prefix)).collect(),
            };
            members.retain(|member| taken.insert(member.def.clone()));
            if union.is_empty() {
                members.sort_by(|one, other| one.label.cmp(&other.label));
            }
            families.push(Family { id, title, union, members });
        }
        families
    }

    /// The frames of a union, through inner unions.
    fn frames(&self, union: &str) -> Vec<String> {
        match self.def(union)["oneOf"].as_array() {
            Some(branches) => {
                branches.iter().filter_map(ref_name).flat_map(|name| self.frames(name)).collect()
            }
            None => vec![union.to_owned()],
        }
    }

    /// The frames that belong to no union with a group of its own.
    fn ungrouped_frames(&self, prefix: &str) -> Vec<Member> {
        let frames = ["Outbound", "Inbound"].into_iter().flat_map(|union| self.branches(union, prefix));
        frames.filter(|member| self.def(&member.def).get("properties").is_some()).collect()
    }

    /// The branches of a union, labelled by their tags if they have some.
    fn branches(&self, union: &str, prefix: &str) -> Vec<Member> {
        let def = self.def(union);
        let mapping = def.pointer("/discriminator/mapping").and_then(Value::as_object);
        if let Some(mapping) = mapping {
            let tagged = mapping.iter().filter_map(|(tag, target)| Some((tag, target_name(target)?)));
            return tagged.map(|(tag, def)| member(def, tag, prefix)).collect();
        }
        let branches = def["oneOf"].as_array().into_iter().flatten().filter_map(ref_name);
        let tag = |name| self.def(name).pointer("/properties/type/const").and_then(Value::as_str);
        branches
            .map(|name| match tag(name).filter(|_| !prefix.is_empty()) {
                Some(tag) => member(name, tag, prefix),
                None => named(name),
            })
            .collect()
    }
}

fn member(def: &str, label: &str, prefix: &str) -> Member {
    Member { def: def.to_owned(), label: label.to_owned(), anchor: format!("{prefix}-{label}") }
}

fn named(def: &str) -> Member {
    member(def, def, "type")
}

/// Maps each definition to those whose properties refer to it.
fn uses(defs: &Value) -> BTreeMap<String, BTreeSet<String>> {
    fn walk(schema: &Value, from: &str, uses: &mut BTreeMap<String, BTreeSet<String>>) {
        if let Some(name) = ref_name(schema) {
            uses.entry(name.to_owned()).or_default().insert(from.to_owned());
        }
        match schema {
            Value::Object(map) => map.values().for_each(|inner| walk(inner, from, uses)),
            Value::Array(list) => list.iter().for_each(|inner| walk(inner, from, uses)),
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    for (name, def) in defs.as_object().into_iter().flatten() {
        walk(&def["properties"], name, &mut found);
    }
    found
}
