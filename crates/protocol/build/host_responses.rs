//! Emits `HostResponseKind`: the inbound frames that respond to the server, which are all but commands.

use crate::{
    bundle::{Bundle, Shape},
    checks::bases,
    names::{camel, docs},
};
use proc_macro2::TokenStream;
use quote::quote;

/// Emits the enum from the families of `Inbound`.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let (Shape::Tagged { branches: inbound, .. }, Shape::Tagged { branches: commands, .. }) =
        (bundle.shape("Inbound"), bundle.shape("RpcCommand"))
    else {
        return Err("Inbound or RpcCommand is no tagged union".into());
    };
    let is_command = |value: &str| commands.iter().any(|(command, _)| command == value);
    let mut kinds: Vec<&(String, &str)> = inbound.iter().filter(|(value, _)| !is_command(value)).collect();
    kinds.dedup_by_key(|(value, _)| value);
    let variants: Vec<_> = kinds.iter().map(|(value, _)| camel(value)).collect();
    let values: Vec<_> = kinds.iter().map(|(value, _)| value).collect();
    let value_docs = values.iter().map(|value| docs(&format!("`{value}`")));
    let count = kinds.len();
    let only = kinds.iter().filter_map(|(value, def)| {
        let (list, variant) = (bases(&bundle.defs[*def], "x-dialects")?, camel(value));
        Some(quote! { Self::#variant => base.is_in(#list), })
    });
    Ok(quote! {
        /// What `type` may say in an inbound frame that is no command: it responds to a frame of the server, and gets no
        /// response itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum HostResponseKind { #(#value_docs #variants),* }

        impl HostResponseKind {
            /// All kinds, in the order of the schema.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            /// Spelling on the wire.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #values),* } }
            /// The kind with the spelling `text` on the wire.
            pub fn parse(text: &str) -> Option<Self> {
                match text { #(#values => Some(Self::#variants),)* _ => None }
            }
            /// Whether `base` has the kind.
            pub fn is_in(self, base: Base) -> bool { match self { #(#only)* _ => true } }
        }
    })
}
