//! Conversations that seeds make, and what becomes of those that fail.

use crate::{
    harmless::harmless_lines,
    oracle::{
        live::{PlayOptions, Server, play_all},
        random::{conversation, shrink_scenario},
        report::{Outcome, Report, ReportedFinding, Subject},
        scenario::Scenario,
    },
    private_files,
    protocol::Dialect,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

/// How often a conversation that fails is played to shorten it.
const MAX_TRIES: usize = 100;

/// How long it is shortened: one that fails by waiting in vain takes long each time.
const TIME_LIMIT: Duration = Duration::from_secs(180);

/// How many are shortened.
const MAX_SHRUNK: usize = 12;

/// The scenarios of the seeds from `first` on.
pub fn scenarios(first: u64, count: u64, dialect: Dialect) -> Result<Vec<Scenario>, String> {
    let seeds = (0..count).map(|more| first.wrapping_add(more));
    seeds.map(|seed| read(&conversation(seed, dialect))).collect()
}

/// Shortens one conversation for each way in which some failed, that of the fewest first, and tells them.
pub fn shrink_failures(report: &Report, server: &Server, keep: Option<&Path>) {
    let failed: Vec<(&Subject, BTreeSet<String>)> = report
        .subjects
        .iter()
        .filter(|subject| subject.outcome == Outcome::Failed)
        .map(|subject| (subject, failure_reasons(subject)))
        .collect();
    let mut often: BTreeMap<&str, usize> = BTreeMap::new();
    failed.iter().flat_map(|(_, ways)| ways).for_each(|way| *often.entry(way).or_default() += 1);
    let mut ways: Vec<&str> = often.keys().copied().collect();
    ways.sort_by_key(|way| often[way]);
    let mut shown = BTreeSet::new();
    let mut names = BTreeMap::<&str, usize>::new();
    for way in ways {
        let subject = failed.iter().find(|(_, ways)| ways.contains(way)).map(|(subject, _)| *subject);
        let Some(subject) = subject.filter(|_| !shown.contains(way)) else { continue };
        if names.values().sum::<usize>() == MAX_SHRUNK {
            eprintln!("{MAX_SHRUNK} were shortened; {way} is among what is left");
            return;
        }
        let Some(seed) = subject.name.strip_prefix("seed-").and_then(|seed| seed.parse().ok()) else {
            continue;
        };
        let (found, also) = shrink(&conversation(seed, server.dialect), way, server);
        // What the short one shows besides needs no other.
        shown.extend(also);
        let times = names.entry(&subject.name).or_default();
        *times += 1;
        let name = match *times {
            1 => subject.name.clone(),
            times => format!("{}-{times}", subject.name),
        };
        print_shrunk(&name, &found, keep);
    }
}

/// The shortest conversation that fails in this way, and all ways in which it fails.
fn shrink(failed: &Value, way: &str, server: &Server) -> (Value, BTreeSet<String>) {
    let until = Instant::now() + TIME_LIMIT;
    let mut shown = BTreeSet::from([way.to_owned()]);
    let found = shrink_scenario(failed, MAX_TRIES, |candidate| {
        let ways = if Instant::now() < until { replayed_reasons(candidate, server) } else { BTreeSet::new() };
        let fails = ways.contains(way);
        if fails {
            shown = ways;
        }
        fails
    });
    (found, shown)
}

fn print_shrunk(name: &str, found: &Value, keep: Option<&Path>) {
    let text = format!("{found:#}\n");
    eprint!("{}", harmless_lines(&format!("{name}, shortened:\n{text}")));
    if let Some(keep) = keep {
        let file = keep.join(format!("{name}.json"));
        if let Err(error) = private_files::write(&file, &text) {
            eprintln!("{}: {error}", file.display());
        }
    }
}

/// The ways in which a conversation fails when it is played.
fn replayed_reasons(candidate: &Value, server: &Server) -> BTreeSet<String> {
    let played =
        read(candidate).map(|scenario| play_all(server, &[scenario], PlayOptions::default(), |_| {}));
    let Ok(Ok(subjects)) = played else { return BTreeSet::new() };
    subjects.iter().flat_map(failure_reasons).collect()
}

/// The ways in which a conversation failed: rules, or else the step that was in vain.
fn failure_reasons(subject: &Subject) -> BTreeSet<String> {
    let rules = subject
        .findings
        .iter()
        .filter(|found| ReportedFinding::fails(found))
        .map(|found| found.rule.to_string());
    let rules: BTreeSet<String> = rules.collect();
    let is_in_vain = rules.is_empty() && subject.outcome == Outcome::Failed;
    let step = is_in_vain.then_some(subject.reason.as_deref()).flatten();
    // The number of a step changes as others go.
    let step = step.map(|reason| reason.split_once(": ").map_or(reason, |(_, reason)| reason).to_owned());
    rules.into_iter().chain(step).collect()
}

fn read(scenario: &Value) -> Result<Scenario, String> {
    Scenario::from_json(&scenario.to_string()).map_err(|error| error.to_string())
}
