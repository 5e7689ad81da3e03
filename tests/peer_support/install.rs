//! The published packages, installed once, from the lock files beside this file.
//!
//! 0.52.12 and 0.73.1 are installed as npm does it. 1.5.2 and 1.6.0 are bundles that have nearly all of their packages inside;
//! some of those they name besides are not published. So their entry in the lock file, which is written by hand, depends on
//! nothing, and what the bundle does load from outside stands beside it, as does a Node.js that is recent enough for
//! it.
//!
//! omp 18.2.3 runs on Bun. Its lock file has what it loads in RPC mode, on Linux with x86-64: optional packages are left out.

use crate::toolchain_support::{had, locked};
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The command of a release: a program and its first arguments.
pub type Words = &'static [PathBuf];

/// Releases that are installed.
const RELEASES: [&str; 4] = ["0.52.12", "0.73.1", "1.5.2", "1.6.0"];

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

/// Folder of the packages of omp 18.2.3, with Bun; `None`, with a note, if they cannot be installed.
#[track_caller]
fn omp_packages() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let packages =
        INSTALLED.get_or_init(|| Ok(locked("tests/peer_support/omp-18.2.3", &[])?.join("node_modules")));
    let packages = packages.as_deref();
    had(packages.map_err(|reason| format!("no omp 18.2.3 to talk to: {reason}")), REQUIRED)
}

/// Command of Bun, and a file of omp's own package.
#[track_caller]
pub fn omp_file(file: &str) -> Option<[PathBuf; 2]> {
    let packages = omp_packages()?;
    let bun = packages.join("@oven/bun-linux-x64/bin/bun");
    Some([bun, packages.join("@oh-my-pi/pi-coding-agent").join(file)])
}

/// Command of omp 18.2.3.
#[track_caller]
pub fn omp() -> Option<[PathBuf; 2]> {
    omp_file("dist/cli.js")
}

fn install(version: &str) -> Result<Vec<PathBuf>, String> {
    // pi 1.5.2 and 1.6.0 bring Node.js as an optional package for each system; no other optional package is needed.
    let (options, words): (&[_], &[_]) = match version {
        "1.5.2" | "1.6.0" => (&[], &["node", "pi"]),
        _ => (&["--omit=optional"], &["pi"]),
    };
    let programs = locked(&format!("tests/peer_support/pi-{version}"), options)?.join("node_modules/.bin");
    Ok(words.iter().map(|word| programs.join(word)).collect())
}
