//! A lie that another frame contradicts is found, while the legal conversation beside it yields nothing.

use crate::legal::{Talk, answer, user};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::{
    Dialect::{self, Omp, Pi, Pi1},
    DialectVersion, split_frame,
};
use serde_json::{Value, json};

/// A conversation from the start of its process.
fn whole(dialect: Dialect) -> Talk {
    let talk = Talk::default().record(1, "meta", &json!({ "event": "spawn", "argv": ["pi"] }));
    let ready = json!({
        "type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2], "maxFrameBytes": 1_048_576,
        "maxReassembledFrameBytes": 67_108_864,
    });
    if dialect == Omp { talk.out(ready) } else { talk }
}

fn usage(tokens: u64) -> Value {
    let mut usage = answer("stop")["usage"].clone();
    (usage["input"], usage["totalTokens"]) = (json!(tokens), json!(tokens));
    usage
}

/// A run that streams a text, and ends with this message.
fn streamed(dialect: Dialect, text: &str, end: &Value) -> Vec<Rule> {
    let step = |step: Value| json!({ "type": "message_update", "assistantMessageEvent": step });
    let mut start = answer("pending");
    start["responseId"] = json!("one");
    let run = whole(dialect).ask("1", "prompt", "go").start().begin(&["go"]);
    let run = run.out(json!({ "type": "message_start", "message": start }));
    let run = run.out(step(json!({ "type": "text_start", "contentIndex": 0 })));
    let run = run.out(step(json!({ "type": "text_delta", "contentIndex": 0, "delta": text })));
    let run = run.asks("2", "abort", "");
    run.out(json!({ "type": "message_end", "message": end })).broken(dialect)
}

#[test]
fn failed_answer_begins_with_stream() {
    let long = "a text that is long enough";
    let ends = |reason: &str, text: Value| {
        let mut end = answer(reason);
        (end["errorMessage"], end["content"]) = (json!("stopped"), text);
        streamed(Pi1, long, &end)
    };
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    for more in ["", " and more"] {
        assert_eq!(ends("aborted", text(&[long, more].concat())), [], "{more}");
    }
    for other in [String::new(), "another".to_owned(), long[..9].to_owned(), long.repeat(2)] {
        assert_eq!(ends("aborted", text(&other)), [Rule::EndEqLast], "{other}");
    }
    assert_eq!(ends("aborted", json!([])), [Rule::EndEqLast]);
    // The loop itself has failed.
    assert_eq!(ends("error", json!([])), []);
    assert_eq!(ends("error", text("another")), [Rule::EndEqLast]);
}

#[test]
fn shell_command_is_cancelled_by_host() {
    let talk = |stop: &str, after: bool, result: Value| {
        let begun = whole(Pi).record(1, "in", &json!({ "id": "1", "type": "bash", "command": "make" }));
        let asked = if after { begun.ask("2", stop, "") } else { begun };
        let mut data = json!({ "output": "made\n", "cancelled": false, "truncated": false });
        data.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
        asked
            .out(json!({ "id": "1", "type": "response", "command": "bash", "success": true, "data": data }))
            .broken(Pi)
    };
    let cancelled = || json!({ "cancelled": true });
    assert_eq!(talk("abort_bash", true, cancelled()), []);
    assert_eq!(talk("abort", true, cancelled()), []);
    assert_eq!(talk("", false, cancelled()), [Rule::BashMessage]);
    let cut = |more: Value| {
        let mut result = json!({ "truncated": true, "exitCode": 0 });
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        talk("", false, result)
    };
    assert_eq!(cut(json!({})), [Rule::BashMessage]);
    assert_eq!(cut(json!({ "fullOutputPath": "/tmp/all" })), []);
    assert_eq!(cut(json!({ "output": "line\n".repeat(2000) })), []);
}

#[test]
fn refused_prompt_has_no_run() {
    let refused =
        json!({ "id": "1", "type": "response", "command": "prompt", "success": false, "error": "No" });
    let asked = || whole(Pi).asks("1", "prompt", "go").out(refused.clone());
    let runs = |talk: Talk| talk.start().begin(&["go"]).finish(&answer("stop")).end().broken(Pi);
    assert_eq!(runs(asked()), [Rule::RunCause]);
    assert_eq!(runs(asked().ask("2", "prompt", "go")), []);
}

#[test]
fn nothing_aborts_an_answer_by_itself() {
    let aborted = || {
        let mut answer = answer("aborted");
        answer["errorMessage"] = json!("stopped");
        answer
    };
    let run = || whole(Pi).ask("1", "prompt", "go").start().begin(&["go"]);
    let next = |talk: Talk| talk.end().ask("3", "prompt", "on").start().begin(&["on"]);
    assert_eq!(next(run().finish(&aborted())).broken(Pi), [Rule::AbortEffect]);
    let stopped = run().asks("2", "abort", "").finish(&aborted()).end().done("2", "abort");
    assert_eq!(stopped.ask("3", "prompt", "on").start().begin(&["on"]).broken(Pi), []);
    // A signal may have come past the recorder.
    assert_eq!(run().finish(&aborted()).end().input_ends(1).broken(Pi), []);
}

#[test]
fn result_of_prompt_excludes_run() {
    let result = json!({ "type": "prompt_result", "id": "1", "agentInvoked": false });
    let asked = || whole(Omp).ask("1", "prompt", "go").out(result.clone());
    let broken = |talk: Talk| {
        let mut broken = talk.start().begin(&["go"]).broken(Omp);
        broken.retain(|rule| *rule == Rule::PromptResult);
        broken
    };
    assert_eq!(broken(asked()), [Rule::PromptResult]);
    assert_eq!(broken(asked().ask("2", "prompt", "go")), []);
}

#[test]
fn background_job_keeps_run_from_being_last() {
    let run = |state: Option<&str>, is_terminal: bool| {
        let details = state.map_or(json!({}), |state| json!({ "async": { "state": state, "jobId": "j" } }));
        let end = json!({
            "type": "tool_execution_end", "toolCallId": "c", "toolName": "bash", "isError": false,
            "result": { "content": [], "details": details },
        });
        let run = whole(Omp).ask("1", "prompt", "go").start().begin(&["go"]).out(end);
        let mut run = run.finish(&answer("stop")).end();
        run.0.last_mut().unwrap()["frame"]["isTerminal"] = json!(is_terminal);
        let mut broken = run.broken(Omp);
        broken.retain(|rule| *rule == Rule::TerminalFlag);
        broken
    };
    assert_eq!([run(Some("running"), false), run(None, true)], [vec![], vec![]]);
    assert_eq!(run(Some("running"), true), [Rule::TerminalFlag]);
    assert_eq!(run(None, false), [Rule::TerminalFlag]);
    assert_eq!(run(Some("completed"), true), []);
}

/// Two answered prompts, and the session file with what `spoil` makes of it.
fn filed(spoil: impl FnOnce(&mut Vec<Value>)) -> Vec<Rule> {
    let time = |mut message: Value, time: u64| {
        message["timestamp"] = json!(time);
        message
    };
    let messages =
        [time(user("one"), 1), time(answer("stop"), 2), time(user("two"), 3), time(answer("stop"), 4)];
    let state = json!({
        "thinkingLevel": "low", "isStreaming": false, "isCompacting": false, "steeringMode": "all",
        "followUpMode": "all", "sessionId": "s", "autoCompactionEnabled": true, "messageCount": 4,
        "pendingMessageCount": 0,
    });
    let mut talk = whole(Pi);
    for (id, pair) in messages.chunks(2).enumerate() {
        let text = pair[0]["content"][0]["text"].as_str().unwrap();
        let run = talk.ask(&id.to_string(), "prompt", text).start().out(json!({ "type": "turn_start" }));
        talk = run.both(&pair[0]).finish(&pair[1]).end();
    }
    let talk = talk.asks("9", "get_state", "").out(
        json!({ "id": "9", "type": "response", "command": "get_state", "success": true, "data": state }),
    );
    let at = |second: usize| format!("2026-01-01T00:00:{second:02}.000Z");
    let mut lines = vec![
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": at(0) }),
        json!({ "type": "model_change", "id": "m", "parentId": null, "timestamp": at(0), "provider": "p", "modelId": "m" }),
    ];
    for (place, message) in messages.iter().enumerate() {
        let parent = lines.last().unwrap()["id"].clone();
        lines.push(json!({
            "type": "message", "id": place.to_string(), "parentId": parent, "timestamp": at(place),
            "message": message,
        }));
    }
    spoil(&mut lines);
    let file = talk.record(1, "meta", &json!({ "event": "session file", "lines": lines }));
    file.broken(Pi)
}

#[test]
fn session_file_has_messages_in_order() {
    assert_eq!(filed(|_| {}), []);
    let file = [Rule::FileTree];
    assert_eq!(filed(|lines| lines[0]["id"] = json!("t")), file);
    assert_eq!(filed(|lines| lines[4]["parentId"] = json!("0")), file);
    assert_eq!(filed(|lines| lines[1]["modelId"] = json!("n")), file);
    let swap = |lines: &mut Vec<Value>| {
        let first = lines[2]["message"].clone();
        lines[2]["message"] = lines[4]["message"].clone();
        lines[4]["message"] = first;
    };
    assert_eq!(filed(swap), file);
    let double = |lines: &mut Vec<Value>| {
        let mut again = lines[5].clone();
        (again["id"], again["parentId"]) = (json!("x"), lines[5]["id"].clone());
        lines.push(again);
    };
    assert_eq!(filed(double), file);
}

#[test]
fn file_of_another_time_may_branch() {
    // Messages that nobody has seen: the session was taken up.
    let older = |lines: &mut Vec<Value>| {
        lines[3]["message"]["timestamp"] = json!(1000);
        lines[4]["parentId"] = json!("0");
    };
    assert_eq!(filed(older), []);
    let other = |lines: &mut Vec<Value>| {
        let change = json!({
            "type": "model_change", "id": "n", "parentId": "3", "timestamp": "2026-01-01T00:00:09.000Z",
            "provider": "p", "modelId": "n",
        });
        lines.push(change);
    };
    assert_eq!(filed(other), []);
}

#[test]
fn totals_are_known_with_first_count() {
    let mut told = answer("stop");
    told["usage"] = usage(7);
    let talk = |input: u64, total: u64| {
        let run = whole(Pi).ask("1", "prompt", "go").start().begin(&["go"]).finish(&told).end();
        let data = json!({
            "sessionId": "s", "userMessages": 1, "assistantMessages": 1, "toolCalls": 0, "toolResults": 0,
            "totalMessages": total, "cost": 0,
            "tokens": { "input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": input },
        });
        let asked = run.asks("2", "get_session_stats", "");
        let command = "get_session_stats";
        asked
            .out(json!({ "id": "2", "type": "response", "command": command, "success": true, "data": data }))
            .broken(Pi)
    };
    assert_eq!(talk(7, 2), []);
    assert_eq!(talk(8, 2), [Rule::StatsUsage]);
    // Others came before, in a session that was taken up.
    assert_eq!(talk(8, 3), []);
}

#[test]
fn session_settles_once_for_what_happened() {
    let version = DialectVersion::parse("omp@18.3").expect("a version");
    let settled = || json!({ "type": "session_settled" });
    let over = || {
        let result = json!({
            "type": "prompt_result", "id": "1", "agentInvoked": true, "status": "completed", "sessionSettled": true,
        });
        let run = whole(Omp).ask("1", "prompt", "go").start().begin(&["go"]).finish(&answer("stop")).end();
        run.out(result).out(settled())
    };
    let broken = |talk: Talk| {
        let mut broken = talk.broken(version);
        broken.retain(|rule| *rule == Rule::PromptResult);
        broken
    };
    assert_eq!(broken(over()), []);
    assert_eq!(broken(over().out(settled())), [Rule::PromptResult]);
    assert_eq!(broken(over().ask("2", "new_session", "").out(settled())), []);
}

#[test]
fn frames_in_chunks_have_own_ids() {
    let large = json!({ "type": "notice", "level": "info", "message": "x".repeat(1_100_000) }).to_string();
    let frames = |ids: [&str; 2]| {
        let asked = json!({ "id": "1", "type": "negotiate_protocol", "protocolVersion": 2 });
        let data = json!({ "protocolVersion": 2 });
        let response = json!({
            "id": "1", "type": "response", "command": "negotiate_protocol", "success": true, "data": data,
        });
        let talk = whole(Omp).record(1, "in", &asked).out(response);
        let talk = ids.iter().fold(talk, |talk, id| {
            let lines = split_frame(large.as_bytes(), id, 262_144);
            let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.fold(talk, |talk, line| talk.out(serde_json::from_slice(line).expect("JSON")))
        });
        talk.broken(Omp).into_iter().filter(|rule| *rule == Rule::ChunkSeries).collect::<Vec<_>>()
    };
    assert_eq!(frames(["rpc-1", "rpc-2"]), []);
    assert_eq!(frames(["rpc-1", "rpc-1"]), [Rule::ChunkSeries]);
}
