//! Scenarios with real releases of pi and omp, and with this server: `tests/peers/` lists the violations of each, with the
//! reason. `cargo bless conform_peers` writes what each did beside its list, and the pages of `docs/conformance` from that.

#[path = "peer_support/install.rs"]
mod install;
#[path = "peer_support/result.rs"]
mod result;
mod toolchain_support;

use pi_rpc::export::laid_out;
use serde_json::Value;
use std::{
    collections::BTreeMap,
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

#[test]
fn this_server_breaks_nothing() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    for dialect in ["pi", "pi@0.73", "pi-1@1.5", "pi-1", "xcsh", "omp", "omp@18.3"] {
        Peer { name: "pi-rpc", version: dialect, dialect, scenarios: &[] }.breaks_what_is_listed();
    }
}

/// Folder of recordings of xcsh, which no registry has.
const XCSH_RECORDINGS: &str = "PI_RPC_XCSH_RECORDINGS";

#[test]
fn recordings_of_xcsh_break_listed_only() {
    let Some(folder) = env::var_os(XCSH_RECORDINGS) else {
        return progress(&format!("no recordings of xcsh to judge: {XCSH_RECORDINGS} names their folder"));
    };
    let folder = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> =
        folder.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    files.sort();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("report.json");
    let mut check = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    check.args(["check", "--dialect", "xcsh", "--format", "json", "--report"]).arg(&json).args(files);
    let checked = check.output().unwrap();
    assert!(
        checked.status.code().is_some_and(|code| code < 2),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let version = report["provenance"]["versions"][0].as_str().unwrap_or_default();
    let mut kept = result::kept(&format!("xcsh {version}"), "xcsh", &report, &BTreeMap::new());
    kept["recordings"] = true.into();
    let listed = root.join("tests/peers/xcsh-recordings.json");
    result::explain(&mut kept, &serde_json::from_slice(&fs::read(listed).unwrap()).unwrap());
    let result_file = root.join("tests/peers/xcsh-recordings.result.json");
    if env::var_os("UPDATE").is_some() {
        fs::write(&result_file, laid_out(&kept, 120) + "\n").unwrap();
    }
    let stored: Value = serde_json::from_slice(&fs::read(&result_file).unwrap()).unwrap();
    assert_eq!(stored["defects"], kept["defects"], "cargo bless conform_peers writes the result anew");
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
            "pi-rpc" => Some(vec![PathBuf::from(env!("CARGO_BIN_EXE_pi-rpc"))]),
            _ => install::peer(self.version).map(<[_]>::to_vec),
        }
    }

    #[track_caller]
    fn breaks_what_is_listed(&self) {
        let Some(words) = self.command() else { return };
        let all = env::var(ALL).is_ok_and(|value| value == "1");
        let scenarios = if all { &[] } else { self.scenarios };
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = format!("tests/peers/{}-{}", self.name, self.version);
        let dir = tempfile::tempdir().unwrap();
        let (json, keep) = (dir.path().join("report.json"), dir.path().join("recordings"));
        progress(&format!(
            "playing scenarios with {} {}; deadlines times {}",
            self.name,
            self.version,
            slowness()
        ));
        let mut conform = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
        conform.env_remove("PI_RPC_DIALECT").args([
            "conform",
            "--adapter",
            self.name,
            "--dialect",
            self.dialect,
        ]);
        conform.args(["--jobs", "2", "--format", "json", "--patience", &slowness().to_string()]);
        // Our own server answers within every deadline.
        conform.args((self.name == "pi-rpc").then_some("--strict"));
        conform.args(scenarios.iter().flat_map(|name| ["--scenario", name]));
        conform.arg("--redact").arg("--keep").arg(&keep).arg("--report").arg(&json);
        let expected = root.join(format!("{file}.json"));
        if expected.exists() {
            conform.arg("--expect").arg(expected);
        }
        let output = conform.arg("--").args(words).output().unwrap();
        let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let late = too_slow(&report);
        // What was too slow is not judged.
        let is_slow = !late.is_empty() && report["summary"]["errors"] == late.len();
        let went_well = output.status.success() || (is_slow && output.status.code() == Some(3));
        assert!(went_well, "{}", String::from_utf8_lossy(&output.stdout));
        for late in late {
            progress(&format!("{} {}: {late}", self.name, self.version));
        }
        if all {
            return;
        }
        let result_file = root.join(format!("{file}.result.json"));
        if env::var_os("UPDATE").is_some() {
            let folder = root.join(format!("tests/peers/recordings/{}-{}", self.name, self.version));
            let copied = result::copy_recordings(&report, &keep, &folder).unwrap();
            let relative = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let copied = copied.into_iter().map(|(name, path)| (name, relative(&path))).collect();
            let server = format!("{} {}", self.name, self.version);
            let kept = laid_out(&result::kept(&server, self.dialect, &report, &copied), 120);
            fs::write(&result_file, kept + "\n").unwrap();
        }
        // The place of a finding depends on timing; the list of played scenarios does not.
        let kept = fs::read_to_string(&result_file).unwrap_or_default();
        let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
        let played = result::kept("", "", &report, &BTreeMap::new());
        assert_eq!(
            result::names(&kept),
            result::names(&played),
            "cargo bless conform_peers writes the result anew"
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
