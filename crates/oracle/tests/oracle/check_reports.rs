//! The formats of a report, made by hand, and what makes a subject fail.

use crate::report_support::{found, report, rule_of, snapshots, subject};
use pi_rpc_export::laid_out;
use pi_rpc_machine::Rule;
use pi_rpc_oracle::{
    Expectations,
    report::{Outcome, Report, Subject, report_schema},
};
use pi_rpc_protocol::Tier;
use serde_json::{Value, json};

#[test]
fn text_report() {
    let coloured = report(Tier::Observed).to_human();
    assert!(coloured.contains("\x1b["), "{coloured}");
    let plain = anstream::adapter::strip_str(&coloured).to_string();
    snapshots().bind(|| insta::assert_snapshot!("report_human", plain));
}

#[test]
fn json_report_fits_its_schema() {
    let mut report = serde_json::to_value(report(Tier::Observed)).unwrap();
    let errors: Vec<String> = jsonschema::validator_for(&report_schema())
        .unwrap()
        .iter_errors(&report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    // Most rules are not put to the test here: two of them show how that is said.
    report["coverage"]["notExercised"].as_array_mut().unwrap().truncate(2);
    snapshots().bind(|| insta::assert_snapshot!("report_json", laid_out(&report, 140)));
}

#[test]
fn junit_report() {
    let junit = report(Tier::Observed).to_junit().unwrap();
    snapshots().bind(|| insta::assert_snapshot!("report_junit", junit));
}

#[test]
fn unknown_must_and_should_findings_fail() {
    let outcome = |tier: Tier, known: &str, least: Tier| {
        let rule = rule_of(tier);
        let subject = Subject { findings: vec![found(rule, tier)], ..subject("one") };
        let report = Report::new(vec![subject], expectations(known), least);
        (report.subjects[0].outcome, report.subjects[0].findings.len(), report.status())
    };
    use Outcome::{Failed, Passed};
    assert_eq!(outcome(Tier::Must, "", Tier::Observed), (Failed, 1, 1));
    assert_eq!(outcome(Tier::Should, "", Tier::Observed), (Failed, 1, 1));
    assert_eq!(outcome(Tier::Observed, "", Tier::Observed), (Passed, 1, 0));
    assert_eq!(outcome(Tier::Should, "", Tier::Must), (Passed, 0, 0));
    assert_eq!(outcome(Tier::Must, "resp-once", Tier::Observed), (Passed, 1, 0));
}

#[test]
fn stale_expectation_fails() {
    let status = |known: &str, least| Report::new(vec![subject("one")], expectations(known), least).status();
    assert_eq!(status("resp-once", Tier::Observed), 1);
    // A rule below the tier is not looked at, so nobody knows.
    let should = rule_of(Tier::Should).as_str();
    assert_eq!([status(should, Tier::Should), status(should, Tier::Must)], [1, 0]);
}

#[test]
fn expected_failure_names_rule_kind_and_place() {
    let known = |line: Value| {
        let subject = Subject { findings: vec![found(Rule::RespOnce, Tier::Must)], ..subject("a/one.jsonl") };
        let expected = json!({ "expected": [line] }).to_string();
        Report::new(vec![subject], Expectations::from_json(&expected).unwrap(), Tier::Observed).status() == 0
    };
    for line in [
        json!({ "rule": "resp-once", "why": "so" }),
        json!({ "rule": "resp-once", "trace": "a/*", "why": "so" }),
        json!({ "rule": "resp-once", "scenario": "o*.jsonl", "why": "so" }),
        json!({ "rule": "resp-once", "kind": "response(abort ok)", "why": "so" }),
    ] {
        assert!(known(line.clone()), "{line}");
    }
    for line in [
        json!({ "rule": "resp-order", "why": "so" }),
        json!({ "rule": "resp-once", "trace": "b*", "why": "so" }),
        json!({ "rule": "resp-once", "kind": "response(abort error)", "why": "so" }),
    ] {
        assert!(!known(line.clone()), "{line}");
    }
}

#[test]
fn invalid_expectation_is_refused_with_place() {
    let error = |text: &str| Expectations::from_json(text).unwrap_err().to_string();
    let refused = [
        r#"{"expected":[{"rule":"resp-twice","why":"so"}]}"#,
        r#"{"expected":[{"rule":"resp-once","why":" "}]}"#,
        r#"{"expected":[{"rule":"resp-once"}]}"#,
        r#"{"expected":[{"rule":"resp-once","why":"so","trace":"[","kind":"x"}]}"#,
        r#"{"expected":[{"rule":"resp-once","why":"so","because":"x"}]}"#,
        r#"{"expected":[]} x"#,
    ]
    .map(error);
    snapshots().bind(|| insta::assert_json_snapshot!("expectations_refused", refused));
}

#[test]
fn expectations_for_unselected_subjects_are_dropped() {
    let text = r#"{"expected":[{"rule":"resp-once","scenario":"abort/*","why":"so"}]}"#;
    let mut expectations = Expectations::from_json(text).unwrap();
    expectations.retain_for(&["abort/idle"]);
    assert_eq!(expectations.failures().len(), 1);
    expectations.retain_for(&["plain"]);
    assert_eq!(expectations.failures().len(), 0);
}

fn expectations(rule: &str) -> Expectations {
    let line = json!({ "rule": rule, "why": "so" });
    let lines = if rule.is_empty() { Vec::new() } else { vec![line] };
    Expectations::from_json(&json!({ "expected": lines }).to_string()).unwrap()
}
