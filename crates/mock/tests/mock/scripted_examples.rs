//! The example scripts play as they promise.

use crate::scripted_common::{ask, failure, finish, result, text};
use pi_rpc_model::{
    scripted::{Player, Script, ScriptedCall, Step, StepAction},
    types::Finish,
};

fn play(script: &str) -> Player {
    Player::new(Script::from_json(script).expect("an example is a script"))
}

#[test]
fn tools_example_plays() {
    let mut player = play(include_str!("../../../../examples/scripts/tools.json"));
    let calls = player.answer(&ask("make a file"));
    assert_eq!(finish(&calls), Some(Finish::ToolUse));
    assert_eq!(text(&calls, 3), r#"{"path":"numbers.txt"}"#);

    let results = [result("write", "ok"), result("read", "one\ntwo\nthree\n")];
    let done = player.answer(&ScriptedCall { results: &results, ..ask("make a file") });
    assert!(text(&done, 0).ends_with("Done."));

    let counted = [result("bash", "1\n2\n3\n")];
    assert_eq!(finish(&player.answer(&ask("count"))), Some(Finish::ToolUse));
    let done = player.answer(&ScriptedCall { results: &counted, ..ask("count") });
    assert_eq!(text(&done, 0), "The command counted to three.");

    let broken = [result("no_such_tool", "Tool no_such_tool not found")];
    assert_eq!(text(&player.answer(&ask("break a tool call")), 0), r#"{"command": "echo unfinished"#);
    let sorry = player.answer(&ScriptedCall { results: &broken, ..ask("break a tool call") });
    assert!(text(&sorry, 0).contains("went wrong"));
    assert!(text(&player.answer(&ask("hi")), 0).starts_with("Ask me to"));
}

#[test]
fn errors_example_plays() {
    let mut player = play(include_str!("../../../../examples/scripts/errors.json"));
    assert!(failure(&player.answer(&ask("overloaded"))).starts_with("529 "));
    assert!(failure(&player.answer(&ask("overloaded"))).starts_with("429 "));
    assert_eq!(text(&player.answer(&ask("overloaded")), 0), "Third time lucky.");

    assert_eq!(failure(&player.answer(&ask("half"))), "terminated");
    assert!(failure(&player.answer(&ask("half"))).contains("overloaded_error"));
    assert_eq!(text(&player.answer(&ask("half")), 0), "Now it is whole.");

    assert!(failure(&player.answer(&ask("too long"))).contains("prompt is too long"));
    assert_eq!(failure(&player.answer(&ask("silent"))), "503 status code (no body)");
    assert_eq!(finish(&player.answer(&ask("cut"))), Some(Finish::Length));
    assert!(text(&player.answer(&ask("hi")), 0).starts_with("Say `overloaded`"));
}

#[test]
fn hang_example_plays() {
    let mut player = play(include_str!("../../../../examples/scripts/hang.json"));
    let hangs = |steps: &[Step]| matches!(steps.last(), Some(Step { action: StepAction::Hang, .. }));
    assert_eq!(player.answer(&ask("nothing")).len(), 1);
    for prompt in ["nothing", "think", "call a tool", "hi"] {
        assert!(hangs(&player.answer(&ask(prompt))), "{prompt}");
    }
    assert_eq!(finish(&player.answer(&ask("sleep"))), Some(Finish::ToolUse));
    let slow: u64 = player.answer(&ask("slowly")).iter().map(|step| step.delay_ms).sum();
    assert_eq!(slow, 60_000);
    assert_eq!(text(&player.answer(&ask("fast")), 0).len(), 40_000);
}

#[test]
fn full_example_plays() {
    let mut player = play(include_str!("../../../../examples/scripts/full.json"));
    assert_eq!(text(&player.answer(&ask("a long one")), 0).len(), 60_000);
    assert!(failure(&player.answer(&ask("too much"))).contains("prompt is too long"));
    let summary = ScriptedCall { summary: true, ..ask("<conversation>too much, too long</conversation>") };
    assert!(text(&player.answer(&summary), 0).starts_with("## Goal\nSee a full context."));
    assert_eq!(text(&player.answer(&ask("too much")), 0), "Shortened, it fits.");
    assert!(text(&player.answer(&ask("hi")), 0).starts_with("Say `long`"));
}

#[test]
fn extensions_example_plays() {
    let mut player = play(include_str!("../../../../examples/scripts/extensions.json"));
    assert_eq!(text(&player.answer(&ask("clean up")), 1), r#"{"command":"rm -rf ./no-such-folder"}"#);
    let blocked = [result("bash", "The command was not run: it deletes folders")];
    let left = player.answer(&ScriptedCall { results: &blocked, ..ask("clean up") });
    assert!(text(&left, 0).starts_with("I may not"));
    assert_eq!(text(&player.answer(&ask("count")), 0), r#"{"folder":"."}"#);
    let counted = [result("count_lines", "12 lines in 3 files\n")];
    assert_eq!(
        text(&player.answer(&ScriptedCall { results: &counted, ..ask("count") }), 0),
        "That is all of them."
    );
}
