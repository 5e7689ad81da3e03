//! Random conversations (`conform --seed`): generates them and shrinks failing ones.

use pi_rpc_conform::live::{PlayOptions, Server, play_all};
use pi_rpc_files::{harmless::harmless_lines, private_files};
use pi_rpc_oracle::report::{Outcome, Report, ReportedFinding, Subject};
use pi_rpc_protocol::Dialect;
use pi_rpc_scenario::{
    Scenario,
    random::{conversation, shrink_scenario},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

/// Most plays to shrink one conversation.
const MAX_TRIES: usize = 100;

/// Time limit to shrink one conversation; one that fails by a timeout takes long at each play.
const TIME_LIMIT: Duration = Duration::from_secs(180);

/// Most conversations that are shrunk.
const MAX_SHRUNK: usize = 12;

/// Generates the scenarios of `count` seeds from `first` on.
pub fn scenarios(first: u64, count: u64, dialect: Dialect) -> Result<Vec<Scenario>, String> {
    let seeds = (0..count).map(|more| first.wrapping_add(more));
    seeds.map(|seed| read(&conversation(seed, dialect))).collect()
}

/// Shrinks one conversation for each distinct reason of failure, the rarest first, and prints them.
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
            eprintln!(
                "{MAX_SHRUNK} failing conversations were shrunk; others are left, such as one that fails by {way}"
            );
            return;
        }
        let Some(seed) = subject.name.strip_prefix("seed-").and_then(|seed| seed.parse().ok()) else {
            continue;
        };
        let (found, also) = shrink(&conversation(seed, server.dialect), way, server);
        // Reasons that the shrunk one shows as well need no other.
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

/// The shortest conversation found that still fails for this reason, with all of its reasons.
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
    eprint!("{}", harmless_lines(&format!("{name}, shrunk:\n{text}")));
    if let Some(keep) = keep {
        let file = keep.join(format!("{name}.json"));
        if let Err(error) = private_files::write(&file, &text) {
            eprintln!("{}: {error}", file.display());
        }
    }
}

/// Plays a conversation and returns the reasons of its failure.
fn replayed_reasons(candidate: &Value, server: &Server) -> BTreeSet<String> {
    let played =
        read(candidate).map(|scenario| play_all(server, &[scenario], PlayOptions::default(), |_| {}));
    let Ok(Ok(subjects)) = played else { return BTreeSet::new() };
    subjects.iter().flat_map(failure_reasons).collect()
}

/// The reasons of a failure: violated rules, else the step that failed.
fn failure_reasons(subject: &Subject) -> BTreeSet<String> {
    let rules = subject
        .findings
        .iter()
        .filter(|found| ReportedFinding::fails(found))
        .map(|found| found.rule.to_string());
    let rules: BTreeSet<String> = rules.collect();
    let is_in_vain = rules.is_empty() && subject.outcome == Outcome::Failed;
    let step = is_in_vain.then_some(subject.reason.as_deref()).flatten();
    // Without the number of the step, which changes by shrinking.
    let step = step.map(|reason| reason.split_once(": ").map_or(reason, |(_, reason)| reason).to_owned());
    rules.into_iter().chain(step).collect()
}

fn read(scenario: &Value) -> Result<Scenario, String> {
    Scenario::from_json(&scenario.to_string()).map_err(|error| error.to_string())
}
