//! The navigation of the page: search and table of contents.

use super::{inline::only_in, schema_index::SchemaIndex};
use maud::{Markup, html};
use pi_rpc_protocol::RuleId;

/// Sections before the frames, and below those after them.
pub(super) const BEFORE: [(&str, &str); 6] = [
    ("protocol", "In ten lines"),
    ("dialects", "The dialects"),
    ("chart", "The chart"),
    ("states", "Commands by state"),
    ("session", "The state of a session"),
    ("differences", "Differences"),
];
pub(super) const AFTER: [(&str, &str); 5] = [
    ("errors", "Error texts"),
    ("texts", "Other texts"),
    ("rules", "Rules"),
    ("records", "Defaults and behaviour"),
    ("limits", "Limits"),
];

pub(super) fn contents(index: &SchemaIndex) -> Markup {
    let texts = |part: &str| {
        index.part(part).as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let rules = RuleId::ALL.map(|rule| rule.to_string()).to_vec();
    let lists: [(&str, &str, Vec<String>); 3] =
        [("errors", "error", texts("errors")), ("texts", "text", texts("texts")), ("rules", "rule", rules)];
    html! {
        nav aria-label="Contents" {
            search hidden {
                label for="find" { "Search" }
                input #find type="search" placeholder="Press / to search" autocomplete="off" spellcheck="false";
                p.found role="status" {}
            }
            details open {
                summary { "Contents" }
                ul.top { @for (place, title) in BEFORE { li { a href={ "#" (place) } { (title) } } } }
                @for family in &index.families {
                    details {
                        summary { (family.title) " " span.soft { (family.members.len()) } }
                        ul {
                            (overview(family.id))
                            @for member in &family.members {
                                li { a href={ "#" (member.anchor) } { (member.label) } (only_in(index, index.def(&member.def))) }
                            }
                        }
                    }
                }
                @for (place, title) in AFTER {
                    @match lists.iter().find(|(id, ..)| *id == place) {
                        Some((_, prefix, names)) => (list(place, title, prefix, names)),
                        None => ul.top { li { a href={ "#" (place) } { (title) } } },
                    }
                }
            }
        }
    }
}

/// Renders the link to the beginning of a part. The summary of a list cannot hold it: links in what is pressed are not
/// reached with every screen reader.
fn overview(place: &str) -> Markup {
    html! { li { a href={ "#" (place) } { "Overview" } } }
}

fn list(place: &str, title: &str, prefix: &str, names: &[String]) -> Markup {
    html! {
        details {
            summary { (title) " " span.soft { (names.len()) } }
            ul { (overview(place)) @for name in names { li { a href={ "#" (prefix) "-" (name) } { (name) } } } }
        }
    }
}
