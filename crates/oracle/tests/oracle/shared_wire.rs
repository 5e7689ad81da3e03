//! The oracle judges connections that carry many sessions: no finding about what our host says, and every planted fault is
//! found, by the rules that it breaks and by no others.

use crate::mutation_support::{Op, Trace, read};
use pi_rpc_oracle::{Finding, JudgeOptions, View, WireJudge};
use pi_rpc_protocol::{Dialect, Need, RuleId};
use serde::Deserialize;
use serde_json::json;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const DIALECTS: [Dialect; 3] = [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh];

/// Rules that the client of the recordings breaks on purpose, to show how servers refuse.
const OF_CLIENT: [&str; 3] = ["host-line", "host-schema", "host-session"];

/// A planted fault.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    what: String,
    #[serde(rename = "do")]
    ops: Vec<Op>,
    /// The rules that find it, besides those of the client.
    breaks: BTreeSet<String>,
    /// Rules that find it in some dialects, too.
    #[serde(default)]
    also: BTreeSet<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/shared")
}

fn recording(dialect: Dialect) -> Trace {
    let path = folder().join(format!("{dialect}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn mutants() -> Vec<Mutant> {
    serde_json::from_str(&fs::read_to_string(folder().join("mutants.json")).unwrap()).expect("mutants.json")
}

fn judged(dialect: Dialect, trace: &Trace) -> (Vec<Finding>, WireJudge) {
    let mut judge = WireJudge::new(dialect, View::Both);
    let mut findings: Vec<Finding> =
        trace.iter().flat_map(|record| judge.observe(&read(&record.to_string()))).collect();
    findings.extend(judge.finish());
    (findings, judge)
}

/// The rules that a recording breaks, but for those that its client breaks on purpose.
fn broken(dialect: Dialect, trace: &Trace) -> BTreeSet<String> {
    let rules = judged(dialect, trace).0.into_iter().map(|finding| finding.violation.rule.to_string());
    rules.filter(|rule| !OF_CLIENT.contains(&rule.as_str())).collect()
}

fn rules_of_wire() -> BTreeSet<&'static str> {
    let of_wire = |rule: &RuleId| rule.about().needs.contains(&Need::Sessions);
    RuleId::ALL.into_iter().filter(of_wire).map(RuleId::as_str).collect()
}

#[test]
fn recordings_of_hosts_break_nothing() {
    for dialect in DIALECTS {
        let (findings, judge) = judged(dialect, &recording(dialect));
        let broken: Vec<String> = findings
            .iter()
            .filter(|finding| !OF_CLIENT.contains(&finding.violation.rule.as_str()))
            .map(|finding| format!("{dialect}: record {}: {}", finding.record, finding.violation))
            .collect();
        assert_eq!(broken, Vec::<String>::new());
        let client: BTreeSet<&str> = findings.iter().map(|finding| finding.violation.rule.as_str()).collect();
        assert_eq!(client, OF_CLIENT.into(), "{dialect}");
        let exercised: BTreeSet<&str> = judge.exercised().iter().map(RuleId::as_str).collect();
        assert_eq!(rules_of_wire().difference(&exercised).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}

#[test]
fn planted_faults_are_found_by_their_rules() {
    let mut wrong = Vec::new();
    for mutant in mutants() {
        for dialect in DIALECTS {
            let mut trace = recording(dialect);
            mutant.ops.iter().for_each(|op| op.apply(&mut trace));
            let mut found = broken(dialect, &trace);
            found.retain(|rule| mutant.breaks.contains(rule) || !mutant.also.contains(rule));
            if found != mutant.breaks {
                wrong.push(format!("{} ({dialect}): {found:?}, listed {:?}", mutant.what, mutant.breaks));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_rule_of_wire_has_fault() {
    let planted: BTreeSet<String> = mutants().into_iter().flat_map(|mutant| mutant.breaks).collect();
    let rules = rules_of_wire();
    let missing: Vec<_> =
        rules.iter().filter(|rule| !planted.contains(**rule) && !OF_CLIENT.contains(rule)).collect();
    assert!(missing.is_empty(), "no fault in tests/oracle/shared/mutants.json breaks {missing:?}");
}

#[test]
fn every_lost_tag_is_found() {
    for dialect in DIALECTS {
        let trace = recording(dialect);
        for at in 0..trace.len() {
            let is_frame = trace[at]["dir"] == "out" && trace[at]["frame"].get("sequence").is_some();
            if !is_frame || trace[at]["frame"]["type"] == "session_snapshot" {
                continue;
            }
            let mut trace = trace.clone();
            trace[at]["frame"].as_object_mut().unwrap().remove("sessionId");
            let found = broken(dialect, &trace);
            assert!(found.contains("session-tag"), "{dialect}, record {}: {found:?}", at + 1);
        }
    }
}

#[test]
fn responses_of_other_sessions_are_found() {
    for dialect in DIALECTS {
        let mut trace = recording(dialect);
        let ops = json!([
            { "set": ["out response.messages", "/sessionId", "session-b"] },
            { "set": ["out response.messages", "/sequence", 9000] },
        ]);
        let ops: Vec<Op> = serde_json::from_value(ops).unwrap();
        ops.iter().for_each(|op| op.apply(&mut trace));
        let found = broken(dialect, &trace);
        assert!(!found.is_empty(), "{dialect}");
    }
}

#[test]
fn redacted_recording_is_judged_alike() {
    for dialect in DIALECTS {
        let trace = recording(dialect);
        let mut written = Vec::new();
        let mut writer = pi_rpc_recording::TraceWriter::new(&mut written).redacting(true);
        for record in &trace {
            writer.write(&read(&record.to_string())).unwrap();
        }
        let text = String::from_utf8(written).unwrap();
        assert!(!text.contains("It has ended.") && text.contains("unknown_session"));
        let redacted: Trace = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(broken(dialect, &redacted), BTreeSet::new(), "{dialect}");
    }
}

#[test]
fn findings_name_their_session() {
    let mut trace = recording(Dialect::Pi);
    let ops = json!([{ "twice": "out agent_end#-1" }]);
    let ops: Vec<Op> = serde_json::from_value(ops).unwrap();
    ops.iter().for_each(|op| op.apply(&mut trace));
    let session =
        trace.iter().rfind(|it| it["frame"]["type"] == "agent_end").unwrap()["frame"]["sessionId"].clone();
    let text: String = trace.iter().map(|record| format!("{record}\n")).collect();
    let subject = JudgeOptions::default().judge("shared", text.as_bytes());
    let of_session = subject.findings.iter().filter(|found| found.rule == RuleId::SessionSequence);
    let sessions: Vec<_> = of_session.map(|found| json!(found.session)).collect();
    assert_eq!(sessions, [session], "{:?}", subject.findings);
    assert!(subject.sees.contains(&Need::Sessions));
}

#[test]
fn probe_of_classic_server_is_classic() {
    let records = [
        json!({ "t": 0, "dir": "in", "frame": { "type": "get_protocol_info", "id": "1" } }),
        json!({ "t": 1, "dir": "out", "frame": { "id": "1", "type": "response", "command": "get_protocol_info",
            "success": true, "data": { "protocolVersion": 1, "capabilities": ["multi_session"], "mode": "classic" } } }),
        json!({ "t": 2, "dir": "in", "frame": { "type": "abort", "id": "2" } }),
    ];
    let (_, judge) = judged(Dialect::Pi, &records.to_vec());
    assert!(!judge.is_shared());
}
