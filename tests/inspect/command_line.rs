//! `pi-rpc inspect` prints the page's address, and ends with a signal.

use crate::inspect_support::{BINARY, recording};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

#[test]
fn address_is_printed_and_signal_ends() {
    let mut child = Command::new(BINARY)
        .args(["inspect", "--no-browser"])
        .arg(recording("pi-1/plain.jsonl"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("http://127.0.0.1:") && line.ends_with("/\n"), "{line}");
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn missing_file_is_refused() {
    let output =
        Command::new(BINARY).args(["inspect", "--no-browser", "/nothing/there.jsonl"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let expected =
        "Error: /nothing/there.jsonl: expected a file, unix:PATH, ws://HOST:PORT or wss://HOST:PORT\n";
    assert_eq!((output.status.code(), text.as_str()), (Some(2), expected));
}

#[test]
fn server_ends_with_the_inspector() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ended");
    let script = format!("while read line; do :; done; echo > '{}'", mark.display());
    let mut child = Command::new(BINARY)
        .args(["inspect", "--no-browser", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(mark.exists());
}
