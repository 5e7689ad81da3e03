//! What the battery of surroundings has found, as a part of the book: counts, and each difference with its reason.

use crate::documents_support::page;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A row for each topic, then a line for each reason with its cases.
pub fn table() -> String {
    let read = |name: &str| -> Map<String, Value> {
        serde_json::from_str(&page(&format!("tests/surroundings/{name}.json"))).expect(name)
    };
    let (old, new, differences) = (read("pi-1.5.2"), read("pi-1.6.0"), read("differences"));
    let topic = |case: &str| case.split('/').next().unwrap_or_default().to_owned();
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for (case, value) in &new {
        let row = counts.entry(topic(case)).or_default();
        row[0] += 1;
        row[1] += usize::from(!differences.contains_key(case));
        row[2] += usize::from(old.get(case) == Some(value));
    }
    let mut text =
        "| Topic | Cases | pi-rpc as pi 1.6.0 | pi 1.5.2 as pi 1.6.0 |\n| --- | --- | --- | --- |\n"
            .to_owned();
    for (topic, [all, ours, older]) in &counts {
        text += &format!("| {topic} | {all} | {ours} | {older} |\n");
    }
    let total = counts.values().fold([0; 3], |sum, row| [sum[0] + row[0], sum[1] + row[1], sum[2] + row[2]]);
    text += &format!("| all | {} | {} | {} |\n\n", total[0], total[1], total[2]);
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (case, difference) in &differences {
        reasons.entry(difference["why"].as_str().unwrap_or("no reason")).or_default().push(case);
    }
    for (reason, cases) in reasons {
        text += &format!("- {reason} (`{}`)\n", cases.join("`, `"));
    }
    text
}
