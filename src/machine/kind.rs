//! The alphabet: each frame reduced to what the machine looks at.

use crate::protocol::{
    AgentMessage, AgentMessageKind, AgentSessionEvent, AgentSessionEventKind, AssistantMessageEventKind,
    Base, Fires, Outbound, RpcCommandKind, RpcExtensionUIRequestKind, RpcResponse, RpcSuccess, Said,
    StopReason, fires,
};
use std::fmt;

/// A frame's type, refined by role, delta type, success or stop reason where the machine depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A command came in.
    Command(RpcCommandKind),
    /// A dialog was answered.
    Answer,
    /// The host reports progress of a tool of its own.
    HostToolUpdate,
    /// The host's tool is done.
    HostToolResult,
    /// Input has ended.
    EndOfInput,
    /// A response, and whether what was asked for was done: what an extension has cancelled was not. `None` for a line
    /// that was no command.
    Response(Option<RpcCommandKind>, bool),
    /// An event that needs no refinement.
    Event(AgentSessionEventKind),
    /// A message begins.
    MessageStart(AgentMessageKind),
    /// The assistant message grows.
    MessageUpdate(AssistantMessageEventKind),
    /// A message other than the assistant's is complete.
    MessageEnd(AgentMessageKind),
    /// The assistant message is complete.
    AssistantEnd(StopReason),
    /// Retrying is over.
    RetryEnd(bool),
    /// The server asks the host, or tells it something to show.
    Ask(RpcExtensionUIRequestKind),
    /// An extension failed.
    ExtensionError,
    /// The server is ready.
    Ready,
    /// A tool of the host is called.
    HostToolCall,
    /// A call of a tool of the host is cancelled.
    HostToolCancel,
}

impl Kind {
    /// Every kind, inbound first.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = RpcCommandKind::ALL.into_iter().map(Self::Command).collect();
        all.extend([Self::Answer, Self::HostToolUpdate, Self::HostToolResult, Self::EndOfInput]);
        let commands = || RpcCommandKind::ALL.into_iter().map(Some).chain([None]);
        all.extend(commands().flat_map(|c| [Self::Response(c, true), Self::Response(c, false)]));
        all.extend(AgentSessionEventKind::ALL.into_iter().filter(|e| !is_refined(*e)).map(Self::Event));
        all.extend(AgentMessageKind::ALL.into_iter().map(Self::MessageStart));
        all.extend(AssistantMessageEventKind::ALL.into_iter().map(Self::MessageUpdate));
        all.extend(
            AgentMessageKind::ALL
                .into_iter()
                .filter(|r| *r != AgentMessageKind::Assistant)
                .map(Self::MessageEnd),
        );
        all.extend(StopReason::ALL.into_iter().map(Self::AssistantEnd));
        all.extend([Self::RetryEnd(true), Self::RetryEnd(false)]);
        all.extend(RpcExtensionUIRequestKind::ALL.into_iter().map(Self::Ask));
        all.extend([Self::ExtensionError, Self::Ready, Self::HostToolCall, Self::HostToolCancel]);
        all
    }

    /// The kind of what is said.
    pub fn of_said(said: &Said) -> Self {
        match said {
            Said::Frame(frame) => Self::of_outbound(frame),
            Said::Update(update) => Self::MessageUpdate(update.kind()),
        }
    }

    /// The kind of a frame that the server wrote.
    pub fn of_outbound(frame: &Outbound) -> Self {
        match frame {
            Outbound::Response(RpcResponse::Success(response)) => {
                Self::Response(Some(command_of(response.kind().as_str())), !is_cancelled(response))
            }
            Outbound::Response(RpcResponse::ErrorResponse(error)) => {
                Self::Response(RpcCommandKind::parse(&error.command), false)
            }
            Outbound::AgentSessionEvent(event) => Self::of_event(event),
            Outbound::ExtensionUIRequest(request) => Self::Ask(request.kind()),
            Outbound::ExtensionError(_) => Self::ExtensionError,
            Outbound::ReadyFrame(_) => Self::Ready,
            Outbound::HostToolCall(_) => Self::HostToolCall,
            Outbound::HostToolCancel(_) => Self::HostToolCancel,
        }
    }

    fn of_event(event: &AgentSessionEvent) -> Self {
        match event {
            AgentSessionEvent::MessageStart(start) => Self::MessageStart(start.message.kind()),
            AgentSessionEvent::MessageUpdate(update) => {
                Self::MessageUpdate(update.assistant_message_event.kind())
            }
            AgentSessionEvent::MessageEnd(end) => match &end.message {
                AgentMessage::Assistant(message) => Self::AssistantEnd(message.stop_reason),
                other => Self::MessageEnd(other.kind()),
            },
            AgentSessionEvent::AutoRetryEnd(end) => Self::RetryEnd(end.success),
            other => Self::Event(other.kind()),
        }
    }

    /// The rows of the fires-in table that speak of it, in dialects built on `base`: where it may be said and where it
    /// leads. None for what the table does not have: inbound frames and responses.
    pub fn fires(self, base: Base) -> impl Iterator<Item = &'static Fires> {
        let rows = self.name().map(fires).unwrap_or_default();
        rows.iter().filter(move |row| {
            row.only.is_none_or(|only| base.is_in(only))
                && row.when.is_none_or(|(name, is)| self.field(name).is_some_and(|value| is.contains(&value)))
        })
    }

    /// The name under which the fires-in table has it.
    const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Event(kind) => kind.as_str(),
            Self::MessageStart(_) => AgentSessionEventKind::MessageStart.as_str(),
            Self::MessageUpdate(_) => AgentSessionEventKind::MessageUpdate.as_str(),
            Self::MessageEnd(_) | Self::AssistantEnd(_) => AgentSessionEventKind::MessageEnd.as_str(),
            Self::RetryEnd(_) => AgentSessionEventKind::AutoRetryEnd.as_str(),
            Self::Ask(method) => method.as_str(),
            Self::ExtensionError => "extension_error",
            Self::Ready => "ready",
            Self::HostToolCall => "host_tool_call",
            Self::HostToolCancel => "host_tool_cancel",
            Self::Command(_)
            | Self::Answer
            | Self::HostToolUpdate
            | Self::HostToolResult
            | Self::EndOfInput
            | Self::Response(..) => return None,
        })
    }

    /// Whether it is an event of the session.
    pub const fn is_event(self) -> bool {
        matches!(
            self,
            Self::Event(_)
                | Self::MessageStart(_)
                | Self::MessageUpdate(_)
                | Self::MessageEnd(_)
                | Self::AssistantEnd(_)
                | Self::RetryEnd(_)
        )
    }

    /// The value of a field that a row of the fires-in table may ask for.
    fn field(self, name: &str) -> Option<&'static str> {
        match (self, name) {
            (Self::MessageStart(role) | Self::MessageEnd(role), "role") => Some(role.as_str()),
            (Self::AssistantEnd(_), "role") => Some(AgentMessageKind::Assistant.as_str()),
            (Self::AssistantEnd(reason), "stopReason") => Some(reason.as_str()),
            (Self::RetryEnd(true), "success") => Some("true"),
            (Self::RetryEnd(false), "success") => Some("false"),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(kind) => write!(f, "command({kind})"),
            Self::Answer => f.write_str("extension_ui_response"),
            Self::HostToolUpdate => f.write_str("host_tool_update"),
            Self::HostToolResult => f.write_str("host_tool_result"),
            Self::EndOfInput => f.write_str("end of input"),
            Self::Response(command, success) => {
                let command = command.map_or("parse", RpcCommandKind::as_str);
                write!(f, "response({command} {})", if *success { "ok" } else { "error" })
            }
            Self::Event(kind) => write!(f, "{kind}"),
            Self::MessageStart(role) => write!(f, "message_start({role})"),
            Self::MessageUpdate(kind) => write!(f, "message_update({kind})"),
            Self::MessageEnd(role) => write!(f, "message_end({role})"),
            Self::AssistantEnd(reason) => write!(f, "message_end(assistant {reason})"),
            Self::RetryEnd(success) => write!(f, "auto_retry_end({success})"),
            Self::Ask(method) => write!(f, "extension_ui_request({method})"),
            Self::ExtensionError => f.write_str("extension_error"),
            Self::Ready => f.write_str("ready"),
            Self::HostToolCall => f.write_str("host_tool_call"),
            Self::HostToolCancel => f.write_str("host_tool_cancel"),
        }
    }
}

const fn is_refined(event: AgentSessionEventKind) -> bool {
    use AgentSessionEventKind as Event;
    matches!(event, Event::MessageStart | Event::MessageUpdate | Event::MessageEnd | Event::AutoRetryEnd)
}

/// The session stays as it was, and so does its run.
const fn is_cancelled(response: &RpcSuccess) -> bool {
    match response {
        RpcSuccess::NewSession(it) => it.data.cancelled,
        RpcSuccess::SwitchSession(it) => it.data.cancelled,
        RpcSuccess::Fork(it) => it.data.cancelled,
        RpcSuccess::Branch(it) => it.data.cancelled,
        _ => false,
    }
}

/// Success responses and commands share their names; the schema's test holds that.
fn command_of(name: &str) -> RpcCommandKind {
    RpcCommandKind::parse(name).unwrap_or(RpcCommandKind::GetState)
}
