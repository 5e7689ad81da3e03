//! Items of a page, with their findings, read from the file only as far as that stays quick.

use super::{
    inspection::Inspection,
    item_index::ItemFacts,
    item_view::{ItemScope, item_view, unread_item},
    wire::Item,
};

/// The most bytes that are read for the items of one page. Those that do not fit come without content.
const BUDGET: u64 = 16 << 20;
/// The most bytes of a text in a page.
const PAGE_TEXT: usize = 4000;
/// The most findings of an item.
const MAX_FINDINGS: usize = 100;

/// These items as they were after the record `at`.
pub fn item_views(inspection: &Inspection, chosen: &[(u32, ItemFacts)], at: u32) -> Vec<Item> {
    let mut budget = BUDGET;
    let view = |(number, facts): &(u32, ItemFacts)| {
        let cost = cost(inspection, facts);
        let scope = ItemScope { number: *number, at, limit: PAGE_TEXT };
        let mut item = match cost <= budget {
            true => item_view(facts, scope, inspection),
            false => unread_item(facts, scope, inspection),
        };
        budget = budget.saturating_sub(cost);
        add_findings(inspection, &mut item);
        item
    };
    chosen.iter().map(view).collect()
}

/// The item with its long texts, as it was after the record `scope.at`.
pub fn whole_item(inspection: &Inspection, facts: &ItemFacts, scope: ItemScope) -> Item {
    let mut item = item_view(facts, scope, inspection);
    add_findings(inspection, &mut item);
    item
}

/// The bytes of the records that an item is made from.
fn cost(inspection: &Inspection, facts: &ItemFacts) -> u64 {
    let state = inspection.state();
    let span = |record| state.index.record(record).map_or(0, |facts| u64::from(facts.span));
    let last = if facts.content > 0 { facts.content } else { facts.last };
    span(facts.first) + if last == facts.first { 0 } else { span(last) }
}

fn add_findings(inspection: &Inspection, item: &mut Item) {
    let state = inspection.state();
    let index = &state.index;
    let is_own = |finding: &u32| {
        let record = index.findings().get(*finding as usize).map(|finding| finding.record as u32);
        record.and_then(|record| index.record(record)).and_then(|record| record.item()) == Some(item.item)
    };
    let about = index.findings_about(item.first, item.last).filter(is_own).take(MAX_FINDINGS);
    item.findings = about.collect();
}
