//! Judges the log of a cluster under faults: who wrote what, what clients were told, and what became of their commands.
//!
//! A line of the log is an event, a JSON object: `record` (a message of the entries stream), `entry` (a message of a session, as it lies
//! there), `batch` (a message of the output stream), `told`, `sent` and `answered` (what a client has read and written).

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a log shows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Promises that were broken, one a line.
    pub violations: Vec<String>,
    /// Events of each kind.
    pub counts: BTreeMap<String, usize>,
    /// Changes of owners.
    pub takeovers: usize,
}

/// Judges the lines of a log, in any order but for those of one subject and one client.
pub fn check(lines: impl IntoIterator<Item = Value>) -> Verdict {
    let mut verdict = Verdict::default();
    let mut by_kind: HashMap<String, Vec<Value>> = HashMap::new();
    for line in lines {
        let kind = text(&line, "event");
        *verdict.counts.entry(kind.clone()).or_default() += 1;
        by_kind.entry(kind).or_default().push(line);
    }
    let mut events = |kind: &str| by_kind.remove(kind).unwrap_or_default();
    let (records, entries) = (events("record"), events("entry"));
    let mut violations = owners(&records, &mut verdict.takeovers);
    violations.extend(growing_epochs("output", &events("batch")));
    violations.extend(kept(&entries, &events("told")));
    let (sent, answered) = (events("sent"), events("answered"));
    violations.extend(answered_once(&answered));
    violations.extend(stored(&entries, &sent, &answered));
    violations.extend(executed_once(&entries, &sent));
    verdict.violations = violations;
    verdict
}

fn text(event: &Value, member: &str) -> String {
    match &event[member] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An epoch has one owner, and none writes behind a later one.
fn owners(records: &[Value], takeovers: &mut usize) -> Vec<String> {
    let mut found = growing_epochs("entries", records);
    let mut writers: HashMap<(String, String), String> = HashMap::new();
    for record in records {
        let (session, epoch, node) = (text(record, "session"), text(record, "epoch"), text(record, "node"));
        let writer = writers.entry((session.clone(), epoch.clone())).or_insert_with(|| {
            *takeovers += usize::from(record["epoch"].as_u64() > Some(1));
            node.clone()
        });
        if *writer != node {
            found.push(format!("{session}: {writer} and {node} have both written in epoch {epoch}"));
        }
    }
    found
}

fn growing_epochs(stream: &str, messages: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let mut last: HashMap<String, (u64, u64)> = HashMap::new();
    for message in messages {
        let session = text(message, "session");
        let now = (message["epoch"].as_u64().unwrap_or(0), message["sequence"].as_u64().unwrap_or(0));
        if let Some(before) = last.insert(session.clone(), now)
            && (now.0 < before.0 || now.1 <= before.1)
        {
            found.push(format!("{session}: {stream} of epoch {} behind those of epoch {}", now.0, before.0));
        }
    }
    found
}

/// Each message that a client was told of is an entry, and each client's numbers grow.
fn kept(entries: &[Value], told: &[Value]) -> Vec<String> {
    let key = |event: &Value| {
        (text(event, "session"), text(event, "role"), text(event, "timestamp"), text(event, "text"))
    };
    let known: BTreeSet<_> = entries.iter().map(key).collect();
    let mut found = Vec::new();
    let mut numbers: HashMap<String, u64> = HashMap::new();
    for event in told {
        if !known.contains(&key(event)) {
            found.push(format!(
                "{}: lost although {} was told: {event}",
                text(event, "session"),
                text(event, "client")
            ));
        }
        let number = event["number"].as_u64().unwrap_or(0);
        if numbers.insert(text(event, "client"), number).is_some_and(|before| before >= number) {
            found.push(format!("{}: number {number} came twice", text(event, "client")));
        }
    }
    found
}

fn answered_once(answered: &[Value]) -> Vec<String> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for event in answered {
        *counts.entry((text(event, "client"), text(event, "id"))).or_default() += 1;
    }
    let twice = counts.into_iter().filter(|(_, count)| *count > 1);
    twice.map(|((client, id), count)| format!("{client}: {id} was answered {count} times")).collect()
}

/// A prompt whose response was a success is in the entries.
fn stored(entries: &[Value], sent: &[Value], answered: &[Value]) -> Vec<String> {
    let texts: BTreeSet<String> = entries.iter().map(|event| text(event, "text")).collect();
    let key = |event: &Value| (text(event, "client"), text(event, "id"));
    let prompts: HashMap<_, _> = sent.iter().map(|event| (key(event), text(event, "text"))).collect();
    let accepted = answered.iter().filter(|event| event["success"] == true).map(key);
    let lost = accepted.filter(|key| prompts.get(key).is_some_and(|prompt| !texts.contains(prompt)));
    lost.map(|(client, id)| format!("{client}: {id} was answered and is not stored")).collect()
}

/// A prompt is in the entries at most once, and only if it was sent. Prompts differ from each other.
fn executed_once(entries: &[Value], sent: &[Value]) -> Vec<String> {
    let prompts: BTreeSet<String> = sent.iter().map(|event| text(event, "text")).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry["role"] == "user") {
        *counts.entry(text(entry, "text")).or_default() += 1;
    }
    let mut found = Vec::new();
    for (prompt, count) in counts {
        if count > 1 {
            found.push(format!("{prompt}: was executed {count} times"));
        }
        if !prompts.contains(&prompt) {
            found.push(format!("{prompt}: was never sent"));
        }
    }
    found
}
