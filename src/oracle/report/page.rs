//! The report as one self-contained HTML page: the sums, and each conversation with the state beside every frame.

use super::{Outcome, Report, ReportedFinding, Subject, Tally, TimelineEntry};
use crate::{
    harmless::harmless,
    html::head,
    machine::{Difference, Rule, Tier},
    oracle::Direction,
    protocol::Need,
};
use maud::{DOCTYPE, Markup, html};

const STYLE: &str = include_str!("page.css");

impl Report {
    /// The report as one HTML page, without scripts and without references to other files.
    pub fn to_page(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&self.counts(), STYLE, None))
                body {
                    header {
                        h1 { "What was judged, and what came out" }
                        p { (self.counts()) ". " (self.tool.name) " " (self.tool.version) "." }
                    }
                    main {
                        (self.first())
                        (self.sums())
                        (self.names())
                        @for (number, subject) in self.subjects.iter().enumerate() { (subject.section(number)) }
                        (self.stale_ones())
                        (self.not_exercised())
                    }
                }
            }
        };
        page.into_string()
    }

    fn first(&self) -> Markup {
        let first = self.rules_to_fix();
        html! {
            @if !first.is_empty() {
                section aria-labelledby="first" {
                    h2 id="first" { "Fix first" }
                    ol {
                        @for (tier, rule, subjects) in first.into_iter().take(3) {
                            li {
                                (tier_and_name(tier, rule)) ", in " (subjects) " of " (self.subjects.len()) ": "
                                (rule.about().sentence)
                            }
                        }
                    }
                }
            }
        }
    }

    fn sums(&self) -> Markup {
        let coverage = &self.coverage;
        html! {
            section aria-labelledby="sums" {
                h2 id="sums" { "Rules" }
                p { "Rules exercised: " (coverage.exercised.len()) " of " (coverage.applicable) " applicable." }
                div.wide {
                    (tallies("By tier", &self.summary.tiers))
                    (tallies("By area", &self.summary.areas))
                }
            }
        }
    }

    fn names(&self) -> Markup {
        html! {
            nav aria-labelledby="subjects" {
                h2 id="subjects" { "Conversations" }
                ul.subjects {
                    @for (number, subject) in self.subjects.iter().enumerate() {
                        li { (outcome(subject.outcome)) " " a href={ "#" (place(number)) } { (harmless(&subject.name)) } }
                    }
                }
            }
        }
    }

    fn stale_ones(&self) -> Markup {
        html! {
            @if !self.stale.is_empty() {
                section aria-labelledby="stale" {
                    h2 id="stale" { "Expected failures that did not occur" }
                    ul {
                        @for stale in &self.stale {
                            li {
                                code { (stale.rule) } " in " code { (stale.trace) }
                                @if let Some(kind) = &stale.kind { ", " code { (kind) } }
                                ": " (harmless(&stale.why))
                            }
                        }
                    }
                }
            }
        }
    }

    fn not_exercised(&self) -> Markup {
        html! {
            section aria-labelledby="unexercised" {
                h2 id="unexercised" { "Rules that were not exercised" }
                details {
                    summary { (self.coverage.not_exercised.len()) " rules" }
                    table {
                        thead { tr { th scope="col" { "Rule" } th scope="col" { "Why" } th scope="col" { "What it says" } } }
                        tbody {
                            @for not in &self.coverage.not_exercised {
                                tr {
                                    th scope="row" { code { (not.rule) } }
                                    td { (not.reason) }
                                    td { (not.rule.about().sentence) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn tallies(caption: &str, tallies: &[Tally]) -> Markup {
    html! {
        table.sums {
            caption { (caption) }
            thead { tr {
                td {}
                @for head in ["exercised", "applicable", "broken", "findings", "known"] { th scope="col" { (head) } }
            } }
            tbody {
                @for tally in tallies.iter().filter(|tally| tally.applicable > 0) {
                    tr {
                        th scope="row" { (tally.name) }
                        @for sum in [tally.exercised, tally.applicable, tally.broken, tally.findings, tally.known] {
                            td.number { (sum) }
                        }
                    }
                }
            }
        }
    }
}

impl Subject {
    fn section(&self, number: usize) -> Markup {
        let heading = place(number);
        html! {
            section.subject aria-labelledby=(heading) {
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
        let before = |at: usize| at.checked_sub(1).and_then(|at| self.timeline.get(at));
        html! {
            details open[shown] {
                summary { "The conversation, " (self.timeline.len()) " records" }
                div.wide { table {
                    thead { tr {
                        @for head in ["Record", "s", "", "Frame", "State after it"] { th scope="col" { (head) } }
                    } }
                    tbody {
                        @for (at, moment) in self.timeline.iter().enumerate() {
                            (moment.row(before(at).is_some_and(|before| before.state == moment.state)))
                            @for found in moment.findings.iter().filter_map(|found| self.findings.get(*found)) {
                                tr.marked { td colspan="5" { (found.details(found.record == moment.record)) } }
                            }
                        }
                    }
                } }
                @if self.left_out > 0 { p { (self.left_out) " records more are not shown." } }
            }
            // Findings about records that are not shown.
            @for found in self.findings.iter().filter(|found| !self.shows(found)) { (found.with_excerpt()) }
        }
    }

    fn shows(&self, found: &ReportedFinding) -> bool {
        self.timeline.iter().any(|moment| moment.record == found.record)
    }
}

impl TimelineEntry {
    fn row(&self, same_state: bool) -> Markup {
        let class = if self.findings.is_empty() { "" } else { "marked" };
        html! {
            tr class=(class) {
                td.number { (self.record) }
                td.number { (seconds(self.t)) }
                td { (direction(self.direction)) }
                td.text { (self.text) }
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
            table { tbody {
                @for quote in &self.excerpt {
                    tr.marked[quote.marked] .cause[quote.cause] {
                        td.number { (quote.record) }
                        td { (direction(quote.direction)) }
                        td.text { (quote.text) }
                    }
                }
            } }
        }
    }

    /// The finding, with the rule to unfold. `first`: with the expectation, else as a repetition.
    fn details(&self, first: bool) -> Markup {
        let about = self.rule.about();
        html! {
            details {
                summary {
                    (tier_and_name(self.tier, self.rule))
                    @if first { ": expected " (harmless(&self.expected)) } @else { ", again" }
                    @if self.known.is_some() { " " span.good { "(known)" } }
                }
                div.told {
                    p { (about.sentence) }
                    p.soft { "Written in: " (about.sources.join("; ")) "." }
                    p { code { (self.kind) } " in " code { (self.state) } ", " (self.count) " in all." }
                    @if let Some(session) = &self.session { p { "Session " code { (harmless(session)) } "." } }
                    @if let Some(Difference { pointer, expected, got }) = &self.difference {
                        p { "At " code { (harmless(pointer)) } ": expected " code { (harmless(expected)) } ", got " code { (harmless(got)) } "." }
                    }
                    @for other in &self.also_expected { p { "At another time: expected " (harmless(other)) } }
                    @if let Some(why) = &self.known { p { span.good { "Known: " } (harmless(why)) } }
                }
            }
        }
    }
}

fn outcome(outcome: Outcome) -> Markup {
    let (class, words) = match outcome {
        Outcome::Passed => ("passed", "passed"),
        Outcome::Failed => ("failed", "failed"),
        Outcome::NotSupported => ("not-supported", "not supported"),
        Outcome::NotExercised => ("not-exercised", "not exercised"),
        Outcome::Error => ("error", "could not be judged"),
    };
    html! { span class={ "outcome " (class) } { (words) } }
}

fn tier_and_name(tier: Tier, rule: Rule) -> Markup {
    html! { span class={ "tier " (tier) } { (tier) } " " code { (rule) } }
}

const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "in",
        Direction::Out => "out",
        Direction::Err => "err",
        Direction::Meta => "meta",
    }
}

fn seconds(milliseconds: f64) -> String {
    format!("{:.3}", milliseconds / 1000.0)
}

/// The anchor of a subject. Its name could be anything, so the anchor is its number.
fn place(number: usize) -> String {
    format!("s{}", number + 1)
}
