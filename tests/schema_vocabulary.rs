//! Every def of `schema/` keeps the rules of `schema/README.md`; and every rule is broken, to show that it holds.

mod vocabulary;

use pi_rpc::protocol::BUNDLE;
use serde_json::Value;
use vocabulary::{RULES, SPOILED, complaints, spoil};

fn bundle() -> Value {
    serde_json::from_str(BUNDLE).expect("build.rs wrote JSON")
}

#[test]
fn the_schema_keeps_every_rule() {
    assert_eq!(complaints(&bundle()), Vec::<String>::new());
}

#[test]
fn each_rule_says_what_breaks_it_and_no_other_rule_does() {
    for (name, changes, expected) in SPOILED {
        let mut bundle = bundle();
        spoil(&mut bundle, changes);
        let (_, rule) = RULES.iter().find(|(rule, _)| rule == name).expect(name);
        assert_eq!(rule(&bundle), *expected, "{name}: {changes:?}");
        assert_eq!(
            complaints(&bundle).len(),
            expected.len(),
            "{name}: {changes:?}: {:?}",
            complaints(&bundle)
        );
    }
}

#[test]
fn no_rule_goes_unbroken() {
    let unbroken: Vec<_> =
        RULES.iter().filter(|(rule, _)| !SPOILED.iter().any(|(name, ..)| name == rule)).collect();
    assert!(unbroken.is_empty(), "{:?}", unbroken.iter().map(|(name, _)| name).collect::<Vec<_>>());
}
