//! A disk that hangs stops neither reads nor aborts nor the exit, and no frame of an entry precedes its write.

use pi_rpc_protocol::Dialect::{self, Pi, Pi1, Xcsh};
use pi_rpc_test_kit::{Playback, Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

const ALL: [Dialect; 3] = [Pi, Xcsh, Pi1];

/// A session that has begun, and a disk that does not answer from 100 to 500 ms.
fn hung(turns: Value) -> Scenario {
    let Value::Array(mut rest) = turns else { panic!("turns are a list") };
    let mut turns = vec![says("One.")];
    turns.append(&mut rest);
    scenario(Value::Array(turns)).kept().host(0, prompt("p1", "one")).disk_hangs(100, 500)
}

/// The milliseconds at which frames came out that `wanted` finds.
fn times(played: &Playback, wanted: impl Fn(&Value) -> bool) -> Vec<u64> {
    let lines = played.log.lines().filter_map(|line| {
        let (at, rest) = line.trim_start().split_once(' ')?;
        let frame: Value = serde_json::from_str(rest.strip_prefix("> ")?).ok()?;
        wanted(&frame).then(|| at.parse().expect("milliseconds"))
    });
    lines.collect()
}

fn answered(played: &Playback, id: &str) -> Vec<u64> {
    times(played, |frame| frame["type"] == "response" && frame["id"] == id)
}

fn ended(played: &Playback, role: &str) -> Vec<u64> {
    times(played, |frame| frame["type"] == "message_end" && frame["message"]["role"] == role)
}

#[test]
fn hung_disk_delays_only_writing_commands() {
    for dialect in ALL {
        let played = hung(json!([says("Two.")]))
            .host(200, prompt("p2", "two"))
            .host(300, json!({ "id": "state", "type": "get_state" }))
            .host(310, json!({ "id": "models", "type": "get_available_models" }))
            .host(320, json!({ "id": "messages", "type": "get_messages" }))
            .host(330, json!({ "id": "mode", "type": "set_steering_mode", "mode": "all" }))
            .play(dialect);
        assert_eq!(answered(&played, "state"), [300], "{dialect}\n{}", played.log);
        assert_eq!(answered(&played, "models"), [310], "{dialect}");
        assert_eq!(answered(&played, "messages"), [500], "{dialect}");
        assert_eq!(answered(&played, "mode"), [500], "{dialect}");
        assert_eq!(ended(&played, "user").last(), Some(&500), "{dialect}: told when it is stored");
        let tree = played.disk.tree().expect("a session");
        assert_eq!(
            tree.context().messages.len(),
            if dialect == Pi1 { 5 } else { 4 },
            "{dialect}: all is kept"
        );
    }
}

#[test]
fn abort_gives_a_hung_disk_up() {
    for dialect in ALL {
        let played = hung(json!([says("Two.")]))
            .host(200, prompt("p2", "two"))
            .host(300, json!({ "id": "abort", "type": "abort" }))
            .host(400, prompt("p3", "three"))
            .host(600, prompt("p4", "four"))
            .play(dialect);
        assert_eq!(answered(&played, "abort"), [300], "{dialect}\n{}", played.log);
        let failed =
            times(&played, |frame| frame["message"]["stopReason"] == "error" && frame["type"] == "turn_end");
        assert_eq!(failed, [300], "{dialect}: as with a full disk");
        assert!(played.error("p3").ends_with("the file system has not answered"), "{dialect}");
        assert_eq!(answered(&played, "p4"), [600], "{dialect}: it answers again");
    }
}

#[test]
fn shutdown_gives_a_hung_disk_up() {
    for dialect in ALL {
        let played = hung(json!([says("Two.")]))
            .host(200, prompt("p2", "two"))
            .host(250, json!({ "id": "late", "type": "get_messages" }))
            .stops(300)
            .play(dialect);
        assert!(answered(&played, "late").is_empty(), "{dialect}");
        let exits: Vec<&str> = played.log.lines().filter(|line| line.ends_with("> exit")).collect();
        assert_eq!(exits, ["  300 > exit"], "{dialect}\n{}", played.log);
    }
}

#[test]
fn change_is_answered_once_disk_answers() {
    let level = json!({ "id": "level", "type": "set_thinking_level", "level": "low" });
    for dialect in ALL {
        let played = hung(json!([])).host(200, level.clone()).play(dialect);
        assert_eq!(answered(&played, "level"), [500], "{dialect}\n{}", played.log);
    }
}
