//! What a server did in the scenarios, as `tests/peers/*.result.json` keeps it for the pages of `docs/conformance`.

use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// The longest recording that is kept, in bytes.
const LONGEST: u64 = 64 << 10;

/// The report, reduced to what was put to the test, known defects, and the scenarios of each outcome; spaces separate the
/// names. `recordings`: the file of each scenario that has one, from the repository.
pub fn kept(server: &str, dialect: &str, report: &Value, recordings: &BTreeMap<String, String>) -> Value {
    let mut outcomes = BTreeMap::<String, Vec<String>>::new();
    for subject in list(&report["subjects"]) {
        let outcome = subject["reason"].as_str().map_or_else(|| text(&subject["outcome"]), text_of);
        outcomes.entry(outcome).or_default().push(name(subject));
    }
    let outcomes: BTreeMap<String, String> =
        outcomes.into_iter().map(|(outcome, names)| (outcome, names.join(" "))).collect();
    let exercised = list(&report["coverage"]["exercised"]).filter(|rule| !is_of_host(rule)).map(text);
    let defects: Vec<Value> = defects(report)
        .into_iter()
        .map(|((rule, tier, why), scenarios)| {
            let recording = scenarios.iter().find_map(|name| recordings.get(name));
            json!({ "rule": rule, "tier": tier, "why": why, "scenarios": scenarios, "recording": recording })
        })
        .collect();
    let coverage = &report["coverage"];
    json!({
        "server": server,
        "dialect": dialect,
        "played": report["provenance"]["date"].as_str().and_then(|date| date.get(..10)),
        "by": report["tool"]["version"],
        "exercised": exercised.collect::<Vec<_>>().join(" "),
        "notExercised": list(&coverage["notExercised"]).filter(|it| !is_of_host(&it["rule"])).collect::<Vec<_>>(),
        "defects": defects,
        "scenarios": outcomes,
    })
}

/// Gives the defects of recordings their reasons, by rule.
pub fn explain(kept: &mut Value, reasons: &Value) {
    for defect in kept["defects"].as_array_mut().into_iter().flatten() {
        let why = defect["rule"].as_str().and_then(|rule| reasons[rule].as_str()).unwrap_or("unexplained");
        defect["why"] = why.into();
    }
}

/// Copies the recording of one scenario for each known defect into `folder`, as far as it is short. `keep`: where they are.
pub fn copy_recordings(report: &Value, keep: &Path, folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut copied = BTreeMap::new();
    for scenarios in defects(report).into_values() {
        let is_short = |name: &&String| {
            fs::metadata(keep.join(format!("{name}.jsonl"))).is_ok_and(|file| file.len() <= LONGEST)
        };
        let Some(name) = scenarios.iter().find(is_short) else { continue };
        fs::create_dir_all(folder)?;
        let to = folder.join(format!("{name}.jsonl"));
        fs::write(&to, fs::read(keep.join(format!("{name}.jsonl")))?)?;
        copied.insert(name.clone(), to);
    }
    Ok(copied)
}

/// The names of the scenarios that a result has, sorted.
pub fn names(kept: &Value) -> Vec<&str> {
    let outcomes = kept["scenarios"].as_object().into_iter().flat_map(|it| it.values());
    let mut names: Vec<&str> =
        outcomes.filter_map(Value::as_str).flat_map(|names| names.split(' ')).collect();
    names.sort_unstable();
    names
}

/// The known failures by rule, tier and reason, with the scenarios where they were found.
fn defects(report: &Value) -> BTreeMap<(String, String, String), Vec<String>> {
    let mut known = BTreeMap::<_, Vec<_>>::new();
    for subject in list(&report["subjects"]) {
        for found in list(&subject["findings"]).filter(|found| !is_of_host(&found["rule"])) {
            let names =
                known.entry((text(&found["rule"]), text(&found["tier"]), text(&found["known"]))).or_default();
            let name = name(subject);
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
    }
    known
}

/// Whether a rule is the host's: a recorded host may have sent what it must not, to see what comes.
fn is_of_host(rule: &Value) -> bool {
    let rules: Value = serde_json::from_str(include_str!("../../schema/rules.json")).expect("JSON");
    rule.as_str().is_some_and(|rule| rules[rule]["side"] == "host")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| "unexplained".to_owned(), text_of)
}

/// A scenario's name, or that of a recording without its folder.
fn name(subject: &Value) -> String {
    let name = text(&subject["name"]);
    name.rsplit_once('/').map_or(name.clone(), |(_, file)| file.to_owned())
}

/// In one line.
fn text_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
