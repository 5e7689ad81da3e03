//! The frames that all tools read.

use crate::{frames_common::Frames, made_up::made_up};
use pi_rpc::protocol::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Writer of a frame.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Dir {
    In,
    Out,
}

/// A frame as `generators/frames` has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sample {
    pub dir: Dir,
    pub frame: Value,
}

impl Dir {
    /// The def of what they write.
    pub fn root(self) -> &'static str {
        match self {
            Self::In => "Inbound",
            Self::Out => "Outbound",
        }
    }
}

impl Sample {
    /// The def that it is one of.
    pub fn root(&self) -> &'static str {
        self.dir.root()
    }
}

/// The dialects that are no version or variant of another: their names have no `@`.
pub fn families() -> impl Iterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(|dialect| !dialect.as_str().contains('@'))
}

/// Where the recorded frames of a dialect are kept.
pub fn file(dialect: Dialect) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("generators/frames/{dialect}.jsonl"))
}

/// Frames that this server recorded, one for each shape.
pub fn recorded(dialect: Dialect) -> Vec<Sample> {
    let file = file(dialect);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Recorded frames, and generated ones.
pub fn samples(dialect: Dialect) -> Vec<Sample> {
    [recorded(dialect), made_up(dialect)].concat()
}

/// The recordings of the originals, where there are some: which folder has which dialect.
const ORIGINALS: [(Dialect, &str); 5] = [
    (Dialect::Pi, "pi-0.52.12"),
    (Dialect::Pi1, "pi-1.5.2"),
    (Dialect::Pi1, "pi-1.6.0"),
    (Dialect::Xcsh, "xcsh-19.54.0"),
    (Dialect::Omp, "omp-18.2.3"),
];

/// The frames of real recordings, which are no part of this project, each once: none, but where `RECORDINGS` names
/// their folder. Some hosts are wrong on purpose; what answers their worst is no frame either.
pub fn originals(dialect: Dialect) -> Vec<Sample> {
    let Some(recordings) = std::env::var_os("RECORDINGS") else { return Vec::new() };
    let validator = Frames::of(dialect).validator("Inbound");
    let of_dialect = ORIGINALS.iter().filter(|(other, _)| *other == dialect);
    let folders: Vec<PathBuf> = of_dialect.map(|(_, name)| Path::new(&recordings).join(name)).collect();
    let mut samples = read_folders(&folders);
    samples.retain(|Sample { dir, frame }| match dir {
        Dir::In => validator.is_valid(frame),
        Dir::Out => frame["type"] != "response" || frame["command"].is_string(),
    });
    samples
}

/// The frames of all recordings in these folders, each once.
pub fn read_folders(folders: &[PathBuf]) -> Vec<Sample> {
    let files = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
    });
    let mut seen = BTreeSet::new();
    let mut samples = Vec::new();
    for file in files.collect::<BTreeSet<_>>() {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        samples.extend(text.lines().filter_map(read_record).filter(|it| seen.insert(it.frame.to_string())));
    }
    samples
}

/// Frame of a record; `None` if it has no complete frame.
fn read_record(line: &str) -> Option<Sample> {
    // Half a character as an escape, which no Rust string can hold.
    let record: Value = serde_json::from_str(line).ok()?;
    match record.get("cut") {
        None => serde_json::from_value(record).ok(),
        Some(_) => None,
    }
}
