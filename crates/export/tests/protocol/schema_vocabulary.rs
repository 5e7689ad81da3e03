//! Every def of `schema/` keeps the rules of `schema/README.md`, and every rule finds a spoiled schema.

use crate::vocabulary::{RULES, SPOILED, complaints, spoil};
use pi_rpc_protocol::BUNDLE;
use serde_json::Value;

fn bundle() -> Value {
    serde_json::from_str(BUNDLE).expect("build.rs wrote JSON")
}

#[test]
fn the_schema_keeps_every_rule() {
    assert_eq!(complaints(&bundle()), Vec::<String>::new());
}

#[test]
fn each_spoiled_schema_breaks_one_rule() {
    let mut wrong = Vec::new();
    for (name, changes, expected) in SPOILED {
        let mut bundle = bundle();
        spoil(&mut bundle, changes);
        let (_, rule) = RULES.iter().find(|(rule, _)| rule == name).expect(name);
        let (own, all) = (rule(&bundle), complaints(&bundle));
        if own != *expected || all.len() != expected.len() {
            wrong.push(format!("{name}: {changes:?}: its own: {own:#?}, all: {all:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_rule_goes_unbroken() {
    let unbroken: Vec<_> =
        RULES.iter().filter(|(rule, _)| !SPOILED.iter().any(|(name, ..)| name == rule)).collect();
    assert!(unbroken.is_empty(), "{:?}", unbroken.iter().map(|(name, _)| name).collect::<Vec<_>>());
}
