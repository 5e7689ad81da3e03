//! Reads `schema/` into one bundle and classifies each def.

use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, fs, path::Path};

/// Contents of `schema/`.
pub struct Bundle {
    /// `$defs` of all family files, in the order of the files and inside them.
    pub defs: Map<String, Value>,
    /// `states.json`.
    pub states: Value,
    /// `errors.json`.
    pub errors: Map<String, Value>,
    /// `texts.json`.
    pub texts: Map<String, Value>,
    /// `rules.json`.
    pub rules: Map<String, Value>,
    /// `session.json`.
    pub session: Value,
    /// `dialects/record.json`.
    pub record: Value,
    /// The dialects, overlays merged over what they extend; bases first.
    pub dialects: Vec<Value>,
}

const FAMILIES: [&str; 12] = [
    "frames",
    "commands",
    "responses",
    "events",
    "messages",
    "ui",
    "host_tools",
    "login",
    "omp",
    "session_file",
    "extension",
    "multi_session",
];

/// Reads every file. An error names the file and the def.
pub fn read(dir: &Path) -> Result<Bundle, String> {
    let mut defs = Map::new();
    for family in FAMILIES {
        let file = json_file(&dir.join(format!("{family}.json")))?;
        let own = file.get("$defs").and_then(Value::as_object).ok_or(format!("{family}.json: no $defs"))?;
        for (name, def) in own {
            if defs.insert(name.clone(), def.clone()).is_some() {
                return Err(format!("{family}.json: {name} is defined twice"));
            }
        }
    }
    let texts =
        |name: &str| json_file(&dir.join(name))?.as_object().cloned().ok_or(format!("{name}: not an object"));
    let mut bundle = Bundle {
        defs,
        states: json_file(&dir.join("states.json"))?,
        errors: texts("errors.json")?,
        texts: texts("texts.json")?,
        rules: texts("rules.json")?,
        session: json_file(&dir.join("session.json"))?,
        record: json_file(&dir.join("dialects/record.json"))?,
        dialects: read_dialects(&dir.join("dialects"))?,
    };
    bundle.spell_out()?;
    bundle.check_refs()?;
    Ok(bundle)
}

/// Kind of a def, for the generator.
pub enum Shape<'a> {
    /// Object with properties: a struct.
    Struct(&'a Map<String, Value>),
    /// Union decided by the constant in property `tag`: value → def.
    Tagged { tag: &'a str, branches: Vec<(String, &'a str)> },
    /// Union of which exactly one branch fits.
    Either(Vec<&'a Value>),
    /// Enumeration of strings.
    Enum(Vec<&'a str>),
    /// Scalar or free-form value, without a type of its own.
    Plain(&'a Value),
}

impl Bundle {
    /// The bundle in the form in which the library embeds it.
    pub fn to_json(&self) -> Value {
        json!({
            "$defs": self.defs,
            "states": self.states,
            "errors": self.errors,
            "texts": self.texts,
            "rules": self.rules,
            "session": self.session,
            "record": self.record,
            "dialects": self.dialects,
        })
    }

    /// Classifies the def `name`.
    pub fn shape<'a>(&'a self, name: &str) -> Shape<'a> {
        let def = &self.defs[name];
        if let Some(values) = def.get("enum").and_then(Value::as_array) {
            return Shape::Enum(values.iter().filter_map(Value::as_str).collect());
        }
        if let Some(branches) = def.get("oneOf").and_then(Value::as_array) {
            return match tag(def) {
                Some(tag) => Shape::Tagged {
                    tag,
                    branches: branches
                        .iter()
                        .filter_map(ref_name)
                        .flat_map(|branch| self.values_of(branch, tag).into_iter().map(move |v| (v, branch)))
                        .collect(),
                },
                None => Shape::Either(branches.iter().collect()),
            };
        }
        match def.get("properties").and_then(Value::as_object) {
            Some(properties) => Shape::Struct(properties),
            None => Shape::Plain(def),
        }
    }

    /// Distinct constants that the branch `name` may have in property `tag`.
    fn values_of(&self, name: &str, tag: &str) -> Vec<String> {
        let def = &self.defs[name];
        if let Some(value) = def.pointer(&format!("/properties/{tag}/const")) {
            return vec![tag_text(value)];
        }
        let branches = def.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        let values: BTreeSet<String> =
            branches.filter_map(ref_name).flat_map(|branch| self.values_of(branch, tag)).collect();
        values.into_iter().collect()
    }

    /// Adds overlays with frames of their own to every list that has their base, so that lists of
    /// dialects are complete from here on.
    fn spell_out(&mut self) -> Result<(), String> {
        let id = |dialect: &Value, key: &str| dialect[key].as_str().unwrap_or_default().to_owned();
        let own = self.dialects.iter().filter(|dialect| dialect["frames"] == dialect["id"]);
        let own: Vec<Flavour> =
            own.map(|dialect| Flavour { id: id(dialect, "id"), of: id(dialect, "extends") }).collect();
        for (name, def) in &mut self.defs {
            lists(def, &own).map_err(|id| format!("{name}: there are no frames of {id}"))?;
        }
        lists(&mut self.states, &own).map_err(|id| format!("states.json: there are no frames of {id}"))?;
        lists(&mut self.session, &own).map_err(|id| format!("session.json: there are no frames of {id}"))?;
        for (name, error) in &mut self.errors {
            lists(error, &own).map_err(|id| format!("errors.json: {name}: there are no frames of {id}"))?;
        }
        for flavour in own.iter().filter(|flavour| !flavour.of.is_empty()) {
            let by_dialect = |value: &mut Value, key: &str| {
                let Some(map) = value[key].as_object_mut() else { return };
                if let (Some(same), None) = (map.get(&flavour.of).cloned(), map.get(&flavour.id)) {
                    map.insert(flavour.id.clone(), same);
                }
            };
            self.errors.values_mut().for_each(|error| by_dialect(error, "text"));
            self.rules.values_mut().for_each(|rule| by_dialect(rule, "tier"));
        }
        Ok(())
    }

    fn check_refs(&self) -> Result<(), String> {
        fn walk(value: &Value, defs: &Map<String, Value>, at: &str) -> Result<(), String> {
            if let Some(name) = ref_name(value)
                && !defs.contains_key(name)
            {
                return Err(format!("{at}: $ref to {name}, which no file defines"));
            }
            match value {
                Value::Object(map) => map.values().try_for_each(|v| walk(v, defs, at)),
                Value::Array(list) => list.iter().try_for_each(|v| walk(v, defs, at)),
                _ => Ok(()),
            }
        }
        self.defs.iter().try_for_each(|(name, def)| walk(def, &self.defs, name))
    }
}

/// Dialect with frames of its own.
struct Flavour {
    id: String,
    of: String,
}

/// Completes every list of dialects in `value`. The error is an id without frames of its own.
fn lists(value: &mut Value, own: &[Flavour]) -> Result<(), String> {
    match value {
        Value::Object(map) => map.iter_mut().try_for_each(|(key, value)| match (key.as_str(), value) {
            ("x-dialects" | "x-required-in" | "dialects", list @ Value::Array(_)) => complete(list, own),
            ("x-enum-in", Value::Object(by_value)) => {
                by_value.values_mut().try_for_each(|list| complete(list, own))
            }
            (_, value) => lists(value, own),
        }),
        Value::Array(items) => items.iter_mut().try_for_each(|item| lists(item, own)),
        _ => Ok(()),
    }
}

/// Completes one list: an overlay is in a list with its base, unless the list excludes it (`["pi", "!pi@0.73"]`).
fn complete(list: &mut Value, own: &[Flavour]) -> Result<(), String> {
    let named: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let known = |id: &str| own.iter().any(|flavour| flavour.id == id);
    if let Some(unknown) = named.iter().find(|id| !known(id.strip_prefix('!').unwrap_or(id))) {
        return Err((*unknown).to_owned());
    }
    *list = own.iter().filter(|it| is_in(it, &named, own)).map(|flavour| json!(flavour.id)).collect();
    Ok(())
}

/// Whether a list names the dialect; or one that it is an overlay of, without excluding it.
fn is_in(flavour: &Flavour, named: &[&str], own: &[Flavour]) -> bool {
    let excluded = format!("!{}", flavour.id);
    let base = || own.iter().find(|other| other.id == flavour.of);
    named.contains(&flavour.id.as_str())
        || (!named.contains(&excluded.as_str()) && base().is_some_and(|base| is_in(base, named, own)))
}

/// Property that decides a union; `None`: its branches are told apart by shape.
fn tag(def: &Value) -> Option<&str> {
    match def.get("x-union").and_then(Value::as_str) {
        Some("families") => Some("type"),
        Some("response") => Some("success"),
        _ => def.pointer("/discriminator/propertyName").and_then(Value::as_str),
    }
}

/// Name of the def in `{"$ref": "#/$defs/X"}`.
pub fn ref_name(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// List of strings under `key`.
pub fn strings<'a>(value: &'a Value, key: &str) -> Option<Vec<&'a str>> {
    Some(value.get(key)?.as_array()?.iter().filter_map(Value::as_str).collect())
}

/// Description of a def or a property.
pub fn description(value: &Value) -> &str {
    value.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// Constant as text, such as `true` or `prompt`.
pub fn tag_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn read_dialects(dir: &Path) -> Result<Vec<Value>, String> {
    let entries = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut files: Vec<Value> = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.extension().is_some_and(|x| x == "json") && !path.ends_with("record.json") {
            files.push(json_file(&path)?);
        }
    }
    files.sort_by_key(|d| (d["extends"].is_string(), d["id"].to_string()));
    let mut merged: Vec<Value> = Vec::new();
    for file in files {
        let base = merged.iter().find(|d| d["id"] == file["extends"]).cloned();
        if base.is_none() && file["extends"].is_string() {
            return Err(format!(
                "dialects: {} extends {}, which comes later or not at all",
                file["id"], file["extends"]
            ));
        }
        let mut record = base.unwrap_or_else(|| json!({}));
        merge(&mut record, file);
        merged.push(record);
    }
    Ok(merged)
}

/// Merges an overlay over its base. A list is replaced, or loses what `{"without": [..]}` has.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Array(into), Value::Object(from)) if from.contains_key("without") => {
            into.retain(|item| !from["without"].as_array().is_some_and(|without| without.contains(item)));
        }
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn json_file(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}
