//! The whole page.

use super::{
    chart::chart,
    contents::contents,
    dialects::{dialect_list, differences, legend, limits, records},
    example::Examples,
    frame::family,
    introduction::introduction,
    legality::{meanings, table},
    rules::rules,
    schema_index::SchemaIndex,
    session::session,
    texts::fixed_texts,
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use pi_rpc_html::{BASE_STYLE, COPY_SCRIPT, head};
use pi_rpc_protocol::Dialect;

const STYLE: &str = concat!(include_str!("style.css"), include_str!("chart.css"));
const SCRIPT: &str = include_str!("script.js");
const TITLE: &str = "The RPC protocol of coding agents";

/// The reference of all dialects as one HTML page without external resources, `first` before the others.
///
/// Anchors are stable: `#command-prompt`, `#response-prompt`, `#event-message_update`, `#type-Model`, `#rule-framing`,
/// `#error-busy`.
pub fn reference_page(first: Dialect) -> String {
    let (index, examples) = (SchemaIndex::new(first), Examples::new());
    let script = [COPY_SCRIPT, SCRIPT].concat();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(TITLE, &[BASE_STYLE, STYLE].concat(), Some(&script)))
            body {
                a.skip href="#main" { "Skip to the reference" }
                (contents(&index))
                main id="main" {
                    (what_it_is(first))
                    (introduction(&index, &examples))
                    (dialects(&index))
                    (drawn(&index))
                    (by_state(&index))
                    (session(&index))
                    (differences(&index))
                    @for one in &index.families { (family(&index, &examples, one)) }
                    (fixed_texts(&index))
                    (rules(&index))
                    (records(&index))
                    (limits(&index))
                }
                script { (PreEscaped(&script)) }
            }
        }
    };
    page.into_string()
}

/// The beginning of the page: what the protocol is, whose it is, and where to go.
fn what_it_is(first: Dialect) -> Markup {
    let ways = [
        ("protocol", "In ten lines"),
        ("conversation", "A whole conversation"),
        ("commands", "Commands"),
        ("events", "Events"),
        ("dialects", "Dialects"),
    ];
    html! {
        header {
            h1 { (TITLE) }
            p.lead {
                "A host (an editor, a bot, a test) starts a coding agent as a child process and talks to it in lines of JSON: "
                "commands go in, responses and events come out."
            }
            p {
                "This is the reference: every command with its response and an example, every event, every type, and what holds in "
                "which state. It has " b { (first.record().title) } " first; the other dialects stand beside it."
            }
            p.ways { @for (place, words) in ways { a href={ "#" (place) } { (words) } } }
            p.soft { "Made from the schema of " code { "pi-rpc" } " " (env!("CARGO_PKG_VERSION")) "." }
        }
    }
}

fn dialects(index: &SchemaIndex) -> Markup {
    html! {
        section aria-labelledby="dialects" {
            h2 id="dialects" { "The dialects" }
            (dialect_list(index))
            h3 { "Signs on this page" }
            (legend(index))
        }
    }
}

fn drawn(index: &SchemaIndex) -> Markup {
    html! {
        section aria-labelledby="chart" {
            h2 id="chart" { "The chart" }
            p {
                "Five concurrent regions, each in one of its states. The lines in a state are frames that do not leave it. A broken "
                "arrow is observed in the originals and not required by the protocol."
            }
            @for (at, base) in index.bases.iter().enumerate() {
                details open[at == 0] {
                    summary { "In the dialect " span.mark { (base.as_str()) } }
                    div.wide tabindex="0" { (chart(index, *base)) }
                    details {
                        summary { "The same as a list" }
                        (transitions(index, *base))
                    }
                }
            }
            (meanings(index))
        }
    }
}

/// Every transition of the chart, state by state.
fn transitions(index: &SchemaIndex, base: Dialect) -> Markup {
    html! {
        div.wide { table {
            thead { tr { @for head in ["Region", "From", "To", "On"] { th scope="col" { (head) } } } }
            tbody {
                @for region in index.meta(base).into_iter().flat_map(|meta| &meta.chart.regions) {
                    @for step in &region.transitions {
                        tr {
                            td { (region.name) }
                            td { code { (step.from) } }
                            td { code { (step.to) } }
                            td { @if step.cut { "cut by " } (step.label) }
                        }
                    }
                }
            }
        } }
    }
}

fn by_state(index: &SchemaIndex) -> Markup {
    html! {
        section aria-labelledby="states" {
            h2 id="states" { "Commands by state" }
            p { "The disposition of each command in each state of the flow; inner states do not differ." }
            (table(index))
        }
    }
}
