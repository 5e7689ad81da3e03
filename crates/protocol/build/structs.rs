//! Emits structs and enumerations: fields in the order of the schema, with the difference between absent, null and empty,
//! and constants.

use crate::{
    bundle::{Bundle, Shape, description, strings},
    checks::bases,
    names::{camel, docs, exact},
    types::{child_list, property_type},
};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::{Map, Value, json};

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
    let mut out = TokenStream::new();
    for (name, def) in &bundle.defs {
        match bundle.shape(name) {
            Shape::Struct(properties) => out.extend(one_struct(bundle, name, def, properties)?),
            Shape::Enum(values) => out.extend(one_enum(name, def, &values)),
            Shape::Tagged { .. } | Shape::Either(_) | Shape::Plain(_) => {}
        }
    }
    Ok(out)
}

fn one_struct(
    bundle: &Bundle,
    name: &str,
    def: &Value,
    properties: &Map<String, Value>,
) -> Result<TokenStream, String> {
    let ident = exact(name);
    let doc = docs(&with_sources(def));
    let mut fields = TokenStream::new();
    for field in Field::all(def, properties) {
        fields.extend(one_field(bundle, name, &field)?);
    }
    let mut entries: TokenStream =
        properties.iter().map(|(key, schema)| one_entry(key, schema, def)).collect();
    if def.get("additionalProperties") == Some(&json!({})) {
        fields.extend(quote! {
            /// Members that the protocol does not name, in the order in which they were read.
            pub extra: super::JsonObject,
        });
        entries.extend(quote! { for (key, value) in &self.extra { map.serialize_entry(key, value)?; } });
    }
    let reader = one_reader(bundle, name, def, properties)?;
    // Only such a struct can be built with the members that are present.
    let node = child_list(name, def).map(|key| {
        quote! { impl super::ForestNode for #ident { const CHILDREN: &'static str = #key; } }
    });
    let all_optional = Field::all(def, properties).into_iter().all(|field| !field.required);
    let default = all_optional.then(|| quote!(Default,));
    Ok(quote! {
        #doc
        #[derive(Clone, Debug, #default PartialEq)]
        pub struct #ident { #fields }

        #node
        #reader
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

fn one_field(bundle: &Bundle, owner: &str, field: &Field) -> Result<TokenStream, String> {
    let ident = field_ident(field.name);
    let (base, _) = property_type(bundle, owner, field.schema)
        .ok_or_else(|| format!("{owner}.{}: no Rust type for the schema {}", field.name, field.schema))?;
    let ty = if field.required && !field.nullable { base } else { quote!(Option<#base>) };
    let doc = docs(&field_doc(field));
    Ok(quote! { #doc pub #ident: #ty, })
}

/// Reader of a struct: constants are checked, unknown members skipped or kept, and required ones missed at the end.
fn one_reader(
    bundle: &Bundle,
    name: &str,
    def: &Value,
    properties: &Map<String, Value>,
) -> Result<TokenStream, String> {
    let ident = exact(name);
    let expecting = format!("an object ({name})");
    let (mut arms, mut slots, mut missing, mut members) =
        (TokenStream::new(), TokenStream::new(), TokenStream::new(), TokenStream::new());
    let consts = properties.iter().filter_map(|(key, schema)| Some((key, schema.get("const")?)));
    for (at, (key, value)) in consts.enumerate() {
        let bit = 1_u32 << at;
        let value = match value {
            Value::Bool(flag) => quote!(Const::Bool(#flag)),
            other => {
                let text = other.as_str().unwrap_or_default();
                quote!(Const::Str(#text))
            }
        };
        arms.extend(quote! { #key => json.constant(#key, #value, #bit, &mut constants)?, });
        missing.extend(quote! { if constants & #bit == 0 { return Err(JsonError::missing(#key)); } });
    }
    if !missing.is_empty() {
        slots.extend(quote! { let mut constants = 0; });
    }
    for field in Field::all(def, properties) {
        let (key, ident) = (field.name, field_ident(field.name));
        let slot = format_ident!("value_of_{}", ident);
        let (base, reader) =
            property_type(bundle, name, field.schema).ok_or_else(|| format!("{name}.{key}: no type"))?;
        let value = if field.nullable { quote!(Option<#base>) } else { base };
        slots.extend(quote! { let mut #slot: Option<#value> = None; });
        arms.extend(match reader.filter(|_| !field.nullable) {
            None => quote! { #key => json.member(#key, &mut #slot)?, },
            Some(read) => quote! { #key => json.member_by(#key, &mut #slot, #read)?, },
        });
        members.extend(match (field.required, field.nullable) {
            (true, _) => quote! { #ident: #slot.ok_or_else(|| JsonError::missing(#key))?, },
            (false, true) => quote! { #ident: #slot.flatten(), },
            (false, false) => quote! { #ident: #slot, },
        });
    }
    if def.get("additionalProperties") == Some(&json!({})) {
        slots.extend(quote! { let mut extra = super::JsonObject::new(); });
        arms.extend(quote! { key => { extra.insert(key.to_owned(), FromJson::from_json(json).map_err(|error| error.in_member(key))?); } });
        members.extend(quote! { extra, });
    } else {
        arms.extend(quote! { _ => json.skip()?, });
    }
    Ok(quote! {
        impl FromJson for #ident {
            fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
                let mut members = json.object(#expecting)?;
                #slots
                while let Some(key) = json.next_key(&mut members)? {
                    match key.as_ref() { #arms }
                }
                #missing
                Ok(Self { #members })
            }
        }
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                deserialize(from)
            }
        }
    })
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
        impl FromJson for #ident {
            fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
                json.word(Self::parse, &[#(#values),*])
            }
        }
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                deserialize(from)
            }
        }
    }
}

/// Rust name of the property `key`.
pub fn field_ident(key: &str) -> proc_macro2::Ident {
    let ident = crate::names::snake(key.trim_start_matches('_'));
    match ident.to_string().strip_prefix("r#") {
        // `type_` reads better than a raw identifier.
        Some(raw) => format_ident!("{raw}_"),
        None => ident,
    }
}

/// Whether `null` is a value.
pub fn is_nullable(schema: &Value) -> bool {
    let by_type = schema.get("type").and_then(Value::as_array).is_some_and(|t| t.contains(&json!("null")));
    let by_branch = schema.get("oneOf").and_then(Value::as_array);
    by_type || by_branch.is_some_and(|b| b.iter().any(|s| s.get("type") == Some(&json!("null"))))
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
