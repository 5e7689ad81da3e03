//! The host of pi's extensions, tried by its own tests, with a server of theirs.
//!
//! They need a Node.js that takes types away itself: `PI_RPC_NODE`, the one in the path, or the one that is installed
//! beside the published releases of pi. Without one nothing is tested, which is told on stderr;
//! `PI_RPC_REQUIRE_NODE=1` makes that a failure.

use crate::toolchain_support::{had, locked, run};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The oldest Node.js that the host runs on without help.
const OLDEST: (u32, u32) = (22, 18);

#[test]
fn the_tests_of_the_host_of_extensions_pass() {
    let Some(node) = had(node(), "PI_RPC_REQUIRE_NODE") else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node_host");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
    files.sort();
    assert!(!files.is_empty());
    run(Command::new(node).args(["--test", "--test-timeout=60000"]).args(files))
        .unwrap_or_else(|error| panic!("{error}"));
}

fn node() -> Result<PathBuf, String> {
    let given = env::var_os("PI_RPC_NODE").map_or_else(|| "node".into(), PathBuf::from);
    if recent(&given) {
        return Ok(given);
    }
    let installed = locked("tests/peer_support/pi-1.5.2", &[])?.join("node_modules/.bin/node");
    recent(&installed)
        .then_some(installed)
        .ok_or_else(|| format!("no Node.js {}.{} or later", OLDEST.0, OLDEST.1))
}

fn recent(node: &Path) -> bool {
    let Ok(version) = run(Command::new(node).arg("--version")) else { return false };
    let mut parts = version.trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
    matches!((parts.next(), parts.next()), (Some(major), Some(minor)) if (major, minor) >= OLDEST)
}
