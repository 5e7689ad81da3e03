//! Cases, as their files have them.

use super::folder;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fs, path::PathBuf};

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Topic {
    /// What the topic is about.
    #[serde(rename = "about")]
    _about: String,
    runs: Vec<Run>,
}

/// A process, and the cases that it is asked in turn.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub name: String,
    /// Files, by their path from the folder that has `home` and `project`; see [`super::layout`].
    #[serde(default)]
    pub files: Map<String, Value>,
    /// Members of the user's settings, besides the model.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Members of the model of the scripted vendor.
    #[serde(default)]
    pub model: Map<String, Value>,
    /// Options behind `--mode rpc`.
    #[serde(default)]
    pub options: Vec<String>,
    /// The whole command line instead: the process runs to its end, with `stdin` as its input.
    pub arguments: Option<Vec<String>>,
    #[serde(default)]
    pub stdin: String,
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// A program that pi needs for it: without it the run is not played with pi.
    pub needs: Option<String>,
    /// Turns of the scripted model, before those of the cases.
    #[serde(default)]
    pub turns: Vec<Value>,
    pub cases: Vec<Case>,
}

/// Something to do, and what to observe of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// A tool that the model calls, and its arguments.
    pub call: Option<(String, Value)>,
    /// A prompt.
    pub prompt: Option<String>,
    /// A command of the protocol.
    pub command: Option<Value>,
    /// What is observed; absent: the result of the call, the text that the model gets, or the data of the response.
    #[serde(default)]
    pub see: Vec<String>,
}

/// Names of the cases of a run.
pub fn names((topic, run): &(String, Run)) -> Vec<String> {
    run.cases.iter().map(|case| format!("{topic}/{}/{}", run.name, case.name)).collect()
}

/// All runs, each with the name of its topic.
pub fn runs() -> Vec<(String, Run)> {
    let entries = fs::read_dir(folder().join("cases")).expect("cases");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let runs = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a file of cases");
        let topic: Topic =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        topic.runs.into_iter().map(move |run| (name.clone(), run))
    };
    paths.into_iter().flat_map(runs).collect()
}
