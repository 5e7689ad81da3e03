//! The oracle finds planted faults: each by the rules that it breaks, and by no others.

use crate::{
    lies,
    mutation_support::{
        LEGAL, Op, Spoilt, broken, dialect, finds, mutants_file, names, read, recorded, valid, ways, why,
    },
};
use pi_rpc_oracle::{Judge, View};
use pi_rpc_protocol::{Dialect, Need, RuleId};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

/// One planted fault.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// A description of the fault.
    pub what: String,
    /// The recording in which the fault is planted, in each of the dialects.
    trace: String,
    #[serde(default = "every")]
    dialects: Vec<String>,
    #[serde(rename = "do")]
    pub ops: Vec<Op>,
    /// The rules that find the fault.
    pub breaks: BTreeSet<String>,
}

fn every() -> Vec<String> {
    ["pi", "pi-1", "xcsh"].map(str::to_owned).to_vec()
}

impl Mutant {
    /// The recordings to spoil: `dialect/name`. Not all conversations were recorded in omp.
    pub fn traces(&self) -> impl Iterator<Item = String> {
        let named = self.dialects.iter().map(|dialect| format!("{dialect}/{}", self.trace));
        let own = format!("omp/{}", self.trace);
        let is_meant = !self.dialects.iter().any(|dialect| dialect == "omp")
            && lies::includes(&self.dialects, "omp")
            && names().contains(&own);
        named.filter(|name| !name.starts_with('!')).chain(is_meant.then_some(own))
    }
}

/// The planted faults.
pub fn mutants() -> Vec<Mutant> {
    serde_json::from_str(&mutants_file()).expect("mutants.json")
}

/// The rules that hosts of the recordings break on purpose, to show how servers refuse.
const OF_HOST: [(&str, &[&str]); 2] =
    [("busy", &["host-prompt-busy"]), ("refusals", &["host-line", "host-schema"])];

/// The rules that the host of a recording breaks on purpose.
fn of_host(name: &str) -> BTreeSet<String> {
    let rules = OF_HOST
        .iter()
        .find(|(trace, _)| name.ends_with(&format!("/{trace}")))
        .map_or(&[][..], |(_, rules)| rules);
    rules.iter().map(ToString::to_string).collect()
}

#[test]
fn valid_recordings_break_no_server_rule() {
    let wrong: Vec<_> = names()
        .into_iter()
        .map(|name| (broken(dialect(&name), &valid(&name)), name))
        .filter(|(broken, name)| *broken != of_host(name))
        .collect();
    assert_eq!(wrong, []);
}

/// Whether a rule is about connections of many sessions, whose recordings and faults are in `tests/oracle/shared`.
fn is_of_sessions(rule: RuleId) -> bool {
    rule.about().needs.contains(&Need::Sessions)
}

/// Rules about what no host of the recordings does or sees: `tests/protocol` and `tests/conform` exercise them.
const NOT_RECORDED: [&str; 8] = [
    "eof-finishes",
    "run-cut",
    "compaction-silent",
    "compacting-flag",
    "host-cancel",
    "host-drains",
    "host-tolerates",
    "nothing-left",
];

/// Rules that no recording of omp exercises, each with the reason.
const NOT_RECORDED_IN_OMP: [(&str, &str); 2] = [
    ("chunk-series", "a frame comes in chunks from 1 MiB on, which is too much to keep"),
    ("todo-reminder", "our server does not remind in omp: docs/explanation/dialects.md"),
];

#[test]
fn recordings_exercise_every_other_rule() {
    let mut missing = Vec::new();
    for of in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp] {
        let mut exercised = BTreeSet::new();
        for name in names().into_iter().filter(|name| dialect(name) == of) {
            let mut judge = Judge::new(of, View::Both);
            valid(&name).iter().for_each(|record| drop(judge.observe(&read(&record.to_string()))));
            exercised.extend(judge.exercised().iter().map(|rule| rule.to_string()));
        }
        for name in lies::recordings().into_iter().filter(|name| dialect(name) == of) {
            let mut judge = Judge::new(of, View::Both);
            recorded(&name).iter().for_each(|record| drop(judge.observe(&read(&record.to_string()))));
            exercised.extend(judge.exercised().iter().map(|rule| rule.to_string()));
        }
        let rules = RuleId::ALL.into_iter().filter(|rule| rule.tier(of.base()).is_some());
        let rules = rules.filter(|rule| !NOT_RECORDED.contains(&rule.as_str()) && !is_of_sessions(*rule));
        let rules = rules.filter(|rule| {
            of != Dialect::Omp || !NOT_RECORDED_IN_OMP.iter().any(|(name, _)| *name == rule.as_str())
        });
        let never = rules.filter(|rule| !exercised.contains(rule.as_str()));
        missing.extend(never.map(|rule| format!("{of}: {rule}")));
    }
    assert!(missing.is_empty(), "exercised by no recording of tests/oracle: {missing:?}");
}

#[test]
fn planted_faults_are_found_by_their_rules() {
    let found = mutants()
        .into_iter()
        .flat_map(|mutant| mutant.traces().map(|name| mismatch(&mutant, &name)).collect::<Vec<_>>());
    let wrong: Vec<String> = found.flatten().collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// The difference between the findings about the fault in a recording and the listed rules, if any.
fn mismatch(mutant: &Mutant, name: &str) -> Option<String> {
    let mut trace = valid(name);
    let planted = catch_unwind(AssertUnwindSafe(|| mutant.ops.iter().for_each(|op| op.apply(&mut trace))));
    if planted.is_err() {
        return Some(format!("{} ({name}): cannot be planted", mutant.what));
    }
    let found = broken(dialect(name), &trace);
    // A rule that the dialect does not have finds nothing.
    let has =
        |rule: &&String| RuleId::parse(rule).is_none_or(|rule| rule.tier(dialect(name).base()).is_some());
    let mut breaks: BTreeSet<String> = mutant.breaks.iter().filter(has).cloned().collect();
    breaks.append(&mut of_host(name));
    (found != breaks).then(|| format!("{} ({name}): breaks {found:?}, listed are {breaks:?}", mutant.what))
}

/// Rules without a planted fault in conversations of omp, each with the reason.
const NOT_PLANTED_IN_OMP: [(&str, &str); 1] = [(
    "run-edges",
    "it judges messages of extensions between turns, which `x-fires-in` of `message_start` lets omp send",
)];

#[test]
fn every_rule_has_mutant_in_each_dialect() {
    let mutants = mutants();
    let missing: Vec<String> = [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp]
        .into_iter()
        .flat_map(|of| RuleId::ALL.into_iter().map(move |rule| (of, rule)))
        .filter(|(of, rule)| rule.tier(of.base()).is_some() && !is_of_sessions(*rule))
        .filter(|(of, rule)| {
            !mutants.iter().any(|mutant| {
                mutant.breaks.contains(rule.as_str()) && mutant.traces().any(|name| dialect(&name) == *of)
            })
        })
        .filter(|(of, rule)| !lies::is_broken(of.as_str(), rule.as_str()))
        .filter(|(of, rule)| {
            *of != Dialect::Omp || !NOT_PLANTED_IN_OMP.iter().any(|(name, _)| *name == rule.as_str())
        })
        .map(|(of, rule)| format!("{of}: {rule}"))
        .collect();
    assert!(
        missing.is_empty(),
        "no lie, and no fault in tests/oracle/mutants.json breaks these rules: {missing:?}"
    );
}

/// Spoils every frame of the server in every simple way. A change without a finding has to be legal, and is listed with the
/// reason.
#[test]
fn mutation_score_is_as_published() {
    let scores = thread::scope(|scope| {
        let parts = ["pi", "pi-1", "xcsh", "omp"].map(|dialect| scope.spawn(move || scores(dialect)));
        parts.map(|part| part.join().expect("a score"))
    });
    let mut all: BTreeMap<&str, Score> = BTreeMap::new();
    for (way, score) in scores.iter().flatten() {
        all.entry(way).or_default().add(score);
    }
    let shown = shown(&all);
    println!("{shown}");
    insta::assert_snapshot!("mutation_score", shown);
    let missed: Vec<(&str, &str)> =
        all.iter().flat_map(|(way, score)| score.missed.keys().map(|what| (*way, what.as_str()))).collect();
    let holes: Vec<_> = missed.iter().filter(|(way, what)| why(way, what).is_none()).collect();
    assert_eq!(holes, Vec::<&(&str, &str)>::new(), "not found, and no reason is listed");
    let stale = |(of, begins, _): &&(&str, &str, &str)| {
        !missed.iter().any(|(way, what)| way == of && what.starts_with(begins))
    };
    assert_eq!(
        LEGAL.iter().filter(stale).collect::<Vec<_>>(),
        Vec::<&(&str, &str, &str)>::new(),
        "found after all"
    );
}

#[derive(Default)]
struct Score {
    planted: usize,
    found: usize,
    missed: BTreeMap<String, usize>,
}

impl Score {
    fn add(&mut self, other: &Self) {
        self.planted += other.planted;
        self.found += other.found;
        for (what, count) in &other.missed {
            *self.missed.entry(what.clone()).or_default() += count;
        }
    }
}

/// The scores of the ways, over the recordings of a dialect.
fn scores(of: &str) -> BTreeMap<&'static str, Score> {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let mut done = BTreeSet::new();
    for name in names().into_iter().filter(|name| name.starts_with(&format!("{of}/"))) {
        let trace = valid(&name);
        let lines: Vec<String> = trace.iter().map(ToString::to_string).collect();
        let mut judge = Judge::new(dialect(&name), View::Both);
        for (at, line) in lines.iter().enumerate() {
            for Spoilt { way, what, lines: spoilt, replaces } in ways(&trace, at, &mut done) {
                let score = scores.entry(way).or_default();
                score.planted += 1;
                match finds(judge.clone(), spoilt.iter().chain(&lines[at + replaces..]), &of_host(&name)) {
                    true => score.found += 1,
                    false => *score.missed.entry(what).or_default() += 1,
                }
            }
            judge.observe(&read(line));
        }
    }
    scores
}

fn shown(scores: &BTreeMap<&str, Score>) -> String {
    let mut out = String::new();
    for (way, score) in scores {
        let share = 100.0 * score.found as f64 / score.planted as f64;
        let _ = writeln!(out, "{way}: {} of {} found ({share:.1} %)", score.found, score.planted);
        for (what, count) in &score.missed {
            let why = why(way, what).unwrap_or("a hole");
            let _ = writeln!(out, "  not found: {count} × {what}: {why}");
        }
    }
    out
}
