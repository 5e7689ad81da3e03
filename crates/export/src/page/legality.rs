//! Dispositions of commands, and cases of events.

use super::{
    inline::{dialect_marks, grouped_by_value, only, prose, term, text},
    schema_index::SchemaIndex,
};
use crate::{EventCase, Outcome, When};
use maud::{Markup, html};
use pi_rpc_protocol::{Dialect, FlowState};
use serde_json::Value;

/// Outcomes of a command in one state, by bases; the first whose condition holds applies.
type Outcomes<'a> = Vec<(Vec<Dialect>, &'a [Outcome])>;

/// The table of all commands and states, with the meanings of dispositions.
pub(super) fn table(index: &SchemaIndex) -> Markup {
    let commands = index.families.iter().find(|family| family.id == "commands");
    let states: Vec<&Value> = states(index).collect();
    html! {
        dl.legend {
            @for (disposition, means) in index.part("states")["dispositions"].as_object().into_iter().flatten() {
                div { dt { (word(disposition)) } dd { (text(means)) } }
            }
        }
        div.wide { table.states {
            thead { tr {
                th scope="col" { "Command" }
                @for state in &states { th scope="col" { code { (text(&state["name"])) } (only(index, &index.bases_in(state, "dialects"))) } }
            } }
            tbody {
                @for command in commands.into_iter().flat_map(|family| &family.members) {
                    tr {
                        th scope="row" {
                            a href={ "#" (command.anchor) } { code { (command.label) } }
                            (super::inline::only_in(index, index.def(&command.def)))
                        }
                        @let dispositions = by_state(index, &command.def);
                        @match everywhere(&dispositions) {
                            Some(outcomes) => td.alike colspan=(states.len()) { (outcome_list(outcomes)) },
                            None => @for (_, outcomes) in &dispositions { td { (outcomes_cell(outcomes)) } },
                        }
                    }
                }
            }
        } }
    }
}

/// The outcomes of one command, with equal states grouped.
pub(super) fn of_command(index: &SchemaIndex, def: &str) -> Markup {
    let dispositions = by_state(index, def);
    let mut groups: Vec<(Vec<&str>, Outcomes)> = Vec::new();
    for (state, outcomes) in dispositions.iter().filter(|(_, outcomes)| !outcomes.is_empty()) {
        match groups.iter_mut().find(|(_, known)| known == outcomes) {
            Some((states, _)) => states.push(state),
            None => groups.push((vec![state], outcomes.clone())),
        }
    }
    html! {
        ul {
            @match everywhere(&dispositions) {
                Some(outcomes) => li { "every state: " (outcome_list(outcomes)) },
                None => @for (states, outcomes) in &groups { li { (codes(states)) ": " (outcomes_cell(outcomes)) } },
            }
        }
    }
}

/// The outcomes of a command, if they are equal in all states.
fn everywhere<'a>(dispositions: &[(&str, Outcomes<'a>)]) -> Option<&'a [Outcome]> {
    let mut all = dispositions.iter().flat_map(|(_, outcomes)| outcomes).map(|(_, outcomes)| *outcomes);
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// The outcomes of a command by state; empty if no dialect has both.
pub(super) fn by_state<'a>(index: &'a SchemaIndex, def: &str) -> Vec<(&'a str, Outcomes<'a>)> {
    states(index)
        .map(|state| (text(&state["name"]), outcomes_in_state(index, def, text(&state["name"]))))
        .collect()
}

/// The outcomes in a state; a test ensures that inner states do not differ.
fn outcomes_in_state<'a>(index: &'a SchemaIndex, def: &str, state: &str) -> Outcomes<'a> {
    let outcomes = |base: &Dialect| {
        let mut commands = index.meta(*base)?.commands.iter();
        let states = &commands.find(|command| command.request == def)?.states;
        let is_meant = |name: &str| name.split('.').next() == Some(state);
        let (_, outcomes) = states.iter().find(|(name, _)| is_meant(name.as_str()))?;
        Some((*base, outcomes.as_slice()))
    };
    grouped_by_value(index.bases.iter().filter_map(outcomes))
}

fn outcomes_cell(by_bases: &Outcomes) -> Markup {
    html! {
        @for (bases, outcomes) in by_bases {
            div.case {
                @if by_bases.len() > 1 { (dialect_marks(bases)) " " }
                (outcome_list(outcomes))
            }
        }
    }
}

/// The outcomes with their conditions; the first that applies counts.
pub(super) fn outcome_list(outcomes: &[Outcome]) -> Markup {
    html! {
        @for (at, outcome) in outcomes.iter().enumerate() {
            @if at > 0 { ", else " }
            (word(outcome.disposition))
            @if let Some(error) = outcome.error { " " a href={ "#error-" (error) } { (error) } }
            @if let Some(When { field, is }) = &outcome.when { " if " code { (field) } " is " (quoted(is)) }
        }
    }
}

/// Values in quotes.
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
fn states(index: &SchemaIndex) -> impl Iterator<Item = &Value> {
    let flow = index.part("states")["regions"].as_array().into_iter().flatten().next();
    let states = flow.and_then(|flow| flow["states"].as_array()).into_iter().flatten();
    states.filter(|state| state.get("parent").is_none())
}

/// The transitions by a command's success and failure.
pub(super) fn response_transitions(def: &Value) -> Markup {
    let moves = |key: &str| def[key].as_object().cloned().unwrap_or_default();
    html! {
        @for (key, answer) in [("x-leads-to", "A success"), ("x-fails-to", "An error")] {
            @for (from, to) in moves(key) {
                div { (answer) " leads from " code { (from) } " to " code { (text(&to)) } "." }
            }
        }
    }
}

/// The cases of an event: states, transition, preceding events; `None` for other definitions.
pub(super) fn event_cases(index: &SchemaIndex, def: &str) -> Option<Markup> {
    let cases = |base: Dialect| {
        let mut events = index.meta(base)?.events.iter();
        Some((base, &events.find(|event| event.def == def)?.cases))
    };
    let having: Vec<(Dialect, &Vec<EventCase>)> =
        index.bases.iter().filter_map(|base| cases(*base)).collect();
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
            @for (bases, case) in grouped_by_value(each) {
                li {
                    @if bases.len() < having.len() { (dialect_marks(&bases)) " " }
                    @if case.r#in.is_empty() { "every state" } @else { (codes(&case.r#in)) }
                    @if let Some(When { field, is }) = &case.when { " if " code { (field) } " is " (either(is)) }
                    @if let Some(to) = case.to { "; leads to " code { (to) } }
                    @if !case.after.is_empty() {
                        "; after "
                        @for (at, event) in case.after.iter().enumerate() { @if at > 0 { ", " } (term(index, event)) }
                    }
                }
            }
        }
    };
    (!having.is_empty()).then_some(ul)
}

/// The events that a command causes.
pub(super) fn caused_events(index: &SchemaIndex, def: &str) -> Option<Markup> {
    let causes = |base: Dialect| {
        let mut commands = index.meta(base)?.commands.iter();
        Some((base, commands.find(|command| command.request == def)?.causes.clone()))
    };
    let groups = grouped_by_value(index.bases.iter().filter_map(|base| causes(*base)));
    let list = html! {
        @for (bases, events) in groups.iter().filter(|(_, events)| !events.is_empty()) {
            div {
                @if groups.len() > 1 { (dialect_marks(bases)) " " }
                @for (at, event) in events.iter().enumerate() { @if at > 0 { ", " } (term(index, event)) }
            }
        }
    };
    groups.iter().any(|(_, events)| !events.is_empty()).then_some(list)
}

fn either(values: &[&str]) -> Markup {
    html! { @for (at, value) in values.iter().enumerate() { @if at > 0 { " or " } code { (value) } } }
}

fn codes(names: &[&str]) -> Markup {
    html! { @for (at, name) in names.iter().enumerate() { @if at > 0 { ", " } code { (name) } } }
}

/// The descriptions of all states, by region.
pub(super) fn meanings(index: &SchemaIndex) -> Markup {
    let regions = index.part("states")["regions"].as_array().into_iter().flatten();
    html! {
        @for region in regions {
            h3 { (text(&region["name"])) }
            p { (prose(index, text(&region["description"]))) }
            dl.fields {
                @for state in region["states"].as_array().into_iter().flatten() {
                    dt id={ "state-" (text(&region["name"])) "-" (text(&state["name"])) } {
                        code.name { (text(&state["name"])) } (only(index, &index.bases_in(state, "dialects")))
                    }
                    dd { (prose(index, text(&state["description"]))) }
                }
            }
        }
    }
}
