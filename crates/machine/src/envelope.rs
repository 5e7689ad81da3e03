//! Reads the common members of a server's line leniently: enough to judge its form, and to go on if the rest is invalid.
//!
//! Rules: `schema`, `unknown-type`, `no-ready`, `resp-shape`, `no-event-id`, `ui-timeout-only-dialogs`.

use crate::{findings::Findings, kind::Kind, requests::ResponseHead, unreadable_frame::UnreadableFrame};
use pi_rpc_protocol::{
    AgentMessageKind, AgentSessionEventKind, AssistantMessageEventKind, CompactionReason, ExtensionError,
    HostToolCall, HostToolCancel, ReadError, ReadyFrame, RequestId, RpcCommandKind, RpcExtensionUIRequest,
    RpcExtensionUIRequestKind, RpcResponse, RuleId as Rule, StopReason, fires,
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

/// The common members of a line, parsed on demand.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    command: Option<&'a RawValue>,
    #[serde(borrow, default)]
    success: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timeout: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reason: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "assistantMessageEvent")]
    step: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Parses a line. The error says what was expected if it is not an object with a string `type`.
    pub fn read(text: &'a str) -> Result<(Self, String), String> {
        let envelope: Self =
            serde_json::from_str(text).map_err(|error| format!("one JSON object ({error})"))?;
        // serde accepts an array for a struct, too.
        if !text.trim_ascii_start().starts_with('{') {
            return Err("one JSON object, not an array".to_owned());
        }
        let kind = envelope.kind.and_then(value::<String>).ok_or("a string `type`")?;
        Ok((envelope, kind))
    }

    /// Judges the form of the members.
    pub fn judge(&self, kind: &str, found: &mut Findings) {
        match kind {
            RpcResponse::TYPE => {
                let fits = match self.success.and_then(value::<bool>) {
                    Some(true) => self.error.is_none(),
                    Some(false) => {
                        self.error.is_some_and(|it| value::<String>(it).is_some()) && self.data.is_none()
                    }
                    None => false,
                };
                found.expect(Rule::RespShape, fits, || {
                    "`success`, and an `error` exactly on failure, without `data`".to_owned()
                });
            }
            RpcExtensionUIRequest::TYPE => {
                let method = self.method.and_then(value::<String>).unwrap_or_default();
                let waits = RpcExtensionUIRequestKind::parse(&method)
                    .is_some_and(RpcExtensionUIRequestKind::has_timeout);
                found.expect(Rule::UiTimeoutOnlyDialogs, waits || self.timeout.is_none(), || {
                    format!("no `timeout` in `{method}`")
                });
            }
            // These name the command that they belong to.
            kind if AgentSessionEventKind::parse(kind).is_some_and(AgentSessionEventKind::has_id) => {}
            kind if AgentSessionEventKind::parse(kind).is_some() => {
                found.expect(Rule::NoEventId, self.id.is_none(), || "no `id` in an event".to_owned());
            }
            _ => {}
        }
    }

    /// The command id that a response repeats.
    pub fn response_id(&self, kind: &str) -> Option<RequestId> {
        self.id.filter(|_| kind == RpcResponse::TYPE).and_then(value)
    }

    /// The invalid id (an object or an array) that a response repeats.
    pub fn invalid_id(&self, kind: &str) -> Option<Value> {
        let is_odd = |value: &Value| value.is_object() || value.is_array();
        self.id.filter(|_| kind == RpcResponse::TYPE).and_then(value).filter(is_odd)
    }

    /// The message that a `message_end` completes.
    pub fn completed_message(&self, kind: &str) -> Option<Value> {
        self.message.filter(|_| kind == AgentSessionEventKind::MessageEnd.as_str()).and_then(value)
    }

    /// Describes a frame that could not be parsed.
    pub fn unreadable(&self, kind: &str, error: &ReadError) -> UnreadableFrame {
        let foreign = matches!(error, ReadError::Dialect(faults) if faults.is_foreign_type(kind));
        if foreign || !is_known(kind) {
            let rule = if kind == ReadyFrame::TYPE { Rule::NoReady } else { Rule::UnknownType };
            let expected = format!("a type that the dialect knows, not `{kind}`");
            return UnreadableFrame { kind: None, answer: None, rule, expected };
        }
        let answer = (kind == RpcResponse::TYPE).then(|| ResponseHead {
            id: self.id.and_then(value::<RequestId>),
            command: self.command.and_then(value::<String>).unwrap_or_default(),
            success: self.success.and_then(value::<bool>).unwrap_or_default(),
            error: self.error.and_then(value::<String>),
        });
        let expected = format!("a valid `{kind}`: {error}");
        UnreadableFrame { kind: self.reduced(kind, answer.as_ref()), answer, rule: Rule::Schema, expected }
    }

    fn reduced(&self, kind: &str, answer: Option<&ResponseHead>) -> Option<Kind> {
        use AgentSessionEventKind as Event;
        if let Some(answer) = answer {
            return Some(Kind::Response(RpcCommandKind::parse(&answer.command), answer.success));
        }
        match kind {
            RpcExtensionUIRequest::TYPE => {
                RpcExtensionUIRequestKind::parse(&self.method.and_then(value::<String>)?).map(Kind::UiRequest)
            }
            ExtensionError::TYPE => Some(Kind::ExtensionError),
            ReadyFrame::TYPE => Some(Kind::Ready),
            HostToolCall::TYPE => Some(Kind::HostToolCall),
            HostToolCancel::TYPE => Some(Kind::HostToolCancel),
            kind => match Event::parse(kind)? {
                Event::MessageStart => Some(Kind::MessageStart(self.role()?)),
                Event::MessageUpdate => {
                    let step: Tag = self.step.and_then(value)?;
                    AssistantMessageEventKind::parse(&step.kind).map(Kind::MessageUpdate)
                }
                Event::MessageEnd => Some(match self.role()? {
                    AgentMessageKind::Assistant => Kind::AssistantEnd(self.stop_reason()),
                    role => Kind::MessageEnd(role),
                }),
                Event::CompactionStart => Some(Kind::CompactionStart(self.is_manual()?)),
                Event::CompactionEnd => Some(Kind::CompactionEnd(self.is_manual()?)),
                Event::AutoRetryEnd => Some(Kind::RetryEnd(self.success.and_then(value::<bool>)?)),
                event => Some(Kind::Event(event)),
            },
        }
    }

    fn is_manual(&self) -> Option<bool> {
        let reason = self.reason.and_then(value::<String>)?;
        Some(CompactionReason::parse(&reason)? == CompactionReason::Manual)
    }

    fn role(&self) -> Option<AgentMessageKind> {
        let message: Role = self.message.and_then(value)?;
        AgentMessageKind::parse(&message.role)
    }

    fn stop_reason(&self) -> StopReason {
        let ended = self.message.and_then(value::<Ended>);
        ended.and_then(|ended| StopReason::parse(&ended.stop_reason)).unwrap_or(StopReason::Stop)
    }
}

/// Reads a present member as `Some`, even if it is `null`.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Role {
    role: String,
}

#[derive(Deserialize)]
struct Ended {
    #[serde(rename = "stopReason")]
    stop_reason: String,
}

fn value<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// Whether any dialect has frames of this type.
fn is_known(kind: &str) -> bool {
    [RpcResponse::TYPE, RpcExtensionUIRequest::TYPE].contains(&kind) || !fires(kind).is_empty()
}
