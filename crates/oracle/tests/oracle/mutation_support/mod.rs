//! Plants faults in valid recordings, and judges the results.

mod legal;
mod ops;
mod ways;

pub use legal::{LEGAL, why};
pub use ops::{Op, half, is_named, place, set};
pub use ways::{Spoilt, label, other_values, walk, ways};

use pi_rpc_oracle::{Judge, View};
use pi_rpc_protocol::{Dialect, RuleId};
use pi_rpc_recording::{Record, read_record};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

/// A recording, a record at a time.
pub type Trace = Vec<Value>;

/// The file of planted faults, read when the test runs, so that adding one takes no compilation.
pub fn mutants_file() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/mutants.json");
    fs::read_to_string(path).expect("mutants.json")
}

/// Reads a recording of `tests/oracle/valid`.
pub fn valid(name: &str) -> Trace {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/valid").join(format!("{name}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Reads a recording of `tests/oracle/lies/recordings`, or else of `tests/oracle/valid`.
pub fn recorded(name: &str) -> Trace {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/lies/recordings");
    match fs::read_to_string(root.join(format!("{name}.jsonl"))) {
        Ok(text) => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        Err(_) => valid(name),
    }
}

/// Names of all valid recordings, as `dialect/name`.
pub fn names() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/valid");
    let mut names = Vec::new();
    for dialect in ["pi", "pi-1", "xcsh", "omp"] {
        for entry in fs::read_dir(root.join(dialect)).unwrap() {
            let path = entry.unwrap().path();
            names.push(format!("{dialect}/{}", path.file_stem().unwrap().to_str().unwrap()));
        }
    }
    names.sort();
    names
}

/// The dialect that a recording is named by.
pub fn dialect(name: &str) -> Dialect {
    Dialect::parse(name.split('/').next().unwrap_or_default()).expect("a dialect")
}

/// The rules that the recording breaks.
pub fn broken(dialect: Dialect, trace: &[Value]) -> BTreeSet<String> {
    let mut broken = BTreeSet::new();
    let lines = trace.iter().map(ToString::to_string);
    findings(Judge::new(dialect, View::Both), lines, |rule| {
        broken.insert(rule.to_string());
        true
    });
    broken
}

/// Whether the judge finds a violation of a rule other than `but` in the lines.
pub fn finds<'a>(judge: Judge, mut lines: impl Iterator<Item = &'a String>, but: &BTreeSet<String>) -> bool {
    let mut told = false;
    findings(judge, lines.by_ref(), |rule| {
        told |= !but.contains(rule.as_str());
        !told
    });
    told
}

/// Judges the lines until `go_on` returns false.
fn findings(
    mut judge: Judge,
    lines: impl Iterator<Item = impl AsRef<str>>,
    mut go_on: impl FnMut(RuleId) -> bool,
) {
    for line in lines {
        let told = judge.observe(&read(line.as_ref()));
        if !told.into_iter().all(|finding| go_on(finding.violation.rule)) {
            return;
        }
    }
    judge.finish().into_iter().all(|finding| go_on(finding.violation.rule));
}

/// Parses a record.
pub fn read(line: &str) -> Record<'_> {
    read_record(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}
