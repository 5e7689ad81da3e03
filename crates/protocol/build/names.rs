//! Conversion of names of the wire into Rust identifiers.

use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// Keywords of Rust, reserved ones included.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "_",
];

/// Name of a type or a variant.
pub fn camel(name: &str) -> Ident {
    let name = name.replace(['.', '@'], "_").to_upper_camel_case();
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("V{name}") } else { name };
    Ident::new(&name, Span::call_site())
}

/// Name of a type, spelled as in the schema.
pub fn exact(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// Name of a field or a function; keywords become raw identifiers.
pub fn snake(name: &str) -> Ident {
    let name = name.replace(['.', '-'], "_").to_snake_case();
    match KEYWORDS.contains(&name.as_str()) {
        true => Ident::new_raw(&name, Span::call_site()),
        false => Ident::new(&name, Span::call_site()),
    }
}

/// Name of a constant.
pub fn shout(name: &str) -> Ident {
    Ident::new(&name.replace(['.', '@', '-'], "_").to_shouty_snake_case(), Span::call_site())
}

/// Doc attributes for the lines of `text`.
pub fn docs(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| format!(" {line}"));
    quote! { #(#[doc = #lines])* }
}
