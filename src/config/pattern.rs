//! Finding models by what the user types.

use crate::{
    model::request::Endpoint,
    protocol::{Model, ThinkingLevel},
};
use globset::{GlobBuilder, GlobMatcher};
use std::cmp::Ordering;

/// What a pattern means.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternMatch<'a> {
    /// The model.
    pub endpoint: &'a Endpoint,
    /// The level behind the last colon.
    pub level: Option<ThinkingLevel>,
    /// What was behind the last colon instead of a level, and was left out.
    pub not_a_level: Option<String>,
}

/// What a suffix behind a colon may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// A level, or part of the id.
    Level,
    /// A level; anything else is left out with a warning.
    Anything,
}

/// The model of `among` that `pattern` means: see [`best_match`]; where there is none, the one that the text before the last
/// colon means, if what is behind it may be a suffix.
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
        // What is wrong further in makes the level doubtful, too.
        Some(_) if inner.not_a_level.is_some() => PatternMatch { level: None, ..inner },
        Some(_) => PatternMatch { level, ..inner },
        None => PatternMatch { level: None, not_a_level: Some(back.to_owned()), ..inner },
    })
}

/// The model of `among` that `text` names: exactly, as `provider/id` or as an id that only one has; else the best of
/// those whose id or name contains it, where an alias comes before a dated id, and what sorts last comes first. Case
/// does not count.
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
    // Of equals the first wins, so the last of a search from behind.
    let better = |a: &&&Endpoint, b: &&&Endpoint| {
        let (a, b) = (&a.model, &b.model);
        rank(a).cmp(&rank(b)).then_with(|| collate(&a.id, &b.id))
    };
    partly.rev().max_by(better).copied()
}

/// What hosts and people call a model.
pub fn full_id(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Whether the id ends in a date: `-YYYYMMDD`.
fn is_dated(id: &str) -> bool {
    id.rsplit_once('-')
        .is_some_and(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The order in which pi sorts ids: punctuation, digits, letters; case counts only between equals, small letters first.
fn collate(a: &str, b: &str) -> Ordering {
    const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    let rank = |letter: char| {
        let place = PUNCTUATION.find(letter).unwrap_or(PUNCTUATION.len());
        (place, letter.to_lowercase().next())
    };
    a.chars().map(rank).cmp(b.chars().map(rank)).then_with(|| b.cmp(a))
}

/// Whether `pattern` is a glob.
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

/// The models of `among` that the glob `pattern` matches, by `provider/id` or by id, and the level behind its last
/// colon. Case does not count, `*` stops at a slash, `**` does not; `?`, `[…]`, `[!…]` and `{a,b}` are known. Other than
/// in pi, a name that begins with a dot is nothing special, nor is `!` or `@(…)`.
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

/// `None` where the glob is malformed: nothing matches it.
fn matcher(glob: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(glob).case_insensitive(true).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}
