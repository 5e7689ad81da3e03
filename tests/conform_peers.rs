//! Scenarios with real releases of pi and omp: `tests/peers/` lists the violations of each, with the reason. Beside each list
//! is a short report; `cargo bless conform_peers` rewrites it.

#[path = "peer_support/install.rs"]
mod install;
#[path = "peer_support/report.rs"]
mod report;
mod toolchain_support;

use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{PoisonError, RwLock},
};
use toolchain_support::{progress, slowness};

/// Release of pi or omp, with the dialect and the scenarios for it.
struct Peer {
    /// Name of the program and its adapter.
    name: &'static str,
    version: &'static str,
    dialect: &'static str,
    /// Name patterns with `*`; empty, or [`ALL`] set: all scenarios of the dialect.
    scenarios: &'static [&'static str],
}

/// Peers that are played now: those of Node.js two at a time, omp, which takes both cores to start, alone.
static PLAYED: RwLock<()> = RwLock::new(());

/// Environment variable: 1 plays all scenarios with all releases, and does not write reports.
const ALL: &str = "PI_RPC_ALL_SCENARIOS";

#[test]
fn pi_0_52_12_breaks_listed_only() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    Peer { name: "pi", version: "0.52.12", dialect: "pi", scenarios: &[] }.breaks_what_is_listed();
}

#[test]
fn pi_0_73_1_breaks_listed_only() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    Peer { name: "pi", version: "0.73.1", dialect: "pi@0.73", scenarios: OF_0_73 }.breaks_what_is_listed();
}

#[test]
fn pi_1_5_2_breaks_listed_only() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    Peer { name: "pi", version: "1.5.2", dialect: "pi-1@1.5", scenarios: &[] }.breaks_what_is_listed();
}

#[test]
fn pi_1_6_0_breaks_listed_only() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    Peer { name: "pi", version: "1.6.0", dialect: "pi-1", scenarios: &[] }.breaks_what_is_listed();
}

#[test]
fn omp_18_2_3_breaks_listed_only() {
    let _alone = PLAYED.write().unwrap_or_else(PoisonError::into_inner);
    Peer { name: "omp", version: "18.2.3", dialect: "omp", scenarios: OF_OMP }.breaks_what_is_listed();
}

/// Scenarios in which `pi@0.73` differs from `pi`, and a few others.
const OF_0_73: &[&str] = &[
    "abort-in-first-tool",
    "abort-in-retry",
    "abort-with-*",
    "bash-abort-beside-run",
    "bash-in-run",
    "compact-*",
    "end-in-*",
    "end-with-dialog",
    "error-length",
    "error-torn-stream",
    "extension-command*",
    "extension-message",
    "extension-tool",
    "follow-up-in-tool",
    "framing-malformed",
    "framing-separators",
    "framing-split",
    "ids-other-types",
    "malformed-*",
    "model-cycle",
    "model-levels",
    "prompt-blocks",
    "prompt-busy*",
    "prompt-completions",
    "prompt-plain",
    "prompt-responses",
    "prompt-slash",
    "queue-dropped",
    "queue-told",
    "retry-exhausted",
    "retry-prompt",
    "session-clone",
    "session-fork*",
    "session-in-memory",
    "session-name",
    "session-*-in-run",
    "session-stats",
    "signal-in-run",
    "state-start",
    "steer-in-*",
    "tools-not-skipped",
    "tools-together",
    "ui-in-run",
];

/// Scenarios of what omp does otherwise than pi, and a few others; it takes seconds to start. `PI_RPC_ALL_SCENARIOS=1` plays all.
/// What does not give the same every time has no place here:
/// - `abort-in-first-tool`, `abort-in-tool`: the place of a bash call's last progress depends on time.
/// - `steer-in-tool`: an entry of omp's file has, sometimes, a time before that of its parent.
/// - `abort-in-retry`, `chain-retry-exhausted`, `end-in-retry`, `error-torn-stream`: omp's HTTP client first repeats a failed
///   request itself, without an event.
const OF_OMP: &[&str] = &[
    "abort-delivers-queue",
    "abort-idle",
    "bash-ok",
    "bash-two-aborted",
    "chain-compaction-failed",
    "chain-overflow",
    "compact-in-run",
    "compact-manual",
    "extension-command-in-run",
    "extension-tool",
    "framing-malformed",
    "malformed-choices",
    "malformed-types",
    "malformed-values",
    "messages-in-pages",
    "model-levels",
    "prompt-busy",
    "prompt-plain",
    "prompt-responses",
    "session-name",
    "session-new",
    "state-start",
    "steer-starts",
    "tools-two",
    "ui-dialogs",
    "version-negotiated",
];

impl Peer {
    #[track_caller]
    fn command(&self) -> Option<Vec<PathBuf>> {
        match self.name {
            "omp" => install::omp().map(Vec::from),
            _ => install::peer(self.version).map(<[_]>::to_vec),
        }
    }

    #[track_caller]
    fn breaks_what_is_listed(&self) {
        let Some(words) = self.command() else { return };
        let all = env::var(ALL).is_ok_and(|value| value == "1");
        let scenarios = if all { &[] } else { self.scenarios };
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
        let dir = tempfile::tempdir().unwrap();
        let json = dir.path().join("report.json");
        progress(&format!(
            "playing scenarios with {} {}; deadlines times {}",
            self.name,
            self.version,
            slowness()
        ));
        let conform = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
            .env_remove("PI_RPC_DIALECT")
            .args([
                "conform",
                "--adapter",
                self.name,
                "--dialect",
                self.dialect,
                "--jobs",
                "2",
                "--format",
                "json",
            ])
            .args(["--patience", &slowness().to_string()])
            .args(scenarios.iter().flat_map(|name| ["--scenario", name]))
            .arg("--report")
            .arg(&json)
            .arg("--expect")
            .arg(peers.join(format!("{}-{}.json", self.name, self.version)))
            .arg("--")
            .args(words)
            .output()
            .unwrap();
        assert_eq!(conform.status.code(), Some(0), "{}", String::from_utf8_lossy(&conform.stdout));
        let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        for late in too_slow(&report) {
            progress(&format!("{} {}: {late}", self.name, self.version));
        }
        if all {
            return;
        }
        let page = peers.join(format!("{}-{}.md", self.name, self.version));
        if env::var_os("UPDATE").is_some() {
            fs::write(&page, report::page(&format!("{} {}", self.name, self.version), &report)).unwrap();
        }
        // The place of a finding depends on timing; the list of played scenarios does not.
        let page = fs::read_to_string(&page).unwrap_or_default();
        assert_eq!(
            report::names_on(&page),
            report::names_in(&report),
            "cargo bless conform_peers writes the page anew"
        );
    }
}

/// Scenarios that missed a time limit, each with the reason.
fn too_slow(report: &Value) -> Vec<String> {
    let subjects = report["subjects"].as_array().into_iter().flatten();
    let late = subjects.filter_map(|subject| {
        let reason = subject["reason"].as_str().filter(|reason| reason.starts_with("not judged"))?;
        Some(format!("{}: {reason}", subject["name"].as_str()?))
    });
    late.collect()
}
