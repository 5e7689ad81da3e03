//! Emits the fixed texts: those of errors, which may differ by dialect, and others.

use crate::{
    bundle::{Bundle, description},
    names::{camel, docs, snake},
    structs::field_ident,
};
use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

/// Emits `ErrorText`, and a function for every text.
pub fn emit(bundle: &Bundle) -> TokenStream {
    [errors(bundle), texts(bundle)].into_iter().collect()
}

fn errors(bundle: &Bundle) -> TokenStream {
    let variants: Vec<_> = bundle.errors.keys().map(|n| camel(n)).collect();
    let variant_docs = bundle.errors.values().map(|e| docs(description(e)));
    let templates = bundle.errors.iter().map(|(name, error)| {
        let variant = camel(name);
        match error.get("text") {
            Some(Value::Object(by)) => {
                let arms = by.iter().map(|(base, text)| {
                    let base = camel(base);
                    let text = text.as_str().unwrap_or_default();
                    quote!(Base::#base => #text)
                });
                quote!(Self::#variant => match base { #(#arms),* })
            }
            text => {
                let text = text.and_then(Value::as_str).unwrap_or_default();
                quote!(Self::#variant => #text)
            }
        }
    });
    let named = bundle.errors.keys().zip(&variants).map(|(name, variant)| quote!(Self::#variant => #name));
    let refused = bundle.errors.values().zip(&variants).map(|(error, variant)| {
        let commands = error.get("x-refuses").and_then(Value::as_array).into_iter().flatten();
        let commands = commands.filter_map(Value::as_str).map(camel);
        quote!(Self::#variant => &[#(RpcCommandKind::#commands),*])
    });
    let count = variants.len();
    let functions = bundle.errors.iter().map(|(name, error)| {
        let (function, variant) = (snake(name), camel(name));
        let doc = docs(description(error));
        let places = placeholders(error.get("text").unwrap_or(&Value::Null));
        let args: Vec<_> = places.iter().map(|p| field_ident(p)).collect();
        let holes = places.iter().map(|p| format!("{{{p}}}"));
        quote! {
            #doc
            pub fn #function(base: super::Base #(, #args: &str)*) -> String {
                super::fill(super::ErrorText::#variant.template(base), &[#((#holes, #args)),*])
            }
        }
    });
    quote! {
        /// Text of `schema/errors.json`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorText { #(#variant_docs #variants),* }

        impl ErrorText {
            /// All texts.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];

            /// Commands that are refused with the text; empty: it is not for single commands.
            pub const fn refuses(self) -> &'static [RpcCommandKind] { match self { #(#refused),* } }
            /// Name in tables.
            pub const fn as_str(self) -> &'static str { match self { #(#named),* } }
            /// Text with its `{placeholders}`.
            pub const fn template(self, base: Base) -> &'static str { match self { #(#templates),* } }
        }

        /// The error texts with their placeholders filled.
        pub mod errors { #(#functions)* }
    }
}

fn texts(bundle: &Bundle) -> TokenStream {
    let functions = bundle.texts.iter().map(|(name, entry)| {
        let function = snake(name);
        let doc = docs(description(entry));
        let text = entry["text"].as_str().unwrap_or_default();
        let places = placeholders(&entry["text"]);
        let args: Vec<_> = places.iter().map(|p| field_ident(p)).collect();
        let holes = places.iter().map(|p| format!("{{{p}}}"));
        quote! {
            #doc
            pub fn #function(#(#args: &str),*) -> String { super::fill(#text, &[#((#holes, #args)),*]) }
        }
    });
    quote! {
        /// The texts of `schema/texts.json`, with their placeholders filled.
        pub mod texts { #(#functions)* }
    }
}

fn placeholders(text: &Value) -> Vec<String> {
    let texts: Vec<&str> = match text {
        Value::Object(by) => by.values().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    };
    let mut names: Vec<String> = Vec::new();
    for part in texts.iter().flat_map(|text| text.split('{').skip(1)) {
        let Some((name, _)) = part.split_once('}') else { continue };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}
