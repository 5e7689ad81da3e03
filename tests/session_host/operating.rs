//! What operators see: TLS, metrics, health, the log, systemd.

use crate::{
    host_support::{Host, hello, waiting},
    limits::costly,
    serve_support::{TOO_LONG, binary, command, eventually, processes_of},
    tcp_support::{TOKENS, TcpHost},
};
use command_fds::{CommandFdExt as _, FdMapping};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixDatagram, UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

/// Writes `ca.pem`, and `cert.pem` with `key.pem` for localhost.
fn write_certificates(dir: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    fs::write(dir.join("ca.pem"), issuer.pem()).unwrap();
    fs::write(dir.join("cert.pem"), certificate.pem()).unwrap();
    fs::write(dir.join("key.pem"), key.serialize_pem()).unwrap();
}

/// A host at `wss://` with the token `secret`.
fn host_with_tls() -> TcpHost {
    let dir = tempfile::tempdir().unwrap();
    write_certificates(dir.path());
    fs::write(dir.path().join("tokens"), TOKENS[0].1).unwrap();
    let arguments = ["--listen", "wss://localhost:0", "--token-file", "tokens"];
    let certificate = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    TcpHost::start_in(dir, &hello(), &[&arguments[..], &certificate].concat())
}

/// Asks for the state by `attach` to the port of the host by this name.
fn attach(host: &TcpHost, name: &str, arguments: &[&str]) -> Output {
    let port = host.authority().rsplit_once(':').unwrap().1;
    let mut line = command(binary(), host.dir.path());
    line.env_remove("PI_RPC_DIALECT")
        .args(["attach", &format!("wss://{name}:{port}"), "--no-session"])
        .args(arguments);
    line.env("PI_RPC_TOKEN", "secret").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = line.spawn().unwrap();
    // A client that was refused may be gone already.
    let _ = writeln!(child.stdin.take().unwrap(), "{}", json!({ "type": "get_state", "id": 1 }));
    child.wait_with_output().unwrap()
}

#[test]
fn attach_speaks_tls_to_trusted_hosts() {
    let host = host_with_tls();
    let trusted = attach(&host, "localhost", &["--tls-ca", "ca.pem"]);
    let state: Value = serde_json::from_slice(&trusted.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&trusted.stderr)));
    assert_eq!((&state["command"], &state["success"]), (&json!("get_state"), &json!(true)));
    let other_name = attach(&host, "127.0.0.1", &["--tls-ca", "ca.pem"]);
    let text = String::from_utf8(other_name.stderr).unwrap();
    assert!(text.contains("TLS: invalid peer certificate: certificate not valid for name"), "{text}");
    let unknown = attach(&host, "localhost", &[]);
    let text = String::from_utf8(unknown.stderr).unwrap();
    assert!(text.contains("TLS: "), "{text}");
    assert_eq!((unknown.status.code(), other_name.status.code()), (Some(1), Some(1)));
}

#[test]
fn new_certificate_is_used_without_restart() {
    let host = host_with_tls();
    write_certificates(host.dir.path());
    let trusted = attach(&host, "localhost", &["--tls-ca", "ca.pem"]);
    assert_eq!(trusted.status.code(), Some(0), "{}", String::from_utf8_lossy(&trusted.stderr));
}

#[test]
fn wrong_certificates_refuse_the_start() {
    let dir = tempfile::tempdir().unwrap();
    write_certificates(dir.path());
    fs::write(dir.path().join("tokens"), TOKENS[0].1).unwrap();
    for (arguments, expected) in [
        (&[][..], "Error: --listen wss://localhost:0: expected --tls-cert and --tls-key as well\n"),
        (&["--tls-cert", "cert.pem"][..], "Error: --tls-cert: expected --tls-key as well\n"),
        (
            &["--tls-cert", "tokens", "--tls-key", "key.pem"][..],
            "Error: --tls-cert, --tls-key: tokens: expected a certificate in PEM\n",
        ),
        (
            &["--tls-cert", "cert.pem", "--tls-key", "cert.pem"][..],
            "Error: --tls-cert, --tls-key: cert.pem: no items found\n",
        ),
    ] {
        let mut line = command(binary(), dir.path());
        line.args(["host", "--listen", "wss://localhost:0", "--token-file", "tokens"]).args(arguments);
        let output = line.stdin(Stdio::null()).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    }
}

/// The response to a GET: status line, and body.
pub fn get(mut stream: impl Read + Write, path: &str, token: Option<&str>) -> (String, String) {
    let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{authorization}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[test]
fn connections_of_revoked_tokens_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens");
    let write = |first: &str| {
        fs::write(&path, format!("{first}\n{}\n", TOKENS[1].1)).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    write(TOKENS[0].1);
    let host = TcpHost::start_in(dir, &hello(), &["--token-file", "tokens"]);
    let mut kept = host.client("other");
    let mut shared = host.client("secret");
    let session = shared.open(&json!({}));
    let own = host.connect(&format!("/sessions/{session}"), "secret").ok().unwrap();
    // As long as the one before, at the same time.
    write(TOKENS[2].1);
    shared.until_closed();
    own.until_closed();
    assert_eq!(host.connect("/", "secret").err().unwrap().0, 401);
    assert_eq!(kept.request(&json!({ "type": "list_sessions", "id": 1 }))["success"], true);
}

#[test]
fn metrics_count_what_happens() {
    let usage = json!({ "input": 10, "output": 20 });
    let script = json!({
        "turns": [{ "repeat": true, "say": [{ "text": "Hello" }], "usage": usage }],
        "model": { "cost": { "input": 100_000.0, "output": 100_000.0 } },
    });
    let host = TcpHost::start(&script, |_| vec![json!({ "sees_all": true }), json!({})], &[]);
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    client.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }));
    client.find(|frame| frame["type"] == "agent_settled");
    client.request(&json!({ "type": "get_state", "id": 2, "sessionId": "none" }));
    client.request(&json!({ "type": "get_state", "id": 3, "sessionId": session }));
    let ask = |token| get(TcpStream::connect(host.authority()).unwrap(), "/metrics", token);
    let (status, text) = ask(Some("secret"));
    assert_eq!(status, "HTTP/1.1 200 OK");
    for line in [
        "pi_rpc_sessions{state=\"idle\"} 1",
        "pi_rpc_sessions{state=\"running\"} 0",
        "pi_rpc_connections{kind=\"shared\"} 1",
        "pi_rpc_runs_total 1",
        "pi_rpc_tokens_total{kind=\"input\"} 10",
        "pi_rpc_tokens_total{kind=\"output\"} 20",
        "pi_rpc_cost_dollars_total 3.0",
        "pi_rpc_command_seconds_count{command=\"prompt\"} 1",
        "pi_rpc_pending_bytes 0",
        "pi_rpc_refusals_total{code=\"unknown_session\"} 1",
        "pi_rpc_violations_total 0",
        "# EOF",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}:\n{text}");
    }
    let refused = json!({ "error": "forbidden_metrics: expected a token with sees_all" });
    let (status, text) = ask(Some("other"));
    assert_eq!((status.as_str(), text), ("HTTP/1.1 403 Forbidden", refused.to_string()));
    assert_eq!(ask(None).0, "HTTP/1.1 401 Unauthorized");
}

#[test]
fn log_has_ids_of_sessions() {
    let limits = |_: &str| vec![json!({ "dollars_per_day": 0.5 })];
    let host = TcpHost::start(&costly(), limits, &["--log-format", "json"]);
    assert!(host.log().starts_with("{\"level\":\"INFO\",\"fields\":{\"message\":\"listening at ws://"));
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    client.send(&json!({ "type": "prompt", "id": 1, "message": "Hi", "sessionId": session }));
    client.find(|frame| frame["type"] == "agent_settled");
    eventually("the abort is logged", || host.log().lines().count() == 2);
    let mut line: Value = serde_json::from_str(host.log().lines().nth(1).unwrap()).unwrap();
    line["timestamp"] = Value::Null;
    let span = json!({ "id": session, "name": "session" });
    let message = format!("session {session}: its owner may spend no more today; its run is aborted");
    let whole = json!({
        "timestamp": null, "level": "WARN", "fields": { "message": message }, "span": span, "spans": [span],
    });
    assert_eq!(line, whole);
}

/// Waits for a state that is reported to systemd.
fn expect_state(socket: &UnixDatagram, state: &str) {
    let mut bytes = [0; 256];
    let count = socket.recv(&mut bytes).unwrap();
    assert_eq!(str::from_utf8(&bytes[..count]).unwrap().trim_end(), state);
}

#[test]
fn systemd_passes_socket_and_gets_states() {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(dir.path().join("s")).unwrap();
    let states = UnixDatagram::bind(dir.path().join("notify")).unwrap();
    states.set_read_timeout(Some(TOO_LONG)).unwrap();
    let mut line = command(binary(), dir.path());
    line.args(["host", "--listen", "systemd:", "--model", "scripted/demo", "--dialect", "pi-1"]);
    line.env("LISTEN_FDS", "1").env("NOTIFY_SOCKET", dir.path().join("notify"));
    line.fd_mappings(vec![FdMapping { parent_fd: listener.into(), child_fd: 3 }]).unwrap();
    let mut host = line.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    expect_state(&states, "READY=1");
    let (status, body) = get(UnixStream::connect(dir.path().join("s")).unwrap(), "/healthz", None);
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "ok\n"));
    kill_process(Pid::from_child(&host), Signal::TERM).unwrap();
    expect_state(&states, "STOPPING=1");
    assert_eq!(host.wait().unwrap().code(), Some(0));
    assert!(dir.path().join("s").exists(), "the socket is systemd's");
}

#[test]
fn missing_sockets_of_systemd_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut line = command(binary(), dir.path());
    let output = line.args(["host", "--listen", "systemd:"]).stdin(Stdio::null()).output().unwrap();
    let text = "Error: --listen systemd: expected LISTEN_FDS, and LISTEN_PID of this process, with sockets\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), text);
}

#[test]
fn upgrade_keeps_process_and_sockets() {
    let host = TcpHost::start(
        &waiting(),
        |here| vec![json!({ "roots": [here] })],
        &["--listen", "ws://127.0.0.1:0", "--listen", "unix:s"],
    );
    let listens = |count| host.log().matches("listening at ").count() == count;
    eventually("both addresses are there", || listens(2));
    let path = host.dir.path().join("kept.jsonl");
    let mut client = host.client("secret");
    let opened = client.request(&json!({ "type": "open_session", "id": 1, "sessionPath": path }));
    let session = opened["data"]["sessionId"].clone();
    client.send(&json!({ "type": "prompt", "id": 2, "message": "Hi", "sessionId": session }));
    client.find(|frame| frame["type"] == "tool_execution_start");
    host.signal(Signal::USR2);
    // It is served until its run has ended.
    assert_eq!(
        client.request(&json!({ "type": "get_state", "id": 3, "sessionId": session }))["success"],
        true
    );
    fs::write(host.dir.path().join("go"), "").unwrap();
    client.find(|frame| frame["type"] == "agent_settled");
    eventually("the next program listens", || listens(4));
    let mut client = host.client("secret");
    let opened = client.request(&json!({ "type": "open_session", "id": 1, "sessionPath": path }));
    assert_eq!(opened["data"]["state"]["messageCount"], 5, "{opened}");
    let (_, body) = get(UnixStream::connect(host.dir.path().join("s")).unwrap(), "/healthz", None);
    assert_eq!(body, "ok\n");
    host.signal(Signal::TERM);
    eventually("the socket is removed", || !host.dir.path().join("s").exists());
}

/// A host at the Unix socket `s` whose program can be replaced, and the file of that program.
fn replaceable_host() -> (TcpHost, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    fs::hard_link(binary(), &program).or_else(|_| fs::copy(binary(), &program).map(drop)).unwrap();
    let line = command(&program, dir.path());
    (TcpHost::start_by(line, dir, &hello(), &["--listen", "unix:s"]), program)
}

#[test]
fn hanging_program_blocks_no_signal() {
    let (host, program) = replaceable_host();
    let next = host.dir.path().join("next");
    fs::write(&next, "#!/bin/sh\ntouch checked\nsleep 600\n").unwrap();
    fs::set_permissions(&next, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&next, &program).unwrap();
    host.signal(Signal::USR2);
    eventually("the program is tried", || host.dir.path().join("checked").exists());
    let (_, body) = get(UnixStream::connect(host.dir.path().join("s")).unwrap(), "/healthz", None);
    assert_eq!(body, "ok\n");
    host.signal(Signal::TERM);
    eventually("the socket is removed", || !host.dir.path().join("s").exists());
    eventually("no process is left", || processes_of(host.dir.path()).is_empty());
}

#[test]
fn signals_in_a_row_leave_host_alive() {
    let host = TcpHost::start(&hello(), |_| vec![json!({})], &["--listen", "unix:s"]);
    eventually("the next program listens", || {
        host.signal(Signal::USR2);
        host.log().matches("listening at ").count() >= 3
    });
    // The last signal may have begun another upgrade, which closes connections.
    eventually("the host answers", || {
        let mut stream = UnixStream::connect(host.dir.path().join("s")).unwrap();
        let mut text = String::new();
        let written = write!(stream, "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        written.is_ok() && stream.read_to_string(&mut text).is_ok() && text.ends_with("ok\n")
    });
}

#[test]
fn ended_host_leaves_socket_of_another() {
    let first = Host::start(&hello(), &[]);
    let dir = first.dir.clone();
    fs::remove_file(dir.path().join("s")).unwrap();
    let second = Host::start_in(dir, &[]);
    first.stop();
    assert!(UnixStream::connect(second.socket()).is_ok());
    let dir = second.dir.clone();
    second.stop();
    assert!(!dir.path().join("s").exists());
}
