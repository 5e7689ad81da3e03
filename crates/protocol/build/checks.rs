//! What a dialect adds to the union types: presence, values and branches that only some dialects have; and the
//! shapes that tell which properties a dialect does not know.

use crate::{
    bundle::{Bundle, Shape, ref_name, strings},
    names::{camel, exact, shout},
    structs::{Field, field_ident},
    unions::variant,
};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::{Map, Value};

/// Emits `Check` for every type, and its `Shape`.
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
                fn check(&self, base: Base) -> Result<(), Fault> { let _ = base; #body Ok(()) }
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
    for field in Field::all(def, properties) {
        let (name, ident) = (field.name, field_ident(field.name));
        let only = bases(field.schema, "x-dialects");
        let required_in = match &only {
            Some(only) if required.contains(&name) => Some(only.clone()),
            _ => bases(field.schema, "x-required-in"),
        };
        if let Some(list) = required_in {
            out.extend(quote! {
                if self.#ident.is_none() && base.is_in(#list) { return Err(Fault::missing(#name)); }
            });
        }
        if has_type(bundle, field.schema) {
            let check = quote! { self.#ident.check(base).map_err(|fault| fault.within(#name))?; };
            out.extend(match only {
                Some(list) => quote! { if base.is_in(#list) { #check } },
                None => check,
            });
        }
    }
    out
}

/// Drops what the dialect does not have.
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
            quote! { Self::#variant(_) if !base.is_in(#list) => return Err(Fault::foreign(#value)), }
        });
        quote! { #foreign Self::#variant(inner) => inner.check(base)?, }
    });
    quote! { match self { #(#arms)* } }
}

fn shape_check(bundle: &Bundle, branches: &[&Value]) -> TokenStream {
    let arms = branches.iter().map(|branch| match ref_name(branch) {
        Some(of) => {
            let variant = exact(of);
            quote! { Self::#variant(inner) => inner.check(base)?, }
        }
        None if has_type(bundle, branch) => quote! { Self::Blocks(inner) => inner.check(base)?, },
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
        quote! { Self::#variant if !base.is_in(#list) => return Err(Fault::foreign(#value)), }
    });
    quote! { match self { #(#arms)* _ => {} } }
}

fn struct_shape(bundle: &Bundle, def: &Value, properties: &Map<String, Value>) -> Option<TokenStream> {
    let required = strings(def, "required").unwrap_or_default();
    let fields = properties.iter().filter_map(|(name, schema)| {
        let only = bases(schema, "x-dialects");
        let inner = inner_shape(bundle, schema);
        let is_required = required.contains(&name.as_str());
        // A request's id is echoed as it came, `null` included.
        let is_request_id = ref_name(schema) == Some("RequestId");
        if only.is_none() && inner.is_none() && (is_required || is_request_id) {
            return None;
        }
        // Where the dialect does not have a required property, it is taken away before this counts.
        let required_in = match is_required {
            true => quote!(&Base::ALL),
            false => bases(schema, "x-required-in").unwrap_or(quote!(&[])),
        };
        let only = only.map_or(quote!(None), |list| quote!(Some(#list)));
        let inner = inner.map_or(quote!(None), |shape| quote!(Some(&#shape)));
        Some(quote!(Property { name: #name, only: #only, required_in: #required_in, inner: #inner }))
    });
    Some(quote!(Shape::Object(&[#(#fields),*])))
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

/// The shape of what a property holds, through arrays and nullables.
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
