//! What is inspected: sessions of a host, a process, a recording in another dialect.

use super::support::{inspect, inspect_own_server, inspect_recording};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

/// A host at a socket in a folder; ends when it is dropped.
struct Host(Child);

impl Host {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
            .args(["host", "--dialect", "pi-1", "--model", "scripted/demo", "--listen", "unix:s"])
            .env("HOME", folder)
            .current_dir(folder)
            .stdin(Stdio::null())
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
        Self(child)
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
fn session_of_host_is_chosen_and_watched() {
    let folder = tempfile::tempdir().unwrap();
    let _host = Host::start(folder.path());
    let socket = folder.path().join("s");
    let mut client = UnixStream::connect(&socket).unwrap();
    let mut frames = BufReader::new(client.try_clone().unwrap()).lines();
    writeln!(client, "{}", json!({ "type": "open_session", "id": "o" })).unwrap();
    let opened: Value = serde_json::from_str(&frames.next().unwrap().unwrap()).unwrap();
    let session = opened["data"]["sessionId"].as_str().unwrap();
    let Some(page) = inspect(&[&format!("unix:{}", socket.display())]) else { return };
    let mut page = page.opened();
    page.click("#tab-send");
    page.until("document.querySelector('#host-list button')");
    page.click("#host-list button");
    page.until(&format!("document.querySelector('#source').textContent.includes({})", json!(session)));
    let prompt = json!({ "type": "prompt", "id": "p", "message": "Hello", "sessionId": session });
    writeln!(client, "{prompt}").unwrap();
    page.until("document.querySelector('.item.assistant')");
    assert_eq!(page.texts(".item.user .text"), ["Hello"]);
    page.assert_clean();
}

#[test]
fn process_ends_and_starts_by_buttons() {
    let Some(page) = inspect_own_server() else { return };
    let mut page = page.opened();
    page.click("#tab-send");
    page.click("#process summary");
    page.until("document.querySelector('#process-state').textContent.startsWith('Process ')");
    page.click("#process-actions button:nth-of-type(1)");
    page.until("document.querySelector('#process-state').textContent === 'It has exited with 0.'");
    page.click("#process-actions button:nth-of-type(4)");
    page.until("document.querySelector('#process-state').textContent.startsWith('Process ')");
    page.assert_clean();
}

#[test]
fn another_dialect_judges_anew() {
    let Some(page) = inspect_recording("pi-1/tools.jsonl") else { return };
    let mut page = page.opened();
    assert_eq!(page.text("#findings-badge"), "");
    page.value(
        "const dialect = document.querySelector('#dialect'); dialect.value = 'xcsh'; dialect.dispatchEvent(new Event('change'))",
    );
    page.until("document.querySelector('#dialect-by').textContent === 'as chosen'");
    page.until("Number(document.querySelector('#findings-badge').textContent) > 0");
    page.assert_clean();
}
