//! Renders what failed: the rules to fix first, and each conversation with its findings in a line each.

use super::{outcome, place, tier_and_name};
use crate::report::{Outcome, Report, ReportedFinding, Subject};
use maud::{Markup, html};
use pi_rpc_files::harmless::harmless;

/// The most findings of a conversation that are listed here; all of them stand with their records.
const MOST_LISTED: usize = 5;

impl Report {
    pub(super) fn failed(&self) -> Markup {
        let first = self.rules_to_fix();
        let is_bad =
            |place: &usize| matches!(self.subjects[*place].outcome, Outcome::Failed | Outcome::Error);
        let bad: Vec<usize> = self.worst_first().into_iter().filter(is_bad).collect();
        html! {
            section aria-labelledby="failed" {
                h2 id="failed" { "What failed" }
                @if bad.is_empty() { p { "Nothing." } }
                @for place in bad { (self.subjects[place].failure(place)) }
                @if !first.is_empty() {
                    h3 { "Fix first" }
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
}

impl Subject {
    /// The conversation with its reason and its findings, most severe first.
    fn failure(&self, number: usize) -> Markup {
        let mut found: Vec<&ReportedFinding> = self.findings.iter().filter(|it| it.known.is_none()).collect();
        found.sort_by_key(|found| found.tier);
        let more = found.len().saturating_sub(MOST_LISTED);
        html! {
            div.failure {
                p { (outcome(self.outcome)) " " a href={ "#" (place(number)) } { (harmless(&self.name)) }
                    @if let Some(reason) = &self.reason { ": " (harmless(reason)) } }
                @if !found.is_empty() {
                    ul { @for found in found.into_iter().take(MOST_LISTED) { li { (found.line()) } } }
                }
                @if more > 0 { p.soft { (more) " more, in the conversation." } }
            }
        }
    }
}

impl ReportedFinding {
    /// The rule, what was expected and what came instead.
    fn line(&self) -> Markup {
        let difference = &self.difference;
        html! {
            (tier_and_name(self.tier, self.rule)) " at record " (self.record) ": expected " (harmless(&difference.expected))
            ", got " (harmless(&difference.got))
            @if !difference.pointer.is_empty() { " at " code { (harmless(&difference.pointer)) } }
            "."
        }
    }
}
