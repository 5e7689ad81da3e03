//! Emits structs and enumerations. typify decides the types of fields; this module restores what typify drops: the
//! order of fields, the difference between absent, null and empty, constants, and integers as numbers.

use crate::{
    bundle::{Bundle, Shape, description, ref_name, strings},
    checks::bases,
    names::{camel, docs, exact},
};
use heck::ToUpperCamelCase;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Property of a struct, for the other generators.
pub struct Field<'a> {
    /// Name on the wire.
    pub name: &'a str,
    /// Schema of the property.
    pub schema: &'a Value,
    /// Whether every dialect requires the property.
    pub required: bool,
    /// Whether `null` is allowed.
    pub nullable: bool,
}

impl<'a> Field<'a> {
    /// The properties of `def`, without its constants.
    pub fn all(def: &'a Value, properties: &'a Map<String, Value>) -> Vec<Field<'a>> {
        let required = strings(def, "required").unwrap_or_default();
        properties
            .iter()
            .filter(|(_, schema)| schema.get("const").is_none())
            .map(|(name, schema)| Field {
                name,
                schema,
                required: required.contains(&name.as_str()) && is_in_all(schema),
                nullable: is_nullable(schema),
            })
            .collect()
    }
}

/// Whether every dialect, and every version of it, has the property.
fn is_in_all(schema: &Value) -> bool {
    schema.get("x-dialects").is_none() && schema.get("x-since").is_none()
}

/// Emits a type for every def except unions.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let typified = typify(bundle)?;
    let mut out = TokenStream::new();
    for (name, def) in &bundle.defs {
        match bundle.shape(name) {
            Shape::Struct(properties) => {
                // typify spells acronyms its own way: `UIRequest` becomes `UiRequest`.
                let made = typified.get(name).or_else(|| typified.get(&name.to_upper_camel_case()));
                let made = made.ok_or(format!("typify made no struct {name}"))?;
                out.extend(one_struct(bundle, name, def, properties, made)?);
            }
            Shape::Enum(values) => out.extend(one_enum(name, def, &values)),
            Shape::Tagged { .. } | Shape::Either(_) | Shape::Plain(_) => {}
        }
    }
    Ok(out)
}

fn typify(bundle: &Bundle) -> Result<HashMap<String, syn::ItemStruct>, String> {
    let mut settings = typify::TypeSpaceSettings::default();
    // Members keep their order.
    settings.with_map_type("::indexmap::IndexMap".to_owned());
    let mut defs = Map::new();
    for (name, def) in &bundle.defs {
        match bundle.shape(name) {
            Shape::Tagged { .. } | Shape::Either(_) => {
                settings.with_replacement(name, name, [].into_iter());
                defs.insert(name.clone(), json!({ "type": "object" }));
            }
            Shape::Plain(_) => {}
            Shape::Struct(_) | Shape::Enum(_) => {
                defs.insert(name.clone(), plain(def, bundle));
            }
        }
    }
    let root: schemars08::schema::RootSchema =
        serde_json::from_value(json!({ "definitions": defs })).map_err(|e| format!("typify: {e}"))?;
    let mut space = typify::TypeSpace::new(&settings);
    space.add_ref_types(root.definitions).map_err(|e| format!("typify: {e}"))?;
    let file: syn::File = syn::parse2(space.to_stream()).map_err(|e| format!("typify: {e}"))?;
    Ok(file
        .items
        .into_iter()
        .filter_map(|item| match item {
            syn::Item::Struct(item) => Some((item.ident.to_string(), item)),
            _ => None,
        })
        .collect())
}

/// Schema for typify: without annotations and constants, `$ref`s alone, scalars inlined.
fn plain(schema: &Value, bundle: &Bundle) -> Value {
    if let Some(name) = ref_name(schema) {
        return match bundle.shape(name) {
            Shape::Plain(def) => plain(def, bundle),
            _ => json!({ "$ref": format!("#/definitions/{name}") }),
        };
    }
    match schema {
        Value::Object(map) => {
            let mut out: Map<String, Value> = map
                .iter()
                .filter(|(key, _)| !key.starts_with("x-") && *key != "description")
                .map(|(key, value)| match (key.as_str(), value) {
                    ("properties", Value::Object(own)) => {
                        let own = own.iter().map(|(name, property)| (name.clone(), plain(property, bundle)));
                        (key.clone(), Value::Object(own.collect()))
                    }
                    _ => (key.clone(), plain(value, bundle)),
                })
                .collect();
            if let Some(properties) = out.get_mut("properties").and_then(Value::as_object_mut) {
                properties.retain(|_, property| property.get("const").is_none());
                let left: Vec<Value> = properties.keys().map(|k| json!(k)).collect();
                if let Some(required) = out.get_mut("required").and_then(Value::as_array_mut) {
                    required.retain(|name| left.contains(name));
                }
                if left.is_empty() {
                    // typify turns an object without properties into a map.
                    out.insert("properties".into(), json!({ "_": { "type": "boolean" } }));
                }
            }
            Value::Object(out)
        }
        Value::Array(list) => list.iter().map(|value| plain(value, bundle)).collect(),
        other => other.clone(),
    }
}

fn one_struct(
    bundle: &Bundle,
    name: &str,
    def: &Value,
    properties: &Map<String, Value>,
    made: &syn::ItemStruct,
) -> Result<TokenStream, String> {
    let ident = exact(name);
    let doc = docs(&with_sources(def));
    let mut fields = TokenStream::new();
    for field in Field::all(def, properties) {
        fields.extend(one_field(bundle, name, &field, made)?);
    }
    let mut entries: TokenStream =
        properties.iter().map(|(key, schema)| one_entry(key, schema, def)).collect();
    if def.get("additionalProperties") == Some(&json!({})) {
        fields.extend(quote! {
            /// Members that the protocol does not name, in the order in which they were read.
            #[serde(flatten)]
            pub extra: super::JsonObject,
        });
        entries.extend(quote! { for (key, value) in &self.extra { map.serialize_entry(key, value)?; } });
    }
    let consts = properties.iter().filter_map(|(key, schema)| {
        let value = schema.get("const")?;
        let value = match value {
            Value::Bool(flag) => quote!(Const::Bool(#flag)),
            other => {
                let text = other.as_str().unwrap_or_default();
                quote!(Const::Str(#text))
            }
        };
        Some(quote!((#key, #value)))
    });
    let expecting = format!("an object ({name})");
    // Only such a struct can be built with the members that are present.
    let all_optional = Field::all(def, properties).into_iter().all(|field| !field.required);
    let default = all_optional.then(|| quote!(Default,));
    Ok(quote! {
        #doc
        #[derive(Clone, Debug, #default PartialEq, ::serde::Deserialize)]
        #[serde(remote = "Self")]
        pub struct #ident { #fields }

        impl<'de> FromMap<'de> for #ident {
            const EXPECTING: &'static str = #expecting;
            fn from_map<A: ::serde::de::MapAccess<'de>>(head: Head<'de>, rest: A) -> Result<Self, A::Error> {
                let consts: &'static [(&'static str, Const)] = &[#(#consts),*];
                Self::deserialize(::serde::de::value::MapAccessDeserializer::new(Fields::new(head, rest, consts)))
            }
        }
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                read_map(from)
            }
        }
        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = to.serialize_map(None)?;
                #entries
                map.end()
            }
        }
    })
}

fn one_field(
    bundle: &Bundle,
    owner: &str,
    field: &Field,
    made: &syn::ItemStruct,
) -> Result<TokenStream, String> {
    let found = made.fields.iter().find(|f| wire_name(f) == field.name);
    let found = found.ok_or(format!("typify made no field {owner}.{}", field.name))?;
    let ident = &found.ident;
    let (base, reader) = base_type(bundle, &found.ty, field.schema, field.nullable);
    let ty = if field.required && !field.nullable { base.clone() } else { quote!(Option<#base>) };
    let name = field.name;
    let serde = match (field.required, field.nullable, reader) {
        (true, false, None) => quote!(rename = #name),
        (true, false, Some(read)) => quote!(rename = #name, deserialize_with = #read),
        (true, true, _) => quote!(rename = #name, deserialize_with = "super::de::nullable"),
        (false, true, _) => quote!(rename = #name, default),
        (false, false, None) => quote!(rename = #name, default, deserialize_with = "super::de::present"),
        (false, false, Some(read)) => {
            let read = read.replacen("::de::", "::de::opt_", 1);
            quote!(rename = #name, default, deserialize_with = #read)
        }
    };
    let doc = docs(&field_doc(field));
    Ok(quote! { #doc #[serde(#serde)] pub #ident: #ty, })
}

/// Type of a field without `Option`, and the reader for constraints that the type does not have.
fn base_type(
    bundle: &Bundle,
    ty: &syn::Type,
    schema: &Value,
    nullable: bool,
) -> (TokenStream, Option<String>) {
    if let Some(own) = own_type(schema, bundle) {
        return (own, None);
    }
    let schema = match ref_name(schema).map(|name| (name, bundle.shape(name))) {
        Some((_, Shape::Plain(def))) => def,
        // typify spells acronyms its own way.
        Some((name, _)) => return (exact(name).to_token_stream(), None),
        None => schema,
    };
    let item = schema.get("items").filter(|_| !nullable).and_then(ref_name);
    if let Some(name) = item.filter(|name| !matches!(bundle.shape(name), Shape::Plain(_))) {
        let item = exact(name);
        return (quote!(::std::vec::Vec<#item>), None);
    }
    if schema.get("type") == Some(&json!("integer")) || (nullable && has_type(schema, "integer")) {
        let min = schema.get("minimum").and_then(Value::as_i64).unwrap_or(-9_007_199_254_740_991);
        let max = schema.get("maximum").and_then(Value::as_i64).unwrap_or(9_007_199_254_740_991);
        return match min >= 0 {
            true => (quote!(u64), Some(format!("super::de::uint::<_, {min}, {max}>"))),
            false => (quote!(i64), Some(format!("super::de::int::<_, {{ {min} }}, {max}>"))),
        };
    }
    let inner = strip_option(ty).to_token_stream();
    match inner.to_string().as_str() {
        "f64" => {
            let is_from_zero = schema["minimum"] == 0;
            (quote!(::serde_json::Number), is_from_zero.then(|| "super::de::from_zero".to_owned()))
        }
        _ => (inner, None),
    }
}

/// Hand-written type that a def names with `x-rust`.
fn own_type(schema: &Value, bundle: &Bundle) -> Option<TokenStream> {
    let ident = exact(bundle.defs.get(ref_name(schema)?)?.get("x-rust")?.as_str()?);
    Some(quote!(#ident))
}

fn one_entry(key: &str, schema: &Value, def: &Value) -> TokenStream {
    if let Some(value) = schema.get("const") {
        let value = match value {
            Value::Bool(flag) => quote!(&#flag),
            other => {
                let text = other.as_str().unwrap_or_default();
                quote!(#text)
            }
        };
        return quote! { map.serialize_entry(#key, #value)?; };
    }
    let ident = field_ident(key);
    let required = strings(def, "required").unwrap_or_default().contains(&key);
    let writes_null = schema.get("x-writes-null") == Some(&Value::Bool(true));
    match (required && is_in_all(schema)) || writes_null {
        true => quote! { map.serialize_entry(#key, &self.#ident)?; },
        false => quote! { if let Some(value) = &self.#ident { map.serialize_entry(#key, value)?; } },
    }
}

fn one_enum(name: &str, def: &Value, values: &[&str]) -> TokenStream {
    let ident = exact(name);
    let doc = docs(&with_sources(def));
    let variants: Vec<_> = values.iter().map(|v| camel(v)).collect();
    let count = values.len();
    let variant_docs = values.iter().map(|v| docs(&format!("`{v}`")));
    let is_in = def.get("x-enum-in").map(|limits| {
        let only = values.iter().filter_map(|value| {
            let (variant, list) = (camel(value), bases(limits, value)?);
            Some(quote! { Self::#variant => base.is_in(#list), })
        });
        quote! {
            /// Whether `base` has the value.
            pub fn is_in(self, base: Base) -> bool { match self { #(#only)* _ => true } }
        }
    });
    quote! {
        #doc
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum #ident { #(#variant_docs #variants),* }

        impl #ident {
            /// All values, in the order of the schema.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            #is_in
            /// Spelling on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { #(Self::#variants => #values),* }
            }
            /// The value with the spelling `text` on the wire.
            pub fn parse(text: &str) -> Option<Self> {
                match text { #(#values => Some(Self::#variants),)* _ => None }
            }
        }
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(self.as_str()) }
        }
        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> { to.serialize_str(self.as_str()) }
        }
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                super::de::word(from, Self::parse, &[#(#values),*])
            }
        }
    }
}

/// Rust name of the property `key`, as typify derives it.
pub fn field_ident(key: &str) -> proc_macro2::Ident {
    let ident = crate::names::snake(key.trim_start_matches('_'));
    match ident.to_string().strip_prefix("r#") {
        // typify writes `type_`, never a raw identifier.
        Some(raw) => format_ident!("{raw}_"),
        None => ident,
    }
}

fn wire_name(field: &syn::Field) -> String {
    let mut name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    for attr in field.attrs.iter().filter(|a| a.path().is_ident("serde")) {
        let _ = attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                name = meta.value()?.parse::<syn::LitStr>()?.value();
            } else if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            }
            Ok(())
        });
    }
    name
}

fn strip_option(ty: &syn::Type) -> &syn::Type {
    if let syn::Type::Path(path) = ty
        && let Some(last) = path.path.segments.last()
        && last.ident == "Option"
        && let syn::PathArguments::AngleBracketed(args) = &last.arguments
        && let Some(syn::GenericArgument::Type(inner)) = args.args.first()
    {
        return strip_option(inner);
    }
    ty
}

fn is_nullable(schema: &Value) -> bool {
    let by_type = schema.get("type").and_then(Value::as_array).is_some_and(|t| t.contains(&json!("null")));
    let by_branch = schema.get("oneOf").and_then(Value::as_array);
    by_type || by_branch.is_some_and(|b| b.iter().any(|s| s.get("type") == Some(&json!("null"))))
}

fn has_type(schema: &Value, ty: &str) -> bool {
    schema.get("type").and_then(Value::as_array).is_some_and(|t| t.contains(&json!(ty)))
}

/// Description of a def with its sources, as rustdoc.
pub fn with_sources(def: &Value) -> String {
    match strings(def, "x-doc") {
        Some(list) if !list.is_empty() => format!("{}\n\nSource: {}.", description(def), list.join("; ")),
        _ => description(def).to_owned(),
    }
}

fn field_doc(field: &Field) -> String {
    let only = |key: &str, word: &str| {
        strings(field.schema, key).map(|d| format!(" {word} `{}`.", d.join("`, `"))).unwrap_or_default()
    };
    format!(
        "{}{}{}",
        description(field.schema),
        only("x-dialects", "Only in"),
        only("x-required-in", "Required in")
    )
}
