//! Which records a list shows: filters over facts and texts, and the positions of the matches.

use super::{facts::RecordFacts, index::Index};
use pi_rpc_recording::Direction;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

/// The filter of a request, as its query has it. Lists are separated by commas; everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FilterQuery {
    dir: Option<String>,
    /// Types, or kinds with their parentheses.
    kind: Option<String>,
    /// Types or kinds that are left out.
    hide: Option<String>,
    /// `1`: of updates of one message or call that follow one another, only the first. Where texts are searched, all.
    fold: Option<String>,
    /// `1`: only records with findings.
    findings: Option<String>,
    /// `1`: only records that change the state.
    changes: Option<String>,
    item: Option<u32>,
    session: Option<String>,
    id: Option<String>,
    text: Option<String>,
    regex: Option<String>,
}

/// A filter, and its matches as far as the recording was scanned.
pub struct FilterView {
    query: FilterQuery,
    directions: Option<Vec<Direction>>,
    kinds: Option<Vec<String>>,
    hidden: Vec<String>,
    patterns: Vec<Regex>,
    scanned: u32,
    matches: Vec<u32>,
}

/// The largest compiled pattern, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

impl FilterQuery {
    /// Whether every record matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl FilterView {
    /// Compiles a filter.
    ///
    /// # Errors
    ///
    /// A direction is unknown, or the pattern is none.
    pub fn new(query: FilterQuery) -> Result<Self, String> {
        let list = |text: &str| text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let direction = |word: String| match word.as_str() {
            "in" => Ok(Direction::In),
            "out" => Ok(Direction::Out),
            "err" => Ok(Direction::Err),
            "meta" => Ok(Direction::Meta),
            _ => Err(format!("dir={word}: expected in, out, err or meta")),
        };
        let directions = query.dir.as_deref().map(|text| -> Vec<String> { list(text) });
        let directions = directions.map(|words| words.into_iter().map(direction).collect()).transpose()?;
        let mut patterns = Vec::new();
        let literals = [query.text.clone(), query.id.as_ref().map(|id| format!("\"id\":\"{id}\""))];
        for literal in literals.into_iter().flatten().filter(|text| !text.is_empty()) {
            patterns.push(pattern(&regex::escape(&literal), true)?);
        }
        if let Some(regex) = query.regex.as_deref().filter(|text| !text.is_empty()) {
            patterns.push(pattern(regex, false)?);
        }
        Ok(Self {
            directions,
            kinds: query.kind.as_deref().map(list),
            hidden: query.hide.as_deref().map(list).unwrap_or_default(),
            patterns,
            query,
            scanned: 0,
            matches: Vec::new(),
        })
    }

    /// The query that it was made from.
    pub const fn query(&self) -> &FilterQuery {
        &self.query
    }

    /// Whether a row stands for all updates that continue it.
    pub const fn folds(&self) -> bool {
        self.query.fold.is_some() && !self.needs_texts()
    }

    /// Whether texts are needed besides facts.
    pub const fn needs_texts(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// Whether the text of a record matches.
    pub fn matches_text(&self, text: &[u8]) -> bool {
        self.patterns.iter().all(|pattern| pattern.is_match(text))
    }

    /// The numbers of the records that match so far, in ascending order.
    pub fn matches(&self) -> &[u32] {
        &self.matches
    }

    /// The number of records that were scanned.
    pub const fn scanned(&self) -> u32 {
        self.scanned
    }

    /// The next records whose facts match, at most `count` of them, and the number of records that are scanned then.
    pub fn candidates(&self, index: &Index, count: u32) -> (Vec<(u32, RecordFacts)>, u32) {
        let names = index.names();
        let chosen = |list: &[String]| -> Vec<bool> {
            names.iter().map(|(_, name)| list.iter().any(|wanted| wanted == name)).collect()
        };
        let kinds = self.kinds.as_deref().map(chosen);
        let hidden = chosen(&self.hidden);
        let has = |set: &[bool], facts: &RecordFacts| {
            [facts.kind, facts.name].iter().any(|name| set.get(usize::from(*name)) == Some(&true))
        };
        let session = self.query.session.as_deref();
        let to = self.scanned.saturating_add(count).min(index.len());
        let found = (self.scanned + 1..=to).filter_map(|number| {
            let facts = index.record(number)?;
            let holds = self.directions.as_ref().is_none_or(|all| all.contains(&facts.direction()))
                && kinds.as_ref().is_none_or(|kinds| has(kinds, facts))
                && !has(&hidden, facts)
                && !(self.folds() && index.continues(number))
                && (self.query.changes.is_none() || index.is_transition(number))
                && (self.query.findings.is_none() || index.findings_about(number, number).next().is_some())
                && self.query.item.is_none_or(|item| facts.item() == Some(item))
                && session.is_none_or(|session| names.name(facts.session) == session);
            holds.then_some((number, *facts))
        });
        (found.collect(), to)
    }

    /// Adds matches, up to the record `scanned`.
    pub fn add(&mut self, matches: impl IntoIterator<Item = u32>, scanned: u32) {
        self.matches.extend(matches);
        self.scanned = scanned;
    }
}

fn pattern(text: &str, ignores_case: bool) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    builder.case_insensitive(ignores_case).size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE);
    builder.build().map_err(|error| format!("regex: {error}"))
}
