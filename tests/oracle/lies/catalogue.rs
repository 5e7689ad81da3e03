//! The catalogue of lies.

use super::wide::Step;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// A promise of the protocol, and a server that does not keep it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lie {
    pub number: u32,
    /// Where the promise stands in the pages about the protocol.
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
    /// The rules of which each dialect's lie is told by some.
    #[serde(default)]
    pub found: Vec<String>,
    /// Why nothing tells it, by dialect.
    #[serde(default)]
    pub not_found: BTreeMap<String, String>,
    /// The dialects in which no rule tells it yet.
    #[serde(default)]
    pending: Vec<String>,
    /// What it is about: the file that it stands in.
    #[serde(skip)]
    pub area: String,
}

fn every() -> Vec<String> {
    super::DIALECTS.map(str::to_owned).to_vec()
}

/// What is called otherwise in a dialect: the name here, in `pi`, in `pi-1`, in `xcsh`.
const NAMES: [(&str, [&str; 3]); 6] = [
    ("$pending", ["pendingMessageCount", "pendingMessageCount", "queuedMessageCount"]),
    ("$fork_messages", ["get_fork_messages", "get_fork_messages", "get_branch_messages"]),
    ("$fork", ["fork", "fork", "branch"]),
    ("$compaction_start", ["auto_compaction_start", "compaction_start", "auto_compaction_start"]),
    ("$compaction_end", ["auto_compaction_end", "compaction_end", "auto_compaction_end"]),
    // The last event of a run.
    ("$over", ["agent_end", "agent_settled", "agent_end"]),
];

impl Lie {
    pub fn is_for(&self, dialect: &str) -> bool {
        self.dialects.iter().any(|name| name == dialect)
    }

    pub fn dialect_count(&self) -> usize {
        self.dialects.len()
    }

    pub fn is_pending(&self, dialect: &str) -> bool {
        self.pending.iter().any(|name| name == dialect)
    }

    /// The steps, in the words of a dialect. `{2}` is an index in a list that a system message opens where there is one.
    pub fn steps(&self, dialect: &str) -> Vec<Step> {
        let column = super::DIALECTS.iter().position(|name| *name == dialect).expect("a dialect");
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/lies").join(name)
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// All lies, in order. They are read when the test runs: writing one takes no compiler.
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
