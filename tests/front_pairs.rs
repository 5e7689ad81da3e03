//! Clients of each version with servers of each release, the front between: scenarios that both know. `tests/peers/front.json` has the
//! outcomes; `cargo bless front_pairs` writes them and the table of the book anew; with `PI_RPC_ALL_SCENARIOS=1` those of all scenarios,
//! to `tests/peers/front_all.json`.

#[path = "peer_support/install.rs"]
mod install;
mod toolchain_support;

use pi_rpc::export::laid_out;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError, RwLock},
};
use toolchain_support::{progress, slowness};

const BINARY: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// The versions that clients were written for.
const CLIENTS: [&str; 8] = ["pi", "pi@0.58", "pi@0.73", "pi-1@1.5", "pi-1", "xcsh", "omp", "omp@18.3"];

/// Environment variable: the clients to play, with commas between them; those of others stay as they were.
const ONLY: &str = "PI_RPC_FRONT_CLIENTS";

/// Environment variable: 1 plays every scenario that both dialects have, and compares nothing.
const ALL: &str = "PI_RPC_ALL_SCENARIOS";

/// Scenarios that are played with each pair, and whether omp plays them, too, which takes seconds to start.
const SCENARIOS: [(&str, bool); 9] = [
    ("abort-in-text", true),
    ("bash-ok", true),
    ("follow-up-in-tool", false),
    ("prompt-plain", true),
    ("retry-ok", false),
    ("session-new", false),
    ("state-start", false),
    ("steer-in-text", false),
    ("tools-one", true),
];

/// Servers that are played now: those of Node.js two at a time, omp alone.
static PLAYED: RwLock<()> = RwLock::new(());

/// Whoever writes the file.
static WRITTEN: Mutex<()> = Mutex::new(());

/// A server behind the front.
struct Server {
    /// Its name in the file.
    name: &'static str,
    dialect: &'static str,
    adapter: &'static str,
    words: Vec<PathBuf>,
}

#[test]
fn pi_0_73_1_serves_all_clients() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    released("pi 0.73.1", "0.73.1", "pi@0.73");
}

#[test]
fn pi_1_5_2_serves_all_clients() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    released("pi 1.5.2", "1.5.2", "pi-1@1.5");
}

#[test]
fn pi_1_6_0_serves_all_clients() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    released("pi 1.6.0", "1.6.0", "pi-1");
}

#[test]
fn omp_18_2_3_serves_all_clients() {
    let _alone = PLAYED.write().unwrap_or_else(PoisonError::into_inner);
    let Some(words) = install::omp() else { return };
    Server { name: "omp 18.2.3", dialect: "omp", adapter: "omp", words: Vec::from(words) }.serves_all();
}

#[test]
fn own_server_serves_all_clients() {
    let _beside = PLAYED.read().unwrap_or_else(PoisonError::into_inner);
    Server { name: "pi-rpc", dialect: "pi-1", adapter: "pi-rpc", words: vec![BINARY.into()] }.serves_all();
}

fn released(name: &'static str, version: &str, dialect: &'static str) {
    let Some(words) = install::peer(version) else { return };
    Server { name, dialect, adapter: "pi", words: words.to_vec() }.serves_all();
}

impl Server {
    fn serves_all(&self) {
        let only = env::var(ONLY).ok();
        let clients = CLIENTS
            .iter()
            .filter(|client| only.as_ref().is_none_or(|only| only.split(',').any(|it| it == **client)));
        let played: Vec<(&str, Value)> = clients.map(|client| (*client, self.plays(client))).collect();
        if plays_all() {
            for (client, outcome) in &played {
                progress(&format!("{} for {client}: {outcome:#}", self.name));
            }
        }
        if env::var_os("UPDATE").is_some() {
            self.write(&played);
        }
        if plays_all() {
            return;
        }
        let stored = stored();
        for (client, outcome) in played {
            let stored = &stored[self.name][client];
            let failed = |outcome: &Value| {
                outcome["failed"]
                    .as_object()
                    .into_iter()
                    .flat_map(Map::keys)
                    .cloned()
                    .collect::<BTreeSet<_>>()
            };
            assert_eq!(
                failed(&outcome),
                failed(stored),
                "{} for {client}: cargo bless front_pairs writes the outcomes anew\n{outcome:#}",
                self.name
            );
        }
    }

    /// The outcome of all scenarios of a client's dialect that the server's has, too.
    fn plays(&self, client: &str) -> Value {
        let scenarios = self.scenarios(client);
        let folder = tempfile::tempdir().unwrap();
        let (adapter, report) = (folder.path().join("adapter.json"), folder.path().join("report.json"));
        fs::write(&adapter, self.adapter()).unwrap();
        progress(&format!(
            "{} for {client}: {} scenarios; deadlines times {}",
            self.name,
            scenarios.len(),
            slowness()
        ));
        let mut command = Command::new(BINARY);
        command.env_remove("PI_RPC_DIALECT").args([
            "conform",
            "--jobs",
            "2",
            "--format",
            "json",
            "--dialect",
            client,
        ]);
        command
            .args(["--patience", &slowness().to_string(), "--adapter"])
            .arg(&adapter)
            .arg("--report")
            .arg(&report);
        command.args(scenarios.iter().flat_map(|name| ["--scenario", name]));
        command.args(["--", BINARY, "front", "--speak", client, "--server-dialect", self.dialect, "--"]);
        let output = command.args(&self.words).output().unwrap();
        let report: Value =
            fs::read(&report).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_else(|| {
                panic!("{} for {client}: {}", self.name, String::from_utf8_lossy(&output.stderr));
            });
        outcome(&report)
    }

    /// Names of the scenarios that both dialects have.
    fn scenarios(&self, client: &str) -> Vec<String> {
        let (of_client, of_server) = (names(client), names(self.dialect));
        let is_chosen = |name: &&String| {
            let is_sample =
                |(sample, with_omp): &(&str, bool)| sample == name && (*with_omp || self.adapter != "omp");
            plays_all() || SCENARIOS.iter().any(is_sample)
        };
        of_client.intersection(&of_server).filter(is_chosen).cloned().collect()
    }

    /// The adapter of the server, whatever dialect is judged; the session file is the server's, and not judged.
    fn adapter(&self) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("adapters/{}.json", self.adapter));
        let text = fs::read_to_string(path).unwrap().replace("${dialect}", self.dialect);
        let mut adapter: Value = serde_json::from_str(&text).unwrap();
        adapter["sessions"] = false.into();
        adapter["args"].as_array_mut().unwrap().push("--no-session".into());
        adapter.to_string()
    }

    /// Writes the outcomes, with the reasons that were given for failures before.
    fn write(&self, played: &[(&str, Value)]) {
        let _alone = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = stored();
        for (client, outcome) in played {
            let mut outcome = outcome.clone();
            for (scenario, failure) in outcome["failed"].as_object_mut().unwrap() {
                let why = &all[self.name][client]["failed"][scenario]["why"];
                if why.is_string() {
                    failure["why"] = why.clone();
                }
            }
            all[self.name][client] = outcome;
        }
        fs::write(file(), laid_out(&all, 120) + "\n").unwrap();
    }
}

fn plays_all() -> bool {
    env::var(ALL).is_ok_and(|value| value == "1")
}

fn file() -> PathBuf {
    let name = if plays_all() { "front_all.json" } else { "front.json" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

fn stored() -> Value {
    fs::read(file()).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_else(|| json!({}))
}

/// Names of the scenarios of a dialect.
fn names(dialect: &str) -> BTreeSet<String> {
    let output = Command::new(BINARY).args(["conform", "--list", "--dialect", dialect]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

/// Numbers of scenarios, and what failed.
fn outcome(report: &Value) -> Value {
    let (mut failed, mut counts) = (BTreeMap::new(), BTreeMap::<&str, u64>::new());
    for subject in report["subjects"].as_array().into_iter().flatten() {
        let kind = match subject["outcome"].as_str().unwrap_or_default() {
            "passed" => "passed",
            "failed" => "failed",
            _ => "notJudged",
        };
        *counts.entry(kind).or_default() += 1;
        if kind == "failed" {
            let rules: BTreeSet<&str> = subject["findings"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|it| it["rule"].as_str())
                .collect();
            let reason =
                subject["reason"].as_str().map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
            let reason = reason.map(|text| text.chars().take(160).collect::<String>());
            let name = subject["name"].as_str().unwrap_or_default().to_owned();
            failed.insert(name, json!({ "rules": rules, "reason": reason }));
        }
    }
    let count = |kind: &str| counts.get(kind).copied().unwrap_or_default();
    let mut outcome = json!({ "passed": count("passed"), "notJudged": count("notJudged"), "failed": failed });
    if plays_all() {
        // A sample is played again with every change, and the day says nothing.
        outcome["played"] = report["provenance"]["date"].as_str().and_then(|date| date.get(..10)).into();
    }
    outcome
}
