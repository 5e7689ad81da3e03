//! What becomes of a command, and when an event comes.

use super::{
    book::Book,
    words::{alike, marks, only, prose, term, text},
};
use crate::{
    export::{EventCase, Outcome, When},
    protocol::{Dialect, FlowState},
};
use maud::{Markup, html};
use serde_json::Value;

/// What becomes of a command in one state, by the bases that it holds for: the first outcome whose condition holds.
type Fate<'a> = Vec<(Vec<Dialect>, &'a [Outcome])>;

/// Every command by every state, with what the words mean.
pub(super) fn table(book: &Book) -> Markup {
    let commands = book.families.iter().find(|family| family.id == "commands");
    let states: Vec<&Value> = states(book).collect();
    html! {
        dl.legend {
            @for (disposition, means) in book.part("states")["dispositions"].as_object().into_iter().flatten() {
                div { dt { (word(disposition)) } dd { (text(means)) } }
            }
        }
        div.wide { table.states {
            thead { tr {
                th scope="col" { "Command" }
                @for state in &states { th scope="col" { code { (text(&state["name"])) } (only(book, &book.within(state, "dialects"))) } }
            } }
            tbody {
                @for command in commands.into_iter().flat_map(|family| &family.members) {
                    tr {
                        th scope="row" {
                            a href={ "#" (command.anchor) } { code { (command.label) } }
                            (super::words::only_in(book, book.def(&command.def)))
                        }
                        @let fates = by_state(book, &command.def);
                        @match everywhere(&fates) {
                            Some(outcomes) => td.alike colspan=(states.len()) { (one_after_another(outcomes)) },
                            None => @for (_, fate) in &fates { td { (told(fate)) } },
                        }
                    }
                }
            }
        } }
    }
}

/// The same of one command: states in which it fares alike stand together.
pub(super) fn of_command(book: &Book, def: &str) -> Markup {
    let fates = by_state(book, def);
    let mut groups: Vec<(Vec<&str>, Fate)> = Vec::new();
    for (state, fate) in fates.iter().filter(|(_, fate)| !fate.is_empty()) {
        match groups.iter_mut().find(|(_, known)| known == fate) {
            Some((states, _)) => states.push(state),
            None => groups.push((vec![state], fate.clone())),
        }
    }
    html! {
        ul {
            @match everywhere(&fates) {
                Some(outcomes) => li { "every state: " (one_after_another(outcomes)) },
                None => @for (states, fate) in &groups { li { (codes(states)) ": " (told(fate)) } },
            }
        }
    }
}

/// What becomes of it wherever it can be sent, if that is the same.
fn everywhere<'a>(fates: &[(&str, Fate<'a>)]) -> Option<&'a [Outcome]> {
    let mut all = fates.iter().flat_map(|(_, fate)| fate).map(|(_, outcomes)| *outcomes);
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// What becomes of the command in each state; nothing where no dialect that has the command has the state.
pub(super) fn by_state<'a>(book: &'a Book, def: &str) -> Vec<(&'a str, Fate<'a>)> {
    states(book).map(|state| (text(&state["name"]), fate(book, def, text(&state["name"])))).collect()
}

/// In all of a superstate the same holds: a test says so.
fn fate<'a>(book: &'a Book, def: &str, state: &str) -> Fate<'a> {
    let outcomes = |base: &Dialect| {
        let mut commands = book.meta(*base)?.commands.iter();
        let states = &commands.find(|command| command.request == def)?.states;
        let is_meant = |name: &str| name.split('.').next() == Some(state);
        let (_, outcomes) = states.iter().find(|(name, _)| is_meant(name.as_str()))?;
        Some((*base, outcomes.as_slice()))
    };
    alike(book.bases.iter().filter_map(outcomes))
}

fn told(fate: &Fate) -> Markup {
    html! {
        @for (bases, outcomes) in fate {
            div.case {
                @if fate.len() > 1 { (marks(bases)) " " }
                (one_after_another(outcomes))
            }
        }
    }
}

/// The outcomes, the first of which that applies counts.
pub(super) fn one_after_another(outcomes: &[Outcome]) -> Markup {
    html! {
        @for (at, outcome) in outcomes.iter().enumerate() {
            @if at > 0 { ", else " }
            (word(outcome.disposition))
            @if let Some(error) = outcome.error { " " a href={ "#error-" (error) } { (error) } }
            @if let Some(When { field, is }) = &outcome.when { " if " code { (field) } " is " (quoted(is)) }
        }
    }
}

/// Values as the wire has them.
fn quoted(values: &[&str]) -> Markup {
    html! {
        @for (at, value) in values.iter().enumerate() {
            @if at > 0 { " or " }
            @if ["true", "false"].contains(value) { code { (value) } } @else { code { "\"" (value) "\"" } }
        }
    }
}

fn word(disposition: &str) -> Markup {
    html! { span class={ "fate " (disposition) } { (disposition) } }
}

/// The outermost states of the flow that some base has.
fn states(book: &Book) -> impl Iterator<Item = &Value> {
    let flow = book.part("states")["regions"].as_array().into_iter().flatten().next();
    let states = flow.and_then(|flow| flow["states"].as_array()).into_iter().flatten();
    states.filter(|state| state.get("parent").is_none())
}

/// Where the success of a command leads, and its failure.
pub(super) fn leads(def: &Value) -> Markup {
    let moves = |key: &str| def[key].as_object().cloned().unwrap_or_default();
    html! {
        @for (key, answer) in [("x-leads-to", "A success"), ("x-fails-to", "An error")] {
            @for (from, to) in moves(key) {
                div { (answer) " leads from " code { (from) } " to " code { (text(&to)) } "." }
            }
        }
    }
}

/// In which states an event may come, where it leads, and what came before; nothing for what is no event.
pub(super) fn fires(book: &Book, def: &str) -> Option<Markup> {
    let cases = |base: Dialect| {
        let mut events = book.meta(base)?.events.iter();
        Some((base, &events.find(|event| event.def == def)?.cases))
    };
    let having: Vec<(Dialect, &Vec<EventCase>)> = book.bases.iter().filter_map(|base| cases(*base)).collect();
    // Every state of one dialect is not every state of another.
    let is_every = |base: Dialect, case: &EventCase| {
        FlowState::ALL.into_iter().filter(|state| state.is_in(base.base())).count() == case.r#in.len()
    };
    let shown = |base: Dialect, case: &EventCase| {
        let r#in = if is_every(base, case) { Vec::new() } else { case.r#in.clone() };
        (base, EventCase { r#in, ..case.clone() })
    };
    let each = having.iter().flat_map(|(base, cases)| cases.iter().map(|case| shown(*base, case)));
    let ul = html! {
        ul {
            @for (bases, case) in alike(each) {
                li {
                    @if bases.len() < having.len() { (marks(&bases)) " " }
                    @if case.r#in.is_empty() { "every state" } @else { (codes(&case.r#in)) }
                    @if let Some(When { field, is }) = &case.when { " if " code { (field) } " is " (either(is)) }
                    @if let Some(to) = case.to { "; leads to " code { (to) } }
                    @if !case.after.is_empty() {
                        "; after "
                        @for (at, event) in case.after.iter().enumerate() { @if at > 0 { ", " } (term(book, event)) }
                    }
                }
            }
        }
    };
    (!having.is_empty()).then_some(ul)
}

/// What a command brings about by itself.
pub(super) fn causes(book: &Book, def: &str) -> Option<Markup> {
    let causes = |base: Dialect| {
        let mut commands = book.meta(base)?.commands.iter();
        Some((base, commands.find(|command| command.request == def)?.causes.clone()))
    };
    let groups = alike(book.bases.iter().filter_map(|base| causes(*base)));
    let told = html! {
        @for (bases, events) in groups.iter().filter(|(_, events)| !events.is_empty()) {
            div {
                @if groups.len() > 1 { (marks(bases)) " " }
                @for (at, event) in events.iter().enumerate() { @if at > 0 { ", " } (term(book, event)) }
            }
        }
    };
    groups.iter().any(|(_, events)| !events.is_empty()).then_some(told)
}

fn either(values: &[&str]) -> Markup {
    html! { @for (at, value) in values.iter().enumerate() { @if at > 0 { " or " } code { (value) } } }
}

fn codes(names: &[&str]) -> Markup {
    html! { @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } code { (name) } } }
}

/// The states of every region, in words.
pub(super) fn meanings(book: &Book) -> Markup {
    let regions = book.part("states")["regions"].as_array().into_iter().flatten();
    html! {
        @for region in regions {
            h3 { (text(&region["name"])) }
            p { (prose(book, text(&region["description"]))) }
            dl.fields {
                @for state in region["states"].as_array().into_iter().flatten() {
                    dt id={ "state-" (text(&region["name"])) "-" (text(&state["name"])) } {
                        code.name { (text(&state["name"])) } (only(book, &book.within(state, "dialects")))
                    }
                    dd { (prose(book, text(&state["description"]))) }
                }
            }
        }
    }
}
