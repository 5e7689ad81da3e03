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
    /// Arguments are split at white space outside of quotes. `$1`, `$2` and so on stand for one of them, or for nothing;
    /// `${@:n}` for those from the n-th on, `${@:n:len}` for `len` of these; `$ARGUMENTS` and `$@` for all.
    /// `${1:-text}`, `${@:-text}` and `${ARGUMENTS:-text}` stand for `text` where the argument is missing or empty.
    /// Inserted text is not expanded again. Source: pi 1.6.0 source, observed.
    pub fn expand(&self, arguments: &str) -> String {
        static PLACES: LazyLock<Regex> = LazyLock::new(|| {
            let of_argument = r"\$([0-9]+)|\$\{([0-9]+):-([^}]*)\}";
            let of_all = r"\$\{@:([0-9]+)(?::([0-9]+))?\}|\$\{(?:@|ARGUMENTS):-([^}]*)\}|\$ARGUMENTS|\$@";
            Regex::new(&format!("{of_argument}|{of_all}")).expect("a valid pattern")
        });
        let arguments = split(arguments);
        let of = |place: &Captures<'_>| {
            // A number too large for a `usize` exceeds any number of arguments.
            let number = |group| place.get(group).map(|digits| digits.as_str().parse().unwrap_or(usize::MAX));
            let default = place.get(3).or_else(|| place.get(6)).map_or("", |text| text.as_str());
            let text = match number(1).or_else(|| number(2)) {
                Some(one) => {
                    one.checked_sub(1).and_then(|index| arguments.get(index)).cloned().unwrap_or_default()
                }
                None => {
                    // 0 counts as 1; both names of all arguments are ranges without bounds.
                    let before = number(4).unwrap_or(1).saturating_sub(1);
                    let most = number(5).unwrap_or(usize::MAX);
                    let chosen: Vec<&str> =
                        arguments.iter().skip(before).take(most).map(String::as_str).collect();
                    chosen.join(" ")
                }
            };
            if text.is_empty() { default.to_owned() } else { text }
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

/// Splits `text` into arguments at white space.
///
/// A quote, single or double, opens at the beginning of an argument alone, so that apostrophes within words stay. It
/// keeps white space together and is removed; a backslash before its own character keeps that. A quote without end is
/// text. Empty arguments count if they are quoted.
fn split(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let mut argument = String::new();
        if let Some((quoted, behind)) = quoted(rest) {
            argument = quoted;
            rest = behind;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        argument.push_str(&rest[..end]);
        arguments.push(argument);
        rest = rest[end..].trim_start();
    }
    arguments
}

/// Reads the quoted text that `text` begins with, and what follows; `None`: it begins with none that ends.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let mut content = String::new();
    let mut letters = text[1..].char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            return Some((content, &text[at + 2..]));
        }
        let escaped = (letter == '\\').then(|| letters.next_if(|(_, next)| *next == quote)).flatten();
        content.push(escaped.map_or(letter, |(_, quote)| quote));
    }
    None
}
