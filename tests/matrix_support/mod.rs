//! The matrix of requests: each model of the catalogue, at each of its levels, in each conversation of
//! `tests/as_pi/request_matrix/cases.json`. What pi-ai sends for it comes as lines; ours is made here, and compared member by
//! member.
#![allow(dead_code)] // each test binary uses its part

mod compare;
mod ours;

use compare::differences;
use ours::Asked;
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// What pi sends for one model, level and conversation.
#[derive(Deserialize)]
pub struct Line {
    pub provider: String,
    pub model: String,
    pub level: String,
    /// Number of levels that the model has.
    pub levels: usize,
    pub conversation: String,
    /// The address; `None`: pi's library of the vendor sends by itself.
    pub url: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// The body; null: pi refuses to send one.
    #[serde(default)]
    pub body: Value,
    /// Why pi refuses to send a request.
    pub refused: Option<String>,
}

/// The folder of the cases and of the recorded sample.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/as_pi/request_matrix")
}

/// The cases.
pub fn cases() -> Value {
    let text = fs::read_to_string(folder().join("cases.json")).expect("the cases");
    serde_json::from_str(&text).expect("JSON")
}

/// What a comparison has seen.
#[derive(Default)]
pub struct Matrix {
    requests: usize,
    models: BTreeSet<(String, String)>,
    levels: BTreeSet<(String, String, String)>,
    conversations: BTreeSet<String>,
    /// Levels that pi refuses to ask for, as `provider/model at level`.
    refused: BTreeSet<String>,
    /// Requests that differ in a member, by API and member.
    meant: BTreeMap<(String, &'static str), (usize, &'static str)>,
    /// Members that differ and are not listed: how often, and the first case.
    wrong: BTreeMap<(String, String), (usize, String)>,
}

impl Matrix {
    /// Compares one request with ours.
    pub fn add(&mut self, asked: &Asked, line: &Line) {
        let name = format!("{}/{} at {}, {}", line.provider, line.model, line.level, line.conversation);
        self.requests += 1;
        self.models.insert((line.provider.clone(), line.model.clone()));
        self.levels.insert((line.provider.clone(), line.model.clone(), line.level.clone()));
        self.conversations.insert(line.conversation.clone());
        let (api, ours) = asked.request(line);
        if line.refused.is_some() {
            self.refused.insert(format!("{}/{} at {}", line.provider, line.model, line.level));
            return;
        }
        for (member, text) in differences(line, &ours) {
            match compare::meant(&api, line, &member) {
                Some((known, why)) => {
                    self.meant.entry((api.clone(), known)).or_insert((0, why)).0 += 1;
                }
                None => {
                    let known = self.wrong.entry((api.clone(), member)).or_default();
                    known.0 += 1;
                    if known.0 == 1 {
                        known.1 = format!("{name}: {text}");
                    }
                }
            }
        }
    }

    /// What was compared, and the differences that are meant.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{} requests: {} models at {} levels in {} conversations\n",
            self.requests,
            self.models.len(),
            self.levels.len(),
            self.conversations.len()
        );
        for level in &self.refused {
            let _ = writeln!(text, "{level}: pi refuses it with an error of its own");
        }
        for ((api, member), (count, why)) in &self.meant {
            let _ = writeln!(text, "{api} {member}: {count} times: {why}");
        }
        text
    }

    /// Fails with what differs and is not listed.
    pub fn check(&self) {
        let mut text = String::new();
        for ((api, member), (count, first)) in &self.wrong {
            let _ = writeln!(text, "{api} {member}: {count} times, first {first}");
        }
        assert!(self.wrong.is_empty(), "{}{text}", self.summary());
    }

    /// Number of models and of levels.
    pub fn size(&self) -> (usize, usize) {
        (self.models.len(), self.levels.len())
    }
}

pub use ours::Asked as OurRequests;
