//! The frames of this server have the same shapes as those of the originals in the same conversation, except for the
//! listed differences. `tests/traces/README.md` describes the files.

use crate::trace_support::{Differences, Entry, Host, RECORDED, SCENARIOS, Skeleton, records};
use pi_rpc::protocol::Dialect;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

#[test]
fn pi_frames_match_recordings() {
    compare_all(Dialect::Pi);
}

#[test]
fn pi_1_frames_match_recordings() {
    compare_all(Dialect::Pi115);
}

#[test]
fn xcsh_frames_match_recordings() {
    compare_all(Dialect::Xcsh);
}

#[test]
fn omp_frames_match_recordings() {
    compare_all(Dialect::Omp);
}

#[test]
fn every_recording_is_compared_or_waiting() {
    let mut all = BTreeSet::new();
    for dialect in RECORDED.map(|(dialect, _)| dialect.as_str()) {
        let recorded: BTreeSet<String> = recorded(dialect).into_keys().collect();
        let has_talk = |name: &str| SCENARIOS.iter().any(|entry| entry.name == name);
        let lost: Vec<&String> =
            recorded.iter().filter(|name| !has_talk(name) && !waits(dialect, name)).collect();
        assert_eq!(lost, Vec::<&String>::new(), "{dialect}: neither compared nor waiting");
        let waiting = waiting().remove(dialect).unwrap();
        let unknown: Vec<&String> = waiting.keys().filter(|name| !recorded.contains(*name)).collect();
        assert_eq!(unknown, Vec::<&String>::new(), "{dialect}: waiting, but not recorded");
        all.extend(recorded);
    }
    let unknown: Vec<&str> =
        SCENARIOS.iter().map(|entry| entry.name).filter(|name| !all.contains(*name)).collect();
    assert_eq!(unknown, Vec::<&str>::new(), "never recorded");
}

/// Writes `tests/traces` anew from the folder of recordings that `RECORDINGS` names.
#[test]
#[ignore = "not a test: derives the files that the others read"]
fn derive() {
    let recordings = PathBuf::from(std::env::var_os("RECORDINGS").expect("RECORDINGS names a folder"));
    for (dialect, folder) in RECORDED {
        let target = Path::new("tests/traces").join(dialect.as_str());
        fs::create_dir_all(&target).unwrap();
        for file in fs::read_dir(recordings.join(folder)).unwrap() {
            let file = file.unwrap().path();
            let skeleton = Skeleton::new(folder, &records(&file), dialect.record().defaults.retry_base_ms);
            let skeleton = skeleton.without_numbers(own_numbers(dialect));
            let text = serde_json::to_string_pretty(&skeleton).unwrap() + "\n";
            fs::write(target.join(file.file_stem().unwrap()).with_extension("json"), text).unwrap();
        }
    }
}

/// How many scenarios run at once; most of them wait for something most of the time.
const AT_ONCE: usize = 8;

fn compare_all(dialect: Dialect) {
    let name = dialect.as_str();
    let (recorded, differences) = (recorded(name), Differences::read());
    let compared: Vec<_> = SCENARIOS
        .iter()
        .filter(|entry| recorded.contains_key(entry.name) && !waits(name, entry.name))
        .collect();
    let mut complaints = Vec::new();
    let mut met = BTreeSet::new();
    for (entry, ours) in compared.iter().zip(had(dialect, &compared)) {
        let scenario = entry.name;
        let recorded = &recorded[scenario];
        let (expected, numbers) = differences.expected(name, scenario, recorded, None);
        let needless = numbers.iter().filter(|number| {
            let (without, _) = differences.expected(name, scenario, recorded, Some(**number));
            ours.as_ref().is_some_and(|ours| ours.says_the_same(&without))
        });
        complaints.extend(
            needless.map(|number| format!("{scenario}: differs no more: {}", differences.0[*number].why)),
        );
        met.extend(numbers.iter().map(|number| (*number, scenario)));
        match ours {
            None => complaints.push(format!("{scenario}: broke off; its panic is told above")),
            Some(ours) if ours.says_the_same(&expected) => {}
            Some(ours) => complaints.push(format!("{scenario}:\n{}", told(&expected, &ours))),
        }
    }
    for (number, difference) in differences.0.iter().enumerate() {
        let is_met = |place: Option<&str>| {
            met.iter()
                .any(|(other, scenario)| *other == number && place.is_none_or(|place| place == *scenario))
        };
        let never = difference.must_be_met(name).into_iter().filter(|place| !is_met(*place));
        // What waits is not met yet.
        let never = never.filter(|place| match place {
            Some(scenario) => !waits(name, scenario),
            None => waiting()[name].is_empty(),
        });
        complaints.extend(never.map(|place| {
            let place = place.unwrap_or("anywhere");
            format!("{place}: no such difference to what was recorded: {}", difference.why)
        }));
    }
    assert!(complaints.is_empty(), "{name}:\n\n{}", complaints.join("\n"));
}

/// Has these conversations, some at a time; nothing comes of one that breaks off.
fn had(dialect: Dialect, scenarios: &[&Entry]) -> Vec<Option<Skeleton>> {
    let next = AtomicUsize::new(0);
    let had = Mutex::new(vec![None; scenarios.len()]);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Relaxed)
                    && let Some(entry) = scenarios.get(number)
                {
                    let ours = catch_unwind(|| {
                        let mut host = Host::start(dialect, entry);
                        entry.talk(&mut host);
                        let ours = Skeleton::new("pi-rpc", &host.records(), entry.retry_base(dialect));
                        ours.without_numbers(own_numbers(dialect))
                    });
                    had.lock().unwrap()[number] = ours.ok();
                }
            });
        }
    });
    had.into_inner().unwrap()
}

/// Members of answers whose numbers are the server's own: omp counts its system prompt and its tools as context.
const fn own_numbers(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Omp => &["percent", "tokens"],
        _ => &[],
    }
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
    for (one, other) in [(&expected.events, &ours.events), (&expected.file, &ours.file)] {
        if one != other {
            lines.push(changes(&one.join("\n"), &other.join("\n"), 3));
        }
    }
    lines.join("\n")
}

fn changes(expected: &str, ours: &str, context: usize) -> String {
    let diff = similar::TextDiff::from_lines(expected, ours);
    diff.unified_diff().context_radius(context).missing_newline_hint(false).to_string()
}
