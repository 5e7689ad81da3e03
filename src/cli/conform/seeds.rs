//! Conversations that seeds make, and what becomes of those that fail.

use crate::{
    harmless::harmless_lines,
    oracle::{
        live::{Playing, Server, play_all},
        random::{conversation, shortest},
        report::{Found, Outcome, Report, Subject},
        scenario::Scenario,
    },
    private_files,
    protocol::Dialect,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

/// How often a conversation that fails is played to shorten it.
const TRIES: usize = 100;

/// How long it is shortened: one that fails by waiting in vain takes long each time.
const PATIENCE: Duration = Duration::from_secs(180);

/// How many of those that fail are shortened: the rest may well have the same causes.
const SHORTENED: usize = 3;

/// The scenarios of the seeds from `first` on.
pub fn scenarios(first: u64, count: u64, dialect: Dialect) -> Result<Vec<Scenario>, String> {
    let seeds = (0..count).map(|more| first.wrapping_add(more));
    seeds.map(|seed| read(&conversation(seed, dialect))).collect()
}

/// Shortens what failed, and tells it.
pub fn shorten(report: &Report, server: &Server, keep: Option<&Path>) {
    let failed = report.subjects.iter().filter(|subject| subject.outcome == Outcome::Failed);
    for subject in failed.take(SHORTENED) {
        let Some(seed) = subject.name.strip_prefix("seed-").and_then(|seed| seed.parse().ok()) else {
            continue;
        };
        let wrong = wrong(subject);
        let until = Instant::now() + PATIENCE;
        let found = shortest(&conversation(seed, server.dialect), TRIES, |candidate| {
            Instant::now() < until && fails(candidate, &wrong, server)
        });
        let text = format!("{found:#}\n");
        eprint!("{}", harmless_lines(&format!("{}, shortened:\n{text}", subject.name)));
        if let Some(keep) = keep {
            let file = keep.join(format!("{}.json", subject.name));
            if let Err(error) = private_files::write(&file, &text) {
                eprintln!("{}: {error}", file.display());
            }
        }
    }
}

/// Whether a conversation fails in one of these ways.
fn fails(candidate: &Value, ways: &BTreeSet<String>, server: &Server) -> bool {
    let played = read(candidate).map(|scenario| play_all(server, &[scenario], Playing::default(), |_| {}));
    let Ok(Ok(subjects)) = played else { return false };
    subjects.iter().any(|subject| !wrong(subject).is_disjoint(ways))
}

/// The ways in which a conversation failed: rules, and the step that was in vain.
fn wrong(subject: &Subject) -> BTreeSet<String> {
    let rules =
        subject.findings.iter().filter(|found| Found::fails(found)).map(|found| found.rule.to_string());
    let step = (subject.outcome == Outcome::Failed).then_some(subject.reason.as_deref()).flatten();
    // The number of a step changes as others go.
    let step = step.map(|reason| reason.split_once(": ").map_or(reason, |(_, reason)| reason).to_owned());
    rules.chain(step).collect()
}

fn read(scenario: &Value) -> Result<Scenario, String> {
    Scenario::from_json(&scenario.to_string()).map_err(|error| error.to_string())
}
