//! The members of a line that the index needs, read without the rest.

use pi_rpc_protocol::HostResponseKind;
use pi_rpc_recording::{Body, Direction, Record};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::fmt::Write as _;

/// The members of a frame that tell what it is and what it belongs to.
#[derive(Debug, Default, Deserialize)]
pub struct FrameHead<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    command: Option<&'a RawValue>,
    #[serde(borrow, default)]
    success: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reason: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "assistantMessageEvent")]
    step: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "toolCallId")]
    call: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "isError")]
    is_error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    event: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cancelled: Option<&'a RawValue>,
    #[serde(borrow, default)]
    aborted: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timeout: Option<&'a RawValue>,
}

/// The message of a frame.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageHead {
    /// The role.
    pub role: String,
    /// The reason why an answer ended.
    pub stop_reason: Option<String>,
    /// The call that a result belongs to.
    pub tool_call_id: Option<String>,
    /// The model of an answer.
    pub model: Option<String>,
    /// The tokens of an answer.
    pub usage: Option<UsageHead>,
}

/// The tokens of an answer, with their cost.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageHead {
    /// The tokens.
    #[serde(flatten)]
    pub tokens: super::wire::Tokens,
    /// The cost.
    #[serde(default)]
    pub cost: Option<CostHead>,
}

/// The cost of an answer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct CostHead {
    /// Dollars.
    #[serde(default)]
    pub total: f64,
}

/// The longest id that is kept, in bytes.
const LONGEST_ID: usize = 256;

impl<'a> FrameHead<'a> {
    /// Reads the line of a record. `None`: it is no JSON object.
    pub fn of(record: &'a Record<'_>) -> Option<Self> {
        let Body::Json(line) = &record.body else { return None };
        if record.direction == Direction::Err || !line.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        serde_json::from_slice(line).ok()
    }

    /// The `type`.
    pub fn kind(&self) -> Option<String> {
        value(self.kind)
    }

    /// The `id`: a string without its quotes, anything else as JSON.
    pub fn id(&self) -> Option<String> {
        let raw = self.id?;
        let id = value(Some(raw)).unwrap_or_else(|| raw.get().to_owned());
        Some(id).filter(|id| id.len() <= LONGEST_ID)
    }

    /// The `command` of a response.
    pub fn command(&self) -> Option<String> {
        value(self.command)
    }

    /// Whether a command or a retry succeeded.
    pub fn success(&self) -> Option<bool> {
        value(self.success)
    }

    /// The `method` of a UI request.
    pub fn method(&self) -> Option<String> {
        value(self.method)
    }

    /// The message, if it is an object.
    pub fn message(&self) -> Option<MessageHead> {
        value(self.message)
    }

    /// The `type` of the step of a partial message.
    pub fn step(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Step {
            #[serde(rename = "type")]
            kind: String,
        }
        value::<Step>(self.step).map(|step| step.kind)
    }

    /// The text that the step of a partial message adds.
    pub fn delta(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Step {
            delta: String,
        }
        value::<Step>(self.step).map(|step| step.delta)
    }

    /// The call that an event of a tool belongs to.
    pub fn call(&self) -> Option<String> {
        value(self.call)
    }

    /// Whether a tool failed.
    pub fn is_error(&self) -> bool {
        value(self.is_error).unwrap_or_default()
    }

    /// Whether a dialog or what an event reports was cancelled or aborted.
    pub fn is_cancelled(&self) -> bool {
        #[derive(Deserialize)]
        struct Data {
            #[serde(default)]
            cancelled: bool,
        }
        [self.cancelled, self.aborted].into_iter().any(|flag| value(flag).unwrap_or_default())
            || value::<Data>(self.data).is_some_and(|data| data.cancelled)
    }

    /// The event of a process.
    pub fn event(&self) -> Option<String> {
        value(self.event)
    }

    /// Milliseconds after which a dialog closes by itself.
    pub fn timeout(&self) -> Option<f64> {
        value(self.timeout)
    }

    /// Writes the kind of the frame as the machine names it.
    pub fn write_label(&self, direction: Direction, out: &mut String) {
        out.clear();
        if direction == Direction::Meta {
            out.push_str(&self.event().unwrap_or_else(|| "event".to_owned()));
            return;
        }
        let Some(kind) = self.kind() else { return out.push_str(NO_FRAME) };
        let detail = match (direction, kind.as_str()) {
            (Direction::In, kind) if HostResponseKind::parse(kind).is_some() => None,
            (Direction::In, _) => {
                // Writing to a string does not fail.
                let _ = write!(out, "command({kind})");
                return;
            }
            (_, "response") => {
                let command = self.command().unwrap_or_else(|| "parse".to_owned());
                let fails = self.success() != Some(true) || self.is_cancelled();
                Some(format!("{command} {}", if fails { "error" } else { "ok" }))
            }
            (_, "message_start") => self.message().map(|message| message.role),
            (_, "message_end") => self.message().map(|message| match message.stop_reason {
                Some(reason) => format!("{} {reason}", message.role),
                None => message.role,
            }),
            (_, "message_update") => self.step(),
            (_, "auto_retry_end") => self.success().map(|success| success.to_string()),
            (_, "compaction_start" | "compaction_end") => value::<String>(self.reason)
                .map(|reason| if reason == "manual" { "manual" } else { "automatic" }.to_owned()),
            (_, "extension_ui_request") => self.method(),
            _ => None,
        };
        out.push_str(&kind);
        if let Some(detail) = detail {
            // Writing to a string does not fail.
            let _ = write!(out, "({detail})");
        }
    }
}

/// The kind of a line that is no frame.
pub const NO_FRAME: &str = "no frame";

fn value<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// Reads a present member as `Some`, even if it is `null`.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}
