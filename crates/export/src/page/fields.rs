//! The content of a definition: properties, values, branches or limits.

use super::{
    inline::{
        description, dialect_marks, grouped_by_value, link, only, only_in, prose, since, text, texts, type_of,
    },
    schema_index::SchemaIndex,
};
use crate::parts::{ref_name, target_name};
use maud::{Markup, html};
use pi_rpc_protocol::Dialect;
use serde_json::Value;

/// The properties, values, branches or limits of a definition.
pub(super) fn definition_body(index: &SchemaIndex, name: &str) -> Markup {
    let def = index.def(name);
    match def.get("properties").and_then(Value::as_object) {
        Some(properties) => html! {
            dl.fields {
                @for (property, schema) in properties { (field(index, name, property, schema)) }
                @if let Some(values) = def.get("additionalProperties") {
                    dt { i { "any other" } " " span.type { (type_of(index, values)) } }
                    dd { "Kept as it is." }
                }
            }
        },
        None if def.get("oneOf").is_some() => branches(index, def),
        None if def.get("enum").is_some() => values(index, def),
        None => html! { p { "A value of the type " span.type { (type_of(index, def)) } (limits(def)) "." } },
    }
}

fn field(index: &SchemaIndex, def: &str, property: &str, schema: &Value) -> Markup {
    html! {
        dt {
            code.name { (property) } " "
            span.type { (type_of(index, schema)) }
            (presence(index, def, property, schema))
            (only_in(index, schema))
            (since(&schema["x-since"]))
            @if text(&schema["x-source"]) == "observed" { span.seen { "observed" } }
        }
        dd {
            (prose(index, description(schema)))
            @if schema["x-null"] == true { " Null means the same as absent." }
        }
    }
}

/// Whether a property is required, by base.
fn presence(index: &SchemaIndex, def: &str, property: &str, schema: &Value) -> Markup {
    let owners = index.bases_of(index.def(def));
    let of = index.bases_of(schema).into_iter().filter(|base| owners.contains(base));
    let groups = grouped_by_value(of.map(|base| (base, is_required(index, base, def, property))));
    html! {
        @for (bases, required) in &groups {
            span.required[*required].optional[!required] {
                @if *required { "required" } @else { "optional" }
                @if groups.len() > 1 { " in " (dialect_marks(bases)) }
            }
        }
    }
}

/// Whether a base requires this property.
pub(super) fn is_required(index: &SchemaIndex, base: Dialect, def: &str, property: &str) -> bool {
    texts(&index.exported(base)[def]["required"]).any(|name| name == property)
}

fn branches(index: &SchemaIndex, def: &Value) -> Markup {
    let tag = def.pointer("/discriminator/propertyName").and_then(Value::as_str);
    let mapping = def.pointer("/discriminator/mapping").and_then(Value::as_object);
    let values = |name: &str| -> Vec<&String> {
        let known = mapping.into_iter().flatten();
        known.filter(|(_, to)| target_name(to) == Some(name)).map(|(tag, _)| tag).collect()
    };
    let branches = def["oneOf"].as_array().into_iter().flatten();
    html! {
        p {
            "One of these"
            @if let Some(tag) = tag { ", told apart by " code { (tag) } }
            ":"
        }
        ul.branches {
            @for branch in branches {
                li {
                    @match ref_name(branch) {
                        Some(name) => {
                            (link(index, name))
                            @for value in values(name) { " " code { (value) } }
                            (only_in(index, index.def(name)))
                        },
                        None => { (type_of(index, branch)) ": " (prose(index, description(branch))) },
                    }
                }
            }
        }
    }
}

fn values(index: &SchemaIndex, def: &Value) -> Markup {
    let owners = index.bases_of(def);
    html! {
        p {
            "One of "
            @for (at, value) in texts(&def["enum"]).enumerate() {
                @if at > 0 { ", " }
                code { "\"" (value) "\"" }
                @let having = with_value(index, def, value);
                @if having.len() < owners.len() { (only(index, &having)) }
                (since(&def["x-since"][value]))
            }
            "."
        }
    }
}

/// The bases whose enumeration has the value.
pub(super) fn with_value(index: &SchemaIndex, def: &Value, value: &str) -> Vec<Dialect> {
    index.bases_of(def).into_iter().filter(|base| index.has(*base, &def["x-enum-in"], value)).collect()
}

fn limits(def: &Value) -> Markup {
    html! {
        @if let (Some(least), Some(most)) = (def.get("minimum"), def.get("maximum")) {
            ", from " (least.to_string()) " to " (most.to_string())
        }
    }
}
