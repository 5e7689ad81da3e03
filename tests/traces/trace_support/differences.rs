//! Intended differences from the recordings, each with its reason.

use super::Skeleton;
use serde::Deserialize;

/// All intended differences: `tests/traces/differences.json`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Differences(pub Vec<Difference>);

/// An intended difference.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Difference {
    /// Reason for the difference.
    pub why: String,
    dialects: Vec<String>,
    /// Scenarios that must have the difference; by default any one.
    #[serde(default)]
    scenarios: Vec<String>,
    /// Replaced events.
    #[serde(default)]
    events: Option<Change<Vec<String>>>,
    /// Replaced parts of events.
    #[serde(default)]
    in_events: Option<Change<String>>,
    /// Replaced parts of the answers to `requests`, or to any. A `…` at the end stands for the rest of the answer.
    #[serde(default)]
    in_answers: Option<Change<String>>,
    #[serde(default)]
    requests: Vec<String>,
    /// Replaced lines of a session file.
    #[serde(default)]
    file: Option<Change<Vec<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change<T> {
    recorded: T,
    ours: T,
}

impl Differences {
    /// Reads all differences.
    pub fn read() -> Self {
        serde_json::from_str(&std::fs::read_to_string("tests/traces/differences.json").unwrap()).unwrap()
    }

    /// Expected skeleton for `recorded`, and the numbers of the applied differences; leaves out
    /// the difference number `without`.
    pub fn expected(
        &self,
        dialect: &str,
        scenario: &str,
        recorded: &Skeleton,
        without: Option<usize>,
    ) -> (Skeleton, Vec<usize>) {
        let mut expected = recorded.clone();
        let mut used = Vec::new();
        for (number, difference) in self.0.iter().enumerate() {
            let is_meant = difference.concerns(dialect, scenario) && without != Some(number);
            if is_meant && difference.apply(&mut expected) {
                used.push(number);
            }
        }
        (expected, used)
    }
}

impl Difference {
    /// Scenarios of a dialect that must have the difference: the named ones, or else any one.
    pub fn must_be_met(&self, dialect: &str) -> Vec<Option<&str>> {
        match (self.dialects.iter().any(|name| name == dialect), self.scenarios.as_slice()) {
            (false, _) => Vec::new(),
            (true, []) => vec![None],
            (true, scenarios) => scenarios.iter().map(|scenario| Some(scenario.as_str())).collect(),
        }
    }

    fn concerns(&self, dialect: &str, scenario: &str) -> bool {
        let anywhere = self.scenarios.is_empty();
        self.dialects.iter().any(|name| name == dialect)
            && (anywhere || self.scenarios.iter().any(|name| name == scenario))
    }

    /// Applies the difference to a skeleton; returns whether it changed.
    fn apply(&self, skeleton: &mut Skeleton) -> bool {
        let before = skeleton.clone();
        if let Some(Change { recorded, ours }) = &self.events {
            replace_lines(&mut skeleton.events, recorded, ours);
        }
        if let Some(Change { recorded, ours }) = &self.in_events {
            for event in &mut skeleton.events {
                *event = event.replace(recorded, ours);
            }
        }
        if let Some(Change { recorded, ours }) = &self.in_answers {
            let meant = |key: &String| self.requests.is_empty() || self.requests.contains(key);
            for (_, answer) in skeleton.answers.iter_mut().filter(|(key, _)| meant(key)) {
                *answer = match recorded.strip_suffix('…') {
                    Some(start) => match answer.find(start) {
                        Some(at) => format!("{}{ours}", &answer[..at]),
                        None => continue,
                    },
                    None => answer.replace(recorded, ours),
                };
            }
        }
        if let Some(Change { recorded, ours }) = &self.file {
            replace_lines(&mut skeleton.file, recorded, ours);
        }
        *skeleton != before
    }
}

fn replace_lines(lines: &mut Vec<String>, old: &[String], new: &[String]) {
    let mut at = 0;
    while at + old.len() <= lines.len() {
        if lines[at..at + old.len()] == *old {
            lines.splice(at..at + old.len(), new.iter().cloned());
            at += new.len();
        } else {
            at += 1;
        }
    }
}
