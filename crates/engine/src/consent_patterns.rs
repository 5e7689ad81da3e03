//! Patterns of tools whose calls need the host's consent (`--confirm-tools`).

use globset::{Glob, GlobMatcher};
use std::collections::BTreeSet;

/// The patterns of `--confirm-tools`, and which tools the host has allowed for good.
#[derive(Debug, Default)]
pub struct ConsentPatterns {
    pub(super) patterns: Vec<Pattern>,
    /// Patterns that no tool has matched yet; while there are any, every call needs consent.
    pub(super) unmatched: Vec<Pattern>,
    /// Whether the host was notified of [`Self::unmatched`].
    pub(super) reported: bool,
    /// Names of the tools that the host has allowed for the rest of this session.
    pub(super) allowed: BTreeSet<String>,
    /// Whether permissions for good are stored, so that [`Self::allowed`] stays empty.
    pub(super) has_store: bool,
}

/// The name of a tool, or a glob over such names. Case counts.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(super) text: String,
    /// The compiled glob; `None`: the text is a plain name.
    glob: Option<GlobMatcher>,
}

impl Pattern {
    /// Reads a name, or a glob of `*`, `?` and `[…]`.
    ///
    /// # Errors
    ///
    /// What is wrong with the glob.
    pub fn new(text: &str) -> Result<Self, String> {
        let is_glob = text.contains(['*', '?', '[', '{']);
        let glob = is_glob.then(|| Glob::new(text)).transpose();
        let glob = glob.map_err(|error| error.kind().to_string())?;
        Ok(Self { text: text.to_owned(), glob: glob.map(|glob| glob.compile_matcher()) })
    }

    /// Whether the pattern matches the tool `name`.
    pub fn matches(&self, name: &str) -> bool {
        self.glob.as_ref().map_or(self.text == name, |glob| glob.is_match(name))
    }
}

/// Suggests the name of `known` that a misspelt `name` stands for: the same in another case, or the nearest of those
/// that differ in at most two letters that are missing, too many, wrong or exchanged.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let distance = |it: &str| strsim::damerau_levenshtein(&lower, &it.to_lowercase());
    let near = known.into_iter().map(|it| (distance(it), it));
    // Short names would match almost anything.
    near.filter(|(distance, it)| *distance <= 2 && 2 * *distance < it.len()).min().map(|(_, it)| it)
}

impl ConsentPatterns {
    /// Compiles `patterns`; every tool needs consent until each of `unmatched` has matched one.
    pub fn new(patterns: &[String], unmatched: &[String]) -> Self {
        // A malformed glob is refused at the start; here it is a name that no tool has.
        let read =
            |text: &String| Pattern::new(text).unwrap_or_else(|_| Pattern { text: text.clone(), glob: None });
        Self {
            patterns: patterns.iter().map(read).collect(),
            unmatched: unmatched.iter().map(read).collect(),
            reported: false,
            allowed: BTreeSet::new(),
            has_store: false,
        }
    }
}
