//! `scripted/demo`: sensible for any prompt, with any tools.

use crate::scripted_common::{ask, deltas, events, finish, result, text};
use pi_rpc_model::{
    scripted::{Player, Script, ScriptedCall, Step, ToolText},
    types::{BlockStart, Finish, StreamEvent},
};
use proptest::prelude::*;

fn play(ask: &ScriptedCall<'_>) -> Vec<Step> {
    Player::new(Script::demo()).answer(ask)
}

fn names(tools: &[&str]) -> Vec<String> {
    tools.iter().map(|&tool| tool.to_owned()).collect()
}

/// The demo's answer to a tool's result.
fn report(result: ToolText) -> String {
    text(&play(&ScriptedCall { results: &[result], ..ask("What is here?") }), 0)
}

fn called(steps: &[Step]) -> Option<(String, String)> {
    let call = |event: &StreamEvent| match event {
        StreamEvent::Start { index, block: BlockStart::ToolCall { name, .. } } => {
            Some((name.clone(), text(steps, *index)))
        }
        _ => None,
    };
    events(steps).into_iter().find_map(call)
}

#[test]
fn demo_calls_best_tool() {
    let cases = [
        (vec!["read", "bash", "ls"], Some(("ls", r#"{"path":"."}"#))),
        (vec!["read", "bash", "edit", "write"], Some(("bash", r#"{"command":"ls -a"}"#))),
        (vec!["read"], Some(("read", r#"{"path":"README.md"}"#))),
        (vec!["write"], None),
        (vec![], None),
    ];
    for (tools, expected) in cases {
        let steps = play(&ScriptedCall { tools: &names(&tools), ..ask("Fix the bug") });
        let call = called(&steps);
        assert_eq!(call.as_ref().map(|(name, arguments)| (name.as_str(), arguments.as_str())), expected);
        let reason = if expected.is_some() { Finish::ToolUse } else { Finish::Stop };
        assert_eq!(finish(&steps), Some(reason));
        assert!(text(&steps, 0).contains("“Fix the bug”"), "the thinking is about the prompt");
        assert!(deltas(&steps, 0).len() > 3, "the thinking is streamed");
        assert!(text(&steps, 1).contains("scripted demo, not a real model"));
    }
}

#[test]
fn demo_reports_tool_results() {
    let said = report(result("ls", ".git/\nCargo.toml\nREADME.md\nsrc/\ntests/"));
    assert!(said.contains("You wrote “What is here?”"), "{said}");
    assert!(
        said.contains("has 5 entries, among them `Cargo.toml`, `README.md`, `src/`, `tests/`."),
        "{said}"
    );
    assert!(said.contains("--model scripted/<file>"), "{said}");

    let said = report(result("bash", ".\n..\nonly.txt\n"));
    assert!(said.contains("has 1 entry: `only.txt`."), "{said}");

    let said = report(result("ls", "a\nb\n\n[2 entries limit reached. Use limit=4 for more]"));
    assert!(said.contains("has at least 2 entries: `a`, `b`."), "{said}");

    for empty in [result("ls", "(empty directory)"), result("bash", ".\n..\n")] {
        let said = report(empty);
        assert!(said.contains("the working directory is empty"), "{said}");
    }

    let said = report(result("read", "\n# Title\n\ntext\n"));
    assert!(said.contains("has 4 lines and begins with “# Title”"), "{said}");
}

#[test]
fn demo_reports_failed_tool() {
    let said = report(ToolText { is_error: true, ..result("ls", "Path not found: /gone\nmore") });
    assert!(said.contains("My call of `ls` failed: Path not found: /gone"), "{said}");
    assert!(said.contains("scripted demo"), "{said}");
}

#[test]
fn demo_quotes_long_prompt_briefly() {
    let prompt = format!("Please\n  {}", "summarise ".repeat(5000));
    let said = text(&play(&ScriptedCall { results: &[result("ls", "a")], ..ask(&prompt) }), 0);
    assert!(said.starts_with("You wrote “Please summarise summarise"), "{said}");
    assert!(said.len() < 500, "{said}");
}

#[test]
fn demo_model_can_think() {
    let card = Script::demo().model;
    assert!(card.reasoning);
    assert_eq!(card.name.as_deref(), Some("Scripted demo"));
}

proptest! {
    #[test]
    fn demo_answers_any_prompt(prompt in "\\PC{0,200}", found in "\\PC{0,200}", is_error: bool) {
        let tools = names(&["bash"]);
        let first = play(&ScriptedCall { tools: &tools, ..ask(&prompt) });
        let results = [ToolText { is_error, ..result("bash", &found) }];
        let second = play(&ScriptedCall { tools: &tools, results: &results, ..ask(&prompt) });
        for steps in [first, second] {
            prop_assert!(finish(&steps).is_some());
            prop_assert!(steps.iter().map(|step| step.delay_ms).sum::<u64>() < 2_000);
        }
    }
}
