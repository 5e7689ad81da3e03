//! Inline markup: texts of the schema with links, types, marks of dialects.

use super::schema_index::SchemaIndex;
use crate::parts::ref_name;
use maud::{Markup, html};
use pi_rpc_protocol::Dialect;
use serde_json::Value;

/// A text of the schema: text between backticks becomes code, names become links.
pub(super) fn prose(index: &SchemaIndex, text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { (term(index, part)) } @else {
                @for word in part.split_inclusive(' ') { (word_of(index, word)) }
            }
        }
    }
}

/// A word with its punctuation; a name of a frame with an underscore becomes a link without backticks.
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

/// A name as code, linked if it is known.
pub(super) fn term(index: &SchemaIndex, name: &str) -> Markup {
    html! {
        @match index.place_of(name) {
            Some(place) => a href={ "#" (place) } { code { (name) } },
            None => code { (name) },
        }
    }
}

/// A link to a definition.
pub(super) fn link(index: &SchemaIndex, def: &str) -> Markup {
    html! { a href={ "#" (index.anchor(def)) } { (def) } }
}

/// The description of a definition or property.
pub(super) fn description(schema: &Value) -> &str {
    text(&schema["description"])
}

/// A text; empty if there is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The texts of a list.
pub(super) fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Marks with the names of dialects.
pub(super) fn dialect_marks(dialects: &[Dialect]) -> Markup {
    html! { @for dialect in dialects { span.mark { (dialect.as_str()) } } }
}

/// The marks of the dialects that have a definition or property, unless all have it.
pub(super) fn only_in(index: &SchemaIndex, schema: &Value) -> Markup {
    only(index, &index.bases_of(schema))
}

/// The marks of `bases`, unless these are all.
pub(super) fn only(index: &SchemaIndex, bases: &[Dialect]) -> Markup {
    html! { @if bases.len() < index.bases.len() { span.only { "only " (dialect_marks(bases)) } } }
}

/// The version of pi that introduced something, if known.
pub(super) fn since(version: &Value) -> Markup {
    html! { @if let Some(version) = version.as_str() { span.since { "since pi " (version) } } }
}

/// Groups equal values of dialects, in the order of the dialects.
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

/// The type of a property or an item.
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
