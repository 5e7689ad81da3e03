//! Every violation in the recordings of the originals is listed, with the reason why it is a defect or a documented exception.
//! The recordings are not part of this project: `RECORDINGS` names their folder.

use pi_rpc_oracle::{Finding, Judge, View};
use pi_rpc_protocol::{Dialect, Tier};
use pi_rpc_recording::read_record;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

#[derive(Deserialize)]
struct Expectations {
    expected: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    rule: String,
    trace: String,
    why: String,
}

#[test]
#[ignore = "RECORDINGS names the folder that has them"]
fn recordings_of_pi_break_listed_rules() {
    compare(Dialect::Pi, "pi-0.52.12");
}

#[test]
#[ignore = "RECORDINGS names the folder that has them"]
fn recordings_of_xcsh_break_listed_rules() {
    compare(Dialect::Xcsh, "xcsh-19.54.0");
}

#[test]
#[ignore = "RECORDINGS names the folder that has them"]
fn recordings_of_pi_1_break_listed_rules() {
    compare(Dialect::Pi115, "pi-1.5.2");
    compare(Dialect::Pi1, "pi-1.6.0");
}

#[test]
#[ignore = "RECORDINGS names the folder that has them"]
fn recordings_of_omp_break_listed_rules() {
    compare(Dialect::Omp, "omp-18.2.3");
}

fn compare(dialect: Dialect, folder: &str) {
    let recordings = PathBuf::from(std::env::var_os("RECORDINGS").expect("RECORDINGS names a folder"));
    let list = fs::read_to_string(format!("../../tests/oracle/recorded/{dialect}.json")).expect("a list");
    let list: Expectations = serde_json::from_str(&list).expect("a list of expectations");
    assert!(list.expected.iter().all(|line| !line.why.is_empty()), "a line without a reason");
    let expected: BTreeSet<(String, String)> =
        list.expected.into_iter().map(|line| (line.trace, line.rule)).collect();
    let mut broken = BTreeMap::new();
    for file in fs::read_dir(recordings.join(folder)).expect("a folder of recordings") {
        let file = file.expect("a file").path();
        let trace = file.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        for finding in judge(dialect, &file) {
            let what = format!("record {}: {}", finding.record, finding.violation);
            broken.entry((trace.clone(), finding.violation.rule.to_string())).or_insert(what);
        }
    }
    let news: Vec<_> = broken.iter().filter(|(key, _)| !expected.contains(key)).collect();
    let stale: Vec<_> = expected.iter().filter(|key| !broken.contains_key(*key)).collect();
    assert!(news.is_empty() && stale.is_empty(), "{dialect}: not listed {news:#?}, not met {stale:#?}");
}

/// What a recording breaks of what matters.
fn judge(dialect: Dialect, file: &Path) -> Vec<Finding> {
    let text = fs::read_to_string(file).expect("a recording");
    let mut judge = Judge::new(dialect, View::Both);
    let mut findings: Vec<Finding> =
        text.lines().flat_map(|line| judge.observe(&read_record(line).expect("a record"))).collect();
    findings.extend(judge.finish());
    findings.retain(|finding| finding.violation.tier != Tier::Observed);
    findings
}
