//! Renders which server was judged, how it was started, by which rules and when.

use super::Report;
use maud::{Markup, html};
use pi_rpc_files::harmless::harmless;

impl Report {
    pub(super) fn facts(&self) -> Markup {
        let it = &self.provenance;
        let known: usize = self.summary.tiers.iter().map(|tally| tally.known).sum();
        html! {
            (fact("Server", &texts(&it.servers, "not named in the recordings")))
            (fact("Version", &texts(&it.versions, "not given by the server")))
            (fact("Command", &commands(&it.commands)))
            (fact("Dialect", &texts(&it.dialects, "none")))
            @if let Some(date) = &it.date { (fact("Date", &html! { time datetime=(date) { (date) } })) }
            (fact("Rules", &html! {
                "those of " (self.tool.name) " " (self.tool.version) " down to " (it.least_tier) ": "
                (self.coverage.exercised.len()) " of " (self.coverage.applicable) " applicable were exercised"
            }))
            (fact("Known", &html! {
                (known) " known failures occurred, " (self.stale.len()) " did not"
            }))
        }
    }
}

fn fact(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn texts(values: &[String], none: &str) -> Markup {
    html! {
        @if values.is_empty() { (none) }
        @for (at, value) in values.iter().enumerate() { @if at > 0 { ", " } (harmless(value)) }
    }
}

fn commands(commands: &[String]) -> Markup {
    html! {
        @if commands.is_empty() { "not in the recordings" }
        @for (at, command) in commands.iter().enumerate() { @if at > 0 { ", " } code { (harmless(command)) } }
    }
}
