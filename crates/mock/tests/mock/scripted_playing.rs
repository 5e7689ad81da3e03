//! Playing a script: which turn is taken, and how it is streamed.

use crate::scripted_common::{answer, ask, deltas, events, finish, player, result, text, usages};
use pi_rpc_model::{
    scripted::{Player, ScriptedCall, Step, StepAction},
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What the player says as its first block.
fn says(player: &mut Player, ask: &ScriptedCall<'_>) -> String {
    text(&player.answer(ask), 0)
}

fn say(text: &str) -> Value {
    json!([{ "text": text }])
}

#[test]
fn answer_is_streamed_in_blocks() {
    let steps = answer(json!({
        "firstDelayMs": 40, "delayMs": 3,
        "say": [
            {"thinking": "hm", "signature": "sig"},
            {"redacted": "AAAA"},
            {"text": "abcde", "size": 3, "delayMs": 7, "firstDelayMs": 9},
            {"tool": "bash", "arguments": {"z": 1, "a": 2}, "size": 0},
        ],
    }));
    let start = |index, block| StreamEvent::Start { index, block };
    let delta = |index, delta: &str| StreamEvent::Delta { index, delta: delta.to_owned() };
    let end =
        |index, signature: Option<&str>| StreamEvent::End { index, signature: signature.map(str::to_owned) };
    let usage = |output| StreamEvent::Usage(TokenCounts { input: 101, output, ..TokenCounts::default() });
    let call = BlockStart::ToolCall { id: "call_1_1".to_owned(), name: "bash".to_owned() };
    let expected = [
        (40, StreamEvent::ResponseId("scripted_1".to_owned())),
        (0, usage(1)),
        (0, start(0, BlockStart::Thinking)),
        (3, delta(0, "hm")),
        (0, end(0, Some("sig"))),
        (0, start(1, BlockStart::Redacted { data: "AAAA".to_owned() })),
        (0, end(1, None)),
        (9, start(2, BlockStart::Text)),
        (7, delta(2, "abc")),
        (7, delta(2, "de")),
        (0, end(2, None)),
        (0, start(3, call)),
        (3, delta(3, r#"{"z":1,"a":2}"#)),
        (0, end(3, None)),
        (0, usage(5)),
        (0, StreamEvent::ProviderReason("toolUse".to_owned())),
        (0, StreamEvent::Finish(Finish::ToolUse)),
    ];
    let expected: Vec<Step> = expected
        .into_iter()
        .map(|(delay_ms, event)| Step { delay_ms, action: StepAction::Event(event) })
        .collect();
    assert_eq!(steps, expected);
}

#[test]
fn turns_are_played_in_order_once() {
    let mut player = player(json!([{"say": say("one")}, {"say": say("two")}]));
    assert_eq!(says(&mut player, &ask("a")), "one");
    assert_eq!(says(&mut player, &ask("a")), "two");
    let over = "The script ends here: all of its turns (2) have been played.";
    assert_eq!(says(&mut player, &ask("a")), over);
    assert_eq!(finish(&player.answer(&ask("a"))), Some(Finish::Stop));
}

#[test]
fn turn_with_match_waits_for_prompt() {
    let mut player = player(json!([
        {"match": "red", "say": say("substring")},
        {"match": {"regex": "^(?i)blue$"}, "say": say("regex")},
        {"say": say("any")},
    ]));
    assert_eq!(says(&mut player, &ask("Blue")), "regex");
    assert_eq!(says(&mut player, &ask("Blue")), "any");
    let none = "The script has no turn for this: 1 of its 3 turns are left, and none of them fits.";
    assert_eq!(says(&mut player, &ask("Red")), none);
    assert_eq!(says(&mut player, &ask("infrared")), "substring");
}

#[test]
fn repeated_turn_stays() {
    let mut player =
        player(json!([{"say": say("once")}, {"repeat": true, "say": say("always")}, {"say": []}]));
    let said: Vec<String> = (0..4).map(|_| says(&mut player, &ask("a"))).collect();
    assert_eq!(said, ["once", "always", "always", "always"]);
}

#[test]
fn turn_on_result_reads_last_result() {
    let mut player = player(json!([
        {"onResult": "green", "say": say("green")},
        {"onResult": "", "repeat": true, "say": say("a result")},
        {"repeat": true, "say": say("no result")},
    ]));
    let results = [result("bash", "green"), result("bash", "brown")];
    assert_eq!(says(&mut player, &ask("a")), "no result");
    assert_eq!(says(&mut player, &ScriptedCall { results: &results, ..ask("a") }), "a result");
    assert_eq!(says(&mut player, &ScriptedCall { results: &results[..1], ..ask("a") }), "green");
    assert_eq!(says(&mut player, &ScriptedCall { results: &results[..1], ..ask("a") }), "a result");
}

#[test]
fn call_ids_are_given_or_counted() {
    let mut player = player(json!([{"say": [{"tool": "a"}, {"tool": "b", "id": "mine"}, {"tool": "c"}]}]));
    let steps = player.answer(&ScriptedCall { call: 7, ..ask("x") });
    let id = |event: &StreamEvent| match event {
        StreamEvent::Start { block: BlockStart::ToolCall { id, .. }, .. } => Some(id.clone()),
        _ => None,
    };
    let ids: Vec<String> = events(&steps).into_iter().filter_map(id).collect();
    assert_eq!(ids, ["call_7_1", "mine", "call_7_3"]);
    assert_eq!(text(&steps, 0), "{}");
}

#[test]
fn raw_arguments_are_streamed_unchanged() {
    let steps = answer(json!({"say": [{"tool": "a", "rawArguments": "{\"path\": \"unfin", "size": 4}]}));
    assert_eq!(deltas(&steps, 0), ["{\"pa", "th\":", " \"un", "fin"]);
    assert_eq!(finish(&steps), Some(Finish::ToolUse));
}

#[test]
fn stop_reason_can_be_scripted() {
    assert_eq!(finish(&answer(json!({"say": say("a"), "stop": "length"}))), Some(Finish::Length));
    assert_eq!(finish(&answer(json!({"say": [{"tool": "a"}], "stop": "stop"}))), Some(Finish::Stop));
}

#[test]
fn usage_is_scripted_or_estimated() {
    let scripted = answer(json!({"say": say("a"), "usage": {"input": 10, "output": 20, "cacheRead": 3}}));
    let counts =
        |input, output, cache_read| TokenCounts { input, output, cache_read, ..TokenCounts::default() };
    assert_eq!(usages(&scripted), [counts(10, 1, 3), counts(10, 20, 3)]);
    let partly = answer(json!({"say": say("12345"), "usage": {"input": 10}}));
    assert_eq!(usages(&partly), [counts(10, 1, 0), counts(10, 2, 0)]);
    let zero = answer(json!({"usage": {"input": 0, "output": 0}}));
    assert_eq!(usages(&zero), [counts(0, 0, 0); 2]);
    let empty = answer(json!({}));
    assert_eq!(usages(&empty), [counts(101, 1, 0); 2]);
}

#[test]
fn filler_text_is_generated() {
    let filler = answer(json!({"say": [{"deltas": 2000, "size": 30}]}));
    assert_eq!(deltas(&filler, 0).len(), 2000);
    assert!(deltas(&filler, 0).iter().all(|delta| delta.chars().count() == 30));
    let filled = answer(json!({"say": [{"text": "ä€", "deltas": 3, "size": 5}]}));
    assert_eq!(deltas(&filled, 0), ["ä€ä€ä", "€ä€ä€", "ä€ä€ä"]);
    let repeated = answer(json!({"say": [{"thinking": "abc", "times": 3, "size": 4}]}));
    assert_eq!(deltas(&repeated, 0), ["abca", "bcab", "c"]);
}

proptest! {
    #[test]
    fn deltas_add_up_to_the_text(said in "\\PC{0,80}|[a-z€😀\\n\"]{0,80}", size in 0_u32..100) {
        let steps = answer(json!({"say": [{"text": said, "size": size}, {"thinking": said}], "size": size}));
        for index in [0, 1] {
            prop_assert_eq!(text(&steps, index), said.as_str());
            let pieces = deltas(&steps, index);
            let size = if size == 0 { said.chars().count() } else { usize::try_from(size).unwrap() };
            let (last, full) = pieces.split_last().map_or((None, &[][..]), |(last, full)| (Some(last), full));
            prop_assert!(full.iter().all(|piece| piece.chars().count() == size));
            prop_assert!(last.is_none_or(|piece| (1..=size).contains(&piece.chars().count())));
        }
    }

    #[test]
    fn fragments_of_arguments_add_up_to_json(key in ".{0,8}", value in ".{0,60}", number: i64, size in 0_u32..20) {
        let arguments = json!({"nested": {key: [value, number, null]}, "flag": true});
        let steps = answer(json!({"say": [{"tool": "a", "arguments": arguments, "size": size}]}));
        prop_assert_eq!(text(&steps, 0), arguments.to_string());
        prop_assert_eq!(serde_json::from_str::<Value>(&text(&steps, 0)).unwrap(), arguments);
    }

    #[test]
    fn same_ask_gets_same_answer(prompt in ".{0,40}", call: usize, input_chars: usize) {
        let ask = ScriptedCall { call, input_chars, ..ask(&prompt) };
        let turns = json!([{"match": "a", "say": say("has an a")}, {"say": [{"tool": "x"}]}]);
        prop_assert_eq!(player(turns.clone()).answer(&ask), player(turns).answer(&ask));
    }
}
