//! The battery of surroundings with this program: as the newest release of pi that was played, but for what
//! `tests/surroundings/differences.json` has, with the reason. A sample of the runs, or all with `PI_RPC_THOROUGH=1`; those
//! with extensions need Node.js, and are in `tests/as_pi`.

use crate::{
    serve_support::sample,
    surroundings_support::{NEWEST, differences, differs_as_listed, names, recorded, runs},
};
use std::{collections::BTreeSet, env};

#[test]
fn surroundings_are_those_of_pi() {
    let step = if env::var_os("UPDATE").is_some() { 1 } else { 4 };
    let without_node = runs().into_iter().filter(|(_, run)| run.needs.as_deref() != Some("node"));
    differs_as_listed(sample(without_node, step));
}

#[test]
fn every_case_was_played_with_pi() {
    let names: BTreeSet<String> = runs().iter().flat_map(names).collect();
    assert!(names.len() >= 150, "{} cases", names.len());
    for version in ["1.5.2", NEWEST] {
        let played: BTreeSet<String> = recorded(version).into_keys().collect();
        assert_eq!(names, played, "pi {version}: cargo bless as_pi");
    }
    let listed: BTreeSet<String> = differences().into_keys().collect();
    let unknown: Vec<_> = listed.difference(&names).collect();
    assert!(unknown.is_empty(), "differences.json: no such cases: {unknown:?}");
}
