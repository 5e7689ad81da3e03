//! The processes of extensions: how they register, how they fail, and that the conversation goes on.

use crate::asking_support::{Extension, PeerStep, does, done, scenario, shorthand, ui, waits, writes};
use pi_rpc::protocol::Dialect::{self, Pi, Xcsh};
use serde_json::{Value, json};
use shorthand::{command, prompt, says as model_says};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

#[test]
fn host_waits_ten_seconds_for_registrations() {
    let register = writes(json!({ "type": "register", "commands": [{ "name": "do" }] }));
    let late = Extension::silent("a").on("hello", [waits(3000), register]).on("command do", [done()]);
    for dialect in DIALECTS {
        let played = scenario(json!([])).extended(late.clone()).host(10, prompt("p", "/do")).play(dialect);
        assert_eq!(
            played.timed_transcript(),
            "10 < p · 3000 >a command do · 3000 <a done · 3000 ok p",
            "{dialect}"
        );
        let first = played.said.first().map(|it| it["type"].as_str().unwrap_or_default());
        assert_eq!(first, Some(if dialect == Xcsh { "ready" } else { "response" }), "{dialect}");

        let never = Extension::silent("b");
        let played = scenario(json!([]))
            .extended(late.clone())
            .extended(never)
            .host(10, prompt("p", "/do"))
            .host(20, command("get_state"))
            .play(dialect);
        assert_eq!(
            played.timed_transcript(),
            "10 < p · 20 < get_state · 10000 #b stopped · \
             10000 error start: It did not register within 10 s and was ended · 10000 >a command do · \
             10000 ok get_state · 10000 <a done · 10000 ok p · \
             10003 <b ends · 10003 error end: The extension has ended and is not started again: killed",
            "{dialect}"
        );
        let error = played.last("extension_error");
        assert_eq!(error["extensionPath"], "/x/b", "{dialect}");
    }
}

#[test]
fn invalid_register_ends_the_wait() {
    let wrong = Extension::silent("a").on("hello", [waits(50), PeerStep::Misregisters("no list")]);
    for dialect in DIALECTS {
        let played = scenario(json!([])).extended(wrong.clone()).host(10, command("get_state")).play(dialect);
        assert_eq!(
            played.timed_transcript(),
            "10 < get_state · 50 <a misregisters · 50 #a stopped · \
             50 error register: A line is no frame: no list · 50 ok get_state · \
             53 <a ends · 53 error end: The extension has ended and is not started again: killed",
            "{dialect}"
        );
    }
}

#[test]
fn early_action_is_deferred_until_all_registered() {
    let note = json!({ "type": "send_message", "message": { "customType": "note", "content": "Well.", "display": true } });
    let quick = Extension::new("a", json!({})).on("start", [waits(10), writes(note)]);
    let late = Extension::silent("b").on("hello", [waits(3000), writes(json!({ "type": "register" }))]);
    for dialect in DIALECTS {
        let played = scenario(json!([])).extended(quick.clone()).extended(late.clone()).play(dialect);
        assert_eq!(played.timed_transcript(), "10 <a send_message · 3000 custom note", "{dialect}");
    }
}

#[test]
fn stop_before_registration_emits_nothing() {
    let note = json!({ "type": "send_message", "message": { "customType": "note", "content": "Well.", "display": true } });
    let quick = Extension::new("a", json!({ "hooks": ["session_shutdown"] }))
        .on(
            "hook session_shutdown",
            [
                writes(note),
                ui("told", json!({ "method": "notify", "message": "Bye." })),
                ui("mine", json!({ "method": "input", "title": "Why?" })),
            ],
        )
        .on("ui_answer mine", [waits(500), done()]);
    let late = Extension::silent("b").on("hello", [waits(300), writes(json!({ "type": "register" }))]);
    for dialect in DIALECTS {
        let played =
            scenario(json!([])).extended(quick.clone()).extended(late.clone()).stops(100).finish(dialect);
        assert_eq!(
            played.timed_transcript(),
            "100 < shutdown · 100 >a hook session_shutdown · 100 <a send_message · 100 <a ui notify · \
             100 <a ui input · 100 >a ui_answer mine · 600 <a done · 600 exit",
            "{dialect}"
        );
        assert_eq!(played.said, Vec::<Value>::new(), "{dialect}");
    }
}

#[test]
fn input_ending_before_registration_is_served() {
    let register = writes(json!({ "type": "register", "commands": [{ "name": "do" }] }));
    let late = Extension::silent("a").on("hello", [waits(3000), register]).on("command do", [done()]);
    let played = scenario(json!([])).extended(late).host(10, prompt("p", "/do")).ends(20).play(Pi);
    assert_eq!(
        played.timed_transcript(),
        "10 < p · 20 < end of input · 3000 >a command do · 3000 <a done · 3000 ok p · 3000 exit"
    );
}

#[test]
fn stop_awaits_no_registration() {
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .extended(Extension::silent("a"))
            .host(5, command("get_state"))
            .stops(10)
            .finish(dialect);
        assert_eq!(played.timed_transcript(), "5 < get_state · 10 < shutdown · 10 exit", "{dialect}");
    }
}

#[test]
fn unstartable_extension_is_reported_once() {
    for dialect in DIALECTS {
        let gone =
            Extension::silent("a").on("start", [waits(1), PeerStep::Ends("No such file or directory")]);
        let played =
            scenario(json!([model_says("Well.")])).extended(gone).host(10, prompt("p", "go")).play(dialect);
        assert_eq!(
            played.transcript(),
            "<a ends · error end: The extension has ended and is not started again: No such file or directory · < p · \
             ok p · agent_start · user go · agent_end [ua]",
            "{dialect}"
        );
    }
}

#[test]
fn ended_extension_is_restarted_three_times() {
    for dialect in DIALECTS {
        let ends = does([PeerStep::Ends("killed")]);
        let played = (0..5).fold(scenario(json!([])).extended(ends), |scenario, n| {
            scenario.host(100 * n, prompt(&format!("p{n}"), "/do"))
        });
        let played = played.play(dialect);
        let once = |n: u64, text: &str| {
            format!(
                "< p{n} · >a command do · <a ends · error end: {text} · error command: {text} · ok p{n} · "
            )
        };
        let again = "The extension has ended: killed";
        let last = "The extension has ended and is not started again: killed";
        let gone = "< p4 · error command: The extension is not running · ok p4";
        let talk = [once(0, again), once(1, again), once(2, again), once(3, last), gone.to_owned()].concat();
        assert_eq!(played.transcript(), talk, "{dialect}");
        assert_eq!(played.wrote(">a", "hello").len(), 4, "{dialect}");
    }
}

#[test]
fn invalid_lines_are_reported_once_then_fatal() {
    for dialect in DIALECTS {
        let babbles = does((0..20).map(|_| PeerStep::Strays("no JSON"))).on("command do", [done()]);
        let played = scenario(json!([]))
            .extended(babbles)
            .host(10, prompt("p", "/do"))
            .host(100, prompt("q", "/do"))
            .play(dialect);
        let strays = "<a strays · ".repeat(15);
        assert_eq!(
            played.transcript(),
            format!(
                "< p · >a command do · <a strays · error frame: A line is no frame: no JSON · {strays}\
                 error frame: 16 lines were no frames; the extension was ended · #a stopped · <a ends · \
                 error end: The extension has ended: killed · error command: The extension has ended: killed · ok p · \
                 < q · >a command do · <a done · ok q"
            ),
            "{dialect}"
        );
    }
}

#[test]
fn an_extension_registers_first() {
    let text = "A line is no frame: `register` comes first";
    let early = Extension::silent("a").on(
        "start",
        [
            writes(json!({ "type": "set_session_name", "name": "mine" })),
            waits(5),
            writes(json!({ "type": "register" })),
        ],
    );
    let played = scenario(json!([])).extended(early).host(10, command("get_state")).play(Pi);
    assert_eq!(
        played.transcript(),
        format!("<a set_session_name · error frame: {text} · < get_state · ok get_state")
    );
    assert_eq!(played.answers("get_state")[0]["data"]["sessionName"], Value::Null);
}

#[test]
fn invalid_registrations_are_reported_and_others_kept() {
    let tool = |name: &str, description: &str, parameters: Value| json!({ "name": name, "description": description, "parameters": parameters });
    let circle = json!({ "$ref": "#" });
    let adds = json!({
        "commands": [{ "name": "two words" }, { "name": "" }, { "name": "do" }],
        "tools": [
            tool("", "Nameless.", json!({})),
            tool("mute", " ", json!({})),
            tool("broken", "Broken.", json!({ "type": 7 })),
            tool("costly", "Costly.", circle),
            tool("mine", "Mine.", json!({ "type": "object" })),
            tool("mine", "Mine, too.", json!({ "type": "object" })),
        ],
    });
    let played = scenario(json!([model_says("Well.")]))
        .extended(Extension::new("a", adds).on("command do", [done()]))
        .host(10, prompt("p", "/do"))
        .host(20, prompt("q", "go"))
        .play(Pi);
    let errors: Vec<String> = played
        .frames("extension_error")
        .map(|it| {
            format!(
                "{} {}",
                it["event"].as_str().unwrap_or_default(),
                it["error"].as_str().unwrap_or_default()
            )
        })
        .collect();
    let (schemas, rest): (Vec<String>, Vec<String>) =
        errors.into_iter().partition(|it| it.contains("are no JSON Schema"));
    assert_eq!(schemas.len(), 1);
    assert!(
        schemas[0].starts_with("register Tool \"broken\": its parameters are no JSON Schema: "),
        "{schemas:?}"
    );
    assert_eq!(
        rest,
        [
            "register Command \"two words\": expected a name without blanks, not empty",
            "register Command \"\": expected a name without blanks, not empty",
            "register Tool \"\": expected a name and a description, not empty",
            "register Tool \"mute\": expected a name and a description, not empty",
            "register Tool \"costly\": its parameters cannot be used to check arguments: a reference leads back to itself \
             without going into the value",
            "register Tool \"mine\" conflicts with an existing tool",
        ]
    );
    assert_eq!(played.called[0].tools, ["bash", "probe", "mine"]);
    assert!(played.transcript().contains("< p · >a command do · <a done · ok p"), "{}", played.transcript());
}
