//! The article of one definition, and the section of a group.

use super::{
    example::Examples,
    fields::definition_body,
    inline::{description, dialect_marks, grouped_by_value, link, only_in, prose, since, text, texts},
    legality::{caused_events, event_cases, of_command, response_transitions},
    schema_index::{Family, Member, SchemaIndex},
    session::{frame_effects, members_in_response},
};
use crate::json::pretty;
use maud::{Markup, html};
use serde_json::Value;

/// A section: its description, then its definitions.
pub(super) fn family(index: &SchemaIndex, examples: &Examples, family: &Family) -> Markup {
    let union = index.def(family.union);
    html! {
        section aria-labelledby=(family.id) {
            h2 id=(family.id) {
                (family.title)
                @if !family.union.is_empty() { " " code.def id={ "type-" (family.union) } { (family.union) } }
            }
            @if !family.union.is_empty() { p { (prose(index, description(union))) } }
            @if family.id == "responses" { (successes(index)) }
            @for member in &family.members { (article(index, examples, member)) }
        }
    }
}

/// The description of success responses, which are shown with their commands.
fn successes(index: &SchemaIndex) -> Markup {
    html! {
        p {
            (prose(index, description(index.def("RpcSuccess")))) " " code.def id="type-RpcSuccess" { "RpcSuccess" }
            " Each stands with its command."
        }
    }
}

fn article(index: &SchemaIndex, examples: &Examples, member: &Member) -> Markup {
    let Member { def: name, label, anchor } = member;
    let def = index.def(name);
    html! {
        article id=(anchor) {
            header {
                h3 { a.anchor href={ "#" (anchor) } { (label) } }
                @if name != label { code.def id={ "type-" (name) } { (name) } }
                @if let Some(way) = index.direction(name) { span.way { (way) } }
                (only_in(index, def))
                (since(&def["x-since"]))
                @if text(&def["x-source"]) == "observed" { span.seen { "observed" } }
            }
            p { (prose(index, description(def))) }
            (pair(index, examples, name))
            @if let Some(response) = def.get("x-response").and_then(Value::as_str) { (answer(index, examples, response)) }
            (facts(index, name))
        }
    }
}

/// The success response of a command.
fn answer(index: &SchemaIndex, examples: &Examples, name: &str) -> Markup {
    html! {
        div.answer id=(index.anchor(name)) {
            h4 { "Response " code.def id={ "type-" (name) } { (name) } }
            p { (prose(index, description(index.def(name)))) }
            (pair(index, examples, name))
        }
    }
}

/// The content of a definition beside its examples.
fn pair(index: &SchemaIndex, examples: &Examples, name: &str) -> Markup {
    let bases = index.bases_of(index.def(name)).into_iter();
    let shown = grouped_by_value(bases.map(|base| (base, pretty(&examples.of(index.exported(base), name)))));
    html! {
        div.pair {
            div { (definition_body(index, name)) }
            div.examples {
                @for (bases, example) in &shown {
                    figure {
                        @if shown.len() > 1 { figcaption { (dialect_marks(bases)) } }
                        pre tabindex="0" { code { (example) } }
                    }
                }
            }
        }
    }
}

fn facts(index: &SchemaIndex, name: &str) -> Markup {
    let def = index.def(name);
    let users: Vec<&String> = index.used_by(name).collect();
    html! {
        dl.facts {
            @if def.get("x-in").is_some() { div { dt { "In the states" } dd { (of_command(index, name)) (response_transitions(def)) } } }
            @if let Some(causes) = caused_events(index, name) { div { dt { "Causes" } dd { (causes) } } }
            @if let Some(cases) = event_cases(index, name) { div { dt { "Comes in" } dd { (cases) } } }
            @if let Some(effects) = frame_effects(index, name) { div { dt { "Changes" } dd { (effects) } } }
            @if let Some(members) = members_in_response(index, name) { div { dt { "Tells" } dd { (members) } } }
            @if def["x-control"] == true {
                div { dt { "Order" } dd { "It overtakes earlier commands in dialects that serve commands one by one." } }
            }
            @if def["x-served"] == false {
                div { dt { "Not served" } dd { "pi-rpc serve does not implement it and answers with an error." } }
            }
            @if def["x-reads"] == true {
                div { dt { "Order" } dd { "It only reads, and is answered at once." } }
            }
            @if def["x-cuts"] == true {
                div { dt { "Observed" } dd { "In the originals its success ends a run without the closing events." } }
            }
            @if let Some(answers) = answers(index, name) { div { dt { "Answered by" } dd { (answers) } } }
            @if !users.is_empty() {
                div { dt { "Used in" } dd { @for (at, user) in users.iter().enumerate() { @if at > 0 { ", " } (link(index, user)) } } }
            }
            div { dt { "Written in" } dd { @for (at, source) in texts(&def["x-doc"]).enumerate() { @if at > 0 { "; " } (source) } } }
        }
    }
}

/// The possible responses to a dialog; `None` for other definitions.
fn answers(index: &SchemaIndex, name: &str) -> Option<Markup> {
    let mut metas = index.bases.iter().filter_map(|base| index.meta(*base));
    let dialog = metas.find_map(|meta| meta.dialogs.iter().find(|dialog| dialog.def == name))?;
    Some(html! {
        @if dialog.answers.is_empty() { "nothing" }
        @for (at, answer) in dialog.answers.iter().enumerate() { @if at > 0 { " or " } (link(index, answer)) }
    })
}
