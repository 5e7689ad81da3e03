//! Brief conversations, generated from the input: whatever the host writes, and however models, tools and shells
//! behave, the engine keeps the rules, answers every command once, and comes to rest.

use pi_rpc::oracle::random::Choices;
use pi_rpc_test_kit::{Kind, random};

/// The input is the choices: of the kind, of the dialect, and of the conversation.
pub fn check(data: &[u8]) {
    one_of(&[Kind::Brief, Kind::Brief, Kind::Brief, Kind::Crowded], data);
}

/// Plays the conversation that `data` generates.
pub fn one_of(kinds: &[Kind], data: &[u8]) {
    let choices = &mut Choices::new(data);
    let kind = choices.pick(kinds);
    let dialect = choices.pick(kind.dialects());
    let conversation = random::conversation(kind, dialect, choices);
    if let Err(wrong) = conversation.play() {
        panic!("{}\n{wrong}", serde_json::to_string_pretty(&conversation).unwrap_or_default());
    }
}
