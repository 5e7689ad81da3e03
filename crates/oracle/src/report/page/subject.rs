//! Renders one conversation: its records with the state after each, and the findings.

use super::{
    class, outcome, place, tier_and_name,
    updates::{Group, grouped, updates_row},
};
use crate::report::{Outcome, Quote, ReportedFinding, Source, Subject, TimelineEntry, whole_frame::laid_out};
use maud::{Markup, html};
use pi_rpc_files::harmless::harmless;
use pi_rpc_protocol::Need;
use pi_rpc_recording::Direction;

impl Subject {
    pub(super) fn section(&self, number: usize) -> Markup {
        let heading = place(number);
        html! {
            section.subject aria-labelledby=(heading) data-outcome=(class(self.outcome)) data-known[self.has_known()] {
                h3 id=(heading) { (outcome(self.outcome)) " " (harmless(&self.name)) }
                p.soft {
                    (self.dialect_version()) ", " (self.frames_in) " frames in, " (self.frames_out) " out, "
                    (seconds(self.duration_ms)) " s."
                    @if !self.sees.contains(&Need::Host) { " Only what the server wrote was judged." }
                }
                @if let Some(reason) = &self.reason { p { (harmless(reason)) } }
                @for unread in &self.unread { p { "Line " (unread.line) ": " (harmless(&unread.reason)) } }
                @for remark in &self.remarks { p { (harmless(remark)) } }
                @match self.timeline.is_empty() {
                    true => @for found in &self.findings { (found.with_excerpt()) },
                    false => (self.conversation()),
                }
            }
        }
    }

    /// The timeline as a table, unfolded if the subject has findings or did not pass.
    fn conversation(&self) -> Markup {
        let shown = !self.findings.is_empty() || self.outcome != Outcome::Passed;
        let groups = grouped(&self.timeline);
        let before = |at: usize| at.checked_sub(1).and_then(|at| groups.get(at)).map(Group::state);
        html! {
            details open[shown] {
                summary { "The conversation, " (self.timeline.len()) " records" }
                table.records {
                    thead { tr {
                        @for head in ["Record", "Seconds", "From", "Frame", "State after it"] { th scope="col" { (head) } }
                    } }
                    tbody {
                        @for (at, group) in groups.iter().enumerate() {
                            @match group {
                                Group::Updates(updates) => (updates_row(updates, before(at))),
                                Group::Single(moment) => {
                                    (moment.row(before(at) == Some(moment.state.as_str())))
                                    @for found in moment.findings.iter().filter_map(|found| self.findings.get(*found)) {
                                        tr.marked { td colspan="5" { (found.details(found.record == moment.record)) } }
                                    }
                                }
                            }
                        }
                    }
                }
                @if self.shortened > 0 { p { (self.shortened) " records are shown shortened: together they are too long for this page." } }
                @if self.left_out > 0 { p { (self.left_out) " records more are not shown." } }
            }
            // Findings about records that are not shown.
            @for found in self.findings.iter().filter(|found| !self.shows(found)) { (found.with_excerpt()) }
        }
    }

    fn shows(&self, found: &ReportedFinding) -> bool {
        self.timeline.last().is_some_and(|last| found.record <= last.record)
            && self.timeline.iter().any(|moment| moment.record == found.record)
    }
}

impl TimelineEntry {
    fn row(&self, same_state: bool) -> Markup {
        html! {
            tr.marked[!self.findings.is_empty()] {
                td.number { (self.record) }
                td.number { (seconds(self.t)) }
                td { (direction(self.direction)) }
                td.text { (frame(&self.text, self.whole.as_deref())) }
                td.state.same[same_state] { (self.state) }
            }
        }
    }
}

impl ReportedFinding {
    /// The finding with the records around it.
    fn with_excerpt(&self) -> Markup {
        html! {
            (self.details(true))
            table.records {
                thead { tr { @for head in ["Record", "From", "Frame"] { th scope="col" { (head) } } } }
                tbody { @for quote in &self.excerpt { (quote.row()) } }
            }
        }
    }

    /// The finding, with the rule to unfold. `first`: with the expectation, else as a repetition.
    fn details(&self, first: bool) -> Markup {
        let (about, difference) = (self.rule.about(), &self.difference);
        html! {
            details {
                summary {
                    (tier_and_name(self.tier, self.rule))
                    @if first { ": expected " (harmless(&self.expected)) } @else { ", again" }
                    @if self.known.is_some() { " " span.good { "(known)" } }
                }
                div.about {
                    p { (about.sentence) }
                    p.soft { "Written in: " @for (place, source) in self.sources.iter().enumerate() { @if place > 0 { "; " } (written_in(source)) } "." }
                    p { code { (harmless(&self.kind)) } " in " code { (self.state) } ", " (self.count) " in all." }
                    @if let Some(session) = &self.session { p { "Session " code { (harmless(session)) } "." } }
                    p {
                        @if !difference.pointer.is_empty() { "At " code { (harmless(&difference.pointer)) } ": " }
                        @if difference.expected != self.expected { "expected " code { (harmless(&difference.expected)) } ", " }
                        "got " code { (harmless(&difference.got)) } "."
                    }
                    @for other in &self.also_expected { p { "At another time: expected " (harmless(other)) } }
                    @if let Some(why) = &self.known { p { span.good { "Known: " } (harmless(why)) } }
                }
            }
        }
    }
}

impl Quote {
    fn row(&self) -> Markup {
        html! {
            tr.marked[self.marked] .cause[self.cause] {
                td.number { (self.record) }
                td { (direction(self.direction)) }
                td.text { (frame(&self.text, self.whole.as_deref())) }
            }
        }
    }
}

/// A record; a shortened one unfolds to the whole.
pub(super) fn frame(text: &str, whole: Option<&str>) -> Markup {
    html! {
        @match whole {
            // Parsers of HTML drop a line feed at the beginning.
            Some(whole) => details { summary { (text) } pre { "\n" (laid_out(whole)) } },
            None => (text),
        }
    }
}

const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "in",
        Direction::Out => "out",
        Direction::Err => "err",
        Direction::Meta => "meta",
    }
}

pub(super) fn seconds(milliseconds: f64) -> String {
    format!("{:.3}", milliseconds / 1000.0)
}

/// A source, linked to its address.
fn written_in(source: &Source) -> Markup {
    let section = source.section.as_ref().map(|section| format!(": {section}")).unwrap_or_default();
    html! {
        @match &source.address {
            Some(address) => a href=(address) rel="noreferrer" { (source.document) (section) },
            None => { (source.document) (section) },
        }
    }
}
