//! What this server says has the shape of what the originals said in the same conversation, but for the differences
//! that are wanted. `tests/traces/README.md` tells how the files there came about.
#![cfg(feature = "serve")]

mod serve_support;
mod trace_support;

use pi_rpc::protocol::Dialect;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use trace_support::{Differences, Host, RECORDED, SCENARIOS, Skeleton, records};

#[test]
fn pi_is_spoken_as_it_was_recorded() {
    compare_all(Dialect::Pi);
}

#[test]
fn xcsh_is_spoken_as_it_was_recorded() {
    compare_all(Dialect::Xcsh);
}

#[test]
fn every_recording_is_compared_or_waits_for_something() {
    for (dialect, _) in RECORDED {
        let recorded: BTreeSet<String> = recorded(dialect).into_keys().collect();
        let has_scenario = |name: &&String| SCENARIOS.iter().any(|(scenario, ..)| scenario == name);
        let compared: BTreeSet<String> =
            recorded.iter().filter(|name| !waits(dialect, name)).filter(has_scenario).cloned().collect();
        let waiting: BTreeSet<String> = waiting().remove(dialect).unwrap().into_keys().collect();
        let lost: Vec<&String> =
            recorded.iter().filter(|name| !compared.contains(*name) && !waiting.contains(*name)).collect();
        assert_eq!(lost, Vec::<&String>::new(), "{dialect}: neither compared nor waiting");
        let unknown: Vec<&String> = waiting.difference(&recorded).collect();
        assert_eq!(unknown, Vec::<&String>::new(), "{dialect}: waiting, but not recorded");
    }
}

/// Writes `tests/traces` anew from the folder of recordings that `RECORDINGS` names.
#[test]
#[ignore = "not a test: derives the files that the others read"]
fn derive() {
    let recordings = PathBuf::from(std::env::var_os("RECORDINGS").expect("RECORDINGS names a folder"));
    for (dialect, folder) in RECORDED {
        let target = Path::new("tests/traces").join(dialect);
        fs::create_dir_all(&target).unwrap();
        for file in fs::read_dir(recordings.join(folder)).unwrap() {
            let file = file.unwrap().path();
            let skeleton = Skeleton::new(folder, &records(&file));
            let text = serde_json::to_string_pretty(&skeleton).unwrap() + "\n";
            fs::write(target.join(file.file_stem().unwrap()).with_extension("json"), text).unwrap();
        }
    }
}

fn compare_all(dialect: Dialect) {
    let name = dialect.as_str();
    let (differences, recorded) = (Differences::read(), recorded(name));
    let (mut complaints, mut used) = (Vec::new(), BTreeSet::new());
    for (scenario, options, talk) in SCENARIOS {
        let Some(recorded) = recorded.get(*scenario).filter(|_| !waits(name, scenario)) else { continue };
        let mut host = Host::start(dialect, options);
        talk(&mut host);
        let ours = Skeleton::new(&recorded.of, &host.records());
        let (expected, numbers) = differences.expected(name, scenario, recorded, None);
        for number in &numbers {
            let (without, _) = differences.expected(name, scenario, recorded, Some(*number));
            if without == ours {
                complaints.push(format!("{scenario}: differs no more: {}", differences.0[*number].why));
            }
        }
        used.extend(numbers.into_iter().map(|number| (number, *scenario)));
        if ours != expected {
            complaints.push(format!("{scenario}:\n{}", told(&expected, &ours)));
        }
    }
    for (number, difference) in differences.0.iter().enumerate() {
        let met = |scenario: Option<&str>| {
            used.iter()
                .any(|(other, name)| *other == number && scenario.is_none_or(|scenario| scenario == *name))
        };
        for scenario in difference.must_be_met(name) {
            if !met(scenario) {
                let place = scenario.unwrap_or("anywhere");
                complaints.push(format!("{place}: not what was recorded: {}", difference.why));
            }
        }
    }
    assert!(complaints.is_empty(), "{name}:\n\n{}", complaints.join("\n"));
}

/// What was recorded of a dialect, by scenario.
fn recorded(dialect: &str) -> BTreeMap<String, Skeleton> {
    let files = fs::read_dir(Path::new("tests/traces").join(dialect)).unwrap();
    let read = files.map(|file| {
        let path = file.unwrap().path();
        let skeleton = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), skeleton)
    });
    read.collect()
}

/// For each dialect the scenarios that are not compared, each with what it waits for.
fn waiting() -> BTreeMap<String, BTreeMap<String, String>> {
    serde_json::from_str(&fs::read_to_string("tests/traces/waiting.json").unwrap()).unwrap()
}

fn waits(dialect: &str, scenario: &str) -> bool {
    waiting()[dialect].contains_key(scenario)
}

/// The lines of two skeletons that differ: `-` is expected, `+` is ours.
fn told(expected: &Skeleton, ours: &Skeleton) -> String {
    let mut lines = Vec::new();
    let requests: BTreeSet<&String> = expected.answers.keys().chain(ours.answers.keys()).collect();
    for request in requests {
        let (one, other) = (expected.answers.get(request), ours.answers.get(request));
        if one != other {
            let text =
                |answer: Option<&String>| answer.map_or("not asked", String::as_str).replace(", ", ",\n");
            lines.push(format!("  {request}:\n{}", changes(&text(one), &text(other), 0)));
        }
    }
    if expected.events != ours.events {
        let [one, other] = [expected, ours].map(|skeleton| skeleton.events.join("\n"));
        lines.push(changes(&one, &other, 3));
    }
    lines.join("\n")
}

fn changes(expected: &str, ours: &str, context: usize) -> String {
    similar::TextDiff::from_lines(expected, ours).unified_diff().context_radius(context).to_string()
}
