//! Answers, retries, queues, counts, dialogs, host tools, the end: above all what is legal there, and the faults that
//! `tests/oracle/mutants.json` does not plant.

use crate::machine_support::{
    Frame::{self, End as Ends, In, Out, Over},
    Talk, assistant, event, judge, message, ok, talk, text,
};
use pi_rpc_machine::{Machine, Rule, ServerExit};
use pi_rpc_protocol::Dialect::{self, Pi, Xcsh};
use serde_json::{Value, json};

/// Fault, dialect, conversation, and the rules that it breaks, in order.
type Row = (&'static str, Dialect, Talk, &'static [Rule]);

const QUIET: Frame = Ends(ServerExit {
    gone: false,
    status: None,
    was_stopped: false,
    killed: false,
    quiet: true,
    waited: false,
});

fn gone(status: i64) -> ServerExit {
    ServerExit { gone: true, status: Some(status), ..ServerExit::default() }
}

/// A command with an id, and properties.
fn command(id: &str, kind: &str, more: Value) -> Frame {
    let mut command = json!({ "id": id, "type": kind });
    command.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    In(command)
}

fn ask(id: &str, kind: &str) -> Frame {
    command(id, kind, json!({}))
}

fn prompt(id: &str, message: &str) -> Frame {
    command(id, "prompt", json!({ "message": message }))
}

fn steer(id: &str, message: &str) -> [(&'static str, Frame); 2] {
    [("steer", command(id, "steer", json!({ "message": message }))), ("steered", ok(id, "steer"))]
}

fn follow_up(id: &str, message: &str) -> [(&'static str, Frame); 2] {
    [
        ("follow up", command(id, "follow_up", json!({ "message": message }))),
        ("followed", ok(id, "follow_up")),
    ]
}

fn refused(id: &str, command: &str, error: &str) -> Frame {
    Out(json!({ "id": id, "type": "response", "command": command, "success": false, "error": error }))
}

fn said(id: &str, command: &str, data: Value) -> Frame {
    Out(json!({ "id": id, "type": "response", "command": command, "success": true, "data": data }))
}

fn user(message: &str) -> Value {
    json!({ "role": "user", "content": text(message), "timestamp": 1 })
}

/// A turn with these messages of the user, without calls.
fn turn(inputs: &[&str]) -> Talk {
    let answer = assistant("stop", json!([]));
    let mut frames = vec![("turn_start", event("turn_start"))];
    for input in inputs {
        frames.push(("input start", message("message_start", &user(input))));
        frames.push(("input end", message("message_end", &user(input))));
    }
    frames.push(("ms", message("message_start", &answer)));
    frames.push(("me", message("message_end", &answer)));
    frames.push(("turn_end", Out(json!({ "type": "turn_end", "message": answer, "toolResults": [] }))));
    Talk::of(frames)
}

/// A run of these turns.
fn run(turns: &[&[&str]]) -> Talk {
    let talk = Talk::of(vec![("prompt", prompt("p", "go")), ("ack", ok("p", "prompt"))]);
    let talk = talk.then(Talk::of(vec![("agent_start", event("agent_start"))]));
    let mut messages = Vec::new();
    let mut talk = talk;
    for inputs in turns {
        talk = talk.then(turn(inputs));
        messages.extend(inputs.iter().map(|input| user(input)));
        messages.push(assistant("stop", json!([])));
    }
    talk.then(Talk::of(vec![("agent_end", Out(json!({ "type": "agent_end", "messages": messages })))]))
}

/// A run that fails.
fn fails() -> Talk {
    let mut failed = assistant("error", json!([]));
    failed["errorMessage"] = json!("overloaded");
    run(&[&["go"]]).set("me", "/message", failed.clone()).set("turn_end", "/message", failed.clone()).set(
        "agent_end",
        "/messages/1",
        failed,
    )
}

fn retry(attempt: u64, delay: u64, error: &str) -> Talk {
    Talk::of(vec![(
        "retry",
        Out(json!({
            "type": "auto_retry_start", "attempt": attempt, "maxAttempts": 3, "delayMs": delay, "errorMessage": error,
        })),
    )])
}

fn retry_ends(success: bool, attempt: u64) -> Frame {
    match success {
        true => Out(json!({ "type": "auto_retry_end", "success": true, "attempt": attempt })),
        false => Out(
            json!({ "type": "auto_retry_end", "success": false, "attempt": attempt, "finalError": "Retry cancelled" }),
        ),
    }
}

/// A retried run, without a prompt of its own.
fn again() -> Talk {
    fails().cut(&["prompt", "ack", "input start", "input end"]).set("agent_end", "/messages/0", json!(null))
}

fn state(id: &str, dialect: Dialect, streaming: bool, count: u64, queued: u64) -> Frame {
    let mut data = json!({
        "thinkingLevel": "off", "isStreaming": streaming, "isCompacting": false,
        "steeringMode": "one-at-a-time", "followUpMode": "one-at-a-time", "interruptMode": "wait", "sessionId": "s",
        "autoCompactionEnabled": true, "messageCount": count, "todoPhases": [],
    });
    data[if dialect == Pi { "pendingMessageCount" } else { "queuedMessageCount" }] = json!(queued);
    said(id, "get_state", data)
}

fn answers() -> Vec<Row> {
    use Rule::{HostLegal, HostPromptBusy, HostSchema};
    let acked = || Talk::of(vec![("prompt", prompt("p", "go")), ("ack", ok("p", "prompt"))]);
    let slash = acked().set("prompt", "/message", json!("/todo"));
    let aborted = acked().then(Talk::of(vec![("abort", ask("a", "abort")), ("aborted", ok("a", "abort"))]));
    let end = || Talk::of(vec![("quiet", QUIET)]);
    let abort = |after| talk().with(ok("a", "abort"), after).with(ask("a", "abort"), "ms 2");
    let busy = |answer: Frame| talk().with(answer, "ms 2").with(prompt("q", "more"), "ms 2").then(end());
    let text = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";
    let late =
        "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.";
    let unordered = || {
        Talk::of(vec![
            ("export", ask("1", "export_html")),
            ("cycle", ask("2", "cycle_model")),
            ("second", said("2", "cycle_model", json!(null))),
            ("first", refused("1", "export_html", "e")),
        ])
    };
    let compacting = Talk::of(vec![
        (
            "start",
            Out(json!({ "type": "auto_compaction_start", "reason": "threshold", "action": "context-full" })),
        ),
        ("prompt", prompt("p", "go")),
        ("ack", ok("p", "prompt")),
        ("error", refused("p", "prompt", late)),
    ]);
    vec![
        ("nothing where a command may have been taken", Pi, slash.then(end()), &[]),
        ("nothing where it was stopped", Pi, aborted.then(end()), &[]),
        ("nothing while it may still come", Pi, acked(), &[]),
        ("nothing behind the end", Pi, abort("agent_end"), &[]),
        ("nothing but the host's", Pi, busy(refused("q", "prompt", text)), &[HostPromptBusy]),
        (
            "nothing where the error follows",
            Xcsh,
            busy(ok("q", "prompt")).with(refused("q", "prompt", late), "turn_end 2"),
            &[HostPromptBusy],
        ),
        ("a prompt in a compaction", Xcsh, compacting, &[HostLegal]),
        ("nothing where that is free", Pi, unordered(), &[]),
        ("an unknown command", Pi, Talk::of(vec![("line", In(json!({ "type": "nothing" })))]), &[HostSchema]),
    ]
}

fn tails() -> Vec<Row> {
    use Rule::{RetryDelay, RetryEndPlace, RetryPairs};
    let twice =
        |delay| fails().then(retry(1, 2000, "overloaded")).then(again()).then(retry(2, delay, "overloaded"));
    let over = |talk: Talk, attempt| talk.then(Talk::of(vec![("over", retry_ends(false, attempt))]));
    let succeeds = |after| {
        let again = run(&[&[]]).cut(&["prompt", "ack"]).with(retry_ends(true, 1), after);
        fails().then(retry(1, 2000, "overloaded")).then(again)
    };
    let calls =
        talk().cut(&["prompt", "ack", "user start", "user end"]).set("agent_end", "/messages/0", json!(null));
    let behind_tools = fails().then(retry(1, 2000, "overloaded"));
    let behind_tools = behind_tools.then(calls.with(retry_ends(true, 1), "result end t2"));
    let compacted = |retries: bool| {
        let result = json!({ "summary": "s", "firstKeptEntryId": "e", "tokensBefore": 1 });
        Talk::of(vec![
            ("start", Out(json!({ "type": "auto_compaction_start", "reason": "overflow" }))),
            (
                "end",
                Out(json!({
                    "type": "auto_compaction_end", "result": result, "aborted": false, "willRetry": retries,
                })),
            ),
        ])
    };
    let settled = || {
        Talk::of(vec![
            ("ask", ask("1", "abort")),
            ("answer", ok("1", "abort")),
            ("compact", ask("2", "compact")),
        ])
    };
    let reminder = |attempt: u64, todos: Value| {
        let reminder =
            json!({ "type": "todo_reminder", "todos": todos, "attempt": attempt, "maxAttempts": 3 });
        Talk::of(vec![("reminder", Out(reminder))])
    };
    let todos = || json!([{ "id": "1", "content": "c", "status": "pending" }]);
    let goes_on = || run(&[&["more"]]).cut(&["prompt", "ack"]);
    let quiet = || Talk::of(vec![("quiet", QUIET)]);
    vec![
        ("nothing in a retry", Pi, over(twice(4000), 2), &[]),
        ("a success behind the calls", Pi, behind_tools, &[RetryEndPlace]),
        ("a second attempt first", Pi, over(fails().then(retry(2, 1, "overloaded")), 2), &[RetryPairs]),
        ("a wait that is longer", Pi, over(twice(9000), 2), &[RetryDelay]),
        ("nothing where the provider may ask for it", Xcsh, over(twice(9000), 2), &[]),
        (
            "a prompt in the wait without an end",
            Pi,
            fails().then(retry(1, 2000, "overloaded")).then(fails()),
            &[RetryPairs],
        ),
        (
            "another text than the prompt's behind the end",
            Pi,
            over(fails().then(retry(1, 2000, "overloaded")), 1).then(run(&[&["other"]])),
            &[Rule::PromptDelivered],
        ),
        (
            "nothing where the retry comes first",
            Pi,
            fails()
                .then(retry(1, 2000, "overloaded"))
                .then(Talk::of(vec![("late", prompt("q", "more"))]))
                .then(again()),
            &[],
        ),
        ("nothing in a retry that succeeds", Pi, succeeds("me"), &[]),
        (
            "nothing where a prompt waits that may compact first",
            Pi,
            Talk::of(vec![("prompt", In(json!({ "id": "0", "type": "prompt", "message": "go" })))])
                .then(settled())
                .then(compacted(false)),
            &[],
        ),
        (
            "nothing without events",
            Pi,
            settled().then(Talk::of(vec![("refused", refused("2", "compact", "e"))])),
            &[],
        ),
        ("nothing where the compaction is another", Pi, run(&[&["go"]]).then(compacted(false)), &[]),
        ("nothing where it is", Pi, compacted(true).then(again()).then(quiet()), &[]),
        (
            "a message that nobody sent behind a reminder",
            Xcsh,
            reminder(1, todos()).then(goes_on()),
            &[Rule::DeliverOnce],
        ),
    ]
}

fn queues() -> Vec<Row> {
    let queued = |run: Talk, queued: Vec<[(&'static str, Frame); 2]>| {
        let mut talk = run;
        for [(_, ask), (_, answer)] in queued.into_iter().rev() {
            talk = talk.with(answer, "agent_start").with(ask, "agent_start");
        }
        talk
    };
    let two = || vec![steer("1", "a"), steer("2", "b")];
    let one = || vec![steer("1", "a")];
    let mixed = || vec![follow_up("1", "f"), steer("2", "s")];
    let mode = |mode: &str| {
        Talk::of(vec![
            ("mode", command("m", "set_steering_mode", json!({ "mode": mode }))),
            ("set", ok("m", "set_steering_mode")),
        ])
    };
    let counted = |count, dialect| {
        let ask =
            Talk::of(vec![("state", ask("s", "get_state")), ("said", state("s", dialect, false, 4, count))]);
        queued(run(&[&["go"], &["a"]]), one()).then(ask)
    };
    let skill = queued(
        run(&[&["go"], &["what the skill says"], &["b"]]),
        vec![steer("1", "/skill:x"), steer("2", "b")],
    );
    vec![
        ("nothing in order", Pi, queued(run(&[&["go"], &["a"], &["b"]]), two()), &[]),
        (
            "nothing where all may come",
            Pi,
            mode("all").then(queued(run(&[&["go"], &["a", "b"]]), two())),
            &[],
        ),
        (
            "nothing one at a time",
            Pi,
            mode("one-at-a-time").then(queued(run(&[&["go"], &["a"], &["b"]]), two())),
            &[],
        ),
        ("nothing where nobody knows", Pi, queued(run(&[&["go"], &["a", "b"]]), two()), &[]),
        ("nothing where steering comes first", Pi, queued(run(&[&["go"], &["s"], &["f"]]), mixed()), &[]),
        ("nothing where the prompt joins", Pi, queued(run(&[&["go", "a"]]), one()), &[]),
        ("nothing where a skill was named", Pi, skill, &[]),
        ("nothing with the right count", Pi, counted(0, Pi), &[]),
    ]
}

fn counts() -> Vec<Row> {
    use Rule::{AnswerModel, StreamingFlag};
    let messages = || json!({ "messages": [user("go"), assistant("stop", json!([]))] });
    let asked = |more: Vec<(&'static str, Frame)>| run(&[&["go"]]).then(Talk::of(more));
    let count = |count| {
        asked(vec![
            ("list", ask("1", "get_messages")),
            ("listed", said("1", "get_messages", messages())),
            ("state", ask("2", "get_state")),
            ("said", state("2", Pi, false, count, 0)),
        ])
    };
    let stats = |users: u64| {
        let tokens = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
        let stats = json!({
            "sessionId": "s", "userMessages": users, "assistantMessages": 1, "toolCalls": 0, "toolResults": 0,
            "totalMessages": 2, "tokens": tokens, "cost": 0,
        });
        asked(vec![
            ("stats", ask("1", "get_session_stats")),
            ("counted", said("1", "get_session_stats", stats)),
            ("list", ask("2", "get_messages")),
            ("listed", said("2", "get_messages", messages())),
        ])
    };
    let during =
        |streaming| talk().with(state("s", Pi, streaming, 1, 0), "ms").with(ask("s", "get_state"), "ms");
    let idle = asked(vec![("state", ask("s", "get_state")), ("said", state("s", Pi, true, 2, 0))]);
    let compacting = |compacting: bool| {
        Talk::of(vec![
            ("start", Out(json!({ "type": "auto_compaction_start", "reason": "threshold" }))),
            ("state", ask("s", "get_state")),
            ("said", state("s", Pi, false, 2, 0)),
        ])
        .set("said", "/data/isCompacting", json!(compacting))
    };
    vec![
        ("nothing with the right count", Pi, count(2), &[]),
        ("nothing with the right counts", Pi, stats(1), &[]),
        ("another model than the one that is set", Pi, during(true), &[AnswerModel, AnswerModel]),
        ("streaming at rest", Pi, idle, &[StreamingFlag]),
        ("nothing in a compaction", Pi, compacting(true), &[]),
    ]
}

fn asks() -> Vec<Row> {
    use Rule::{HostAnswerOnce, HostCallWindow, HostToolOpen};
    let select = || {
        let select = json!({
            "type": "extension_ui_request", "id": "u", "method": "select", "title": "t", "options": ["a", "b"],
        });
        Talk::of(vec![("select", Out(select))])
    };
    let answer = |more: Value| {
        let mut answer = json!({ "type": "extension_ui_response", "id": "u" });
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Talk::of(vec![("answer", In(answer))])
    };
    let a = || answer(json!({ "value": "a" }));
    let title = json!({ "type": "extension_ui_request", "id": "u", "method": "setTitle", "title": "t" });
    let tools = json!([{ "name": "count", "description": "d", "parameters": {} }]);
    let registered = || {
        Talk::of(vec![
            ("register", command("r", "set_host_tools", json!({ "tools": tools }))),
            ("registered", said("r", "set_host_tools", json!({ "toolNames": ["count"] }))),
        ])
    };
    let call = |call: &str, name: &str| {
        Out(json!({
            "type": "host_tool_call", "id": "h", "toolCallId": call, "toolName": name, "arguments": {},
        }))
    };
    let called = |id: &str, name: &str| registered().then(talk().with(call(id, name), "start t1"));
    let result =
        |id: &str| In(json!({ "type": "host_tool_result", "id": id, "result": { "content": text("1") } }));
    let done = || called("t1", "count").with(result("h"), "added");
    let cancel = |id: &str| Out(json!({ "type": "host_tool_cancel", "id": "c", "targetId": id }));
    let cancelled = |failed: bool| {
        let talk = called("t1", "count").with(cancel("h"), "added").set("end t1", "/isError", json!(failed));
        talk.set("result start t1", "/message/isError", json!(failed))
            .set("result end t1", "/message/isError", json!(failed))
            .set("turn_end", "/toolResults/0/isError", json!(failed))
            .set("agent_end", "/messages/2/isError", json!(failed))
    };
    vec![
        ("nothing with an answer", Pi, select().then(a()), &[]),
        ("an answer to nothing", Pi, a(), &[HostAnswerOnce]),
        ("nothing where it is cancelled", Pi, select().then(answer(json!({ "cancelled": true }))), &[]),
        ("nothing where titles are free", Pi, Talk::of(vec![("title", Out(title))]), &[]),
        (
            "a call with other arguments, another result, and a call without the host",
            Xcsh,
            done(),
            &[Rule::HostUnchanged, Rule::HostUnchanged, Rule::HostUnchanged],
        ),
        (
            "a call of a tool that has ended",
            Xcsh,
            registered().then(talk().with(call("t1", "count"), "end t2")),
            &[Rule::HostUnchanged, Rule::HostUnchanged, HostCallWindow],
        ),
        (
            "a call with other arguments, cancelled for no reason",
            Xcsh,
            cancelled(true),
            &[Rule::HostUnchanged, Rule::HostCancel, Rule::HostUnchanged, Rule::HostUnchanged],
        ),
        (
            "a result of what was cancelled",
            Xcsh,
            cancelled(true).with(result("h"), "start t2"),
            &[Rule::HostUnchanged, Rule::HostCancel, Rule::HostUnchanged, HostToolOpen, Rule::HostUnchanged],
        ),
    ]
}

fn endings() -> Vec<Row> {
    use Rule::RespOnce;
    let ends = |talk: Talk, end: ServerExit| talk.then(Talk::of(vec![("over", Over), ("end", Ends(end))]));
    let open = || talk().only(&["prompt", "ack", "agent_start", "turn_start"]);
    let state = || Talk::of(vec![("state", ask("s", "get_state"))]);
    let late = || {
        let rest = talk().cut(&["prompt", "ack", "agent_start", "turn_start"]);
        open().then(Talk::of(vec![("over", Over)])).then(rest).then(Talk::of(vec![("end", Ends(gone(0)))]))
    };
    let stopped = ServerExit { was_stopped: true, ..gone(1) };
    vec![
        ("nothing in a good end", Pi, ends(talk(), gone(0)), &[]),
        ("nothing where it was told to", Pi, talk().then(Talk::of(vec![("end", Ends(stopped))])), &[]),
        ("nothing where it is finished", Pi, late(), &[]),
        ("nothing where it need not be", Xcsh, ends(open(), gone(0)), &[]),
        ("nothing where that may be", Xcsh, ends(state(), gone(0)), &[]),
        ("a wait in vain", Xcsh, ends(state(), ServerExit { waited: true, ..gone(0) }), &[RespOnce]),
    ]
}

fn rows() -> Vec<Row> {
    [answers(), tails(), queues(), counts(), asks(), endings()].concat()
}

#[test]
fn each_row_breaks_its_rules_only() {
    let (mut wrong, mut kept) = (Vec::new(), Vec::new());
    for (what, dialect, talk, rules) in rows() {
        let mut machine = Machine::new(dialect, true);
        let broken = judge(&mut machine, dialect, &talk);
        if broken != rules {
            wrong.push(format!("{what} ({dialect}): {broken:?}, not {rules:?}"));
        }
        kept.extend(machine.exercised().iter().filter(|rule| !rules.contains(rule)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // No recording of `tests/oracle/valid` exercises these.
    let unrecorded = [Rule::EofFinishes, Rule::CompactionSilent, Rule::CompactingFlag];
    assert_eq!(unrecorded.map(|rule| kept.contains(&rule)), [true; 3]);
}
