//! Emits the checks of one dialect on the union types (presence, values and branches that only some dialects have), and
//! the shapes that list foreign properties.

use crate::{
    bundle::{Bundle, Shape, ref_name, strings},
    names::{camel, exact, shout},
    structs::{Field, field_ident},
    unions::variant,
};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::{Map, Value, json};

/// Emits `Check` and the `Shape` of every type.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let mut out = TokenStream::new();
    for (name, def) in &bundle.defs {
        let ident = exact(name);
        let none = TokenStream::new;
        let (body, fit, shape) = match bundle.shape(name) {
            Shape::Struct(properties) => (
                struct_check(bundle, def, properties),
                struct_fit(bundle, def, properties),
                struct_shape(bundle, def, properties),
            ),
            Shape::Tagged { tag, branches } => (
                tagged_check(bundle, def, &branches),
                tagged_fit(def, &branches),
                tagged_shape(tag, &branches),
            ),
            Shape::Either(branches) => {
                (shape_check(bundle, &branches), shape_fit(bundle, &branches), shape_shape(bundle, &branches))
            }
            Shape::Enum(values) => (enum_check(def, &values), none(), None),
            Shape::Plain(_) => continue,
        };
        out.extend(quote! {
            impl Check for #ident {
                fn check(&self, base: Base, faults: &mut Faults) { let _ = (base, &faults); #body }
                fn fit(&mut self, base: Base) { let _ = base; #fit }
            }
        });
        if let Some(shape) = shape {
            let constant = format_ident!("{}_SHAPE", shout(name));
            out.extend(quote! { static #constant: Shape = #shape; });
        }
    }
    let roots = ["Inbound", "Outbound", "ToExtension", "FromExtension"].map(|root| {
        let constant = format_ident!("{}_SHAPE", shout(root));
        let ident = exact(root);
        let null_is_absent = bundle.defs[root].get("x-null") == Some(&Value::Bool(true));
        quote! {
            impl Root for #ident {
                const SHAPE: &'static Shape = &#constant;
                const NULL_IS_ABSENT: bool = #null_is_absent;
            }
        }
    });
    out.extend(roots);
    Ok(out)
}

/// `&[Base::Pi]` for a list under `key`.
pub fn bases(schema: &Value, key: &str) -> Option<TokenStream> {
    let list = strings(schema, key)?;
    let list = list.iter().map(|id| camel(id));
    Some(quote!(&[#(Base::#list),*]))
}

fn struct_check(bundle: &Bundle, def: &Value, properties: &Map<String, Value>) -> TokenStream {
    let required = strings(def, "required").unwrap_or_default();
    let mut out = TokenStream::new();
    if let Some(version) = since(def) {
        out.extend(quote! { faults.note_version(#version); });
    }
    for field in Field::all(def, properties) {
        let (name, ident) = (field.name, field_ident(field.name));
        let only = bases(field.schema, "x-dialects");
        let version = since(field.schema);
        let required_in = match &only {
            Some(only) if required.contains(&name) => Some(only.clone()),
            None if required.contains(&name) && version.is_some() => Some(quote!(&Base::ALL)),
            _ => bases(field.schema, "x-required-in"),
        };
        if let Some(list) = required_in {
            let since = version.as_ref().map_or(quote!(None), |version| quote!(Some(#version)));
            out.extend(quote! {
                if self.#ident.is_none() && base.is_in(#list) { faults.missing(#name, #since); }
            });
        }
        let mut check = TokenStream::new();
        if let Some(version) = version {
            check.extend(quote! { if self.#ident.is_some() { faults.note_version(#version); } });
        }
        if has_type(bundle, field.schema) {
            check.extend(quote! {
                let mark = faults.mark();
                self.#ident.check(base, faults);
                faults.within(mark, #name);
            });
        }
        check.extend(type_checks(bundle, &field));
        if !check.is_empty() {
            out.extend(match only {
                Some(list) => quote! { if base.is_in(#list) { #check } },
                None => check,
            });
        }
    }
    out
}

/// Emits the checks of the types that a property has in single dialects.
fn type_checks(bundle: &Bundle, field: &Field) -> TokenStream {
    let (name, ident) = (field.name, field_ident(field.name));
    let is_optional = !field.required || field.nullable;
    let rows = field.schema.get("x-type-in").and_then(Value::as_array).into_iter().flatten();
    let checks = rows.filter_map(|row| {
        let (list, expected) = (bases(row, "dialects")?, value_type(bundle, &row["schema"]));
        let check = quote! {
            if base.is_in(#list) && !#expected.allows(value) { faults.wrong_type(#name, #expected); }
        };
        Some(match is_optional {
            true => quote! { if let Some(value) = &self.#ident { #check } },
            false => quote! { let value = &self.#ident; #check },
        })
    });
    checks.collect()
}

/// Type of a value in one dialect; a type that is not listed here allows every value.
fn value_type(bundle: &Bundle, schema: &Value) -> TokenStream {
    if let Some(name) = ref_name(schema) {
        return value_type(bundle, &bundle.defs[name]);
    }
    if schema["type"] == json!(["number", "null"]) {
        return quote!(ValueType::NumberOrNull);
    }
    match schema["type"].as_str() {
        Some("string") => quote!(ValueType::Text),
        Some("array") if schema["items"]["type"] == "string" => quote!(ValueType::Texts),
        Some("integer") => {
            let bound = |key: &str| schema[key].as_i64().unwrap_or_default();
            let (least, most) = (bound("minimum"), bound("maximum"));
            quote!(ValueType::Whole(#least, #most))
        }
        _ => quote!(ValueType::Any),
    }
}

/// Version of pi that added the property, if not the first.
pub fn since(schema: &Value) -> Option<TokenStream> {
    let mut numbers = schema.get("x-since")?.as_str()?.split('.').map(|number| number.parse::<u16>());
    let mut next = || numbers.next().and_then(Result::ok);
    let (major, minor, patch) = (next()?, next()?, next()?);
    Some(quote!(Version(#major, #minor, #patch)))
}

/// Emits the removal of members that the dialect does not have.
fn struct_fit(bundle: &Bundle, def: &Value, properties: &Map<String, Value>) -> TokenStream {
    let mut out = TokenStream::new();
    for field in Field::all(def, properties) {
        let ident = field_ident(field.name);
        if let Some(list) = bases(field.schema, "x-dialects") {
            out.extend(quote! { if !base.is_in(#list) { self.#ident = None; } });
        }
        if has_type(bundle, field.schema) {
            out.extend(quote! { self.#ident.fit(base); });
        }
    }
    out
}

fn tagged_fit(def: &Value, branches: &[(String, &str)]) -> TokenStream {
    let mut members: Vec<&str> = branches.iter().map(|(_, b)| *b).collect();
    members.dedup();
    let variants = members.iter().map(|branch| variant(branch, branches, def));
    quote! { match self { #(Self::#variants(inner) => inner.fit(base)),* } }
}

fn tagged_check(bundle: &Bundle, def: &Value, branches: &[(String, &str)]) -> TokenStream {
    let mut members: Vec<&str> = branches.iter().map(|(_, b)| *b).collect();
    members.dedup();
    let arms = members.iter().map(|branch| {
        let variant = variant(branch, branches, def);
        let value = branches.iter().find(|(_, b)| b == branch).map_or("", |(v, _)| v.as_str());
        let foreign = bases(&bundle.defs[*branch], "x-dialects").map(|list| {
            quote! { Self::#variant(_) if !base.is_in(#list) => faults.foreign(#value), }
        });
        quote! { #foreign Self::#variant(inner) => inner.check(base, faults), }
    });
    quote! { match self { #(#arms)* } }
}

fn shape_check(bundle: &Bundle, branches: &[&Value]) -> TokenStream {
    let arms = branches.iter().map(|branch| match ref_name(branch) {
        Some(of) => {
            let variant = exact(of);
            quote! { Self::#variant(inner) => inner.check(base, faults), }
        }
        None if has_type(bundle, branch) => quote! { Self::Blocks(inner) => inner.check(base, faults), },
        None => quote! { Self::Text(_) => {} },
    });
    quote! { match self { #(#arms)* } }
}

fn shape_fit(bundle: &Bundle, branches: &[&Value]) -> TokenStream {
    let arms = branches.iter().map(|branch| match ref_name(branch) {
        Some(of) => {
            let variant = exact(of);
            quote! { Self::#variant(inner) => inner.fit(base), }
        }
        None if has_type(bundle, branch) => quote! { Self::Blocks(inner) => inner.fit(base), },
        None => quote! { Self::Text(_) => {} },
    });
    quote! { match self { #(#arms)* } }
}

fn enum_check(def: &Value, values: &[&str]) -> TokenStream {
    let Some(limits) = def.get("x-enum-in").and_then(Value::as_object) else { return TokenStream::new() };
    let arms = values.iter().filter(|v| limits.contains_key(**v)).map(|value| {
        let variant = camel(value);
        let list = bases(def.get("x-enum-in").unwrap_or(&Value::Null), value);
        quote! { Self::#variant if !base.is_in(#list) => faults.foreign(#value), }
    });
    quote! { match self { #(#arms)* _ => {} } }
}

fn struct_shape(bundle: &Bundle, def: &Value, properties: &Map<String, Value>) -> Option<TokenStream> {
    let required = strings(def, "required").unwrap_or_default();
    let fields = properties.iter().filter_map(|(name, schema)| {
        let only = bases(schema, "x-dialects");
        let inner = inner_shape(bundle, schema);
        let is_required = required.contains(&name.as_str());
        // The id of a request is echoed as it came, even `null`.
        let is_request_id = ref_name(schema) == Some("RequestId");
        let since = since(schema);
        if only.is_none() && since.is_none() && inner.is_none() && (is_required || is_request_id) {
            return None;
        }
        // A required property that the dialect does not have is removed before this applies.
        let required_in = match is_required {
            true => quote!(&Base::ALL),
            false => bases(schema, "x-required-in").unwrap_or(quote!(&[])),
        };
        let only = only.map_or(quote!(None), |list| quote!(Some(#list)));
        let inner = inner.map_or(quote!(None), |shape| quote!(Some(&#shape)));
        let since = since.map_or(quote!(None), |version| quote!(Some(#version)));
        Some(quote! {
            Property { name: #name, only: #only, required_in: #required_in, since: #since, inner: #inner }
        })
    });
    // Properties that the list of fields omits.
    let others = properties.iter().filter(|(name, schema)| {
        let is_plain = bases(schema, "x-dialects").is_none() && inner_shape(bundle, schema).is_none();
        required.contains(&name.as_str())
            && is_plain
            && since(schema).is_none()
            && schema.get("const").is_none()
    });
    let others = others.map(|(name, _)| name);
    Some(quote!(Shape::Object(&[#(#fields),*], &[#(#others),*])))
}

fn tagged_shape(tag: &str, branches: &[(String, &str)]) -> Option<TokenStream> {
    let rows = branches.iter().map(|(value, branch)| {
        let shape = format_ident!("{}_SHAPE", shout(branch));
        quote!((#value, &#shape))
    });
    Some(quote!(Shape::Tagged(#tag, &[#(#rows),*])))
}

fn shape_shape(bundle: &Bundle, branches: &[&Value]) -> Option<TokenStream> {
    let shapes = branches.iter().filter_map(|b| inner_shape(bundle, b));
    Some(quote!(Shape::Any(&[#(&#shapes),*])))
}

/// Shape of the value of a property, or of its elements.
fn inner_shape(bundle: &Bundle, schema: &Value) -> Option<TokenStream> {
    let name = inner_ref(schema)?;
    match bundle.shape(name) {
        Shape::Enum(_) | Shape::Plain(_) => None,
        _ => {
            let ident = format_ident!("{}_SHAPE", shout(name));
            Some(quote!(#ident))
        }
    }
}

fn has_type(bundle: &Bundle, schema: &Value) -> bool {
    inner_ref(schema).is_some_and(|name| !matches!(bundle.shape(name), Shape::Plain(_)))
}

fn inner_ref(schema: &Value) -> Option<&str> {
    ref_name(schema)
        .or_else(|| schema.get("items").and_then(inner_ref))
        .or_else(|| schema.get("oneOf")?.as_array()?.iter().find_map(inner_ref))
}
