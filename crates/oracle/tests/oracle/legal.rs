//! Legal conversations that look wrong yield no finding.

use crate::mutation_support::{Op, broken, dialect, names, valid};
use pi_rpc_machine::Rule;
use pi_rpc_oracle::{Judge, View};
use pi_rpc_protocol::{
    Dialect::{self, Pi, Pi1, Xcsh},
    DialectVersion,
};
use pi_rpc_recording::read_record;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A conversation, a millisecond a record.
#[derive(Clone, Default)]
pub struct Talk(pub Vec<Value>);

impl Talk {
    pub fn new(dialect: Dialect) -> Self {
        let talk = Self::default();
        if dialect == Xcsh { talk.out(json!({ "type": "ready" })) } else { talk }
    }

    pub fn record(mut self, after: u64, dir: &str, frame: &Value) -> Self {
        let t = self.0.last().map_or(0, |last| last["t"].as_u64().unwrap()) + after;
        self.0.push(json!({ "t": t, "dir": dir, "frame": frame }));
        self
    }

    pub fn out(self, frame: Value) -> Self {
        self.record(1, "out", &frame)
    }

    pub fn asks(self, id: &str, kind: &str, message: &str) -> Self {
        self.record(1, "in", &json!({ "id": id, "type": kind, "message": message }))
    }

    pub fn done(self, id: &str, command: &str) -> Self {
        self.out(json!({ "id": id, "type": "response", "command": command, "success": true }))
    }

    pub fn ask(self, id: &str, kind: &str, message: &str) -> Self {
        self.asks(id, kind, message).done(id, kind)
    }

    pub fn both(self, message: &Value) -> Self {
        let start = self.out(json!({ "type": "message_start", "message": message }));
        start.out(json!({ "type": "message_end", "message": message }))
    }

    pub fn begin(self, texts: &[&str]) -> Self {
        let begun = self.out(json!({ "type": "turn_start" }));
        texts.iter().fold(begun, |talk, text| talk.both(&user(text)))
    }

    pub fn finish(self, message: &Value) -> Self {
        let said = self.both(message);
        said.out(json!({ "type": "turn_end", "message": message, "toolResults": [] }))
    }

    /// A run begins, behind the wait that was told.
    pub fn start(self) -> Self {
        let wait = self.0.last().and_then(|last| last["frame"]["delayMs"].as_u64()).unwrap_or_default();
        self.record(wait.max(1), "out", &json!({ "type": "agent_start" }))
    }

    /// The run is over; its list is what was said since it began.
    pub fn end(self) -> Self {
        let begun = self.0.iter().rposition(|record| record["frame"]["type"] == "agent_start").unwrap();
        let ends = self.0[begun..].iter().filter(|record| record["frame"]["type"] == "message_end");
        let messages: Vec<Value> = ends.map(|record| record["frame"]["message"].clone()).collect();
        self.out(json!({ "type": "agent_end", "messages": messages }))
    }

    pub fn fails(self, texts: &[&str], error: &str) -> Self {
        self.start().begin(texts).finish(&failed(error)).end()
    }

    pub fn retries(self, attempt: u64, delay: u64, error: &str) -> Self {
        self.out(json!({
            "type": "auto_retry_start", "attempt": attempt, "maxAttempts": 3, "delayMs": delay,
            "errorMessage": error,
        }))
    }

    pub fn input_ends(self, after: u64) -> Self {
        let closed = self.record(after, "meta", &json!({ "event": "stdin closed" }));
        closed.record(1, "meta", &json!({ "event": "exit", "code": 0 }))
    }

    /// The rules that the judge sees broken.
    pub fn broken(&self, dialect: impl Into<DialectVersion>) -> Vec<Rule> {
        let mut judge = Judge::new(dialect, View::Both);
        let mut broken = Vec::new();
        for record in &self.0 {
            broken.extend(judge.observe(&read_record(&record.to_string()).unwrap()));
        }
        broken.extend(judge.finish());
        broken.into_iter().map(|finding| finding.violation.rule).collect()
    }
}

pub fn user(text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 7 })
}

pub fn answer(stop_reason: &str) -> Value {
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    let usage = json!({
        "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost,
    });
    json!({
        "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "usage": usage,
        "stopReason": stop_reason, "timestamp": 8,
    })
}

pub fn failed(error: &str) -> Value {
    let mut message = answer("error");
    message["errorMessage"] = json!(error);
    message
}

#[test]
fn prompt_resent_as_follow_up_keeps_order() {
    let busy =
        "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.";
    let refused =
        json!({ "id": "2", "type": "response", "command": "prompt", "success": false, "error": busy });
    let talk = |second: &str, third: &str| {
        let run = Talk::new(Xcsh).ask("1", "prompt", "go").start().begin(&["go"]);
        let asked = run.ask("2", "prompt", "a").out(refused.clone()).ask("3", "follow_up", "a");
        let answered = asked.ask("4", "follow_up", "b").finish(&answer("stop"));
        let turns = answered.begin(&[second]).finish(&answer("stop")).begin(&[third]);
        turns.finish(&answer("stop")).end().input_ends(1)
    };
    assert_eq!(talk("a", "b").broken(Xcsh), [Rule::HostPromptBusy]);
    assert_eq!(talk("b", "a").broken(Xcsh), [Rule::HostPromptBusy, Rule::DeliverFifo]);
}

#[test]
fn provider_delay_does_not_double() {
    let talk = |second: u64| {
        let first = Talk::new(Xcsh).ask("1", "prompt", "go").fails(&["go"], "overloaded");
        let again = first.retries(1, 30_000, "overloaded").fails(&[], "overloaded");
        again.retries(2, second, "overloaded")
    };
    assert_eq!(talk(4000).broken(Xcsh), []);
    assert_eq!(talk(2000).broken(Xcsh), [Rule::RetryDelay]);
}

#[test]
fn run_may_wait_for_compaction_or_dialog() {
    let acked = || Talk::new(Xcsh).ask("1", "prompt", "go");
    let compacts =
        json!({ "type": "auto_compaction_start", "reason": "threshold", "action": "context-full" });
    let dialog = json!({
        "type": "extension_ui_request", "id": "u", "method": "confirm", "title": "t", "message": "m",
    });
    assert_eq!(acked().out(compacts).input_ends(5000).broken(Xcsh), []);
    assert_eq!(acked().out(dialog).input_ends(5000).broken(Xcsh), []);
    assert_eq!(acked().input_ends(5000).broken(Xcsh), [Rule::RunAfterAck]);
}

#[test]
fn recording_may_end_during_slow_work() {
    let talk = |id: &str, kind: &str| {
        let begun = Talk::new(Pi).ask("1", "abort", "");
        let asked = begun.record(1, "in", &json!({ "id": id, "type": kind, "command": "sleep 9" }));
        asked.record(5000, "err", &json!("still there"))
    };
    assert_eq!(talk("2", "bash").broken(Pi), []);
    assert_eq!(talk("2", "compact").broken(Pi), []);
    assert_eq!(talk("2", "get_state").broken(Pi), [Rule::RespOnce]);
}

#[test]
fn failed_loop_ends_run_with_error_only() {
    let begun = || Talk::new(Pi).ask("1", "prompt", "go").start();
    let ends = |talk: Talk, messages: Value| {
        talk.out(json!({ "type": "agent_end", "messages": messages })).input_ends(1).broken(Pi)
    };
    let reason = || json!([failed("no key")]);
    assert_eq!(ends(begun(), reason()), []);
    assert_eq!(ends(begun().begin(&["go"]), reason()), []);
    assert_eq!(ends(begun(), json!([])), [Rule::TurnNesting]);
    assert_eq!(ends(begun().begin(&["go"]), json!([user("go")])), [Rule::RunNesting]);
}

#[test]
fn prompt_during_compaction_may_precede_announced_run() {
    let talk = |asks: bool| {
        let full = "prompt is too long";
        let run = Talk::new(Pi).ask("1", "prompt", "go").fails(&["go"], full);
        let run = run.out(json!({ "type": "auto_compaction_start", "reason": "overflow" }));
        let run = if asks { run.ask("2", "prompt", "more") } else { run };
        let result = json!({ "summary": "s", "firstKeptEntryId": "e", "tokensBefore": 1 });
        let compacted = run.out(json!({
            "type": "auto_compaction_end", "result": result, "aborted": false, "willRetry": true,
        }));
        compacted.start().begin(&["more"]).finish(&answer("stop")).end().input_ends(1)
    };
    assert_eq!(talk(true).broken(Pi), []);
    assert_eq!(talk(false).broken(Pi), [Rule::OverflowRetry]);
}

#[test]
fn compaction_without_work_has_no_result() {
    let talk = |dialect: Dialect, again: bool| {
        let reason = if again { "overflow" } else { "threshold" };
        let start = json!({ "type": "auto_compaction_start", "reason": reason, "action": "context-full" });
        let end = json!({
            "type": "auto_compaction_end", "aborted": false, "willRetry": again, "action": "context-full",
        });
        let run = Talk::new(dialect).ask("1", "prompt", "go").fails(&["go"], "prompt is too long");
        let compacted = run.out(start).out(end);
        let rest = match again {
            true => compacted.start().begin(&[]).finish(&answer("stop")).end(),
            false => compacted,
        };
        rest.input_ends(1).broken(dialect)
    };
    assert_eq!(talk(Pi, false), []);
    assert_eq!(talk(Pi, true), [Rule::CompactionFields]);
    assert_eq!(talk(Xcsh, false), [Rule::CompactionFields]);
}

#[test]
fn messages_of_same_millisecond_are_distinguished() {
    let talk = |first: &str| {
        let run = Talk::new(Pi).ask("1", "prompt", "a").start().begin(&["a"]).finish(&answer("stop"));
        let run = run.begin(&["b"]).finish(&answer("stop")).end().input_ends(1);
        let when = "2026-01-01T00:00:00.000Z";
        let entry = |id: &str, parent: Value, message: Value| json!({ "type": "message", "id": id, "parentId": parent, "timestamp": when, "message": message });
        let lines = json!([
            { "type": "session", "version": 3, "id": "s", "timestamp": when },
            entry("1", Value::Null, user(first)),
            entry("2", json!("1"), answer("stop")),
            entry("3", json!("2"), user("b")),
        ]);
        run.record(1, "meta", &json!({ "event": "session file", "lines": lines }))
    };
    assert_eq!(talk("a").broken(Pi), []);
    assert_eq!(talk("c").broken(Pi), [Rule::FileTree]);
}

#[test]
fn array_is_ignored_as_frame() {
    let talk = Talk::new(Pi).out(json!(["agent_start"])).ask("1", "prompt", "go");
    let talk = talk.start().begin(&["go"]).finish(&answer("stop")).end().input_ends(1);
    assert_eq!(talk.broken(Pi), [Rule::Framing]);
}

#[test]
fn unknown_frames_are_legal_anywhere() {
    let own = json!({ "type": "somebodys_own_event", "value": 1 });
    for name in names() {
        let trace = valid(&name);
        let mixed: Vec<Value> = trace
            .iter()
            .flat_map(|record| {
                let follows =
                    (record["dir"] == "out").then(|| json!({ "t": record["t"], "dir": "out", "frame": own }));
                [record.clone()].into_iter().chain(follows)
            })
            .collect();
        let mut expected = broken(dialect(&name), &trace);
        expected.insert(Rule::UnknownType.to_string());
        assert_eq!(broken(dialect(&name), &mixed), expected, "{name}");
    }
}

#[test]
fn repeated_prompt_may_start_before_its_response() {
    let run = |talk: Talk, text: &str| talk.start().begin(&[text]).finish(&answer("stop")).end();
    let response = |id: &str, became: &str| json!({ "id": id, "type": "response", "command": "prompt", "success": true, "data": { "disposition": became } });
    let settled = json!({ "type": "agent_settled" });
    let first = Talk::new(Pi1).asks("1", "prompt", "go").out(response("1", "started")).start().begin(&["go"]);
    let mut waits =
        json!({ "id": "2", "type": "prompt", "message": "more", "streamingBehavior": "followUp" });
    let first = first
        .record(1, "in", &waits)
        .out(json!({ "type": "queue_update", "steering": [], "followUp": ["more"] }));
    let first = first.out(response("2", "queued")).finish(&answer("stop"));
    let taken = first.out(json!({ "type": "queue_update", "steering": [], "followUp": [] }));
    let idle = taken.begin(&["more"]).finish(&answer("stop")).end().out(settled);
    waits["id"] = json!("3");
    let asked = idle.record(1, "in", &waits);
    let started = || response("3", "started");
    let behind = run(asked.clone(), "more").out(started());
    let within = asked.start().out(started()).begin(&["more"]).finish(&answer("stop")).end();
    for talk in [behind, within] {
        assert!(!talk.broken(Pi1).contains(&Rule::DispositionTrue));
    }
}

#[test]
fn slash_command_may_precede_aftermath_of_run() {
    for dialect in [Pi, Xcsh] {
        let ended = || Talk::new(dialect).ask("1", "prompt", "go").fails(&["go"], "overloaded");
        let slash = || ended().ask("2", "prompt", "/do");
        assert_eq!(slash().retries(1, 2000, "overloaded").broken(dialect), [], "{dialect}");
        let given_up = json!({
            "type": "auto_retry_end", "success": false, "attempt": 1, "finalError": "overloaded",
        });
        let again = ended().retries(1, 2000, "overloaded").fails(&[], "overloaded").ask("2", "prompt", "/do");
        assert_eq!(again.out(given_up).broken(dialect), [], "{dialect}");
    }
}

#[test]
fn reads_may_overtake_or_wait() {
    let bash = json!({ "id": "1", "type": "bash", "command": "make" });
    let count = json!({ "id": "2", "type": "get_last_assistant_text" });
    let result = json!({ "output": "", "exitCode": 0, "cancelled": false, "truncated": false });
    let made = json!({ "id": "1", "type": "response", "command": "bash", "success": true, "data": result });
    let text = json!({
        "id": "2", "type": "response", "command": "get_last_assistant_text", "success": true,
        "data": { "text": null },
    });
    for answers in [[&made, &text], [&text, &made]] {
        let asked = Talk::new(Xcsh).record(1, "in", &bash).record(1, "in", &count);
        let talk = answers.into_iter().fold(asked, |talk, answer| talk.out(answer.clone()));
        assert_eq!(talk.broken(Xcsh), []);
    }
}

#[test]
fn empty_output_has_line_in_xcsh() {
    let counted = |lines: u64| {
        let data = json!({
            "exitCode": 0, "cancelled": false, "output": "", "truncated": false,
            "totalLines": lines, "totalBytes": 0, "outputLines": lines, "outputBytes": 0,
        });
        let made = json!({ "id": "1", "type": "response", "command": "bash", "success": true, "data": data });
        Talk::new(Xcsh).record(1, "in", &json!({ "id": "1", "type": "bash", "command": "true" })).out(made)
    };
    assert_eq!(counted(1).broken(Xcsh), []);
    assert_eq!(counted(0).broken(Xcsh), [Rule::BashMessage]);
}

#[test]
fn more_requests_may_wait_than_remembered() {
    let ids = || (0..5000).map(|at| at.to_string());
    let asked = ids().fold(Talk::new(Pi), |talk, id| talk.asks(&id, "abort", ""));
    let answered = ids().fold(asked, |talk, id| talk.done(&id, "abort"));
    assert_eq!(answered.done("5000", "abort").broken(Pi), [Rule::RespKnownId]);
}

#[test]
fn abort_may_cancel_compact_or_leave_it() {
    let compact = json!({ "id": "1", "type": "compact" });
    let result = json!({ "summary": "s", "firstKeptEntryId": "e", "tokensBefore": 9, "details": {} });
    let done =
        json!({ "id": "1", "type": "response", "command": "compact", "success": true, "data": result });
    let error = "Compaction cancelled";
    let failed =
        json!({ "id": "1", "type": "response", "command": "compact", "success": false, "error": error });
    let abort = json!({ "id": "2", "type": "abort" });
    let asked = || Talk::new(Pi).record(1, "in", &compact).record(1, "in", &abort);
    assert_eq!(asked().out(failed).done("2", "abort").broken(Pi), []);
    assert_eq!(asked().done("2", "abort").out(done).broken(Pi), []);
}

#[test]
fn abort_and_prompt_during_compaction_may_fail() {
    let start = json!({ "type": "auto_compaction_start", "reason": "threshold", "action": "context-full" });
    let end = json!({
        "type": "auto_compaction_end", "action": "context-full", "aborted": true, "willRetry": false,
    });
    let compacts = || {
        let run = Talk::new(Xcsh).ask("1", "prompt", "go").start().begin(&["go"]).finish(&answer("stop"));
        run.end().out(start.clone()).asks("2", "abort_and_prompt", "on")
    };
    let run = compacts().out(end).done("2", "abort_and_prompt").start().begin(&["on"]);
    assert_eq!(run.finish(&answer("stop")).end().broken(Xcsh), []);
    let busy =
        "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.";
    let refused = json!({
        "id": "2", "type": "response", "command": "abort_and_prompt", "success": false, "error": busy,
    });
    assert_eq!(compacts().done("2", "abort_and_prompt").out(refused).broken(Xcsh), []);
}

#[test]
fn session_change_may_clear_queues() {
    let queues = |steering: &[&str]| json!({ "type": "queue_update", "steering": steering, "followUp": [] });
    let queued = json!({
        "id": "1", "type": "response", "command": "steer", "success": true, "data": { "disposition": "queued" },
    });
    let left = json!({
        "id": "2", "type": "response", "command": "new_session", "success": true, "data": { "cancelled": false },
    });
    let talk = Talk::new(Pi1).asks("1", "steer", "S").out(queues(&["S"])).out(queued);
    let talk = talk.record(1, "in", &json!({ "id": "2", "type": "new_session" }));
    assert_eq!(talk.clone().out(queues(&[])).out(left.clone()).broken(Pi1), []);
    assert_eq!(talk.out(left).broken(Pi1), []);
}

#[test]
fn cancelled_nested_call_ends_late() {
    let mut trace = valid("pi-1/nested");
    let (nested, outer) = ("out tool_execution_end.call_0_1/3", "out tool_execution_end.call_0_1");
    Op::Move(nested.to_owned(), outer.to_owned()).apply(&mut trace);
    for (at, message) in [
        ("out message_start.toolResult", "/message"),
        ("out message_end.toolResult", "/message"),
        ("out turn_end", "/toolResults/0"),
        ("out agent_end", "/messages/3"),
    ] {
        let set = |member: &str, value: Value| {
            Op::Set(at.to_owned(), format!("{message}/nestedCalls/{member}"), value)
        };
        set("calls/2/status", json!("unfinished")).apply(&mut trace);
        set("complete", json!(false)).apply(&mut trace);
    }
    assert_eq!(broken(Pi1, &trace), BTreeSet::new());
}
