//! Short report about a peer, kept beside the list of its known failures.

use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write as _};

/// The most scenarios that are named beside a rule.
const NAMED: usize = 4;

/// The page about the peer of that name.
pub fn page(peer: &str, report: &Value) -> String {
    let mut page = format!(
        "# {peer} in the scenarios of its dialect\n\n\
         `cargo bless conform_peers` writes this page anew.\n\n{}\n",
        sums(report)
    );
    table(&mut page, &["Rules", "Applicable", "Put to the test", "Broken", "Findings, all of them known"]);
    for tally in ["tiers", "areas"].into_iter().flat_map(|of| list(&report["summary"][of])) {
        let row = ["name", "applicable", "exercised", "broken", "known"].map(|column| cell(&tally[column]));
        line(&mut page, &row);
    }
    page.push_str("\n## What it does otherwise\n\n");
    table(&mut page, &["Rule", "Asks", "Why it may stay", "Scenarios"]);
    for ((rule, tier, why), names) in known(report) {
        line(&mut page, &[format!("`{rule}`"), tier, why, several(&names)]);
    }
    page.push_str("\n## What was not put to the test\n\n");
    table(&mut page, &["Rule", "Why not"]);
    for rule in list(&report["coverage"]["notExercised"]) {
        line(&mut page, &[format!("`{}`", cell(&rule["rule"])), cell(&rule["reason"])]);
    }
    page.push_str("\n## Scenarios\n\n");
    table(&mut page, &["Scenario", "Outcome", "What it does otherwise"]);
    for subject in list(&report["subjects"]) {
        let mut rules: Vec<_> = list(&subject["findings"]).map(|found| cell(&found["rule"])).collect();
        rules.sort();
        rules.dedup();
        let reason = subject.get("reason").map(cell).into_iter();
        let otherwise: Vec<_> = reason.chain(rules).collect();
        line(&mut page, &[cell(&subject["name"]), cell(&subject["outcome"]), otherwise.join(", ")]);
    }
    page
}

/// The scenarios that the page lists.
pub fn names_on(page: &str) -> Vec<&str> {
    let rows = page.lines().skip_while(|line| *line != "## Scenarios").filter(|line| line.starts_with("| "));
    rows.skip(2).filter_map(|row| row.split(" | ").next()?.strip_prefix("| ")).collect()
}

/// The scenarios that were played.
pub fn names_in(report: &Value) -> Vec<&str> {
    list(&report["subjects"]).filter_map(|subject| subject["name"].as_str()).collect()
}

fn sums(report: &Value) -> String {
    let sums = &report["summary"];
    let outcomes = [
        ("passed", "passed"),
        ("failed", "failed"),
        ("not supported", "notSupported"),
        ("not exercised", "notExercised"),
        ("could not be judged", "errors"),
    ];
    let outcomes = outcomes.map(|(told, key)| format!("{} {told}", sums[key]));
    let otherwise = list(&report["subjects"]).filter(|it| list(&it["findings"]).next().is_some()).count();
    let coverage = &report["coverage"];
    format!(
        "pi-rpc {} played {} scenarios: {}. In {otherwise} of them it does something otherwise that is known. {} of {} \
         applicable rules were put to the test.\n",
        cell(&report["tool"]["version"]),
        list(&report["subjects"]).count(),
        outcomes.join(", "),
        list(&coverage["exercised"]).count(),
        coverage["applicable"],
    )
}

/// The known failures by rule, tier and reason, with the scenarios where they were found.
fn known(report: &Value) -> BTreeMap<(String, String, String), Vec<String>> {
    let mut known = BTreeMap::<_, Vec<_>>::new();
    for subject in list(&report["subjects"]) {
        for found in list(&subject["findings"]) {
            let why = (cell(&found["rule"]), cell(&found["tier"]), cell(&found["known"]));
            let names = known.entry(why).or_default();
            let name = cell(&subject["name"]);
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
    }
    known
}

fn several(names: &[String]) -> String {
    match names.len() {
        0..=NAMED => names.join(", "),
        count => format!("{count} scenarios"),
    }
}

fn table(page: &mut String, columns: &[&str]) {
    line(page, columns);
    line(page, &vec!["---"; columns.len()]);
}

fn line(page: &mut String, cells: &[impl AsRef<str>]) {
    let cells: Vec<_> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    // Writing to a string does not fail.
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Text of a table cell, in one line.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "unexplained".to_owned(),
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
