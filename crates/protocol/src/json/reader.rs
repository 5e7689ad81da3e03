//! Position in a JSON text, and the steps by which a value is read from it.

use super::{FromJson, JsonError};
use serde::de::{DeserializeOwned, Expected, Unexpected};
use serde_json::{Number, Value};
use std::{borrow::Cow, ops::Range};

/// Depth at which `serde_json` stops, too.
const MOST_DEPTH: usize = 127;

/// JSON text and how far it has been read.
#[derive(Clone)]
pub struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    most_depth: usize,
}

/// Progress in an object or array.
pub(crate) struct Members {
    is_first: bool,
}

/// Value that a constant member must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Const {
    /// A string.
    Str(&'static str),
    /// A boolean.
    Bool(bool),
}

impl<'a> JsonReader<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, most_depth: MOST_DEPTH }
    }

    /// Checks that nothing follows the value.
    pub(super) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(JsonError::syntax("trailing characters")),
        }
    }

    /// Reads with `read`, which needs no stack for the next `levels`.
    pub(crate) fn with_depth<T>(
        &mut self,
        levels: usize,
        read: fn(&mut Self) -> Result<T, JsonError>,
    ) -> Result<T, JsonError> {
        let most = self.most_depth;
        self.most_depth = self.depth + levels;
        let value = read(self);
        self.most_depth = most;
        value
    }

    /// How many bytes have been read.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// Part of the text.
    pub(crate) fn slice(&self, part: Range<usize>) -> &'a str {
        &self.text[part]
    }

    /// First byte of the next token.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Enters an object.
    pub(crate) fn object(&mut self, expected: &str) -> Result<Members, JsonError> {
        self.enter(b'{', expected)
    }

    /// Enters an array.
    pub(crate) fn array(&mut self, expected: &str) -> Result<Members, JsonError> {
        self.enter(b'[', expected)
    }

    fn enter(&mut self, bracket: u8, expected: &str) -> Result<Members, JsonError> {
        if self.peek() != Some(bracket) {
            return Err(self.wrong_type(&expected));
        }
        if self.depth >= self.most_depth {
            return Err(JsonError::syntax("recursion limit exceeded"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(Members { is_first: true })
    }

    /// Whether another element or member follows; otherwise leaves the array or object.
    pub(crate) fn has_next(&mut self, members: &mut Members, bracket: u8) -> Result<bool, JsonError> {
        match self.peek() {
            Some(byte) if byte == bracket => {
                self.at += 1;
                self.depth -= 1;
                return Ok(false);
            }
            _ if members.is_first => {}
            Some(b',') => {
                self.at += 1;
                // A comma before the bracket; what else is wrong is seen by the reader of the value.
                if self.peek() == Some(bracket) {
                    return Err(JsonError::syntax("trailing comma"));
                }
            }
            _ => return Err(JsonError::syntax("expected `,` or the end of the list")),
        }
        members.is_first = false;
        Ok(true)
    }

    /// Key of the next member of an object, whose value is next; `None` behind the last.
    pub(crate) fn next_key(&mut self, members: &mut Members) -> Result<Option<Cow<'a, str>>, JsonError> {
        let key = self.key(members)?;
        if key.is_some() {
            self.colon()?;
        }
        Ok(key)
    }

    /// [`Self::next_key`] up to the colon.
    pub(super) fn key(&mut self, members: &mut Members) -> Result<Option<Cow<'a, str>>, JsonError> {
        if !self.has_next(members, b'}')? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(JsonError::syntax("key must be a string"));
        }
        self.quoted().map(Some)
    }

    /// The colon behind a key.
    pub(super) fn colon(&mut self) -> Result<(), JsonError> {
        if self.peek() != Some(b':') {
            return Err(JsonError::syntax("expected `:`"));
        }
        self.at += 1;
        Ok(())
    }

    /// Reads the value of the member `name` into `slot`.
    pub(crate) fn member<T: FromJson>(&mut self, name: &str, slot: &mut Option<T>) -> Result<(), JsonError> {
        self.member_by(name, slot, T::from_json)
    }

    /// [`Self::member`] by a reader of its own.
    pub(crate) fn member_by<T>(
        &mut self,
        name: &str,
        slot: &mut Option<T>,
        read: fn(&mut Self) -> Result<T, JsonError>,
    ) -> Result<(), JsonError> {
        if slot.is_some() {
            return Err(JsonError::duplicate(name));
        }
        *slot = Some(read(self).map_err(|error| error.in_member(name))?);
        Ok(())
    }

    /// Reads the constant `name`, whose bit in `seen` tells whether it has occurred.
    pub(crate) fn constant(
        &mut self,
        name: &str,
        expected: Const,
        bit: u32,
        seen: &mut u32,
    ) -> Result<(), JsonError> {
        if *seen & bit != 0 {
            return Err(JsonError::duplicate(name));
        }
        *seen |= bit;
        let is_it = match expected {
            Const::Str(expected) => self.peek() == Some(b'"') && self.quoted()? == expected,
            Const::Bool(expected) => self.part::<Value>()? == expected,
        };
        match (is_it, expected) {
            (true, _) => Ok(()),
            (false, Const::Str(text)) => Err(JsonError::new(format_args!("`{name}`: expected `{text}`"))),
            (false, Const::Bool(flag)) => Err(JsonError::new(format_args!("`{name}`: expected `{flag}`"))),
        }
    }

    /// Value of the member `tag` of the object that comes next, which is not consumed.
    pub(crate) fn tag(&self, tag: &str, expected: &str) -> Result<Cow<'a, str>, JsonError> {
        let mut ahead = self.clone();
        let mut members = ahead.object(expected)?;
        while let Some(key) = ahead.next_key(&mut members)? {
            if key != tag {
                ahead.skip()?;
                continue;
            }
            return match ahead.peek() {
                Some(b'"') => ahead.quoted(),
                Some(b't' | b'f') => Ok(Cow::Borrowed(if ahead.part()? { "true" } else { "false" })),
                _ => {
                    let value: Value = ahead.part()?;
                    Err(JsonError::new(format_args!("`{tag}`: {value} is no kind of frame")))
                }
            };
        }
        Err(JsonError::missing(tag))
    }

    /// Skips a value of any shape.
    pub(crate) fn skip(&mut self) -> Result<(), JsonError> {
        self.with_depth(MOST_DEPTH, Self::skip_value)
    }

    fn skip_value(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'{') => {
                let mut members = self.object("")?;
                while self.next_key(&mut members)?.is_some() {
                    self.skip_value()?;
                }
                Ok(())
            }
            Some(b'[') => {
                let mut members = self.array("")?;
                while self.has_next(&mut members, b']')? {
                    self.skip_value()?;
                }
                Ok(())
            }
            Some(b'"') => self.quoted().map(drop),
            _ => self.scalar().map(drop),
        }
    }

    /// Reads a string.
    pub(super) fn string(&mut self, expected: &dyn Expected) -> Result<Cow<'a, str>, JsonError> {
        match self.peek() {
            Some(b'"') => self.quoted(),
            _ => Err(self.wrong_type(expected)),
        }
    }

    /// Reads a number.
    pub(super) fn number(&mut self, expected: &dyn Expected) -> Result<Number, JsonError> {
        if !matches!(self.peek(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.wrong_type(expected));
        }
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_short = (1..=18).contains(&digits) && (digits == 1 || !rest.starts_with('0'));
        if is_short && matches!(rest.as_bytes().get(digits), None | Some(b',' | b'}' | b']')) {
            self.at += digits;
            let value =
                rest.as_bytes()[..digits].iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            return Ok(value.into());
        }
        self.part()
    }

    /// Reads a number, a boolean or `null`.
    pub(super) fn scalar(&mut self) -> Result<Value, JsonError> {
        for (word, value) in
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)]
        {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.number(&"a value").map(Value::Number)
    }

    /// Reads an integer from `least` to `most`; `5.0` is one, as in JSON Schema.
    pub(crate) fn integer(&mut self, least: i64, most: i64) -> Result<i64, JsonError> {
        let expected = format_args!("an integer from {least} to {most}");
        // Formatted only in an error.
        let expected: &dyn Fn(&mut std::fmt::Formatter<'_>) -> std::fmt::Result =
            &|f| std::fmt::Write::write_fmt(f, expected);
        let expected = &Expectation(expected);
        let number = self.number(expected)?;
        let (value, found) = match (number.as_i64(), number.as_u64(), number.as_f64().unwrap_or(f64::NAN)) {
            (Some(value), ..) => (Some(value), Unexpected::Signed(value)),
            (None, Some(value), _) => (None, Unexpected::Unsigned(value)),
            (None, None, value) => (whole(value), Unexpected::Float(value)),
        };
        let value = value.filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| JsonError::wrong_value(found, expected))
    }

    /// Reads a number from 0.
    pub(crate) fn non_negative(&mut self) -> Result<Number, JsonError> {
        let number = Number::from_json(self)?;
        match number.as_f64().is_some_and(|number| number >= 0.0) {
            true => Ok(number),
            false => Err(JsonError::wrong_value(Unexpected::Other(&number.to_string()), &"a number from 0")),
        }
    }

    /// Reads a string of a list.
    pub(crate) fn word<T>(
        &mut self,
        parse: fn(&str) -> Option<T>,
        words: &'static [&'static str],
    ) -> Result<T, JsonError> {
        let expected = &Expectation(&|f| write!(f, "one of `{}`", words.join("`, `")));
        let text = self.string(expected)?;
        parse(&text).ok_or_else(|| JsonError::wrong_value(Unexpected::Str(&text), expected))
    }

    /// Reads a value of any shape by `serde_json`.
    pub(super) fn part<T: DeserializeOwned>(&mut self) -> Result<T, JsonError> {
        let mut parts = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter::<T>();
        match parts.next() {
            Some(Ok(value)) => {
                self.at += parts.byte_offset();
                Ok(value)
            }
            Some(Err(error)) => Err(JsonError::of_part(&error)),
            None => Err(JsonError::syntax("EOF while parsing a value")),
        }
    }

    /// Error about the next value, which has another JSON type than `expected`.
    pub(super) fn wrong_type(&mut self, expected: &dyn Expected) -> JsonError {
        let found = match self.peek() {
            Some(b'{') => Unexpected::Map,
            Some(b'[') => Unexpected::Seq,
            _ => match self.part::<Value>() {
                Err(error) => return error,
                Ok(Value::String(text)) => {
                    return JsonError::wrong_type(Unexpected::Str(&text), expected);
                }
                Ok(Value::Bool(flag)) => Unexpected::Bool(flag),
                Ok(Value::Number(number)) => match (number.as_u64(), number.as_i64()) {
                    (Some(number), _) => Unexpected::Unsigned(number),
                    (None, Some(number)) => Unexpected::Signed(number),
                    (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
                },
                Ok(_) => Unexpected::Unit,
            },
        };
        JsonError::wrong_type(found, expected)
    }

    /// Reads the string at whose quotation mark the reader stands.
    fn quoted(&mut self) -> Result<Cow<'a, str>, JsonError> {
        let start = self.at + 1;
        let rest = &self.text.as_bytes()[start..];
        let end = end_of_plain_text(rest);
        match rest.get(end) {
            Some(b'"') => {
                self.at = start + end + 1;
                Ok(Cow::Borrowed(&self.text[start..start + end]))
            }
            _ => self.part::<String>().map(Cow::Owned),
        }
    }
}

/// Index of the first quotation mark, backslash or control character; compares eight bytes at once.
fn end_of_plain_text(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // The high bit of every byte of `word` that is below `least`, and of none in front of the first of them.
    const fn below(word: u64, least: u64) -> u64 {
        word.wrapping_sub(ONES * least) & !word & (ONES << 7)
    }
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = below(word, 0x20)
            | below(word ^ (ONES * b'"' as u64), 1)
            | below(word ^ (ONES * b'\\' as u64), 1);
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    bytes.len() - rest.len() + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// The integer that a double without a fraction is; `None` where a double does not hold every integer.
fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_991.0).then_some(value as i64)
}

struct Expectation<'a>(&'a dyn Fn(&mut std::fmt::Formatter<'_>) -> std::fmt::Result);

impl Expected for Expectation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (self.0)(f)
    }
}
