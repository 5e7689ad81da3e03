//! `SessionState` knows what frames tell for certain, and nothing else.

use pi_rpc::{
    client::{Agreement, Permission, SessionState},
    protocol::{
        Dialect, Disposition, Inbound, Outbound, QueueMode, RpcCommand, SessionMember as Member, TokenTotals,
        read,
    },
};
use serde_json::{Value, json};

/// A session that is fed frames as JSON.
struct Fed {
    session: SessionState,
    dialect: Dialect,
}

impl Fed {
    fn new(dialect: Dialect) -> Self {
        Self { session: SessionState::new(dialect), dialect }
    }

    fn fresh(dialect: Dialect) -> Self {
        Self { session: SessionState::fresh(dialect), dialect }
    }

    fn sent(&mut self, frame: Value) {
        self.session.inbound(&read::<Inbound>(frame.to_string().as_bytes(), self.dialect).unwrap());
    }

    fn received(&mut self, frame: Value) {
        self.session.outbound(read::<Outbound>(frame.to_string().as_bytes(), self.dialect).unwrap());
    }

    fn success(&mut self, id: &str, command: &str, data: Value) {
        let mut frame = json!({"type": "response", "id": id, "command": command, "success": true});
        if !data.is_null() {
            frame["data"] = data;
        }
        self.received(frame);
    }

    /// A command and its success.
    fn call(&mut self, mut command: Value, data: Value) {
        command["id"] = json!("1");
        self.sent(command.clone());
        self.success("1", command["type"].as_str().unwrap(), data);
    }

    fn sets_steering(&mut self, id: &str, mode: &str) {
        self.sent(json!({"type": "set_steering_mode", "id": id, "mode": mode}));
    }

    /// The user's message begins and ends.
    fn delivers(&mut self, text: &str) {
        self.received(json!({"type": "message_start", "message": user(text)}));
        self.received(json!({"type": "message_end", "message": user(text)}));
    }

    fn permission(&self, command: Value) -> Permission {
        match read::<Inbound>(command.to_string().as_bytes(), self.dialect).unwrap() {
            Inbound::Command(command) => self.session.permission(&command),
            other => panic!("{other:?} is no command"),
        }
    }

    fn value(&self, member: Member) -> Value {
        json!(self.session.get(member))
    }

    fn queues(&self) -> Value {
        json!([self.session.steering(), self.session.follow_up()])
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1})
}

fn state() -> Value {
    json!({
        "thinkingLevel": "off", "isStreaming": false, "isCompacting": false, "steeringMode": "all",
        "followUpMode": "all", "sessionId": "s", "autoCompactionEnabled": true, "messageCount": 0,
        "pendingMessageCount": 0
    })
}

#[test]
fn get_state_sets_every_member() {
    let mut fed = Fed::new(Dialect::Pi);
    assert_eq!(Member::ALL.map(|member| fed.session.is_known(member)), [false; Member::ALL.len()]);
    fed.call(json!({"type": "get_state"}), state());
    let known: Vec<(&str, Value)> = Member::ALL
        .into_iter()
        .filter(|member| fed.session.is_known(*member))
        .map(|member| (member.as_str(), fed.value(member)))
        .collect();
    let told = [
        ("model", Value::Null),
        ("thinkingLevel", json!("off")),
        ("steeringMode", json!("all")),
        ("followUpMode", json!("all")),
        ("autoCompactionEnabled", json!(true)),
        ("sessionId", json!("s")),
        ("sessionFile", Value::Null),
        ("sessionName", Value::Null),
    ];
    assert_eq!(known, told);
}

#[test]
fn fresh_process_has_empty_queues() {
    assert_eq!(Fed::new(Dialect::Pi).queues(), json!([null, null]));
    assert_eq!(Fed::fresh(Dialect::Pi).queues(), json!([[], []]));
}

#[test]
fn revision_grows_only_with_a_change() {
    let mut fed = Fed::new(Dialect::Pi);
    fed.call(json!({"type": "get_state"}), state());
    let before = fed.session.clone();
    fed.call(json!({"type": "get_state"}), state());
    assert_eq!(fed.session.revision(), before.revision());
    fed.call(json!({"type": "set_steering_mode", "mode": "one-at-a-time"}), Value::Null);
    assert!(fed.session.revision() > before.revision());
    assert!(fed.session.revision_of(Member::SteeringMode) > before.revision_of(Member::SteeringMode));
    assert_eq!(fed.session.revision_of(Member::FollowUpMode), before.revision_of(Member::FollowUpMode));
}

#[test]
fn earlier_read_does_not_overwrite_change() {
    let mut fed = Fed::new(Dialect::Pi);
    fed.sent(json!({"type": "get_state", "id": "read"}));
    fed.call(json!({"type": "set_steering_mode", "mode": "one-at-a-time"}), Value::Null);
    fed.success("read", "get_state", state());
    assert_eq!(fed.value(Member::SteeringMode), json!("one-at-a-time"));
    assert_eq!(fed.value(Member::FollowUpMode), json!("all"));
    assert_eq!(fed.session.agreement(Member::SteeringMode), Agreement::default());
}

#[test]
fn concurrent_setters_make_member_unknown() {
    let mut fed = Fed::new(Dialect::Pi);
    fed.sets_steering("a", "all");
    fed.sets_steering("b", "one-at-a-time");
    fed.success("a", "set_steering_mode", Value::Null);
    fed.success("b", "set_steering_mode", Value::Null);
    assert_eq!(fed.session.get(Member::SteeringMode), None);
}

#[test]
fn serial_dialect_keeps_the_last_setter() {
    let mut fed = Fed::new(Dialect::Xcsh);
    fed.sets_steering("a", "all");
    fed.sets_steering("b", "one-at-a-time");
    fed.success("a", "set_steering_mode", Value::Null);
    fed.success("b", "set_steering_mode", Value::Null);
    assert_eq!(fed.value(Member::SteeringMode), json!(QueueMode::OneAtATime));
}

#[test]
fn failed_command_changes_nothing() {
    let mut fed = Fed::new(Dialect::Pi);
    fed.call(json!({"type": "set_steering_mode", "mode": "all"}), Value::Null);
    for id in [json!("2"), Value::Null] {
        fed.sets_steering("2", "one-at-a-time");
        let error =
            json!({"type": "response", "command": "set_steering_mode", "success": false, "error": "no"});
        let mut error = error.as_object().unwrap().clone();
        if !id.is_null() {
            error.insert("id".to_owned(), id);
        }
        fed.received(Value::Object(error));
    }
    assert_eq!(fed.value(Member::SteeringMode), json!("all"));
}

#[test]
fn queued_messages_wait_until_delivered() {
    let mut fed = Fed::fresh(Dialect::Pi);
    fed.received(json!({"type": "agent_start"}));
    fed.call(json!({"type": "steer", "message": "left"}), Value::Null);
    fed.call(json!({"type": "follow_up", "message": "stop"}), Value::Null);
    let prompt = json!({"type": "prompt", "message": "right", "streamingBehavior": "steer"});
    fed.call(prompt, Value::Null);
    assert_eq!(fed.queues(), json!([["left", "right"], ["stop"]]));
    fed.delivers("left");
    assert_eq!(fed.queues(), json!([["right"], ["stop"]]));
}

#[test]
fn prompt_with_queued_text_leaves_queue_unknown() {
    let mut fed = Fed::fresh(Dialect::Pi);
    fed.call(json!({"type": "steer", "message": "go"}), Value::Null);
    fed.call(json!({"type": "prompt", "message": "go"}), Value::Null);
    fed.delivers("go");
    assert_eq!(fed.queues(), json!([null, []]));
}

#[test]
fn messages_grow_once_by_events() {
    let mut fed = Fed::new(Dialect::Pi);
    fed.call(json!({"type": "get_messages"}), json!({"messages": [user("a")]}));
    fed.received(json!({"type": "message_end", "message": user("a")}));
    fed.delivers("b");
    assert_eq!(json!(fed.session.messages()), json!([user("a"), user("b")]));
    let done = json!({"output": "", "exitCode": 0, "cancelled": false, "truncated": false});
    fed.call(json!({"type": "bash", "command": "true"}), done);
    assert_eq!(fed.session.messages(), None);
}

#[test]
fn usage_adds_every_answer() {
    let mut fed = Fed::new(Dialect::Pi);
    let tokens = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 10});
    let stats = json!({
        "sessionId": "s", "userMessages": 0, "assistantMessages": 0, "toolCalls": 0, "toolResults": 0,
        "totalMessages": 0, "tokens": tokens, "cost": 0.0
    });
    fed.call(json!({"type": "get_session_stats"}), stats);
    let cost = json!({"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0});
    let usage =
        json!({"input": 10, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 30, "cost": cost});
    let message = json!({
        "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "usage": usage,
        "stopReason": "stop", "timestamp": 1
    });
    fed.received(json!({"type": "agent_start"}));
    fed.received(json!({"type": "message_end", "message": message}));
    let sum =
        TokenTotals { input: 11, output: 22, cache_read: 3, cache_write: 4, total: 40, reasoning: None };
    assert_eq!(fed.session.usage(), Some(&sum));
}

#[test]
fn partial_entries_do_not_fill_list() {
    let mut fed = Fed::new(Dialect::Pi1);
    let none = json!({"entries": [], "leafId": null});
    fed.call(json!({"type": "get_entries", "since": "e"}), none.clone());
    assert_eq!(fed.session.entries(), None);
    fed.call(json!({"type": "get_entries"}), none);
    assert_eq!(fed.session.entries(), Some(&[][..]));
}

#[test]
fn dialog_waits_until_answered_or_cancelled() {
    let mut fed = Fed::new(Dialect::Pi);
    let confirm = |id: &str| json!({"type": "extension_ui_request", "id": id, "method": "confirm", "title": "Sure?", "message": ""});
    fed.received(confirm("a"));
    fed.received(confirm("b"));
    fed.received(json!({"type": "extension_ui_request", "id": "n", "method": "notify", "message": "Look"}));
    fed.sent(json!({"type": "extension_ui_response", "id": "a", "confirmed": true}));
    let waiting: Vec<&str> = fed.session.dialogs().iter().map(|dialog| dialog.id()).collect();
    assert_eq!(waiting, ["b"]);
}

#[test]
fn permission_follows_the_state_machine() {
    let mut fed = Fed::new(Dialect::Pi);
    let prompt = json!({"type": "prompt", "message": "a"});
    assert_eq!(fed.permission(prompt.clone()), Permission::Allowed(Some(Disposition::Run)));
    fed.received(json!({"type": "agent_start"}));
    assert!(fed.permission(prompt).reason().is_some_and(|reason| reason.contains("already processing")));
    let queued = json!({"type": "prompt", "message": "a", "streamingBehavior": "steer"});
    assert_eq!(fed.permission(queued), Permission::Allowed(Some(Disposition::Queue)));
    let foreign: RpcCommand = serde_json::from_value(json!({"type": "set_todos", "phases": []})).unwrap();
    let refused = Permission::Refused("pi has no command set_todos".to_owned());
    assert_eq!(fed.session.permission(&foreign), refused);
}

#[test]
fn agreement_counts_silent_changes() {
    let mut fed = Fed::new(Dialect::Pi);
    fed.call(json!({"type": "get_state"}), state());
    let mut other = state();
    other["steeringMode"] = json!("one-at-a-time");
    fed.call(json!({"type": "get_state"}), other);
    assert_eq!(fed.session.agreement(Member::SteeringMode), Agreement { same: 0, different: 1 });
    assert_eq!(fed.session.agreement(Member::FollowUpMode), Agreement { same: 1, different: 0 });
    assert_eq!(fed.value(Member::SteeringMode), json!("one-at-a-time"));
}

#[test]
fn missed_frames_make_every_member_unknown() {
    let mut fed = Fed::fresh(Dialect::Pi);
    fed.call(json!({"type": "get_state"}), state());
    fed.session.forget_everything();
    assert_eq!(Member::ALL.map(|member| fed.session.is_known(member)), [false; Member::ALL.len()]);
}
