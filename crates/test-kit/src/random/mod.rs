//! Generator of random conversations from a string of [`Choices`], which comes from a seed, a fuzzer or a recording.
//! Lines of the host come from the schema, see [`Commands`](pi_rpc_scenario::random::Commands).

mod actions;
mod host;
mod model;
mod peers;
mod shrink;

pub use shrink::shrink;

use crate::{Close, Conversation, DiskFull, HostLine, Kind, Playback};
use pi_rpc_protocol::Dialect;
use pi_rpc_scenario::random::Choices;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

impl Kind {
    /// All kinds of conversations.
    pub const ALL: [Self; 5] = [Self::Brief, Self::Crowded, Self::Lasting, Self::Asking, Self::Acting];

    /// Dialects that have watchers for the kind.
    pub fn dialects(self) -> &'static [Dialect] {
        match self {
            Self::Brief | Self::Crowded => &Dialect::ALL,
            Self::Lasting | Self::Asking => &[Dialect::Pi, Dialect::Pi058, Dialect::Xcsh],
            Self::Acting => &[Dialect::Pi, Dialect::Pi073, Dialect::Pi1, Dialect::Xcsh],
        }
    }
}

/// Generates a conversation of this kind from the choices.
pub fn conversation(kind: Kind, dialect: Dialect, choices: &mut Choices) -> Conversation {
    let close = choices.pick(&[None, None, Some(Close::EndOfInput), Some(Close::Shutdown)]);
    let close = close.map(|close| (moment(kind, choices), close));
    let mut drawn =
        Conversation { close, seed: choices.below(256) as u64, ..Conversation::new(kind, dialect) };
    match kind {
        Kind::Brief | Kind::Crowded => {
            drawn.echoes = choices.once_in(3);
            drawn.strays = choices.once_in(6);
            drawn.turns = choices.several(8, |choices| model::brief(kind, choices));
            (drawn.tools, drawn.shells) = (peers::works(choices), peers::works(choices));
        }
        Kind::Lasting | Kind::Asking => {
            let asks = kind == Kind::Asking;
            drawn.kept = !choices.once_in(8);
            drawn.turns = choices.several(20, |choices| model::lasting(asks, choices));
            (drawn.tools, drawn.shells) = (peers::lasting_works(choices), peers::lasting_works(choices));
            let is_full = drawn.kept && choices.once_in(2);
            drawn.full = if is_full { choices.several(4, full) } else { Vec::new() };
            if asks {
                drawn.habits = peers::habits(choices);
                drawn.answers = peers::answers(choices);
                let confirm: &[&str] = choices.pick(&[&[][..], &["ls", "mine0", "ask"]]);
                drawn.confirm = confirm.iter().map(|name| (*name).to_owned()).collect();
            }
        }
        Kind::Acting => {
            drawn.turns = actions::turns();
            drawn.outcome = choices.below(4);
            drawn.dies = choices.once_in(5);
            drawn.close =
                drawn.close.map(|(at, _)| (200 + at, Close::Shutdown)).filter(|_| choices.once_in(2));
            drawn.full = match choices.once_in(5) {
                true => vec![DiskFull { at: 200 + choices.below(1300) as u64, left: 0, lasts: 300 }],
                false => Vec::new(),
            };
            drawn.actions = actions::actions(choices);
        }
    }
    drawn.host = host_lines(kind, dialect, choices);
    drawn
}

fn host_lines(kind: Kind, dialect: Dialect, choices: &mut Choices) -> Vec<HostLine> {
    let mut lines = match kind {
        Kind::Acting => Vec::new(),
        Kind::Crowded => {
            let modes = [("set_interrupt_mode", "immediate"), ("set_steering_mode", "all")];
            let (mode, value) = choices.pick(&modes);
            vec![json!({ "type": mode, "mode": value }), prompt()]
        }
        // Most conversations start with a prompt.
        _ if choices.once_in(4) => Vec::new(),
        _ => vec![prompt()],
    };
    let mut lines: Vec<HostLine> =
        lines.drain(..).enumerate().map(|(number, line)| host::named(line, number, true, 0)).collect();
    let most = if matches!(kind, Kind::Lasting | Kind::Asking) { 24 } else { 14 };
    let first = lines.len();
    let mut number = first;
    let more = choices.several(most, |choices| {
        let wait = wait(kind, choices);
        number += 2;
        let (line, command) = host::line(kind, dialect, number - 1, wait, choices);
        let witness = command
            .filter(|_| choices.once_in(3))
            .and_then(|command| host::commands(kind, dialect).witness(command, choices));
        let witness =
            witness.map(|it| host::named(Value::Object(it), number, true, self::wait(kind, choices)));
        [Some(line), witness]
    });
    lines.extend(more.into_iter().flatten().flatten());
    lines
}

fn prompt() -> Value {
    json!({ "type": "prompt", "message": "ask $" })
}

fn wait(kind: Kind, choices: &mut Choices) -> u64 {
    match kind {
        Kind::Brief => choices.pick(&[0, 0, 1, 2, 3, 4, 5, 8, 12, 20, 30]),
        Kind::Crowded => choices.below(8) as u64,
        Kind::Acting => choices.below(200) as u64,
        Kind::Lasting | Kind::Asking => match choices.below(8) {
            0 | 1 => 0,
            2..6 => choices.below(40) as u64,
            6 => choices.below(400) as u64,
            _ => 1500 + choices.below(1000) as u64,
        },
    }
}

fn moment(kind: Kind, choices: &mut Choices) -> u64 {
    choices.below(match kind {
        Kind::Brief | Kind::Crowded => 80,
        Kind::Lasting | Kind::Asking => 4000,
        Kind::Acting => 1300,
    }) as u64
}

fn full(choices: &mut Choices) -> DiskFull {
    let at = choices.below(4000) as u64;
    DiskFull { at, left: choices.below(4), lasts: choices.below(3000) as u64 }
}

/// Plays a conversation; a panic is a failure, too.
///
/// # Errors
///
/// The violation, and the log up to it.
pub fn play(conversation: &Conversation) -> Result<Playback, String> {
    catch_unwind(AssertUnwindSafe(|| conversation.play())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or(panic.downcast_ref::<&str>().map(|it| (*it).to_owned())).unwrap_or_default())
    })
}

/// Plays the conversations of the seeds below `seeds` in each dialect of the kind, and counts notable occurrences.
///
/// # Panics
///
/// If one fails; the text has the shrunk conversation, as a file for `tests/regressions`.
pub fn sample(kind: Kind, seeds: u64) -> BTreeMap<String, usize> {
    let mut happened = BTreeMap::new();
    for dialect in kind.dialects() {
        for seed in 0..seeds {
            let drawn = conversation(kind, *dialect, &mut Choices::seeded(seed));
            match play(&drawn) {
                Ok(played) => {
                    played.happened.into_iter().for_each(|it| *happened.entry(it).or_default() += 1)
                }
                Err(wrong) => panic!("{}", report(&drawn, &wrong)),
            }
        }
    }
    happened
}

/// Report of a failing conversation: its failure, and the shrunk conversation.
pub fn report(failed: &Conversation, wrong: &str) -> String {
    let shrunk = shrink(failed);
    let wrong = play(&shrunk).err().unwrap_or_else(|| wrong.to_owned());
    let kept = serde_json::to_string_pretty(&shrunk).unwrap_or_default();
    format!("{wrong}\n\nkeep it as tests/regressions/NAME.json, where NAME says what went wrong:\n{kept}")
}
