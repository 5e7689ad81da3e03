//! Budgets: a run that has reached a limit pauses, and goes on or ends as the host says.

use pi_rpc_protocol::Dialect::{self, Omp, Pi, Pi1, Xcsh};
use pi_rpc_test_kit::{Scenario, scenario, shorthand::*};
use serde_json::{Value, json};
use std::time::Duration;

const DIALECTS: [Dialect; 4] = [Pi, Pi1, Xcsh, Omp];

/// A call and a text, a dollar each, then a text.
fn paid() -> Scenario {
    let usage = json!({ "input": 1_000_000, "output": 0 });
    let mut first = calls("t1", "bash", "echo one");
    first["usage"] = usage.clone();
    let mut second = says("Done.");
    second["usage"] = usage;
    scenario(json!([first, second, says("More.")]))
}

fn answered(value: &str) -> Value {
    json!({ "type": "extension_ui_response", "id": "ui 0", "value": value })
}

/// The dialogs that the host is shown: titles and options.
fn dialogs(said: &[Value]) -> Vec<(String, Value)> {
    let shown =
        said.iter().filter(|frame| frame["type"] == "extension_ui_request" && frame["method"] == "select");
    shown.map(|frame| (frame["title"].as_str().unwrap().to_owned(), frame["options"].clone())).collect()
}

/// The error of the last answer, and how many models were requested.
fn ended(said: &[Value]) -> (Option<&str>, usize) {
    let answers =
        said.iter().filter(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "assistant");
    let answers: Vec<&Value> = answers.collect();
    let error = answers.last().and_then(|last| last["message"]["errorMessage"].as_str());
    (error, answers.iter().filter(|answer| answer["message"]["stopReason"] != "error").count())
}

#[test]
fn run_pauses_at_its_cost() {
    for dialect in DIALECTS {
        let paused = paid().modes(|modes| modes.budget.run.dollars = Some(0.5)).host(0, prompt("p", "go"));
        let stopped = paused.host(900, answered("Stop here")).finish(dialect);
        let title = "The run has reached its budget of 0.5 US dollars.";
        let options = json!(["Go on with 0.5 US dollars more", "Stop here"]);
        assert_eq!(dialogs(&stopped.said), [(title.to_owned(), options)], "{}", stopped.log);
        assert_eq!(ended(&stopped.said), (Some(title), 1), "{}", stopped.log);
    }
}

#[test]
fn limits_of_one_are_singular() {
    let limits: [(fn(&mut pi_rpc_engine::Modes), _); 3] = [
        (|modes| modes.budget.run.dollars = Some(1.0), "1 US dollar"),
        (|modes| modes.budget.run.turns = Some(1), "1 answer"),
        (|modes| modes.budget.run.time = Some(Duration::from_secs(1)), "1 second"),
    ];
    for (limit, words) in limits {
        let mut first = calls("t1", "bash", "sleep 2000");
        first["usage"] = json!({ "input": 1_000_000, "output": 0 });
        let paused = scenario(json!([first, says("Done.")])).modes(limit);
        let stopped = paused.host(0, prompt("p", "go")).host(5_000, answered("Stop here")).finish(Pi1);
        let title = format!("The run has reached its budget of {words}.");
        let options = json!([format!("Go on with {words} more"), "Stop here"]);
        assert_eq!(dialogs(&stopped.said), [(title, options)], "{}", stopped.log);
    }
}

#[test]
fn other_answers_raise_no_limit() {
    for value in ["no", "", "Go on with 2 answers more"] {
        let paused = paid().modes(|modes| modes.budget.run.turns = Some(1)).host(0, prompt("p", "go"));
        let played = paused.host(900, answered(value)).unjudged().finish(Pi1);
        assert_eq!(ended(&played.said), (Some("The run has reached its budget of 1 answer."), 1), "{value}");
    }
}

#[test]
fn run_goes_on_as_granted() {
    for dialect in DIALECTS {
        let paused = paid().modes(|modes| modes.budget.run.turns = Some(1)).host(0, prompt("p", "go"));
        let played = paused.host(900, answered("Go on with 1 answer more")).finish(dialect);
        assert_eq!(dialogs(&played.said).len(), 1, "{}", played.log);
        assert_eq!(ended(&played.said), (None, 2), "{}", played.log);
    }
}

#[test]
fn session_budget_counts_earlier_runs() {
    for dialect in DIALECTS {
        let paused =
            paid().modes(|modes| modes.budget.session.dollars = Some(2.0)).host(0, prompt("p", "go"));
        let played = paused
            .host(5_000, prompt("q", "on"))
            .host(6_000, json!({ "type": "extension_ui_response", "id": "ui 0", "cancelled": true }))
            .finish(dialect);
        let text = "The session has reached its budget of 2 US dollars.";
        assert_eq!(ended(&played.said), (Some(text), 2), "{}", played.log);
    }
}

#[test]
fn waiting_for_the_host_takes_no_time() {
    for dialect in DIALECTS {
        let limit = |modes: &mut pi_rpc_engine::Modes| {
            modes.budget.run.turns = Some(1);
            modes.budget.run.time = Some(Duration::from_secs(60));
        };
        let paused = paid().modes(limit).host(0, prompt("p", "go"));
        let played = paused.host(300_000, answered("Go on with 1 answer more")).finish(dialect);
        assert_eq!((dialogs(&played.said).len(), ended(&played.said)), (1, (None, 2)), "{}", played.log);
    }
}

#[test]
fn abort_at_limit_ends_the_run() {
    for dialect in DIALECTS {
        let paused = paid().modes(|modes| modes.budget.run.turns = Some(1)).host(0, prompt("p", "go"));
        let played = paused.host(900, command("abort")).finish(dialect);
        let last = played.said.iter().rfind(|frame| frame["message"]["role"] == "assistant").unwrap();
        assert_eq!(last["message"]["stopReason"], "aborted", "{}", played.log);
        assert_eq!(played.said.iter().filter(|frame| frame["id"] == "abort").count(), 1, "{}", played.log);
    }
}

#[test]
fn end_of_input_ends_paused_run() {
    let paused = paid().modes(|modes| modes.budget.run.turns = Some(1)).host(0, prompt("p", "go"));
    let played = paused.ends(900).play(Pi);
    assert_eq!(
        ended(&played.said),
        (Some("The run has reached its budget of 1 answer."), 1),
        "{}",
        played.log
    );
}
