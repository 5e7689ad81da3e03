//! The rules of `schema/README.md`, each as a function from a bundle to its violations.

mod commands;
mod defs;
mod events;
mod records;
mod session;
mod spoiled;
mod states;

pub use spoiled::{SPOILED, spoil};

use serde_json::Value;

/// Violations: places and descriptions.
pub type Complaints = Vec<String>;

/// Name of a rule, and the function that finds its violations.
pub type Rule = (&'static str, fn(&Value) -> Complaints);

pub const RULES: [Rule; 29] = [
    ("a def's title is its key", defs::titles),
    ("every def and property is described", defs::descriptions),
    ("only the keywords of the subset", defs::keywords),
    ("every $ref leads somewhere", defs::refs),
    ("objects list properties that they have", defs::objects),
    ("enumerations are defs", defs::enumerations),
    ("unions say how they are decided", defs::unions),
    ("tags are required constants", defs::tags),
    ("integers have bounds, other numbers at most a minimum of 0", defs::bounds),
    ("dialects, properties and values exist", defs::dialects),
    ("what a property holds exists where it does", defs::reach),
    ("null means absent only where null may be", defs::nulls),
    ("what is free has a reason", defs::free_members),
    ("redacting knows what becomes of a text", defs::redactions),
    ("what was observed is not required", defs::sources),
    ("every def says where it is written", defs::docs),
    ("commands and responses go in pairs", commands::responses),
    ("every command has a disposition everywhere", commands::dispositions),
    ("what came later says when", defs::since),
    ("states say where they are, and like which", states::states),
    ("commands lead to states", commands::leads),
    ("events fire in states", events::fires),
    ("what is caused and what comes before is an event", events::mentioned),
    ("ui requests say which answer they want", events::answers),
    ("hooks say what of an answer counts", events::hook_results),
    ("the session's members say what they hold", session::members),
    ("effects change members by what frames have", session::effects),
    ("responses tell members that they have", session::tells),
    ("dialects fit their record", records::records),
];

/// Violations of all rules.
pub fn complaints(bundle: &Value) -> Complaints {
    RULES.iter().flat_map(|(_, rule)| rule(bundle)).collect()
}

/// The defs of the bundle.
fn defs(bundle: &Value) -> impl Iterator<Item = (&String, &Value)> {
    members(&bundle["$defs"])
}

/// Every property of every def: `Def.property`, the def, the property's name, its schema.
fn properties(bundle: &Value) -> impl Iterator<Item = (String, &Value, &String, &Value)> {
    defs(bundle).flat_map(|(name, def)| {
        members(&def["properties"]).map(move |(key, schema)| (format!("{name}.{key}"), def, key, schema))
    })
}

/// Every schema of the bundle, the inner ones too, with its place.
fn schemas(bundle: &Value) -> Vec<(String, &Value)> {
    fn walk<'b>(at: String, schema: &'b Value, into: &mut Vec<(String, &'b Value)>) {
        members(&schema["properties"]).for_each(|(key, inner)| walk(format!("{at}.{key}"), inner, into));
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(key) {
                walk(format!("{at}.{key}"), inner, into);
            }
        }
        for (index, inner) in items(&schema["oneOf"]).enumerate() {
            walk(format!("{at}.oneOf[{index}]"), inner, into);
        }
        into.push((at, schema));
    }
    let mut into = Vec::new();
    defs(bundle).for_each(|(name, def)| walk(name.clone(), def, &mut into));
    into
}

fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn texts(list: &Value) -> Vec<&str> {
    items(list).filter_map(Value::as_str).collect()
}

fn ref_name(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// The defs that the union `name` consists of, through unions of unions.
fn leaves<'b>(bundle: &'b Value, name: &'b str) -> Vec<&'b str> {
    match bundle["$defs"][name]["oneOf"].as_array() {
        Some(branches) => branches.iter().filter_map(ref_name).flat_map(|b| leaves(bundle, b)).collect(),
        None => vec![name],
    }
}

/// The ids of the dialects that have frames of their own.
fn bases(bundle: &Value) -> Vec<&str> {
    items(&bundle["dialects"]).filter(|d| d["frames"] == d["id"]).filter_map(|d| d["id"].as_str()).collect()
}

/// Those among them that have this def or property.
fn bases_of<'b>(bundle: &'b Value, schema: &Value) -> Vec<&'b str> {
    let listed = schema.get("x-dialects").map(texts);
    bases(bundle).into_iter().filter(|base| listed.as_ref().is_none_or(|list| list.contains(base))).collect()
}

/// The states of the region `flow`, superstates too.
fn states(bundle: &Value) -> Vec<&str> {
    flow(bundle).filter_map(|state| state["name"].as_str()).collect()
}

fn flow(bundle: &Value) -> impl Iterator<Item = &Value> {
    let flow = items(&bundle["states"]["regions"]).find(|region| region["name"] == "flow");
    items(&flow.unwrap_or(&Value::Null)["states"])
}

fn state<'b>(bundle: &'b Value, name: &str) -> &'b Value {
    flow(bundle).find(|state| state["name"] == *name).unwrap_or(&Value::Null)
}

/// Leaf states.
fn leaf_states(bundle: &Value) -> Vec<&str> {
    let all = states(bundle);
    let inner = |state: &&str| !all.iter().any(|other| other.starts_with(&format!("{state}.")));
    all.iter().copied().filter(inner).collect()
}

/// Why `{"dialects": ..}` or `{"when": {"field": F, "is": ..}}` of a case can never apply.
fn wrong_case(bundle: &Value, def: &Value, case: &Value, known_fields: &[&str]) -> Option<String> {
    let unknown = texts(&case["dialects"]).into_iter().find(|id| !bases(bundle).contains(id));
    if let Some(id) = unknown {
        return Some(format!("`{id}` is no base dialect"));
    }
    let when = case.get("when")?;
    let field = when["field"].as_str().unwrap_or_default();
    if known_fields.contains(&field) {
        return None;
    }
    let Some(property) = def["properties"].get(field) else {
        return Some(format!("asks for `{field}`, which is no property"));
    };
    let values = ref_name(property).map(|name| texts(&bundle["$defs"][name]["enum"])).unwrap_or_default();
    let known = |is: &Value| match is {
        Value::Bool(_) => property["type"] == "boolean",
        other => other.as_str().is_some_and(|text| values.contains(&text)),
    };
    let is: Vec<&Value> = items(&when["is"]).collect();
    let wrong = is.iter().find(|is| !known(is)).map(ToString::to_string);
    match (wrong, is.is_empty()) {
        (Some(wrong), _) => Some(format!("`{field}` is never {wrong}")),
        (None, true) => Some(format!("says of `{field}` nothing that it is")),
        (None, false) => None,
    }
}
