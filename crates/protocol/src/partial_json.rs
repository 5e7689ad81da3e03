//! Best-effort parser for the arguments of a tool call while they are streamed.
//!
//! The text is the beginning of a JSON object. The parser stops where the text ends, or where a value is followed by
//! something else than a comma or the end of its container; every open container ends there with the members that are
//! complete. Text that cannot become JSON by more text, such as an invalid escape, is an error.

use super::JsonObject;
use serde_json::Value;

/// Maximum nesting of containers that are not empty.
const MAX_DEPTH: usize = 200;

/// Parses the beginning of a JSON object: complete members, and strings up to the end of the
/// text. Empty if nothing can be parsed. The originals have this as `arguments` of a partial call. For display only: no
/// call runs with it.
pub fn parse_partial(text: &str) -> JsonObject {
    // A complete text is parsed by serde_json, so that its numbers are those of every other reader.
    if text.trim_ascii_end().ends_with('}')
        && let Ok(Value::Object(map)) = serde_json::from_str(text)
    {
        return map;
    }
    let mut map = JsonObject::new();
    match (Parser { rest: text, is_for_display: true }).root(|key, value| drop(map.insert(key, value))) {
        Ok(()) | Err(Stop::End) => map,
        Err(Stop::Invalid) => JsonObject::new(),
    }
}

/// Parses those members of the beginning of a JSON object that are complete strings, in the order of the text; a key may
/// occur more than once. Empty if nothing can be parsed.
pub fn complete_strings(text: &str) -> Vec<(String, String)> {
    let mut strings = Vec::new();
    let add = |key, value| {
        if let Value::String(text) = value {
            strings.push((key, text));
        }
    };
    match (Parser { rest: text, is_for_display: false }).root(add) {
        Ok(()) | Err(Stop::End) => strings,
        Err(Stop::Invalid) => Vec::new(),
    }
}

/// Reason to stop within a value.
enum Stop {
    /// The text ends.
    End,
    /// The text is not the beginning of a JSON object.
    Invalid,
}

struct Parser<'t> {
    rest: &'t str,
    /// Whether a string is cut where the text ends, and containers inside the outermost keep what they contain.
    is_for_display: bool,
}

impl Parser<'_> {
    /// Parses the outermost object.
    fn root(&mut self, add: impl FnMut(String, Value)) -> Result<(), Stop> {
        match self.peek()? {
            b'{' => self.members(1, add),
            _ => Err(Stop::Invalid),
        }
    }

    /// Parses a value inside `depth` containers.
    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        let first = self.peek()?;
        if depth > MAX_DEPTH {
            return Err(Stop::Invalid);
        }
        match first {
            b'"' => self.string(self.is_for_display).map(Value::String),
            b'{' if self.is_for_display => {
                let mut map = JsonObject::new();
                ended(self.members(depth + 1, |key, value| drop(map.insert(key, value))))?;
                Ok(Value::Object(map))
            }
            b'[' if self.is_for_display => {
                let mut items = Vec::new();
                ended(self.items(depth + 1, |item| items.push(item)))?;
                Ok(Value::Array(items))
            }
            b'{' => ended(self.members(depth + 1, |_, _| ())).map(|()| Value::Null),
            b'[' => ended(self.items(depth + 1, drop)).map(|()| Value::Null),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn members(&mut self, depth: usize, mut add: impl FnMut(String, Value)) -> Result<(), Stop> {
        self.skip(1);
        if self.peek()? == b'}' {
            self.skip(1);
            return Ok(());
        }
        loop {
            if self.peek()? != b'"' {
                return Err(Stop::Invalid);
            }
            let key = self.string(false)?;
            if self.peek()? != b':' {
                return Err(Stop::Invalid);
            }
            self.skip(1);
            add(key, self.value(depth)?);
            if !self.has_next(b'}')? {
                return Ok(());
            }
        }
    }

    fn items(&mut self, depth: usize, mut add: impl FnMut(Value)) -> Result<(), Stop> {
        self.skip(1);
        if self.peek()? == b']' {
            self.skip(1);
            return Ok(());
        }
        loop {
            add(self.value(depth)?);
            if !self.has_next(b']')? {
                return Ok(());
            }
        }
    }

    /// Whether a comma follows, else the container ends: with `end`, or before what does not belong to it.
    fn has_next(&mut self, end: u8) -> Result<bool, Stop> {
        let next = self.peek()?;
        if next == b',' || next == end {
            self.skip(1);
        }
        Ok(next == b',')
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Stop> {
        if let Some(rest) = self.rest.strip_prefix(word) {
            self.rest = rest;
            return Ok(value);
        }
        Err(if word.starts_with(self.rest) { Stop::End } else { Stop::Invalid })
    }

    fn number(&mut self) -> Result<Value, Stop> {
        let bytes = self.rest.as_bytes();
        let sign = usize::from(bytes.first() == Some(&b'-'));
        let mut end = digits(bytes, sign)?;
        if bytes.get(sign) == Some(&b'0') && end > sign + 1 {
            return Err(Stop::Invalid);
        }
        let whole = end;
        if bytes.get(end) == Some(&b'.') {
            end = digits(bytes, end + 1)?;
        }
        if let Some(b'e' | b'E') = bytes.get(end) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            end = digits(bytes, end + 1 + sign)?;
        }
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        let value = match end == whole {
            true => number.parse::<i64>().ok().map(Value::from),
            // Null if it is infinite.
            false => number.parse::<f64>().ok().map(Value::from),
        };
        value.ok_or(Stop::Invalid)
    }

    /// Parses a string; `may_be_cut`: up to the end of the text if it does not end.
    fn string(&mut self, may_be_cut: bool) -> Result<String, Stop> {
        self.skip(1);
        let mut text = String::new();
        loop {
            let end = memchr::memchr2(b'"', b'\\', self.rest.as_bytes()).unwrap_or(self.rest.len());
            let (plain, rest) = self.rest.split_at(end);
            // Without an early return, which would be slower.
            if plain.bytes().fold(false, |found, byte| found | (byte < 0x20)) {
                return Err(Stop::Invalid);
            }
            text.push_str(plain);
            self.rest = rest;
            if rest.starts_with('"') {
                self.skip(1);
                return Ok(text);
            }
            match self.escape() {
                Ok(escaped) => text.push(escaped),
                Err(Stop::End) if may_be_cut => {
                    self.rest = "";
                    return Ok(text);
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Parses an escape; `Err(End)` if the text ends within it.
    fn escape(&mut self) -> Result<char, Stop> {
        let escaped = match *self.rest.as_bytes().get(1).ok_or(Stop::End)? {
            byte @ (b'"' | b'\\' | b'/') => char::from(byte),
            b'b' => '\x08',
            b'f' => '\x0C',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(Stop::Invalid),
        };
        self.skip(2);
        Ok(escaped)
    }

    fn unicode_escape(&mut self) -> Result<char, Stop> {
        let mut code = self.code_unit()?;
        if (0xD800..0xDC00).contains(&code) {
            match self.rest.as_bytes() {
                [b'\\', b'u', ..] => {}
                [] | [b'\\'] => return Err(Stop::End),
                _ => return Err(Stop::Invalid),
            }
            let low = self.code_unit()?;
            if !(0xDC00..0xE000).contains(&low) {
                return Err(Stop::Invalid);
            }
            code = 0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        char::from_u32(code).ok_or(Stop::Invalid)
    }

    /// Parses `\uXXXX`.
    fn code_unit(&mut self) -> Result<u32, Stop> {
        let digits = self.rest.as_bytes().get(2..6).ok_or(Stop::End)?;
        let code = digits.iter().try_fold(0, |code, byte| Some(code * 16 + char::from(*byte).to_digit(16)?));
        let code = code.ok_or(Stop::Invalid)?;
        self.skip(6);
        Ok(code)
    }

    /// Skips whitespace up to the next byte.
    fn peek(&mut self) -> Result<u8, Stop> {
        let blanks = self.rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\r' | b'\t' | b'\n'));
        self.skip(blanks.count());
        self.rest.as_bytes().first().copied().ok_or(Stop::End)
    }

    /// Skips bytes, all of them ASCII.
    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }
}

/// Result of a container: it ends where the text ends.
fn ended(result: Result<(), Stop>) -> Result<(), Stop> {
    match result {
        Err(Stop::End) => Ok(()),
        other => other,
    }
}

/// End of the digits from `start` on, at least one.
fn digits(bytes: &[u8], start: usize) -> Result<usize, Stop> {
    let count = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_digit()).count();
    match (count, bytes.get(start)) {
        (0, None) => Err(Stop::End),
        (0, Some(_)) => Err(Stop::Invalid),
        _ => Ok(start + count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn partial_object_reads_as_its_prefix() {
        let whole = r#"{"command":"echo \"hi\"","n":[1,2.5,{"x":null}],"ok":true}"#;
        let read = |end: usize| Value::Object(parse_partial(&whole[..end]));
        assert_eq!(read(0), json!({}));
        assert_eq!(read(5), json!({}));
        assert_eq!(read(15), json!({ "command": "ech" }));
        assert_eq!(read(17), json!({ "command": "echo " }));
        assert_eq!(
            read(whole.len()),
            json!({ "command": "echo \"hi\"", "n": [1, 2.5, { "x": null }], "ok": true })
        );
        (0..=whole.len()).for_each(|end| drop(read(end)));
    }

    /// Checks what a text reads as, of which the part after `{"a":` is given.
    fn check(rest: &str, expected: Value) {
        let text = format!(r#"{{"a":{rest}"#);
        assert_eq!(Value::Object(parse_partial(&text)).to_string(), expected.to_string(), "{text}");
    }

    #[test]
    fn other_values_read_as_empty_object() {
        for text in ["[1,2", "nonsense", "", " ", "\"a", "1", "\u{feff}{\"a\":1"] {
            assert_eq!(parse_partial(text), JsonObject::new(), "{text}");
        }
    }

    #[test]
    fn incomplete_member_is_left_out() {
        for rest in ["", " ", "t", "fals", "nul", "-", "1.", "1e", "-0.5e+"] {
            check(rest, json!({}));
            check(&format!("1,\"b\":[2,{rest}"), json!({ "a": 1, "b": [2] }));
        }
        for rest in [",", ",\"", ",\"b", ",\"b\\", ",\"b\"", ",\"b\":"] {
            check(&format!("1{rest}"), json!({ "a": 1 }));
            check(&format!("{{\"x\":1{rest}"), json!({ "a": { "x": 1 } }));
        }
    }

    #[test]
    fn incomplete_escape_is_left_out() {
        let escapes = [r"\", r"\u", r"\u00e", r"\ud83d", r"\ud83d\", r"\ud83d\u", r"\ud83d\ude0"];
        escapes.iter().for_each(|escape| check(&format!("\"é\\n{escape}"), json!({ "a": "é\n" })));
        check(r#""\ud83d\ude00\u00E9\/\b\f"#, json!({ "a": "😀é/\u{8}\u{c}" }));
        // Less than four characters follow, whatever they are.
        check(r#""x\u1"}"#, json!({ "a": "x" }));
    }

    #[test]
    fn invalid_text_reads_as_empty_object() {
        for rest in [
            "}",
            "]",
            ",",
            "'x'",
            "tru}",
            "nulL",
            "NaN",
            "-Infinity",
            "+1",
            ".5",
            "01",
            "-01",
            "1.x",
            "1e-}",
            "-}",
            "[1,]",
            "[,",
            "{\"b\" 1",
            "{1",
            "1,}",
            "1,2",
            r#""\x""#,
            r#""\u12g4""#,
            r#""\u123"}}"#,
            r#""\udc00"#,
            r#""\ud83dx""#,
            r#""\ud83d\n"#,
            r#""\ud83d\u0041"#,
            "\"\n",
            "\"\u{0}\"",
            "\"x\u{1f}",
        ] {
            check(rest, json!({}));
        }
    }

    #[test]
    fn numbers_are_those_of_doubles() {
        let numbers = [
            ("-0", json!(0)),
            ("-0.0", json!(-0.0)),
            ("1E2", json!(100.0)),
            ("9223372036854775807", json!(i64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("9223372036854775808.5", json!(9223372036854775808.0)),
            ("1e400", Value::Null),
            ("1e-400", json!(0.0)),
        ];
        for (text, number) in numbers {
            check(text, json!({ "a": number }));
        }
        // A larger integer is none.
        check("9223372036854775808", json!({}));
        check("9223372036854775808}", json!({ "a": 9_223_372_036_854_775_808_u64 }));
    }

    #[test]
    fn container_ends_before_foreign_text() {
        check("1}, trailing", json!({ "a": 1 }));
        check("1 2,\"b\":3}", json!({ "a": 1 }));
        check("truex", json!({ "a": true }));
        check("1.5.2", json!({ "a": 1.5 }));
        check("0x1", json!({ "a": 0 }));
        check("[{\"b\":[1},2],\"c\":3", json!({ "a": [{ "b": [1] }, 2], "c": 3 }));
        check("[1}, \"b\":2}", json!({ "a": [1] }));
    }

    #[test]
    fn last_of_duplicate_keys_wins() {
        check("1,\"b\":2,\"a\":[3", json!({ "a": [3], "b": 2 }));
    }

    #[test]
    fn nesting_ends_at_limit() {
        let nested = |depth: usize, inner: &str| format!("{}{inner}", "[".repeat(depth - 1));
        let depth = |rest: &str| {
            let mut depth = 0;
            let text = format!(r#"{{"a":{rest}"#);
            let object = Value::Object(parse_partial(&text));
            let mut value = object.get("a");
            while let Some(inner) = value {
                depth += 1;
                value = inner.get(0);
            }
            depth
        };
        assert_eq!(depth(&nested(MAX_DEPTH, "1")), MAX_DEPTH);
        assert_eq!(depth(&nested(MAX_DEPTH, "[]")), MAX_DEPTH);
        assert_eq!(depth(&nested(MAX_DEPTH, "[")), MAX_DEPTH);
        assert_eq!(depth(&nested(MAX_DEPTH + 1, "1")), 0);
    }

    #[test]
    fn complete_strings_are_those_that_end() {
        let read = |text: &str| complete_strings(text);
        let pair = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        assert_eq!(
            read(r#"{"a":"x","b":{"a":"y"},"c":1,"a":"\u00e9","d":"no"#),
            [pair("a", "x"), pair("a", "é")]
        );
        assert_eq!(read(r#"{"a":"x","b":]"#), []);
        assert_eq!(read(r#"["a"#), []);
    }
}
