//! A brief conversation, chosen by the input: whatever the host writes and whenever, however models, tools and shells take
//! their turns, the engine keeps the rules, answers every command once, and comes to rest.

use pi_rpc::oracle::random::Choices;
use pi_rpc_test_kit::{Kind, random};

/// Choices: of the kind and the dialect, then of the conversation.
pub fn hold(data: &[u8]) {
    one_of(&[Kind::Brief, Kind::Brief, Kind::Brief, Kind::Crowded], data);
}

/// Plays the conversation that `data` chooses.
pub fn one_of(kinds: &[Kind], data: &[u8]) {
    let choices = &mut Choices::new(data);
    let kind = choices.pick(kinds);
    let dialect = choices.pick(kind.dialects());
    let conversation = random::conversation(kind, dialect, choices);
    if let Err(wrong) = conversation.play() {
        panic!("{}\n{wrong}", serde_json::to_string_pretty(&conversation).unwrap_or_default());
    }
}
