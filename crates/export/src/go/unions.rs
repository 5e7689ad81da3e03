//! Unions: a struct with one field, `Value`, of an interface that the variants implement.
//!
//! A union of unions holds the innermost variant, so that one `switch` over `Value` finds every frame. `Value` of an inner
//! union can be assigned to that of an outer one. A tag that is not known gives an `Unknown`, so that a client reads what a later
//! version of the protocol has.

use super::{Emitter, text};
use crate::parts::{ref_name, target_name};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt::Write as _};

/// The unions that each definition is a variant of.
pub struct Unions<'a> {
    parents: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Unions<'a> {
    /// Finds the unions in `defs`.
    pub fn of(defs: &'a Map<String, Value>) -> Self {
        let mut parents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, def) in defs {
            for variant in def["oneOf"].as_array().into_iter().flatten().filter_map(ref_name) {
                parents.entry(variant).or_default().push(name);
            }
        }
        Self { parents }
    }

    /// The unions that have the definition as a variant, directly.
    fn parents(&self, name: &str) -> &[&'a str] {
        self.parents.get(name).map_or(&[], Vec::as_slice)
    }

    /// All unions that have the definition as a variant, directly or not, each once.
    fn ancestors(&self, name: &str) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::new();
        let mut open = self.parents(name).to_vec();
        while let Some(union) = open.pop() {
            if !found.contains(&union) {
                found.push(union);
                open.extend(self.parents(union));
            }
        }
        found.sort_unstable();
        found
    }

    /// Declares the methods by which a struct is a variant of its unions.
    pub fn markers(&self, name: &str, out: &mut String) {
        for union in self.ancestors(name) {
            let _ = write!(out, "\nfunc (*{name}) is{union}() {{}}\n");
        }
    }
}

/// Declares a union.
pub fn union(emitter: &Emitter<'_>, name: &str, def: &Value, out: &mut String) {
    let branches = def["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    if branches.iter().any(|branch| ref_name(branch).is_none()) {
        return text_or_list(emitter, name, branches, out);
    }
    let parents = emitter.unions.parents(name).iter().map(|parent| format!("\t{parent}Value\n"));
    let parents: String = parents.collect();
    let choice = match &def["discriminator"] {
        Value::Null => by_member(emitter, branches),
        discriminator => by_tag(emitter, discriminator),
    };
    let _ = write!(
        out,
        "type {name} struct {{
	Value {name}Value
}}

// {name}Value is a variant of {name}: a pointer to its struct.
type {name}Value interface {{
{parents}	is{name}()
}}

// MarshalJSON encodes the variant.
func (it {name}) MarshalJSON() ([]byte, error) {{
	return encodeVariant(\"{name}\", it.Value)
}}

// UnmarshalJSON decodes the variant that the object is.
func (it *{name}) UnmarshalJSON(data []byte) error {{
	members := readMembers(\"{name}\", data)
	err := members.err
	if err != nil {{
		return err
	}}
{choice}	return err
}}
"
    );
    let _ = write!(out, "\nfunc (*Unknown) is{name}() {{}}\n");
}

/// Chooses the variant by the value of a member.
fn by_tag(emitter: &Emitter<'_>, discriminator: &Value) -> String {
    let tag = text(&discriminator["propertyName"]);
    let mut variants: Vec<(&str, Vec<String>)> = Vec::new();
    for (value, target) in discriminator["mapping"].as_object().into_iter().flatten() {
        let Some(target) = target_name(target) else { continue };
        // Constants that are no texts stand in the mapping as JSON.
        let json = if is_boolean(emitter, target, tag) {
            value.clone()
        } else {
            Value::from(value.as_str()).to_string()
        };
        match variants.iter_mut().find(|(known, _)| *known == target) {
            Some((_, values)) => values.push(json),
            None => variants.push((target, vec![json])),
        }
    }
    let mut out = format!("\tswitch members.tag(\"{tag}\") {{\n");
    for (target, values) in variants {
        let values: Vec<String> = values.iter().map(|json| format!("`{json}`")).collect();
        let _ = write!(out, "\tcase {}:\n{}", values.join(", "), decode(emitter, target));
    }
    let _ = write!(
        out,
        "\tdefault:\n\t\tlater := &Unknown{{}}\n\t\terr = later.read(members, \"{tag}\", data)\n\t\tit.Value = later\n\t}}\n"
    );
    out
}

/// Chooses the variant by the member that it alone requires.
fn by_member(emitter: &Emitter<'_>, branches: &[Value]) -> String {
    let required = |branch: &Value| -> Vec<Value> {
        let def = ref_name(branch).map(|name| &emitter.defs[name]);
        def.and_then(|def| def["required"].as_array()).cloned().unwrap_or_default()
    };
    let mut out = String::from("\tswitch {\n");
    let mut members: Vec<String> = Vec::new();
    for branch in branches {
        let others: Vec<Value> =
            branches.iter().filter(|other| *other != branch).flat_map(required).collect();
        let own = required(branch).into_iter().find(|member| !others.contains(member));
        let (Some(member), Some(target)) = (own, ref_name(branch)) else { continue };
        let _ = write!(out, "\tcase members.values[{member}] != nil:\n{}", decode(emitter, target));
        members.push(text(&member).to_owned());
    }
    let _ = write!(out, "\tdefault:\n\t\terr = members.unknown(\"{}\")\n\t}}\n", members.join(" or "));
    out
}

/// Decodes a variant; of an inner union, the variant in it.
fn decode(emitter: &Emitter<'_>, target: &str) -> String {
    match emitter.defs[target].get("oneOf") {
        None => format!("\t\tit.Value, err = decodeAs[{target}](data)\n"),
        Some(_) => format!(
            "\t\tvar inner {target}\n\t\terr = json.Unmarshal(data, &inner)\n\t\tit.Value = inner.Value\n"
        ),
    }
}

/// Whether the member is a boolean in a variant, or in the variants of an inner union.
fn is_boolean(emitter: &Emitter<'_>, target: &str, tag: &str) -> bool {
    let def = &emitter.defs[target];
    match def["oneOf"].as_array() {
        Some(inner) => inner.iter().filter_map(ref_name).any(|inner| is_boolean(emitter, inner, tag)),
        None => def["properties"][tag]["const"].is_boolean(),
    }
}

/// Declares a value that is a text or a list.
fn text_or_list(emitter: &Emitter<'_>, name: &str, branches: &[Value], out: &mut String) {
    let list = branches.iter().find(|branch| branch["type"] == "array").unwrap_or(&Value::Null);
    let list = emitter.plain_type(list);
    let _ = write!(
        out,
        "type {name} struct {{
	Text *string // nil: it is the list
	List {list}
}}

// MarshalJSON encodes the text, or the list if there is none.
func (it {name}) MarshalJSON() ([]byte, error) {{
	if it.Text != nil {{
		return json.Marshal(it.Text)
	}}
	return json.Marshal(it.List)
}}

// UnmarshalJSON decodes a text or a list.
func (it *{name}) UnmarshalJSON(data []byte) error {{
	*it = {name}{{}}
	if len(data) > 0 && data[0] == '\"' {{
		return json.Unmarshal(data, &it.Text)
	}}
	return json.Unmarshal(data, &it.List)
}}
"
    );
}
