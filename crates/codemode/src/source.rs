//! The form of a script: an optional first line with options, then JavaScript. Source: pi 1.6 documentation.

use serde::Deserialize;

/// What the line with options begins with.
const PREFIX: &str = "// @options:";

/// The options of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceOptions {
    /// How many tokens of output the model gets, about four characters each.
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    /// The most time for the script, in milliseconds, with all its waiting.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// The longest `timeout_ms`.
const MAX_TIMEOUT: u64 = 2_147_483_647;

/// The largest integer that every program reads as it is.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Takes the line with options from a script. The code keeps its line numbers.
///
/// # Errors
///
/// There is no script, the options do not fit, or their line is not the first.
pub fn parse(source: &str) -> Result<(&str, SourceOptions), String> {
    if source.trim().is_empty() {
        return Err("code: expected JavaScript, got nothing".to_owned());
    }
    if let Some(at) = source.lines().skip(1).position(is_options) {
        let line = at + 2;
        return Err(format!("@options: expected on the first line of the script, got it on line {line}"));
    }
    let end = source.find('\n').unwrap_or(source.len());
    let (first, rest) = source.split_at(end);
    if !is_options(first) {
        return Ok((source, SourceOptions::default()));
    }
    if rest.trim().is_empty() {
        return Err("code: expected JavaScript behind the line of @options, got nothing".to_owned());
    }
    let text = first.trim_start().trim_start_matches(PREFIX).trim();
    let expected = "@options: expected an object with max_output_tokens and timeout_ms";
    if !text.starts_with('{') {
        return Err(expected.to_owned());
    }
    let options: SourceOptions =
        serde_json::from_str(text).map_err(|error| format!("{expected}: {error}"))?;
    if options.timeout_ms.is_some_and(|limit| !(1..=MAX_TIMEOUT).contains(&limit)) {
        return Err(format!("@options: timeout_ms: expected 1 to {MAX_TIMEOUT}"));
    }
    if options.max_output_tokens.is_some_and(|limit| limit > MAX_INTEGER) {
        return Err(format!("@options: max_output_tokens: expected at most {MAX_INTEGER}"));
    }
    Ok((rest, options))
}

fn is_options(line: &str) -> bool {
    line.trim_start().starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_on_the_first_line() {
        let (code, options) = parse("  // @options: {\"max_output_tokens\": 0}\r\nreturn 1").unwrap();
        assert_eq!((code, options.max_output_tokens), ("\nreturn 1", Some(0)));
        assert_eq!(parse("return 1").unwrap(), ("return 1", SourceOptions::default()));
    }

    #[test]
    fn unusable_options_are_named() {
        for (source, error) in [
            (" \n", "code: expected JavaScript, got nothing"),
            ("// @options: {}", "code: expected JavaScript behind the line of @options, got nothing"),
            ("1\n // @options: {}", "@options: expected on the first line of the script, got it on line 2"),
            ("// @options: {\"timeout_ms\": 0}\n1", "@options: timeout_ms: expected 1 to 2147483647"),
        ] {
            assert_eq!(parse(source).unwrap_err(), error);
        }
        for source in ["// @options:\n1", "// @options: []\n1", "// @options: {\"x\": 1}\n1"] {
            assert!(parse(source).unwrap_err().starts_with("@options: expected an object"), "{source}");
        }
    }
}
