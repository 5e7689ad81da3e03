//! Renders the sums of the rules, and the rules that were exercised and were not.

use super::{Report, tier_and_name};
use crate::report::Tally;
use maud::{Markup, html};
use pi_rpc_machine::Rule;

impl Report {
    pub(super) fn sums(&self) -> Markup {
        let coverage = &self.coverage;
        html! {
            section aria-labelledby="sums" {
                h2 id="sums" { "Rules" }
                p { "Rules exercised: " (coverage.exercised.len()) " of " (coverage.applicable) " applicable." }
                (tallies("By tier", &self.summary.tiers))
                (tallies("By area", &self.summary.areas))
            }
        }
    }

    pub(super) fn exercised(&self) -> Markup {
        let found = |rule: Rule| {
            self.subjects.iter().flat_map(|it| &it.findings).filter(move |it| it.rule == rule).count()
        };
        html! {
            section aria-labelledby="exercised" {
                h2 id="exercised" { "Rules that were exercised" }
                details {
                    summary { (self.coverage.exercised.len()) " rules" }
                    table.rules {
                        thead { tr { th scope="col" { "Rule" } th scope="col" { "Findings" } th scope="col" { "What it says" } } }
                        tbody {
                            @for rule in &self.coverage.exercised {
                                tr {
                                    th scope="row" {
                                        @match self.tier(*rule) { Some(tier) => (tier_and_name(tier, *rule)), None => code { (rule) } }
                                    }
                                    td { @match found(*rule) { 0 => "none", 1 => "1 finding", count => { (count) " findings" } } }
                                    td { (rule.about().sentence) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn not_exercised(&self) -> Markup {
        html! {
            section aria-labelledby="unexercised" {
                h2 id="unexercised" { "Rules that were not exercised" }
                details {
                    summary { (self.coverage.not_exercised.len()) " rules" }
                    table.rules {
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
                @for head in ["exercised", "broken", "findings", "known"] { th scope="col" { (head) } }
            } }
            tbody {
                @for tally in tallies.iter().filter(|tally| tally.applicable > 0) {
                    tr {
                        th scope="row" { (tally.name) }
                        td.number { (tally.exercised) "/" (tally.applicable) }
                        @for sum in [tally.broken, tally.findings, tally.known] { td.number { (sum) } }
                    }
                }
            }
        }
    }
}
