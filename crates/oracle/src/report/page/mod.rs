//! The report as one self-contained HTML page: who was judged and by what, the sums, and each conversation with the state
//! beside every frame.
//!
//! - `facts` renders server, command, dialects, date and rules; `rules` the sums, and the rules one by one.
//! - `failed` lists what failed, above all else.
//! - `subject` renders a conversation: its records and findings; `updates` folds those that follow one another.

mod facts;
mod failed;
mod rules;
mod subject;
mod updates;

use super::{Outcome, Report, Subject};
use maud::{DOCTYPE, Markup, html};
use pi_rpc_files::harmless::harmless;
use pi_rpc_html::{BASE_STYLE, head};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::Tier;

const STYLE: &str = include_str!("style.css");

impl Report {
    /// The report as one HTML page, without scripts and without references to other files.
    pub fn to_page(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&self.counts(), &[BASE_STYLE, STYLE].concat(), None))
                body {
                    a.skip href="#subjects" { "Skip to the conversations" }
                    header {
                        h1 { "What was judged, and what came out" }
                        p { (self.counts()) "." }
                    }
                    main {
                        (self.failed())
                        section aria-labelledby="judged" {
                            h2 id="judged" { "What was judged" }
                            dl.key-facts { (self.facts()) }
                        }
                        (self.stale_ones())
                        (self.names())
                        @for number in self.worst_first() { (self.subjects[number].section(number)) }
                        (self.sums())
                        (self.exercised())
                        (self.not_exercised())
                    }
                }
            }
        };
        page.into_string()
    }

    /// The places of the subjects: those that failed, those that were not judged, those that passed.
    fn worst_first(&self) -> Vec<usize> {
        let rank = |outcome| match outcome {
            Outcome::Failed => 0,
            Outcome::Error => 1,
            Outcome::NotExercised => 2,
            Outcome::NotSupported => 3,
            Outcome::Passed => 4,
        };
        let mut places: Vec<usize> = (0..self.subjects.len()).collect();
        places.sort_by_key(|place| rank(self.subjects[*place].outcome));
        places
    }

    /// The filter of conversations, and the list of them. The filter is a matter of the style alone.
    fn names(&self) -> Markup {
        let count = |is_in: &dyn Fn(&Subject) -> bool| self.subjects.iter().filter(|it| is_in(it)).count();
        let choices = [
            ("show-all", "All", self.subjects.len()),
            ("show-failed", "Failed", count(&|it| matches!(it.outcome, Outcome::Failed | Outcome::Error))),
            ("show-known", "With known failures", count(&Subject::has_known)),
            (
                "show-unjudged",
                "Not judged",
                count(&|it| !matches!(it.outcome, Outcome::Passed | Outcome::Failed)),
            ),
        ];
        html! {
            nav aria-labelledby="subjects" {
                h2 id="subjects" { "Conversations" }
                fieldset.show {
                    legend { "Show" }
                    @for (id, words, count) in choices {
                        label {
                            input id=(id) type="radio" name="show" checked[id == "show-all"] disabled[count == 0];
                            (words) " (" (count) ")"
                        }
                    }
                    label { input #show-findings type="checkbox"; "Only records with findings" }
                }
                ul.subjects {
                    @for (number, subject) in self.worst_first().into_iter().map(|at| (at, &self.subjects[at])) {
                        li data-outcome=(class(subject.outcome)) data-known[subject.has_known()] {
                            (outcome(subject.outcome)) " " a href={ "#" (place(number)) } { (harmless(&subject.name)) }
                        }
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
                                code { (stale.rule) } " in " code { (harmless(&stale.trace)) }
                                @if let Some(kind) = &stale.kind { ", " code { (harmless(kind)) } }
                                ": " (harmless(&stale.why))
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Subject {
    /// Whether a finding is a known failure.
    fn has_known(&self) -> bool {
        self.findings.iter().any(|found| found.known.is_some())
    }
}

fn outcome(outcome: Outcome) -> Markup {
    let words = match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::NotSupported => "not supported",
        Outcome::NotExercised => "not exercised",
        Outcome::Error => "could not be judged",
    };
    html! { span class={ "outcome " (class(outcome)) } { (words) } }
}

/// The name of an outcome in the style.
const fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::NotSupported => "not-supported",
        Outcome::NotExercised => "not-exercised",
        Outcome::Error => "error",
    }
}

fn tier_and_name(tier: Tier, rule: Rule) -> Markup {
    html! { span class={ "tier " (tier) } { (tier) } " " code { (rule) } }
}

/// The anchor of a subject. Its name could be anything, so the anchor is its number.
fn place(number: usize) -> String {
    format!("s{}", number + 1)
}
