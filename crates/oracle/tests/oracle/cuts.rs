//! Recordings that begin in the middle yield no finding that the whole recording does not.
//!
//! A sample of the places is tried; `PI_RPC_THOROUGH=1` tries all.

use crate::{
    lies,
    mutation_support::{dialect, names, read, recorded},
};
use pi_rpc_machine::Rule;
use pi_rpc_oracle::{Judge, View};
use pi_rpc_protocol::Dialect;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
};

/// Every how many records a recording is cut, where only a sample is tried.
const SAMPLE: usize = 13;

/// How many places a recording of the originals is cut at.
const PLACES: usize = 20;

/// Rules about the order of frames. They take the first record for the beginning of the conversation, so that they
/// object to what they have not seen begin.
const FROM_THE_BEGINNING: [Rule; 22] = [
    Rule::RespKnownId,
    Rule::Lives,
    Rule::UpdateInAssistant,
    Rule::RunNesting,
    Rule::StreamingFlag,
    Rule::ReadyFirst,
    Rule::Settled,
    Rule::QueueCount,
    Rule::CompactionPairs,
    Rule::RetryPairs,
    Rule::QueueTold,
    Rule::RetryEndPlace,
    Rule::HostAnswerOnce,
    Rule::FileTree,
    Rule::BashUpdates,
    Rule::HostToolOpen,
    Rule::HostCallWindow,
    Rule::DispositionTrue,
    Rule::CompactionTold,
    Rule::SummaryRetry,
    Rule::HostCancel,
    Rule::HostLine,
];

#[test]
fn cut_recordings_have_no_additional_finding() {
    let thorough = std::env::var_os("PI_RPC_THOROUGH").is_some_and(|value| value == "1");
    // The command of the session change that ends its run is cut off, so that its response is of nothing.
    let lies = lies::recordings().into_iter().filter(|name| name != "omp/queue-cleared");
    let recordings = names().into_iter().chain(lies).map(|name| {
        let lines = recorded(&name).iter().map(ToString::to_string).collect();
        (dialect(&name), name, lines)
    });
    let recordings: Vec<Recording> = recordings.collect();
    // The places differ from recording to recording, so that a sample of all has each kind.
    let places = |(_, name, lines): &Recording| {
        let (first, step) = if thorough { (1, 1) } else { (1 + name.len() % SAMPLE, SAMPLE) };
        (first..lines.len()).step_by(step).collect()
    };
    let news = all_news(&recordings, &places);
    assert!(news.is_empty(), "{} findings in what was cut:\n{}", news.len(), news.join("\n"));
}

#[test]
#[ignore = "RECORDINGS names the folder that has them"]
fn cut_originals_have_no_other_finding() {
    let folder = PathBuf::from(std::env::var_os("RECORDINGS").expect("RECORDINGS names a folder"));
    let folders = [
        (Dialect::Pi, "pi-0.52.12"),
        (Dialect::Pi115, "pi-1.5.2"),
        (Dialect::Pi1, "pi-1.6.0"),
        (Dialect::Xcsh, "xcsh-19.54.0"),
        (Dialect::Omp, "omp-18.2.3"),
    ];
    let recordings: Vec<Recording> =
        folders.iter().flat_map(|(dialect, name)| given(*dialect, &folder.join(name))).collect();
    let places = |(_, _, lines): &Recording| {
        let step = lines.len().div_ceil(PLACES).max(1);
        (1..lines.len()).step_by(step).collect()
    };
    let news = all_news(&recordings, &places);
    assert!(news.is_empty(), "{} findings in what was cut:\n{}", news.len(), news.join("\n"));
}

/// A recording: its dialect, name and lines.
type Recording = (Dialect, String, Vec<String>);

fn given(dialect: Dialect, folder: &Path) -> Vec<Recording> {
    let files = fs::read_dir(folder).expect("a folder of recordings");
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("a recording");
        (dialect, file.display().to_string(), text.lines().map(str::to_owned).collect())
    };
    files.map(|file| read(file.expect("a file").path())).collect()
}

/// What is found of the recordings only where their beginning is missing.
fn all_news(recordings: &[Recording], places: &(dyn Fn(&Recording) -> Vec<usize> + Sync)) -> Vec<String> {
    let half = recordings.len() / 2;
    thread::scope(|scope| {
        let parts = [&recordings[..half], &recordings[half..]].map(|part| {
            scope.spawn(move || part.iter().flat_map(|it| news(it, &places(it))).collect::<Vec<_>>())
        });
        parts.into_iter().flat_map(|part| part.join().expect("findings")).collect()
    })
}

/// What is found of one recording only where its beginning is missing: each rule once, with the first such cut.
fn news(recording: &Recording, places: &[usize]) -> Vec<String> {
    let whole = findings(recording, 0);
    let mut news: BTreeMap<Rule, String> = BTreeMap::new();
    for cut in places {
        for (rule, record, text) in findings(recording, *cut) {
            let known = whole.iter().any(|(known, at, _)| (*known, *at) == (rule, record));
            if !known && !FROM_THE_BEGINNING.contains(&rule) {
                let name = &recording.1;
                let text = format!("{name} without its first {cut}: record {}: {text}", record + 1);
                news.entry(rule).or_insert(text);
            }
        }
    }
    news.into_values().collect()
}

/// What is found behind a cut: the rule, the record in the whole, the text.
fn findings((dialect, _, lines): &Recording, cut: usize) -> Vec<(Rule, usize, String)> {
    let mut judge = Judge::new(*dialect, View::Both);
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(cut) {
        let told = judge.observe(&read(line));
        found.extend(told.into_iter().map(|it| (it.violation.rule, at, it.violation.to_string())));
    }
    let end = judge.finish().into_iter();
    found.extend(end.map(|it| (it.violation.rule, lines.len(), it.violation.to_string())));
    found
}
