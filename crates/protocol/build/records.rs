//! Emits the list of dialects, and a record of constants for each.

use crate::{
    bundle::{Bundle, description},
    names::{camel, docs},
    structs::field_ident,
};
use heck::ToUpperCamelCase;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::{Map, Value};

/// Emits `Base`, `Dialect`, `DialectRecord` and the records.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let ids: Vec<&str> = bundle.dialects.iter().filter_map(|d| d["id"].as_str()).collect();
    let variants: Vec<_> = ids.iter().map(|id| camel(&id.replace('@', "_"))).collect();
    let dialect_docs = bundle.dialects.iter().map(|d| docs(description(d)));
    let count = ids.len();
    let bases: Vec<_> = bundle.dialects.iter().filter(|d| d["frames"] == d["id"]).collect();
    let base_ids: Vec<&str> = bases.iter().filter_map(|d| d["id"].as_str()).collect();
    let base_variants: Vec<_> = base_ids.iter().map(|id| camel(id)).collect();
    let base_count = bases.len();
    let base_docs = bases.iter().map(|d| docs(description(d)));
    let base_of = bundle.dialects.iter().map(|d| camel(d["frames"].as_str().unwrap_or_default()));
    let mut types = TokenStream::new();
    let properties = bundle.record["properties"].as_object().ok_or("dialects/record.json: no properties")?;
    record_type("DialectRecord", description(&bundle.record), properties, &mut types)?;
    let records = bundle
        .dialects
        .iter()
        .map(|d| literal("DialectRecord", properties, d))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(quote! {
        /// Dialect with frames of its own; every other dialect has the frames of one of these.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Base { #(#base_docs #base_variants),* }

        impl Base {
            /// All of them, bases first.
            pub const ALL: [Self; #base_count] = [#(Self::#base_variants),*];
            /// Name of the dialect.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#base_variants => #base_ids),* } }
            /// Record with the properties of the dialect.
            pub const fn record(self) -> &'static DialectRecord {
                match self { #(Self::#base_variants => Dialect::#base_variants.record()),* }
            }
            /// Whether the list contains the dialect.
            pub fn is_in(self, list: &[Self]) -> bool { list.contains(&self) }
        }

        /// Dialect of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Dialect { #(#dialect_docs #variants),* }

        impl Dialect {
            /// Every dialect, bases first.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            /// The name that options and reports use.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #ids),* } }
            /// The dialect called `name`.
            pub fn parse(name: &str) -> Option<Self> {
                match name { #(#ids => Some(Self::#variants),)* _ => None }
            }
            /// Dialect that defines the frames.
            pub const fn base(self) -> Base { match self { #(Self::#variants => Base::#base_of),* } }
            /// Record with the properties of the dialect.
            pub const fn record(self) -> &'static DialectRecord {
                match self { #(Self::#variants => &const { #records }),* }
            }
        }
        impl ::std::fmt::Display for Dialect {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(self.as_str()) }
        }
        #types
    })
}

/// The name of the type of property `key` inside the record type `owner`.
fn type_name(owner: &str, key: &str) -> proc_macro2::Ident {
    let prefix = if owner == "DialectRecord" { "Dialect" } else { owner };
    format_ident!("{prefix}{}", key.to_upper_camel_case())
}

fn record_type(
    name: &str,
    doc: &str,
    properties: &Map<String, Value>,
    out: &mut TokenStream,
) -> Result<(), String> {
    let ident = format_ident!("{name}");
    let doc = docs(doc);
    let mut fields = TokenStream::new();
    for (key, schema) in properties {
        let field = field_ident(key);
        let field_doc = docs(description(schema));
        let ty = if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let ty = type_name(name, key);
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            let variants: Vec<_> = texts.iter().map(|v| camel(v)).collect();
            let variant_docs = texts.iter().map(|v| docs(&format!("`{v}`")));
            let enum_doc = docs(description(schema));
            out.extend(quote! {
                #enum_doc
                #[derive(Clone, Copy, Debug, PartialEq, Eq)]
                pub enum #ty { #(#variant_docs #variants),* }
                impl #ty {
                    /// As the record spells it.
                    pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #texts),* } }
                }
            });
            quote!(#ty)
        } else if let Some(inner) = schema.get("properties").and_then(Value::as_object) {
            let ty = type_name(name, key);
            record_type(&ty.to_string(), description(schema), inner, out)?;
            quote!(#ty)
        } else {
            match scalar(schema) {
                (Some("boolean"), false) => quote!(bool),
                (Some("integer"), false) => quote!(u64),
                (Some("integer"), true) => quote!(Option<u64>),
                (Some("string"), false) => quote!(&'static str),
                (Some("string"), true) => quote!(Option<&'static str>),
                (Some("array"), _) => quote!(&'static [&'static str]),
                _ => return Err(format!("dialects/record.json: {name}.{key}: what type?")),
            }
        };
        fields.extend(quote! { #field_doc pub #field: #ty, });
    }
    out.extend(quote! {
        #doc
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct #ident { #fields }
    });
    Ok(())
}

fn literal(name: &str, properties: &Map<String, Value>, record: &Value) -> Result<TokenStream, String> {
    let ident = format_ident!("{name}");
    let mut fields = TokenStream::new();
    for (key, schema) in properties {
        let field = field_ident(key);
        let value = &record[key];
        let wrong =
            || format!("dialects: {}.{key}: {value} does not fit {schema} of record.json", record["id"]);
        let value = if let Some(known) = schema["enum"].as_array() {
            if !known.contains(value) {
                return Err(wrong());
            }
            let (ty, variant) = (type_name(name, key), camel(value.as_str().ok_or_else(wrong)?));
            quote!(#ty::#variant)
        } else if let Some(inner) = schema.get("properties").and_then(Value::as_object) {
            literal(&type_name(name, key).to_string(), inner, value)?
        } else {
            let (expected, optional) = scalar(schema);
            let is_expected = match value {
                Value::Bool(_) => expected == Some("boolean"),
                Value::Number(_) => expected == Some("integer"),
                Value::String(_) => expected == Some("string"),
                _ => true,
            };
            if !is_expected {
                return Err(wrong());
            }
            match value {
                Value::Bool(flag) => quote!(#flag),
                Value::Null if optional => quote!(None),
                Value::Number(number) => {
                    let number = number.as_u64().ok_or_else(wrong)?;
                    if optional { quote!(Some(#number)) } else { quote!(#number) }
                }
                Value::String(text) => {
                    if optional {
                        quote!(Some(#text))
                    } else {
                        quote!(#text)
                    }
                }
                Value::Array(list) => {
                    let list = list.iter().filter_map(Value::as_str);
                    quote!(&[#(#list),*])
                }
                _ => return Err(wrong()),
            }
        };
        fields.extend(quote! { #field: #value, });
    }
    Ok(quote!(#ident { #fields }))
}

/// The JSON type of a scalar property, and whether it may be null.
fn scalar(schema: &Value) -> (Option<&str>, bool) {
    match &schema["type"] {
        Value::Array(types) => {
            (types.iter().filter_map(Value::as_str).find(|t| *t != "null"), types.iter().any(|t| t == "null"))
        }
        other => (other.as_str(), false),
    }
}
