//! Repetitions of one hot path inside a function that callgrind watches: `counts PATH` prints the number of units
//! (lines, frames, deltas, files), `counts` the names of the paths. `tests/counts.rs` runs it. Nothing in it is random,
//! and it uses the library without features, so that CI can afford to optimise it.

mod world;

use bytes::Bytes;
use pi_rpc::{
    engine::{Engine, Now},
    machine::Machine,
    protocol::{Dialect, Emission, Encoder, Inbound, read_line},
    session::{Session, Tree},
};
use std::{hint::black_box, path::Path, sync::Arc};
use world::{GET_STATE, PROMPT, conversation, engine, framed, prompt, session_file};

const TIMES: usize = 100;

const PATHS: [&str; 6] =
    ["read_get_state", "read_prompt", "machine_frame", "encode_delta", "get_state", "open_session"];

fn main() {
    let Some(path) = std::env::args().nth(1) else { return println!("{}", PATHS.join("\n")) };
    // Work outside of the function is not counted.
    let units = match path.as_str() {
        "read_get_state" => watched_reading(GET_STATE),
        "read_prompt" => watched_reading(PROMPT),
        "machine_frame" => watched_machine(&prompt(), &conversation(20)),
        "encode_delta" => {
            watched_encoding(&conversation(DELTAS));
            DELTAS
        }
        "get_state" => {
            let (mut engine, now) = engine();
            watched_get_state(&mut engine, now)
        }
        "open_session" => watched_opening(&Bytes::from(session_file(1000))),
        path => panic!("no such path: {path}"),
    };
    println!("{units}");
}

const DELTAS: usize = 2000;

/// Reads a command from bytes.
#[inline(never)]
fn watched_reading(line: &str) -> usize {
    for _ in 0..TIMES {
        drop(black_box(read_line(black_box(line.as_bytes()), Dialect::Pi)));
    }
    TIMES
}

/// Passes the frames of a turn through a machine that checks states only.
#[inline(never)]
fn watched_machine(prompt: &Inbound, said: &[Emission]) -> usize {
    for _ in 0..TIMES {
        let mut machine = Machine::new(Dialect::Pi, false);
        machine.inbound(prompt);
        for said in said {
            black_box(machine.outbound(black_box(said)));
        }
    }
    TIMES * said.len()
}

/// Encodes a partial message with its snapshots.
#[inline(never)]
fn watched_encoding(said: &[Emission]) {
    black_box(framed(black_box(said)));
}

/// Handles a line up to the bytes of its response.
#[inline(never)]
fn watched_get_state(engine: &mut Engine, now: Now) -> usize {
    let mut encoder = Encoder::new(Dialect::Pi);
    let mut out = Vec::new();
    for _ in 0..TIMES {
        world::answer(engine, &mut encoder, black_box(GET_STATE), now, &mut out);
        black_box(&out);
        out.clear();
    }
    TIMES
}

/// Reads the messages of a session file; one unit is the whole file.
#[inline(never)]
fn watched_opening(file: &Bytes) -> usize {
    let read = Tree::read(black_box(file.clone()), &mut fastrand::Rng::with_seed(1));
    let tree = read.expect("a session").tree;
    black_box(Session::from_file(tree, Arc::from(Path::new("/work/session.jsonl"))).messages().len());
    1
}
