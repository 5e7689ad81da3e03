//! Kinds of frames: the alphabet of the state machine.

use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, AgentSessionEvent, AgentSessionEventKind, AssistantMessageEventKind,
    Base, CompactionReason, DialectRunEnd, Emission, ExtensionError, Fires, FlowState, HostToolCall,
    HostToolCancel, HostToolResult, HostToolUpdate, HostUriCancel, HostUriRequest, HostUriResult, Inbound,
    MultiSessionCommandKind, MultiSessionEventKind, Outbound, PromptDisposition, PromptOutcome, ReadyFrame,
    RpcChunk, RpcCommandKind, RpcExtensionUIRequest, RpcExtensionUIRequestKind, RpcExtensionUIResponse,
    RpcFrameError, RpcResponse, RpcSuccess, StopReason, fires,
};
use std::fmt;

/// The type of a frame, refined by role, delta type, success or stop reason as far as the machine depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A command.
    Command(RpcCommandKind),
    /// A dialog response.
    DialogResponse,
    /// Progress of a host tool, from the host.
    HostToolUpdate,
    /// The result of a host tool, from the host.
    HostToolResult,
    /// The result of a request for an address of the host.
    HostUriResult,
    /// The end of the server's input.
    EndOfInput,
    /// The exit of the process, or the end of the recording.
    Exit,
    /// A line of either side that is not a frame of the dialect.
    Stray,
    /// A response, and whether the command had its effect: false if an extension cancelled it, or if a prompt begins no run.
    /// `None` in place of the command if the response is to a line that was not a command.
    Response(Option<RpcCommandKind>, bool),
    /// An event without refinement.
    Event(AgentSessionEventKind),
    /// `message_start`.
    MessageStart(AgentMessageKind),
    /// `message_update` of the assistant message.
    MessageUpdate(AssistantMessageEventKind),
    /// `message_end` of a message other than the assistant's.
    MessageEnd(AgentMessageKind),
    /// `message_end` of the assistant message.
    AssistantEnd(StopReason),
    /// `auto_retry_end`, and whether the retry succeeded.
    RetryEnd(bool),
    /// `compaction_start` (from pi 0.73 on), and whether the host requested the compaction.
    CompactionStart(bool),
    /// `compaction_end`, and whether the host requested the compaction.
    CompactionEnd(bool),
    /// A UI request of an extension: a dialog, or something to show.
    UiRequest(RpcExtensionUIRequestKind),
    /// `extension_error`.
    ExtensionError,
    /// `ready`.
    Ready,
    /// A call of a host tool.
    HostToolCall,
    /// The cancellation of a call of a host tool.
    HostToolCancel,
    /// A request for an address of the host.
    HostUriRequest,
    /// The cancellation of a request for an address of the host.
    HostUriCancel,
    /// A piece of a frame.
    Chunk,
    /// `rpc_frame_error`.
    FrameError,
    /// A step without a frame, which only the server's own machine takes.
    Unannounced(Step),
    /// A command to a process of many sessions.
    ProcessCommand(MultiSessionCommandKind),
    /// The response to one, and whether it succeeded.
    ProcessResponse(MultiSessionCommandKind, bool),
    /// An event about a session that the session itself does not emit.
    ProcessEvent(MultiSessionEventKind),
}

/// A step of the server that no frame announces, in dialects without an event for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// A prompt is accepted; its run begins next.
    PromptBegins,
    /// An acknowledged prompt leads to no run.
    PromptEnds,
    /// A prompt is accepted, and waits for the current compaction.
    PromptWaits,
    /// A manual compaction begins.
    CompactionBegins,
    /// A manual compaction ends.
    CompactionEnds,
    /// A run of a chain ends.
    RunEnds,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 6] = [
        Self::PromptBegins,
        Self::PromptEnds,
        Self::PromptWaits,
        Self::CompactionBegins,
        Self::CompactionEnds,
        Self::RunEnds,
    ];

    /// Whether dialects built on `base` have no event for the step.
    pub fn is_in(self, base: Base) -> bool {
        match self {
            Self::PromptBegins | Self::PromptEnds | Self::PromptWaits => true,
            Self::RunEnds => base.record().run_end == DialectRunEnd::Chain,
            Self::CompactionBegins | Self::CompactionEnds => {
                !AgentSessionEventKind::CompactionStart.is_in(base)
            }
        }
    }

    /// The step in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PromptBegins => "a prompt begins",
            Self::PromptEnds => "a prompt leads to no run",
            Self::PromptWaits => "a prompt waits for it",
            Self::CompactionBegins => "a compaction of the host begins",
            Self::CompactionEnds => "it ends",
            Self::RunEnds => "a run of a chain ends",
        }
    }
}

impl Kind {
    /// Every kind, inbound first.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = RpcCommandKind::ALL.into_iter().map(Self::Command).collect();
        all.extend([
            Self::DialogResponse,
            Self::HostToolUpdate,
            Self::HostToolResult,
            Self::HostUriResult,
            Self::EndOfInput,
            Self::Exit,
            Self::Stray,
        ]);
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
        all.extend([true, false].map(Self::CompactionStart));
        all.extend([true, false].map(Self::CompactionEnd));
        all.extend(RpcExtensionUIRequestKind::ALL.into_iter().map(Self::UiRequest));
        all.extend([Self::ExtensionError, Self::Ready, Self::HostToolCall, Self::HostToolCancel]);
        all.extend([Self::HostUriRequest, Self::HostUriCancel, Self::Chunk, Self::FrameError]);
        all.extend(Step::ALL.map(Self::Unannounced));
        all
    }

    /// The kind of an inbound frame.
    pub fn of_inbound(frame: &Inbound) -> Self {
        match frame {
            Inbound::Command(command) => Self::Command(command.kind()),
            Inbound::ExtensionUIResponse(_) => Self::DialogResponse,
            Inbound::HostToolUpdate(_) => Self::HostToolUpdate,
            Inbound::HostToolResult(_) => Self::HostToolResult,
            Inbound::HostUriResult(_) => Self::HostUriResult,
        }
    }

    /// The kind of an emitted frame, line or update.
    pub fn of_emitted(emission: &Emission) -> Self {
        match emission {
            Emission::Frame(frame) | Emission::Line { frame, .. } => Self::of_outbound(frame),
            Emission::Update(update) => Self::MessageUpdate(update.kind()),
        }
    }

    /// The kind of an outbound frame.
    pub fn of_outbound(frame: &Outbound) -> Self {
        match frame {
            Outbound::Response(RpcResponse::Success(response)) => {
                Self::Response(Some(response.command()), !is_cancelled(response))
            }
            Outbound::Response(RpcResponse::ErrorResponse(error)) => {
                Self::Response(RpcCommandKind::parse(&error.command), false)
            }
            Outbound::AgentSessionEvent(event) => Self::of_event(event),
            Outbound::ExtensionUIRequest(request) => Self::UiRequest(request.kind()),
            Outbound::ExtensionError(_) => Self::ExtensionError,
            Outbound::ReadyFrame(_) => Self::Ready,
            Outbound::HostToolCall(_) => Self::HostToolCall,
            Outbound::HostToolCancel(_) => Self::HostToolCancel,
            Outbound::HostUriRequest(_) => Self::HostUriRequest,
            Outbound::HostUriCancel(_) => Self::HostUriCancel,
            Outbound::Chunk(_) => Self::Chunk,
            Outbound::FrameError(_) => Self::FrameError,
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
            AgentSessionEvent::CompactionStart(start) => Self::CompactionStart(is_manual(start.reason)),
            AgentSessionEvent::CompactionEnd(end) => Self::CompactionEnd(is_manual(end.reason)),
            other => Self::Event(other.kind()),
        }
    }

    /// The rows of the fires-in table for this kind, in dialects built on `base`: the states in which it is legal, and the
    /// states after it. Empty for kinds that are not in the table: inbound frames and responses.
    pub fn fires(self, base: Base) -> impl Iterator<Item = &'static Fires> {
        self.fires_anywhere().filter(move |row| row.only.is_none_or(|only| base.is_in(only)))
    }

    /// The rows of the fires-in table for this kind, in all dialects.
    pub fn fires_anywhere(self) -> impl Iterator<Item = &'static Fires> {
        self.rows().iter().filter(move |row| self.meets(row))
    }

    /// The row of the fires-in table by which the frame is legal in the state `at` of dialects built on `base`.
    pub fn row_in(self, at: FlowState, base: Base) -> Option<&'static Fires> {
        let is_ours = |row: &Fires| row.only.is_none_or(|only| base.is_in(only));
        self.rows().iter().find(|row| row.is_in(at) && self.meets(row) && is_ours(row))
    }

    /// Whether the frame meets the condition of a row.
    fn meets(self, row: &Fires) -> bool {
        row.when.is_none_or(|(name, is)| self.field(name).is_some_and(|value| is.contains(&value)))
    }

    /// The rows of the fires-in table for frames of this name. The most frequent frames are found without their name.
    fn rows(self) -> &'static [Fires] {
        match self {
            Self::MessageUpdate(_) => AgentSessionEventKind::MessageUpdate.fires(),
            Self::Event(event) => event.fires(),
            Self::UiRequest(method) => method.fires(),
            _ => self.name().map(fires).unwrap_or_default(),
        }
    }

    /// Whether dialects built on `base` have this kind.
    pub fn is_in(self, base: Base) -> bool {
        match self {
            Self::Command(command) | Self::Response(Some(command), _) => command.is_in(base),
            Self::AssistantEnd(reason) if !reason.is_in(base) => false,
            Self::Unannounced(step) => step.is_in(base),
            _ => self.name().is_none() || self.fires(base).next().is_some(),
        }
    }

    /// The name in the fires-in table: the type, or the method of a UI request.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Event(kind) => kind.as_str(),
            Self::MessageStart(_) => AgentSessionEventKind::MessageStart.as_str(),
            Self::MessageUpdate(_) => AgentSessionEventKind::MessageUpdate.as_str(),
            Self::MessageEnd(_) | Self::AssistantEnd(_) => AgentSessionEventKind::MessageEnd.as_str(),
            Self::RetryEnd(_) => AgentSessionEventKind::AutoRetryEnd.as_str(),
            Self::CompactionStart(_) => AgentSessionEventKind::CompactionStart.as_str(),
            Self::CompactionEnd(_) => AgentSessionEventKind::CompactionEnd.as_str(),
            Self::UiRequest(method) => method.as_str(),
            Self::ExtensionError => ExtensionError::TYPE,
            Self::Ready => ReadyFrame::TYPE,
            Self::HostToolCall => HostToolCall::TYPE,
            Self::HostToolCancel => HostToolCancel::TYPE,
            Self::HostUriRequest => HostUriRequest::TYPE,
            Self::HostUriCancel => HostUriCancel::TYPE,
            Self::Chunk => RpcChunk::TYPE,
            Self::FrameError => RpcFrameError::TYPE,
            Self::Command(_)
            | Self::DialogResponse
            | Self::HostToolUpdate
            | Self::HostToolResult
            | Self::HostUriResult
            | Self::EndOfInput
            | Self::Exit
            | Self::Stray
            | Self::Response(..)
            | Self::Unannounced(_)
            | Self::ProcessCommand(_)
            | Self::ProcessResponse(..)
            | Self::ProcessEvent(_) => return None,
        })
    }

    /// Whether the frame is an event of the session.
    pub const fn is_event(self) -> bool {
        matches!(
            self,
            Self::Event(_)
                | Self::MessageStart(_)
                | Self::MessageUpdate(_)
                | Self::MessageEnd(_)
                | Self::AssistantEnd(_)
                | Self::RetryEnd(_)
                | Self::CompactionStart(_)
                | Self::CompactionEnd(_)
        )
    }

    /// Whether the frame reports complete messages or changes of the message list.
    pub const fn reports_messages(self) -> bool {
        self.is_event() && !matches!(self, Self::MessageUpdate(_))
    }

    /// The value of a field in the conditions of the fires-in table.
    pub fn field(self, name: &str) -> Option<&'static str> {
        match (self, name) {
            (Self::MessageStart(role) | Self::MessageEnd(role), "role") => Some(role.as_str()),
            (Self::AssistantEnd(_), "role") => Some(AgentMessageKind::Assistant.as_str()),
            (Self::AssistantEnd(reason), "stopReason") => Some(reason.as_str()),
            (Self::RetryEnd(true), "success") => Some("true"),
            (Self::RetryEnd(false), "success") => Some("false"),
            (Self::CompactionStart(true) | Self::CompactionEnd(true), "reason") => {
                Some(CompactionReason::Manual.as_str())
            }
            // The machine does not tell apart the reasons of automatic compactions.
            (Self::CompactionStart(false) | Self::CompactionEnd(false), "reason") => {
                Some(CompactionReason::Threshold.as_str())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name().unwrap_or_default();
        match self {
            Self::Command(kind) => write!(f, "command({kind})"),
            Self::DialogResponse => f.write_str(RpcExtensionUIResponse::TYPE),
            Self::HostToolUpdate => f.write_str(HostToolUpdate::TYPE),
            Self::HostToolResult => f.write_str(HostToolResult::TYPE),
            Self::HostUriResult => f.write_str(HostUriResult::TYPE),
            Self::EndOfInput => f.write_str("end of input"),
            Self::Exit => f.write_str("exit"),
            Self::Stray => f.write_str("no frame"),
            Self::Response(command, success) => {
                let command = command.map_or("parse", RpcCommandKind::as_str);
                write!(f, "response({command} {})", if *success { "ok" } else { "error" })
            }
            Self::MessageStart(role) | Self::MessageEnd(role) => write!(f, "{name}({role})"),
            Self::MessageUpdate(kind) => write!(f, "{name}({kind})"),
            Self::AssistantEnd(reason) => write!(f, "{name}(assistant {reason})"),
            Self::RetryEnd(success) => write!(f, "{name}({success})"),
            Self::CompactionStart(manual) | Self::CompactionEnd(manual) => {
                write!(f, "{name}({})", origin(*manual))
            }
            Self::UiRequest(method) => write!(f, "{}({method})", RpcExtensionUIRequest::TYPE),
            Self::Event(_)
            | Self::ExtensionError
            | Self::Ready
            | Self::HostToolCall
            | Self::HostToolCancel
            | Self::HostUriRequest
            | Self::HostUriCancel
            | Self::Chunk
            | Self::FrameError => f.write_str(name),
            Self::Unannounced(step) => write!(f, "unannounced({})", step.as_str()),
            Self::ProcessCommand(kind) => write!(f, "command({})", kind.as_str()),
            Self::ProcessResponse(kind, success) => {
                write!(f, "response({} {})", kind.as_str(), if *success { "ok" } else { "error" })
            }
            Self::ProcessEvent(kind) => f.write_str(kind.as_str()),
        }
    }
}

const fn is_refined(event: AgentSessionEventKind) -> bool {
    use AgentSessionEventKind as Event;
    matches!(
        event,
        Event::MessageStart
            | Event::MessageUpdate
            | Event::MessageEnd
            | Event::AutoRetryEnd
            | Event::CompactionStart
            | Event::CompactionEnd
    )
}

fn is_manual(reason: CompactionReason) -> bool {
    reason == CompactionReason::Manual
}

const fn origin(manual: bool) -> &'static str {
    if manual { "manual" } else { "automatic" }
}

/// Whether the outcome of a prompt shows that no run follows.
pub(super) fn begins_no_run(outcome: &PromptOutcome) -> bool {
    let other = outcome.disposition.is_some_and(|it| it != PromptDisposition::Started);
    other || outcome.agent_invoked == Some(false)
}

/// Whether a success response reports that the command had no effect: it was cancelled, or the prompt begins no run.
fn is_cancelled(response: &RpcSuccess) -> bool {
    match response {
        RpcSuccess::Prompt(it) => it.data.as_ref().is_some_and(begins_no_run),
        response => response.is_vetoed(),
    }
}

/// Whether an emission is a response.
pub const fn is_response(emission: &Emission) -> bool {
    matches!(
        emission,
        Emission::Frame(Outbound::Response(_)) | Emission::Line { frame: Outbound::Response(_), .. }
    )
}
