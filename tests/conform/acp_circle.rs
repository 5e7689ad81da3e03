//! The full circle: this server in front of its own agent of the Agent Client Protocol passes the scenarios that apply.
#![cfg(feature = "acp")]

use super::own_server::{listed, not_passed, report_on};
use crate::serve_support::thorough;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

/// Scenarios that do not apply, with the reason.
#[derive(Deserialize)]
struct LeftOut {
    scenarios: Vec<String>,
    why: String,
}

fn left_out() -> Vec<LeftOut> {
    serde_json::from_str(include_str!("acp_circle.json")).unwrap()
}

/// Starts this server with its own agent behind it. The agent keeps its sessions apart from those of the server.
const SCRIPT: &str = r#"program=$1; shift
exec "$program" serve "$@" --backend acp -- "$program" acp --model fake/fake-1 --session-dir "$HOME/of-the-agent""#;

/// The adapter of this server, with the dialect as the only option and without extensions.
fn adapter(folder: &Path) -> std::path::PathBuf {
    let mut adapter: Value = serde_json::from_str(include_str!("../../adapters/pi-rpc.json")).unwrap();
    adapter["name"] = json!("acp-circle");
    adapter["args"] = json!(["--dialect", "${dialect}"]);
    adapter.as_object_mut().unwrap().remove("extension");
    let path = folder.join("acp-circle.json");
    std::fs::write(&path, adapter.to_string()).unwrap();
    path
}

#[test]
fn own_agent_passes_what_applies() {
    let dir = tempfile::tempdir().unwrap();
    let adapter = adapter(dir.path());
    let left_out: BTreeSet<String> = left_out().into_iter().flat_map(|it| it.scenarios).collect();
    let all = listed("pi-1");
    let unknown: Vec<&String> = left_out.difference(&all).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let every = if thorough() { 1 } else { 8 };
    let names: Vec<&String> = all.difference(&left_out).step_by(every).collect();
    let mut arguments = vec!["--dialect", "pi-1", "--adapter", adapter.to_str().unwrap()];
    arguments.extend(names.iter().flat_map(|name| ["--scenario", name]));
    let report = report_on(&["sh", "-c", SCRIPT, "circle", env!("CARGO_BIN_EXE_pi-rpc")], &arguments);
    let failed: Vec<String> =
        not_passed(&report).into_iter().filter(|it| !it.contains("does not offer `extension`")).collect();
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn page_names_what_is_left_out() {
    let page = include_str!("../../docs/how-to/drive-an-acp-agent.md");
    for LeftOut { scenarios, why } in left_out() {
        let names: Vec<String> = scenarios.iter().map(|name| format!("`{name}`")).collect();
        let row = format!("| {} | {why} |", names.join(", "));
        assert!(page.contains(&row), "docs/how-to/drive-an-acp-agent.md: expected the row\n{row}");
    }
}
