//! Logins by OAuth at servers of `mcp.json`: `pi-rpc mcp login`, `/mcp login`, renewal, and what a lying server does not get.

use crate::serve_support::{Server, of_type};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// A scripted server over HTTP with an authorization server; it is killed when it is dropped.
struct Mock(Child, String);

impl Mock {
    fn start(dir: &TempDir, oauth: Value) -> Self {
        let path = dir.path().join("mcp-script.json");
        let tool = json!({ "name": "t", "calls": [[{ "text": "here" }]] });
        fs::write(&path, json!({ "oauth": oauth, "tools": [tool] }).to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
        command.args(["mock-mcp", "--listen", "127.0.0.1:0", "--script"]).arg(&path);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
        let folder = dir.path().join(".pi/agent");
        fs::create_dir_all(&folder).unwrap();
        let servers = json!({ "mcpServers": { "s": { "url": url, "exposure": "direct" } } });
        fs::write(folder.join("mcp.json"), servers.to_string()).unwrap();
        Self(child, url)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn mcp(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    command.arg("mcp").args(words).current_dir(home).env_clear().env("HOME", home).stdin(Stdio::null());
    command
}

fn told(home: &Path, words: &[&str]) -> (String, Option<i32>) {
    let output = mcp(home, words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (text, output.status.code())
}

/// The answer to a request, as a browser makes it.
fn browse(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    std::io::read_to_string(stream).unwrap()
}

/// Opens the page of a login, and follows it back.
fn agree(page: &str) -> String {
    let answer = browse(page);
    let back = answer.lines().find_map(|line| line.strip_prefix("location: "));
    browse(back.unwrap_or_else(|| panic!("{answer}")).trim_end())
}

/// Logs in by the command; what it prints on stdout, and the page.
fn log_in(home: &Path) -> (String, String) {
    let mut child = mcp(home, &["login", "s"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let mut lines = stderr.lines().map(Result::unwrap);
    let page = lines.find(|line| line.starts_with("http://")).unwrap();
    assert!(agree(&page).starts_with("HTTP/1.1 200"));
    let rest: Vec<String> = lines.collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), rest), (Some(0), Vec::new()));
    (String::from_utf8(output.stdout).unwrap(), page)
}

fn stored(dir: &TempDir, url: &str) -> Value {
    let text = fs::read_to_string(dir.path().join(".pi/agent/mcp-auth.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[format!("mcp__s|{url}")].clone()
}

fn calling() -> Value {
    json!([{ "say": [{ "tool": "mcp__s__t", "arguments": {} }] }, { "say": [{ "text": "done" }] }])
}

fn result(frames: &[Value]) -> &str {
    of_type(frames, "tool_execution_end")[0]["result"]["content"][0]["text"].as_str().unwrap()
}

#[test]
fn login_is_made_kept_and_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let mock = Mock::start(&dir, json!({ "scopes": ["a", "b"], "expiresIn": 3600 }));
    let needed =
        format!("s: needs sign-in (direct, global)\n  {}\n  sign in with: pi-rpc mcp login s\n", mock.1);
    assert_eq!(told(dir.path(), &["list"]), (needed, Some(1)));
    let (text, page) = log_in(dir.path());
    assert_eq!(text, "Signed in to MCP server \"s\" (1 tool).\n");
    assert!(
        page.contains("&scope=a+b")
            && page.contains("&code_challenge_method=S256")
            && page.contains("&resource=")
    );
    let state = stored(&dir, &mock.1);
    let tokens = json!({ "access_token": "scripted-access-2", "token_type": "Bearer", "expires_in": 3600,
        "refresh_token": "scripted-refresh-2", "scope": "a b" });
    assert_eq!((&state["tokens"], &state["serverUrl"]), (&tokens, &json!(mock.1)));
    assert_eq!(state["clientInformation"]["client_name"], "pi-rpc");
    let again = "Already signed in to MCP server \"s\" (1 tool).\n".to_owned();
    assert_eq!(told(dir.path(), &["login", "s"]), (again, Some(0)));
    assert_eq!(told(dir.path(), &["logout", "s"]).0, "Signed out of MCP server \"s\".\n");
    assert_eq!(told(dir.path(), &["logout", "s"]).0, "No stored credentials for MCP server \"s\".\n");
    assert_eq!(told(dir.path(), &["list"]).1, Some(1));
}

#[test]
fn refused_token_is_renewed_once() {
    let dir = tempfile::tempdir().unwrap();
    // Connecting takes three requests, of which the login makes two rounds.
    let mock = Mock::start(&dir, json!({ "uses": 3 }));
    log_in(dir.path());
    let before = stored(&dir, &mock.1)["tokens"]["refresh_token"].clone();
    let mut server = Server::script_in(Pi1, dir, calling(), &[]);
    assert_eq!(result(&server.run("go")), "here");
    server.until_type("agent_settled");
    let text = fs::read_to_string(server.path(".pi/agent/mcp-auth.json")).unwrap();
    assert!(!text.contains(before.as_str().unwrap()), "{text}");
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

#[test]
fn session_logs_in_by_its_command() {
    let dir = tempfile::tempdir().unwrap();
    let _mock = Mock::start(&dir, json!({}));
    let mut server = Server::script_in(Pi1, dir, calling(), &[]);
    let mut told = |text: Option<&str>| {
        if let Some(text) = text {
            server.send(json!({ "type": "prompt", "message": text }));
        }
        let frames = server.until_type("extension_ui_request");
        frames.last().unwrap()["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(told(None), "MCP servers need attention:\n  s: needs sign-in\nRun /mcp to fix.");
    assert_eq!(told(Some("/mcp")), "s: needs sign-in, run /mcp login s (direct)");
    let shown = told(Some("/mcp login"));
    let (title, page) = shown.split_once('\n').unwrap();
    assert_eq!(title, "Sign in to MCP server \"s\" in your browser:");
    agree(page);
    assert_eq!(told(None), "Signed in to MCP server \"s\" (1 tools).");
    assert_eq!(told(Some("/mcp reconnect s")), "Reconnected to MCP server \"s\" (connected · 1 tool).");
    assert_eq!(result(&server.run("go")), "here");
    server.until_type("agent_settled");
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

#[test]
fn lying_servers_get_no_login() {
    for (oauth, expected) in [
        (
            json!({ "resource": "https://other.example/mcp" }),
            "the protected resource https://other.example/mcp does not match the server",
        ),
        (json!({ "issuer": "https://other.example" }), "issuer: expected http://127.0.0.1"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let _mock = Mock::start(&dir, oauth);
        let (text, status) = told(dir.path(), &["login", "s"]);
        assert!(status == Some(1) && text.contains(expected), "{text}");
        assert!(!dir.path().join(".pi/agent/mcp-auth.json").exists());
    }
}

#[test]
fn wrong_logins_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(".pi/agent");
    fs::create_dir_all(&folder).unwrap();
    let servers = json!({ "p": { "command": "x" }, "k": { "url": "http://127.0.0.1:1/", "headers": { "authorization": "k" } } });
    fs::write(folder.join("mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    for (words, expected) in [
        (&["login", "none"][..], "No MCP server named \"none\". Configured: p, k."),
        (&["login", "p"], "MCP server \"p\" does not use OAuth."),
        (&["logout", "k"], "MCP server \"k\" does not use OAuth."),
        (&["login", "k", "-l"], "not in the project; omit --local."),
        (&["login", "k", "--timeout", "0"], "--timeout must be a positive number of seconds."),
    ] {
        let (text, status) = told(dir.path(), words);
        assert!(status == Some(1) && text.contains(expected), "{words:?}: {text}");
    }
}
