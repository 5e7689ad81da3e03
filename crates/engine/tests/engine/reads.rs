//! Commands that only read are served at once, also where commands are served one by one.

use pi_rpc_protocol::{
    Dialect::{self, Pi, Pi1, Xcsh},
    RpcCommandKind,
};
use pi_rpc_test_kit::{Extension, PeerStep, scenario, shorthand::*};
use serde_json::{Value, json};

/// The commands that only read, in this dialect and served by us.
fn reads(dialect: Dialect) -> Vec<&'static str> {
    let is_there = |kind: &&RpcCommandKind| kind.is_read() && kind.is_in(dialect.base());
    RpcCommandKind::ALL.iter().filter(is_there).map(|kind| kind.as_str()).collect()
}

#[test]
fn reads_overtake_running_bash() {
    for dialect in [Pi, Pi1, Xcsh] {
        let mut asked = scenario(json!([])).host(0, bash("b", "sleep 500; echo one"));
        for (place, read) in reads(dialect).into_iter().enumerate() {
            asked = asked.host(10 + place as u64, command(read));
        }
        let played = asked.host(100, command("get_state")).finish(dialect);
        let shape = played.shape();
        let place = shape.iter().position(|step| step == "ok b").expect("an answer");
        let late: Vec<&String> = shape[place..].iter().skip(1).collect();
        assert_eq!(late, Vec::<&String>::new(), "{dialect}\n{}", played.log);
        assert!(shape.len() > reads(dialect).len(), "{dialect}\n{}", played.log);
    }
}

#[test]
fn changes_keep_order_behind_bash() {
    let name = json!({ "id": "name", "type": "set_session_name", "name": "One" });
    let asked = scenario(json!([]))
        .host(0, bash("b", "sleep 500; echo one"))
        .host(10, name)
        .host(20, command("get_state"));
    let played = asked.play(Xcsh);
    assert_eq!(played.shape().join(" · "), "ok get_state · ok b · ok name");
    assert_eq!(played.answers("get_state")[0]["data"].get("sessionName"), None::<&Value>);
}

#[test]
fn custom_message_is_listed_with_its_time() {
    let note = json!({ "customType": "note", "content": "later", "display": true });
    let adds = json!({ "commands": [{ "name": "note" }] });
    let extension = Extension::new("a", adds).on(
        "command note",
        [
            json!({ "type": "send_message", "origin": "$", "message": note, "deliverAs": "nextTurn" }),
            json!({ "type": "done", "id": "$", "result": null }),
        ]
        .map(PeerStep::Writes),
    );
    for dialect in [Pi, Pi1, Xcsh] {
        let played = scenario(json!([{ "say": [{ "text": "Yes." }] }]))
            .extended(extension.clone())
            .host(0, json!({ "type": "prompt", "message": "/note" }))
            .host(10, json!({ "type": "prompt", "message": "go" }))
            .host(500, command("get_messages"))
            .finish(dialect);
        let is_note = |message: &&Value| message["role"] == "custom";
        let ended = played.said.iter().filter(|frame| frame["type"] == "message_end");
        let ended: Vec<&Value> = ended.map(|frame| &frame["message"]).filter(is_note).collect();
        let listed = &played.answers("get_messages")[0]["data"]["messages"];
        let listed: Vec<&Value> = listed.as_array().expect("a list").iter().filter(is_note).collect();
        assert_eq!((listed.len(), listed), (1, ended), "{dialect}\n{}", played.log);
    }
}
