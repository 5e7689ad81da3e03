//! Emits an enum per `oneOf`, decided by its tag while the object streams by, or by its shape.

use crate::{
    bundle::{Bundle, Shape, ref_name},
    checks::bases,
    names::{camel, docs, exact},
    structs::with_sources,
};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;

/// Emits every union and, for a tagged one, the enum of its kinds.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let mut out = TokenStream::new();
    for (name, def) in &bundle.defs {
        match bundle.shape(name) {
            Shape::Tagged { tag, branches } => out.extend(tagged(bundle, name, def, tag, &branches)),
            Shape::Either(branches) => out.extend(by_shape(name, def, &branches)?),
            _ => {}
        }
    }
    Ok(out)
}

fn tagged(bundle: &Bundle, name: &str, def: &Value, tag: &str, branches: &[(String, &str)]) -> TokenStream {
    let ident = exact(name);
    let doc = docs(&with_sources(def));
    let mut members: Vec<&str> = branches.iter().map(|(_, branch)| *branch).collect();
    members.dedup();
    let variants: Vec<_> = members.iter().map(|m| variant(m, branches, def)).collect();
    let types: Vec<_> = members.iter().map(|m| exact(m)).collect();
    let variant_docs = members.iter().map(|m| docs(crate::bundle::description(&bundle.defs[*m])));
    let arms = branches.iter().map(|(value, branch)| {
        let variant = variant(branch, branches, def);
        let ty = exact(branch);
        quote! { #value => #ty::from_json(json).map(Self::#variant), }
    });
    let values: Vec<&str> = branches.iter().map(|(value, _)| value.as_str()).collect();
    let expecting = format!("an object with `{tag}` ({name})");
    let kind = if def.get("x-union").is_none() {
        kinds(bundle, name, tag, branches, def)
    } else {
        TokenStream::new()
    };
    quote! {
        #doc
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "frames are moved rarely and boxed where they rest")]
        pub enum #ident { #(#variant_docs #variants(#types)),* }

        impl FromJson for #ident {
            fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
                let tag = json.tag(#tag, #expecting)?;
                match tag.as_ref() {
                    #(#arms)*
                    other => Err(unknown_tag(#tag, other, &[#(#values),*])),
                }
            }
        }
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> { deserialize(from) }
        }
        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self { #(Self::#variants(inner) => ::serde::Serialize::serialize(inner, to)),* }
            }
        }
        #(impl From<#types> for #ident {
            fn from(inner: #types) -> Self { Self::#variants(inner) }
        })*
        #kind
    }
}

fn kinds(bundle: &Bundle, name: &str, tag: &str, branches: &[(String, &str)], def: &Value) -> TokenStream {
    let only = branches.iter().filter_map(|(_, branch)| {
        let list = bases(&bundle.defs[*branch], "x-dialects")?;
        let variant = variant(branch, branches, def);
        Some(quote! { Self::#variant => base.is_in(#list), })
    });
    let union = exact(name);
    let ident = format_ident!("{name}Kind");
    let variants: Vec<_> = branches.iter().map(|(_, b)| variant(b, branches, def)).collect();
    let values: Vec<&str> = branches.iter().map(|(value, _)| value.as_str()).collect();
    let value_docs = values.iter().map(|v| docs(&format!("`{v}`")));
    let count = values.len();
    let doc = docs(&format!("What `{tag}` may say in a [`{name}`]."));
    quote! {
        #doc
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum #ident { #(#value_docs #variants),* }

        impl #ident {
            /// All kinds, in the order of the schema.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            /// Spelling on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { #(Self::#variants => #values),* }
            }
            /// The kind with the spelling `text` on the wire.
            pub fn parse(text: &str) -> Option<Self> {
                match text { #(#values => Some(Self::#variants),)* _ => None }
            }
            /// Whether `base` has the kind.
            #[allow(unused_variables, reason = "some unions are the same in every dialect")]
            pub fn is_in(self, base: Base) -> bool {
                #[allow(clippy::match_single_binding, reason = "generated")]
                match self { #(#only)* #[allow(unreachable_patterns, reason = "generated")] _ => true }
            }
        }
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(self.as_str()) }
        }
        impl #union {
            /// Kind of the value.
            pub const fn kind(&self) -> #ident {
                match self { #(Self::#variants(_) => #ident::#variants),* }
            }
        }
    }
}

/// Name of a variant: from the value of its tag, in a union of families from the def.
pub fn variant(branch: &str, branches: &[(String, &str)], def: &Value) -> proc_macro2::Ident {
    if def.get("x-union").is_none()
        && let Some((value, _)) = branches.iter().find(|(_, b)| *b == branch)
    {
        return camel(value);
    }
    exact(branch.strip_prefix("Rpc").unwrap_or(branch))
}

fn by_shape(name: &str, def: &Value, branches: &[&Value]) -> Result<TokenStream, String> {
    let ident = exact(name);
    let doc = docs(&with_sources(def));
    let mut variants = Vec::new();
    let mut types = Vec::new();
    for branch in branches {
        let (variant, ty) = match (ref_name(branch), branch["type"].as_str()) {
            (Some(of), _) => (exact(of), {
                let of = exact(of);
                quote!(#of)
            }),
            (None, Some("string")) => (exact("Text"), quote!(String)),
            (None, Some("array")) => {
                let item = ref_name(&branch["items"]).ok_or(format!("{name}: array of what?"))?;
                let item = exact(item);
                (exact("Blocks"), quote!(Vec<#item>))
            }
            _ => return Err(format!("{name}: a branch that is neither a $ref, a string nor an array")),
        };
        variants.push(variant);
        types.push(ty);
    }
    let scalar = branches.iter().any(|b| b["type"] == "string");
    let read = match scalar {
        // The JSON type alone decides.
        true => quote! {
            TextOrList::from_json(json).map(|it| match it {
                TextOrList::Text(text) => Self::Text(text),
                TextOrList::List(list) => Self::Blocks(list),
            })
        },
        false => quote! {
            let start = json.clone();
            let mut fits = None;
            let mut count = 0;
            let mut reason = None;
            #({
                let mut branch = start.clone();
                match #types::from_json(&mut branch) {
                    Ok(inner) => {
                        count += 1;
                        fits = Some(Self::#variants(inner));
                        *json = branch;
                    }
                    Err(error) => reason = reason.or(Some(error)),
                }
            })*
            match (count, fits, reason) {
                (1, Some(it), _) => Ok(it),
                (0, _, Some(reason)) => Err(reason),
                _ => Err(JsonError::new("more than one kind of answer at once")),
            }
        },
    };
    Ok(quote! {
        #doc
        #[derive(Clone, Debug, PartialEq)]
        pub enum #ident { #(#[allow(missing_docs)] #variants(#types)),* }

        impl FromJson for #ident {
            fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> { #read }
        }
        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> { deserialize(from) }
        }
        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self { #(Self::#variants(inner) => ::serde::Serialize::serialize(inner, to)),* }
            }
        }
    })
}
