//! Random conversations with a published agent.

use crate::{install, toolchain_support};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// The agents: name, version, adapter, dialect.
const PEERS: [(&str, &str, &str, &str); 5] = [
    ("pi@0.52", "0.52.12", "pi", "pi"),
    ("pi@0.73", "0.73.1", "pi", "pi@0.73"),
    ("pi@1.5", "1.5.2", "pi", "pi-1@1.5"),
    ("pi@1.6", "1.6.0", "pi", "pi-1"),
    ("omp@18.2", "18.2.3", "omp", "omp"),
];

/// Conversations that are played before the time is looked at again.
const BATCH: u64 = 8;

/// What the agent was accused of: how often, and the first recording, by rule, kind of frame and expectation.
type Accusations = BTreeMap<(String, String, String), (u64, String)>;

/// Plays conversations from `seed` on until the time is over, and lists the findings. The recordings stay below `target`.
///
/// # Errors
///
/// There is no such agent, it cannot be installed, or it cannot be played with.
pub fn explore(name: &str, time: Duration, seed: u64) -> Result<(), String> {
    let known = || PEERS.map(|(name, ..)| name).join(", ");
    let peer = PEERS.iter().find(|(peer, ..)| *peer == name);
    let (_, version, adapter, dialect) = peer.ok_or_else(|| format!("{name}: known are {}", known()))?;
    let words = match *adapter {
        "omp" => install::omp().map(Vec::from),
        _ => install::peer(version).map(<[PathBuf]>::to_vec),
    };
    let words = words.ok_or_else(|| format!("{name} cannot be installed"))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join(format!("target/explored/{name}"));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    println!("explore: --peer {name} --seconds {} --seed {seed}", time.as_secs());
    let (until, mut accusations, mut played) = (Instant::now() + time, Accusations::new(), 0);
    while Instant::now() < until {
        let report = folder.join("report.json");
        let mut conform = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
        conform.args([
            "conform",
            "--adapter",
            adapter,
            "--dialect",
            dialect,
            "--jobs",
            "2",
            "--format",
            "json",
        ]);
        conform.args(["--seed", &(seed + played).to_string(), "--count", &BATCH.to_string()]);
        conform.args(["--patience", &toolchain_support::slowness().to_string()]);
        conform.arg("--keep").arg(&folder).arg("--report").arg(&report);
        let expected = root.join(format!("tests/peers/{adapter}-{version}.json"));
        conform.arg("--").args(&words);
        let output = conform.output().map_err(|error| error.to_string())?;
        let text =
            fs::read_to_string(&report).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let report: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        take(&report, &known_defects(&expected), &mut accusations);
        played += BATCH;
    }
    println!("explore: {played} conversations with {name}, kept in {}", folder.display());
    for ((rule, kind, expected), (count, first)) in &accusations {
        println!("{count:>5} {rule}: {kind}: expected {expected} (first in {first})");
    }
    Ok(())
}

/// Rules that the agent is known to break.
fn known_defects(expected: &Path) -> Vec<String> {
    let list: Value =
        fs::read(expected).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let failures = list["expected"].as_array().into_iter().flatten();
    failures.filter_map(|failure| failure["rule"].as_str().map(str::to_owned)).collect()
}

fn take(report: &Value, known: &[String], accusations: &mut Accusations) {
    for subject in report["subjects"].as_array().into_iter().flatten() {
        for finding in subject["findings"].as_array().into_iter().flatten() {
            let text = |member: &str| finding[member].as_str().unwrap_or_default().to_owned();
            // What the host does wrong on purpose.
            if text("rule").starts_with("host-") {
                continue;
            }
            let mark = if known.contains(&text("rule")) { " (a listed defect breaks it, too)" } else { "" };
            let key = (text("rule") + mark, text("kind"), text("expected"));
            let first = subject["name"].as_str().unwrap_or_default().to_owned();
            accusations.entry(key).or_insert((0, first)).0 += 1;
        }
    }
}
