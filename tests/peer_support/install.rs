//! The published packages, installed once, from the lock files beside this file.
//!
//! 0.52.12 and 0.73.1 are installed as npm does it. 1.5.2 is a bundle that has nearly all of its packages inside; two
//! of those it names besides are not published. So its entry in the lock file, which is written by hand, depends on
//! nothing, and what the bundle does load from outside stands beside it, as does a Node.js that is recent enough for
//! it.

use crate::toolchain_support::{had, locked};
use std::{path::PathBuf, sync::OnceLock};

/// The command of a release: a program and its first arguments.
pub type Words = &'static [PathBuf];

/// Releases that are installed.
const RELEASES: [&str; 3] = ["0.52.12", "0.73.1", "1.5.2"];

/// Environment variable: 1 turns a missing release into a failure.
const REQUIRED: &str = "PI_RPC_REQUIRE_PEERS";

/// Command of one of the [`RELEASES`]; `None`, with a note, if it cannot be installed.
#[track_caller]
pub fn peer(version: &str) -> Option<Words> {
    static INSTALLED: [OnceLock<Result<Vec<PathBuf>, String>>; RELEASES.len()] =
        [const { OnceLock::new() }; RELEASES.len()];
    let at = RELEASES.iter().position(|release| *release == version).expect("a release that is installed");
    let words = INSTALLED[at].get_or_init(|| install(version)).as_deref();
    had(words.map_err(|reason| format!("no pi {version} to talk to: {reason}")), REQUIRED)
}

fn install(version: &str) -> Result<Vec<PathBuf>, String> {
    // The Node.js of 1.5.2 is one of several optional packages, by the machine; other optional packages nobody needs.
    let (options, words): (&[_], &[_]) = match version {
        "1.5.2" => (&[], &["node", "pi"]),
        _ => (&["--omit=optional"], &["pi"]),
    };
    let programs = locked(&format!("tests/peer_support/pi-{version}"), options)?.join("node_modules/.bin");
    Ok(words.iter().map(|word| programs.join(word)).collect())
}
