//! Scripts of the scripted model, and scenarios of `conform`: the reader accepts what the
//! schema accepts, and a script can be played to its end.

use pi_rpc::{
    model::{
        scripted::{Block, Player, Script, ScriptedCall, Step, StepAction, Turn, script_schema},
        types::StreamEvent,
    },
    oracle::scenario::{Scenario, scenario_schema},
};
use serde_json::Value;
use std::sync::LazyLock;

/// Maximum number of characters of a script that is played.
const MOST: u64 = 20_000;

/// The input is the text of a script or of a scenario.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    static SCRIPT: LazyLock<jsonschema::Validator> = LazyLock::new(|| validator(&script_schema()));
    static SCENARIO: LazyLock<jsonschema::Validator> = LazyLock::new(|| validator(&scenario_schema()));
    let value = serde_json::from_str::<Value>(text);
    if let Ok(script) = Script::from_json(text) {
        accepts(&SCRIPT, value.as_ref().ok());
        play(script);
    }
    if let Ok(scenario) = Scenario::from_json(text) {
        accepts(&SCENARIO, value.as_ref().ok());
        play(scenario.script);
    }
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::draft202012::new(schema).expect("a JSON Schema")
}

fn accepts(schema: &jsonschema::Validator, value: Option<&Value>) {
    let value = value.expect("what was read is JSON");
    assert!(
        schema.is_valid(value),
        "read, but not what the schema accepts: {:?}",
        schema.validate(value).err().map(|error| error.to_string())
    );
}

fn play(script: Script) {
    let turns = script.turns().len().min(8);
    let tools = ["read".to_owned(), "bash".to_owned()];
    let mut player = Player::new(script);
    for call in 0..=turns {
        let ask = ScriptedCall {
            prompt: "list the files",
            call,
            results: &[],
            tools: &tools,
            summary: call % 3 == 2,
            input_chars: 40,
        };
        let turn = player.take(&ask);
        if turn.say.iter().map(|block| chars(block, &turn)).sum::<u64>() > MOST {
            continue;
        }
        ends(&turn.steps(&ask));
    }
}

/// Number of characters of a block.
fn chars(block: &Block, turn: &Turn) -> u64 {
    let (text, times, deltas, size) = match block {
        Block::Text(block) => (&*block.text, block.times, block.deltas, block.size),
        Block::Thinking(block) => (&*block.thinking, block.times, block.deltas, block.size),
        Block::Filler(block) => ("", None, Some(block.deltas), block.size),
        Block::Tool(_) | Block::Redacted(_) => return 0,
    };
    let filled = u64::from(deltas.unwrap_or(0)) * u64::from(size.or(turn.size).unwrap_or(20));
    filled.max(u64::from(times.unwrap_or(1)) * text.len() as u64)
}

fn ends(steps: &[Step]) {
    let is_end = |step: &Step| {
        matches!(
            step.action,
            StepAction::Hang | StepAction::Event(StreamEvent::Finish(_) | StreamEvent::Fail { .. })
        )
    };
    let ends = steps.iter().filter(|step| is_end(step)).count();
    assert!(ends == 1 && steps.last().is_some_and(is_end), "an answer ends once, at its end: {steps:?}");
    crate::legal::parts(steps.iter().filter_map(|step| match &step.action {
        StepAction::Event(event) => Some(event),
        StepAction::Hang => None,
    }));
}
