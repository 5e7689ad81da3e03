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

/// All that are installed.
const RELEASES: [&str; 3] = ["0.52.12", "0.73.1", "1.5.2"];

/// Set to 1, it makes a failure of what else would be left out.
const REQUIRED: &str = "PI_RPC_REQUIRE_PEERS";

/// One of the [`RELEASES`]; `None` where it cannot be had, which is told.
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
