//! The catalogue of lies.

use super::wide::Step;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// A promise of the protocol, and how a server breaks it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lie {
    pub number: u32,
    /// The place of the promise in the documents of the protocol.
    #[serde(rename = "place")]
    _place: String,
    #[serde(rename = "promise")]
    _promise: String,
    /// What the server does instead.
    pub lie: String,
    #[serde(default = "every")]
    dialects: Vec<String>,
    pub recording: String,
    #[serde(rename = "do")]
    steps: Value,
    /// The rules that find the lie, some of them in each dialect.
    #[serde(default)]
    pub found: Vec<String>,
    /// The reason why no rule can find the lie, by dialect.
    #[serde(default)]
    pub not_found: BTreeMap<String, String>,
    /// The dialects in which no rule finds the lie yet.
    #[serde(default)]
    pending: Vec<String>,
    /// The area: the name of the file.
    #[serde(skip)]
    pub area: String,
}

fn every() -> Vec<String> {
    super::DIALECTS.map(str::to_owned).to_vec()
}

/// Names that differ between dialects: the name here, in `pi`, in `pi-1`, in `xcsh` and `omp`.
const NAMES: [(&str, [&str; 3]); 6] = [
    ("$pending", ["pendingMessageCount", "pendingMessageCount", "queuedMessageCount"]),
    ("$fork_messages", ["get_fork_messages", "get_fork_messages", "get_branch_messages"]),
    ("$fork", ["fork", "fork", "branch"]),
    ("$compaction_start", ["auto_compaction_start", "compaction_start", "auto_compaction_start"]),
    ("$compaction_end", ["auto_compaction_end", "compaction_end", "auto_compaction_end"]),
    // The last event of a run.
    ("$over", ["agent_end", "agent_settled", "agent_end"]),
];

/// Whether a list of dialects contains this one. As in the schema, `xcsh` includes `omp` unless there is `!omp`.
pub fn includes(names: &[String], dialect: &str) -> bool {
    let contains = |wanted: &str| names.iter().any(|name| name == wanted);
    contains(dialect) || dialect == "omp" && contains("xcsh") && !contains("!omp")
}

impl Lie {
    pub fn is_for(&self, dialect: &str) -> bool {
        includes(&self.dialects, dialect)
    }

    pub fn dialect_count(&self) -> usize {
        super::DIALECTS.into_iter().filter(|dialect| self.is_for(dialect)).count()
    }

    pub fn is_pending(&self, dialect: &str) -> bool {
        self.pending.iter().any(|name| name == dialect)
    }

    /// The steps with the names of a dialect. `{2}` is an index in a list that begins with a system message, if there is one.
    pub fn steps(&self, dialect: &str) -> Vec<Step> {
        let column = super::DIALECTS.iter().position(|name| *name == dialect).expect("a dialect").min(2);
        let mut text = self.steps.to_string();
        for (name, names) in NAMES {
            text = text.replace(name, names[column]);
        }
        let shift = usize::from(dialect == "pi-1");
        for index in 0..20 {
            text = text.replace(&format!("{{{index}}}"), &(index + shift).to_string());
        }
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("lie {}: {error}", self.number))
    }
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/lies").join(name)
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// All lies, in order. They are read when the test runs, so that adding one takes no compilation.
pub fn lies() -> Vec<Lie> {
    let mut lies = Vec::new();
    for path in files(&folder("catalogue")) {
        let text = fs::read_to_string(&path).expect("a catalogue");
        let read: Vec<Lie> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let area = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        lies.extend(read.into_iter().map(|lie| Lie { area: area.clone(), ..lie }));
    }
    lies.sort_by_key(|lie| lie.number);
    lies
}

/// The recordings that were made for lies: `dialect/name`.
pub fn recordings() -> Vec<String> {
    let mut names = Vec::new();
    for dialect in super::DIALECTS {
        for path in files(&folder("recordings").join(dialect)) {
            names.push(format!(
                "{dialect}/{}",
                path.file_stem().and_then(|name| name.to_str()).expect("a name")
            ));
        }
    }
    names
}
