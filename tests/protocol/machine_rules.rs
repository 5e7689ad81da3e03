//! One fault at a time: the exact rules that the machine reports, and that it goes on as if nothing had been.

use crate::machine_support::{
    Frame, Talk, assistant, block, custom, event, grows, judge, message, ok, result, talk, text, tool, user,
};
use pi_rpc::{
    machine::{Machine, Rule},
    protocol::{
        BlockKind,
        Dialect::{self, Pi, Pi058, Xcsh},
        LineError, RequestId, Step,
    },
};
use serde_json::{Value, json};

/// What is wrong, the dialect, the spoilt conversation, the rules that it breaks, in order.
type Row = (&'static str, Dialect, Talk, &'static [Rule]);

fn out(frame: Value) -> Frame {
    Frame::Out(frame)
}

/// From the second turn on.
const REST: [&str; 8] =
    ["turn_start 2", "ms 2", "text start", "text delta", "text end", "me 2", "turn_end 2", "agent_end"];

fn runs_and_turns() -> Vec<Row> {
    use Rule::{FiresIn, HostPromptBusy, RunCut, RunNesting, TurnNesting};
    let empty = talk().only(&["prompt", "ack", "agent_start", "agent_end"]);
    let cut = talk()
        .cut(&REST)
        .with(out(json!({
            "id": "n", "type": "response", "command": "new_session", "success": true, "data": { "cancelled": false },
        })), "turn_end")
        .with(Frame::In(json!({ "id": "n", "type": "new_session" })), "turn_end");
    let reminder = json!({ "type": "todo_reminder", "todos": [], "attempt": 1, "maxAttempts": 3 });
    vec![
        ("nothing", Pi, talk(), &[]),
        ("nothing", Xcsh, talk(), &[]),
        ("no agent_start", Pi, talk().cut(&["agent_start"]), &[RunNesting]),
        ("agent_start twice", Pi, talk().twice("agent_start"), &[RunNesting]),
        ("agent_start between turns", Pi, talk().with(event("agent_start"), "turn_end"), &[RunNesting]),
        (
            "agent_start in a turn",
            Pi,
            talk().with(event("agent_start"), "result end t2"),
            &[RunNesting, TurnNesting],
        ),
        ("no agent_end", Pi, talk().cut(&["agent_end"]), &[HostPromptBusy, RunNesting]),
        ("agent_end twice", Pi, talk().twice("agent_end"), &[RunNesting]),
        ("a run without a turn", Pi, empty.set("agent_end", "/messages", json!([])), &[TurnNesting]),
        ("no turn_start", Pi, talk().cut(&["turn_start"]), &[TurnNesting]),
        ("no second turn_start", Pi, talk().cut(&["turn_start 2"]), &[TurnNesting]),
        ("turn_start twice", Pi, talk().twice("turn_start"), &[TurnNesting]),
        ("no turn_end", Pi, talk().cut(&["turn_end"]), &[TurnNesting]),
        ("no last turn_end", Pi, talk().cut(&["turn_end 2"]), &[RunNesting]),
        ("turn_end twice", Pi, talk().twice("turn_end"), &[TurnNesting]),
        ("a run cut by a command", Pi, cut, &[RunCut]),
        ("an event of idle in a run", Xcsh, talk().with(out(reminder), "turn_end"), &[FiresIn]),
    ]
}

fn messages() -> Vec<Row> {
    use Rule::{
        AgentEndMessages, AssistantConstant, InputsFirst, MsgAdjacent, MsgNesting, OneAssistantPerTurn,
        RunEdges, StartFinalNonassistant, StopReason, TurnEndMessage, TurnNesting, TurnResults,
        UpdateInAssistant,
    };
    let both = |said: &Value, after| {
        talk().with(message("message_end", said), after).with(message("message_start", said), after)
    };
    let answered_twice = both(&assistant("stop", json!([])), "me 2");
    let late = || grows(0, BlockKind::Text, Step::Delta("late".to_owned()));
    let burst = talk().with(late(), "agent_end").with(late(), "agent_end").with(late(), "agent_end");
    let nested =
        talk().with(message("message_end", &user()), "ms").with(message("message_start", &user()), "ms");
    let error = talk()
        .set("me 2", "/message/errorMessage", json!("e"))
        .set("turn_end 2", "/message/errorMessage", json!("e"))
        .set("agent_end", "/messages/4/errorMessage", json!("e"));
    let at = |frame, pointer| talk().set(frame, pointer, json!(9));
    let none = |frame, pointer| talk().set(frame, pointer, json!([]));
    vec![
        ("a user message without its end", Pi, talk().cut(&["user end"]), &[MsgAdjacent]),
        ("a user message ended late", Pi, talk().moved("user end", "ms"), &[MsgAdjacent, MsgNesting]),
        ("a user message without its start", Pi, talk().cut(&["user start"]), &[StartFinalNonassistant]),
        (
            "a user message that changes",
            Pi,
            at("user start", "/message/timestamp"),
            &[StartFinalNonassistant],
        ),
        ("a user message within the assistant's", Pi, nested, &[MsgNesting]),
        ("a second assistant message", Pi, answered_twice, &[OneAssistantPerTurn]),
        ("a user message behind the assistant's", Pi, both(&user(), "me 2"), &[InputsFirst]),
        ("an extension's message between turns", Pi, both(&custom(), "turn_end"), &[RunEdges]),
        ("no assistant start", Pi, talk().cut(&["ms"]), &[UpdateInAssistant]),
        ("assistant start twice", Pi, talk().twice("ms"), &[MsgNesting]),
        ("no assistant end before calls", Pi, talk().cut(&["me"]), &[MsgNesting]),
        ("no assistant end before the turn's", Pi, talk().cut(&["me 2"]), &[TurnNesting]),
        ("assistant end twice", Pi, talk().twice("me"), &[MsgNesting]),
        ("an update behind the message", Pi, talk().with(late(), "me 2"), &[UpdateInAssistant]),
        ("a burst of updates behind the run", Pi, burst, &[UpdateInAssistant]),
        ("an assistant message that changes", Pi, at("ms 2", "/message/timestamp"), &[AssistantConstant]),
        ("an error text without an error", Pi, error, &[StopReason]),
        ("a turn_end with another message", Pi, at("turn_end 2", "/message/timestamp"), &[TurnEndMessage]),
        ("a turn_end without results", Pi, none("turn_end", "/toolResults"), &[TurnResults]),
        ("an agent_end without messages", Pi, none("agent_end", "/messages"), &[AgentEndMessages]),
    ]
}

fn blocks() -> Vec<Row> {
    use Rule::{BlockProtocol, DeltaConcat, EndEqLast, ToolcallArgs};
    let delta = |text: &str| Step::Delta(text.to_owned());
    let other = talk()
        .step("text delta", delta("Other."))
        .step("text end", Step::End(block(text("Other.")[0].clone())));
    vec![
        ("no block start", Pi, talk().cut(&["text start"]), &[BlockProtocol]),
        ("no block end", Pi, talk().cut(&["call end t1"]), &[BlockProtocol]),
        ("a block end twice", Pi, talk().twice("text end"), &[BlockProtocol]),
        ("a delta behind its end", Pi, talk().moved("text delta", "text end"), &[DeltaConcat, BlockProtocol]),
        ("a delta that is lost", Pi, talk().cut(&["text delta"]), &[DeltaConcat]),
        ("a delta that is said twice", Pi, talk().twice("text delta"), &[DeltaConcat]),
        ("arguments that differ", Pi, talk().step("call delta t2", delta("{\"n\":2}")), &[ToolcallArgs]),
        ("blocks that differ from the message", Pi, other, &[EndEqLast]),
    ]
}

fn tools() -> Vec<Row> {
    use Rule::{
        HostCallWindow, ToolEndPerStart, ToolOrderStart, ToolResultAdjacent, ToolResultEq, ToolSequential,
        ToolStartPerCall, ToolUpdateWindow, ToolWindow, TurnResultsComplete,
    };
    let unanswered = talk()
        .cut(&["start t2", "end t2", "result start t2", "result end t2"])
        .set("turn_end", "/toolResults", json!([result("t1")]))
        .set("agent_end", "/messages/3", json!(null));
    let parallel = || talk().moved("start t2", "start t1");
    let host_call = json!({
        "type": "host_tool_call", "id": "h", "toolCallId": "t1", "toolName": "count", "arguments": {},
    });
    let renamed = talk().set("start t1", "/toolName", json!("other"));
    vec![
        ("a call before the message", Pi, talk().with(tool("start", "t1"), "user end"), &[ToolWindow]),
        ("a start of another name", Pi, renamed, &[ToolStartPerCall]),
        ("a start of other arguments", Pi, talk().set("start t1", "/args", json!({})), &[ToolStartPerCall]),
        ("a start twice", Pi, talk().twice("start t1"), &[ToolStartPerCall]),
        (
            "a call that nobody made",
            Pi,
            talk().with(tool("start", "t9"), "result end t2"),
            &[ToolStartPerCall],
        ),
        ("starts out of order", Pi058, parallel().moved("start t1", "start t2"), &[ToolOrderStart]),
        ("two calls at a time", Pi, parallel(), &[ToolSequential]),
        ("nothing where calls run side by side", Pi058, parallel(), &[]),
        ("an end twice", Pi, talk().twice("end t2"), &[ToolEndPerStart]),
        ("no end", Pi, talk().cut(&["end t2"]), &[ToolResultEq]),
        ("progress before the start", Pi, talk().moved("update t1", "me"), &[ToolUpdateWindow]),
        ("progress behind the result", Pi, talk().moved("update t1", "result end t1"), &[ToolUpdateWindow]),
        (
            "progress between end and result",
            Pi,
            talk().moved("update t1", "end t1"),
            &[ToolResultAdjacent, ToolUpdateWindow],
        ),
        ("nothing where the event has no place", Xcsh, talk().with(event("todo_auto_clear"), "end t1"), &[]),
        ("a result that waits", Pi058, parallel().moved("end t2", "end t1"), &[ToolResultAdjacent; 2]),
        (
            "a result that says something else",
            Pi,
            talk().set("end t1", "/result/content", text("2")),
            &[ToolResultEq],
        ),
        ("a call without a result", Pi, unanswered, &[TurnResultsComplete]),
        ("a host's tool outside a run", Xcsh, talk().with(out(host_call), "agent_end"), &[HostCallWindow]),
    ]
}

fn beside_runs() -> Vec<Row> {
    use Rule::{
        CompactionFields, CompactionPairs, PromptOnce, ReadyFirst, RespCommand, RespKnownId, RespOnce,
        UiIdUnique,
    };
    let compacted = |aborted: bool| {
        let result = json!({ "summary": "s", "firstKeptEntryId": "e", "tokensBefore": 1 });
        out(
            json!({ "type": "auto_compaction_end", "result": result, "aborted": aborted, "willRetry": false }),
        )
    };
    let compacts = |after: &str, aborted: bool| {
        let starts = json!({ "type": "auto_compaction_start", "reason": "threshold" });
        talk().with(compacted(aborted), after).with(out(starts), after)
    };
    let notify =
        || out(json!({ "type": "extension_ui_request", "id": "u", "method": "notify", "message": "m" }));
    let refused =
        json!({ "id": "p", "type": "response", "command": "prompt", "success": false, "error": "e" });
    vec![
        ("nothing in a compaction", Pi, compacts("agent_end", false), &[]),
        ("a compaction in a run", Pi, compacts("turn_end", false), &[CompactionPairs]),
        ("a compaction that never began", Pi, talk().with(compacted(false), "agent_end"), &[CompactionPairs]),
        ("a result of an aborted compaction", Pi, compacts("agent_end", true), &[CompactionFields]),
        ("an answer to nothing", Pi, talk().with(ok("x", "abort"), "agent_end"), &[RespKnownId]),
        ("a second answer", Pi, talk().with(out(refused.clone()), "agent_start"), &[PromptOnce]),
        ("nothing where that may come", Xcsh, talk().with(out(refused.clone()), "agent_start"), &[]),
        ("nothing where it comes first", Xcsh, talk().with(out(refused), "prompt"), &[]),
        ("a second success", Xcsh, talk().twice("ack"), &[RespOnce]),
        ("an answer of another command", Pi, talk().set("ack", "/command", json!("steer")), &[RespCommand]),
        (
            "an id of a dialog that was used",
            Pi,
            talk().with(notify(), "me").with(notify(), "ms"),
            &[UiIdUnique],
        ),
        ("ready between runs", Xcsh, talk().with(event("ready"), "agent_end"), &[ReadyFirst]),
        ("ready in a run", Xcsh, talk().with(event("ready"), "me"), &[ReadyFirst]),
    ]
}

fn rows() -> Vec<Row> {
    [runs_and_turns(), messages(), blocks(), tools(), beside_runs()].concat()
}

#[test]
fn each_fault_breaks_its_rules_and_no_others() {
    let judged = rows().into_iter().map(|(what, dialect, spoilt, rules)| {
        let mut machine = Machine::new(dialect, true);
        // What is missing at the end shows at the next beginning.
        let mut broken = judge(&mut machine, dialect, &spoilt);
        broken.extend(judge(&mut machine, dialect, &talk()));
        (broken != rules).then(|| format!("{what} ({dialect}): {broken:?}, not {rules:?}"))
    });
    assert_eq!(judged.flatten().collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn the_machine_goes_on_after_each_fault() {
    for (what, dialect, spoilt, _) in rows() {
        let mut machine = Machine::new(dialect, true);
        judge(&mut machine, dialect, &spoilt);
        judge(&mut machine, dialect, &talk());
        assert_eq!(judge(&mut machine, dialect, &talk()), [], "after {what} ({dialect})");
        assert_eq!(machine.state().to_string(), "idle", "after {what} ({dialect})");
    }
}

#[test]
fn a_command_of_another_dialect_is_answered_without_its_id() {
    let mut machine = Machine::new(Pi, true);
    machine.bad_line(&LineError::Unknown { kind: "branch".to_owned(), id: None });
    let refused = json!({ "type": "response", "command": "branch", "success": false, "error": "e" });
    let talk = talk().only(&["prompt", "ack"]).with(out(refused), "prompt");
    assert_eq!(judge(&mut machine, Pi, &talk), []);
}

#[test]
fn a_line_with_a_bad_field_is_answered_like_a_request() {
    let mut machine = Machine::new(Pi, true);
    let id = Some(RequestId::from("7"));
    machine.bad_line(&LineError::Field { kind: "steer".to_owned(), id, reason: "r".to_owned() });
    let refused =
        json!({ "id": "7", "type": "response", "command": "steer", "success": false, "error": "r" });
    let talk = talk().only(&["prompt", "ack"]).with(out(refused), "prompt");
    assert_eq!(judge(&mut machine, Pi, &talk), []);
}

#[test]
fn ready_is_first_in_its_dialect_even_when_the_host_spoke_before() {
    let talk = talk().only(&["prompt"]).with(event("ready"), "prompt");
    assert_eq!(judge(&mut Machine::new(Xcsh, true), Xcsh, &talk), []);
}

#[test]
fn an_unchecked_machine_reports_what_is_out_of_place_alone() {
    let spoilt = talk().set("agent_end", "/messages", json!([])).twice("agent_end");
    assert_eq!(judge(&mut Machine::new(Pi, false), Pi, &spoilt), [Rule::RunNesting]);
}
