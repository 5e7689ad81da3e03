//! One fault at a time: the exact rules that the machine reports, in order, and its recovery. Faults that any recording
//! can have are planted by `tests/oracle/mutants.json` in every dialect; here are those that it does not distinguish.

use crate::machine_support::{Frame, Talk, assistant, event, grows, judge, message, talk, user};
use pi_rpc_machine::{Machine, Rule};
use pi_rpc_protocol::{
    BlockKind,
    Dialect::{self, Pi, Pi058, Xcsh},
    LineError, RequestId, Step,
};
use serde_json::{Value, json};

/// Fault, dialect, spoilt conversation, and the rules that it breaks, in order.
type Row = (&'static str, Dialect, Talk, &'static [Rule]);

fn out(frame: Value) -> Frame {
    Frame::Out(frame)
}

fn runs_and_turns() -> Vec<Row> {
    use Rule::{RunNesting, TurnNesting};
    vec![
        ("nothing", Pi, talk(), &[]),
        ("nothing", Xcsh, talk(), &[]),
        ("agent_start between turns", Pi, talk().with(event("agent_start"), "turn_end"), &[RunNesting]),
        (
            "agent_start in a turn",
            Pi,
            talk().with(event("agent_start"), "result end t2"),
            &[RunNesting, TurnNesting],
        ),
        ("agent_end twice", Pi, talk().twice("agent_end"), &[RunNesting]),
        ("no second turn_start", Pi, talk().cut(&["turn_start 2"]), &[TurnNesting]),
        ("no last turn_end", Pi, talk().cut(&["turn_end 2"]), &[RunNesting, Rule::RunGoesOn]),
        ("turn_end twice", Pi, talk().twice("turn_end"), &[TurnNesting]),
    ]
}

fn messages() -> Vec<Row> {
    use Rule::{MsgNesting, OneAssistantPerTurn, StartFinalNonassistant, TurnNesting, UpdateInAssistant};
    let both = |said: &Value, after| {
        talk().with(message("message_end", said), after).with(message("message_start", said), after)
    };
    let answered_twice = both(&assistant("stop", json!([])), "me 2");
    let late = || grows(0, BlockKind::Text, Step::Delta("late".to_owned()));
    let burst = talk().with(late(), "agent_end").with(late(), "agent_end").with(late(), "agent_end");
    let nested =
        talk().with(message("message_end", &user()), "ms").with(message("message_start", &user()), "ms");
    vec![
        (
            "a user message without its start",
            Pi,
            talk().cut(&["user start"]),
            &[StartFinalNonassistant, Rule::PromptDelivered],
        ),
        ("a user message within the assistant's", Pi, nested, &[MsgNesting]),
        ("a second assistant message", Pi, answered_twice, &[OneAssistantPerTurn]),
        ("no assistant start", Pi, talk().cut(&["ms"]), &[UpdateInAssistant]),
        ("no assistant end before calls", Pi, talk().cut(&["me"]), &[MsgNesting]),
        ("no assistant end before the turn's", Pi, talk().cut(&["me 2"]), &[TurnNesting]),
        ("a burst of updates behind the run", Pi, burst, &[UpdateInAssistant]),
    ]
}

fn blocks() -> Vec<Row> {
    use Rule::{BlockProtocol, DeltaConcat};
    vec![
        ("no block start", Pi, talk().cut(&["text start"]), &[BlockProtocol]),
        ("a block end twice", Pi, talk().twice("text end"), &[BlockProtocol]),
        ("a delta behind its end", Pi, talk().moved("text delta", "text end"), &[DeltaConcat, BlockProtocol]),
        ("a delta that is said twice", Pi, talk().twice("text delta"), &[DeltaConcat]),
    ]
}

fn tools() -> Vec<Row> {
    use Rule::{
        HostCallWindow, ToolOrderStart, ToolResultAdjacent, ToolResultEq, ToolStartPerCall, ToolUpdateWindow,
    };
    let parallel = || talk().moved("start t2", "start t1");
    let host_call = json!({
        "type": "host_tool_call", "id": "h", "toolCallId": "t1", "toolName": "count", "arguments": {},
    });
    let renamed = talk().set("start t1", "/toolName", json!("other"));
    vec![
        ("a start of another name", Pi, renamed, &[ToolStartPerCall]),
        ("a start twice", Pi, talk().twice("start t1"), &[ToolStartPerCall]),
        ("starts out of order", Pi058, parallel().moved("start t1", "start t2"), &[ToolOrderStart]),
        ("nothing where calls run side by side", Pi058, parallel(), &[]),
        ("no end", Pi, talk().cut(&["end t2"]), &[ToolResultEq]),
        ("progress before the start", Pi, talk().moved("update t1", "me"), &[ToolUpdateWindow]),
        (
            "progress between end and result",
            Pi,
            talk().moved("update t1", "end t1"),
            &[ToolResultAdjacent, ToolUpdateWindow],
        ),
        ("nothing where the event has no place", Xcsh, talk().with(event("todo_auto_clear"), "end t1"), &[]),
        ("a result that waits", Pi058, parallel().moved("end t2", "end t1"), &[ToolResultAdjacent; 2]),
        (
            "a host's tool outside a run",
            Xcsh,
            talk().with(out(host_call), "agent_end"),
            &[HostCallWindow, Rule::HostUnchanged, Rule::HostUnchanged],
        ),
    ]
}

fn beside_runs() -> Vec<Row> {
    use Rule::{CompactionPairs, ReadyFirst};
    let result = json!({ "summary": "s", "firstKeptEntryId": "e", "tokensBefore": 1 });
    let starts = out(json!({ "type": "auto_compaction_start", "reason": "threshold" }));
    let ends =
        out(json!({ "type": "auto_compaction_end", "result": result, "aborted": false, "willRetry": false }));
    let ended = talk().with(ends, "agent_end");
    let refused =
        json!({ "id": "p", "type": "response", "command": "prompt", "success": false, "error": "e" });
    vec![
        ("nothing in a compaction", Pi, ended.clone().with(starts, "agent_end"), &[]),
        ("a compaction that never began", Pi, ended, &[CompactionPairs]),
        (
            "nothing where a second answer may come",
            Xcsh,
            talk().with(out(refused.clone()), "agent_start"),
            &[],
        ),
        ("nothing where the refusal comes first", Xcsh, talk().with(out(refused), "prompt"), &[]),
        ("ready between runs", Xcsh, talk().with(event("ready"), "agent_end"), &[ReadyFirst]),
        ("ready in a run", Xcsh, talk().with(event("ready"), "me"), &[ReadyFirst]),
    ]
}

fn rows() -> Vec<Row> {
    [runs_and_turns(), messages(), blocks(), tools(), beside_runs()].concat()
}

#[test]
fn fault_breaks_its_rules_and_machine_recovers() {
    let wrong = rows().into_iter().filter_map(|(what, dialect, spoilt, rules)| {
        let mut machine = Machine::new(dialect, true);
        // What is missing at the end shows at the next beginning.
        let mut broken = judge(&mut machine, dialect, &spoilt);
        broken.extend(judge(&mut machine, dialect, &talk()));
        let after = (judge(&mut machine, dialect, &talk()), machine.state().to_string());
        let recovers = after == (Vec::new(), "idle".to_owned());
        (broken != rules || !recovers)
            .then(|| format!("{what} ({dialect}): {broken:?}, not {rules:?}; then {after:?}"))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn foreign_command_is_answered_without_id() {
    let mut machine = Machine::new(Pi, true);
    machine.invalid_line(&LineError::Unknown { kind: "branch".to_owned(), id: None });
    let refused = json!({ "type": "response", "command": "branch", "success": false, "error": "e" });
    let talk = talk().only(&["prompt", "ack"]).with(out(refused), "prompt");
    assert_eq!(judge(&mut machine, Pi, &talk), []);
}

#[test]
fn bad_field_is_answered_like_request() {
    let mut machine = Machine::new(Pi, true);
    let id = Some(RequestId::from("7"));
    machine.invalid_line(&LineError::Field { kind: "steer".to_owned(), id, reason: "r".to_owned() });
    let refused =
        json!({ "id": "7", "type": "response", "command": "steer", "success": false, "error": "r" });
    let talk = talk().only(&["prompt", "ack"]).with(out(refused), "prompt");
    assert_eq!(judge(&mut machine, Pi, &talk), []);
}

#[test]
fn ready_is_first_despite_earlier_input() {
    let talk = talk().only(&["prompt"]).with(event("ready"), "prompt");
    assert_eq!(judge(&mut Machine::new(Xcsh, true), Xcsh, &talk), []);
}

#[test]
fn unchecked_machine_reports_misplaced_frames_only() {
    let spoilt = talk().set("agent_end", "/messages", json!([])).twice("agent_end");
    assert_eq!(judge(&mut Machine::new(Pi, false), Pi, &spoilt), [Rule::RunNesting]);
}
