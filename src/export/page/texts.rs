//! Texts that the wire fixes.

use super::{
    book::Book,
    words::{description, marks, only_in, prose, text, texts},
};
use maud::{Markup, html};
use serde_json::Value;

/// The errors, then the other texts.
pub(super) fn fixed(book: &Book) -> Markup {
    html! {
        section aria-labelledby="errors" {
            h2 id="errors" { "Error texts" }
            p { "What stands in braces is filled in." }
            (list(book, "errors", "error"))
        }
        section aria-labelledby="texts" {
            h2 id="texts" { "Other texts" }
            p { "What else the wire fixes, the same in every dialect." }
            (list(book, "texts", "text"))
        }
    }
}

/// Each text with what it is for, by dialect where they differ.
fn list(book: &Book, part: &str, prefix: &str) -> Markup {
    html! {
        dl.texts {
            @for (name, said) in book.part(part).as_object().into_iter().flatten() {
                dt id={ (prefix) "-" (name) } { a.anchor href={ "#" (prefix) "-" (name) } { code { (name) } } (only_in(book, said)) }
                dd {
                    p { (prose(book, description(said))) }
                    @match said["text"].as_object() {
                        Some(by_base) => @for base in &book.bases {
                            @if let Some(own) = by_base.get(base.as_str()) { (marks(&[*base])) pre { (text(own)) } }
                        },
                        None => pre { (text(&said["text"])) },
                    }
                    p.soft { (written(&said["x-doc"])) }
                }
            }
        }
    }
}

fn written(sources: &Value) -> Markup {
    html! { "Written in: " (texts(sources).collect::<Vec<_>>().join("; ")) "." }
}
