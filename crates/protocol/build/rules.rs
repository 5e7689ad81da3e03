//! Emits the list of rules, and the properties of each.

use crate::{
    bundle::{Bundle, description},
    names::{camel, docs},
};
use proc_macro2::TokenStream;
use quote::quote;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Emits `Tier`, `Side`, `Area`, `Need`, `RuleId` and `RuleAbout`.
pub fn emit(bundle: &Bundle) -> Result<TokenStream, String> {
    let rules = &bundle.rules;
    let names: Vec<&str> = rules.keys().map(String::as_str).collect();
    let variants: Vec<_> = names.iter().map(|name| camel(name)).collect();
    let variant_docs = rules.values().map(|rule| docs(description(rule)));
    let count = names.len();
    let about = rules.values().map(about);
    let own = bundle.dialects.iter().filter(|dialect| dialect["frames"] == dialect["id"]);
    let bases: Vec<&str> = own.filter_map(|dialect| dialect["id"].as_str()).collect();
    let tiers = rules
        .iter()
        .map(|(name, rule)| tiers(rule, &bases).map_err(|error| format!("rules.json: {name}: {error}")))
        .collect::<Result<Vec<_>, _>>()?;
    let tier = enumeration("Tier", "Obligation of a rule.", &TIERS);
    let side = enumeration("Side", "Side whose frames a rule judges.", &SIDES);
    let need =
        enumeration("Need", "Observation that a rule needs in addition to the frames of the server.", &NEEDS);
    let listed: BTreeSet<&str> = rules.values().filter_map(|rule| rule["area"].as_str()).collect();
    let areas: Vec<(&str, &str)> = listed.into_iter().map(|area| (area, "")).collect();
    let area = enumeration("Area", "Subject of a rule; reports group by it.", &areas);
    Ok(quote! {
        #tier
        #side
        #need
        #area
        /// Rule that frames are judged by. The name is stable: reports and expectation files use it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RuleId { #(#variant_docs #variants),* }

        /// Properties of a rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct RuleAbout {
            /// The rule in one sentence.
            pub sentence: &'static str,
            /// Side whose frames the rule judges.
            pub side: Side,
            /// Area that reports group the rule in.
            pub area: Area,
            /// Observations that the rule needs in addition to the frames of the server.
            pub needs: &'static [Need],
            /// Documents that contain the rule; `schema/README.md` describes the names.
            pub sources: &'static [&'static str],
        }

        impl RuleId {
            /// Every rule.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            /// The stable name.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #names),* } }
            /// The rule called `name`.
            pub fn parse(name: &str) -> Option<Self> {
                match name { #(#names => Some(Self::#variants),)* _ => None }
            }
            /// Properties of the rule.
            pub const fn about(self) -> &'static RuleAbout {
                match self { #(Self::#variants => &#about),* }
            }
            /// Tier of the rule in `base`; `None`: the rule does not apply there.
            pub const fn tier(self, base: Base) -> Option<Tier> {
                match self { #(Self::#variants => #tiers),* }
            }
        }
        impl ::std::fmt::Display for RuleId {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(self.as_str()) }
        }
    })
}

const TIERS: [(&str, &str); 3] = [
    ("MUST", "A document requires this, or the protocol does not work without it: a violation fails."),
    ("SHOULD", "The originals do this, with known exceptions: a violation fails unless only MUST counts."),
    (
        "OBSERVED",
        "The originals do this, but no document requires it: a difference is reported and never fails.",
    ),
];
const SIDES: [(&str, &str); 2] =
    [("server", "Frames of the server, and its exit."), ("host", "Frames of the host.")];
const NEEDS: [(&str, &str); 5] = [
    ("host", "Frames that the host wrote."),
    ("end", "Exit of the process, or the files that it left."),
    ("clock", "Time of each frame."),
    ("hazard", "Server that is inconvenient on purpose."),
    ("sessions", "Connection that carries many sessions."),
];

fn enumeration(name: &str, doc: &str, values: &[(&str, &str)]) -> TokenStream {
    let (ident, doc, count) = (camel(name), docs(doc), values.len());
    let texts: Vec<&str> = values.iter().map(|(value, _)| *value).collect();
    let variants: Vec<_> = texts.iter().map(|value| camel(&value.to_lowercase())).collect();
    let variant_docs = values.iter().map(|(value, text)| match text.is_empty() {
        true => docs(&format!("`{value}`")),
        false => docs(text),
    });
    let abouts: Vec<&str> = values.iter().map(|(_, text)| *text).filter(|text| !text.is_empty()).collect();
    let about = (abouts.len() == count).then(|| {
        quote! {
            /// Meaning in one sentence.
            pub const fn about(self) -> &'static str { match self { #(Self::#variants => #abouts),* } }
        }
    });
    quote! {
        #doc
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum #ident { #(#variant_docs #variants),* }
        impl #ident {
            #about
            /// All of them, in order.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];
            /// Name in the schema.
            pub const fn as_str(self) -> &'static str { match self { #(Self::#variants => #texts),* } }
        }
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.write_str(self.as_str()) }
        }
    }
}

fn about(rule: &Value) -> TokenStream {
    let sentence = description(rule);
    let side = camel(rule["side"].as_str().unwrap_or_default());
    let area = camel(rule["area"].as_str().unwrap_or_default());
    let texts = |key: &str| -> Vec<&str> {
        rule.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let needs = texts("needs").into_iter().map(camel);
    let sources = texts("x-doc");
    quote! {
        RuleAbout {
            sentence: #sentence,
            side: Side::#side,
            area: Area::#area,
            needs: &[#(Need::#needs),*],
            sources: &[#(#sources),*],
        }
    }
}

/// Tier for all dialects, or one for each base that has the rule.
fn tiers(rule: &Value, bases: &[&str]) -> Result<TokenStream, String> {
    match &rule["tier"] {
        Value::Object(by) => by_base(by, bases),
        all => tier(all),
    }
}

/// A base that is not named does not have the rule.
fn by_base(by: &Map<String, Value>, bases: &[&str]) -> Result<TokenStream, String> {
    if let Some(strange) = by.keys().find(|base| !bases.contains(&base.as_str())) {
        return Err(format!("{strange} is no base dialect"));
    }
    let arms = bases
        .iter()
        .map(|base| {
            let variant = camel(base);
            let tier = tier(by.get(*base).unwrap_or(&Value::Null))?;
            Ok(quote!(Base::#variant => #tier))
        })
        .collect::<Result<Vec<_>, String>>()?;
    Ok(quote!(match base { #(#arms),* }))
}

fn tier(value: &Value) -> Result<TokenStream, String> {
    if value.is_null() {
        return Ok(quote!(None));
    }
    let value = value.as_str().filter(|value| TIERS.iter().any(|(tier, _)| tier == value));
    let value = value.map(|value| camel(&value.to_lowercase())).ok_or("no such tier")?;
    Ok(quote!(Some(Tier::#value)))
}
