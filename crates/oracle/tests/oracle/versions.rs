//! Members of later versions: an older server of the dialect may lack them, a newer one must have them.

use crate::mutation_support::{Trace, broken, dialect, names, valid};
use pi_rpc_machine::Rule;
use pi_rpc_oracle::{Examination, Judge, View, report::Subject};
use pi_rpc_protocol::{
    Dialect::{self, Pi1},
    DialectVersion, Version,
};
use pi_rpc_recording::read_record;
use serde_json::Value;
use std::collections::BTreeSet;

/// A member of some frames, and the version that brought it.
const LATER: [(&str, &str, &str); 7] = [
    ("0.84.2", "message_update", "/usage"),
    ("0.84.3", "message_update", "/assistantMessageEvent/id"),
    ("0.84.3", "message_update", "/assistantMessageEvent/toolName"),
    ("0.99.0", "response prompt", "/data"),
    ("0.99.0", "response steer", "/data"),
    ("0.99.0", "response follow_up", "/data"),
    ("1.1.0", "agent_settled", "/aborted"),
];

/// What a server of that version would have written.
fn aged(trace: &Trace, version: &str) -> Trace {
    let version = Version::parse(version).unwrap();
    let mut trace = trace.clone();
    for (since, label, pointer) in LATER {
        if Version::parse(since).unwrap() > version {
            trace.iter_mut().for_each(|record| drop_member(record, label, pointer));
        }
    }
    if Version::parse("1.5.0").unwrap() > version {
        trace.iter_mut().for_each(|record| drop_everywhere(record, "totalFromProvider"));
    }
    trace
}

/// Removes the members of this name, wherever they are.
fn drop_everywhere(value: &mut Value, name: &str) {
    match value {
        Value::Object(members) => {
            members.shift_remove(name);
            members.values_mut().for_each(|value| drop_everywhere(value, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| drop_everywhere(value, name)),
        _ => {}
    }
}

fn drop_member(record: &mut Value, label: &str, pointer: &str) {
    let frame = &mut record["frame"];
    let kind = frame["type"].as_str().unwrap_or_default();
    let command = frame["command"].as_str().unwrap_or_default();
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let fits = kind == label || format!("{kind} {command}") == label;
    if fits && let Some(object) = frame.pointer_mut(parent).and_then(Value::as_object_mut) {
        object.shift_remove(member);
    }
}

fn of_pi_1() -> impl Iterator<Item = (String, Trace)> {
    let names = names().into_iter().filter(|name| dialect(name) == Pi1);
    names.map(|name| (name.clone(), valid(&name)))
}

fn broken_by(speaks: impl Into<DialectVersion>, trace: &Trace) -> Vec<Rule> {
    let mut judge = Judge::new(speaks, View::Both);
    let lines: Vec<String> = trace.iter().map(Value::to_string).collect();
    let mut findings: Vec<_> =
        lines.iter().flat_map(|line| judge.observe(&read_record(line).unwrap())).collect();
    findings.extend(judge.finish());
    findings.into_iter().map(|finding| finding.violation.rule).collect()
}

fn subject(speaks: impl Into<DialectVersion>, trace: &Trace) -> Subject {
    let mut examination = Examination::new("aged", speaks, View::Both);
    for (at, record) in trace.iter().enumerate() {
        examination.observe(at as u64 + 1, &read_record(&record.to_string()).unwrap());
    }
    examination.finish()
}

#[test]
fn older_server_may_lack_later_members() {
    for (name, trace) in of_pi_1() {
        let expected = broken(Pi1, &trace);
        let clears = trace.iter().any(|record| record["frame"]["command"] == "clear_queue");
        for version in ["0.84.0", "0.84.2", "0.84.4", "0.99.0", "1.0.5"] {
            // The command came with 0.84.4.
            if clears && version < "0.84.4" {
                continue;
            }
            let aged = aged(&trace, version);
            let rules = |speaks: DialectVersion| -> BTreeSet<String> {
                broken_by(speaks, &aged).into_iter().map(|rule| rule.to_string()).collect()
            };
            assert_eq!(rules(Pi1.into()), expected, "{name} {version}, found");
            let given = DialectVersion::parse(&format!("pi-1@{version}")).unwrap();
            assert_eq!(rules(given), expected, "{name} {version}, given");
        }
    }
}

#[test]
fn newer_server_must_have_later_members() {
    let plain = valid("pi-1/plain");
    let newest = DialectVersion::parse("pi-1@1.5.2").unwrap();
    assert_eq!(broken_by(newest, &plain), []);
    assert!(broken_by(newest, &aged(&plain, "0.84.4")).contains(&Rule::Schema));
    // What came still later is there: it is no older server.
    let mut spoilt = plain.clone();
    spoilt.iter_mut().for_each(|record| drop_member(record, "response prompt", "/data"));
    let told = subject(Pi1, &spoilt);
    let found = &told.findings[0];
    assert_eq!((found.rule, told.version.as_deref()), (Rule::Schema, None));
    assert_eq!(found.expected, "a valid `response`: missing field `data`, which servers have from 0.99.0 on");
    let cause = found.excerpt.iter().find(|quote| quote.cause).unwrap();
    assert!(cause.text.contains(r#""command":"prompt""#), "{}", cause.text);
}

#[test]
fn later_member_proves_age() {
    let mut spoilt = valid("pi-1/plain");
    spoilt.iter_mut().for_each(|record| drop_member(record, "agent_settled", "/aborted"));
    let told = subject(Pi1, &spoilt);
    assert_eq!((told.findings[0].rule, told.version), (Rule::Schema, None));
    // A server that has none of both is older.
    spoilt.iter_mut().for_each(|record| drop_everywhere(record, "totalFromProvider"));
    let told = subject(Pi1, &spoilt);
    assert_eq!((told.findings.len(), told.version.as_deref()), (0, Some("before 1.1.0")));
}

#[test]
fn report_names_assumed_version() {
    let plain = valid("pi-1/plain");
    assert_eq!(subject(Pi1, &plain).version, None);
    assert_eq!(subject(Pi1, &aged(&plain, "0.84.4")).version.as_deref(), Some("before 0.99.0"));
    let given = DialectVersion::parse("pi-1@0.84").unwrap();
    let told = subject(given, &aged(&plain, "0.84.0"));
    assert_eq!((told.dialect, told.version.as_deref()), (Dialect::Pi115, Some("0.84.0")));
    assert_eq!(told.dialect_version(), "pi-1@1.5 (0.84.0)");
}
