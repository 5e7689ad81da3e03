//! Releases of pi in the battery of surroundings: what they do is written down, for `tests/serve/surroundings.rs`.
//! `cargo bless as_pi` writes it anew.

use crate::{
    peer_support::peer,
    serve_support::at_once,
    surroundings_support::{
        Observations, Program, differs_as_listed, folder, names, play, recorded, runs, write,
    },
    toolchain_support::node,
};
use std::{env, sync::Mutex};

#[test]
fn pi_1_5_2_is_as_recorded() {
    does_what_is_recorded("1.5.2");
}

#[test]
fn pi_1_6_0_is_as_recorded() {
    does_what_is_recorded("1.6.0");
}

#[test]
fn ours_with_extensions_is_as_pi() {
    if let Err(reason) = node() {
        return eprintln!("left out: {reason}");
    }
    differs_as_listed(runs().into_iter().filter(|(_, run)| run.needs.as_deref() == Some("node")));
}

fn does_what_is_recorded(version: &str) {
    let Some(words) = peer(version) else { return };
    let all = Mutex::new(Observations::new());
    at_once(runs().into_iter(), |run| {
        let observed = play(&run, Program::Pi(words));
        all.lock().unwrap().extend(observed);
    });
    let (mut all, known) = (all.into_inner().unwrap(), recorded(version));
    // Some runs need a program that is missing here.
    for name in runs().iter().flat_map(names) {
        if let Some(value) = known.get(&name) {
            all.entry(name).or_insert_with(|| value.clone());
        }
    }
    if env::var_os("UPDATE").is_some() {
        return write(&folder().join(format!("pi-{version}.json")), &all);
    }
    let both = all.keys().chain(known.keys());
    let other: Vec<_> = both.filter(|name| all.get(*name) != known.get(*name)).collect();
    assert!(other.is_empty(), "{other:#?}: cargo bless as_pi");
}
