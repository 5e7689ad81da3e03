//! `pi-rpc mcp`: servers added to the files, removed from them, and tried.

use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// What `pi-rpc mcp` prints in this home, and its status.
fn mcp(home: &Path, words: &[&str]) -> (String, Option<i32>) {
    let project = home.join("project");
    fs::create_dir_all(&project).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    command
        .arg("mcp")
        .args(words)
        .current_dir(&project)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/bin:/usr/bin");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (text.replace(&home.display().to_string(), "HOME"), output.status.code())
}

fn file(home: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(home.join(name)).unwrap()).unwrap()
}

#[test]
fn servers_are_added_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let words = ["add", "t", "--env", "A=b=c", "--exposure", "direct", "--", "run", "--flag", "-x"];
    let added = "Added global MCP server \"t\" in HOME/.pi/agent/mcp.json.\nCheck it with: pi-rpc mcp list\n";
    assert_eq!(mcp(home, &words), (added.to_owned(), Some(0)));
    let words = [
        "add",
        "t",
        "--url",
        "https://h/mcp",
        "--bearer-token-env-var",
        "T",
        "--oauth-callback-port",
        "8765",
    ];
    assert!(mcp(home, &words).0.starts_with("Replaced global MCP server \"t\""));
    let words = ["add", "-l", "p", "--description", "Tools.", "run", "--local"];
    let (text, _) = mcp(home, &words);
    let withheld = "The project is not approved, so HOME/project/.pi/mcp.json does not count until a session starts with --approve.";
    assert!(text.contains(withheld), "{text}");
    let expected = json!({ "mcpServers": { "t": { "url": "https://h/mcp", "headers": { "Authorization": "Bearer ${T}" },
        "oauth": { "callbackPort": 8765 } } } });
    assert_eq!(file(home, ".pi/agent/mcp.json"), expected);
    let expected =
        json!({ "mcpServers": { "p": { "command": "run", "args": ["--local"], "description": "Tools." } } });
    assert_eq!(file(home, "project/.pi/mcp.json"), expected);
    let removed = "Removed global MCP server \"t\" from HOME/.pi/agent/mcp.json.\n";
    assert_eq!(mcp(home, &["remove", "t"]), (removed.to_owned(), Some(0)));
    let missing = "Error: No global MCP server named \"t\" in HOME/.pi/agent/mcp.json.\n";
    assert_eq!(mcp(home, &["remove", "t"]), (missing.to_owned(), Some(1)));
    assert_eq!(file(home, ".pi/agent/mcp.json"), json!({ "mcpServers": {} }));
}

#[test]
fn wrong_servers_are_refused_and_not_shown() {
    let home = tempfile::tempdir().unwrap();
    for (words, code, expected) in [
        (&["add", "a b", "run"][..], 1, "invalid server name \"a b\" (use letters, digits, \"_\" and \"-\")"),
        (&["add", "a"], 1, "mcp add a: expected --url URL, or -- COMMAND [ARGUMENTS]"),
        (&["add", "a", "--exposure", "all", "run"], 1, "server \"a\": exposure must be one of"),
        (&["add", "a", "--url", "ftp://h"], 1, "server \"a\": url must be an http or https URL"),
        (&["add", "a", "--env", "KEY", "run"], 2, "expected KEY=VALUE"),
        (&["add", "a", "--header", "A=b", "run"], 1, "--header only applies to HTTP servers (--url)."),
    ] {
        let (text, status) = mcp(home.path(), words);
        assert!(status == Some(code) && text.contains(expected), "{words:?}: {text}");
    }
    assert!(!home.path().join(".pi/agent/mcp.json").exists());
}

#[test]
fn list_connects_and_says_what_is_wrong() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    assert_eq!(mcp(home, &["list"]).1, Some(0));
    let script = home.join("script.json");
    fs::write(
        &script,
        json!({ "tools": [{ "name": "a" }, { "name": "b" }], "resourceTemplates": [{}] }).to_string(),
    )
    .unwrap();
    let binary = env!("CARGO_BIN_EXE_pi-rpc");
    let servers = json!({
        "good": { "command": binary, "args": ["mock-mcp", "--script", script], "toolExposure": { "b": "hidden" } },
        "bad": { "command": "/bin/sh", "args": ["-c", "echo no luck >&2; exit 2"] },
        "off": { "command": "x", "enabled": false },
        "wrong": { "command": 7 },
    });
    fs::create_dir_all(home.join(".pi/agent")).unwrap();
    fs::write(home.join(".pi/agent/mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    let (text, status) = mcp(home, &["list"]);
    let expected = format!(
        "good: connected, 2 tools (codemode, global)\n  {binary} mock-mcp --script HOME/script.json\n  tools: a, b [hidden]\n  \
         offers resources\nbad: failed (codemode, global)\n  /bin/sh -c echo no luck >&2; exit 2\n  Connection closed (exit status: \
         2)\n  no luck\noff: disabled (codemode, global)\n  x\nconfig error: HOME/.pi/agent/mcp.json: server \"wrong\" needs either \
         \"command\" (stdio) or \"url\" (streamable HTTP)\n"
    );
    assert_eq!((text, status), (expected, Some(1)));
    let (text, _) = mcp(home, &["list", "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    let states: Vec<&Value> =
        report["servers"].as_array().unwrap().iter().map(|server| &server["state"]).collect();
    assert_eq!(states, ["connected", "failed", "disabled"]);
    assert_eq!(report["servers"][0]["toolExposure"], json!({ "b": "hidden" }));
}
