//! Conversations that seeds make: the same each time, all of them scenarios, and the shortest that still fails.

use pi_rpc::{
    oracle::{
        random::{conversation, shrink_scenario},
        scenario::Scenario,
    },
    protocol::{Dialect, Inbound, RpcCommandKind, read},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, process::Command};

const BOTH: [Dialect; 2] = [Dialect::Pi, Dialect::Xcsh];

/// The frames that are sent.
fn sent(scenario: &Value) -> Vec<Value> {
    let steps = scenario["steps"].as_array().expect("steps").iter();
    steps.filter_map(|step| step.get("send").cloned()).collect()
}

#[test]
fn same_seed_makes_same_conversation() {
    for seed in [0, 1, u64::MAX] {
        assert_eq!(conversation(seed, Dialect::Pi), conversation(seed, Dialect::Pi));
    }
    assert_ne!(conversation(1, Dialect::Pi)["steps"], conversation(2, Dialect::Pi)["steps"]);
}

#[test]
fn every_seed_makes_a_valid_scenario() {
    for dialect in BOTH {
        for seed in 0..200 {
            let scenario = conversation(seed, dialect).to_string();
            let scenario = Scenario::from_json(&scenario).unwrap_or_else(|error| panic!("{seed}: {error}"));
            assert!(scenario.is_for(dialect));
        }
    }
}

#[test]
fn every_command_is_drawn_mostly_legal() {
    for dialect in BOTH {
        let sent: Vec<Value> = (0..300).flat_map(|seed| sent(&conversation(seed, dialect))).collect();
        let drawn: BTreeSet<&str> = sent.iter().filter_map(|frame| frame["type"].as_str()).collect();
        let own = RpcCommandKind::ALL.into_iter().filter(|kind| kind.is_in(dialect.base()));
        let missing: Vec<&str> =
            own.map(RpcCommandKind::as_str).filter(|name| !drawn.contains(name)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "{dialect}");
        let legal =
            sent.iter().filter(|frame| read::<Inbound>(frame.to_string().as_bytes(), dialect).is_ok());
        let (legal, all) = (legal.count(), sent.len());
        assert!(legal < all && legal * 10 > all * 8, "{dialect}: {legal} of {all}");
    }
}

#[test]
fn shrunk_conversation_has_no_removable_step() {
    let steps: Vec<Value> = (0..20).map(|n| json!({ "send": { "n": n } })).collect();
    let scenario = json!({ "name": "long", "steps": steps });
    let needs = [json!({ "send": { "n": 3 } }), json!({ "send": { "n": 17 } })];
    let mut asked = 0;
    let found = shrink_scenario(&scenario, 100, |candidate| {
        asked += 1;
        let steps = candidate["steps"].as_array().unwrap();
        needs.iter().all(|need| steps.contains(need))
    });
    assert_eq!(found, json!({ "name": "long", "steps": needs }));
    assert!(asked < 60, "{asked}");
}

#[test]
fn every_command_with_effects_has_its_witness() {
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh] {
        let mut shown: BTreeSet<&str> = BTreeSet::new();
        for scenario in (0..300).map(|seed| conversation(seed, dialect)) {
            let sent = sent(&scenario);
            let kinds =
                sent.iter().map(|frame| RpcCommandKind::parse(frame["type"].as_str().unwrap_or_default()));
            let kinds: Vec<RpcCommandKind> = kinds.flatten().collect();
            let follows = |pair: &[RpcCommandKind]| {
                pair[0].changes().iter().any(|member| pair[1].reported_members().contains(member))
            };
            shown.extend(kinds.windows(2).filter(|pair| follows(pair)).map(|pair| pair[0].as_str()));
        }
        let told: Vec<_> =
            RpcCommandKind::ALL.into_iter().filter(|kind| kind.is_in(dialect.base())).collect();
        let is_told = |kind: &&RpcCommandKind| {
            kind.changes().iter().any(|member| {
                told.iter().any(|read| read.is_read() && read.reported_members().contains(member))
            })
        };
        let all: BTreeSet<&str> = told.iter().filter(is_told).map(|kind| kind.as_str()).collect();
        assert_eq!(all.difference(&shown).collect::<Vec<_>>(), Vec::<&&str>::new(), "{dialect}");
    }
}

#[test]
fn shortening_leaves_out_turns_of_the_model() {
    let scenario = json!({ "steps": [1, 2], "script": { "turns": [1, 2, 3] } });
    let short = json!({ "steps": [2], "script": { "turns": [3] } });
    let holds = |all: &Value, one: u64| all.as_array().is_some_and(|all| all.contains(&json!(one)));
    let fails = |it: &Value| holds(&it["steps"], 2) && holds(&it["script"]["turns"], 3);
    assert_eq!(shrink_scenario(&scenario, 100, fails), short);
}

#[test]
fn shortening_ends_with_its_tries() {
    let scenario = json!({ "steps": [1, 2, 3, 4] });
    let mut asked = 0;
    let found = shrink_scenario(&scenario, 1, |_| {
        asked += 1;
        true
    });
    assert_eq!((found, asked), (json!({ "steps": [3, 4] }), 1));
}

fn conform(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .env_remove("PI_RPC_DIALECT")
        .arg("conform")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn own_server_passes_random_conversations() {
    for dialect in BOTH {
        let seeds = ["--seed", "1", "--count", "4", "--jobs", "4", "--tier", "should"];
        let server = ["--dialect", dialect.as_str(), "--", env!("CARGO_BIN_EXE_pi-rpc")];
        let (status, report, shortened) = conform(&[&seeds[..], &server].concat());
        assert_eq!((status, shortened.as_str()), (Some(0), ""), "{dialect}: {report}");
    }
}

#[test]
fn failing_conversation_is_shrunk_and_kept() {
    let adapter = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conform/stand-in.json");
    let dir = tempfile::tempdir().unwrap();
    let keep = dir.path().to_str().unwrap();
    let (status, _, told) = conform(&[
        "--adapter",
        adapter,
        "--seed",
        "7",
        "--keep",
        keep,
        "--",
        "sh",
        "-c",
        r#"echo '{"type":"turn_end"}'"#,
    ]);
    let files = (1..).map(|number| match number {
        1 => dir.path().join("seed-7.json"),
        number => dir.path().join(format!("seed-7-{number}.json")),
    });
    let mut expected = String::new();
    for (number, file) in files.take_while(|file| file.exists()).enumerate() {
        let text = std::fs::read_to_string(&file).unwrap();
        let kept: Value = serde_json::from_str(&text).unwrap();
        let name = file.file_stem().unwrap().to_str().unwrap();
        expected += &format!("{name}, shrunk:\n{text}");
        // What is left depends on when the server, which ends by itself, is gone.
        let all = conversation(7, Dialect::Pi)["steps"].as_array().map(Vec::len);
        assert!(number < 12 && kept["steps"].as_array().map(Vec::len) < all, "{kept:#}");
    }
    assert_eq!((status, told.is_empty(), told), (Some(1), false, expected));
}
