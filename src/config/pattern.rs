//! Finds models by the user's patterns.

use crate::{
    model::request::Endpoint,
    protocol::{Model, ThinkingLevel},
};
use globset::{GlobBuilder, GlobMatcher};
use std::cmp::Ordering;

/// A model that matches a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternMatch<'a> {
    /// The model.
    pub endpoint: &'a Endpoint,
    /// Thinking level behind the last colon.
    pub level: Option<ThinkingLevel>,
    /// Invalid text behind the last colon, which was ignored.
    pub not_a_level: Option<String>,
}

/// Accepted suffixes behind a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// A level, or part of the id.
    Level,
    /// A level; anything else is ignored with a warning.
    Anything,
}

/// Finds the model of `among` that `pattern` means: the [`best_match`]; without one, the best match of the text
/// before the last colon, if the text behind it may be a suffix.
pub fn find_model<'a>(pattern: &str, among: &[&'a Endpoint], suffix: Suffix) -> Option<PatternMatch<'a>> {
    if let Some(endpoint) = best_match(pattern, among) {
        return Some(PatternMatch { endpoint, level: None, not_a_level: None });
    }
    let (front, back) = pattern.rsplit_once(':')?;
    let level = ThinkingLevel::parse(back);
    if level.is_none() && suffix == Suffix::Level {
        return None;
    }
    let inner = find_model(front, among, suffix)?;
    Some(match level {
        // An invalid inner suffix makes the level doubtful, too.
        Some(_) if inner.not_a_level.is_some() => PatternMatch { level: None, ..inner },
        Some(_) => PatternMatch { level, ..inner },
        None => PatternMatch { level: None, not_a_level: Some(back.to_owned()), ..inner },
    })
}

/// Finds the model of `among` that `text` names: exactly, as `provider/id` or as a unique id; else the best one whose
/// id or name contains it, where an alias precedes a dated id, and the last in order comes first. Case is ignored.
pub fn best_match<'a>(text: &str, among: &[&'a Endpoint]) -> Option<&'a Endpoint> {
    let wanted = text.trim().to_lowercase();
    if !wanted.is_empty() {
        let mut full = among.iter().filter(|endpoint| full_id(&endpoint.model).to_lowercase() == wanted);
        match (full.next(), full.next()) {
            (Some(one), None) => return Some(one),
            (Some(_), Some(_)) => {}
            (None, _) => {
                let mut same = among.iter().filter(|endpoint| endpoint.model.id.to_lowercase() == wanted);
                if let (Some(one), None) = (same.next(), same.next()) {
                    return Some(one);
                }
            }
        }
    }
    let part = text.to_lowercase();
    let contains = |text: &str| text.to_lowercase().contains(&part);
    let partly = among.iter().filter(|it| contains(&it.model.id) || contains(&it.model.name));
    let rank = |model: &Model| !is_dated(&model.id);
    // Among equals the first of the reversed search wins.
    let better = |a: &&&Endpoint, b: &&&Endpoint| {
        let (a, b) = (&a.model, &b.model);
        rank(a).cmp(&rank(b)).then_with(|| collate(&a.id, &b.id))
    };
    partly.rev().max_by(better).copied()
}

/// The full name of a model: `provider/id`.
pub fn full_id(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Whether the id ends in a date: `-YYYYMMDD`.
fn is_dated(id: &str) -> bool {
    id.rsplit_once('-')
        .is_some_and(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Compares ids in pi's order: punctuation, digits, letters; case counts only between equals, small letters first.
fn collate(a: &str, b: &str) -> Ordering {
    const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    let rank = |letter: char| {
        let place = PUNCTUATION.find(letter).unwrap_or(PUNCTUATION.len());
        (place, letter.to_lowercase().next())
    };
    a.chars().map(rank).cmp(b.chars().map(rank)).then_with(|| b.cmp(a))
}

/// Whether `pattern` has glob characters.
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

/// Finds the models of `among` that the glob `pattern` matches, by `provider/id` or by id, and the level behind its
/// last colon. Case is ignored; `*` stops at a slash, `**` does not; `?`, `[…]`, `[!…]` and `{a,b}` are supported.
/// Unlike in pi, a leading dot, `!` and `@(…)` are not special.
pub fn match_glob<'a>(pattern: &str, among: &[&'a Endpoint]) -> (Vec<&'a Endpoint>, Option<ThinkingLevel>) {
    let suffix = pattern.rsplit_once(':').map(|(glob, level)| (glob, ThinkingLevel::parse(level)));
    let (glob, level) = match suffix {
        Some((glob, Some(level))) => (glob, Some(level)),
        _ => (pattern, None),
    };
    let Some(glob) = matcher(glob) else { return (Vec::new(), level) };
    let matches =
        |endpoint: &&&Endpoint| glob.is_match(full_id(&endpoint.model)) || glob.is_match(&endpoint.model.id);
    (among.iter().filter(matches).copied().collect(), level)
}

/// Compiles a glob; `None`: it is malformed and matches nothing.
fn matcher(glob: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(glob).case_insensitive(true).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}
