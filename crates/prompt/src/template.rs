//! Prompt templates: texts with places for arguments.

use super::{
    front_matter::{self, FrontMatter},
    source::{self, source_info},
};
use pi_rpc_protocol::{CommandLocation, SourceInfo};
use regex_lite::{Captures, Regex};
use std::{path::Path, path::PathBuf, sync::LazyLock};

/// Characters of the first line that serve as description, if the file has none.
const DESCRIPTION_CHARS: usize = 60;

/// A prompt template, called by `/name`.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Its name: that of its file without `.md`.
    pub name: String,
    /// Its description, for users.
    pub description: String,
    /// Its text, with places for arguments.
    pub body: String,
    /// Where it was found.
    pub location: CommandLocation,
    /// Path of its file, absolute.
    pub path: PathBuf,
    /// Where it was found, for newer hosts.
    pub source: SourceInfo,
}

impl Template {
    /// Parses the file at `path`.
    ///
    /// # Errors
    ///
    /// The fault in the front matter, in one line.
    pub fn read(path: &Path, file: &str, location: CommandLocation) -> Result<Self, String> {
        let (front_matter, body) = front_matter::read::<FrontMatter>(file)?;
        let described = front_matter.description.filter(|it| !it.is_empty()).or_else(|| first_line(&body));
        let source = source_info(path, source::SOURCE_NAMED, source::scope(location), path.parent());
        Ok(Self {
            name: name(path),
            description: described.unwrap_or_default(),
            body,
            location,
            path: path.to_owned(),
            source,
        })
    }

    /// Expands the text with `arguments`.
    ///
    /// Arguments are split at blanks and tabs outside of quotes. `$1`, `$2` and so on stand for one of them, or for
    /// nothing; `${@:n}` for those from the n-th on, `${@:n:len}` for `len` of these; `$ARGUMENTS` and `$@` for all.
    /// Inserted text is not expanded again.
    pub fn expand(&self, arguments: &str) -> String {
        static PLACES: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\$([0-9]+)|\$\{@:([0-9]+)(?::([0-9]+))?\}|\$ARGUMENTS|\$@").expect("a valid pattern")
        });
        let arguments = split(arguments);
        let of = |place: &Captures<'_>| {
            // A number too large for a `usize` exceeds any number of arguments.
            let number = |group| place.get(group).map(|digits| digits.as_str().parse().unwrap_or(usize::MAX));
            if let Some(one) = number(1) {
                let index = one.checked_sub(1);
                return index.and_then(|index| arguments.get(index)).cloned().unwrap_or_default();
            }
            // 0 counts as 1; both names of all arguments are ranges without bounds.
            let before = number(2).unwrap_or(1).saturating_sub(1);
            let most = number(3).unwrap_or(usize::MAX);
            let chosen: Vec<&str> = arguments.iter().skip(before).take(most).map(String::as_str).collect();
            chosen.join(" ")
        };
        PLACES.replace_all(&self.body, of).into_owned()
    }
}

/// The name of a file or directory without `.md`.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    name.strip_suffix(".md").unwrap_or(&name).to_owned()
}

/// The beginning of the first line that is not blank.
fn first_line(body: &str) -> Option<String> {
    let line = body.lines().find(|line| !line.trim().is_empty())?;
    match line.char_indices().nth(DESCRIPTION_CHARS) {
        Some((end, _)) => Some(format!("{}...", &line[..end])),
        None => Some(line.to_owned()),
    }
}

/// Splits `text` into arguments. Quotes, single or double, keep blanks together and are removed; there are no
/// escapes, and empty arguments are dropped. Source: pi source.
fn split(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut current = String::new();
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, ' ' | '\t') => arguments.push(std::mem::take(&mut current)),
            _ => current.push(letter),
        }
    }
    arguments.push(current);
    arguments.retain(|argument| !argument.is_empty());
    arguments
}
