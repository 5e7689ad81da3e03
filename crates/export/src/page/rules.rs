//! The table of rules.

use super::{inline::prose, schema_index::SchemaIndex};
use maud::{Markup, html};
use pi_rpc_protocol::{Area, RuleId, Side, Tier};

/// All rules by area, with their tier in each base dialect.
pub(super) fn rules(index: &SchemaIndex) -> Markup {
    html! {
        section aria-labelledby="rules" {
            h2 id="rules" { "Rules" }
            p {
                "Constraints that JSON Schema cannot express: order, counts, equalities. " code { "pi-rpc check" } " judges recordings by them, "
                code { "pi-rpc conform" } " servers, " code { "pi-rpc tap" } " a running conversation. Names of rules are stable."
            }
            dl.legend {
                @for one in Tier::ALL { div { dt { (tier(Some(one))) } dd { (one.about()) } } }
                div { dt { (tier(None)) } dd { "The dialect does not have the rule." } }
            }
            @for area in Area::ALL { (of_area(index, area)) }
        }
    }
}

fn of_area(index: &SchemaIndex, area: Area) -> Markup {
    let heading = format!("rules-{area}");
    html! {
        h3 id=(heading) { (area) }
        div.wide { table.rules aria-labelledby=(heading) {
            thead { tr {
                th scope="col" { "Rule" }
                @for base in &index.bases { th scope="col" { (base) } }
                th scope="col" { "What it says" }
            } }
            tbody {
                @for rule in RuleId::ALL.into_iter().filter(|rule| rule.about().area == area) {
                    tr id={ "rule-" (rule) } {
                        th scope="row" { a.anchor href={ "#rule-" (rule) } { code { (rule) } } }
                        @for base in &index.bases { td data-of=(base) { (tier(rule.tier(base.base()))) } }
                        td { (rule_cell(index, rule)) }
                    }
                }
            }
        } }
    }
}

fn rule_cell(index: &SchemaIndex, rule: RuleId) -> Markup {
    let about = rule.about();
    html! {
        (prose(index, about.sentence))
        @if about.side == Side::Host { " " span.side { "of the host" } }
        p.soft {
            @if !about.needs.is_empty() {
                "Also needs: "
                @for (at, need) in about.needs.iter().enumerate() { @if at > 0 { " " } (need.about()) }
                " "
            }
            "Written in: " (about.sources.join("; ")) "."
        }
    }
}

fn tier(tier: Option<Tier>) -> Markup {
    html! {
        @match tier {
            Some(tier) => span class={ "tier " (tier) } { (tier) },
            None => span.tier.none { "–" },
        }
    }
}
