//! Legal behaviour of the originals that looks like a fault yields no finding, while the fault next to it does.

use crate::legal::{Talk, answer, failed, user};
use pi_rpc_machine::Rule;
use pi_rpc_oracle::JudgeOptions;
use pi_rpc_protocol::Dialect::{self, Omp, Pi, Pi1, Pi115, Xcsh};
use serde_json::{Value, json};

/// A run with one update, whose `partial` has these members besides those of `message`.
fn ahead(dialect: Dialect, members: &Value) -> Vec<Rule> {
    let started = answer("stop");
    let mut shown = started.clone();
    shown["content"] = json!([{ "type": "text", "text": "" }]);
    let mut partial = shown.clone();
    partial.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let step = |kind: &str, more: Value| {
        let mut step = json!({ "type": kind, "contentIndex": 0 });
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    };
    let update =
        |step: Value| json!({ "type": "message_update", "message": shown, "assistantMessageEvent": step });
    let run = Talk::new(dialect).ask("1", "prompt", "go").start().begin(&["go"]);
    let run = run.out(json!({ "type": "message_start", "message": started }));
    let run = run.out(update(step("text_start", json!({ "partial": partial }))));
    // What `partial` has counted ahead is in what follows.
    let mut later = shown.clone();
    if let Some(usage) = members.get("usage") {
        later["usage"] = usage.clone();
    }
    let end = step("text_end", json!({ "content": "", "partial": later }));
    let run = run.out(json!({ "type": "message_update", "message": later, "assistantMessageEvent": end }));
    let run = run.out(json!({ "type": "message_end", "message": later }));
    let run = run.out(json!({ "type": "turn_end", "message": later, "toolResults": [] }));
    run.end().input_ends(1).broken(dialect)
}

#[test]
fn partial_of_pi_may_be_ahead() {
    let mut usage = answer("stop")["usage"].clone();
    usage["input"] = json!(7);
    for ahead_in in [json!({ "stopReason": "toolUse" }), json!({ "usage": usage })] {
        assert_eq!(ahead(Pi, &ahead_in), [], "{ahead_in}");
        assert_eq!(ahead(Xcsh, &ahead_in), [Rule::PartialEqEnd], "{ahead_in}");
    }
    for dialect in [Pi, Xcsh] {
        assert_eq!(ahead(dialect, &json!({ "errorMessage": "no" })), [Rule::PartialEqRest]);
    }
}

#[test]
fn extension_may_end_process_behind_response() {
    let exits =
        |talk: Talk, code: i64| talk.record(1, "meta", &json!({ "event": "exit", "code": code })).broken(Pi);
    let quits = || Talk::new(Pi).ask("1", "prompt", "/quit");
    assert_eq!(exits(quits(), 0), []);
    assert_eq!(exits(quits(), 1), [Rule::Lives]);
    let steered = || Talk::new(Pi).ask("1", "prompt", "go").start().begin(&["go"]).ask("2", "steer", "on");
    assert_eq!(exits(steered(), 0), []);
    assert_eq!(exits(steered().finish(&answer("stop")), 0), [Rule::Lives]);
    assert_eq!(exits(quits().asks("2", "abort", ""), 0), [Rule::Lives]);
    let nonsense = quits().record(1, "in", &json!({ "id": "2", "type": "nonsense" }));
    assert_eq!(exits(nonsense, 0), [Rule::HostSchema, Rule::Lives]);
}

#[test]
fn id_of_any_type_may_be_echoed() {
    let error = |id: &Value, command: &str| {
        let error = format!("Unknown command: {command}");
        json!({ "id": id, "type": "response", "command": command, "success": false, "error": error })
    };
    let talk = |asked: Value, response: Value| {
        Talk::new(Pi).record(1, "in", &asked).out(response).input_ends(1).broken(Pi)
    };
    for id in [json!(5), json!(false), json!({ "a": [1] }), json!([])] {
        let asked = json!({ "id": id, "type": "nonsense" });
        assert_eq!(talk(asked.clone(), error(&id, "nonsense")), [Rule::HostSchema], "{id}");
        let done = json!({ "id": id, "type": "response", "command": "abort", "success": true });
        assert_eq!(talk(json!({ "id": id, "type": "abort" }), done), [Rule::HostSchema], "{id}");
    }
    let other = talk(json!({ "id": { "a": 1 }, "type": "abort" }), error(&json!({ "a": 2 }), "abort"));
    assert!(other.contains(&Rule::Schema), "{other:?}");
}

#[test]
fn second_response_repeats_any_id() {
    let response = |more: Value| {
        let mut response = json!({ "id": 7, "type": "response", "command": "prompt" });
        response.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        response
    };
    let asked = json!({ "id": 7, "type": "prompt", "message": "go" });
    let talk = Talk::new(Xcsh).record(1, "in", &asked).out(response(json!({ "success": true })));
    let talk = talk.out(response(json!({ "success": false, "error": "No model." })));
    assert_eq!(talk.broken(Xcsh), [Rule::HostSchema]);
}

#[test]
fn accepted_invalid_line_may_have_effects() {
    let update = json!({ "type": "bash_execution_update", "id": "1", "delta": "sh: undefined: not found" });
    let result = json!({ "output": "sh: undefined: not found", "exitCode": 127, "cancelled": false, "truncated": false });
    let ran = json!({ "id": "1", "type": "response", "command": "bash", "success": true, "data": result });
    let talk = |asked: Value| Talk::new(Pi1).record(1, "in", &asked).out(update.clone()).out(ran.clone());
    let accepted = [Rule::HostSchema, Rule::MissingRefused];
    assert_eq!(talk(json!({ "id": "1", "type": "bash" })).broken(Pi1), accepted);
    assert_eq!(Talk::new(Pi1).out(update.clone()).broken(Pi1), [Rule::BashUpdates]);
}

#[test]
fn flood_of_shells_may_all_print() {
    let run = |talk: Talk, number: usize| {
        let asked = json!({ "id": number.to_string(), "type": "bash", "command": "make" });
        talk.record(1, "in", &asked)
    };
    let many = (0..300).fold(Talk::new(Pi1), run);
    let print = |talk: Talk, id: &str| {
        talk.out(json!({ "type": "bash_execution_update", "id": id, "delta": "made" }))
    };
    assert_eq!(print(print(many, "0"), "299").broken(Pi1), []);
}

/// A response to `get_state` with this level and name.
fn state(id: &str, level: &str, name: Option<&str>) -> Value {
    let mut data = json!({
        "thinkingLevel": level, "isStreaming": false, "isCompacting": false, "steeringMode": "all",
        "followUpMode": "all", "sessionId": "s", "autoCompactionEnabled": true, "messageCount": 0,
        "pendingMessageCount": 0,
    });
    if let Some(name) = name {
        data["sessionName"] = json!(name);
    }
    json!({ "id": id, "type": "response", "command": "get_state", "success": true, "data": data })
}

#[test]
fn accepted_session_name_is_legal() {
    let set = |set: Value| {
        let asked = Talk::new(Pi1).asks("1", "get_state", "").out(state("1", "low", Some("old")));
        let answered = asked.record(1, "in", &set).done("2", "set_session_name");
        answered.asks("3", "get_state", "").out(state("3", "low", None)).broken(Pi1)
    };
    let without = set(json!({ "id": "2", "type": "set_session_name" }));
    assert_eq!(without, [Rule::HostSchema, Rule::MissingRefused]);
    let told = set(json!({ "id": "2", "type": "set_session_name", "name": "new" }));
    assert!(told.contains(&Rule::StateName), "{told:?}");
}

#[test]
fn state_may_tell_any_level_since_request() {
    let changed = json!({ "type": "thinking_level_changed", "level": "high" });
    let talk = |level: &str, asked_before: bool| {
        let known = Talk::new(Pi1).asks("1", "get_state", "").out(state("1", "low", None));
        let asks = |talk: Talk| talk.asks("2", "get_state", "");
        let cycles = |talk: Talk| talk.asks("3", "cycle_model", "").out(changed.clone());
        let both = if asked_before { cycles(asks(known)) } else { asks(cycles(known)) };
        let mut broken = both.out(state("2", level, None)).broken(Pi1);
        broken.retain(|rule| *rule == Rule::StateLevel);
        broken
    };
    for level in ["low", "high"] {
        assert_eq!(talk(level, true), [], "{level}");
    }
    assert_eq!(talk("high", false), []);
}

#[test]
fn silent_server_is_not_judged() {
    use pi_rpc_oracle::{Examination, View, report::Outcome};
    use pi_rpc_recording::read_record;
    let subject = |talk: &Talk| {
        let mut examination = Examination::new("mute", Pi, View::Both);
        for (at, record) in talk.0.iter().enumerate() {
            examination.observe(at as u64 + 1, &read_record(&record.to_string()).unwrap());
        }
        examination.finish()
    };
    let asked = || Talk::new(Pi).asks("1", "get_state", "");
    let waited = json!({ "event": "timeout", "what": "response to get_state" });
    let mute = subject(&asked().record(9000, "meta", &waited).input_ends(1));
    assert_eq!((mute.outcome, mute.findings.len()), (Outcome::Error, 0));
    assert_eq!(mute.reason.as_deref(), Some("the server never wrote anything, and ended with status 0"));
    let mut noisy = asked();
    noisy.0.push(json!({ "t": 2, "dir": "out", "raw": "usage: server [OPTIONS]" }));
    let noisy = subject(&noisy.record(1, "meta", &json!({ "event": "exit", "code": 2 })));
    assert_eq!((noisy.outcome, noisy.findings.len()), (Outcome::Error, 0));
    let reason = "nothing that the server wrote is a frame of the protocol, and ended with status 2";
    assert_eq!(noisy.reason.as_deref(), Some(reason));
    let late = asked().out(json!({ "type": "agent_start" })).record(9000, "meta", &waited);
    assert_ne!(subject(&late).findings.len(), 0);
    assert_eq!(subject(&Talk::new(Pi).both(&user("go"))).outcome, Outcome::Passed);
}

#[test]
fn message_at_rest_goes_before_kept_steering() {
    let ready = json!({
        "type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2], "maxFrameBytes": 1_048_576,
        "maxReassembledFrameBytes": 67_108_864,
    });
    // A server that cannot store a message ends its run and keeps the queue.
    let run =
        Talk::new(Omp).out(ready).ask("1", "prompt", "go").start().begin(&["go"]).ask("2", "steer", "on");
    let mut kept = run.clone().finish(&failed("no space")).end();
    for end in kept.0.iter_mut().filter(|record| record["frame"]["type"] == "agent_end") {
        end["frame"]["isTerminal"] = json!(true);
    }
    let next = kept.ask("3", "follow_up", "more").start().begin(&["more", "on"]);
    assert_eq!(next.broken(Omp), []);
    let queued = run.ask("3", "follow_up", "more").finish(&answer("stop")).begin(&["more", "on"]);
    assert!(queued.broken(Omp).contains(&Rule::DeliverFifo));
}

/// A run whose bash call starts with `started`, shows `shown` and ends with `ended`.
fn bash_call(talk: Talk, started: &Value, shown: &str, ended: &str) -> Talk {
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let mut message = answer("toolUse");
    message["content"] =
        json!([{ "type": "toolCall", "id": "c", "name": "bash", "arguments": { "command": 7 } }]);
    let head = |kind: &str| json!({ "type": kind, "toolCallId": "c", "toolName": "bash", "args": started });
    let (mut update, mut end) = (head("tool_execution_update"), head("tool_execution_end"));
    update["partialResult"] = text(shown);
    end.as_object_mut().unwrap().remove("args");
    (end["result"], end["isError"]) = (text(ended), json!(false));
    let run = talk.ask("1", "prompt", "go").start().begin(&["go"]).both(&message);
    run.out(head("tool_execution_start")).out(update).out(end)
}

#[test]
fn extension_may_replace_shown_result() {
    let notice = json!({
        "type": "extension_ui_request", "id": "n", "method": "notify", "message": "Here", "notifyType": "info",
    });
    let given = json!({ "command": 7 });
    let rules = |talk: Talk, ended: &str| bash_call(talk, &given, "a\n", ended).broken(Pi1);
    assert!(!rules(Talk::new(Pi1), "a\nb").contains(&Rule::UpdateInResult));
    assert!(rules(Talk::new(Pi1), "b").contains(&Rule::UpdateInResult));
    assert!(!rules(Talk::new(Pi1).out(notice), "b").contains(&Rule::UpdateInResult));
}

#[test]
fn omp_may_fit_the_arguments() {
    let starts = |dialect: Dialect, started: &Value| {
        let rules = bash_call(Talk::new(dialect), started, "", "").broken(dialect);
        rules.contains(&Rule::ToolStartPerCall) || rules.contains(&Rule::ToolUpdateWindow)
    };
    for fitted in [json!({ "command": "7" }), json!({ "cmd": 7 })] {
        assert_eq!([Omp, Xcsh].map(|dialect| starts(dialect, &fitted)), [false, true], "{fitted}");
    }
    assert!(starts(Omp, &json!({ "command": "8" })));
}

#[test]
fn signal_may_come_past_the_recorder() {
    let exits = |code: i64| {
        let steered = Talk::new(Pi).ask("1", "prompt", "go").start().begin(&["go"]);
        steered.record(1, "meta", &json!({ "event": "exit", "code": code })).broken(Pi)
    };
    assert_eq!([129, 130, 143].map(exits), [const { vec![] }; 3]);
    assert_eq!(exits(139), [Rule::Lives]);
}

#[test]
fn removed_answers_stay_in_the_session() {
    let text = include_str!("fair/removed_answers.jsonl");
    let judged = |text: &str| {
        let options = JudgeOptions { dialect: Some(Pi115.into()), timeline: false };
        let rules = options.judge("removed", text.as_bytes()).findings.into_iter().map(|found| found.rule);
        rules.collect::<Vec<_>>()
    };
    assert_eq!(judged(text), []);
    let fewer = text.replace("\"assistantMessages\":4", "\"assistantMessages\":3");
    assert_eq!(judged(&fewer), [Rule::StatsConsistent; 2]);
}
