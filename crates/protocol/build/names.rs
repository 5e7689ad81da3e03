//! Names: from the wire's spelling to Rust's.

use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// A type or variant name.
pub fn camel(name: &str) -> Ident {
    let name = name.replace(['.', '@'], "_").to_upper_camel_case();
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("V{name}") } else { name };
    Ident::new(&name, Span::call_site())
}

/// A type's name as the schema spells it.
pub fn exact(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// A field or function name; keywords become raw identifiers.
pub fn snake(name: &str) -> Ident {
    let name = name.replace(['.', '-'], "_").to_snake_case();
    syn::parse_str::<Ident>(&name).unwrap_or_else(|_| Ident::new_raw(&name, Span::call_site()))
}

/// A constant's name.
pub fn shout(name: &str) -> Ident {
    Ident::new(&name.replace(['.', '@', '-'], "_").to_shouty_snake_case(), Span::call_site())
}

/// A doc attribute for each paragraph of `text`.
pub fn docs(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| format!(" {line}"));
    quote! { #(#[doc = #lines])* }
}
