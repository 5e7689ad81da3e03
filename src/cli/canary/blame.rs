//! The frames that most likely broke a client: those that the dialect it was written for does not have, else the last one.

use pi_rpc_oracle::JudgeOptions;
use pi_rpc_protocol::{Dialect, Outbound, read};
use serde_json::{Value, value::RawValue};
use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

/// The most letters of a frame that are shown.
const SHOWN: usize = 400;

/// The most types of frames that are shown.
const TYPES: usize = 4;

/// The longest line of a recording that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// A line of a recording.
#[derive(serde::Deserialize)]
struct Record {
    dir: String,
    frame: Box<RawValue>,
}

/// The frames, with what the dialect expected in their place.
pub fn frames(recordings: &[PathBuf], dialect: Dialect) -> Option<String> {
    foreign(recordings, dialect).or_else(|| illegal(recordings, dialect)).or_else(|| {
        let last = recordings.iter().rev().find_map(|path| server_frames(path).last())?;
        Some(format!(
            "every frame is legal in {dialect}; the last one before the client gave up:\n{}",
            shown(last.1.get())
        ))
    })
}

/// The first frame of each type that cannot be read in the dialect.
fn foreign(recordings: &[PathBuf], dialect: Dialect) -> Option<String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (_, frame) in recordings.iter().flat_map(|path| server_frames(path)) {
        let Err(error) = read::<Outbound>(frame.get().as_bytes(), dialect) else { continue };
        let kind = serde_json::from_str::<Value>(frame.get()).unwrap_or_default();
        let kind = kind.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if found.len() < TYPES && found.iter().all(|(known, _)| *known != kind) {
            found.push((kind, format!("{error}\n  {}", shown(frame.get()))));
        }
    }
    let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
    (!texts.is_empty()).then(|| {
        format!("frames that {dialect} does not have, the first of each type:\n{}", texts.join("\n"))
    })
}

/// The first frame that the dialect has, but not there.
fn illegal(recordings: &[PathBuf], dialect: Dialect) -> Option<String> {
    recordings.iter().find_map(|path| {
        let options = JudgeOptions { dialect: Some(dialect.into()), timeline: false };
        let mut found =
            options.judge(&path.to_string_lossy(), BufReader::new(File::open(path).ok()?)).findings;
        found.sort_by_key(|found| found.record);
        found.into_iter().find_map(|found| {
            let (_, frame) = server_frames(path).find(|(line, _)| *line == found.record)?;
            let (rule, expected) = (found.rule, found.expected);
            Some(format!(
                "the first frame that {dialect} has otherwise ({rule}: expected {expected}):\n{}",
                shown(frame.get())
            ))
        })
    })
}

/// The frames of the server, each with its line from 1.
fn server_frames(path: &Path) -> impl Iterator<Item = (u64, Box<RawValue>)> {
    let mut file = File::open(path).ok().map(BufReader::new);
    let lines = std::iter::from_fn(move || {
        let mut line = Vec::new();
        let read = file.as_mut()?.take(LONGEST).read_until(b'\n', &mut line);
        matches!(read, Ok(1..)).then_some(line)
    });
    (1..).zip(lines).filter_map(|(number, line)| {
        let record: Record = serde_json::from_slice(&line).ok()?;
        (record.dir == "out").then_some((number, record.frame))
    })
}

fn shown(frame: &str) -> String {
    let text: String = frame.chars().take(SHOWN).collect();
    if text.len() < frame.len() { text + " …" } else { text }
}
