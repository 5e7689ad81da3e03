//! What stands above the text of a Markdown file, between two lines of three dashes.

use serde::{Deserialize, de::DeserializeOwned};
use serde_saphyr::UserMessageFormatter;
use std::borrow::Cow;

/// The keys of skills and templates that are heeded; all others are passed over.
///
/// Source: pi's `skills.md` and `prompt-templates.md`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct FrontMatter {
    /// `name` of a skill.
    pub name: Option<String>,
    /// `description`: for people, and of skills for the model, too.
    pub description: Option<String>,
    /// `disable-model-invocation` of a skill. Anything but a `true` is a `false`, as in pi.
    #[serde(rename = "disable-model-invocation")]
    pub hidden: serde_json::Value,
}

/// The front matter of a file, as far as `Keys` heeds it, and its text.
///
/// # Errors
///
/// What is wrong in the front matter, in one line.
pub(super) fn read<Keys: DeserializeOwned + Default>(file: &str) -> Result<(Keys, String), String> {
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

/// What the YAML says; `None` where it is comments alone.
fn parse<Keys: DeserializeOwned>(yaml: &str) -> Result<Option<Keys>, serde_saphyr::Error> {
    // As in YAML 1.2, which pi reads, `yes` is a text.
    let options = serde_saphyr::options! { strict_booleans: true };
    // The line of dashes that was above it counts in what errors say.
    serde_saphyr::from_str_with_options(&format!("\n{yaml}"), options)
}

/// The text of a file, without front matter. Every line ends with a line feed.
pub(super) fn body(file: &str) -> String {
    split(file).1
}

/// What is between the dashes, where there are any, and the text: behind front matter without the blanks around it, else
/// all of the file.
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
