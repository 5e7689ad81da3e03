//! Connections that say nothing: they neither lock others out nor stay.

use crate::{
    host_support::{Client, hello},
    operating::get,
    serve_support::{binary, command},
    tcp_support::{TOKENS, TcpHost},
};
use serde_json::json;
use std::{
    fs,
    io::{ErrorKind, Read as _},
    net::TcpStream,
    os::unix::net::UnixStream,
};

/// A host that may have 120 descriptors, thirty of them for strangers by TCP.
fn small_host() -> TcpHost {
    let dir = tempfile::tempdir().unwrap();
    let tokens =
        json!({ "tokens": [{ "sha256": TOKENS[0].1, "name": "a", "limits": { "sees_all": true } }] });
    fs::write(dir.path().join("tokens"), tokens.to_string()).unwrap();
    let mut line = command("sh".as_ref(), dir.path());
    line.args(["-c", "ulimit -n 120 && exec \"$0\" \"$@\""]).arg(binary());
    let listen = ["--token-file", "tokens", "--listen", "unix:s", "--listen", "ws://127.0.0.1:0"];
    let host = TcpHost::start_by(line, dir, &hello(), &listen);
    crate::serve_support::eventually("both addresses are there", || host.log().contains("ws://"));
    host
}

/// Whether the other end has hung up.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn silent_strangers_lock_nobody_out() {
    let host = small_host();
    let connect = || TcpStream::connect(host.tcp_authority()).unwrap();
    let mut silent: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
    assert!(is_closed(&mut silent[0]));
    let (status, text) = get(connect(), "/metrics", Some("secret"));
    assert_eq!(status, "HTTP/1.1 200 OK");
    let displaced = |line: &&str| line.starts_with("pi_rpc_strangers_closed_total{reason=\"displaced\"}");
    let displaced = text.lines().find(displaced).unwrap_or_else(|| panic!("{text}"));
    let count: u32 = displaced.rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!(count >= 170, "{displaced}");
    // Nor clients of the Unix socket, as long as some of those by TCP are silent.
    let mut client = Client::connect(host.dir.path().join("s"));
    assert_eq!(client.request(&json!({ "type": "list_sessions", "id": 1 }))["success"], true);
}

#[test]
fn silent_local_clients_lock_nobody_out() {
    let host = small_host();
    let socket = host.dir.path().join("s");
    let silent: Vec<UnixStream> = (0..60).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    assert_eq!((&silent[0]).read(&mut [0]).unwrap(), 0);
    let mut client = Client::connect(socket);
    assert_eq!(client.request(&json!({ "type": "list_sessions", "id": 1 }))["success"], true);
    let (status, _) = get(TcpStream::connect(host.tcp_authority()).unwrap(), "/healthz", None);
    assert_eq!(status, "HTTP/1.1 200 OK");
}

#[test]
fn refused_stranger_is_disconnected() {
    let host = small_host();
    let mut stream = TcpStream::connect(host.tcp_authority()).unwrap();
    // Without `connection: close`.
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{text}");
}
