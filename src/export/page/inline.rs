//! Texts of the schema, types and dialects as they stand in a line.

use super::schema_index::SchemaIndex;
use crate::{export::parts::ref_name, protocol::Dialect};
use maud::{Markup, html};
use serde_json::Value;

/// A text of the schema: what stands between backticks is code. Names lead to where they are described.
pub(super) fn prose(index: &SchemaIndex, text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { (term(index, part)) } @else {
                @for word in part.split_inclusive(' ') { (word_of(index, word)) }
            }
        }
    }
}

/// A word with what stands around it: names of frames have an underscore and need no backticks.
fn word_of(index: &SchemaIndex, word: &str) -> Markup {
    let name = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let place = index.place_of(name).filter(|_| name.contains('_'));
    html! {
        @match place.and_then(|place| Some((place, word.split_once(name)?))) {
            Some((place, (before, after))) => { (before) a href={ "#" (place) } { code { (name) } } (after) },
            None => (word),
        }
    }
}

/// A name in a text.
pub(super) fn term(index: &SchemaIndex, name: &str) -> Markup {
    html! {
        @match index.place_of(name) {
            Some(place) => a href={ "#" (place) } { code { (name) } },
            None => code { (name) },
        }
    }
}

/// A link to a def.
pub(super) fn link(index: &SchemaIndex, def: &str) -> Markup {
    html! { a href={ "#" (index.anchor(def)) } { (def) } }
}

/// The description that every def and property has.
pub(super) fn description(schema: &Value) -> &str {
    text(&schema["description"])
}

/// A string of the schema; empty where there is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The strings of a list.
pub(super) fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The dialects by name, as small marks.
pub(super) fn dialect_marks(dialects: &[Dialect]) -> Markup {
    html! { @for dialect in dialects { span.mark { (dialect.as_str()) } } }
}

/// Where something is not in every dialect: in which it is.
pub(super) fn only_in(index: &SchemaIndex, schema: &Value) -> Markup {
    only(index, &index.bases_of(schema))
}

/// The same of dialects that are known.
pub(super) fn only(index: &SchemaIndex, bases: &[Dialect]) -> Markup {
    html! { @if bases.len() < index.bases.len() { span.only { "only " (dialect_marks(bases)) } } }
}

/// The version of pi that brought it, where that is known.
pub(super) fn since(version: &Value) -> Markup {
    html! { @if let Some(version) = version.as_str() { span.since { "since pi " (version) } } }
}

/// Equal things together, each with the bases that it holds for; in the order of the bases.
pub(super) fn grouped_by_value<T: PartialEq>(
    of: impl IntoIterator<Item = (Dialect, T)>,
) -> Vec<(Vec<Dialect>, T)> {
    let mut groups: Vec<(Vec<Dialect>, T)> = Vec::new();
    for (base, thing) in of {
        match groups.iter_mut().find(|(_, known)| *known == thing) {
            Some((bases, _)) => bases.push(base),
            None => groups.push((vec![base], thing)),
        }
    }
    groups
}

/// What a property or an item may hold.
pub(super) fn type_of(index: &SchemaIndex, schema: &Value) -> Markup {
    if let Some(def) = ref_name(schema) {
        return link(index, def);
    }
    if let Some(only) = schema.get("const") {
        return html! { code { (only.to_string()) } };
    }
    if let Some(branches) = schema.get("oneOf").or(schema.get("enum")).and_then(Value::as_array) {
        return html! {
            @for (at, branch) in branches.iter().enumerate() {
                @if at > 0 { " or " }
                @if branch.is_object() { (type_of(index, branch)) } @else { code { (branch.to_string()) } }
            }
        };
    }
    let nullable = texts(&schema["type"]).any(|name| name == "null");
    let name = schema["type"].as_str().or(texts(&schema["type"]).find(|name| *name != "null"));
    html! {
        @match name {
            Some("array") => { "list of " (type_of(index, &schema["items"])) },
            Some("object") => @match schema.get("additionalProperties").filter(|values| values.get("type").is_some()) {
                Some(values) => { "object of " (type_of(index, values)) },
                None => "object",
            },
            Some(name) => (name),
            None => "any value",
        }
        @if nullable { " or null" }
    }
}
