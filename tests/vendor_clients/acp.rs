//! The official client library of ACP for TypeScript drives `pi-rpc acp` through every method that it claims.

use crate::{
    script,
    toolchain_support::{packages, run},
};
use serde_json::{Value, json};
use std::{fs, process::Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_pi-rpc");

#[test]
fn acp_client_of_npm_drives_every_method() {
    let Some(folder) = packages("tests/vendor_clients/acp") else { return };
    let home = tempfile::tempdir().unwrap();
    let turns = json!([
        { "match": "silence", "repeat": true, "hang": true },
        { "match": "work", "say": [
            { "thinking": "Hm." }, { "tool": "write", "arguments": { "path": "b.txt", "content": "one\n" } }
        ] },
        { "onResult": "wrote", "say": [{ "tool": "read", "arguments": { "path": "b.txt" } }] },
        { "onResult": "one", "say": [{ "tool": "bash", "arguments": { "command": "echo out" } }] },
        { "onResult": "out", "say": [{ "text": "Done." }] },
        { "repeat": true, "say": [{ "text": "Well." }] }
    ]);
    let model = json!({ "name": "Scripted", "reasoning": true, "contextWindow": 200_000 });
    let file = home.path().join("script.json");
    fs::write(&file, json!({ "model": model, "turns": turns }).to_string()).unwrap();
    let (project, record) = (home.path().join("project"), home.path().join("talk.jsonl"));
    fs::create_dir(&project).unwrap();
    let mut client = Command::new("node");
    client
        .arg(script("acp/drive.mjs"))
        .arg(&folder)
        .arg(&project)
        .args([PROGRAM, "acp", "--record"])
        .arg(&record);
    client.args(["--confirm-tools", "bash", "--model"]).arg(format!("scripted/{}", file.display()));
    let report: Value = serde_json::from_str(&run(client.env("HOME", home.path())).unwrap()).unwrap();
    assert_eq!(report["stop"], "end_turn", "{report}");
    assert_eq!(report["cancelled"], "cancelled", "{report}");
    assert_eq!(report["level"], "low", "{report}");
    assert_eq!(
        (&report["listed"], &report["forked"], &report["deleted"]),
        (&json!([true]), &json!(true), &json!(true))
    );
    assert_eq!(report["replayed"], json!(["work"]), "{report}");
    assert_eq!(report["asked"], json!(["permission", "read", "terminal", "write"]), "{report}");
    let checked = Command::new(PROGRAM).arg("check").arg(&record).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
