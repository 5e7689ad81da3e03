//! Reading of one inbound line: a frame, or the error with which the server responds.

use super::{
    Dialect, DialectBlankLine, DialectByteOrderMark, DialectErrorStyle, HostResponseKind, Inbound, RequestId,
    RpcCommand, RpcCommandKind, RpcErrorResponse, errors,
    json::from_str,
    read::{check_and_fit, json_words, read_scalar_id},
    surrogates::mend_surrogates,
};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess},
};
use serde_json::Value;
use std::{borrow::Cow, collections::HashSet, fmt};

/// Reason why a line is not a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum LineError {
    /// Not one JSON object with a string `type`.
    Parse {
        /// Description of the problem.
        reason: String,
        /// `id` of an object without a usable `type`.
        id: Option<RequestId>,
    },
    /// A `type` that the dialect does not have.
    Unknown {
        /// The `type` as given.
        kind: String,
        /// The `id` as given.
        id: Option<RequestId>,
    },
    /// A frame with a missing member, or with one of the wrong type.
    Field {
        /// The `type` as given.
        kind: String,
        /// The `id` as given.
        id: Option<RequestId>,
        /// The member and what was expected.
        reason: String,
    },
    /// A valid command that its sender may not give.
    Refused {
        /// The `type` of the command.
        kind: String,
        /// The `id` of the command.
        id: Option<RequestId>,
        /// The code of the refusal, and why.
        reason: String,
    },
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads one line without its line feed. `None`: a blank line that the dialect skips.
///
/// Stricter than the originals: a duplicate key, invalid UTF-8 and a value that is not an object are errors. As lenient
/// as they are: an id may be any scalar, a lone surrogate escape becomes U+FFFD, and `null` in an optional member
/// counts as absent.
pub fn read_line(line: &[u8], dialect: Dialect) -> Result<Option<Inbound>, LineError> {
    let record = dialect.record();
    let mut line = line.strip_suffix(b"\r").unwrap_or(line);
    if record.byte_order_mark == DialectByteOrderMark::Accept {
        line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    }
    let parse = |reason: String| LineError::Parse { reason, id: None };
    if line.trim_ascii().is_empty() {
        return match record.blank_line {
            DialectBlankLine::Skip => Ok(None),
            DialectBlankLine::Error => Err(parse("the line is empty".to_owned())),
        };
    }
    if line.starts_with(BYTE_ORDER_MARK) {
        return Err(parse("the line starts with a byte order mark".to_owned()));
    }
    let text = str::from_utf8(line);
    let text = text.map_err(|e| parse(format!("invalid UTF-8 at byte {}", e.valid_up_to())))?;
    let text = mend_surrogates(text);
    let envelope: Envelope =
        serde_json::from_slice(text.as_bytes()).map_err(|e| parse(plain(&e.to_string())))?;
    // A command whose members are all scalars has no foreign members that must be removed before it is read.
    let is_flat_command = !envelope.is_nested && envelope.kind.as_deref().is_some_and(is_command(dialect));
    // Errors are found by the second reading.
    let command = is_flat_command.then(|| from_str::<RpcCommand>(&text).ok()).flatten();
    if let Some(command) = command.and_then(|command| check_and_fit(command, dialect).ok()) {
        return Ok(Some(Inbound::Command(command)));
    }
    let Some(kind) = envelope.kind else {
        let reason = "`type`: expected a string that names a command".to_owned();
        return Err(LineError::Parse { reason, id: envelope.id.and_then(id_of) });
    };
    if !is_inbound(&kind, dialect) {
        return Err(LineError::Unknown { kind: kind.into_owned(), id: envelope.id.and_then(id_of) });
    }
    let read = read_scalar_id(text.as_bytes(), dialect);
    read.map(Some).map_err(|error| {
        let id = envelope.id.and_then(id_of);
        LineError::Field { kind: kind.into_owned(), id, reason: error.to_string() }
    })
}

impl LineError {
    /// Whether the error leads to a response. An invalid dialog response does not: the host would take the response for
    /// one to a command.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Self::Field { kind, .. } if kind == HostResponseKind::ExtensionUiResponse.as_str())
    }

    /// Whether the line is a frame without a required member.
    pub fn lacks_field(&self) -> bool {
        matches!(self, Self::Field { reason, .. } if reason.contains("missing field"))
    }

    /// Error response, in the style of the dialect.
    pub fn response(self, dialect: Dialect) -> RpcErrorResponse {
        let (base, record) = (dialect.base(), dialect.record());
        let echoed = |id: Option<RequestId>| id.filter(|_| record.unknown_command_echoes_id);
        let parse = |reason: &str, id| RpcErrorResponse {
            id,
            command: "parse".to_owned(),
            error: errors::parse(base, reason),
            code: None,
        };
        match self {
            Self::Parse { reason, id } => parse(&reason, echoed(id)),
            Self::Unknown { kind, id } => RpcErrorResponse {
                id: echoed(id),
                error: errors::unknown_command(base, &kind),
                command: kind,
                code: None,
            },
            Self::Field { kind, id, reason } => match record.error_style {
                DialectErrorStyle::Echo => RpcErrorResponse { id, command: kind, error: reason, code: None },
                DialectErrorStyle::Parse => parse(&format!("{kind}: {reason}"), None),
            },
            Self::Refused { kind, id, reason } => {
                RpcErrorResponse { id, command: kind, error: reason, code: None }
            }
        }
    }
}

fn is_inbound(kind: &str, dialect: Dialect) -> bool {
    is_command(dialect)(kind) || HostResponseKind::parse(kind).is_some_and(|kind| kind.is_in(dialect.base()))
}

fn is_command(dialect: Dialect) -> impl Fn(&str) -> bool {
    move |kind| RpcCommandKind::parse(kind).is_some_and(|kind| kind.is_in(dialect.base()))
}

/// Error text of serde_json without the line number, which is always 1.
fn plain(text: &str) -> String {
    json_words(text).replace(" at line 1 column 0", "").replace(" at line 1 column ", " at column ")
}

/// Request id of a scalar value; `None` for other values.
fn id_of(value: Scalar) -> Option<RequestId> {
    match value {
        Scalar::Str(text) => Some(RequestId::String(text.into_owned())),
        Scalar::Other(value) => RequestId::deserialize(value).ok(),
    }
}

/// The members of every inbound frame, read leniently, while the whole line is scanned for duplicate keys.
#[derive(Default)]
struct Envelope<'de> {
    id: Option<Scalar<'de>>,
    kind: Option<Cow<'de, str>>,
    /// Whether a member is an object or an array.
    is_nested: bool,
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
            keys.add(key.clone())?;
            let Scanned(value) = map.next_value()?;
            envelope.is_nested |= value.is_none();
            match (key.as_ref(), value) {
                ("id", value) => envelope.id = value,
                ("type", Some(Scalar::Str(kind))) => envelope.kind = Some(kind),
                _ => {}
            }
        }
        Ok(envelope)
    }
}

/// Reads a key, borrowed if the input allows it.
struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> de::Visitor<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// String, number, boolean or `null`.
enum Scalar<'de> {
    Str(Cow<'de, str>),
    Other(Value),
}

/// Any value, scanned for duplicate keys; only a scalar is kept.
struct Scanned<'de>(Option<Scalar<'de>>);

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
        Ok(Scanned(Some(Scalar::Str(Cow::Borrowed(text)))))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scanned(Some(Scalar::Str(Cow::Owned(text.to_owned())))))
    }
    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Scanned::other(flag))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scanned::other(number))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Scanned::other(number))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scanned::other(number))
    }
    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Scanned::other(Value::Null))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<Scanned>()?.is_some() {}
        Ok(Scanned(None))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut keys = Keys::default();
        while let Some(key) = map.next_key_seed(TextSeed)? {
            keys.add(key)?;
            map.next_value::<Scanned>()?;
        }
        Ok(Scanned(None))
    }
}

impl Scanned<'_> {
    fn other(value: impl Into<Value>) -> Self {
        Self(Some(Scalar::Other(value.into())))
    }
}

/// The keys of one object so far: the first few unescaped ones in a list, all others in a hash set.
#[derive(Default)]
struct Keys<'de> {
    few: [&'de str; FEW],
    count: usize,
    others: Option<HashSet<String>>,
}

const FEW: usize = 8;

impl<'de> Keys<'de> {
    fn add<E: de::Error>(&mut self, key: Cow<'de, str>) -> Result<(), E> {
        let is_other = || self.others.as_ref().is_some_and(|others| others.contains(key.as_ref()));
        if self.few[..self.count].contains(&key.as_ref()) || is_other() {
            return Err(E::custom(format_args!("duplicate key `{key}`")));
        }
        match key {
            Cow::Borrowed(key) if self.count < FEW => {
                self.few[self.count] = key;
                self.count += 1;
            }
            key => drop(self.others.get_or_insert_default().insert(key.into_owned())),
        }
        Ok(())
    }
}
