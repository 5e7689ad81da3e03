//! Sessions and their files.

use super::{command, is_text_delta, say};
use crate::trace_support::Host;
use serde_json::{Value, json};

pub fn new_session(host: &mut Host) {
    host.prompt("In the first session");
    let first = host.call(command("get_state"));
    host.call(command("new_session"));
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.call(json!({"type": "new_session", "parentSession": first["data"]["sessionFile"]}));
    host.prompt("In the third");
    let third = host.call(command("get_state"));
    host.look_at_file(&third);
    let mark = host.mark();
    host.call(say("Never end"));
    host.await_since(mark, is_text_delta);
    host.call(command("new_session"));
    host.call(command("get_state"));
    host.finish();
}

pub fn clone_and_entries(host: &mut Host) {
    host.call(command("clone"));
    host.prompt("Hello");
    host.call(command("clone"));
    host.call(command("get_state"));
    let entries = host.call(command("get_entries"));
    if entries["success"] == true {
        let first = &entries["data"]["entries"][0]["id"];
        host.call(json!({"type": "get_entries", "since": first}));
        host.call(json!({"type": "get_entries", "since": "nonexistent"}));
    }
    host.call(command("get_tree"));
    host.finish();
}

pub fn fork(host: &mut Host) {
    host.prompt("The first");
    host.prompt("The second");
    let places = FORK_MESSAGES.map(|kind| entries(&host.call(command(kind)))).concat();
    for kind in ["fork", "branch"] {
        host.call(json!({"type": kind, "entryId": "nonexistent"}));
        host.call(command(kind));
    }
    fork_at(host, &places[1]);
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.prompt("On the fork");
    let state = host.call(command("get_state"));
    host.look_at_file(&state);
    // The second name is asked for only where the first is not known.
    let mut asked = FORK_MESSAGES.into_iter().map(|kind| entries(&host.call(command(kind))));
    let places = asked.find(|places| !places.is_empty()).expect("one name is known");
    fork_at(host, &places[0]);
    host.call(command("get_state"));
    for kind in ["clone", "get_entries", "get_tree"] {
        host.call(command(kind));
    }
    host.finish();
}

/// Commands that list the messages to fork at, by dialect.
const FORK_MESSAGES: [&str; 2] = ["get_fork_messages", "get_branch_messages"];

fn entries(response: &Value) -> Vec<Value> {
    let messages = response["data"]["messages"].as_array();
    messages.into_iter().flatten().map(|message| message["entryId"].clone()).collect()
}

/// Forks by the name that the dialect knows.
fn fork_at(host: &mut Host, entry: &Value) {
    let mut fork = |kind| host.call(json!({"type": kind, "entryId": entry}))["success"] == true;
    assert!(["fork", "branch"].into_iter().any(&mut fork), "one name is known");
}

pub fn resume_flag(host: &mut Host) {
    host.prompt("Remember me");
    let state = host.call(command("get_state"));
    host.finish();
    let file = state["data"]["sessionFile"].as_str().expect("the session has a file").to_owned();
    host.start_again(&["--session", &file]);
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.prompt("Still there?");
    host.look_at_file(&state);
    host.finish();
}
