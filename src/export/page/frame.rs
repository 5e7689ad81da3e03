//! One def, with all that is known of it.

use super::{
    book::{Book, Family, Member},
    example::Examples,
    fields::holds,
    json::pretty,
    legality::{causes, fires, leads, of_command},
    session::{changes, tells},
    words::{alike, description, link, marks, only_in, prose, since, text, texts},
};
use maud::{Markup, html};
use serde_json::Value;

/// A family: what it is, then its defs.
pub(super) fn family(book: &Book, examples: &Examples, family: &Family) -> Markup {
    let union = book.def(family.union);
    html! {
        section aria-labelledby=(family.id) {
            h2 id=(family.id) {
                (family.title)
                @if !family.union.is_empty() { " " code.def id={ "type-" (family.union) } { (family.union) } }
            }
            @if !family.union.is_empty() { p { (prose(book, description(union))) } }
            @if family.id == "responses" { (successes(book)) }
            @for member in &family.members { (article(book, examples, member)) }
        }
    }
}

/// What is said of all answers; each stands with its command.
fn successes(book: &Book) -> Markup {
    html! {
        p {
            (prose(book, description(book.def("RpcSuccess")))) " " code.def id="type-RpcSuccess" { "RpcSuccess" }
            " Each stands with its command."
        }
    }
}

fn article(book: &Book, examples: &Examples, member: &Member) -> Markup {
    let Member { def: name, label, anchor } = member;
    let def = book.def(name);
    html! {
        article id=(anchor) {
            header {
                h3 { a.anchor href={ "#" (anchor) } { (label) } }
                @if name != label { code.def id={ "type-" (name) } { (name) } }
                @if let Some(way) = book.way(name) { span.way { (way) } }
                (only_in(book, def))
                (since(&def["x-since"]))
                @if text(&def["x-source"]) == "observed" { span.seen { "observed" } }
            }
            p { (prose(book, description(def))) }
            (pair(book, examples, name))
            @if let Some(response) = def.get("x-response").and_then(Value::as_str) { (answer(book, examples, response)) }
            (facts(book, name))
        }
    }
}

/// The success of a command.
fn answer(book: &Book, examples: &Examples, name: &str) -> Markup {
    html! {
        div.answer id=(book.anchor(name)) {
            h4 { "Response " code.def id={ "type-" (name) } { (name) } }
            p { (prose(book, description(book.def(name)))) }
            (pair(book, examples, name))
        }
    }
}

/// What it holds beside what it looks like.
fn pair(book: &Book, examples: &Examples, name: &str) -> Markup {
    let bases = book.bases_of(book.def(name)).into_iter();
    let shown = alike(bases.map(|base| (base, pretty(&examples.of(book.exported(base), name)))));
    html! {
        div.pair {
            div { (holds(book, name)) }
            div.examples {
                @for (bases, example) in &shown {
                    figure {
                        @if shown.len() > 1 { figcaption { (marks(bases)) } }
                        pre tabindex="0" { code { (example) } }
                    }
                }
            }
        }
    }
}

fn facts(book: &Book, name: &str) -> Markup {
    let def = book.def(name);
    let users: Vec<&String> = book.used_by(name).collect();
    html! {
        dl.facts {
            @if def.get("x-in").is_some() { div { dt { "In the states" } dd { (of_command(book, name)) (leads(def)) } } }
            @if let Some(causes) = causes(book, name) { div { dt { "Causes" } dd { (causes) } } }
            @if let Some(cases) = fires(book, name) { div { dt { "Comes in" } dd { (cases) } } }
            @if let Some(effects) = changes(book, name) { div { dt { "Changes" } dd { (effects) } } }
            @if let Some(members) = tells(book, name) { div { dt { "Tells" } dd { (members) } } }
            @if def["x-control"] == true {
                div { dt { "Order" } dd { "It overtakes the commands before it where they are served one by one." } }
            }
            @if def["x-served"] == false {
                div { dt { "Not served" } dd { "pi-rpc serve does not do it and answers that it is not implemented." } }
            }
            @if def["x-reads"] == true {
                div { dt { "Order" } dd { "It changes nothing, and is answered at once." } }
            }
            @if def["x-cuts"] == true {
                div { dt { "Observed" } dd { "In the originals its success ends an open run without the closing events." } }
            }
            @if let Some(answers) = answers(book, name) { div { dt { "Answered by" } dd { (answers) } } }
            @if !users.is_empty() {
                div { dt { "Used in" } dd { @for (at, user) in users.iter().enumerate() { @if at > 0 { ", " } (link(book, user)) } } }
            }
            div { dt { "Written in" } dd { @for (at, source) in texts(&def["x-doc"]).enumerate() { @if at > 0 { "; " } (source) } } }
        }
    }
}

/// What a host may answer to a request of an extension; nothing for what is no such request.
fn answers(book: &Book, name: &str) -> Option<Markup> {
    let mut metas = book.bases.iter().filter_map(|base| book.meta(*base));
    let dialog = metas.find_map(|meta| meta.dialogs.iter().find(|dialog| dialog.def == name))?;
    Some(html! {
        @if dialog.answers.is_empty() { "nothing" }
        @for (at, answer) in dialog.answers.iter().enumerate() { @if at > 0 { " or " } (link(book, answer)) }
    })
}
