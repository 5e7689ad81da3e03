//! A fourth set of lies, made by a program that knows frames and no rule.
//!
//! It tells a frame not at all, twice, or out of its place; it answers another request; it gives a value as half of itself, as
//! nothing, as one more, or as another frame of the kind has it; it leaves members and items out, and gives them twice. It lies
//! once, in all frames of the kind from there on, or wherever the value is told again.
//!
//! The wire betrays a lie about a value if the true value is told elsewhere in the recording under the same name, and the schema
//! does not mark it as free. A frame that may be left out, told twice or moved ([`why`]) is no lie.

mod plan;

use super::{DIALECTS, recordings};
use crate::mutation_support::{Trace, broken, dialect, finds, names, recorded};
use pi_rpc_oracle::{Judge, View};
use plan::{Plan, plans};
use std::{collections::BTreeSet, fmt::Write as _, thread};

/// The share of betrayed lies in percent that has to be found in each dialect.
const FLOOR: f64 = 95.0;
/// How many lies are drawn for each recording.
const DRAWN: usize = 10;

/// The lies of a dialect.
#[derive(Default)]
struct Score {
    kinds: BTreeSet<String>,
    told: usize,
    found: usize,
    betrayed: usize,
    betrayed_found: usize,
    /// Betrayed lies that nothing finds.
    missed: Vec<String>,
}

impl Score {
    fn add(&mut self, plan: &Plan, recording: &str, is_found: bool) {
        self.kinds.insert(plan.kind.clone());
        self.told += 1;
        self.found += usize::from(is_found);
        if plan.is_betrayed {
            self.betrayed += 1;
            self.betrayed_found += usize::from(is_found);
            if !is_found {
                self.missed.push(format!("{recording} {}: {}", plan.line + 1, plan.kind));
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.kinds.extend(other.kinds.iter().cloned());
        self.told += other.told;
        self.found += other.found;
        self.betrayed += other.betrayed;
        self.betrayed_found += other.betrayed_found;
    }

    /// The share of betrayed lies in percent that is found.
    fn share(&self) -> f64 {
        100.0 * self.betrayed_found as f64 / self.betrayed.max(1) as f64
    }
}

/// Tells the lies that are drawn for all recordings of a dialect.
fn score(of: &str) -> Score {
    let mut score = Score::default();
    let all: BTreeSet<String> = names().into_iter().chain(recordings()).collect();
    for name in all.into_iter().filter(|name| name.starts_with(&format!("{of}/"))) {
        let trace = recorded(&name);
        // What the host of a recording breaks on purpose.
        let known = broken(dialect(&name), &trace);
        for plan in plans(&name, &trace, DRAWN) {
            let mut lying: Trace = trace.clone();
            plan.apply(&mut lying);
            if lying == trace {
                continue;
            }
            let lines: Vec<String> = lying.iter().map(ToString::to_string).collect();
            let is_found = finds(Judge::new(dialect(&name), View::Both), lines.iter(), &known);
            score.add(&plan, &name, is_found);
        }
    }
    score
}

#[test]
fn generated_lies_are_found() {
    let scores = thread::scope(|scope| {
        let parts = DIALECTS.map(|of| scope.spawn(move || (of, score(of))));
        parts.map(|part| part.join().expect("a score"))
    });
    let mut all = Score::default();
    scores.iter().for_each(|(_, score)| all.merge(score));
    let mut shown = format!(
        "{:<8} {:>6} {:>6} {:>6} {:>8} {:>9} {:>6} {:>8}\n",
        "", "kinds", "lies", "found", "of all", "betrayed", "found", "of those"
    );
    for (of, score) in scores.iter().map(|(of, score)| (*of, score)).chain([("all", &all)]) {
        let raw = 100.0 * score.found as f64 / score.told.max(1) as f64;
        let Score { kinds, told, found, betrayed, betrayed_found, .. } = score;
        let _ = writeln!(
            shown,
            "{of:<8} {:>6} {told:>6} {found:>6} {raw:>6.1} % {betrayed:>9} {betrayed_found:>6} {:>6.1} %",
            kinds.len(),
            score.share()
        );
    }
    println!("{shown}");
    for (of, score) in &scores {
        println!("missed in {of}:");
        score.missed.iter().for_each(|missed| println!("  {missed}"));
        assert!(score.share() >= FLOOR, "{of}: only {:.1} % of the betrayed lies are found", score.share());
    }
}
