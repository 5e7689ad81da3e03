//! Compaction in `pi-1` and `pi@0.73`: requested by the host in a resumed session, as whole frames; for a full context,
//! by shapes as in `compaction`.

use pi_rpc_engine::CompactionPlan;
use pi_rpc_protocol::Dialect::{self, Pi1, Pi073};
use pi_rpc_test_kit::{Playback, Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

const PATH: &str = "/sessions/other.jsonl";

const AT: &str = "2025-01-01T00:00:00.000Z";

/// A session of two turns; the model was told of a tool first, and of a section more later.
fn told() -> String {
    let message = |id: &str, parent: Value, message: Value| json!({ "type": "message", "id": id, "parentId": parent, "timestamp": AT, "message": message });
    let tool = |name: &str| json!({ "name": name, "description": "A tool.", "parameters": {} });
    let user =
        |text: &str| json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 2 });
    let answer = |text: &str| {
        json!({
            "role": "assistant", "content": [{ "type": "text", "text": text }], "api": "scripted",
            "provider": "scripted", "model": "play",
            "usage": {
                "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
            },
            "stopReason": "stop", "timestamp": 3,
        })
    };
    let lines = [
        json!({ "type": "session", "version": 3, "id": "0193f00d", "timestamp": AT, "cwd": "/work" }),
        message(
            "s1",
            Value::Null,
            json!({
                "role": "system", "content": "", "sections": { "a": "1", "b": "2" }, "timestamp": 1,
                "toolsAdded": [tool("one"), tool("two")],
            }),
        ),
        message("u1", json!("s1"), user("question number one")),
        message("a1", json!("u1"), answer("Answer number one.")),
        message(
            "s2",
            json!("a1"),
            json!({
                "role": "system", "content": "More.", "sections": { "a": null, "c": "3" }, "timestamp": 4,
                "toolsAdded": [tool("three")], "toolsRemoved": [{ "name": "one" }],
            }),
        ),
        message("u2", json!("s2"), user("question number two")),
        message("a2", json!("u2"), answer("Answer number two.")),
    ];
    lines.map(|line| format!("{line}\n")).concat()
}

/// The session is taken up, and compacted at 0 ms; about the last turn is kept.
fn compacts(turns: Value) -> Scenario {
    let modes = |modes: &mut pi_rpc_engine::Modes| {
        modes.compaction = CompactionPlan { reserve: 1000, keep_recent: 6 };
        modes.retry.base_ms = 300;
    };
    scenario(turns).file(PATH, told()).opened(PATH).modes(modes).host(0, command("compact"))
}

fn said(scenario: &Scenario, dialect: Dialect) -> Vec<Value> {
    scenario.finish(dialect).said
}

fn start() -> Value {
    json!({ "type": "compaction_start", "reason": "manual" })
}

fn end(more: Value) -> Value {
    let mut end = json!({
        "type": "compaction_end", "reason": "manual", "aborted": false, "willRetry": false,
    });
    end.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    end
}

fn refused(id: &str, text: &str) -> Value {
    json!({ "id": id, "type": "response", "command": id, "success": false, "error": text })
}

fn scheduled(attempt: u64, delay: u64) -> Value {
    json!({
        "type": "summarization_retry_scheduled", "attempt": attempt, "maxAttempts": 3, "delayMs": delay,
        "errorMessage": "500 {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"out of ink\"}}",
    })
}

fn tried() -> Value {
    json!({ "type": "summarization_retry_attempt_start", "source": "compaction", "reason": "manual" })
}

fn finished() -> Value {
    json!({ "type": "summarization_retry_finished" })
}

#[test]
fn compact_emits_both_events_before_response() {
    let asked = compacts(json!([summary("What was said.")]));
    let said = said(&asked, Pi1);
    let usage = said[1]["result"]["usage"].clone();
    assert!(usage["totalTokens"].as_u64().is_some_and(|tokens| tokens > 0), "{usage}");
    let result = json!({
        "summary": "What was said.", "firstKeptEntryId": "s2", "tokensBefore": 20,
        "estimatedTokensAfter": 23, "usage": usage, "details": { "readFiles": [], "modifiedFiles": [] },
    });
    let response =
        json!({ "id": "compact", "type": "response", "command": "compact", "success": true, "data": result });
    assert_eq!(said, [start(), end(json!({ "result": result })), response]);
}

#[test]
fn pi_073_result_has_fewer_members() {
    let said = said(&compacts(json!([summary("What was said.")])), Pi073);
    let result = json!({
        "summary": "What was said.", "firstKeptEntryId": "s2", "tokensBefore": 20,
        "details": { "readFiles": [], "modifiedFiles": [] },
    });
    assert_eq!(said[..2], [start(), end(json!({ "result": result }))]);
}

#[test]
fn compaction_keeps_system_message_first() {
    let asked = compacts(json!([summary("What was said.")])).host(500, command("get_messages"));
    let played: Playback = asked.finish(Pi1);
    let messages = &played.answers("get_messages")[0]["data"]["messages"];
    let roles: Vec<&Value> = messages.as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "compactionSummary", "user", "assistant"]);
    let mut checkpoint = messages[0].clone();
    let at = checkpoint["timestamp"].take();
    let tool = |name: &str| json!({ "name": name, "description": "A tool.", "parameters": {} });
    let expected = json!({
        "role": "system", "content": "More.", "sections": { "b": "2", "c": "3" },
        "toolsAdded": [tool("two"), tool("three")], "timestamp": null,
    });
    assert_eq!(checkpoint, expected);
    // The entry has it, too.
    let lines = played.disk.lines();
    let entry = lines.iter().find(|line| line["type"] == "compaction").unwrap();
    assert_eq!((&entry["systemMessage"]["timestamp"], &entry["fromHook"]), (&at, &json!(false)));
    assert_eq!(
        entry["usage"]["totalTokens"],
        played.last("compaction_end")["result"]["usage"]["totalTokens"]
    );
}

#[test]
fn failing_compact_emits_both_events() {
    for dialect in [Pi1, Pi073] {
        let asked = scenario(json!([])).host(0, command("compact"));
        let text = "Nothing to compact (session too small)";
        let failed = end(json!({ "errorMessage": format!("Compaction failed: {text}") }));
        assert_eq!(said(&asked, dialect), [start(), failed, refused("compact", text)]);
    }
}

#[test]
fn transient_summary_failure_is_retried() {
    let played = compacts(json!([no_summary(), no_summary(), summary("At last.")])).finish(Pi1);
    let expected = [start(), scheduled(1, 300), tried(), scheduled(2, 600), tried(), finished()];
    assert_eq!(played.said[..6], expected);
    assert_eq!(played.said[6]["result"]["summary"], "At last.");
    assert_eq!(played.said.len(), 8);
    assert_eq!(played.asked.len(), 3);
}

#[test]
fn exhausted_summary_retries_fail_compaction() {
    let played = compacts(json!([no_summary(), no_summary(), no_summary(), no_summary()])).finish(Pi1);
    let reason = scheduled(1, 300)["errorMessage"].as_str().unwrap().to_owned();
    let text = format!("Summarization failed: {reason}");
    let expected = [
        start(),
        scheduled(1, 300),
        tried(),
        scheduled(2, 600),
        tried(),
        scheduled(3, 1200),
        tried(),
        finished(),
        end(json!({ "errorMessage": format!("Compaction failed: {text}") })),
        refused("compact", &text),
    ];
    assert_eq!(played.said, expected);
}

#[test]
fn disabled_retry_requests_summary_once() {
    let off = json!({ "id": "off", "type": "set_auto_retry", "enabled": false });
    let failing = json!([no_summary()]);
    let asked = scenario(failing.clone())
        .file(PATH, told())
        .opened(PATH)
        .modes(|modes| modes.compaction = CompactionPlan { reserve: 1000, keep_recent: 6 })
        .host(0, off)
        .host(1, command("compact"));
    let kinds = |said: &[Value]| said.iter().map(|frame| frame["type"].clone()).collect::<Vec<_>>();
    let once = ["response", "compaction_start", "compaction_end", "response"];
    assert_eq!(kinds(&said(&asked, Pi1)), once);
    // Before there were events for it, none was asked for again.
    assert_eq!(kinds(&said(&compacts(failing), Pi073)), once[1..]);
}

#[test]
fn abort_cancels_compaction_and_its_retry() {
    let aborted = || end(json!({ "aborted": true }));
    let response = |id: &str| json!({ "id": id, "type": "response", "command": id, "success": true });
    let cancelled = refused("compact", "Compaction cancelled");
    for dialect in [Pi1, Pi073] {
        let asked = compacts(json!([summary("Too late.")])).host(20, command("abort"));
        let expected = [start(), aborted(), cancelled.clone(), response("abort")];
        assert_eq!(said(&asked, dialect), expected, "{dialect}");
    }
    let asked = compacts(json!([no_summary(), summary("Too late.")])).host(200, command("abort"));
    let played = asked.finish(Pi1);
    let expected = [start(), scheduled(1, 300), finished(), aborted(), cancelled, response("abort")];
    assert_eq!(played.said, expected);
    assert_eq!(played.asked.len(), 1);
}

#[test]
fn compaction_refuses_second_compact_and_prompt() {
    let again = json!({ "id": "again", "type": "compact" });
    let asked = compacts(json!([summary("Done.")]))
        .host(10, again)
        .host(20, prompt("p", "hi"))
        .host(30, queued("q", "steer"));
    let said = said(&asked, Pi1);
    let refused = |id: &str, command: &str, text: &str| json!({ "id": id, "type": "response", "command": command, "success": false, "error": text });
    let busy =
        "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry.";
    let expected = [
        refused("again", "compact", "A compaction is already in progress. Wait until it ends."),
        refused("p", "prompt", busy),
        refused("q", "prompt", busy),
    ];
    assert_eq!(said[1..4], expected);
}

/// Two turns have been had at 200 ms, of which little is kept; then `rest` is said to a third.
fn talk(rest: Value) -> Scenario {
    let Value::Array(mut rest) = rest else { panic!("turns are a list") };
    let mut turns = vec![says("Answer number one."), says("Answer number two.")];
    turns.append(&mut rest);
    scenario(Value::Array(turns))
        .kept()
        .modes(|modes| modes.compaction = CompactionPlan { reserve: 1000, keep_recent: 6 })
        .host(0, prompt("p1", "question number one"))
        .host(100, prompt("p2", "question number two"))
        .host(200, prompt("p3", "three"))
}

/// From the third prompt on.
fn shape(scenario: &Scenario, dialect: Dialect) -> String {
    scenario.finish(dialect).shape_from(Some("p3")).join(" · ")
}

/// The answer to the third prompt leaves too little of the context free.
fn filled(mut rest: Vec<Value>) -> Scenario {
    rest.insert(0, fills("Three.", 127_500));
    talk(rest.into())
}

fn full() -> String {
    format!("ok p3 · {} · compact threshold", run("user three"))
}

#[test]
fn full_context_is_compacted_before_settling() {
    let asked = filled(vec![summary("So far.")]);
    assert_eq!(shape(&asked, Pi1), format!("{} · compact_end done · agent_settled", full()));
    assert_eq!(shape(&asked, Pi073), format!("{} · compact_end done", full()));
}

#[test]
fn abort_cancels_automatic_compaction_and_settles() {
    let aborted = filled(vec![summary("Too late.")]).host(230, command("abort"));
    let ends = "compact_end aborted · agent_settled · ok abort";
    assert_eq!(shape(&aborted, Pi1), format!("{} · {ends}", full()));
    let settled = json!({ "type": "agent_settled", "aborted": true });
    assert_eq!(*aborted.finish(Pi1).last("agent_settled"), settled);
}

#[test]
fn automatic_compaction_counts_as_busy() {
    let prompted = filled(vec![summary("So far.")]).host(230, prompt("p4", "four"));
    assert_eq!(shape(&prompted, Pi1), format!("{} · no p4 · compact_end done · agent_settled", full()));
    let queued = filled(vec![summary("So far."), says("More.")]).host(230, steer("S1"));
    let delivered = run("user S1").replace("user S1", "queue [|] · user S1");
    let expected =
        format!("{} · queue [S1|] · ok S1 · compact_end done · {delivered} · agent_settled", full());
    assert_eq!(shape(&queued, Pi1), expected);
}

#[test]
fn impossible_automatic_compaction_emits_nothing() {
    let alone = scenario(json!([fills("One.", 127_500), says("Two.")]))
        .modes(|modes| modes.compaction.reserve = 1000)
        .host(0, prompt("p1", "one"))
        .host(100, prompt("p2", "two"));
    let kinds = |dialect: Dialect| {
        let compactions = |step: &String| step.starts_with("compact");
        alone.finish(dialect).shape().into_iter().filter(compactions).collect::<Vec<_>>()
    };
    assert_eq!(kinds(Pi1), Vec::<String>::new());
    let pair = ["compact threshold", "compact_end nothing"];
    assert_eq!(kinds(Pi073), [pair, pair].concat());
}

#[test]
fn overflowing_request_is_removed_and_repeated() {
    let asked = talk(json!([too_long(), summary("So far."), says("Three.")]));
    let failed = format!("ok p3 · {}", fails("user three"));
    let again = format!("compact overflow · compact_end retry · {}", run(""));
    assert_eq!(shape(&asked, Pi1), format!("{failed} · entry_appended · {again} · agent_settled"));
    assert_eq!(shape(&asked, Pi073), format!("{failed} · {again}"));
    let played = asked.finish(Pi1);
    assert_eq!(played.asked.last().map(String::as_str), Some("turn play [sSau]"));
    let edit = &played.last("entry_appended")["entry"];
    assert_eq!((&edit["type"], edit.get("replacement")), (&json!("context_edit"), Some(&Value::Null)));
}

#[test]
fn first_prompt_that_overflows_is_kept() {
    let asked = scenario(json!([too_long()])).host(0, prompt("p1", "one"));
    let shape = |dialect: Dialect| {
        let mut shape = asked.finish(dialect).shape();
        shape.retain(|step| step != "system");
        shape.join(" · ").replace("agent_end [su", "agent_end [u")
    };
    let failed = format!("ok p1 · {}", fails("user one"));
    assert_eq!(shape(Pi1), format!("{failed} · entry_appended · agent_settled"));
    assert_eq!(shape(Pi073), format!("{failed} · compact overflow · compact_end nothing"));
    assert_eq!(asked.finish(Pi1).asked.len(), 1);
}

#[test]
fn second_overflow_emits_no_compaction_start() {
    let asked = talk(json!([too_long(), summary("So far."), too_long()]));
    let again = format!("compact overflow · compact_end retry · {} · compact_end failed", fails(""));
    let failed = format!("ok p3 · {}", fails("user three"));
    assert_eq!(shape(&asked, Pi1), format!("{failed} · entry_appended · {again} · agent_settled"));
    assert_eq!(shape(&asked, Pi073), format!("{failed} · {again}"));
    let end = json!({
        "type": "compaction_end", "reason": "overflow", "aborted": false, "willRetry": false,
        "errorMessage": "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context \
                         or switching to a larger-context model.",
    });
    assert_eq!(*asked.finish(Pi1).last("compaction_end"), end);
}

#[test]
fn compact_in_run_closes_it_first() {
    let slow = json!({ "say": [{ "text": "Once upon a time there was.", "size": 10 }], "delayMs": 50 });
    let asked = talk(json!([slow, summary("So far.")])).host(260, command("compact"));
    let closed = "ok p3 · agent_start · turn_start · user three · ms · text · me aborted · turn_end [] · agent_end [ua]";
    let compacted = "compact manual · compact_end done · ok compact";
    assert_eq!(shape(&asked, Pi1), format!("{closed} · agent_settled · {compacted}"));
    assert_eq!(shape(&asked, Pi073), format!("{closed} · {compacted}"));
}

/// The context is full when the fourth prompt comes, at 310 ms; nothing has been done about it.
fn full_before(rest: Vec<Value>) -> Scenario {
    let switch =
        |id: &str, enabled: bool| json!({ "id": id, "type": "set_auto_compaction", "enabled": enabled });
    filled(rest).host(190, switch("off", false)).host(300, switch("on", true)).host(310, prompt("p4", "four"))
}

fn before(scenario: &Scenario, dialect: Dialect) -> String {
    scenario.finish(dialect).shape_from(Some("on")).join(" · ")
}

#[test]
fn prompt_responds_after_its_compaction() {
    let asked = full_before(vec![summary("So far."), says("Four.")]);
    let expected = format!("ok on · compact threshold · compact_end done · ok p4 · {}", run("user four"));
    assert_eq!(before(&asked, Pi1), format!("{expected} · agent_settled"));
    assert_eq!(before(&asked, Pi073), expected);
    let failed = full_before(vec![no_summary(), says("Four.")]);
    let expected = expected.replace("done", "failed");
    assert_eq!(before(&failed, Pi073), expected);
}

#[test]
fn abort_cancels_compaction_and_following_run() {
    let asked = full_before(vec![summary("Too late.")]).host(330, command("abort"));
    let ended = "ok on · compact threshold · compact_end aborted · ok p4";
    let expected = format!("{ended} · {} · agent_settled · ok abort", aborts("user four"));
    assert_eq!(before(&asked, Pi1), expected);
}

#[test]
fn meanwhile_prompts_are_refused_and_messages_queued() {
    let asked = full_before(vec![summary("So far."), says("Four."), says("More.")])
        .host(330, prompt("p5", "five"))
        .host(331, follow_up("F1"));
    let shape = before(&asked, Pi1);
    let expected =
        "ok on · compact threshold · no p5 · queue [|F1] · ok F1 · compact_end done · ok p4 · agent_start";
    assert!(shape.starts_with(expected), "{shape}");
    assert_eq!(shape.matches("agent_settled").count(), 1, "{shape}");
}

/// The answer to the third prompt calls a tool and leaves too little of the context free.
fn full_between(mut rest: Vec<Value>) -> Scenario {
    let mut called = calls("t1", "bash", "echo one");
    called["usage"] = json!({ "input": 127_500, "output": 0 });
    rest.insert(0, called);
    talk(rest.into())
}

const CALLED: &str = "ok p3 · agent_start · turn_start · user three · ms · toolcall · me toolUse · start t1 · update t1 · \
                      end t1 · result t1 · turn_end [t1]";

#[test]
fn context_filled_by_tools_is_compacted() {
    let asked = full_between(vec![summary("So far."), says("Done.")]);
    let next = "turn_start · ms · text · me stop · turn_end [] · agent_end [uata]";
    let compacted = "compact threshold · compact_end done";
    assert_eq!(shape(&asked, Pi1), format!("{CALLED} · {compacted} · {next} · agent_settled"));
    let played = asked.finish(Pi1);
    assert_eq!(played.asked.last().map(String::as_str), Some("turn play [sSat]"));
    // Elsewhere the run is over first.
    assert!(shape(&asked, Pi073).starts_with(&format!("{CALLED} · turn_start")));
}

#[test]
fn run_continues_after_failed_compaction() {
    let refused = json!({ "summary": true, "fail": { "status": 401, "message": "no such key" } });
    let asked = full_between(vec![refused, says("Done.")]);
    let next = "turn_start · ms · text · me stop · turn_end [] · agent_end [uata]";
    let failed = "compact threshold · compact_end failed";
    assert!(shape(&asked, Pi1).starts_with(&format!("{CALLED} · {failed} · {next}")));
}

#[test]
fn abort_between_turns_cancels_compaction_and_run() {
    let asked =
        full_between(vec![summary("Too late.")]).host(240, command("get_state")).host(241, command("abort"));
    let next = "turn_start · ms · me aborted · turn_end [] · agent_end [uata]";
    let ended = "compact threshold · ok get_state · compact_end aborted";
    let expected = format!("{CALLED} · {ended} · {next} · agent_settled · ok abort");
    assert_eq!(shape(&asked, Pi1), expected);
    let played = asked.finish(Pi1);
    let state = &played.answers("get_state")[0]["data"];
    assert_eq!((&state["isStreaming"], &state["isCompacting"]), (&json!(true), &json!(true)));
    let settled = json!({ "type": "agent_settled", "aborted": true });
    assert_eq!(*played.last("agent_settled"), settled);
}

#[test]
fn compaction_between_turns_queues_only_steering() {
    let asked = full_between(vec![summary("So far."), says("Done.")])
        .host(240, prompt("p4", "four"))
        .host(241, steer("S1"));
    let meanwhile = "compact threshold · no p4 · queue [S1|] · ok S1 · compact_end done";
    let next = "turn_start · queue [|] · user S1 · ms · text · me stop · turn_end [] · agent_end [uatua]";
    assert_eq!(shape(&asked, Pi1), format!("{CALLED} · {meanwhile} · {next} · agent_settled"));
}

#[test]
fn message_cleared_during_compaction_opens_no_turn() {
    let mut slow = fills("Three.", 127_500);
    slow["firstDelayMs"] = json!(50);
    let asked =
        talk(json!([slow, summary("So far.")])).host(220, follow_up("F1")).host(270, command("clear_queue"));
    let ended = "me stop · turn_end [] · compact threshold · queue [|] · ok clear_queue · compact_end done · agent_end [ua]";
    assert!(shape(&asked, Pi1).contains(ended), "{}", shape(&asked, Pi1));
}

#[test]
fn summary_that_calls_tool_fails() {
    let mut calling = summary("What was said.");
    calling["say"].as_array_mut().unwrap().push(json!({ "tool": "bash", "arguments": { "command": "ls" } }));
    let text = "Summarization attempted to call a tool";
    let failed = end(json!({ "errorMessage": format!("Compaction failed: {text}") }));
    assert_eq!(said(&compacts(json!([calling])), Pi1), [start(), failed, refused("compact", text)]);
}

#[test]
fn truncated_summary_fails() {
    let mut cut = summary("What was");
    cut["stop"] = "length".into();
    let text = "Summarization failed: generation hit the token cap and the summary is incomplete";
    let failed = end(json!({ "errorMessage": format!("Compaction failed: {text}") }));
    assert_eq!(said(&compacts(json!([cut])), Pi1), [start(), failed, refused("compact", text)]);
}
