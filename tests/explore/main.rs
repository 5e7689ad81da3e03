//! Random exploration: conversations of every kind in every dialect, one after another, until the time is used up.
//!
//! ```text
//! cargo explore --seconds 300 [--seed N] [--dialect D] [--front | --peer pi@1.6]
//! ```
//!
//! The seed is printed first and is fresh unless it is given. The first conversation that fails is shrunk and printed
//! as a file for `tests/regressions`, where `cargo test --test engine regressions` plays it from then on. With `--front`, host and
//! server speak different dialects, and the front translates; both sides are judged.

//!
//! With `--peer`, the conversations are played with a published agent instead, by `pi-rpc conform`, and nothing stops at a finding:
//! what the oracle accuses it of is listed, for a person to judge. It is a defect of that agent, or a mistake of the oracle.

#[path = "../front_support/mod.rs"]
mod front_support;
#[path = "../peer_support/install.rs"]
mod install;
mod peer;
#[path = "../toolchain_support/mod.rs"]
mod toolchain_support;

use front_support::{DIALECTS, judge};
use pi_rpc::oracle::random::Choices;
use pi_rpc::protocol::Dialect;
use pi_rpc_test_kit::{
    Kind,
    random::{conversation, play, report},
};
use std::{
    collections::BTreeMap,
    process::ExitCode,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const USAGE: &str =
    "usage: cargo explore --seconds SECONDS [--seed SEED] [--dialect DIALECT] [--front | --peer PEER]";

struct Options {
    time: Duration,
    seed: u64,
    /// The only dialect.
    dialect: Option<Dialect>,
    /// Whether the front stands between host and server.
    front: bool,
    /// The published agent to play with, instead of this engine.
    peer: Option<String>,
}

fn main() -> ExitCode {
    match options() {
        Ok(options) if options.front => explore_front(&options),
        Ok(Options { time, seed, peer: Some(peer), .. }) => match peer::explore(&peer, time, seed) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("explore: {error}");
                ExitCode::from(2)
            }
        },
        Ok(options) => explore(&options),
        Err(error) => {
            eprintln!("explore: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let (mut time, mut seed, mut dialect) = (None, fresh, None);
    let (mut front, mut peer) = (false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--front" {
            front = true;
            continue;
        }
        let text = arguments.next().unwrap_or_default();
        match (name.as_str(), text.parse().ok()) {
            ("--seconds", Some(seconds)) => time = Some(Duration::from_secs(seconds)),
            ("--seed", Some(value)) => seed = value,
            ("--dialect", _) => {
                dialect = Some(Dialect::parse(&text).ok_or_else(|| format!("{text}: no dialect"))?)
            }
            ("--peer", _) => peer = Some(text),
            _ => return Err(format!("{name}: no such option, or no whole number behind it")),
        }
    }
    Ok(Options { time: time.ok_or("how many --seconds?")?, seed, dialect, front, peer })
}

fn explore(options: &Options) -> ExitCode {
    println!("explore: --seconds {} --seed {}", options.time.as_secs(), options.seed);
    // A panic is reported like any other failure, after shrinking.
    std::panic::set_hook(Box::new(|_| {}));
    let until = Instant::now() + options.time;
    let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
    for seed in (0..).map(|more| options.seed.wrapping_add(more)) {
        for kind in Kind::ALL {
            let dialects = kind.dialects();
            let dialect = dialects[(seed % dialects.len() as u64) as usize];
            let dialect = options.dialect.unwrap_or(dialect);
            let drawn = conversation(kind, dialect, &mut Choices::seeded(seed));
            if let Err(wrong) = play(&drawn) {
                println!("explore: seed {seed} fails as {kind:?} in {dialect}; shrinking\n");
                println!("{}", report(&drawn, &wrong));
                return ExitCode::FAILURE;
            }
            *counts.entry(kind).or_default() += 1;
            if Instant::now() > until {
                let counts: Vec<String> =
                    counts.iter().map(|(kind, count)| format!("{count} {kind:?}")).collect();
                println!("explore: no rule is broken in {}", counts.join(", "));
                return ExitCode::SUCCESS;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Random conversations of each pair of dialects, until the time is used up; every failing pair is printed once.
fn explore_front(options: &Options) -> ExitCode {
    println!("explore: --front --seconds {} --seed {}", options.time.as_secs(), options.seed);
    let until = Instant::now() + options.time;
    let (mut played, mut failed) = (0_u64, BTreeMap::new());
    for seed in (0..).map(|more| options.seed.wrapping_add(more)) {
        for server in DIALECTS {
            for client in DIALECTS.into_iter().filter(|client| client.base() != server.base()) {
                if options.dialect.is_some_and(|dialect| dialect != client) {
                    continue;
                }
                if let Err(error) = judge(server, client, seed) {
                    failed.entry((server, client)).or_insert((seed, error));
                }
                played += 1;
                if Instant::now() > until {
                    for ((server, client), (seed, error)) in &failed {
                        println!("explore: {server} → {client}, seed {seed}: {error}\n");
                    }
                    println!("explore: {played} conversations, {} pairs fail", failed.len());
                    return if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
                }
            }
        }
    }
    ExitCode::SUCCESS
}
