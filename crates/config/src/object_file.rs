//! Parses a configuration file as a value: YAML or JSON, by its name.

use serde_json::Value;
use std::{io::Read as _, path::Path};

use json_comments::{CommentSettings, StripComments};

/// Whether the file is YAML, by its name.
pub(super) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
}

/// Parses a YAML file. One without anything in it is an empty object, as in omp.
///
/// # Errors
///
/// The fault, in one line, without the text.
pub(super) fn parse_yaml(text: &str) -> Result<Value, String> {
    // As in YAML 1.2, which omp reads, `yes` is a string.
    let options = serde_saphyr::options! { strict_booleans: true };
    let parsed = serde_saphyr::from_str_with_options::<Option<Value>>(text, options);
    match parsed {
        Ok(value) => Ok(value.unwrap_or_else(|| Value::Object(Default::default()))),
        Err(error) => {
            let error = error.without_snippet().render_with_formatter(&serde_saphyr::UserMessageFormatter);
            Err(error.lines().next().unwrap_or_default().to_owned())
        }
    }
}

/// Replaces comments, and commas before closing brackets, by blanks.
pub(super) fn plain_json(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut stripped = StripComments::with_settings(CommentSettings::c_style(), text.as_bytes());
    // Errors such as an unclosed comment are left to the parser.
    if stripped.read_to_end(&mut plain).is_err() {
        return text.to_owned();
    }
    let mut comma = None;
    let mut in_string = false;
    let mut escaped = false;
    for at in 0..plain.len() {
        match plain[at] {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => {
                in_string = !in_string;
                comma = None;
            }
            _ if in_string => {}
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    plain[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}
