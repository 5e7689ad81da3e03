//! Sessions that are opened and closed, or refused, leave nothing behind in a host.

use crate::host_support::Host;
use serde_json::{Value, json};
use std::fs;

/// Sessions that are opened and closed, of each kind. More than the lines that the file of owners may have too many.
const COUNT: usize = 300;

/// The descriptors that the process has open, which are its own and those of its connections.
fn descriptors(host: &Host) -> usize {
    fs::read_dir(format!("/proc/{}/fd", host.id())).unwrap().count()
}

#[test]
fn closed_and_refused_sessions_leave_nothing() {
    let host = Host::start(&json!([]), &["--state", "state", "--session-dir", "sessions"]);
    let mut client = host.client();
    let mut round = |members: Value| {
        let mut open = json!({ "type": "open_session", "id": "o" });
        open.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let opened = client.request(&open);
        if let Some(session) = opened["data"]["sessionId"].as_str() {
            let closed = client.request(&json!({ "type": "close_session", "id": "c", "sessionId": session }));
            assert_eq!(closed["success"], true, "{closed}");
        }
    };
    let kinds = [json!({}), json!({ "cwd": "/missing" })];
    kinds.iter().for_each(|kind| round(kind.clone()));
    let before = descriptors(&host);
    for _ in 0..COUNT {
        kinds.iter().for_each(|kind| round(kind.clone()));
    }
    assert!(descriptors(&host) <= before, "{before}");
    let state = host.dir.path().join("state");
    let names = fs::read_dir(&state).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, ["lock", "owners"]);
    let lines = fs::read_to_string(state.join("owners")).unwrap().lines().count();
    assert!(lines <= 520, "{lines}");
    let listed = client.request(&json!({ "type": "list_sessions", "id": "l" }));
    assert_eq!(listed["data"]["sessions"], json!([]));
}
