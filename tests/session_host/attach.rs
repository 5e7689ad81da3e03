//! `pi-rpc attach`: a client of a pipe does not notice that its session is elsewhere.

use crate::{
    host_support::{Host, hello, waiting},
    serve_support::{binary, command, thorough},
    via_host_support::{TRANSPORTS, via_host},
};
use pi_rpc::session_host::CONTROL_PROTOCOL;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::{UnixListener, UnixStream},
    process::{Output, Stdio},
    sync::{Arc, Mutex},
    thread,
};
use tokio_tungstenite::tungstenite::{
    self,
    handshake::server::{Request, Response},
};

#[test]
fn scenarios_pass_over_attach() {
    let dir = tempfile::tempdir().unwrap();
    for transport in TRANSPORTS {
        let script = via_host(dir.path(), transport);
        for dialect in ["pi", "pi-1", "xcsh"] {
            let mut line = command(binary(), dir.path());
            line.args(["conform", "--adapter", "pi-rpc", "--dialect", dialect, "--jobs", "4"]);
            // What is late on a busy machine is no failure; what never comes is "too slow".
            line.args(["--format", "json", "--patience", "6"]);
            if !thorough() {
                for glob in ["prompt-*", "bash-*", "session-*", "ui-*"] {
                    line.args(["--scenario", glob]);
                }
            }
            let Output { stdout, stderr, .. } = line.arg("--").arg(&script).output().unwrap();
            let report: Value = serde_json::from_slice(&stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&stderr)));
            let subjects = report["subjects"].as_array().unwrap();
            let has_failed = |subject: &&Value| {
                let reason = subject["reason"].as_str().unwrap_or_default();
                subject["outcome"] == "failed"
                    || subject["outcome"] == "error"
                    || reason.starts_with("not judged")
            };
            let failed: Vec<&Value> = subjects.iter().filter(has_failed).collect();
            assert!(subjects.len() > 20 && failed.is_empty(), "{dialect}, {transport}: {failed:?}");
        }
    }
}

#[test]
fn end_of_input_ends_the_session() {
    let host = Host::start(&hello(), &[]);
    let mut child = host.attach("", &["--mode", "rpc", "--no-session"]).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{}", json!({ "type": "prompt", "id": 1, "message": "Hi" }))
        .unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
    assert!(String::from_utf8(stdout).unwrap().contains("\"type\":\"response\",\"command\":\"prompt\""));
    let listed = host.client().request(&json!({ "type": "list_sessions", "id": 1 }));
    assert_eq!(listed["data"], json!({ "sessions": [] }));
}

#[test]
fn open_session_is_left_open() {
    let host = Host::start(&hello(), &[]);
    let session = host.client().open();
    let mut child = host.attach(&format!("/sessions/{session}"), &[]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    writeln!(child.stdin.as_mut().unwrap(), "{}", json!({ "type": "get_state", "id": "a" })).unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let state: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&state["id"], state.get("sessionId")), (&json!("a"), None));
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let listed = host.client().request(&json!({ "type": "list_sessions", "id": 1 }));
    assert_eq!(listed["data"]["sessions"][0]["sessionId"], json!(session));
}

#[test]
fn refusals_name_address_and_code() {
    let host = Host::start(&hello(), &[]);
    let refused = |line: &mut std::process::Command| {
        let Output { status, stderr, .. } = line.output().unwrap();
        assert_eq!(status.code(), Some(1));
        String::from_utf8(stderr).unwrap()
    };
    let address = format!("unix:{}", host.socket().display());
    assert_eq!(
        refused(&mut host.attach("/sessions/none", &[])),
        format!("Error: {address}: unknown_session\n")
    );
    let missing = refused(&mut host.attach("", &["--session", "none"]));
    assert_eq!(missing, format!("Error: {address}: open_failed: No session found matching 'none'\n"));
    let gone = refused(&mut host.attach("x", &[]));
    assert_eq!(gone, format!("Error: {address}x: No such file or directory (os error 2)\n"));
}

#[test]
fn client_only_narrows_the_tools() {
    let host = Host::start(&hello(), &["--tools", "read,bash"]);
    let tools = |arguments: &[&str]| {
        let mut child = host.attach("", &[&["--no-session"], arguments].concat()).spawn().unwrap();
        let prompt = json!({ "type": "prompt", "id": 1, "message": "Hi" });
        writeln!(child.stdin.take().unwrap(), "{prompt}").unwrap();
        let stdout = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let frames = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let section = |frame: Value| Some(frame["message"]["sections"]["tools"].as_str()?.to_owned());
        let section = frames.filter_map(section).next().expect("instructions that list the tools");
        let names = section.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(':'));
        names.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools(&[]), ["read", "bash"]);
    assert_eq!(tools(&["--tools", "write,read"]), ["read"]);
    assert_eq!(tools(&["--tools", "r*"]), ["read"]);
    assert_eq!(tools(&["--tools", "-read"]), ["bash"]);
    assert_eq!(tools(&["--tools", "+grep"]), ["read", "bash"]);
    assert_eq!(tools(&["-nbt", "--tools", "+read"]), ["read"]);
    assert_eq!(tools(&["-nt", "--tools", "bash"]), ["bash"]);
    assert_eq!(tools(&["--exclude-tools", "read"]), ["bash"]);
    assert_eq!(tools(&["--exclude-tools", "r*"]), ["bash"]);
}

#[test]
fn client_lowers_the_budgets_of_the_host() {
    let script = json!([{ "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": "true" } }] }]);
    for (of_host, of_client, turns) in [("2", "1", 1), ("1", "2", 1), ("", "2", 2)] {
        let options: &[&str] = if of_host.is_empty() { &[] } else { &["--max-turns", of_host] };
        let host = Host::start(&script, options);
        let line = ["--mode", "rpc", "--dialect", "pi-1", "--no-session", "--max-turns", of_client];
        let mut child = host.attach("", &line).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{}", json!({ "type": "prompt", "id": 1, "message": "Hi" })).unwrap();
        let mut answers = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let frame: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if frame["type"] == "message_end" && frame["message"]["role"] == "assistant" {
                answers += 1;
            }
            if frame["type"] == "extension_ui_request" {
                break;
            }
        }
        assert_eq!(answers, turns, "{of_host:?}, {of_client:?}");
        drop(input);
        child.wait().unwrap();
    }
    let host = Host::start(&script, &[]);
    let line = ["--mode", "rpc", "--no-session", "--max-cost", "0"];
    let refused = host.attach("", &line).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--max-cost 0: got"), "{refused:?}");
}

#[test]
fn client_entry_without_tool_ends_session() {
    let host = Host::start(&hello(), &[]);
    for (arguments, text) in [
        (["--exclude-tools", "bahs"], "--exclude-tools: no tool matches \"bahs\""),
        (["--tools", "-bahs"], "tools: no tool matches \"bahs\""),
    ] {
        let mut command = host.attach("", &[&["--no-session"][..], &arguments].concat());
        let ended = command.stdin(std::process::Stdio::piped()).output().unwrap();
        let words = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success() && words.contains(text), "{arguments:?}: {words}");
    }
    // The host goes on.
    let mut child = host.attach("", &["--no-session"]).spawn().unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn tcp_lets_in_only_tokens() {
    let dir = tempfile::tempdir().unwrap();
    // SHA-256 of `secret`.
    let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    fs::write(dir.path().join("tokens"), hash).unwrap();
    let mut line = command(binary(), dir.path());
    line.args(["host", "--listen", "ws://127.0.0.1:0", "--model", "scripted/demo", "--no-session"]);
    let refused = line.output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("expected --token-file or --auth-command as well")
    );
    line.args(["--token-file", "tokens"]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut host = line.spawn().unwrap();
    let mut listening = String::new();
    BufReader::new(host.stderr.take().unwrap()).read_line(&mut listening).unwrap();
    let address = listening.trim_end().rsplit_once("listening at ").unwrap().1.to_owned();
    let attached = |token: &str| {
        let mut line = command(binary(), dir.path());
        line.args(["attach", &address])
            .env_remove("PI_RPC_DIALECT")
            .env("PI_RPC_TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = line.stderr(Stdio::piped()).spawn().unwrap();
        // A client that was refused may be gone already.
        let _ = writeln!(child.stdin.take().unwrap(), "{}", json!({ "type": "get_state", "id": 1 }));
        child.wait_with_output().unwrap()
    };
    let missing = attached("");
    let text = format!(
        "Error: {address}: missing_token: expected Authorization: Bearer TOKEN; set PI_RPC_TOKEN to the token\n"
    );
    assert_eq!((missing.status.code(), String::from_utf8(missing.stderr).unwrap()), (Some(1), text));
    let wrong = attached("other");
    assert_eq!(
        String::from_utf8(wrong.stderr).unwrap(),
        format!("Error: {address}: invalid_token: the host does not know this token\n")
    );
    let right = attached("secret");
    assert_eq!(right.status.code(), Some(0), "{}", String::from_utf8_lossy(&right.stderr));
    let state: Value = serde_json::from_slice(&right.stdout).unwrap();
    assert_eq!((&state["command"], &state["success"]), (&json!("get_state"), &json!(true)));
    host.kill().unwrap();
    host.wait().unwrap();
}

/// A socket in front of the host's whose connections can be cut.
struct Cut {
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl Cut {
    fn before(host: &Host) -> Self {
        let listener = UnixListener::bind(host.dir.path().join("cut")).unwrap();
        let open: Arc<Mutex<Vec<UnixStream>>> = Arc::default();
        let (kept, socket) = (open.clone(), host.socket());
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), UnixStream::connect(&socket).unwrap());
                kept.lock().unwrap().push(client.try_clone().unwrap());
                for (mut from, mut to) in
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
                {
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        Self { open }
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Plays the same conversation through the socket that can be cut, with `between` after each frame. Returns what the client
/// of the pipe reads.
fn conversation(host: &Host, between: &dyn Fn(usize)) -> Vec<Value> {
    let mut line = command(binary(), host.dir.path());
    line.env_remove("PI_RPC_DIALECT")
        .arg("attach")
        .arg(format!("unix:{}", host.dir.path().join("cut").display()))
        .arg("--no-session");
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = line.spawn().unwrap();
    let mut stdin = child.stdin.take();
    let stdout = child.stdout.take().unwrap();
    let mut frames = Vec::new();
    writeln!(stdin.as_mut().unwrap(), "{}", json!({ "type": "prompt", "id": 1, "message": "Hi" })).unwrap();
    let mut asked = 0;
    for line in BufReader::new(stdout).lines() {
        let frame: Value = serde_json::from_str(&line.unwrap()).unwrap();
        stdin = stdin.filter(|_| frame["type"] != "agent_settled");
        frames.push(frame);
        let Some(stdin) = &mut stdin else { continue };
        between(frames.len());
        if asked < 20 {
            asked += 1;
            writeln!(stdin, "{}", json!({ "type": "get_commands", "id": format!("c{asked}") })).unwrap();
        }
        host.put("go");
    }
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    frames
}

#[test]
fn broken_connections_lose_nothing() {
    let host = Host::start(&waiting(), &[]);
    let cut = Cut::before(&host);
    let through = |between: &dyn Fn(usize)| {
        let frames = conversation(&host, between);
        let events: Vec<String> = frames
            .iter()
            .filter(|frame| frame["type"] != "response")
            .map(|frame| frame["type"].as_str().unwrap().to_owned())
            .filter(|kind| kind != "tool_execution_update" && kind != "message_update")
            .collect();
        let mut ids: Vec<String> = frames
            .iter()
            .filter(|frame| frame["type"] == "response")
            .map(|frame| frame["id"].to_string())
            .collect();
        let answered = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), answered, "a command was handled twice");
        events
    };
    let whole = through(&|_| {});
    let broken = through(&|frame| {
        if frame % 3 == 1 {
            cut.cut();
        }
    });
    assert_eq!(broken, whole);
}

/// The end of `attach --max-frame 1000`, to whose WebSocket this is written.
fn attached_to(write: impl FnOnce(&mut TcpStream) + Send + 'static) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("ws://{}", listener.local_addr().unwrap());
    let host = thread::spawn(move || {
        #[expect(clippy::result_large_err, reason = "tungstenite asks for this type")]
        let accept = |_: &Request, mut response: Response| {
            response.headers_mut().insert("sec-websocket-protocol", CONTROL_PROTOCOL.parse().unwrap());
            Ok(response)
        };
        let mut socket = tungstenite::accept_hdr(listener.accept().unwrap().0, accept).unwrap();
        write(socket.get_mut());
        socket
    });
    let dir = tempfile::tempdir().unwrap();
    let mut line = command(binary(), dir.path());
    line.env_remove("PI_RPC_DIALECT")
        .args(["attach", &address, "--max-frame", "1000"])
        .env("PI_RPC_TOKEN", "t")
        .stdin(Stdio::piped());
    let output = line.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap().wait_with_output();
    drop(host.join().unwrap());
    output.unwrap()
}

#[test]
fn endless_message_of_host_ends_pipe() {
    const TEXT: u8 = 1;
    const CONTINUED: u8 = 0;
    const LONG: u8 = 126;
    let fragment = |kind: u8| [&[kind, LONG, 3, 232][..], &[b'x'; 1000]].concat();
    let fragments = [fragment(TEXT), fragment(CONTINUED).repeat(4)].concat();
    let claimed = [&[TEXT | 128, 127][..], &[0, 0, 0, 1, 0, 0, 0, 0]].concat();
    for (bytes, length) in [(fragments, "5000"), (claimed, "4294967296")] {
        let ended = attached_to(move |stream| stream.write_all(&bytes).unwrap());
        let text = format!("the host has sent a message of {length} bytes or more, the limit is 4000");
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(stderr.contains(&text), "{stderr}");
        assert_eq!(ended.status.code(), Some(1));
    }
}
