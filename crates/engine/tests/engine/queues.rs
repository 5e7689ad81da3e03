//! Events about the queues of messages, in the dialects that have them.

use pi_rpc_protocol::Dialect::{self, Pi1, Pi073};
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

const TELLING: [Dialect; 2] = [Pi073, Pi1];

/// A run whose answer has begun to come, at 75 ms; two more turns follow at most.
fn streaming() -> Scenario {
    let slow = json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 });
    scenario(json!([slow, says("Two."), says("Three."), says("Four.")])).host(0, prompt("p", "hi"))
}

/// Without what some dialects tell the model first.
fn shape(scenario: &Scenario, dialect: Dialect) -> String {
    let mut shape = scenario.finish(dialect).shape();
    shape.retain(|step| step != "system");
    shape.join(" · ")
}

#[test]
fn queue_update_precedes_response_and_delivery() {
    let queued = streaming().host(75, steer("S1")).host(76, follow_up("F1")).host(77, queued("S2", "steer"));
    let expected = "ok p · agent_start · turn_start · user hi · ms · text · queue [S1|] · ok S1 · queue [S1|F1] · \
                    ok F1 · queue [S1 S2|F1] · ok S2 · text · me stop · turn_end [] · \
                    turn_start · queue [S2|F1] · user S1 · ms · text · me stop · turn_end [] · \
                    turn_start · queue [|F1] · user S2 · ms · text · me stop · turn_end [] · \
                    turn_start · queue [|] · user F1 · ms · text · me stop · turn_end [] · ";
    for dialect in TELLING {
        let shape = shape(&queued, dialect);
        assert!(shape.starts_with(expected), "{dialect}: {shape}");
    }
}

#[test]
fn joint_delivery_updates_queue_per_message() {
    let mode = json!({ "id": "all", "type": "set_steering_mode", "mode": "all" });
    let queued = streaming().host(60, mode).host(75, steer("S1")).host(76, steer("S2"));
    for dialect in TELLING {
        let shape = shape(&queued, dialect);
        let expected = "turn_start · queue [S2|] · user S1 · queue [|] · user S2 · ms";
        assert!(shape.contains(expected), "{dialect}: {shape}");
    }
}

#[test]
fn message_queued_when_idle_follows_prompt() {
    let waiting = scenario(json!([says("One.")])).host(0, steer("S1")).host(1, prompt("p", "hi"));
    let expected =
        "queue [S1|] · ok S1 · ok p · agent_start · turn_start · user hi · queue [|] · user S1 · ms · ";
    for dialect in TELLING {
        let shape = shape(&waiting, dialect);
        assert!(shape.starts_with(expected), "{dialect}: {shape}");
    }
}

#[test]
fn abort_keeps_queue_without_queue_update() {
    let aborted = streaming().host(75, steer("S1")).host(76, command("abort")).host(90, command("get_state"));
    for dialect in TELLING {
        let shape = shape(&aborted, dialect);
        assert_eq!(shape.matches("queue").count(), 1, "{dialect}: {shape}");
        assert_eq!(aborted.finish(dialect).data("get_state")["pendingMessageCount"], 1, "{dialect}");
    }
}

#[test]
fn equal_steers_after_abort_are_delivered() {
    let steer = |id: &str| json!({ "id": id, "type": "steer", "message": "S" });
    let waiting = scenario(json!([says("One."), says("Two.")]))
        .host(0, steer("a"))
        .host(1, steer("b"))
        .host(2, command("abort"))
        .host(3, prompt("p", "hi"));
    let expected = "queue [S|] · ok a · queue [S S|] · ok b · ok abort · ok p · agent_start · turn_start · \
                    user hi · queue [S|] · user S · ms · text · me stop · turn_end [] · \
                    turn_start · queue [|] · user S · ms · ";
    for dialect in TELLING {
        let shape = shape(&waiting, dialect);
        assert!(shape.starts_with(expected), "{dialect}: {shape}");
    }
}

#[test]
fn clear_queue_always_emits_queue_update() {
    let cleared = scenario(json!([says("One.")]))
        .host(0, steer("S1"))
        .host(1, follow_up("F1"))
        .host(2, command("clear_queue"))
        .host(3, json!({ "id": "again", "type": "clear_queue" }));
    let expected =
        "queue [S1|] · ok S1 · queue [S1|F1] · ok F1 · queue [|] · ok clear_queue · queue [|] · ok again";
    assert_eq!(shape(&cleared, Pi1), expected);
    assert_eq!(cleared.finish(Pi1).data("clear_queue"), json!({ "steering": ["S1"], "followUp": ["F1"] }));
    assert_eq!(cleared.finish(Pi1).data("again"), json!({ "steering": [], "followUp": [] }));
}

#[test]
fn another_session_has_no_messages_that_wait() {
    for leave in [command("new_session"), command("clone")] {
        let left =
            scenario(json!([])).host(0, steer("S1")).host(1, leave.clone()).host(2, command("get_state"));
        for dialect in [Pi073, Pi1] {
            assert_eq!(left.finish(dialect).data("get_state")["pendingMessageCount"], 0, "{dialect} {leave}");
        }
    }
}

#[test]
fn left_session_empties_queues_before_response() {
    let left = streaming().host(75, steer("S1")).host(76, follow_up("F1")).host(77, command("new_session"));
    for dialect in TELLING {
        let shape = shape(&left, dialect);
        let settled = if dialect == Pi1 { "agent_settled · " } else { "" };
        let expected = format!("agent_end [ua] · {settled}queue [|] · ok new_session");
        let shape = shape.replace("agent_end [sua]", "agent_end [ua]");
        assert!(shape.ends_with(&expected), "{dialect}: {shape}");
    }
    // What does not wait is not told.
    let left = scenario(json!([])).host(0, command("new_session"));
    for dialect in TELLING {
        assert_eq!(shape(&left, dialect), "ok new_session", "{dialect}");
    }
}

#[test]
fn responses_have_disposition_in_pi_1() {
    let said = streaming().host(75, queued("q", "followUp")).host(76, steer("s")).host(77, follow_up("f"));
    for (id, disposition) in [("p", "started"), ("q", "queued"), ("s", "queued"), ("f", "queued")] {
        assert_eq!(said.finish(Pi1).data(id), json!({ "disposition": disposition }), "{id}");
        assert_eq!(said.finish(Pi073).data(id), Value::Null, "{id}");
    }
}

#[test]
fn plain_prompt_is_refused_until_settled() {
    let text = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";
    let expected =
        json!({ "id": "q", "type": "response", "command": "prompt", "success": false, "error": text });
    let waits = scenario(json!([overloaded(), says("One.")])).host(0, prompt("p", "hi"));
    for busy in [streaming().host(75, prompt("q", "now")), waits.host(1000, prompt("q", "now"))] {
        let played = busy.finish(Pi1);
        assert_eq!(played.answers("q"), [&expected], "{}", played.log);
    }
}
