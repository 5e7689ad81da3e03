//! Generators of the behaviour of tools, shells, extensions and hosts.

use crate::{Answers, Habit, Work, WorkOutcome};
use pi_rpc_scenario::random::Choices;

/// Generates courses of tool calls or shell commands for brief conversations.
pub fn works(choices: &mut Choices) -> Vec<Work> {
    some(5, choices, |choices| {
        let mut waits: Vec<u64> = choices.several(4, |choices| choices.below(6) as u64);
        waits.push(choices.below(14) as u64);
        let endings = [(7, WorkOutcome::Done), (2, WorkOutcome::Failed), (1, WorkOutcome::Never)];
        Work {
            waits,
            ending: *choices.weighted(&endings),
            stops_after: choices.below(5) as u64,
            too_late: choices.once_in(5),
        }
    })
}

/// Generates courses for lasting conversations, in which none hangs.
pub fn lasting_works(choices: &mut Choices) -> Vec<Work> {
    some(4, choices, |choices| Work {
        waits: vec![10 + choices.below(90) as u64],
        ending: if choices.once_in(5) { WorkOutcome::Failed } else { WorkOutcome::Done },
        stops_after: 3,
        too_late: choices.once_in(2),
    })
}

/// Generates the habits of some extensions.
pub fn habits(choices: &mut Choices) -> Vec<Vec<Habit>> {
    some(3, choices, |choices| some(9, choices, habit))
}

/// Generates the answers of the host.
pub fn answers(choices: &mut Choices) -> Vec<Answers> {
    some(8, choices, |choices| {
        let wait = choices.below(400) as u64;
        *choices.weighted(&[
            (6, Answers::Rightly(wait)),
            (1, Answers::Wrongly(wait)),
            (1, Answers::Twice(wait)),
            (1, Answers::Misspelt(wait)),
            (1, Answers::Never),
        ])
    })
}

fn some<T>(most: usize, choices: &mut Choices, mut one: impl FnMut(&mut Choices) -> T) -> Vec<T> {
    let mut all = vec![one(choices)];
    all.extend(choices.several(most, one));
    all
}

fn habit(choices: &mut Choices) -> Habit {
    let deliver = |choices: &mut Choices| {
        choices.pick(&[None, Some("steer"), Some("followUp"), Some("nextTurn")]).map(str::to_owned)
    };
    match choices.below(38) {
        8..12 => Habit::AnswersLate(1 + choices.below(500) as u64),
        12 => Habit::AnswersLate(500 + choices.below(39_500) as u64),
        13 => Habit::AnswersCancelled,
        14 => Habit::Never,
        15 => Habit::AnswersTwice,
        16..19 => Habit::Objects,
        19 => Habit::Fails,
        20 => Habit::Dies,
        21 => Habit::Strays,
        22..28 => {
            let method = choices.pick(&["select", "confirm", "input", "editor"]).to_owned();
            let timeout = match choices.below(6) {
                0..3 => None,
                3 => Some(0),
                _ => Some(1 + choices.below(5000) as u64),
            };
            Habit::Asks { method, timeout, own: !choices.once_in(5) }
        }
        28 => Habit::AsksInVain,
        29..32 => Habit::Sends { deliver: deliver(choices), trigger: choices.once_in(2) },
        32 | 33 => Habit::Says(deliver(choices)),
        34 => choices.pick(&[Habit::Keeps, Habit::Renames]),
        35 => Habit::Registers,
        36 | 37 => Habit::Replaces,
        _ => Habit::Answers,
    }
}
