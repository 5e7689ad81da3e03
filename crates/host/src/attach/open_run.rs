//! What is open in the output of a session, and how it is closed where a snapshot takes the place of the frames that would have.
//!
//! The client of a pipe knows no snapshots. When the host of its session was lost, the run that was cut has no further frames: the
//! client gets the ends of what has begun, with the messages that the session has stored in their place.

use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentSessionEvent, AgentSessionEventKind as Kind, AgentSettledEvent,
    AgentToolResult, AssistantMessage, Base, Check as _, Dialect, Encoder, MessageEndEvent, Outbound,
    SessionSnapshotEvent, ToolExecutionEndEvent, ToolResultMessage, TurnEndEvent, from_slice,
};
use std::collections::VecDeque;

/// A call that has begun: its id, its tool, and the call that has made it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenCall {
    id: String,
    tool: String,
    parent: Option<String>,
}

/// What has begun and not ended.
#[derive(Clone, Debug, Default)]
pub struct OpenRun {
    has_run: bool,
    /// Whether `agent_settled` is to come.
    is_unsettled: bool,
    has_turn: bool,
    message: Option<AgentMessage>,
    calls: Vec<OpenCall>,
    /// The ids of the dialogs that were opened last.
    dialogs: VecDeque<String>,
}

/// The most dialogs that are remembered.
const MAX_DIALOGS: usize = 256;

impl OpenRun {
    /// Whether the frame opens a dialog that the client knows: a host that goes on with the run asks the same question.
    pub fn repeats_dialog(&mut self, frame: &str) -> bool {
        if !frame.starts_with(r#"{"type":"extension_ui_request""#) {
            return false;
        }
        let Ok(Outbound::ExtensionUIRequest(request)) = from_slice(frame.as_bytes()) else { return false };
        request.kind().is_dialog() && self.knows(request.id())
    }

    /// Whether the dialog was opened before; from now on it was.
    fn knows(&mut self, id: &str) -> bool {
        if self.dialogs.iter().any(|known| known == id) {
            return true;
        }
        self.dialogs.push_back(id.to_owned());
        if self.dialogs.len() > MAX_DIALOGS {
            self.dialogs.pop_front();
        }
        false
    }

    /// The frames, without line feeds, of the open dialogs that the client does not know.
    pub fn missed_dialogs(&mut self, snapshot: &SessionSnapshotEvent, dialect: Dialect) -> Vec<Vec<u8>> {
        let missed: Vec<_> = snapshot.dialogs.iter().filter(|dialog| !self.knows(dialog.id())).collect();
        let frames = missed.into_iter().map(|dialog| Outbound::ExtensionUIRequest(dialog.clone()));
        frames.map(|frame| encode_frame(frame, dialect.base())).collect()
    }

    /// Follows a frame, without its line feed.
    pub fn follow(&mut self, frame: &str) {
        use AgentSessionEvent as It;
        // Updates open and close nothing, and there are many.
        if kind_of(frame).is_some_and(Kind::is_update) {
            return;
        }
        let Ok(Outbound::AgentSessionEvent(event)) = from_slice(frame.as_bytes()) else { return };
        match event {
            It::AgentStart(_) => (self.has_run, self.is_unsettled) = (true, true),
            It::AgentEnd(_) => self.has_run = false,
            It::AgentSettled(_) => self.is_unsettled = false,
            It::TurnStart(_) => self.has_turn = true,
            It::TurnEnd(_) => self.has_turn = false,
            It::MessageStart(event) => self.message = Some(event.message),
            It::MessageEnd(_) => self.message = None,
            It::ToolExecutionStart(event) => self.calls.push(OpenCall {
                id: event.tool_call_id,
                tool: event.tool_name,
                parent: event.parent_tool_call_id,
            }),
            It::ToolExecutionEnd(event) => self.calls.retain(|call| call.id != event.tool_call_id),
            _ => {}
        }
    }

    /// The frames, without line feeds, that close what is open and that the session knows no more of.
    pub fn close(&mut self, snapshot: &SessionSnapshotEvent, dialect: Dialect) -> Vec<Vec<u8>> {
        // What runs goes on: its ends are to come.
        if snapshot.state.is_streaming {
            return Vec::new();
        }
        let dialogs = std::mem::take(&mut self.dialogs);
        let Self { has_run, is_unsettled, has_turn, message, calls, .. } =
            std::mem::replace(self, Self { dialogs, ..Self::default() });
        let base = dialect.base();
        let begins = snapshot.messages.iter().rposition(|message| matches!(message, AgentMessage::User(_)));
        let messages = snapshot.messages[begins.unwrap_or_default()..].to_vec();
        let mut frames = Vec::new();
        if let Some(message) = message {
            let message = match (message, answers(&messages).last()) {
                (AgentMessage::Assistant(_), Some(answer)) => AgentMessage::Assistant(answer.clone()),
                (message, _) => message,
            };
            frames.push(AgentSessionEvent::MessageEnd(MessageEndEvent { message, message_id: None }));
        }
        frames.extend(
            calls.into_iter().map(|call| AgentSessionEvent::ToolExecutionEnd(end_of(call, &messages))),
        );
        if has_turn && let Some(message) = answers(&messages).last().cloned() {
            frames.push(AgentSessionEvent::TurnEnd(TurnEndEvent { message, tool_results: Vec::new() }));
        }
        if has_run {
            let end = AgentEndEvent {
                messages,
                is_terminal: Some(true),
                message_count: None,
                will_retry: Some(false),
                yielded: None,
                awaiting_async_work: None,
            };
            frames.push(AgentSessionEvent::AgentEnd(end));
        }
        if is_unsettled && Kind::AgentSettled.is_in(base) {
            frames.push(AgentSessionEvent::AgentSettled(AgentSettledEvent { aborted: Some(true) }));
        }
        frames.into_iter().map(|frame| encode(frame, base)).collect()
    }
}

/// The type of an event, where it stands first, as in the frames of hosts.
fn kind_of(frame: &str) -> Option<Kind> {
    let rest = frame.strip_prefix(r#"{"type":""#)?;
    Kind::parse(rest.split('"').next()?)
}

fn answers(messages: &[AgentMessage]) -> impl DoubleEndedIterator<Item = &AssistantMessage> {
    messages.iter().filter_map(|message| match message {
        AgentMessage::Assistant(answer) => Some(answer),
        _ => None,
    })
}

/// The end of a call, with the result that the session has stored; without one it has failed.
fn end_of(call: OpenCall, messages: &[AgentMessage]) -> ToolExecutionEndEvent {
    let stored = messages.iter().find_map(|message| match message {
        AgentMessage::ToolResult(result) if result.tool_call_id == call.id => Some(result.clone()),
        _ => None,
    });
    let is_error = stored.as_ref().is_none_or(|result| result.is_error);
    let (content, details) = stored.map_or_else(Default::default, |result: ToolResultMessage| {
        (result.content, result.details.and_then(|details| serde_json::to_value(details).ok()))
    });
    let result = AgentToolResult {
        content,
        details,
        is_warning: None,
        structured_content: None,
        is_error: None,
        usage: None,
        terminate: None,
    };
    ToolExecutionEndEvent {
        tool_call_id: call.id,
        tool_name: call.tool,
        result,
        is_error,
        is_warning: None,
        duration_ms: None,
        parent_tool_call_id: call.parent,
    }
}

fn encode(event: AgentSessionEvent, base: Base) -> Vec<u8> {
    encode_frame(Outbound::AgentSessionEvent(event), base)
}

fn encode_frame(mut frame: Outbound, base: Base) -> Vec<u8> {
    frame.fit(base);
    let mut line = Vec::new();
    Encoder::encode_frame(&frame, &mut line);
    line.pop();
    line
}
