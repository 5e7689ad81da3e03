//! Parses the front matter of a Markdown file: the YAML between two lines of three dashes.

use serde::{Deserialize, de::DeserializeOwned};
use serde_saphyr::UserMessageFormatter;
use std::borrow::Cow;

/// Known keys of skills and templates; others are ignored.
///
/// Source: pi's `skills.md` and `prompt-templates.md`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FrontMatter {
    /// `name` of a skill.
    pub name: Option<String>,
    /// `description`: for users, and of skills also for the model.
    pub description: Option<String>,
    /// `disable-model-invocation` of a skill. Anything but `true` counts as `false`, as in pi.
    #[serde(rename = "disable-model-invocation")]
    pub hidden: serde_json::Value,
}

/// Splits a file into its front matter, parsed as `Keys`, and its text.
///
/// # Errors
///
/// The fault in the front matter, in one line.
pub fn read<Keys: DeserializeOwned + Default>(file: &str) -> Result<(Keys, String), String> {
    let (above, text) = split(file);
    let above = above.filter(|yaml| !yaml.trim().is_empty());
    match above.map(|yaml| parse(&yaml)).transpose() {
        Ok(front_matter) => Ok((front_matter.flatten().unwrap_or_default(), text)),
        Err(error) => {
            let error = error.without_snippet().render_with_formatter(&UserMessageFormatter);
            Err(error.lines().next().unwrap_or_default().to_owned())
        }
    }
}

/// Parses the YAML; `None`: it is only comments.
fn parse<Keys: DeserializeOwned>(yaml: &str) -> Result<Option<Keys>, serde_saphyr::Error> {
    // As in YAML 1.2, which pi reads, `yes` is a string.
    let options = serde_saphyr::options! { strict_booleans: true };
    // An extra line for the dashes, so that line numbers in errors are right.
    serde_saphyr::from_str_with_options(&format!("\n{yaml}"), options)
}

/// The text of a file without front matter. Every line ends with a line feed.
pub fn body(file: &str) -> String {
    split(file).1
}

/// Splits a file into the YAML between the dashes, if any, and the text, which is trimmed behind front matter.
fn split(file: &str) -> (Option<String>, String) {
    let file = file.strip_prefix('\u{FEFF}').unwrap_or(file);
    let file = match file.contains('\r') {
        true => Cow::Owned(file.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(file),
    };
    let mut lines = file.split_inclusive('\n');
    if !lines.next().is_some_and(is_delimiter) {
        return (None, file.into_owned());
    }
    let mut above = String::new();
    while let Some(line) = lines.next() {
        if is_delimiter(line) {
            return (Some(above), lines.collect::<String>().trim().to_owned());
        }
        above += line;
    }
    (None, file.into_owned())
}

fn is_delimiter(line: &str) -> bool {
    line.trim_end() == "---"
}
