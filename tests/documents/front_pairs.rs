//! The table of pairs in `docs/reference/front.md`: what clients of each version do with each server, from `tests/peers/front.json`
//! and `front_all.json`.

use crate::documents_support::page;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The numbers of each pair, and the reasons of what fails, from a file of outcomes.
pub fn table(file: &str) -> String {
    let outcomes: Map<String, Value> = serde_json::from_str(&page(file)).expect("JSON");
    let clients: Vec<&String> = outcomes
        .values()
        .filter_map(Value::as_object)
        .max_by_key(|it| it.len())
        .into_iter()
        .flat_map(Map::keys)
        .collect();
    let mut text = String::from("| Server |");
    clients.iter().for_each(|client| text += &format!(" `{client}` |"));
    let has_days = outcomes.values().any(|clients| days(clients).is_some());
    text += if has_days { " Played |" } else { "" };
    text += &format!("\n|{}\n", " --- |".repeat(clients.len() + 1 + usize::from(has_days)));
    for (server, outcomes) in &outcomes {
        text += &format!("| {server} |");
        clients.iter().for_each(|client| text += &format!(" {} |", cell(&outcomes[client.as_str()])));
        if has_days {
            text += &format!(" {} |", days(outcomes).unwrap_or_default());
        }
        text.push('\n');
    }
    text += "\n";
    for (why, scenarios) in reasons(&outcomes) {
        text += &format!("- {why} {}\n", scenarios.join("; "));
    }
    text
}

/// The days on which a server was played, the first and the last.
fn days(clients: &Value) -> Option<String> {
    let days: BTreeSet<&str> = clients
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, outcome)| outcome["played"].as_str())
        .collect();
    let (first, last) = (days.first()?, days.last()?);
    Some(if first == last { (*first).to_owned() } else { format!("{first} to {last}") })
}

/// What passed, of what was judged.
fn cell(outcome: &Value) -> String {
    let failed = outcome["failed"].as_object().map_or(0, Map::len) as u64;
    match outcome["passed"].as_u64() {
        Some(passed) => format!("{passed} of {}", passed + failed),
        None => "not played".to_owned(),
    }
}

/// The scenarios that fail, by reason.
fn reasons(outcomes: &Map<String, Value>) -> BTreeMap<String, Vec<String>> {
    let mut reasons: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (server, clients) in outcomes {
        for (client, outcome) in clients.as_object().into_iter().flatten() {
            for (scenario, failure) in outcome["failed"].as_object().into_iter().flatten() {
                let why = failure["why"].as_str().unwrap_or("Not looked into:").to_owned();
                let pairs = reasons.entry(why).or_default().entry(scenario.clone()).or_default();
                pairs.push(format!("{server} → `{client}`"));
            }
        }
    }
    let named = |(scenario, pairs): (String, Vec<String>)| format!("`{scenario}` ({})", pairs.join(", "));
    reasons.into_iter().map(|(why, all)| (why, all.into_iter().map(named).collect())).collect()
}
