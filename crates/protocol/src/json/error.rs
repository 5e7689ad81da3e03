//! Error of the reader: what was found, what was expected, and where.

use crate::read::json_words;
use serde::de::{Error as _, Expected, Unexpected};
use std::fmt;

/// Reason why a text is not a value of a type.
///
/// Prints as "`messages[3].content`: invalid type: null, expected a string", without the path if the whole value is
/// meant.
#[derive(Clone, Debug)]
pub struct JsonError(Box<Body>);

#[derive(Clone, Debug)]
struct Body {
    /// Path of the value, such as `messages[3].content`.
    path: String,
    text: String,
    is_syntax: bool,
}

impl JsonError {
    /// An error about the value that is read.
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self(Box::new(Body { path: String::new(), text: text.to_string(), is_syntax: false }))
    }

    /// The text is not JSON.
    pub(super) fn syntax(text: &str) -> Self {
        Self(Box::new(Body { path: String::new(), text: text.to_owned(), is_syntax: true }))
    }

    /// A value of another JSON type.
    pub(super) fn wrong_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of_part(&serde_json::Error::invalid_type(found, expected))
    }

    /// A value of the right JSON type that is not allowed.
    pub(super) fn wrong_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(serde_json::Error::invalid_value(found, expected))
    }

    /// A required member is not there.
    pub(crate) fn missing(name: &str) -> Self {
        Self::new(format_args!("missing field `{name}`"))
    }

    /// A member occurs twice.
    pub(super) fn duplicate(name: &str) -> Self {
        Self::new(format_args!("duplicate field `{name}`"))
    }

    /// An error of `serde_json` about a part of the text.
    pub(super) fn of_part(error: &serde_json::Error) -> Self {
        let text = json_words(&without_position(error));
        match error.is_data() {
            true => Self::new(text),
            false => Self::syntax(&text),
        }
    }

    /// The error, found behind so many bytes of the text.
    #[must_use]
    pub(super) fn at_column(mut self, column: usize) -> Self {
        self.0.text += &format!(" at column {column}");
        self
    }

    /// Whether the text is not JSON, rather than JSON of another shape.
    pub(super) const fn is_syntax(&self) -> bool {
        self.0.is_syntax
    }

    /// The error, seen from the object that has the value as its member `name`.
    #[must_use]
    pub(crate) fn in_member(mut self, name: &str) -> Self {
        let separator = if self.0.path.is_empty() || self.0.path.starts_with('[') { "" } else { "." };
        self.0.path = format!("{name}{separator}{}", self.0.path);
        self
    }

    /// The error, seen from the array that has the value as its element `index`.
    #[must_use]
    pub(crate) fn in_element(mut self, index: usize) -> Self {
        let separator = if self.0.path.is_empty() || self.0.path.starts_with('[') { "" } else { "." };
        self.0.path = format!("[{index}]{separator}{}", self.0.path);
        self
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Body { path, text, .. } = &*self.0;
        // Texts that begin with a member name, as those about tags do, get the full path of that member.
        match text.strip_prefix('`').and_then(|rest| rest.split_once("`: ")) {
            _ if path.is_empty() => f.write_str(text),
            Some((member, text)) => write!(f, "`{path}.{member}`: {text}"),
            None => write!(f, "`{path}`: {text}"),
        }
    }
}

impl std::error::Error for JsonError {}

/// Text of an error without the line and column at its end.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).map(str::to_owned).unwrap_or(text)
}
