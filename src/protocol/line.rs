//! One inbound line: what it is, or the one clear error that answers it.

use super::{
    Dialect, DialectBlankLine, DialectByteOrderMark, DialectErrorStyle, Inbound, JsonObject, RequestId,
    RpcCommandKind, RpcErrorResponse, errors,
    map::TextSeed,
    read::{json_words, read_scalar_id},
    surrogates::mend_surrogates,
};
use serde::{
    Deserialize,
    de::{self, MapAccess, SeqAccess},
};
use std::{borrow::Cow, collections::HashSet, fmt};

/// Why a line is no frame.
#[derive(Clone, Debug, PartialEq)]
pub enum LineError {
    /// Not one JSON object with a string `type`.
    Parse {
        /// What is wrong with it.
        reason: String,
    },
    /// No command of the dialect.
    Unknown {
        /// The `type` as given.
        kind: String,
        /// The `id` as given.
        id: Option<RequestId>,
    },
    /// A command with a field missing or of the wrong type.
    Field {
        /// Its `type`.
        kind: String,
        /// The `id` as given.
        id: Option<RequestId>,
        /// The field and what was expected.
        reason: String,
    },
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads one line without its line feed. `None`: a blank line that the dialect skips.
///
/// Stricter than the originals: a duplicate key, invalid UTF-8 and a value that is no object are errors. As lenient as
/// they are: an id may be any scalar, half a character in an escape becomes U+FFFD, `null` for an optional field counts
/// as absent.
pub fn read_line(line: &[u8], dialect: Dialect) -> Result<Option<Inbound>, LineError> {
    let record = dialect.record();
    let mut line = line.strip_suffix(b"\r").unwrap_or(line);
    if record.byte_order_mark == DialectByteOrderMark::Accept {
        line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    }
    if line.trim_ascii().is_empty() {
        return match record.blank_line {
            DialectBlankLine::Skip => Ok(None),
            DialectBlankLine::Error => Err(LineError::Parse { reason: "the line is empty".to_owned() }),
        };
    }
    let parse = |reason: String| LineError::Parse { reason };
    if line.starts_with(BYTE_ORDER_MARK) {
        return Err(parse("the line starts with a byte order mark".to_owned()));
    }
    let text = str::from_utf8(line);
    let text = text.map_err(|e| parse(format!("invalid UTF-8 at byte {}", e.valid_up_to())))?;
    let text = mend_surrogates(text);
    let envelope: Envelope = serde_json::from_str(&text).map_err(|e| parse(plain(&e.to_string())))?;
    let Some(kind) = envelope.kind else {
        return Err(parse("`type`: expected a string that names a command".to_owned()));
    };
    if !is_inbound(&kind, dialect) {
        return Err(LineError::Unknown { kind: kind.into_owned(), id: envelope.id });
    }
    let read = read_scalar_id(text.as_bytes(), dialect);
    let read = read.or_else(|error| without_nulls(&text, dialect).ok_or(error));
    read.map(Some).map_err(|error| match HOST_TOOL_ANSWERS.contains(&kind.as_ref()) {
        true => LineError::Unknown { kind: kind.into_owned(), id: envelope.id },
        false => LineError::Field { kind: kind.into_owned(), id: envelope.id, reason: error.to_string() },
    })
}

/// Answers of the host's tools are known by their shape: what does not have it is taken for a command.
const HOST_TOOL_ANSWERS: [&str; 2] = ["host_tool_update", "host_tool_result"];

const DIALOG_ANSWER: &str = "extension_ui_response";

impl LineError {
    /// Whether the host is told. No response is ever made for the answer to a dialog, not even for a bad one: a host
    /// would take it for the answer to something else.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Self::Field { kind, .. } if kind == DIALOG_ANSWER)
    }

    /// The response that says so, in the dialect's style.
    pub fn response(self, dialect: Dialect) -> RpcErrorResponse {
        let (base, record) = (dialect.base(), dialect.record());
        let parse = |reason: &str| RpcErrorResponse {
            id: None,
            command: "parse".to_owned(),
            error: errors::parse(base, reason),
        };
        match self {
            Self::Parse { reason } => parse(&reason),
            Self::Unknown { kind, id } => RpcErrorResponse {
                id: id.filter(|_| record.unknown_command_echoes_id),
                error: errors::unknown_command(base, &kind),
                command: kind,
            },
            Self::Field { kind, id, reason } => match record.error_style {
                DialectErrorStyle::Echo => RpcErrorResponse { id, command: kind, error: reason },
                DialectErrorStyle::Parse => parse(&format!("{kind}: {reason}")),
            },
        }
    }
}

fn is_inbound(kind: &str, dialect: Dialect) -> bool {
    let lanes = &dialect.record().lanes;
    match kind {
        DIALOG_ANSWER => true,
        kind if HOST_TOOL_ANSWERS.contains(&kind) => lanes.host_tools,
        kind => RpcCommandKind::parse(kind).is_some_and(|kind| kind.is_in(dialect.base())),
    }
}

/// The frame if nothing but `null` for an optional field was wrong: many hosts write an option that is not set so, and
/// the originals take it for absent.
fn without_nulls(text: &str, dialect: Dialect) -> Option<Inbound> {
    let mut members: JsonObject = serde_json::from_str(text).ok()?;
    members.retain(|key, value| key == "id" || !value.is_null());
    read_scalar_id(&serde_json::to_vec(&members).ok()?, dialect).ok()
}

/// serde_json's text without the line, which is always the first.
fn plain(text: &str) -> String {
    json_words(text).replace(" at line 1 column 0", "").replace(" at line 1 column ", " at column ")
}

/// The members that every inbound frame has, read leniently; the whole line is scanned for duplicate keys.
#[derive(Default)]
struct Envelope<'de> {
    id: Option<RequestId>,
    kind: Option<Cow<'de, str>>,
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> de::Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        let mut keys = Keys::default();
        while let Some(key) = map.next_key_seed(TextSeed)? {
            let (is_id, is_kind) = (key == "id", key == "type");
            keys.add(key)?;
            let value: Scanned = map.next_value()?;
            if is_id {
                envelope.id = value.id.or_else(|| value.text.as_deref().map(RequestId::from));
            } else if is_kind {
                envelope.kind = value.text;
            }
        }
        Ok(envelope)
    }
}

/// Any value, scanned for duplicate keys; a scalar is kept: a string as `text`, any other as `id`.
struct Scanned<'de> {
    id: Option<RequestId>,
    text: Option<Cow<'de, str>>,
}

impl<'de> Scanned<'de> {
    const NOTHING: Self = Self { id: None, text: None };
    fn id(id: RequestId) -> Self {
        Self { id: Some(id), text: None }
    }
    fn text(text: Cow<'de, str>) -> Self {
        Self { id: None, text: Some(text) }
    }
}

impl<'de> Deserialize<'de> for Scanned<'de> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ScannedVisitor)
    }
}

struct ScannedVisitor;

impl<'de> de::Visitor<'de> for ScannedVisitor {
    type Value = Scanned<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scanned::text(Cow::Borrowed(text)))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scanned::text(Cow::Owned(text.to_owned())))
    }
    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Scanned::id(RequestId::Bool(flag)))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scanned::id(RequestId::Number(number.into())))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Scanned::id(RequestId::Number(number.into())))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scanned::id(RequestId::Number(super::number(number))))
    }
    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Scanned::id(RequestId::Null))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<Scanned>()?.is_some() {}
        Ok(Scanned::NOTHING)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut keys = Keys::default();
        while let Some(key) = map.next_key_seed(TextSeed)? {
            keys.add(key)?;
            map.next_value::<Scanned>()?;
        }
        Ok(Scanned::NOTHING)
    }
}

/// The keys of one object so far: a short list is searched, a long one hashed.
#[derive(Default)]
struct Keys<'de> {
    few: Vec<Cow<'de, str>>,
    many: HashSet<String>,
}

const FEW: usize = 16;

impl<'de> Keys<'de> {
    fn add<E: de::Error>(&mut self, key: Cow<'de, str>) -> Result<(), E> {
        if self.few.contains(&key) || self.many.contains(key.as_ref()) {
            return Err(E::custom(format_args!("duplicate key `{key}`")));
        }
        match self.few.len() < FEW {
            true => self.few.push(key),
            false => drop(self.many.insert(key.into_owned())),
        }
        Ok(())
    }
}
