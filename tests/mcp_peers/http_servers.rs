//! Servers of npm over streamable HTTP: one with sessions, one that closes its streams, and one with a login.

use crate::{
    comparison::{Call, both, compare, configure, conversation, results},
    peer_support::{Kind, Words, peer},
    serve_support::{binary, command, eventually},
    stdio_servers::node_packages,
    toolchain_support::progress,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

/// A server that ends with the test.
pub struct HttpServer {
    child: Child,
    pub url: String,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody has.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a file of the packages, with these variables for its ports, and waits until the first of them is open.
fn start(file: &str, arguments: &[&str], ports: &[&str]) -> Option<HttpServer> {
    let packages = node_packages()?.join("node_modules/@modelcontextprotocol");
    // Some examples listen at a port that is written in them.
    let preload = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_peers/node/given_port.mjs");
    let mut command = Command::new("node");
    command.arg("--import").arg(preload).arg(packages.join(file)).args(arguments);
    let numbers: Vec<u16> = ports.iter().map(|_| free_port()).collect();
    for (name, port) in ports.iter().zip(&numbers) {
        command.env(name, port.to_string());
    }
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let server = HttpServer { child, url: format!("http://localhost:{}/mcp", numbers[0]) };
    for port in numbers {
        eventually(&format!("{file} listens"), || TcpStream::connect(("localhost", port)).is_ok());
    }
    Some(server)
}

#[test]
fn everything_over_http_gives_the_same() {
    let Some(server) = start("server-everything/dist/index.js", &["streamableHttp"], &["PORT"]) else {
        return;
    };
    let calls: [Call; 5] = [
        ("echo", json!({ "message": "over HTTP" })),
        ("get-structured-content", json!({ "location": "Chicago" })),
        ("trigger-long-running-operation", json!({ "duration": 0.2, "steps": 2 })),
        ("get-tiny-image", json!({})),
        ("get-sum", json!({ "a": [], "b": 3 })),
    ];
    compare("everything", &json!({ "url": server.url, "exposure": "direct" }), &calls, |_| ());
}

#[test]
fn closed_streams_are_resumed_alike() {
    let file = "sdk/dist/esm/examples/server/ssePollingExample.js";
    let Some(server) = start(file, &[], &["GIVEN_PORT"]) else { return };
    let calls: [Call; 1] = [("long-task", json!({}))];
    compare("polling", &json!({ "url": server.url, "exposure": "direct" }), &calls, |_| ());
}

/// A request without a body; gives the status, the header `location` and the body.
fn get(url: &str) -> (u16, Option<String>, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let location = text
        .lines()
        .find_map(|line| line.to_ascii_lowercase().starts_with("location: ").then(|| line[10..].to_owned()));
    (status, location, text)
}

/// `mcp login` of either program.
fn log_in(kind: Kind, home: &Path) -> String {
    let mut command = match kind {
        Kind::Ours => command(binary(), home),
        Kind::Pi(words) => with_words(words, home),
    };
    command.args(["mcp", "login", "secured"]).env("PI_RPC_DIALECT", "pi-1").env("BROWSER", "true");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = child.stderr.take().unwrap();
    let (sender, lines) = std::sync::mpsc::channel();
    for output in [Box::new(stderr) as Box<dyn std::io::Read + Send>, Box::new(child.stdout.take().unwrap())]
    {
        let sender = sender.clone();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
    }
    drop(sender);
    let mut told = Vec::new();
    let mut is_open = true;
    for line in lines {
        let address = line.split_whitespace().find(|word| word.contains("/authorize?"));
        if let Some(address) = address.filter(|_| std::mem::take(&mut is_open)) {
            // The demo agrees at once and sends the browser back.
            let (status, location, text) = get(address);
            assert_eq!(status, 302, "{text}");
            get(&location.unwrap());
        }
        told.push(line);
    }
    assert!(child.wait().unwrap().success(), "{kind:?}: {told:?}");
    told.join("\n")
}

fn with_words(words: Words, home: &Path) -> Command {
    let (program, rest) = words.split_first().unwrap();
    let mut command = command(program, home);
    command.env("PI_OFFLINE", "1").args(rest);
    command
}

#[test]
fn login_of_npm_server_is_shared() {
    let Some(theirs) = peer("1.6.0") else { return };
    let file = "sdk/dist/esm/examples/server/simpleStreamableHttp.js";
    let ports = ["MCP_PORT", "MCP_AUTH_PORT"];
    let Some(server) = start(file, &["--oauth", "--oauth-strict"], &ports) else { return };
    let kinds = [Kind::Pi(theirs), Kind::Ours];
    let entry = json!({ "url": server.url, "exposure": "direct" });
    let calls: [Call; 2] = [("greet", json!({ "name": "A" })), ("greet", json!({ "name": 7 }))];
    // Either program logs in, and both use that login.
    for logging_in in kinds {
        let outcomes = kinds.map(|kind| {
            let home = tempfile::tempdir().unwrap();
            configure(home.path(), &json!({ "secured": entry }));
            log_in(logging_in, home.path());
            let stored = fs::read_to_string(home.path().join(".pi/agent/mcp-auth.json")).unwrap();
            assert!(stored.contains("\"access_token\""), "{logging_in:?}");
            results(&conversation(kind, home, "secured", &entry, &calls))
        });
        assert_eq!(outcomes[1], outcomes[0], "after a login of {logging_in:?}");
        assert_eq!(outcomes[0].len(), 4, "after a login of {logging_in:?}");
    }
    assert!(both().is_some());
    progress("a login of either program at a server of npm is used by both");
}

/// What a server without a login is: both programs say that one is needed, and make no call.
#[test]
fn missing_login_is_named_alike() {
    let Some(kinds) = both() else { return };
    let file = "sdk/dist/esm/examples/server/simpleStreamableHttp.js";
    let ports = ["MCP_PORT", "MCP_AUTH_PORT"];
    let Some(server) = start(file, &["--oauth", "--oauth-strict"], &ports) else { return };
    let entry = json!({ "url": server.url, "exposure": "direct" });
    let calls: [Call; 1] = [("greet", json!({ "name": "A" }))];
    let notices = kinds.map(|kind| {
        let home = tempfile::tempdir().unwrap();
        let frames = conversation(kind, home, "secured", &entry, &calls);
        let notice = |frame: &&Value| frame["method"] == "notify";
        let notices: Vec<Value> = frames.iter().filter(notice).map(|it| it["message"].clone()).collect();
        (notices, results(&frames))
    });
    assert_eq!(notices[1], notices[0]);
}
