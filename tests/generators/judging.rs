//! Frames for a tool, and its verdicts.

use crate::{
    corpus::{Sample, families, originals, samples},
    frames_common::{Frames, same},
    spoiled::{Spoiled, spoiled},
};
use pi_rpc::{export::json_schema, protocol::Dialect};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// Verdict of a tool about a frame.
#[derive(Debug, Deserialize)]
pub struct Verdict {
    /// Error texts, one for each mistake; empty: valid.
    pub errors: Vec<String>,
    /// The frame as the tool writes it after reading; `None` if it only validates.
    pub written: Option<Value>,
}

/// Abilities of a tool.
pub struct Tool {
    /// Whether one mistake leads to one error, where unions have tags.
    pub has_one_error: bool,
    /// Whether an empty list, or null, is indistinguishable from absence.
    pub drops_empty: bool,
    /// Mistakes that the tool does not detect.
    pub is_blind: fn(&Spoiled) -> bool,
}

impl Tool {
    /// A tool that detects everything.
    pub const EXACT: Self = Self { has_one_error: true, drops_empty: false, is_blind: |_| false };
}

/// The frames of a dialect, good and spoiled.
pub struct Made {
    dialect: Dialect,
    pub samples: Vec<Sample>,
    pub spoiled: Vec<Spoiled>,
}

impl Made {
    fn new(dialect: Dialect) -> Self {
        let mut samples = samples(dialect);
        let spoiled = spoiled(dialect, &samples);
        samples.extend(originals(dialect));
        Self { dialect, samples, spoiled }
    }

    /// Those of each dialect of [`families`], made once.
    fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<Made>> = OnceLock::new();
        ALL.get_or_init(|| families().map(Self::new).collect())
    }
}

/// The frames of a dialect, handed to one tool.
pub struct Bench {
    pub dialect: Dialect,
    pub made: &'static Made,
    /// Where the tool finds `schema.json`, the exported schema as it is, and `frames.jsonl`: `{root, frame}` in each
    /// line, first the good ones; and where it writes what it makes.
    pub folder: PathBuf,
}

impl Bench {
    /// Writes what `tool` is to read.
    pub fn new(tool: &str, dialect: Dialect) -> Self {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("generators").join(tool).join(dialect.as_str());
        fs::create_dir_all(&folder).expect("a folder below target");
        let made = Made::all().iter().find(|made| made.dialect == dialect).expect("a base");
        let good = made.samples.iter().map(|it| json!({ "root": it.root(), "frame": it.frame }));
        let bad = made.spoiled.iter().map(|it| json!({ "root": it.root(), "frame": it.frame }));
        let lines: Vec<String> = good.chain(bad).map(|line| format!("{line}\n")).collect();
        fs::write(folder.join("frames.jsonl"), lines.concat()).expect("frames.jsonl");
        fs::write(folder.join("schema.json"), format!("{:#}\n", json_schema(dialect))).expect("schema.json");
        Self { dialect, made, folder }
    }

    /// Whether the exported schema has that def.
    pub fn has_def(&self, name: &str) -> bool {
        json_schema(self.dialect)["$defs"].get(name).is_some()
    }

    /// A verdict a line, as tools print them.
    pub fn verdicts(&self, printed: &str) -> Vec<Verdict> {
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        printed.lines().map(read).collect()
    }

    /// Checks that every frame is accepted and written unchanged, and every spoiled one refused, as far as the tool
    /// can.
    #[track_caller]
    pub fn judge(&self, verdicts: &[Verdict], tool: &Tool) {
        assert_eq!(
            verdicts.len(),
            self.made.samples.len() + self.made.spoiled.len(),
            "a verdict for each frame"
        );
        let (_, bad) = verdicts.split_at(self.made.samples.len());
        let mut faults = self.faults_of_samples(verdicts, tool.drops_empty);
        for (spoiled, verdict) in self.made.spoiled.iter().zip(bad) {
            let errors = verdict.errors.len();
            let fine = match (tool.is_blind)(spoiled) {
                true => errors == 0,
                false => errors == 1 || errors > 1 && (!tool.has_one_error || spoiled.untagged),
            };
            if !fine {
                let Spoiled { at, mistake, frame, .. } = spoiled;
                faults.push(format!("{at}: {mistake:?}: {frame}\n  gives {verdict:?}"));
            }
        }
        self.report(faults, verdicts.len());
    }

    /// Checks that every frame is accepted and written unchanged, and nothing about spoiled ones.
    #[track_caller]
    pub fn judge_samples(&self, verdicts: &[Verdict], drops_empty: bool) {
        assert!(verdicts.len() >= self.made.samples.len(), "a verdict for each frame");
        self.report(self.faults_of_samples(verdicts, drops_empty), self.made.samples.len());
    }

    fn faults_of_samples(&self, verdicts: &[Verdict], drops_empty: bool) -> Vec<String> {
        let frames = Frames::of(self.dialect);
        let validators = ["Inbound", "Outbound"].map(|root| frames.validator(root));
        let mut faults = Vec::new();
        for (sample, verdict) in self.made.samples.iter().zip(verdicts) {
            let known = |value: &Value| {
                // What lacks a member that was null is no frame any more, and is compared as it is.
                let is_frame =
                    !drops_empty || validators[usize::from(sample.root() == "Outbound")].is_valid(value);
                let known = if is_frame { frames.known_part(sample.root(), value) } else { value.clone() };
                if drops_empty { without_empty(&known) } else { known }
            };
            let altered = |written| !same(&known(written), &known(&sample.frame));
            if !verdict.errors.is_empty() || verdict.written.as_ref().is_some_and(altered) {
                faults.push(format!("{}\n  gives {verdict:?}", sample.frame));
            }
        }
        faults
    }

    #[track_caller]
    fn report(&self, mut faults: Vec<String>, of: usize) {
        let count = faults.len();
        faults.truncate(10);
        assert!(faults.is_empty(), "{}: {count} of {of}:\n{}", self.dialect, faults.join("\n"));
    }
}

/// The value without the empty lists, the empty objects and the nulls in it.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let inner = map.iter().map(|(key, inner)| (key.clone(), without_empty(inner)));
            inner.filter(|(_, inner)| ![json!([]), json!({}), Value::Null].contains(inner)).collect()
        }
        Value::Array(list) => list.iter().map(without_empty).collect(),
        _ => value.clone(),
    }
}

/// The options behind `output` in the line of `generators/README.md` that begins with `program`.
pub fn options(program: &str, output: &str) -> Vec<String> {
    let readme = fs::read_to_string("generators/README.md").expect("generators/README.md");
    let line = readme.lines().find(|line| line.starts_with(program)).expect("a line with the program");
    line.split(' ').skip_while(|word| *word != output).skip(1).map(str::to_owned).collect()
}
