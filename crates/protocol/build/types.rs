//! Maps the schema of a property to its Rust type.

use crate::{
    bundle::{Bundle, Shape, ref_name},
    names::exact,
    structs::is_nullable,
};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use serde_json::Value;

/// Largest integer that a double holds exactly.
const MAX_INTEGER: i64 = 9_007_199_254_740_991;

/// Type of a property without `Option`, and the reader for constraints that the type does not have; `None`: no type is
/// known for the schema.
pub fn property_type(
    bundle: &Bundle,
    owner: &str,
    schema: &Value,
) -> Option<(TokenStream, Option<TokenStream>)> {
    if let Some(node) = listed_node(bundle, schema) {
        let node_type = exact(node);
        let ty = if node == owner { quote!(super::Children) } else { quote!(super::Forest<#node_type>) };
        return Some((ty, None));
    }
    let def = ref_name(schema).map(|name| &bundle.defs[name]).filter(|def| def.get("x-rust").is_none());
    let resolved = def.unwrap_or(schema);
    match resolved["type"].as_str() {
        Some("integer") if has_only(resolved, &["minimum", "maximum"]) => {
            let limit = |key: &str| resolved.get(key).and_then(Value::as_i64);
            let (min, max) =
                (limit("minimum").unwrap_or(-MAX_INTEGER), limit("maximum").unwrap_or(MAX_INTEGER));
            Some(match min >= 0 {
                true => (quote!(u64), Some(quote!(|json| json.integer(#min, #max).map(i64::unsigned_abs)))),
                false => (quote!(i64), Some(quote!(|json| json.integer(#min, #max)))),
            })
        }
        Some("number") if resolved["minimum"] == 0 && has_only(resolved, &["minimum"]) => {
            Some((quote!(::serde_json::Number), Some(quote!(|json| json.non_negative()))))
        }
        _ => Some((value_type(bundle, schema)?, None)),
    }
}

/// The def whose nodes a schema lists, where a node has a list of nodes itself.
fn listed_node<'a>(bundle: &Bundle, schema: &'a Value) -> Option<&'a str> {
    let name = ref_name(schema.get("items")?)?;
    child_list(name, &bundle.defs[name])?;
    Some(name)
}

/// The member of the def `name` that lists values of the same def.
pub fn child_list<'a>(name: &str, def: &'a Value) -> Option<&'a str> {
    let mut members = def.get("properties")?.as_object()?.iter();
    let is_own = |schema: &Value| schema.get("items").and_then(ref_name) == Some(name);
    members.find(|(_, schema)| is_own(schema)).map(|(key, _)| key.as_str())
}

/// Type of an item of an array, or of a member of a map.
fn item_type(bundle: &Bundle, schema: &Value) -> Option<TokenStream> {
    let ty = value_type(bundle, schema)?;
    Some(if is_nullable(schema) { quote!(::std::option::Option<#ty>) } else { ty })
}

/// Type of the values except `null`.
fn value_type(bundle: &Bundle, schema: &Value) -> Option<TokenStream> {
    if let Some(name) = ref_name(schema) {
        return match bundle.shape(name) {
            Shape::Plain(def) => match def.get("x-rust") {
                Some(own) => Some(exact(own.as_str()?).to_token_stream()),
                None => value_type(bundle, def).filter(|_| !is_nullable(def)),
            },
            _ => Some(exact(name).to_token_stream()),
        };
    }
    let (ty, constraints): (_, &[&str]) = match json_type(schema)? {
        "string" => (quote!(::std::string::String), &[]),
        "boolean" => (quote!(bool), &[]),
        "integer" => (quote!(i64), &["minimum", "maximum"]),
        "number" => (quote!(::serde_json::Number), &[]),
        "array" => {
            let item = item_type(bundle, schema.get("items")?)?;
            (quote!(::std::vec::Vec<#item>), &["items"])
        }
        // Members keep their order.
        "object" => {
            let member = schema.get("additionalProperties")?;
            let map = match member.as_object()?.is_empty() {
                true => quote!(::serde_json::Map<::std::string::String, ::serde_json::Value>),
                false => {
                    let member = item_type(bundle, member)?;
                    quote!(::indexmap::IndexMap<::std::string::String, #member>)
                }
            };
            (map, &["additionalProperties"])
        }
        "any" => (quote!(::serde_json::Value), &[]),
        "nullable" => {
            let mut branches = schema["oneOf"].as_array()?.iter().filter(|branch| branch["type"] != "null");
            let (branch, None) = (branches.next()?, branches.next()) else { return None };
            (value_type(bundle, branch)?, &["oneOf"])
        }
        _ => return None,
    };
    has_only(schema, constraints).then_some(ty)
}

/// Whether the schema has no keywords but annotations, its type and these constraints.
fn has_only(schema: &Value, constraints: &[&str]) -> bool {
    let is_known = |key: &str| {
        key.starts_with("x-") || ["type", "title", "description"].contains(&key) || constraints.contains(&key)
    };
    schema.as_object().is_some_and(|keywords| keywords.keys().all(|key| is_known(key)))
}

/// JSON type of the values except `null`; `any` without a type, `nullable` for a `oneOf`.
fn json_type(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::Array(types)) => {
            let mut types = types.iter().filter_map(Value::as_str).filter(|ty| *ty != "null");
            types.next().filter(|_| types.next().is_none())
        }
        Some(ty) => ty.as_str(),
        None if schema.get("oneOf").is_some() => Some("nullable"),
        None => Some("any"),
    }
}
