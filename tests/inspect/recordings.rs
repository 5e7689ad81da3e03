//! A recording is indexed and judged as `check` does it.

use crate::inspect_support::{Page, recording, without_times};
use pi_rpc::oracle::JudgeOptions;
use serde_json::{Value, json};
use std::{fs, io::BufReader, path::PathBuf};

/// All recordings of the judge's tests, with their dialects.
fn recordings() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for folder in fs::read_dir(recording("")).unwrap().flatten() {
        let dialect = folder.file_name().into_string().unwrap();
        for file in fs::read_dir(folder.path()).unwrap().flatten() {
            found.push((dialect.clone(), file.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn findings_are_those_of_check() {
    for (dialect, path) in recordings() {
        let page = Page::of_file(&path);
        let session = page.get("api/session");
        let text = fs::read(&path).unwrap();
        let subject = JudgeOptions::default().judge("it", BufReader::new(text.as_slice()));
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        let found: u64 = subject.findings.iter().map(|finding| finding.count).sum();
        let expected = json!([dialect, lines, found]);
        let totals = &session["totals"];
        assert_eq!(json!([session["dialect"], totals["records"], totals["findings"]]), expected, "{path:?}");
    }
}

#[test]
fn finding_names_rule_source_expected_and_got() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let lines = [
        json!({ "t": 0, "dir": "meta", "frame": { "event": "spawn", "dialect": "pi-1", "argv": ["pi"] } }),
        json!({ "t": 1, "dir": "in", "frame": { "id": "1", "type": "get_state" } }),
        json!({ "t": 2, "dir": "out", "frame": { "type": "turn_start" } }),
    ];
    fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let page = Page::of_file(&path);
    let findings = page.get("api/findings");
    assert_eq!(findings["findings"][0]["rule"], "run-nesting", "{findings}");
    insta::assert_json_snapshot!("finding", findings["findings"][0]);
    let row = page.get("api/records/3")["row"].clone();
    assert_eq!(row["findings"][0], 0);
}

#[test]
fn servers_have_state_tools_and_last_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let out = |frame: Value| json!({ "t": 1, "dir": "out", "frame": frame });
    let end = |tool: &str, text: &str, is_error: bool| {
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        out(
            json!({ "type": "tool_execution_end", "toolCallId": "c", "toolName": tool, "result": result, "isError": is_error }),
        )
    };
    let lines = [
        json!({ "t": 0, "dir": "meta", "frame": { "event": "spawn", "dialect": "pi-1", "argv": ["pi"] } }),
        out(json!({ "type": "extension_ui_request", "id": "n", "method": "notify",
            "message": "MCP servers need attention:\n  bro-ken: failed: no such program\nRun /mcp to fix." })),
        out(json!({ "type": "message_end", "message": { "role": "system", "content": "", "timestamp": 1,
            "sections": { "mcp_servers": "Servers.\n- mcp__far (codemode): Far away." },
            "toolsAdded": [{ "name": "mcp__near__echo" }, { "name": "bash" }] } })),
        out(
            json!({ "type": "tool_execution_start", "toolCallId": "c", "toolName": "mcp__near__echo", "args": {} }),
        ),
        end("mcp__near__echo", "it broke", true),
    ];
    fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let servers = Page::of_file(&path).get("api/timing")["servers"].clone();
    let expected = json!([
        { "name": "bro_ken", "state": "failed", "tools": [], "calls": 0, "failed": 0, "lastError": "no such program", "errorRecord": 2 },
        { "name": "far", "state": "not known", "reachedBy": "codemode", "tools": [], "calls": 0, "failed": 0 },
        { "name": "near", "state": "connected", "tools": ["echo"], "calls": 1, "failed": 1, "lastError": "it broke", "errorRecord": 5 },
    ]);
    assert_eq!(servers, expected);
}

#[test]
fn rows_tell_state_kind_and_cause() {
    let page = Page::of_file(&recording("pi-1/tools.jsonl"));
    let rows = page.get("api/records?count=12");
    insta::assert_json_snapshot!("rows", without_times(rows));
}

#[test]
fn moment_has_what_may_be_sent() {
    let page = Page::of_file(&recording("pi-1/dialogs.jsonl"));
    let rows = page.get("api/records?kind=extension_ui_request(confirm)");
    let record = rows["rows"][0]["record"].as_u64().unwrap();
    let moment = page.get(&format!("api/state/{record}"));
    assert_eq!(moment["state"]["dialogs"], 1);
    let allowed: Vec<&Value> =
        moment["commands"].as_array().unwrap().iter().filter(|it| it["type"] == "prompt").collect();
    insta::assert_json_snapshot!(
        "moment",
        without_times(
            json!({ "dialogs": moment["dialogs"], "outstanding": moment["outstanding"], "prompt": allowed })
        )
    );
    let before = page.get("api/state/0");
    assert_eq!(json!([before["record"], before["state"]["text"], before["dialogs"]]), json!([0, "idle", []]));
}

#[test]
fn other_dialect_judges_anew() {
    let page = Page::of_file(&recording("pi-1/plain.jsonl"));
    let mut live = page.follow();
    live.next_of("update");
    assert_eq!(page.post("api/dialect", &json!({ "dialect": "xcsh" })).status, 200);
    live.acknowledge();
    live.next_of("reset");
    let session = page.until(|session| session["reading"]["done"] == session["reading"]["total"]);
    assert_eq!(json!([session["dialect"], session["dialectBy"]]), json!(["xcsh", "chosen"]));
    assert!(session["totals"]["findings"].as_u64().unwrap() > 0);
}

#[test]
fn plain_log_is_read_as_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.log");
    fs::write(&path, "warming up\n{\"type\":\"agent_start\"}\n{\"type\":\"turn_start\"}\n").unwrap();
    let page = Page::of_file(&path);
    let rows = page.get("api/records");
    let facts: Vec<Value> =
        rows["rows"].as_array().unwrap().iter().map(|row| json!([row["dir"], row["kind"]])).collect();
    assert_eq!(json!(facts), json!([["out", "no frame"], ["out", "agent_start"], ["out", "turn_start"]]));
}

#[test]
fn report_is_that_of_check() {
    let path = recording("pi-1/tools.jsonl");
    let page = Page::of_file(&path);
    let report = page.get("api/report");
    assert_eq!(
        json!([report["subjects"][0]["outcome"], report["subjects"][0]["dialect"]]),
        json!(["passed", "pi-1"])
    );
    let text = page.request("GET", "api/recording", "");
    assert!(text.headers.contains("attachment; filename=\"recording.jsonl\""), "{}", text.headers);
}
