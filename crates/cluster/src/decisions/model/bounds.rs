//! How far the model is explored, and what it finds.
//!
//! Each exploration is whole within its bounds, which are numbers of events that may happen at any moment, in any order. `PI_RPC_MODEL_SECONDS` explores the largest ones for so long each.

use super::{
    faults::{Fault, Faults},
    steps::{Bounds, Cluster},
    world::Budget,
};
use stateright::{Checker as _, HasDiscoveries, Model as _};
use std::time::Duration;

const NONE: Budget = Budget { moves: 0, crashes: 0, expiries: 0, delays: 0, refusals: 0, failures: 0 };

const fn one(hosts: usize, commands: u8, budget: Budget) -> Bounds {
    Bounds { hosts, clients: 1, commands, max_clients: 8, asks: false, budget }
}

/// A prompt that asks for a permission, and an answer each time that its question is seen to open.
const fn asking(budget: Budget) -> Bounds {
    Bounds { asks: true, ..one(2, 3, budget) }
}

/// Two clients, of which one alone is remembered.
const fn two(commands: u8, budget: Budget) -> Bounds {
    Bounds { hosts: 2, clients: 2, commands, max_clients: 1, asks: false, budget }
}

const MOVES: Bounds = one(2, 2, Budget { moves: 1, ..NONE });
const RETURNS: Bounds = one(2, 1, Budget { moves: 2, delays: 1, ..NONE });
const REFUSED: Bounds = one(2, 2, Budget { moves: 1, delays: 1, refusals: 1, ..NONE });
const ENDS: Bounds = one(2, 1, Budget { crashes: 1, delays: 1, ..NONE });
const SLEEPS: Bounds = one(3, 1, Budget { expiries: 2, ..NONE });
const FAILS: Bounds = one(2, 1, Budget { expiries: 1, failures: 1, ..NONE });
const FORGETS: Bounds = two(1, Budget { moves: 1, ..NONE });
const WAITS: Bounds = asking(Budget { crashes: 1, ..NONE });

/// The explorations that are part of every test run.
const EXPLORED: [(&str, Bounds); 11] = [
    ("a client moves", MOVES),
    ("a client moves there and back, and a line comes late", RETURNS),
    ("a client moves, a line is refused, and one comes late", REFUSED),
    ("a host ends, and a line comes twice", ENDS),
    ("two leases end while their owners sleep", SLEEPS),
    ("a session cannot be opened where it was taken", FAILS),
    ("a client is forgotten", FORGETS),
    ("a host ends while a lease ends", one(3, 1, Budget { crashes: 1, expiries: 1, ..NONE })),
    ("a client moves while a host ends", one(2, 1, Budget { moves: 1, crashes: 1, ..NONE })),
    ("a host ends while a question waits", WAITS),
    ("a lease ends while a question waits", asking(Budget { expiries: 1, ..NONE })),
];

/// Larger ones, for as long as there is time.
const LARGE: [(&str, Bounds); 4] = [
    (
        "three hosts",
        one(3, 2, Budget { moves: 2, crashes: 1, expiries: 1, delays: 1, refusals: 1, failures: 1 }),
    ),
    ("three commands", one(2, 3, Budget { moves: 2, delays: 2, refusals: 1, ..NONE })),
    ("two clients", two(2, Budget { moves: 2, crashes: 1, delays: 1, ..NONE })),
    ("a question", asking(Budget { moves: 1, crashes: 2, expiries: 1, delays: 1, ..NONE })),
];

const ONE_OWNER: &str = "one owner writes";
const ONCE: &str = "a command is executed once, in order";
const DECIDED: &str = "what was confirmed is executed, or its client is told";
const OPENABLE: &str = "a session is openable again";
const ASKED_ONCE: &str = "what was asked about is executed once";
const ANSWERED_OR_TOLD: &str = "a question is open, answered, or its client is told";

/// Decisions that are wrong, the bounds within which they are found, and the promise that they break first.
const FAULTS: [(&[Fault], Bounds, &str); 14] = [
    (&[Fault::CountsFromMemory, Fault::NoAttachments], MOVES, DECIDED),
    (&[Fault::NoAttachments], REFUSED, DECIDED),
    (&[Fault::IdsRepeat, Fault::NoAttachments], two(2, Budget { moves: 1, ..NONE }), DECIDED),
    (&[Fault::ClientCountsAlone], REFUSED, OPENABLE),
    (&[Fault::CountsRefused], REFUSED, DECIDED),
    (&[Fault::AnswersUncertain], REFUSED, DECIDED),
    (&[Fault::ExecutesBeforeNoting], SLEEPS, ONCE),
    (&[Fault::EntriesUnfenced], SLEEPS, ONE_OWNER),
    (&[Fault::OutputUnfenced], SLEEPS, ONE_OWNER),
    (&[Fault::OutstandingUnnoted], ENDS, DECIDED),
    (&[Fault::NumbersUnchecked], ENDS, ONCE),
    (&[Fault::OwnNameIsHeld], FAILS, OPENABLE),
    (&[Fault::AnswerLeavesQuestion], WAITS, ASKED_ONCE),
    (&[Fault::QuestionDropped], WAITS, ANSWERED_OR_TOLD),
];

/// The promises that are broken, shortest way first, and how many states were explored.
fn explore(bounds: Bounds, faults: &[Fault], limit: Option<Duration>) -> (Vec<&'static str>, usize) {
    let model = Cluster { bounds, faults: Faults(faults.to_vec()) };
    let mut checker = model.checker().threads(2).finish_when(HasDiscoveries::AnyFailures);
    if let Some(limit) = limit {
        checker = checker.timeout(limit);
    }
    let checker = checker.spawn_bfs().join();
    let discoveries = checker.discoveries();
    let broken = discoveries.keys().copied().filter(|name| !name.starts_with("example: "));
    let broken: Vec<&str> = broken.collect();
    for name in &broken {
        println!("{faults:?}: {name}: {:?}", discoveries[name].clone().into_actions());
    }
    (broken, checker.unique_state_count())
}

#[test]
fn promises_hold_in_every_order() {
    for (name, bounds) in EXPLORED {
        let (broken, states) = explore(bounds, &[], None);
        println!("{name}: {states} states");
        assert!(broken.is_empty(), "{name}: {broken:?}");
    }
}

#[test]
fn wrong_decisions_are_found() {
    for (faults, bounds, promise) in FAULTS {
        let (broken, states) = explore(bounds, faults, None);
        println!("{faults:?}: {states} states");
        assert!(broken.contains(&promise), "{faults:?}: {broken:?}");
    }
}

#[test]
fn larger_worlds_keep_their_promises() {
    let Some(seconds) = std::env::var("PI_RPC_MODEL_SECONDS").ok().and_then(|it| it.parse().ok()) else {
        return;
    };
    for (name, bounds) in LARGE {
        let (broken, states) = explore(bounds, &[], Some(Duration::from_secs(seconds)));
        println!("{name}: {states} states");
        assert!(broken.is_empty(), "{name}: {broken:?}");
    }
}
