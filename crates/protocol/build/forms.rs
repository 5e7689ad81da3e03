//! Emits the forms of plain messages: the members of each def within a message, and the dialects that have them.

use crate::{
    bundle::{Bundle, Shape, ref_name},
    checks::bases,
    names::shout,
    structs::Field,
};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Def from which all forms are reached.
const ROOT: &str = "AgentMessage";

/// Maximum number of members of a def, as a reader has one bit for each.
const MOST_MEMBERS: usize = 64;

/// Emits a `Form` for every def within a message.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let (mut found, mut next) = (BTreeSet::from([ROOT]), vec![ROOT]);
    while let Some(name) = next.pop() {
        refs(&bundle.defs[name], &mut |name| {
            if found.insert(name) {
                next.push(name);
            }
        });
    }
    let mut out = TokenStream::new();
    for name in found {
        let form = match bundle.shape(name) {
            Shape::Struct(properties) => {
                object(bundle, &bundle.defs[name], properties).map_err(|text| format!("{name}: {text}"))?
            }
            Shape::Tagged { tag, branches } => {
                let rows = branches.iter().map(|(value, branch)| {
                    let form = constant(branch);
                    quote!((#value, &#form))
                });
                quote!(Form::Tagged(#tag, &[#(#rows),*]))
            }
            Shape::Either(branches) => either(bundle, &branches),
            Shape::Enum(values) => quote!(Form::Word(&[#(#values),*])),
            Shape::Plain(def) => form(bundle, def),
        };
        let constant = constant(name);
        out.extend(quote! { static #constant: Form = #form; });
    }
    let root = constant(ROOT);
    out.extend(quote! {
        /// Form of a plain message.
        pub static MESSAGE_FORM: &Form = &#root;
    });
    Ok(out)
}

fn constant(name: &str) -> Ident {
    format_ident!("{}_FORM", shout(name))
}

fn refs<'b>(schema: &'b Value, found: &mut impl FnMut(&'b str)) {
    if let Some(name) = ref_name(schema) {
        found(name);
    }
    match schema {
        Value::Object(map) => map.values().for_each(|value| refs(value, found)),
        Value::Array(list) => list.iter().for_each(|value| refs(value, found)),
        _ => {}
    }
}

fn object(bundle: &Bundle, def: &Value, properties: &Map<String, Value>) -> Result<TokenStream, String> {
    if properties.len() > MOST_MEMBERS {
        return Err("too many members".to_owned());
    }
    let fields = Field::all(def, properties);
    // Null is encoded as absent, so a value with null is not plain.
    if fields.iter().any(|field| field.nullable) {
        return Ok(quote!(Form::Odd));
    }
    let members = fields.iter().map(|Field { name, schema, required, .. }| {
        let bases = bases(schema, "x-dialects").map_or(quote!(&Base::ALL), |list| list);
        let form = match schema.get("x-type-in").and_then(Value::as_array) {
            Some(rows) => number_form(bundle, schema, rows),
            None => form(bundle, schema),
        };
        quote!(Member { name: #name, bases: Bases::of(#bases), required: #required, form: &#form })
    });
    Ok(quote!(Form::Object(&[#(#members),*])))
}

/// Form of a number from 0 that is an integer in some dialects, else `Odd`.
fn number_form(bundle: &Bundle, schema: &Value, rows: &[Value]) -> TokenStream {
    let is_integer = |schema: &Value| match ref_name(schema) {
        Some(name) => bundle.defs[name]["type"] == "integer",
        None => schema["type"] == "integer",
    };
    match rows {
        [row] if schema["type"] == "number" && schema["minimum"] == 0 && is_integer(&row["schema"]) => {
            let whole = bases(row, "dialects").unwrap_or_else(|| quote!(&[]));
            quote!(Form::NumberBut(Bases::of(#whole)))
        }
        _ => quote!(Form::Odd),
    }
}

/// Form of a union by shape: a text or a list, else `Odd`.
fn either(bundle: &Bundle, branches: &[&Value]) -> TokenStream {
    match branches {
        [text, list] if text["type"] == "string" && list["type"] == "array" => {
            let form = form(bundle, &list["items"]);
            quote!(Form::TextOrList(&#form))
        }
        _ => quote!(Form::Odd),
    }
}

fn form(bundle: &Bundle, schema: &Value) -> TokenStream {
    if let Some(name) = ref_name(schema) {
        // The members of a tagged branch follow its tag, which is not read here.
        if has_constant(&bundle.defs[name]) {
            return quote!(Form::Odd);
        }
        let constant = constant(name);
        return quote!(#constant);
    }
    let has = |key: &str| schema.get(key).is_some();
    match schema["type"].as_str() {
        Some("string") if !has("enum") => quote!(Form::Text),
        Some("boolean") => quote!(Form::Flag),
        Some("number") if !has("minimum") => quote!(Form::Number),
        Some("integer") => match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
            (Some(least), Some(most)) => quote!(Form::Whole(#least, #most)),
            _ => quote!(Form::Odd),
        },
        Some("array") => {
            let form = form(bundle, &schema["items"]);
            quote!(Form::List(&#form))
        }
        Some("object") if !has("properties") && is_anything(&schema["additionalProperties"]) => {
            quote!(Form::FreeObject)
        }
        None if ["type", "oneOf", "anyOf", "enum", "const"].iter().all(|key| !has(key)) => quote!(Form::Free),
        _ => quote!(Form::Odd),
    }
}

fn has_constant(def: &Value) -> bool {
    let properties = def["properties"].as_object();
    properties.is_some_and(|all| all.values().any(|property| property.get("const").is_some()))
}

/// Whether unnamed members may have any value.
fn is_anything(additional: &Value) -> bool {
    match additional {
        Value::Object(schema) => schema.is_empty(),
        Value::Bool(any) => *any,
        _ => additional.is_null(),
    }
}
