//! Tools of extensions.

use crate::asking_support::{
    Extension, PeerStep, Playback, Scenario, done, fails, says, scenario, shorthand, tool_result,
    tool_update, waits,
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi058, Xcsh};
use serde_json::{Value, json};
use shorthand::{calls, command, prompt, says as model_says};

const DIALECTS: [Dialect; 2] = [Pi, Xcsh];

/// An extension with the tool `mine`.
fn tool(steps: impl IntoIterator<Item = PeerStep>) -> Extension {
    let parameters = json!({ "type": "object", "properties": { "command": { "type": "string" } } });
    let tool = json!({ "name": "mine", "description": "Mine.", "parameters": parameters });
    Extension::new("a", json!({ "tools": [tool] })).on("tool_call mine", steps)
}

fn calling(extension: Extension) -> Scenario {
    scenario(json!([calls("t1", "mine", "now"), model_says("Well.")]))
        .extended(extension)
        .host(10, prompt("p", "go"))
}

const CALLED: &str = "< p · ok p · agent_start · user go · start t1 · >a tool_call mine · ";

/// The text of the result of the last call.
fn text(played: &Playback) -> &str {
    played.last("tool_execution_end")["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn extension_tool_shows_progress_and_result() {
    for dialect in DIALECTS {
        let played =
            calling(tool([tool_update("half"), waits(60_000), tool_result("whole"), tool_result("more")]))
                .play(dialect);
        assert_eq!(
            played.transcript(),
            format!(
                "{CALLED}<a tool_update · update t1 · <a tool_result · end t1 · <a tool_result · agent_end [uata]"
            ),
            "{dialect}"
        );
        assert_eq!(text(&played), "whole", "{dialect}");
        let mut call = played.wrote(">a", "tool_call mine")[0].clone();
        call["id"].take();
        assert_eq!(
            call,
            json!({
                "type": "tool_call", "id": null, "toolCallId": "t1", "toolName": "mine",
                "arguments": { "command": "now" },
            }),
            "{dialect}"
        );
    }
}

/// Calls of `mine`, which wants a number, with the text `now`; its extension does this before they are checked.
fn preparing(does: impl IntoIterator<Item = PeerStep>) -> Scenario {
    let parameters = json!({
        "type": "object", "properties": { "count": { "type": "number" } }, "required": ["count"],
    });
    let tool = json!({ "name": "mine", "description": "Mine.", "parameters": parameters });
    let hooks = ["prepare_arguments", "tool_call", "tool_result"];
    let owner = Extension::new("a", json!({ "tools": [tool], "hooks": hooks }))
        .on("hook prepare_arguments", does)
        .on("hook tool_call", [done()])
        .on("hook tool_result", [done()])
        .on("tool_call mine", [tool_result("whole")]);
    // Another one's tools are not its business.
    calling(owner).extended(Extension::new("b", json!({ "hooks": ["prepare_arguments"] })))
}

#[test]
fn extension_prepares_arguments_before_they_are_checked() {
    for dialect in [Pi, Pi058, Pi1, Xcsh] {
        let played =
            preparing([waits(5), says(json!({ "input": { "count": "3", "more": true } }))]).play(dialect);
        let id_less = |mut frame: Value| {
            frame["id"].take();
            frame
        };
        let sent = |what: &str| id_less(played.wrote(">a", what)[0].clone());
        let hook = |kind: &str, input: Value| json!({ "type": kind, "toolCallId": "t1", "toolName": "mine", "input": input });
        let raw = json!({ "command": "now" });
        let checked = json!({ "count": 3, "more": true });
        assert_eq!(
            sent("hook prepare_arguments")["hook"],
            hook("prepare_arguments", raw.clone()),
            "{dialect}"
        );
        assert_eq!(sent("hook tool_call")["hook"], hook("tool_call", checked.clone()), "{dialect}");
        assert_eq!(sent("tool_call mine")["arguments"], checked, "{dialect}");
        assert_eq!(sent("hook tool_result")["hook"]["input"], checked, "{dialect}");
        assert_eq!(played.last("tool_execution_start")["args"], raw, "{dialect}");
        assert_eq!(
            (text(&played), played.wrote(">b", "hook prepare_arguments").len()),
            ("whole", 0),
            "{dialect}"
        );
    }
}

#[test]
fn call_whose_arguments_cannot_be_prepared_fails() {
    let unfit = "Validation failed for tool \"mine\":\n  - count: ";
    for dialect in [Pi, Pi058, Pi1, Xcsh] {
        for (does, told) in [
            (vec![fails("no idea")], "no idea"),
            (vec![done()], unfit),
            (vec![says(json!({ "input": { "count": "many" } }))], unfit),
            (vec![], "No answer within 30 s"),
        ] {
            let played = preparing(does).play(dialect);
            assert!(text(&played).starts_with(told), "{dialect}\n{}", played.log);
            let end = played.last("tool_execution_end");
            assert_eq!((&end["toolCallId"], &end["isError"]), (&json!("t1"), &json!(true)), "{dialect}");
            assert!(played.wrote(">a", "hook tool_call").is_empty(), "{dialect}\n{}", played.log);
            assert!(played.wrote(">a", "tool_call mine").is_empty(), "{dialect}\n{}", played.log);
        }
    }
}

#[test]
fn abort_ends_call_whose_arguments_are_prepared() {
    for dialect in [Pi, Pi058, Pi1, Xcsh] {
        let played = preparing([waits(50), done()]).host(20, command("abort")).play(dialect);
        let end = played.last("tool_execution_end");
        assert_eq!(
            (&end["toolCallId"], &end["isError"]),
            (&json!("t1"), &json!(true)),
            "{dialect}\n{}",
            played.log
        );
        assert_eq!(played.wrote(">a", "cancel").len(), 1, "{dialect}\n{}", played.log);
        assert!(played.wrote(">a", "tool_call mine").is_empty(), "{dialect}\n{}", played.log);
    }
}

#[test]
fn failed_tool_or_ended_extension_gives_error() {
    for dialect in DIALECTS {
        for (steps, told, result) in [
            (vec![fails("no idea")], "<a failed", "no idea"),
            (
                vec![PeerStep::Ends("killed")],
                "<a ends · error end: The extension has ended: killed",
                "The extension has ended: killed",
            ),
        ] {
            let played = calling(tool(steps)).play(dialect);
            assert_eq!(
                played.transcript(),
                format!("{CALLED}{told} · end! t1 · agent_end [uata]"),
                "{dialect}"
            );
            assert_eq!(text(&played), result, "{dialect}");
        }
    }
}

#[test]
fn ended_extension_fails_both_its_calls() {
    let call = |id: &str| json!({ "tool": "mine", "id": id, "arguments": {}, "size": 0 });
    let played = scenario(json!([{ "say": [call("t1"), call("t2")] }, model_says("Well.")]))
        .extended(tool([]).on("tool_call mine", [waits(10), PeerStep::Ends("killed")]))
        .host(10, prompt("p", "go"))
        .play(Xcsh);
    assert_eq!(
        played.transcript(),
        "< p · ok p · agent_start · user go · start t1 · >a tool_call mine · start t2 · >a tool_call mine · <a ends · \
         error end: The extension has ended: killed · end! t1 · end! t2 · agent_end [uatta]"
    );
}

#[test]
fn call_to_ended_extension_fails() {
    let gone = tool([]).on("start", [waits(5), PeerStep::Ends("killed")]);
    let played = calling(gone.on("start", [waits(1), PeerStep::Ends("killed")])).play(Pi);
    assert!(
        played.transcript().ends_with("start t1 · end! t1 · agent_end [uata]"),
        "{}",
        played.transcript()
    );
    assert_eq!(text(&played), "The extension is not running");
}

#[test]
fn aborted_tool_has_two_seconds_to_end() {
    for dialect in DIALECTS {
        for (steps, told, result) in [
            (
                vec![waits(500), tool_result("partly")],
                "520 <a tool_result · 520 end t1 · 520 agent_end [uata]",
                "partly",
            ),
            (vec![], "2020 end! t1 · 2020 agent_end [uata]", "Operation aborted"),
        ] {
            let played = calling(tool([]).on("cancel", steps)).host(20, command("abort")).play(dialect);
            let talk = played.timed_transcript();
            assert!(talk.contains(&format!("20 < abort · 20 >a cancel · {told}")), "{dialect}: {talk}");
            assert_eq!(text(&played), result, "{dialect}");
        }
    }
}

#[test]
fn immediate_steering_cancels_tool_and_drops_result() {
    let immediate = json!({ "id": "i", "type": "set_interrupt_mode", "mode": "immediate" });
    let call = |id: &str, tool: &str| json!({ "tool": tool, "id": id, "arguments": { "command": "sleep 50" }, "size": 0 });
    let played = scenario(json!([{ "say": [call("t1", "mine"), call("t2", "probe")] }, model_says("Well.")]))
        .extended(tool([]).on("cancel", [waits(10), tool_result("partly")]))
        .host(1, immediate)
        .host(10, prompt("p", "go"))
        .host(20, shorthand::steer("s"))
        .play(Xcsh);
    assert_eq!(
        played.transcript(),
        "< i · ok i · < p · ok p · agent_start · user go · start t1 · >a tool_call mine · start t2 · < s · ok s · end t2 · \
         >a cancel · <a tool_result · end! t1 · user s · agent_end [uattua]"
    );
    assert_eq!(text(&played), "Skipped due to queued user message.");
}
