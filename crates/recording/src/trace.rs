//! The format of recordings: JSON Lines with `t`, `dir` and `frame`, or `raw` for a line that was not JSON.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// One line of a recording.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Milliseconds since the recording began.
    pub t: f64,
    /// The source of the line.
    pub direction: Direction,
    /// The content of the line.
    pub body: Body<'a>,
    /// Whether long strings were shortened; their content is not judged.
    pub cut: bool,
}

/// The source of a recorded line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Host to server.
    In,
    /// Server to host.
    Out,
    /// The server's stderr.
    Err,
    /// An event of the process: `spawn`, `stdin closed`, `exit`, `timeout`, `stderr`.
    Meta,
}

/// The content of a recorded line.
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// The bytes of one JSON value.
    Json(Cow<'a, [u8]>),
    /// The bytes of a line that was not JSON.
    Raw(Cow<'a, [u8]>),
}

impl Body<'_> {
    /// The bytes of the line, without its line feed.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Json(bytes) | Self::Raw(bytes) => bytes,
        }
    }
}

impl Record<'_> {
    /// A record with bytes of its own.
    pub fn to_static(&self) -> Record<'static> {
        let body = match &self.body {
            Body::Json(bytes) => Body::Json(Cow::Owned(bytes.to_vec())),
            Body::Raw(bytes) => Body::Raw(Cow::Owned(bytes.to_vec())),
        };
        Record { body, ..*self }
    }
}

/// A line is not a record.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Not a JSON object with `dir`, and one of `frame`, `raw` and `raw64`.
    #[error("not a record: {0}")]
    Line(#[from] serde_json::Error),
    /// `raw64` is not base64.
    #[error("`raw64`: {0}")]
    Raw64(#[from] base64::DecodeError),
    /// None of `frame`, `raw` and `raw64` is there.
    #[error("not a record: expected `frame`, `raw` or `raw64`")]
    Empty,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default)]
    t: f64,
    dir: Direction,
    #[serde(borrow, default, deserialize_with = "present")]
    frame: Option<&'a RawValue>,
    #[serde(borrow)]
    raw: Option<Cow<'a, str>>,
    #[serde(borrow)]
    raw64: Option<Cow<'a, str>>,
    #[serde(default)]
    cut: bool,
}

/// Reads a present member as `Some`, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

/// Reads one line of a recording; unknown keys are ignored.
pub fn read_record(line: &str) -> Result<Record<'_>, TraceError> {
    let Line { t, dir, frame, raw, raw64, cut } = serde_json::from_str(line)?;
    let body = match (frame, raw, raw64) {
        (Some(frame), ..) => Body::Json(Cow::Borrowed(frame.get().as_bytes())),
        (_, Some(Cow::Borrowed(raw)), _) => Body::Raw(Cow::Borrowed(raw.as_bytes())),
        (_, Some(Cow::Owned(raw)), _) => Body::Raw(Cow::Owned(raw.into_bytes())),
        (_, _, Some(raw64)) => Body::Raw(Cow::Owned(BASE64_STANDARD.decode(raw64.as_bytes())?)),
        (None, None, None) => return Err(TraceError::Empty),
    };
    Ok(Record { t, direction: dir, body, cut })
}
