//! Sessions of a host are listed and watched.

use crate::inspect_support::{BINARY, Page};
use pi_rpc::{
    attach::{Authorities, HostAddress},
    inspect::{HostAccess, Subject},
};
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

/// A host at a socket in a folder; ends when it is dropped.
struct Host(Child);

impl Host {
    fn start(folder: &Path) -> (Self, HostAccess) {
        let socket = folder.join("host.sock");
        let mut child = Command::new(BINARY)
            .args(["host", "--dialect", "pi-1", "--model", "scripted/demo", "--listen"])
            .arg(format!("unix:{}", socket.display()))
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening") {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the host has ended");
        }
        // What it writes further is read, so that it never waits.
        thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let address = HostAddress::Unix(socket);
        (Self(child), HostAccess { address, token: None, authorities: Authorities::default() })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn session_is_listed_and_watched() {
    let folder = tempfile::tempdir().unwrap();
    let (_host, access) = Host::start(folder.path());
    let mut attached = Command::new(BINARY)
        .args(["attach", &access.address.to_string(), "--no-session", "--leave"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Its first response shows that the session is open.
    writeln!(attached.stdin.as_mut().unwrap(), r#"{{"id":"a","type":"get_state"}}"#).unwrap();
    let mut response = String::new();
    BufReader::new(attached.stdout.as_mut().unwrap()).read_line(&mut response).unwrap();
    assert!(response.contains(r#""success":true"#), "{response}");
    let page = Page::of(|_| Subject::Host(access, None), None);
    let listed = page.get("api/sessions")["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let handle = listed[0]["handle"].as_str().unwrap().to_owned();
    assert_eq!(page.post("api/attach", &json!({ "session": handle })).status, 200);
    page.until(|session| session["source"]["session"] == handle.as_str() && session["dialect"] == "pi-1");
    page.send(&json!({ "id": "w", "type": "set_session_name", "name": "Other" }));
    page.until_records(3);
    let rows = page.get("api/records");
    let facts: Vec<_> =
        rows["rows"].as_array().unwrap().iter().map(|row| json!([row["dir"], row["kind"]])).collect();
    let expected = json!([
        ["in", "command(set_session_name)"],
        ["out", "session_info_changed"],
        ["out", "response(set_session_name ok)"]
    ]);
    assert_eq!(json!(facts), expected);
    attached.kill().unwrap();
    attached.wait().unwrap();
}
