//! Globs over the names of models, and their order.

use globset::{GlobBuilder, GlobMatcher};
use pi_rpc_model::request::Endpoint;
use pi_rpc_protocol::{Model, ThinkingLevel};
use std::cmp::Ordering;

/// Accepted suffixes behind a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// None: all of the text is the name.
    None,
    /// A level, or part of the id.
    Level,
    /// A level; anything else is ignored with a warning.
    Anything,
}

/// Whether the id or the name of a model contains `part`, which is in small letters.
pub fn is_partly(model: &Model, part: &str) -> bool {
    model.id.to_lowercase().contains(part) || model.name.to_lowercase().contains(part)
}

/// The best of models that match a part of a name: an alias precedes a dated id, and the last in order comes first.
pub fn best_match<'a>(matches: &[&'a Endpoint]) -> Option<&'a Endpoint> {
    // Among equals the first of the reversed search wins.
    let better = |a: &&&Endpoint, b: &&&Endpoint| {
        let (a, b) = (&a.model, &b.model);
        let by_age = (!is_dated(&a.id)).cmp(&!is_dated(&b.id));
        by_age.then_with(|| collate(&a.id, &b.id))
    };
    matches.iter().rev().max_by(better).copied()
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
pub fn collate(a: &str, b: &str) -> Ordering {
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

/// Splits off the thinking level behind the last colon.
pub fn without_level(pattern: &str) -> (&str, Option<ThinkingLevel>) {
    match pattern.rsplit_once(':').map(|(front, level)| (front, ThinkingLevel::parse(level))) {
        Some((front, Some(level))) => (front, Some(level)),
        _ => (pattern, None),
    }
}

/// Finds the models of `among` that a glob matches, by `provider/id` or by id. Case is ignored; `*` stops at a slash,
/// `**` does not; `?`, `[…]`, `[!…]` and `{a,b}` are supported. Unlike in pi, a leading dot, `!` and `@(…)` are not
/// special.
pub fn match_glob<'a>(glob: &str, among: &[&'a Endpoint]) -> Vec<&'a Endpoint> {
    let Some(glob) = matcher(glob) else { return Vec::new() };
    let matches =
        |endpoint: &&&Endpoint| glob.is_match(full_id(&endpoint.model)) || glob.is_match(&endpoint.model.id);
    among.iter().filter(matches).copied().collect()
}

/// The models that a client may use: globs with a slash over `provider/id`, others over the id. Unlike for [`match_glob`],
/// an id that looks like another provider's model does not match.
#[derive(Clone, Debug)]
pub struct ModelFilter {
    full: Vec<GlobMatcher>,
    ids: Vec<GlobMatcher>,
}

impl ModelFilter {
    /// Admits the models that one of the globs matches. A malformed one matches nothing.
    pub fn new(globs: &[String]) -> Self {
        let (full, ids): (Vec<&String>, Vec<&String>) = globs.iter().partition(|glob| glob.contains('/'));
        let matchers = |globs: Vec<&String>| globs.into_iter().filter_map(|glob| matcher(glob)).collect();
        Self { full: matchers(full), ids: matchers(ids) }
    }

    /// Whether the model may be used.
    pub fn admits(&self, model: &Model) -> bool {
        self.admits_named(&model.provider, &model.id)
    }

    /// Whether the model with this provider and id may be used.
    pub fn admits_named(&self, provider: &str, id: &str) -> bool {
        let full = format!("{provider}/{id}");
        self.full.iter().any(|glob| glob.is_match(&full)) || self.ids.iter().any(|glob| glob.is_match(id))
    }
}

/// Compiles a glob; `None`: it is malformed and matches nothing.
fn matcher(glob: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(glob).case_insensitive(true).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_matches_full_names_and_ids() {
        let globs = ["anthropic/*", "gpt-5*", "[", "openrouter/**"].map(str::to_owned);
        let filter = ModelFilter::new(&globs);
        for (provider, id, is_admitted) in [
            ("anthropic", "claude-opus-4-5", true),
            ("bedrock", "claude-opus-4-5", false),
            ("openai", "gpt-5-mini", true),
            ("openai", "gpt-4", false),
            ("openrouter", "meta/llama", true),
            ("other", "anthropic/x", false),
            ("other", "meta/gpt-5", false),
            ("[", "[", false),
        ] {
            assert_eq!(filter.admits_named(provider, id), is_admitted, "{provider}/{id}");
        }
        assert!(!ModelFilter::new(&[]).admits_named("anthropic", "claude-opus-4-5"));
    }
}
