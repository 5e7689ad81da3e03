//! Reading of one inbound line: a frame, or the error with which the server responds.

use super::{
    Dialect, DialectBlankLine, DialectByteOrderMark, DialectErrorStyle, HostResponseKind, Inbound, RequestId,
    RpcCommand, RpcCommandKind, RpcErrorResponse, errors,
    json::{Envelope, from_str},
    read::{check_and_fit, json_words, read_scalar_id},
    surrogates::mend_surrogates,
};

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
    let mut envelope = Envelope::read(&text).map_err(|e| parse(plain(&e.to_string())))?;
    // A command whose members are all scalars has no foreign members that must be removed before it is read.
    let is_flat_command = !envelope.is_nested && envelope.kind.as_deref().is_some_and(is_command(dialect));
    // Errors are found by the second reading.
    let command = is_flat_command.then(|| from_str::<RpcCommand>(&text).ok()).flatten();
    if let Some(command) = command.and_then(|command| check_and_fit(command, dialect).ok()) {
        return Ok(Some(Inbound::Command(command)));
    }
    let Some(kind) = envelope.kind.take() else {
        let reason = "`type`: expected a string that names a command".to_owned();
        return Err(LineError::Parse { reason, id: envelope.request_id() });
    };
    if !is_inbound(&kind, dialect) {
        return Err(LineError::Unknown { kind: kind.into_owned(), id: envelope.request_id() });
    }
    let read = read_scalar_id(text.as_bytes(), dialect);
    read.map(Some).map_err(|error| {
        let id = envelope.request_id();
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
        let parse = |reason: &str, id| RpcErrorResponse {
            id,
            command: "parse".to_owned(),
            error: errors::parse(base, reason),
            code: None,
        };
        match self {
            Self::Parse { reason, id } => parse(&reason, id.filter(|_| record.parse_error_echoes_id)),
            Self::Unknown { kind, id } => RpcErrorResponse {
                id: id.filter(|_| record.unknown_command_echoes_id),
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
