//! Faults of lines, processes and files, one at a time, with the exact rules that the judge reports.

use pi_rpc_machine::Rule;
use pi_rpc_oracle::{Finding, Judge, View};
use pi_rpc_protocol::Dialect::{self, Pi, Xcsh};
use pi_rpc_recording::read_record;
use serde_json::{Value, json};

/// The rules that the records break, in order.
fn judged(dialect: Dialect, view: View, records: &[Value]) -> Vec<Rule> {
    findings(dialect, view, records).into_iter().map(|finding| finding.violation.rule).collect()
}

fn findings(dialect: Dialect, view: View, records: &[Value]) -> Vec<Finding> {
    let mut judge = Judge::new(dialect, view);
    let mut findings = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let mut record = record.clone();
        if record.get("t").is_none() {
            record["t"] = json!(number);
        }
        findings.extend(judge.observe(&read_record(&record.to_string()).expect("a record")));
    }
    findings.extend(judge.finish());
    findings
}

fn both(dialect: Dialect, records: &[Value]) -> Vec<Rule> {
    judged(dialect, View::Both, records)
}

fn out(frame: Value) -> Value {
    json!({ "dir": "out", "frame": frame })
}

fn inward(frame: Value) -> Value {
    json!({ "dir": "in", "frame": frame })
}

fn raw(dir: &str, text: &str) -> Value {
    json!({ "dir": dir, "raw": text })
}

fn meta(frame: Value) -> Value {
    json!({ "dir": "meta", "frame": frame })
}

fn user() -> Value {
    json!({ "role": "user", "content": "go", "timestamp": 1 })
}

fn assistant() -> Value {
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    json!({
        "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
        "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost,
        },
        "stopReason": "stop", "timestamp": 2,
    })
}

/// A run without a fault.
fn run() -> Vec<Value> {
    vec![
        inward(json!({ "id": "p", "type": "prompt", "message": "go" })),
        out(json!({ "id": "p", "type": "response", "command": "prompt", "success": true })),
        out(json!({ "type": "agent_start" })),
        out(json!({ "type": "turn_start" })),
        out(json!({ "type": "message_start", "message": user() })),
        out(json!({ "type": "message_end", "message": user() })),
        out(json!({ "type": "message_start", "message": assistant() })),
        out(json!({ "type": "message_end", "message": assistant() })),
        out(json!({ "type": "turn_end", "message": assistant(), "toolResults": [] })),
        out(json!({ "type": "agent_end", "messages": [user(), assistant()] })),
    ]
}

/// The run with one line spoilt: by its place.
fn spoilt(at: usize, spoil: impl FnOnce(&mut Value)) -> Vec<Value> {
    let mut run = run();
    spoil(&mut run[at]);
    run
}

/// What is wrong, the processes of a recording, the rules that it breaks.
type Row = (&'static str, Vec<Vec<Value>>, &'static [Rule]);

#[test]
fn form_of_each_line_is_judged() {
    let lone = |record: Value| vec![record];
    let mut beside = run();
    beside.push(out(json!({ "type": "news", "id": "n" })));
    let mut unended = vec![raw("in", "{\"id\":\"1\",\"type\":\"abort\"}\r")];
    unended.push(out(json!({ "id": "1", "type": "response", "command": "abort", "success": true })));
    let answer = |more: Value| {
        let mut answer = json!({ "id": "1", "type": "response", "command": "abort" });
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        vec![inward(json!({ "id": "1", "type": "abort" })), out(answer)]
    };
    let notify = json!({
        "type": "extension_ui_request", "id": "u", "method": "notify", "message": "m", "timeout": 1,
    });
    let half = json!({ "type": "extension_error", "extensionPath": "x", "event": "e", "error": "?" });
    let half = half.to_string().replace('?', "\\ud83d");
    let rows: Vec<(&str, Dialect, Vec<Value>, &[Rule])> = vec![
        ("nothing", Pi, run(), &[]),
        ("no JSON", Pi, lone(raw("out", "hello")), &[Rule::Framing]),
        ("no object", Pi, lone(out(json!([]))), &[Rule::Framing]),
        ("no type", Pi, lone(out(json!({ "kind": 1 }))), &[Rule::Framing]),
        ("nothing with half a character", Pi, lone(raw("out", &half)), &[]),
        ("bytes that are no text", Pi, lone(json!({ "dir": "out", "raw64": "/w==" })), &[Rule::Framing]),
        ("an unknown type", Pi, beside, &[Rule::UnknownType]),
        (
            "a type of another dialect",
            Pi,
            lone(out(json!({ "type": "todo_auto_clear" }))),
            &[Rule::UnknownType],
        ),
        ("an event with an id", Pi, spoilt(2, |it| it["frame"]["id"] = json!("1")), &[Rule::NoEventId]),
        (
            "a field of the wrong type",
            Pi,
            spoilt(9, |it| it["frame"]["messages"] = json!(1)),
            &[Rule::Schema],
        ),
        (
            "a message that cannot be read",
            Pi,
            spoilt(7, |it| it["frame"]["message"]["usage"] = json!(1)),
            &[Rule::Schema],
        ),
        (
            "an answer that cannot be read",
            Pi,
            spoilt(1, |it| it["frame"]["id"] = json!(1)),
            &[Rule::Schema, Rule::RespKnownId],
        ),
        ("a success with an error", Pi, answer(json!({ "success": true, "error": "e" })), &[Rule::RespShape]),
        (
            "a failure with data",
            Pi,
            answer(json!({ "success": false, "error": "e", "data": {} })),
            &[Rule::RespShape],
        ),
        (
            "a failure without an error",
            Pi,
            answer(json!({ "success": false })),
            &[Rule::Schema, Rule::RespShape],
        ),
        ("a notice with a timeout", Pi, lone(out(notify)), &[Rule::UiTimeoutOnlyDialogs]),
        ("no ready", Xcsh, lone(out(json!({ "type": "todo_auto_clear" }))), &[Rule::ReadyFirst]),
        ("nothing where it is first", Xcsh, lone(out(json!({ "type": "ready" }))), &[]),
        ("ready where there is none", Pi, lone(out(json!({ "type": "ready" }))), &[Rule::NoReady]),
        ("a line without its end", Pi, unended, &[Rule::HostLine]),
        (
            "an id that is no string",
            Pi,
            lone(inward(json!({ "id": 1, "type": "abort" }))),
            &[Rule::HostSchema],
        ),
        (
            "nothing where a line comes in pieces",
            Pi,
            vec![raw("in", "{\"type\":"), raw("in", "\"abort\"}\n")],
            &[],
        ),
    ];
    for (what, dialect, records, rules) in rows {
        assert_eq!(both(dialect, &records), rules, "{what}");
    }
}

#[test]
fn non_string_id_is_fault_of_host() {
    let none = json!({ "type": "response", "command": "abort", "success": true });
    let echoed = |id: &Value| {
        let mut answer = none.clone();
        answer["id"] = id.clone();
        answer
    };
    let null = Value::Null;
    for (id, answer) in [
        (json!(5), echoed(&json!(5))),
        (json!(true), echoed(&json!(true))),
        (null.clone(), echoed(&null)),
        (null, none.clone()),
    ] {
        let asked = inward(json!({ "id": id, "type": "abort" }));
        let end = [meta(json!({ "event": "stdin closed" })), meta(json!({ "event": "exit", "code": 0 }))];
        let records = [vec![asked, out(answer.clone())], end.to_vec()].concat();
        assert_eq!(both(Pi, &records), [Rule::HostSchema], "{answer}");
    }
    let other = vec![inward(json!({ "id": 5, "type": "abort" })), out(echoed(&json!(6)))];
    assert_eq!(both(Pi, &other), [Rule::HostSchema, Rule::Schema, Rule::RespKnownId]);
}

#[test]
fn prompt_without_text_may_have_two_responses() {
    let answer = |more: Value| {
        let mut answer = json!({ "id": "p", "type": "response", "command": "prompt" });
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        out(answer)
    };
    let refused = answer(json!({ "success": false, "error": "e" }));
    let asked = inward(json!({ "id": "p", "type": "prompt" }));
    let records = [asked, refused.clone(), answer(json!({ "success": true }))];
    assert_eq!(both(Pi, &records), [Rule::HostSchema, Rule::PromptOnce]);
    assert_eq!(both(Pi, &records[..2]), [Rule::HostSchema]);
}

#[test]
fn open_dialog_excuses_run_at_end() {
    let dialog = json!({
        "type": "extension_ui_request", "id": "u", "method": "confirm", "title": "t", "message": "m",
    });
    let end = [meta(json!({ "event": "stdin closed" })), meta(json!({ "event": "exit", "code": 0 }))];
    let open = run()[..4].to_vec();
    assert_eq!(both(Pi, &[open.clone(), end.to_vec()].concat()), [Rule::EofFinishes]);
    assert_eq!(both(Pi, &[open, vec![out(dialog)], end.to_vec()].concat()), []);
}

#[test]
fn each_process_is_judged_for_itself() {
    let spawn = || meta(json!({ "event": "spawn" }));
    let over = || meta(json!({ "event": "stdin closed" }));
    let exit = |code: i64| meta(json!({ "event": "exit", "code": code }));
    let half = || run()[..5].to_vec();
    let closed = || meta(json!({ "event": "closing our read end of stdout" }));
    let rows: Vec<Row> = vec![
        ("nothing", vec![vec![spawn()], run(), vec![over(), exit(0)]], &[]),
        ("nothing of the first in the second", vec![half(), vec![spawn()], run()], &[]),
        ("a crash", vec![vec![spawn()], half(), vec![exit(1), spawn()], run()], &[Rule::Lives]),
        ("nothing where the host hung up", vec![half(), vec![closed(), exit(1)]], &[]),
        ("a bad end", vec![run(), vec![over(), exit(3)]], &[Rule::ExitStatus]),
        (
            "no end",
            vec![run(), vec![over(), meta(json!({ "event": "did not exit, killed" }))]],
            &[Rule::ExitStatus],
        ),
        ("the end is judged once", vec![run(), vec![exit(1), exit(1)]], &[Rule::Lives]),
    ];
    for (what, records, rules) in rows {
        assert_eq!(both(Pi, &records.concat()), rules, "{what}");
    }
}

#[test]
fn silence_shows_prompt_without_run() {
    let acked = |t: u64| {
        let mut records = run()[..2].to_vec();
        records.push(json!({ "t": t, "dir": "meta", "frame": { "event": "stdin closed" } }));
        records.push(json!({ "t": t, "dir": "meta", "frame": { "event": "exit", "code": 0 } }));
        records
    };
    assert_eq!(both(Pi, &acked(2500)), [Rule::RunAfterAck]);
    assert_eq!(both(Pi, &acked(1500)), []);
}

#[test]
fn log_without_host_skips_rules_about_host() {
    let answers = run().into_iter().filter(|record| record["dir"] == "out");
    let mut records: Vec<Value> = answers.collect();
    assert_eq!(both(Pi, &records), [Rule::RespKnownId]);
    assert_eq!(judged(Pi, View::Server, &records), []);
    records.push(out(json!({ "type": "agent_end", "messages": [] })));
    assert_eq!(judged(Pi, View::Server, &records), [Rule::RunNesting]);
    let mut judge = Judge::new(Pi, View::Server);
    for record in &records {
        judge.observe(&read_record(&record.to_string()).unwrap());
    }
    assert!(!judge.exercised().contains(Rule::RespOnce));
}

#[test]
fn shortened_payloads_are_not_compared() {
    let shortened = |cut: bool| {
        spoilt(7, |it| {
            it["frame"]["message"]["content"] = json!([{ "type": "text", "text": "a…" }]);
            it["cut"] = json!(cut);
        })
    };
    assert_ne!(both(Pi, &shortened(false)), []);
    assert_eq!(both(Pi, &shortened(true)), []);
}

/// A file of the run, with one line spoilt.
fn file(spoil: impl FnOnce(&mut Vec<Value>)) -> Vec<Value> {
    let entry = |id: &str, parent: Value, second: u8, message: Value| {
        let when = format!("2026-01-01T00:00:0{second}.000Z");
        json!({ "type": "message", "id": id, "parentId": parent, "timestamp": when, "message": message })
    };
    let header =
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:09.000Z" });
    let mut lines = vec![header, entry("a", json!(null), 1, user()), entry("b", json!("a"), 2, assistant())];
    spoil(&mut lines);
    [run(), vec![meta(json!({ "event": "session file", "lines": lines }))]].concat()
}

/// The run with a second message of the user in the same millisecond, and its file.
fn twins() -> Vec<Value> {
    let second = json!({ "role": "user", "content": "then", "timestamp": 1 });
    let mut records = file(|lines| {
        let mut line = lines[1].clone();
        (line["id"], line["parentId"], line["message"]) = (json!("c"), json!("a"), second.clone());
        lines.insert(2, line);
        lines[3]["parentId"] = json!("c");
    });
    records[9]["frame"]["messages"] = json!([user(), second, assistant()]);
    let said = ["message_start", "message_end"].map(|kind| out(json!({ "type": kind, "message": second })));
    records.splice(6..6, said);
    records
}

#[test]
fn session_file_is_tree_of_emitted_messages() {
    let rows: Vec<(&str, Vec<Value>, &[Rule])> = vec![
        ("nothing", file(|_| {}), &[]),
        ("no header", file(|it| drop(it.remove(0))), &[Rule::FileTree]),
        ("a parent below", file(|it| it[1]["parentId"] = json!("b")), &[Rule::FileTree]),
        ("an id twice", file(|it| it[2]["id"] = json!("a")), &[Rule::FileTree]),
        (
            "a time before",
            file(|it| it[2]["timestamp"] = json!("2026-01-01T00:00:00.000Z")),
            &[Rule::FileTree],
        ),
        ("no time", file(|it| it[2]["timestamp"] = json!("today")), &[Rule::FileTree]),
        ("another text", file(|it| it[1]["message"]["content"] = json!("stop")), &[Rule::FileTree]),
        ("nothing with a message that nobody saw", file(|it| it[1]["message"]["timestamp"] = json!(9)), &[]),
        ("nothing answered", file(|it| drop(it.pop())), &[Rule::NoFileBeforeAssistant]),
        ("nothing with two messages of one millisecond", twins(), &[]),
    ];
    for (what, records, rules) in rows {
        assert_eq!(both(Pi, &records), rules, "{what}");
    }
}

#[test]
fn repeated_answered_dialog_is_not_outstanding() {
    let ask = out(json!({ "type": "extension_ui_request", "id": "d", "method": "editor", "title": "?" }));
    let answer = inward(json!({ "type": "extension_ui_response", "id": "d", "cancelled": true }));
    let mut judge = Judge::new(Pi, View::Both);
    let records = [ask.clone(), answer, ask];
    let broken: Vec<Rule> = records
        .iter()
        .flat_map(|record| judge.observe(&read_record(&record.to_string()).unwrap()))
        .map(|finding| finding.violation.rule)
        .collect();
    assert_eq!(broken, [Rule::UiIdUnique]);
    assert_eq!(judge.state().to_string(), "idle");
}
