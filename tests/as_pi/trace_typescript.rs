//! The recorded conversations with an extension, with one in TypeScript: the host hears what it hears when the extension
//! is a process of its own, which `trace_comparison` compares with what was recorded.

use crate::toolchain_support::{had, locked};
use crate::trace_support::{Entry, Host, SCENARIOS, Skeleton};
use pi_rpc::protocol::Dialect;
use std::{env, path::PathBuf, thread};

/// What the one in TypeScript tells besides, in these conversations, as in the recordings: a process cannot ask for it.
const OF_ITS_OWN: [&str; 3] = [
    "extension_ui_request notify getEditorText=string",
    "extension_ui_request notify hasUI=true",
    "extension_ui_request notify custom=undefined",
];
const FIRED: [&str; 2] = ["ext_command_while_streaming", "ext_fire_and_forget"];

/// Our own; the one that the recordings were made with does the same.
const EXTENSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/extensions/ui_check.ts");

#[test]
fn typescript_extension_behaves_alike_in_pi() {
    compare(Dialect::Pi, EXTENSION);
}

#[test]
fn typescript_extension_behaves_alike_in_pi_1() {
    compare(Dialect::Pi1, EXTENSION);
}

#[test]
fn typescript_extension_behaves_alike_in_xcsh() {
    compare(Dialect::Xcsh, EXTENSION);
}

/// The extension that was used for the recordings is no part of this project: `EXTENSION` names its file.
#[test]
#[ignore = "needs EXTENSION, the file of the extension that was recorded"]
fn recorded_extension_behaves_alike() {
    let extension = env::var("EXTENSION").expect("EXTENSION names a file");
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh] {
        compare(dialect, &extension);
    }
}

#[track_caller]
fn compare(dialect: Dialect, extension: &str) {
    let node = locked("tests/peer_support/pi-1.5.2", &[]).map(|home| home.join("node_modules/.bin/node"));
    let Some(node) = had(node, "PI_RPC_REQUIRE_PEERS") else { return };
    let talks: Vec<&Entry> = SCENARIOS.iter().filter(|entry| entry.extended).collect();
    thread::scope(|scope| {
        let had = talks.iter().map(|entry| {
            let node = node.clone();
            scope.spawn(move || both(dialect, entry, extension, node))
        });
        for (entry, had) in talks.iter().zip(had.collect::<Vec<_>>()) {
            let (process, mut script) = had.join().unwrap_or_else(|_| panic!("{}: broke off", entry.name));
            let told = script.events.len();
            script.events.retain(|event| !OF_ITS_OWN.contains(&event.as_str()));
            let more = if FIRED.contains(&entry.name) { OF_ITS_OWN.len() } else { 0 };
            assert_eq!(told - script.events.len(), more, "{}: {:?}", entry.name, script.events);
            assert_eq!(script, process, "{}", entry.name);
        }
    });
}

/// The same conversation with the extension that is a process, and with the one in TypeScript.
fn both(dialect: Dialect, entry: &Entry, extension: &str, node: PathBuf) -> (Skeleton, Skeleton) {
    let hosts = [Host::start(dialect, entry), Host::start_extended(dialect, entry, extension, Some(node))];
    let [process, script] = hosts.map(|mut host| {
        entry.talk(&mut host);
        Skeleton::new("pi-rpc", &host.records(), entry.retry_base(dialect))
    });
    (process, script)
}
