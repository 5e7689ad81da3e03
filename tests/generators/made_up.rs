//! Generated frames that cover every member, which recordings do not guarantee.

use crate::{
    corpus::{Dir, Sample},
    deriving::facts,
    frames_common::{Choices, Frames, choices},
};
use pi_rpc::protocol::Dialect;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use serde_json::{Number, Value};
use std::collections::BTreeSet;

/// Number of frames of each kind, whatever they cover.
const EACH: usize = 6;

/// Number of attempts to find a frame that covers something new.
const TRIES: usize = 300;

/// Deterministic frames of each kind: some, and all that add to the coverage.
pub fn made_up(dialect: Dialect) -> Vec<Sample> {
    let frames = Frames::of(dialect);
    let mut runner = TestRunner::deterministic();
    let (mut samples, mut seen) = (Vec::new(), BTreeSet::new());
    for (dir, root) in [(Dir::In, "Inbound"), (Dir::Out, "Outbound")] {
        for leaf in frames.leaves(root) {
            for number in 0..TRIES {
                let numbers = choices().new_tree(&mut runner).expect("numbers").current();
                let mut frame = frames.value(&leaf, &mut Choices::new(&numbers), &mut BTreeSet::new());
                plain_numbers(&mut frame);
                let (sample, known) = (Sample { dir, frame }, seen.len());
                seen.extend(facts(&frames, &sample));
                if number < EACH || seen.len() > known {
                    samples.push(sample);
                }
            }
        }
    }
    samples
}

/// Writes `5.0` as `5`: the schema takes it for a whole number, and many languages do not.
fn plain_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float =
                number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < 1e16);
            if let Some(float) = float {
                *number = Number::from(float as i64);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(plain_numbers),
        Value::Object(map) => map.values_mut().for_each(plain_numbers),
        _ => {}
    }
}
