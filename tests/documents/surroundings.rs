//! What the battery of surroundings has found, as parts of the book: counts with each difference and its reason, and every
//! case in three columns.

use crate::documents_support::page;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What was observed, by case: pi 1.5.2, pi 1.6.0, and where ours differs from the latter.
struct Observed {
    old: Map<String, Value>,
    new: Map<String, Value>,
    differences: Map<String, Value>,
}

fn observed() -> Observed {
    let read = |name: &str| -> Map<String, Value> {
        serde_json::from_str(&page(&format!("tests/surroundings/{name}.json"))).expect(name)
    };
    Observed { old: read("pi-1.5.2"), new: read("pi-1.6.0"), differences: read("differences") }
}

/// Every case by topic, with what the two releases of pi and this program do.
pub fn cases() -> String {
    let Observed { old, new, differences } = observed();
    let mut topics: BTreeMap<&str, String> = BTreeMap::new();
    for (case, value) in &new {
        let (topic, name) = case.split_once('/').unwrap_or((case, ""));
        let ours = differences.get(case).map_or(value, |difference| &difference["ours"]);
        let beside = |other: &Value| if other == value { "the same".to_owned() } else { cell(other) };
        let older = beside(old.get(case).unwrap_or(&Value::Null));
        let row = format!("| {name} | {older} | {} | {} |\n", cell(value), beside(ours));
        *topics.entry(topic).or_default() += &row;
    }
    let mut text = String::new();
    for (topic, rows) in topics {
        let title = topic[..1].to_uppercase() + &topic[1..];
        text += &format!(
            "## {title}\n\n| Case | pi 1.5.2 | pi 1.6.0 | pi-rpc |\n| --- | --- | --- | --- |\n{rows}\n"
        );
    }
    text
}

/// The most characters of a value that are shown.
const SHOWN: usize = 72;

/// A value as a cell of a table: JSON, shortened.
fn cell(value: &Value) -> String {
    let text = value.to_string();
    let shown: String = text.chars().take(SHOWN).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    // A fence longer than any within; a bar would end the cell.
    let fence = if shown.contains('`') { "`` " } else { "`" };
    format!("{fence}{}{rest}{}", shown.replace('|', "\\|"), fence.chars().rev().collect::<String>())
}

/// A row for each topic, then a line for each reason with its cases.
pub fn table() -> String {
    let Observed { old, new, differences } = observed();
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
