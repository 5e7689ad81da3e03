//! Dialogs: what the host sees and what the extension gets, whatever becomes of them.

use crate::{
    asking_support::shorthand::{calls, command, prompt},
    asking_support::{
        self, Extension, PeerStep, Playback, Scenario, answer, done, fails, result, scenario, tool_result,
        ui, ui_of_none, waits, writes,
    },
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Xcsh};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

const METHODS: [&str; 4] = ["select", "confirm", "input", "editor"];

/// What an extension wants; `timeout` where the method has one.
fn request(method: &str, timeout: Option<u64>) -> Value {
    let mut request = match method {
        "select" => json!({ "method": method, "title": "Which?", "options": ["one", "two"] }),
        "confirm" => json!({ "method": method, "title": "Sure?", "message": "It cannot be undone." }),
        "input" => json!({ "method": method, "title": "Name?", "placeholder": "anything" }),
        _ => json!({ "method": method, "title": "Text?", "prefill": "Dear" }),
    };
    if let Some(timeout) = timeout.filter(|_| method != "editor") {
        request["timeout"] = timeout.into();
    }
    request
}

/// The answer that the method wants.
fn right(method: &str) -> (&'static str, Value) {
    if method == "confirm" { ("confirmed", json!(true)) } else { ("value", json!("two")) }
}

/// The kind of answer that it does not want.
fn wrong(method: &str) -> (&'static str, Value) {
    if method == "confirm" { ("value", json!("yes")) } else { ("confirmed", json!(true)) }
}

/// The extension a asks on behalf of its command `ask`, whatever happens then.
fn asked(method: &str, timeout: Option<u64>) -> Scenario {
    let extension = Extension::new("a", json!({ "commands": [{ "name": "ask" }] }))
        .on("command ask", [ui("mine", request(method, timeout))])
        .on("ui_answer mine", [done()]);
    scenario(json!([])).extended(extension).host(10, prompt("p", "/ask"))
}

/// The extension a asks on behalf of its tool, or of its hook before one; then the host aborts.
fn aborted(method: &str, by_tool: bool) -> Scenario {
    let tool = json!({ "name": "ask", "description": "Asks.", "parameters": { "type": "object" } });
    let adds = match by_tool {
        true => json!({ "tools": [tool] }),
        false => json!({ "tools": [tool], "hooks": ["tool_call"] }),
    };
    let origin = if by_tool { "tool_call ask" } else { "hook tool_call" };
    let end = if by_tool {
        writes(json!({ "type": "tool_result", "id": "$", "result": result("none") }))
    } else {
        done()
    };
    let extension =
        Extension::new("a", adds).on(origin, [ui("mine", request(method, None))]).on("ui_answer mine", [end]);
    scenario(json!([calls("t1", "ask", "")]))
        .extended(extension)
        .host(10, prompt("p", "go"))
        .host(50, command("abort"))
}

fn two_at_once(method: &str) -> Scenario {
    let (key, value) = right(method);
    let extension = Extension::new("a", json!({ "commands": [{ "name": "ask" }] }))
        .on("command ask", [ui("first", request(method, None)), ui("second", request(method, None))])
        .on("ui_answer first", [done()]);
    scenario(json!([]))
        .extended(extension)
        .host(10, prompt("p", "/ask"))
        .host(20, answer(1, key, value.clone()))
        .host(30, answer(0, key, value))
}

/// Everything that may become of a dialog.
fn fates(method: &str) -> Vec<(&'static str, Scenario)> {
    let (right_key, right_value) = right(method);
    let (wrong_key, wrong_value) = wrong(method);
    let answered = answer(0, right_key, right_value.clone());
    let unknown = {
        let mut unknown = answered.clone();
        unknown["id"] = "nobody".into();
        unknown
    };
    vec![
        ("answered", asked(method, None).host(20, answered.clone())),
        ("cancelled", asked(method, None).host(20, answer(0, "cancelled", true))),
        ("timed out", asked(method, Some(500)).host(900, answered.clone())),
        ("a timeout of 0", asked(method, Some(0)).host(900, answered.clone())),
        ("unknown id", asked(method, None).host(20, unknown).host(30, answered.clone())),
        ("the wrong kind of answer", asked(method, None).host(20, answer(0, wrong_key, wrong_value))),
        ("the wrong type of answer", asked(method, None).host(20, answer(0, right_key, 7))),
        ("answered twice", asked(method, None).host(20, answered.clone()).host(30, answered)),
        ("aborted, asked by a tool", aborted(method, true)),
        ("aborted, asked by a hook", aborted(method, false)),
        ("two at once", two_at_once(method)),
        ("end of input", asked(method, None).ends(20)),
    ]
}

/// The frames of the dialogs, with where the machine stands behind each; the ids of dialogs by number.
fn dialogs(played: &Playback) -> String {
    let mut table = String::new();
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    for step in &played.steps {
        let frame = &step.frame;
        let kind = frame["type"].as_str().unwrap_or_default();
        let is_of_dialog = matches!(
            kind,
            "extension_ui_request"
                | "extension_ui_response"
                | "ui"
                | "ui_answer"
                | "abort"
                | "end of input"
                | "exit"
        );
        if !is_of_dialog && frame["command"] != "abort" {
            continue;
        }
        if kind == "extension_ui_request"
            && let Some(id) = frame["id"].as_str()
        {
            let number = ids.len() + 1;
            ids.entry(id.to_owned()).or_insert(format!("id {number}"));
        }
        let shown = ids.iter().fold(frame.to_string(), |shown, (id, name)| shown.replace(id.as_str(), name));
        let _ = writeln!(table, "{:>5} {:<2} {shown}  → {}", step.at, step.who, step.state);
    }
    table
}

/// What becomes of dialogs of this method in all ways.
fn table(method: &str, dialect: Dialect) -> String {
    let mut table = String::new();
    for (fate, scenario) in fates(method) {
        let _ = writeln!(table, "{fate}\n{}", dialogs(&scenario.play(dialect)));
    }
    table
}

#[test]
fn dialog_fates_match_snapshots() {
    for dialect in DIALECTS {
        for method in METHODS.into_iter().filter(|method| *method != "select") {
            snapshot(&format!("dialogs_{method}@{dialect}"), &table(method, dialect));
        }
    }
}

#[test]
fn selects_fare_as_inputs() {
    let members = |method: &str| {
        let text = request(method, None).to_string();
        text.trim_start_matches('{').trim_end_matches('}').to_owned()
    };
    for dialect in DIALECTS {
        let as_input = table("select", dialect).replace(&members("select"), &members("input"));
        assert_eq!(as_input, table("input", dialect), "{dialect}");
    }
}

/// An extension that asks `method` by its command `ask`.
fn asks(method: &str) -> Extension {
    Extension::new("a", json!({ "commands": [{ "name": "ask" }] }))
        .on("command ask", [ui("mine", request(method, None))])
        .on("ui_answer mine", [done()])
}

#[test]
fn abort_keeps_dialog_of_command_open() {
    for dialect in DIALECTS {
        let played = scenario(json!([{ "hang": true }]))
            .extended(asks("editor"))
            .host(10, prompt("p", "go"))
            .host(20, prompt("q", "/ask"))
            .host(30, command("abort"))
            .host(40, answer(0, "value", "two"))
            .play(dialect);
        assert_eq!(
            played.transcript(),
            "< p · ok p · agent_start · user go · < q · >a command ask · <a ui editor · ok q · ui editor · \
             < abort · agent_end [ua] · ok abort · < extension_ui_response · >a ui_answer mine · <a done",
            "{dialect}"
        );
        assert_eq!(played.wrote(">a", "ui_answer mine")[0]["response"]["value"], "two", "{dialect}");
    }
}

#[test]
fn dialog_without_origin_lasts_until_input_ends() {
    for dialect in DIALECTS {
        let extension = Extension::new("a", json!({ "commands": [{ "name": "ask" }] }))
            .on("command ask", [ui_of_none("mine", request("input", None)), done()]);
        let played = scenario(json!([{ "hang": true }]))
            .extended(extension)
            .host(10, prompt("p", "/ask"))
            .host(20, prompt("q", "go"))
            .host(30, command("abort"))
            .host(40, command("new_session"))
            .ends(50)
            .play(dialect);
        assert_eq!(
            played.transcript(),
            "< p · >a command ask · <a ui input · ui input · <a done · ok p · < q · ok q · agent_start · user go · \
             < abort · agent_end [ua] · ok abort · < new_session · ok new_session · < end of input · \
             >a ui_answer mine · exit",
            "{dialect}"
        );
    }
}

/// An extension that is asked for something once, and asks the host for a text meanwhile or behind it.
fn asks_beside(origin: &str, adds: Value, end: PeerStep, behind: bool) -> Extension {
    let dialog = ui("mine", request("input", None));
    let steps = if behind { vec![end, waits(20), dialog] } else { vec![dialog, waits(20), end] };
    Extension::new("a", adds).on(origin, steps)
}

#[test]
fn dialog_outlives_the_request_that_opened_it() {
    let tool = json!({ "name": "ask", "description": "Asks.", "parameters": { "type": "object" } });
    let wanted = json!({
        "type": "ui_answer", "response": { "type": "extension_ui_response", "id": "mine", "value": "two" },
    });
    for dialect in [Pi, Xcsh, Pi1] {
        for behind in [false, true] {
            let ends = [
                ("command ask", json!({ "commands": [{ "name": "ask" }] }), done(), "/ask"),
                ("command ask", json!({ "commands": [{ "name": "ask" }] }), fails("no"), "/ask"),
                ("hook input", json!({ "hooks": ["input"] }), done(), "go"),
                ("tool_call ask", json!({ "tools": [tool] }), tool_result("none"), "go"),
            ];
            for (origin, adds, end, text) in ends {
                let played =
                    scenario(json!([calls("t1", "ask", ""), asking_support::shorthand::says("Well.")]))
                        .extended(asks_beside(origin, adds, end, behind))
                        .host(10, prompt("p", text))
                        .host(5000, answer(0, "value", "two"))
                        .play(dialect);
                let case = format!("{origin} in {dialect}, behind it: {behind}: {}", played.transcript());
                assert_eq!(played.wrote(">a", "ui_answer mine"), [&wanted], "{case}");
                assert!(
                    played.transcript().ends_with("< extension_ui_response · >a ui_answer mine"),
                    "{case}"
                );
                let shown = played.frames("extension_ui_request");
                assert_eq!(shown.count(), 1, "{case}");
            }
        }
    }
}

#[test]
fn abort_spares_dialogs_of_ended_requests() {
    for dialect in [Pi, Xcsh, Pi1] {
        let hooks = json!({ "hooks": ["input"] });
        let played = scenario(json!([{ "hang": true }]))
            .extended(asks_beside("hook input", hooks, done(), false))
            .host(10, prompt("p", "go"))
            .host(100, command("abort"))
            .host(200, answer(0, "value", "two"))
            .play(dialect);
        let end = "ok abort · < extension_ui_response · >a ui_answer mine";
        assert!(played.transcript().ends_with(end), "{dialect}: {}", played.transcript());
        let answered = &played.wrote(">a", "ui_answer mine")[0]["response"]["value"];
        assert_eq!(answered, "two", "{dialect}");
    }
}

#[test]
fn withdrawn_or_orphaned_dialog_ends_for_host() {
    for (how, end) in [
        ("taken back", writes(json!({ "type": "ui_cancel", "id": "mine" }))),
        ("gone", PeerStep::Ends("killed")),
    ] {
        for (dialect, method, told) in
            [(Pi, "editor", ""), (Xcsh, "editor", "ui cancel · "), (Xcsh, "input", "")]
        {
            let extension = Extension::new("a", json!({ "commands": [{ "name": "ask" }] }))
                .on("command ask", [ui("mine", request(method, None)), waits(10), end.clone()])
                .on("ui_answer mine", [done()]);
            let played = scenario(json!([])).extended(extension).host(10, prompt("p", "/ask")).play(dialect);
            let rest = match how {
                "gone" => {
                    let ended = "The extension has ended: killed";
                    format!("<a ends · error end: {ended} · {told}error command: {ended}")
                }
                _ => format!("<a ui_cancel · {told}>a ui_answer mine · <a done"),
            };
            let talk = format!("< p · >a command ask · <a ui {method} · ok p · ui {method} · {rest}");
            assert_eq!(played.transcript(), talk, "{how}, {method} in {dialect}");
            let last = played.steps.last().map(|step| step.state.as_str());
            assert_eq!(last, Some("idle"), "{how}, {method} in {dialect}: no dialog is open");
        }
    }
}

#[test]
fn dialog_after_abort_never_reaches_host() {
    for dialect in DIALECTS {
        let tool = json!({ "name": "ask", "description": "Asks.", "parameters": { "type": "object" } });
        let extension = Extension::new("a", json!({ "tools": [tool] }))
            .on("cancel", [ui("late", request("select", None))])
            .on("ui_answer late", [asking_support::tool_result("none")]);
        let played = scenario(json!([calls("t1", "ask", "")]))
            .extended(extension)
            .host(10, prompt("p", "go"))
            .host(20, command("abort"))
            .play(dialect);
        let end = "< abort · >a cancel · <a ui select · >a ui_answer late · <a tool_result · end t1 · agent_end [uata] · \
                   ok abort";
        assert!(played.transcript().ends_with(end), "{dialect}: {}", played.transcript());
    }
}

#[test]
fn a_dialog_covers_whatever_the_conversation_does() {
    let turns = json!([
        { "fail": { "status": 529 } },
        asking_support::shorthand::fills("Well.", 127_500),
        { "summary": true, "hang": true },
    ]);
    for dialect in DIALECTS {
        let played = scenario(turns.clone())
            .modes(|modes| modes.compaction.keep_recent = 1)
            .extended(
                Extension::new("a", json!({}))
                    .on("start", [waits(5), ui_of_none("mine", request("confirm", None))]),
            )
            .host(10, asking_support::shorthand::bash("b", "sleep 20"))
            .host(20, command("abort"))
            .host(40, prompt("p", "go"))
            .host(5000, answer(0, "confirmed", false))
            .host(5010, command("new_session"))
            .play(dialect);
        let mut states: Vec<&str> = played.steps.iter().map(|step| step.state.as_str()).collect();
        states.dedup();
        snapshot(&format!("dialogs_states@{dialect}"), &states.join("\n"));
    }
}

#[test]
fn notices_pass_and_titles_depend_on_dialect() {
    let notices = [
        json!({ "method": "notify", "message": "Look!", "notifyType": "warning" }),
        json!({ "method": "setStatus", "statusKey": "k", "statusText": "busy" }),
        json!({ "method": "setWidget", "widgetKey": "w", "widgetLines": ["one"], "widgetPlacement": "belowEditor" }),
        json!({ "method": "setTitle", "title": "Mine" }),
        json!({ "method": "set_editor_text", "text": "Dear" }),
    ];
    for (dialect, emits_title, titled) in [(Pi, false, true), (Xcsh, false, false), (Xcsh, true, true)] {
        let written = notices.iter().map(|notice| ui("mine", notice.clone())).chain([done()]);
        let extension =
            Extension::new("a", json!({ "commands": [{ "name": "ask" }] })).on("command ask", written);
        let played = scenario(json!([]))
            .extended(extension)
            .extension_setup(pi_rpc::engine::ExtensionSetup { emits_title, ..Default::default() })
            .host(10, prompt("p", "/ask"))
            .play(dialect);
        let mut ids = Vec::new();
        let shown: Vec<Value> = played
            .frames("extension_ui_request")
            .map(|frame| {
                let mut frame = frame.clone();
                let object = frame.as_object_mut().expect("an object");
                object.remove("type");
                ids.push(object.remove("id").expect("an id").as_str().expect("a text").len());
                frame
            })
            .collect();
        let wanted: Vec<Value> =
            notices.iter().filter(|notice| titled || notice["method"] != "setTitle").cloned().collect();
        assert_eq!(shown, wanted, "{dialect}");
        let length = if dialect == Pi { 36 } else { 16 };
        assert!(ids.iter().all(|id| *id == length), "{dialect}: {ids:?}");
        assert_eq!(
            played.steps.iter().filter(|step| step.state.contains("awaiting_ui")).count(),
            0,
            "{dialect}"
        );
    }
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name.to_owned(), text));
}

#[test]
fn hidden_dialogs_get_their_default_at_once() {
    let notice = json!({ "method": "notify", "message": "Look" });
    for method in METHODS {
        let extension = Extension::new("a", json!({ "commands": [{ "name": "ask" }] }))
            .on("command ask", [ui_of_none("said", notice.clone()), ui("mine", request(method, None))])
            .on("ui_answer mine", [done()]);
        let played = scenario(json!([]))
            .extension_setup(pi_rpc::engine::ExtensionSetup { hides_ui: true, ..Default::default() })
            .extended(extension)
            .host(10, prompt("p", "/ask"))
            .play(Dialect::Omp183);
        assert_eq!(played.frames("extension_ui_request").count(), 0, "{}", played.log);
        let answers: Vec<&Value> = played
            .steps
            .iter()
            .map(|step| &step.frame)
            .filter(|frame| frame["type"] == "ui_answer")
            .collect();
        assert_eq!(answers.len(), 1, "{}", played.log);
        let hello = played.steps.iter().find(|step| step.frame["type"] == "hello").expect("a hello");
        assert_eq!(hello.frame["hasUi"], false, "{}", played.log);
    }
}
