//! Compares two exported schemas.

use super::{
    Difference, Kind,
    directions::{Direction, Directions},
};
use crate::parts::ref_name;
use serde_json::{Map, Value};

/// Unions whose unknown branches a reader ignores.
const OPEN_UNIONS: [&str; 2] = ["Outbound", "AgentSessionEvent"];

/// The union whose branches follow the commands.
const SUCCESS_UNION: &str = "RpcSuccess";

/// Unions whose new branches only affect clients that send them.
const COMMAND_UNIONS: [&str; 2] = ["RpcCommand", "FromExtension"];

/// Maximum of every integer: what JavaScript's numbers hold exactly.
const MAX_INTEGER: u64 = 9_007_199_254_740_991;

/// Keywords that are compared here, or that do not restrict values.
const KNOWN_KEYWORDS: [&str; 18] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "$comment",
    "title",
    "description",
    "discriminator",
    "type",
    "const",
    "enum",
    "oneOf",
    "minimum",
    "maximum",
    "properties",
    "required",
    "items",
    "additionalProperties",
];

/// The differences, in the order of `a`.
///
/// # Errors
///
/// The schemas are of different parts of the protocol.
pub fn differences(a: &Value, b: &Value) -> Result<Vec<Difference>, String> {
    let empty = Map::new();
    let defs = |schema: &'_ Value| schema["$defs"].as_object().unwrap_or(&empty).clone();
    let (old, new) = (defs(a), defs(b));
    let roots =
        |schema: &Value| -> Vec<String> { branches(schema).into_iter().map(|(tag, _)| tag).collect() };
    if !roots(a).is_empty() && !roots(a).iter().any(|root| roots(b).contains(root)) {
        return Err("the two files are of different parts of the protocol".to_owned());
    }
    let ways = Directions::new(&old, &new);
    let way = Direction { written: true, read: true };
    let mut found =
        Comparison { a: &old, b: &new, at: "root".to_owned(), way, inlined: Vec::new(), found: Vec::new() };
    found.branches(a, b);
    for (name, def) in &old {
        let Some(other) = new.get(name) else { continue };
        found.at.clone_from(name);
        found.way = ways.of(name);
        found.compare(def, other);
    }
    // A definition that only one side has is reported where it is used; here only unused ones.
    for (defs, others, word) in [(&old, &new, "is gone"), (&new, &old, "is new")] {
        for name in defs.keys().filter(|name| !others.contains_key(*name) && !ways.is_reached(name)) {
            found.at.clone_from(name);
            found.way = Direction::default();
            found.note(Change::Neither, word.to_owned());
        }
    }
    Ok(found.found)
}

/// The effect of a change on the set of valid values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// More values are valid.
    Wider,
    /// Fewer values are valid.
    Narrower,
    /// Other values are valid.
    Both,
    /// The same values are valid, as readers ignore the rest.
    Neither,
}

struct Comparison<'a> {
    /// The definitions of either side.
    a: &'a Map<String, Value>,
    b: &'a Map<String, Value>,
    at: String,
    way: Direction,
    /// Pairs of references whose definitions are being compared.
    inlined: Vec<(Value, Value)>,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn note(&mut self, change: Change, what: String) {
        self.note_of(change, Kind::Other, "", what);
    }

    fn note_of(&mut self, change: Change, kind: Kind, name: &str, what: String) {
        let wider = matches!(change, Change::Wider | Change::Both);
        let narrower = matches!(change, Change::Narrower | Change::Both);
        self.found.push(Difference {
            at: self.at.clone(),
            what,
            breaks_client: wider && self.way.read || narrower && self.way.written,
            breaks_server: wider && self.way.written || narrower && self.way.read,
            is_new_command: false,
            kind,
            name: name.to_owned(),
        });
    }

    /// Compares at an inner place.
    fn compare_at(&mut self, at: &str, a: &Value, b: &Value) {
        let length = self.at.len();
        self.at.push_str(at);
        self.compare(a, b);
        self.at.truncate(length);
    }

    fn compare(&mut self, a: &Value, b: &Value) {
        if let (Some(old), Some(new)) = (ref_name(a), ref_name(b))
            && old == new
        {
            if !self.b.contains_key(new) {
                self.note(Change::Both, format!("is {new}, which is not there"));
            }
            return;
        }
        if a.get("oneOf").is_some() || b.get("oneOf").is_some() {
            return self.branches(a, b);
        }
        if ref_name(a).is_some() || ref_name(b).is_some() {
            return self.references(a, b);
        }
        self.types(&types(a), &types(b));
        let fixed = |schema: &Value| {
            let one = schema.get("const").map(|value| vec![value.clone()]);
            one.or_else(|| schema["enum"].as_array().cloned())
        };
        match (fixed(a), fixed(b)) {
            (Some(a), Some(b)) => self.values("", &a, &b),
            (Some(_), None) => self.note(Change::Wider, "may have any value".to_owned()),
            (None, Some(_)) => self.note(Change::Narrower, format!("is one of {}", show(b))),
            (None, None) => {}
        }
        self.bound("minimum", a, b, |a, b| b < a);
        // The bound of every whole number says nothing of its own beside a number without it.
        if !(a["maximum"] == MAX_INTEGER && types(b) == ["number"]) {
            self.bound("maximum", a, b, |a, b| b > a);
        }
        self.properties(a, b);
        for (key, at) in [("items", "[]"), ("additionalProperties", ".*")] {
            let schema = |of: &Value| of.get(key).cloned().filter(|schema| *schema != true);
            // A missing keyword allows anything.
            let any = Value::Object(Map::new());
            match (schema(a), schema(b)) {
                (None, None) => {}
                // Where one side cannot be a list, its type differs, which is reported already.
                (None, Some(_)) if key == "items" && !may_be_list(a) => {}
                (Some(_), None) if key == "items" && !may_be_list(b) => {}
                (a, b) => self.compare_at(at, &a.unwrap_or(any.clone()), &b.unwrap_or(any)),
            }
        }
        self.compare_other_keywords(a, b);
    }

    /// Compares the definitions behind references of different names, or behind one reference only.
    fn references(&mut self, a: &Value, b: &Value) {
        let pair = (a.clone(), b.clone());
        if self.inlined.contains(&pair) {
            return;
        }
        let resolved = |schema: &Value, defs: &Map<String, Value>| match ref_name(schema) {
            Some(name) => defs.get(name).cloned(),
            None => Some(schema.clone()),
        };
        let (Some(old), Some(new)) = (resolved(a, self.a), resolved(b, self.b)) else {
            return self.note(Change::Both, format!("is {}, was {}", show(b), show(a)));
        };
        self.inlined.push(pair);
        self.compare(&old, &new);
        self.inlined.pop();
    }

    fn types(&mut self, a: &[Value], b: &[Value]) {
        // Without the keyword any type is valid.
        match (a.is_empty(), b.is_empty()) {
            (true, true) => return,
            (true, false) => return self.note(Change::Narrower, "is no longer of any type".to_owned()),
            (false, true) => return self.note(Change::Wider, "is of any type".to_owned()),
            (false, false) => {}
        }
        // Every integer is a number.
        let of = |types: &[Value], other: &[Value]| -> Vec<Value> {
            let covered = |ty: &Value| ty == "integer" && other.iter().any(|other| other == "number");
            types.iter().filter(|ty| !covered(ty)).cloned().collect()
        };
        match (of(a, b).as_slice(), of(b, a).as_slice()) {
            ([], [_]) if a == ["integer"] => self.note(Change::Wider, "may be a fraction".to_owned()),
            ([_], []) if b == ["integer"] => self.note(Change::Narrower, "is whole, was a number".to_owned()),
            ([old], [new]) if old != new => self.note(Change::Both, format!("is of type {new}, was {old}")),
            (old, new) => self.values("of type ", old, new),
        }
    }

    fn values(&mut self, what: &str, a: &[Value], b: &[Value]) {
        for value in b.iter().filter(|value| !a.contains(value)) {
            let said = format!("may also be {what}{value}");
            self.note_of(Change::Wider, Kind::ValueNew, &value.to_string(), said);
        }
        for value in a.iter().filter(|value| !b.contains(value)) {
            let said = format!("may no longer be {what}{value}");
            self.note_of(Change::Narrower, Kind::ValueGone, &value.to_string(), said);
        }
    }

    fn bound(&mut self, key: &str, a: &Value, b: &Value, is_wider: impl Fn(f64, f64) -> bool) {
        let wider = match (a[key].as_f64(), b[key].as_f64()) {
            (old, new) if old == new => return,
            (Some(old), Some(new)) => is_wider(old, new),
            (old, _) => old.is_some(),
        };
        let change = if wider { Change::Wider } else { Change::Narrower };
        let show = |bound: &Value| if bound.is_null() { "none".to_owned() } else { bound.to_string() };
        self.note(change, format!("{key} is {}, was {}", show(&b[key]), show(&a[key])));
    }

    fn properties(&mut self, a: &Value, b: &Value) {
        let required = |schema: &Value, name: &str| {
            schema["required"].as_array().is_some_and(|list| list.iter().any(|known| known == name))
        };
        let members = |schema: &Value| schema["properties"].as_object().cloned().unwrap_or_default();
        let (old, new) = (members(a), members(b));
        for (name, schema) in &old {
            match (new.get(name), required(a, name), required(b, name)) {
                (None, was, _) => {
                    let (change, need) =
                        if was { (Change::Wider, "required") } else { (Change::Neither, "optional") };
                    let what = format!("`{name}`, which was {need}, is gone");
                    self.note_of(change, Kind::MemberGone, name, what);
                }
                (Some(other), was, is) => {
                    match (was, is) {
                        (true, false) => {
                            let what = format!("`{name}` is optional, was required");
                            self.note_of(Change::Wider, Kind::MemberOptional, name, what);
                        }
                        (false, true) => {
                            let what = format!("`{name}` is required, was optional");
                            self.note_of(Change::Narrower, Kind::MemberRequired, name, what);
                        }
                        _ => {}
                    }
                    self.compare_at(&format!(".{name}"), schema, other);
                }
            }
        }
        for name in new.keys().filter(|name| !old.contains_key(*name)) {
            let (change, need) = match required(b, name) {
                true => (Change::Narrower, "required"),
                false => (Change::Neither, "optional"),
            };
            self.note_of(change, Kind::MemberNew, name, format!("`{name}` is new and {need}"));
        }
    }

    fn branches(&mut self, a: &Value, b: &Value) {
        let (old, new) = (branches(a), branches(b));
        for (tag, branch) in &new {
            if let Some((_, other)) = old.iter().find(|(known, _)| known == tag) {
                // A definition with a name is compared at its own place.
                if ref_name(other).is_none() || ref_name(other) != ref_name(branch) {
                    self.compare_at(&format!("({tag})"), other, branch);
                }
                continue;
            }
            // The command itself is reported.
            if self.at == SUCCESS_UNION {
                continue;
            }
            let is_open = OPEN_UNIONS.contains(&self.at.as_str());
            let change = if is_open { Change::Neither } else { Change::Wider };
            self.note_of(change, Kind::BranchNew, tag, format!("`{tag}` is new"));
            if let Some(last) = self.found.last_mut().filter(|_| COMMAND_UNIONS.contains(&self.at.as_str())) {
                last.is_new_command = true;
            }
        }
        let is_gone = |tag: &String| self.at != SUCCESS_UNION && !new.iter().any(|(known, _)| known == tag);
        let gone: Vec<&String> = old.iter().map(|(tag, _)| tag).filter(|tag| is_gone(tag)).collect();
        for tag in gone {
            let change = match self.at.as_str() {
                // A reader may wait for the branch in vain.
                at if OPEN_UNIONS.contains(&at) => Change::Wider,
                _ => Change::Narrower,
            };
            self.note_of(change, Kind::BranchGone, tag, format!("`{tag}` is gone"));
        }
    }

    /// Compares keywords whose meaning is not known here: any difference counts as breaking.
    fn compare_other_keywords(&mut self, a: &Value, b: &Value) {
        let keys = |schema: &Value| -> Vec<String> {
            schema.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
        };
        let (mut all, further) = (keys(a), keys(b));
        all.extend(further.into_iter().filter(|key| a.get(key).is_none()));
        for key in
            all.iter().filter(|key| !KNOWN_KEYWORDS.contains(&key.as_str()) && a.get(*key) != b.get(*key))
        {
            self.note(Change::Both, format!("`{key}` is {}, was {}", b[key], a[key]));
        }
        // Schemas that are true or false alone.
        if a.is_boolean() != b.is_boolean() || a.is_boolean() && a != b {
            self.note(Change::Both, format!("is {b}, was {a}"));
        }
    }
}

/// The branches of a union with their names. A schema that is no union is its only branch.
fn branches(schema: &Value) -> Vec<(String, Value)> {
    let alone = [schema.clone()];
    let list = schema["oneOf"].as_array().map_or(&alone[..], Vec::as_slice);
    let mapping = schema["discriminator"]["mapping"].as_object();
    // A union of unions is compared by its inner unions.
    if let Some(mapping) = mapping.filter(|mapping| mapping.len() == list.len()) {
        let branch = |target: &Value| serde_json::json!({ "$ref": target });
        return mapping.iter().map(|(tag, target)| (tag.clone(), branch(target))).collect();
    }
    list.iter().map(|branch| (show(branch), branch.clone())).collect()
}

/// Whether values of the schema may be lists.
fn may_be_list(schema: &Value) -> bool {
    let types = types(schema);
    types.is_empty() || types.iter().any(|ty| ty == "array")
}

fn types(schema: &Value) -> Vec<Value> {
    match &schema["type"] {
        Value::Array(types) => types.clone(),
        // The export leaves the type of a constant text out.
        Value::Null if schema["const"].is_string() => vec!["string".into()],
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    }
}

/// A schema in a word.
fn show(schema: &Value) -> String {
    if let Some(name) = ref_name(schema) {
        return name.to_owned();
    }
    match (schema.get("const"), schema.get("enum"), schema.get("type")) {
        (.., Some(Value::String(ty))) if schema.get("enum").is_none() => ty.clone(),
        (Some(value), ..) | (_, Some(value), _) | (.., Some(value)) => value.to_string(),
        _ => "anything".to_owned(),
    }
}
