//! Strict reading of the arguments of a tool call that is complete.
//!
//! A call runs only with arguments that were read here; [`parse_partial`](super::parse_partial) is for display. What a
//! model wrote is repaired where nothing is lost: control characters within strings, escapes that JSON does not have, and
//! an object that was encoded twice. Nothing closes a string or a bracket, and nothing is left out.

use super::JsonObject;
use serde_json::Value;

/// Reads the complete argument text of a call: one JSON object, or after a lossless repair one. A blank text is an empty
/// object; of a key that is given twice, the last value counts.
///
/// # Errors
///
/// The reason, with the place in the text, and below it the text: [`arguments_error`].
pub fn parse_arguments(text: &str) -> Result<JsonObject, String> {
    if text.trim().is_empty() {
        return Ok(JsonObject::new());
    }
    let object = match parse_repaired(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::String(encoded)) => match parse_repaired(&encoded) {
            Ok(Value::Object(object)) => Ok(object),
            _ => Err(NO_OBJECT.to_owned()),
        },
        Ok(_) => Err(NO_OBJECT.to_owned()),
        Err(reason) => Err(reason),
    };
    object.map_err(|reason| arguments_error(&reason, text))
}

/// The text that says why `text` is no arguments, in the form of pi's `argumentsError`.
pub fn arguments_error(reason: &str, text: &str) -> String {
    format!("{reason}{RECEIVED}{text}")
}

/// The text of the arguments that an `argumentsError` is about; all of it, if it does not quote them.
pub fn received_arguments(error: &str) -> &str {
    error.split_once(RECEIVED).map_or(error, |(_, text)| text)
}

/// What stands between the reason and the text.
const RECEIVED: &str = "\n\nReceived arguments:\n";

const NO_OBJECT: &str = "Tool arguments must be a JSON object";

/// Parses one JSON value, as it is or after a lossless repair.
///
/// # Errors
///
/// The reason, with the place in the text.
pub fn parse_repaired(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).or_else(|error| match repair(text) {
        None => Err(describe(text, text, &error, &[])),
        Some((repaired, places)) => {
            serde_json::from_str(&repaired).map_err(|error| describe(text, &repaired, &error, &places))
        }
    })
}

/// Escapes control characters within strings and backslashes that begin no escape. Returns the text, and for each repair
/// the offset behind it in the new and in the old text; `None`: there is nothing to repair.
fn repair(text: &str) -> Option<(String, Vec<(usize, usize)>)> {
    let (mut repaired, mut places) = (String::with_capacity(text.len() + 16), Vec::new());
    let mut is_inside = false;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let mut taken = letter.len_utf8();
        match letter {
            '"' => {
                is_inside = !is_inside;
                repaired.push(letter);
            }
            '\\' if is_inside => match escape_length(rest) {
                Some(length) => {
                    taken = length;
                    repaired.push_str(&rest[..length]);
                }
                None => {
                    repaired.push_str(r"\\");
                    places.push((repaired.len(), text.len() - rest.len() + taken));
                }
            },
            '\0'..='\x1f' if is_inside => {
                repaired.push_str(&format!("\\u{:04x}", u32::from(letter)));
                places.push((repaired.len(), text.len() - rest.len() + taken));
            }
            _ => repaired.push(letter),
        }
        rest = &rest[taken..];
    }
    (!places.is_empty()).then_some((repaired, places))
}

/// The bytes of the escape at the start of `text`; `None`: the backslash there begins none.
fn escape_length(text: &str) -> Option<usize> {
    match text.as_bytes().get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' if text.as_bytes().get(2..6)?.iter().all(u8::is_ascii_hexdigit) => Some(6),
        _ => None,
    }
}

/// The reason why `parsed`, which was made of `text`, is no JSON, and the place in `text`. Counts as JavaScript does, in
/// UTF-16 units, as the originals do.
fn describe(text: &str, parsed: &str, error: &serde_json::Error, places: &[(usize, usize)]) -> String {
    let said = error.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(reason, _)| reason);
    let reason = match said {
        "EOF while parsing a string" => "Unterminated string in JSON".to_owned(),
        reason if reason.starts_with("EOF") => "Unexpected end of JSON input".to_owned(),
        "key must be a string" => "Expected property name or '}' in JSON".to_owned(),
        "expected `:`" => "Expected ':' after property name in JSON".to_owned(),
        "expected `,` or `}`" => "Expected ',' or '}' after property value in JSON".to_owned(),
        "expected `,` or `]`" => "Expected ',' or ']' after array element in JSON".to_owned(),
        "trailing characters" => "Unexpected non-whitespace character after JSON".to_owned(),
        reason => format!("Invalid JSON: {reason}"),
    };
    let offset = match error.is_eof() {
        true => parsed.len(),
        false => {
            let line = parsed
                .split_inclusive('\n')
                .take(error.line().saturating_sub(1))
                .map(str::len)
                .sum::<usize>();
            (line + error.column().saturating_sub(1)).min(parsed.len())
        }
    };
    let known = places.partition_point(|(new, _)| *new <= offset).checked_sub(1).map(|at| places[at]);
    let (new, old) = known.unwrap_or_default();
    let before = &text[..text.floor_char_boundary((old + offset - new).min(text.len()))];
    let units = |text: &str| text.encode_utf16().count();
    let column = units(before.rsplit('\n').next().unwrap_or_default()) + 1;
    let line = before.matches('\n').count() + 1;
    format!("{reason} at position {} (line {line} column {column})", units(before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Value, String> {
        parse_arguments(text).map(Value::Object)
    }

    #[test]
    fn one_whole_object_is_read() {
        for (text, object) in [
            ("", json!({})),
            (" \n\t", json!({})),
            ("{}", json!({})),
            (" {\"a\": [1, 2.5, null]}\n", json!({ "a": [1, 2.5, null] })),
            (r#"{"a":1,"b":2,"a":3}"#, json!({ "a": 3, "b": 2 })),
        ] {
            assert_eq!(read(text), Ok(object), "{text}");
        }
    }

    #[test]
    fn lossless_repairs_are_made() {
        for (text, object) in [
            ("{\"a\":\"one\n\ttwo\r\0\"}", json!({ "a": "one\n\ttwo\r\0" })),
            (r#"{"a":"C:\Users and \d+ \u12 \n"}"#, json!({ "a": "C:\\Users and \\d+ \\u12 \n" })),
            (r#""{\"a\":\"b\"}""#, json!({ "a": "b" })),
            (r#""{\"a\":\"b\nc\"}""#, json!({ "a": "b\nc" })),
        ] {
            assert_eq!(read(text), Ok(object), "{text}");
        }
    }

    #[test]
    fn other_texts_are_errors_with_their_place() {
        for (text, reason) in [
            ("{\"a\":\"half", "Unterminated string in JSON at position 10 (line 1 column 11)"),
            ("{\"a\":1", "Unexpected end of JSON input at position 6 (line 1 column 7)"),
            ("{\"a\":\"x\ny\",\n\"b", "Unterminated string in JSON at position 14 (line 3 column 3)"),
            (
                "{\"a\":\"\\dé\"} x",
                "Unexpected non-whitespace character after JSON at position 12 (line 1 column 13)",
            ),
            ("{}{}", "Unexpected non-whitespace character after JSON at position 2 (line 1 column 3)"),
            ("{'a':1}", "Expected property name or '}' in JSON at position 1 (line 1 column 2)"),
            ("{\"a\":1,}", "Invalid JSON: trailing comma at position 7 (line 1 column 8)"),
            ("[1]", NO_OBJECT),
            ("5", NO_OBJECT),
            ("null", NO_OBJECT),
            ("\"plain\"", NO_OBJECT),
            (r#""\"{}\"""#, NO_OBJECT),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!(error, format!("{reason}\n\nReceived arguments:\n{text}"));
            assert_eq!(received_arguments(&error), text);
        }
    }

    #[test]
    fn proper_prefix_is_never_read() {
        let whole = "{\"a\":\"\\\"é\\d\n\",\"b\":[1,{\"c\":null}],\"d\":-1.5e3}";
        let twice = Value::from(whole).to_string();
        for whole in [whole, &twice] {
            assert!(read(whole).is_ok());
            for end in (1..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
                assert!(read(&whole[..end]).is_err(), "{}", &whole[..end]);
            }
        }
    }
}
