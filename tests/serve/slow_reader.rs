//! Hosts that read slowly or write much: memory stays bounded, and nothing is lost.

use crate::serve_support::{BOTH, Server, eventually, keys, processes_of, sample};
use pi_rpc::{
    machine::Machine,
    protocol::{
        Dialect::{self, Pi, Pi1, Xcsh},
        Emission, Inbound, Outbound, read,
    },
};
use serde_json::{Value, json};

/// The most memory that a server may take here, in MiB.
const MODEST: u64 = 100;

const DELTAS: usize = 4000;

/// A script whose answer comes in a burst.
fn burst(dialect: Dialect) -> Server {
    let turns = json!([{"match": "burst", "repeat": true, "say": [{"text": "0123456", "deltas": DELTAS, "size": 5}]},
        {"repeat": true, "say": [{"text": "yes"}]}]);
    Server::script(dialect, turns)
}

#[test]
fn pending_deltas_are_small_and_coalesced() {
    const MANY: usize = 40_000;
    let turns = json!([{"say": [{"text": "0123456", "deltas": MANY, "size": 5}]}]);
    let mut server = Server::script(Pi1, turns);
    server.send(json!({"type": "prompt", "message": "burst?"}));
    server.stands_still();
    let (mut text, mut deltas, mut greatest) = (String::new(), 0, 0);
    let end = loop {
        let frame = server.next();
        let event = &frame["assistantMessageEvent"];
        if event["type"] == "text_delta" {
            let delta = event["delta"].as_str().unwrap();
            text.push_str(delta);
            (deltas, greatest) = (deltas + 1, greatest.max(delta.len()));
            assert_eq!(keys(&frame), ["assistantMessageEvent", "type", "usage"]);
            assert_eq!(frame["usage"]["output"], 1, "what the provider said last");
        } else if frame["type"] == "message_end" && frame["message"]["role"] == "assistant" {
            break frame;
        }
    };
    println!("{deltas} deltas, at most {greatest} characters, {} MiB", server.peak_mib());
    // Where each repeats the message, 500 fill as much of the queue.
    assert!(deltas > 1000 && deltas < MANY / 4 && greatest > 5, "{deltas}, at most {greatest} characters");
    assert_eq!(text, "0123456".chars().cycle().take(5 * MANY).collect::<String>());
    assert_eq!(end["message"]["content"][0]["text"], text);
    server.until_type("agent_settled");
    assert!(server.peak_mib() < MODEST, "{} MiB", server.peak_mib());
    server.finishes();
}

/// So many frames are read before the host does nothing until the server can do nothing.
const SPEEDS: [usize; 4] = [usize::MAX, 400, 60, 7];

/// Stops of one host: each takes a while to be noticed.
const STOPS: usize = 8;

#[test]
fn reading_speed_does_not_change_the_message() {
    let arguments = json!({ "command": format!("echo {}", "0123456789".repeat(800)) });
    let turns = json!([
        { "say": [
            { "thinking": "Let me \"see\". ", "deltas": 2500, "size": 9 },
            { "text": "Zwölf\n\u{1f600} ", "deltas": 2500, "size": 7 },
            { "tool": "bash", "arguments": arguments, "size": 3 },
        ] },
        { "say": [{ "text": "Done." }] },
    ]);
    for (dialect, last) in [(Pi, "agent_end"), (Xcsh, "agent_end"), (Pi1, "agent_settled")] {
        let speeds: Vec<usize> = sample(SPEEDS, 2).collect();
        let messages = speeds.into_iter().map(|speed| {
            let mut server = Server::script(dialect, turns.clone());
            let prompt = json!({ "type": "prompt", "message": "go" });
            let mut machine = Machine::new(dialect, true);
            assert_eq!(
                machine.inbound(&read::<Inbound>(prompt.to_string().as_bytes(), dialect).unwrap()),
                []
            );
            server.send(prompt);
            let (mut grown, mut blocks) = (Vec::new(), vec![String::new(); 3]);
            for at in 1.. {
                if at % speed == 0 && at / speed <= STOPS {
                    server.stands_still();
                }
                let line = server.next_line().expect("the run has not ended");
                let frame = read::<Outbound>(&line, dialect).unwrap();
                assert_eq!(machine.outbound(&Emission::Frame(frame)), [], "{dialect}, {speed}");
                let frame: Value = serde_json::from_slice(&line).unwrap();
                let event = &frame["assistantMessageEvent"];
                if let (Some(delta), true) = (event["delta"].as_str(), grown.is_empty()) {
                    blocks[event["contentIndex"].as_u64().unwrap() as usize].push_str(delta);
                }
                if frame["type"] == "message_end" && frame["message"]["role"] == "assistant" {
                    grown.push(frame["message"]["content"].clone());
                }
                if frame["type"] == last {
                    break;
                }
            }
            assert_eq!(blocks[0], grown[0][0]["thinking"], "{dialect}, {speed}");
            assert_eq!(blocks[1], grown[0][1]["text"], "{dialect}, {speed}");
            assert_eq!(serde_json::from_str::<Value>(&blocks[2]).unwrap(), arguments, "{dialect}, {speed}");
            server.finishes();
            grown
        });
        let messages: Vec<_> = messages.collect();
        assert!(messages.iter().all(|message| *message == messages[0]), "{dialect}");
    }
}

#[test]
fn command_flood_is_answered_in_order() {
    const COUNT: usize = 50_000;
    for dialect in sample(BOTH, 2) {
        let mut server = Server::demo(dialect);
        let lines: Vec<u8> = (0..COUNT)
            .flat_map(|at| format!("{{\"id\":\"{at}\",\"type\":\"get_state\"}}\n").into_bytes())
            .collect();
        let sending = server.send_aside(lines);
        server.stands_still();
        assert!(!sending.is_finished(), "stdin is not paused");
        for at in 0..COUNT {
            let line = server.next_line().expect("an answer");
            assert!(line.starts_with(format!("{{\"id\":\"{at}\",\"type\":\"response\"").as_bytes()), "{at}");
        }
        assert!(server.peak_mib() < MODEST, "{} MiB", server.peak_mib());
        server.sent(sending);
        server.finishes();
    }
}

#[test]
fn commands_between_the_deltas_keep_their_place() {
    for dialect in BOTH {
        let mut server = burst(dialect);
        server.send(json!({"id": "p", "type": "prompt", "message": "burst?"}));
        for at in 0..50 {
            server.send(json!({"id": at.to_string(), "type": "set_session_name", "name": "a name"}));
        }
        server.send(json!({"type": "follow_up", "message": "then"}));
        let frames = server.until_type("agent_end");
        let ids: Vec<&str> = frames
            .iter()
            .filter(|f| f["type"] == "response" && f.get("id").is_some())
            .map(|f| f["id"].as_str().unwrap())
            .collect();
        let wanted: Vec<String> =
            ["p".to_owned()].into_iter().chain((0..50).map(|at| at.to_string())).collect();
        assert_eq!(ids, wanted);
        server.finishes();
    }
}

#[test]
fn flooding_tool_waits_for_host() {
    for dialect in BOTH {
        let turns = json!([{"say": [{"tool": "bash", "arguments": {"command": "i=0; while [ ! -e go ]; do echo $i; i=$((i + 1)); done; echo over"}}]},
            {"onResult": "", "say": [{"text": "It has ended."}]}]);
        let mut server = Server::script(dialect, turns);
        server.send(json!({"type": "prompt", "message": "go"}));
        server.stands_still();
        std::fs::write(server.path("go"), "").unwrap();
        let mut updates = 0;
        let end = loop {
            let line = server.next_line().expect("a frame");
            updates += usize::from(line.starts_with(b"{\"type\":\"tool_execution_update\""));
            if line.starts_with(b"{\"type\":\"tool_execution_end\"") {
                break serde_json::from_slice::<Value>(&line).unwrap();
            }
        };
        let text = end["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("\nover\n"), "{}", &text[text.len() - 200..]);
        println!("{updates} updates, {} MiB", server.peak_mib());
        assert!(server.peak_mib() < MODEST, "{} MiB", server.peak_mib());
        server.until_type("agent_end");
        server.finishes();
    }
}

#[test]
fn abort_is_read_despite_unread_output() {
    let mut server = burst(Pi);
    server.send(json!({"type": "prompt", "message": "burst?"}));
    server.send(json!({"id": "1", "type": "bash", "command": "touch begun; sleep 1000"}));
    server.awaits("begun");
    server.send_bytes(b"{\"type\":\"abort_bash\"}\n{\"id\":\"last\",\"type\":\"abort\"}\n");
    eventually("bash is ended", || processes_of(server.dir.path()).len() == 1);
    let frames = server.until(|frame| frame["id"] == "last");
    assert!(frames.iter().any(|frame| frame["type"] == "agent_end"), "the run was not closed");
    server.close_stdin();
    server.ends();
}

/// Bytes of a large prompt.
const LARGE: usize = 16 << 20;

/// Copies of a large prompt that a server has at once, at most: the message, its line for the session, two frames that wait for
/// the host, one that is being made, what the script has read of it, and one more in reserve.
const COPIES: u64 = 7;

#[test]
fn large_prompt_peak_is_seven_copies() {
    for dialect in sample(BOTH, 2) {
        let mut server = Server::script(dialect, json!([{ "repeat": true, "say": [{ "text": "yes" }] }]));
        let frames = server.run(&"a".repeat(LARGE));
        let texts: Vec<usize> = frames
            .iter()
            .filter(|frame| frame["message"]["role"] == "user")
            .filter_map(|frame| frame["message"]["content"][0]["text"].as_str().map(str::len))
            .collect();
        assert_eq!(texts, [LARGE, LARGE], "{dialect}");
        let (peak, most) = (server.peak_mib(), COPIES * (LARGE as u64 >> 20) + MODEST / 2);
        println!("{dialect}: {peak} MiB");
        assert!(peak < most, "{dialect}: {peak} of {most} MiB");
    }
}
