//! Reading of the types that members have, and the entrances of the reader.

use super::{JsonError, JsonReader};
use crate::RequestId;
use indexmap::IndexMap;
use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny},
};
use serde_json::{Map, Number, Value};

/// A type that reads itself from a JSON text.
pub trait FromJson: Sized {
    /// Reads the next value.
    ///
    /// # Errors
    /// The text is not JSON, or not a value of the type.
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError>;
}

/// Reads a value of a generated type from bytes, at the speed of [`crate::read`] but without the checks of a dialect.
///
/// # Errors
/// The bytes are not JSON, or not a value of the type; names the path of the value.
pub fn from_slice<T: FromJson>(bytes: &[u8]) -> Result<T, JsonError> {
    read_bytes(bytes, T::from_json)
}

/// [`from_slice`] for a text.
///
/// # Errors
/// As [`from_slice`].
pub fn from_str<T: FromJson>(text: &str) -> Result<T, JsonError> {
    read_text(text, T::from_json)
}

/// Reads one member of an object, whatever the others are.
///
/// # Errors
/// As [`from_slice`], with the path within the member; or the object does not have the member once.
pub fn member_from_slice<T: FromJson>(bytes: &[u8], name: &str) -> Result<T, JsonError> {
    read_bytes(bytes, |json| {
        let mut members = json.object("an object")?;
        let mut found = None;
        while let Some(key) = json.next_key(&mut members)? {
            match key == name {
                true if found.is_some() => return Err(JsonError::duplicate(name)),
                true => found = Some(T::from_json(json)?),
                false => json.skip()?,
            }
        }
        found.ok_or_else(|| JsonError::missing(name))
    })
}

fn read_bytes<T>(
    bytes: &[u8],
    read: impl FnOnce(&mut JsonReader<'_>) -> Result<T, JsonError>,
) -> Result<T, JsonError> {
    match str::from_utf8(bytes) {
        Ok(text) => read_text(text, read),
        Err(_) => Err(syntax_error(bytes)),
    }
}

/// Reads a text of which nothing may be left over.
pub(super) fn read_text<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut JsonReader<'a>) -> Result<T, JsonError>,
) -> Result<T, JsonError> {
    let mut json = JsonReader::new(text);
    let read = read(&mut json).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| if error.is_syntax() { syntax_error(text.as_bytes()) } else { error })
}

/// [`from_slice`] for a value.
///
/// # Errors
/// The value is not one of the type.
pub fn from_value<T: FromJson>(value: &Value) -> Result<T, JsonError> {
    from_str(&value.to_string())
}

/// `Deserialize` of the generated types: through a [`Value`], so that only one reader is compiled for each type. Where
/// speed matters, [`from_slice`] reads directly.
///
/// # Errors
/// Those of the deserializer and of [`from_value`].
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: FromJson>(from: D) -> Result<T, D::Error> {
    from_value(&Value::deserialize(from)?).map_err(de::Error::custom)
}

/// The words of `serde_json`, with line and column, for a text that is not JSON.
fn syntax_error(bytes: &[u8]) -> JsonError {
    let Err(error) = serde_json::from_slice::<Value>(bytes) else {
        return JsonError::new("recursion limit exceeded");
    };
    // A value is refused where it gets too deep, which need not be what is wrong here.
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Err(later) if (error.line(), error.column()) < (later.line(), later.column()) => {
            JsonError::new(later)
        }
        _ => JsonError::new(error),
    }
}

/// Error about an unknown tag, with the known ones.
pub(crate) fn unknown_tag(tag: &str, found: &str, known: &[&str]) -> JsonError {
    JsonError::new(format_args!("`{tag}`: `{found}` is not one of `{}`", known.join("`, `")))
}

/// A string, or a list of `T`, decided by the JSON type.
pub(crate) enum TextOrList<T> {
    /// A string.
    Text(String),
    /// An array.
    List(Vec<T>),
}

impl<T: FromJson> FromJson for TextOrList<T> {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        match json.peek() {
            Some(b'[') => Vec::from_json(json).map(Self::List),
            _ => {
                json.string(&"a string or a list of content blocks").map(|text| Self::Text(text.into_owned()))
            }
        }
    }
}

impl FromJson for String {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        json.string(&"a string").map(std::borrow::Cow::into_owned)
    }
}

impl FromJson for bool {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        match json.peek() {
            Some(b't' | b'f') => Ok(json.scalar()? == true),
            _ => Err(json.wrong_type(&"a boolean")),
        }
    }
}

impl FromJson for Number {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        json.number(&"a JSON number")
    }
}

impl FromJson for i64 {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        json.part()
    }
}

impl FromJson for RequestId {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        match json.peek() {
            Some(b'"') => String::from_json(json).map(Self::String),
            _ => json.part(),
        }
    }
}

impl FromJson for Value {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        json.part()
    }
}

impl FromJson for Map<String, Value> {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        json.part()
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        match json.peek() {
            Some(b'n') => json.part::<()>().map(|()| None),
            _ => T::from_json(json).map(Some),
        }
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        let mut members = json.array("a sequence")?;
        let mut list = Self::new();
        while json.has_next(&mut members, b']')? {
            list.push(T::from_json(json).map_err(|error| error.in_element(list.len()))?);
        }
        Ok(list)
    }
}

impl<T: FromJson> FromJson for IndexMap<String, T> {
    fn from_json(json: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        let mut members = json.object("a map")?;
        let mut map = Self::new();
        while let Some(key) = json.next_key(&mut members)? {
            let value = T::from_json(json).map_err(|error| error.in_member(&key))?;
            map.insert(key.into_owned(), value);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    //! The reader agrees with serde_json about JSON, and names the place of an error.

    use super::*;
    use crate::{AgentMessage, RpcCommand};
    use serde_json::json;

    fn error_of<T: FromJson>(text: &str) -> String {
        from_str::<T>(text).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn error_names_the_path() {
        let text = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":5}],"timestamp":0}"#;
        let expected = "`content[1].text`: invalid type: integer `5`, expected a string";
        assert_eq!(error_of::<AgentMessage>(text), expected);
    }

    #[test]
    fn error_within_text_keeps_position() {
        let expected = "EOF while parsing an object at line 1 column 17";
        assert_eq!(error_of::<RpcCommand>(r#"{"type":"prompt" "#), expected);
    }

    #[test]
    fn tag_behind_other_members_decides() {
        let text = r#" { "message" : "a\u00e4\n" , "type" : "steer" , "more" : { "x" : [ ] } } "#;
        let command: RpcCommand = from_str(text).expect("a command");
        assert_eq!(
            serde_json::to_value(command).unwrap(),
            json!({ "type": "steer", "message": "a\u{e4}\n" })
        );
    }

    #[test]
    fn text_that_is_no_json_fails() {
        let texts = [
            "",
            "{",
            "[",
            r#"{"type":"abort",}"#,
            r#"{"type":"abort"}}"#,
            r#"{"type":"abort" "id":"a"}"#,
            r#"{,"type":"abort"}"#,
            r#"{"type":"abort","x":[1,]}"#,
            r#"{"type":"abort","x":01}"#,
            "{\"type\":\"abort\",\"id\":\"a\u{1}\"}",
            r#"{"type":"abort","id":"\ud800"}"#,
            r#"{"type" "abort"}"#,
        ];
        for text in texts {
            assert!(from_str::<RpcCommand>(text).is_err(), "{text}");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn serde_reads_what_the_reader_reads() {
        let text = r#"{"role":"user","content":"a","timestamp":0}"#;
        let direct: AgentMessage = from_str(text).expect("a message");
        assert_eq!(serde_json::from_str::<AgentMessage>(text).expect("a message"), direct);
    }
}
