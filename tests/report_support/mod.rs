//! Reports made by hand.
#![allow(dead_code)] // each test binary uses its part

use insta::Settings;
use pi_rpc_machine::{Difference, Rule};
use pi_rpc_oracle::{
    Expectations,
    report::{
        Outcome, Quote, Report, ReportedFinding, ServerIdentity, Source, Subject, TimelineEntry,
        UnreadableLine,
    },
};
use pi_rpc_protocol::{Dialect, Need, Tier};
use pi_rpc_recording::Direction;
use serde_json::json;
use std::path::Path;

/// One subject of each outcome.
pub fn report(least: Tier) -> Report {
    let known = rule_of(Tier::Should);
    let spoilt = Subject {
        findings: vec![
            found(Rule::RespOnce, Tier::Must),
            found(known, Tier::Should),
            found(rule_of(Tier::Observed), Tier::Observed),
        ],
        exercised: vec![Rule::RespOnce, Rule::RespKnownId, known, rule_of(Tier::Observed)],
        timeline: vec![TimelineEntry {
            record: 1,
            t: 0.5,
            direction: Direction::In,
            text: r#"{"type":"abort"}"#.to_owned(),
            whole: None,
            state: "idle".to_owned(),
            findings: vec![0],
        }],
        ..subject("spoilt.jsonl")
    };
    let unread = UnreadableLine { line: 3, reason: "not a record".to_owned() };
    let subjects = vec![
        Subject {
            exercised: vec![Rule::RespOnce],
            remarks: vec!["line 9, the last, was cut off, and is left out".to_owned()],
            ..subject("plain.jsonl")
        },
        spoilt,
        Subject { sees: Vec::new(), ..subject("stdout.log") },
        Subject {
            outcome: Outcome::Error,
            reason: Some("one line is not a record".to_owned()),
            unread: vec![unread],
            ..subject("broken\x1b[2J.jsonl")
        },
        Subject {
            outcome: Outcome::NotSupported,
            reason: Some("no host tools".to_owned()),
            ..subject("host tools")
        },
        Subject {
            outcome: Outcome::NotExercised,
            reason: Some("the abort came late".to_owned()),
            ..subject("race")
        },
        Subject { outcome: Outcome::Failed, reason: Some("no answer in 5 s".to_owned()), ..subject("step") },
    ];
    let expected = json!({ "expected": [
        { "rule": known.as_str(), "trace": "spoilt*", "why": "a defect of the original" },
        { "rule": "resp-command", "kind": "response(abort ok)", "why": "was so once" },
    ] });
    let known = Expectations::from_json(&expected.to_string()).unwrap();
    Report::new(subjects, known, least).with_date("2026-01-05T10:00:00Z".to_owned())
}

pub fn subject(name: &str) -> Subject {
    Subject {
        name: name.to_owned(),
        outcome: Outcome::Passed,
        reason: None,
        dialect: Dialect::Pi,
        version: (name == "stdout.log").then(|| "before 0.99.0".to_owned()),
        sees: vec![Need::Host, Need::End],
        processes: 1,
        frames_in: 2,
        frames_out: 12,
        duration_ms: 1500.5,
        findings: Vec::new(),
        exercised: Vec::new(),
        unread: Vec::new(),
        remarks: Vec::new(),
        server: ServerIdentity {
            name: Some("pi".to_owned()),
            version: (name == "spoilt.jsonl").then(|| "19.54.0".to_owned()),
            command: ["pi", "--mode", "rpc"].map(str::to_owned).to_vec(),
        },
        timeline: Vec::new(),
        left_out: 0,
        shortened: 0,
    }
}

pub fn found(rule: Rule, tier: Tier) -> ReportedFinding {
    let quote = |record: u64, text: &str| Quote {
        record,
        t: record as f64,
        direction: if record == 6 { Direction::In } else { Direction::Out },
        text: text.to_owned(),
        whole: None,
        marked: record == 7,
        cause: record == 2,
    };
    ReportedFinding {
        rule,
        tier,
        sentence: rule.about().sentence,
        sources: Source::of(rule),
        count: if tier == Tier::Must { 3 } else { 1 },
        record: 7,
        t: 7.0,
        process: 1,
        session: None,
        kind: "response(abort ok)".to_owned(),
        state: "idle".to_owned(),
        expected: "a request that waits\x1b[2J".to_owned(),
        difference: match tier == Tier::Should {
            true => Difference {
                pointer: "/data/model\x1b[2J/id".to_owned(),
                expected: r#""one""#.to_owned(),
                got: "absent".to_owned(),
            },
            false => Difference {
                pointer: String::new(),
                expected: "a request that waits\x1b[2J".to_owned(),
                got: "{}".to_owned(),
            },
        },
        also_expected: if tier == Tier::Must { vec!["one response".to_owned()] } else { Vec::new() },
        known: None,
        excerpt: vec![
            quote(2, r#"{"id":"0","type":"set_model","provider":"p","modelId":"one"}"#),
            quote(6, r#"{"id":"1","type":"abort"}"#),
            quote(7, r#"{"id":"1","type":"response","command":"abort","success":true}"#),
            quote(8, r#"{"type":"agent_start"}"#),
        ],
    }
}

/// A rule that has this tier in dialect pi and needs the host's side at most.
pub fn rule_of(tier: Tier) -> Rule {
    let of_tier = |rule: &Rule| rule.tier(Dialect::Pi.base()) == Some(tier);
    match tier {
        Tier::Must => Rule::RespOnce,
        _ => Rule::ALL.into_iter().find(of_tier).unwrap(),
    }
}

pub fn snapshots() -> Settings {
    let mut settings = Settings::clone_current();
    // These tests belong to the root and to crates.
    let of_repository = |folder: &&Path| folder.join("snapshots").is_dir();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(of_repository).expect("snapshots");
    settings.set_snapshot_path(root.join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings
}
