//! Tables of fixed texts.

use super::{
    inline::{description, dialect_marks, only_in, prose, text, texts},
    schema_index::SchemaIndex,
};
use maud::{Markup, html};
use serde_json::Value;

/// The sections of error texts and of other texts.
pub(super) fn fixed_texts(index: &SchemaIndex) -> Markup {
    html! {
        section aria-labelledby="errors" {
            h2 id="errors" { "Error texts" }
            p { "Names in braces are placeholders." }
            (list(index, "errors", "error"))
        }
        section aria-labelledby="texts" {
            h2 id="texts" { "Other texts" }
            p { "Other fixed texts, the same in every dialect." }
            (list(index, "texts", "text"))
        }
    }
}

/// Each text with its purpose, by dialect where they differ.
fn list(index: &SchemaIndex, part: &str, prefix: &str) -> Markup {
    html! {
        dl.texts {
            @for (name, entry) in index.part(part).as_object().into_iter().flatten() {
                dt id={ (prefix) "-" (name) } { a.anchor href={ "#" (prefix) "-" (name) } { code { (name) } } (only_in(index, entry)) }
                dd {
                    p { (prose(index, description(entry))) }
                    @match entry["text"].as_object() {
                        Some(by_base) => @for base in &index.bases {
                            @if let Some(own) = by_base.get(base.as_str()) { (dialect_marks(&[*base])) pre { (text(own)) } }
                        },
                        None => pre { (text(&entry["text"])) },
                    }
                    p.soft { (source_list(&entry["x-doc"])) }
                }
            }
        }
    }
}

fn source_list(sources: &Value) -> Markup {
    html! { "Written in: " (texts(sources).collect::<Vec<_>>().join("; ")) "." }
}
