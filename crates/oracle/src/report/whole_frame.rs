//! Lays out a whole frame for people to read.

use pi_rpc_files::harmless::harmless_lines;
use serde_json::value::RawValue;

/// Spaces for each level of nesting.
const INDENT: usize = 2;
/// Deepest level that is indented further.
const MAX_DEPTH: usize = 32;

/// The text of a record: JSON with a member a line, as it came otherwise (numbers and escapes are not rewritten); other text
/// unchanged. Characters that hide or reorder others are written out.
pub(super) fn laid_out(text: &str) -> String {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => harmless_lines(&indented(json.get())),
        Err(_) => harmless_lines(text),
    }
}

fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 5 / 4);
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    let mut letters = json.chars().peekable();
    while let Some(letter) = letters.next() {
        if is_string {
            is_string = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            text.push(letter);
            continue;
        }
        match letter {
            ' ' | '\t' | '\r' | '\n' => {}
            '{' | '[' => {
                depth += 1;
                text.push(letter);
                if !matches!(letters.peek(), Some('}' | ']')) {
                    break_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !text.ends_with(['{', '[']) {
                    break_line(&mut text, depth);
                }
                text.push(letter);
            }
            ',' => {
                text.push(letter);
                break_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            _ => {
                is_string = letter == '"';
                text.push(letter);
            }
        }
    }
    text
}

fn break_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', INDENT * depth.min(MAX_DEPTH)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_has_member_per_line() {
        let frame = r#"{"type":"x","n":1.0e5,"list":[],"in":{"text":"a, \"b\": {\\","of":[1,2]}}"#;
        let lines = r#"{
  "type": "x",
  "n": 1.0e5,
  "list": [],
  "in": {
    "text": "a, \"b\": {\\",
    "of": [
      1,
      2
    ]
  }
}"#;
        assert_eq!(laid_out(frame), lines);
    }

    #[test]
    fn other_text_keeps_its_lines() {
        assert_eq!(laid_out("not {json}\n\u{202e}x"), "not {json}\n\\u{202e}x");
        assert_eq!(laid_out("[warn] a,b"), "[warn] a,b");
    }

    #[test]
    fn deep_nesting_stays_linear() {
        let deep = ["[".repeat(50_000), "]".repeat(50_000)].concat();
        assert!(laid_out(&deep).len() < 100_000 * (2 + INDENT * MAX_DEPTH));
    }
}
