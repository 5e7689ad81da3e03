//! Output of a server before encoding: whole frames, and the steps of a partial message.

use super::{
    AgentMessage, AgentSessionEvent, AssistantContent, AssistantMessage, AssistantMessageEvent,
    AssistantMessageEventKind, Base, Check as _, Encoder, GetMessagesResponse, JsonObject, MessageList,
    Outbound, RequestId, RpcSuccess, TextContent, ThinkingContent, ToolCall,
};

/// Unit of output. The snapshots of a partial message are not part of an emission; the encoder adds them.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "most are frames; they are queued, not copied")]
pub enum Emission {
    /// Whole frame.
    Frame(Outbound),
    /// Step of the assistant message that the last `message_start` opened.
    Update(Update),
    /// Frame that is encoded already.
    Line {
        /// The frame, possibly without data that only `line` has.
        frame: Outbound,
        /// The encoded frame, line feed included.
        line: Vec<u8>,
    },
}

/// Step of a partial message.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Index of the block in the message, from 0.
    pub index: usize,
    /// Kind of the block.
    pub block: BlockKind,
    /// Change of the block.
    pub step: Step,
    /// The message without its content, if anything but the content changed (usage, id of the provider).
    pub rest: Option<Box<AssistantMessage>>,
}

/// Kind of a block, as the names of streaming events distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Text block.
    Text,
    /// Thinking block, redacted or not.
    Thinking,
    /// Tool call.
    Toolcall,
}

/// Change of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The block begins, usually empty.
    Start(AssistantContent),
    /// Text is added to the block, or to the JSON text of its arguments.
    Delta(String),
    /// The block is complete.
    End(AssistantContent),
}

impl Update {
    /// `type` of the event on the wire.
    pub const fn kind(&self) -> AssistantMessageEventKind {
        use AssistantMessageEventKind as Kind;
        match (self.block, &self.step) {
            (BlockKind::Text, Step::Start(_)) => Kind::TextStart,
            (BlockKind::Text, Step::Delta(_)) => Kind::TextDelta,
            (BlockKind::Text, Step::End(_)) => Kind::TextEnd,
            (BlockKind::Thinking, Step::Start(_)) => Kind::ThinkingStart,
            (BlockKind::Thinking, Step::Delta(_)) => Kind::ThinkingDelta,
            (BlockKind::Thinking, Step::End(_)) => Kind::ThinkingEnd,
            (BlockKind::Toolcall, Step::Start(_)) => Kind::ToolcallStart,
            (BlockKind::Toolcall, Step::Delta(_)) => Kind::ToolcallDelta,
            (BlockKind::Toolcall, Step::End(_)) => Kind::ToolcallEnd,
        }
    }
}

impl AssistantMessageEvent {
    /// Snapshot of the message; `None` in dialects without snapshots, and for `done` and `error`, which servers do
    /// not send.
    pub const fn partial(&self) -> Option<&AssistantMessage> {
        match self {
            Self::Start(it) => it.partial.as_ref(),
            Self::TextStart(it) => it.partial.as_ref(),
            Self::TextDelta(it) => it.partial.as_ref(),
            Self::TextEnd(it) => it.partial.as_ref(),
            Self::ThinkingStart(it) => it.partial.as_ref(),
            Self::ThinkingDelta(it) => it.partial.as_ref(),
            Self::ThinkingEnd(it) => it.partial.as_ref(),
            Self::ToolcallStart(it) => it.partial.as_ref(),
            Self::ToolcallDelta(it) => it.partial.as_ref(),
            Self::ToolcallEnd(it) => it.partial.as_ref(),
            Self::Done(_) | Self::Error(_) => None,
        }
    }

    /// The step of the event. A block starts empty, whatever its snapshot contains. `None` for a block that is not in
    /// the snapshot, and for events that are no steps.
    pub fn update(&self) -> Option<Update> {
        use BlockKind::{Text, Thinking, Toolcall};
        let (index, block, step) = match self {
            Self::TextStart(it) => {
                (it.content_index, Text, Step::Start(self.block(it.content_index, text)?.with("")))
            }
            Self::ThinkingStart(it) => {
                (it.content_index, Thinking, Step::Start(self.block(it.content_index, thinking)?.with("")))
            }
            Self::ToolcallStart(it) => (
                it.content_index,
                Toolcall,
                Step::Start(self.block(it.content_index, || {
                    call(it.id.clone().unwrap_or_default(), it.tool_name.clone().unwrap_or_default())
                })?),
            ),
            Self::TextDelta(it) => (it.content_index, Text, Step::Delta(it.delta.clone())),
            Self::ThinkingDelta(it) => (it.content_index, Thinking, Step::Delta(it.delta.clone())),
            Self::ToolcallDelta(it) => (it.content_index, Toolcall, Step::Delta(it.delta.clone())),
            Self::TextEnd(it) => {
                (it.content_index, Text, Step::End(self.block(it.content_index, text)?.with(&it.content)))
            }
            Self::ThinkingEnd(it) => (
                it.content_index,
                Thinking,
                Step::End(self.block(it.content_index, thinking)?.with(&it.content)),
            ),
            Self::ToolcallEnd(it) => {
                (it.content_index, Toolcall, Step::End(AssistantContent::ToolCall(it.tool_call.clone())))
            }
            Self::Start(_) | Self::Done(_) | Self::Error(_) => return None,
        };
        Some(Update { index: usize::try_from(index).ok()?, block, step, rest: None })
    }

    /// The block in the snapshot or, without a snapshot, a new one.
    fn block(&self, index: u64, new: impl Fn() -> AssistantContent) -> Option<AssistantContent> {
        match self.partial() {
            Some(partial) => partial.content.get(usize::try_from(index).ok()?).cloned(),
            None => Some(new()),
        }
    }
}

fn text() -> AssistantContent {
    AssistantContent::Text(TextContent { text: String::new(), text_signature: None })
}

fn thinking() -> AssistantContent {
    AssistantContent::Thinking(ThinkingContent {
        thinking: String::new(),
        thinking_signature: None,
        redacted: None,
    })
}

fn call(id: String, name: String) -> AssistantContent {
    AssistantContent::ToolCall(ToolCall {
        id,
        name,
        arguments: JsonObject::new(),
        thought_signature: None,
        arguments_error: None,
        intent: None,
        namespace: None,
    })
}

impl AssistantContent {
    /// The block with another text; unchanged for calls and redacted thinking, which have no text.
    fn with(&self, text: &str) -> Self {
        match self.clone() {
            Self::Text(it) => Self::Text(TextContent { text: text.to_owned(), ..it }),
            Self::Thinking(it) => Self::Thinking(ThinkingContent { thinking: text.to_owned(), ..it }),
            other => other,
        }
    }

    /// Kind of the block in the names of events.
    pub const fn block_kind(&self) -> BlockKind {
        match self {
            Self::Text(_) => BlockKind::Text,
            Self::Thinking(_) | Self::RedactedThinking(_) => BlockKind::Thinking,
            Self::ToolCall(_) => BlockKind::Toolcall,
        }
    }
}

impl Emission {
    /// Response to `get_messages` with messages that are encoded already.
    pub fn messages<M: AsRef<[u8]>>(id: Option<RequestId>, messages: impl IntoIterator<Item = M>) -> Self {
        let data = MessageList { messages: Vec::new() };
        let frame = Outbound::Response(RpcSuccess::from(GetMessagesResponse { id, data }).into());
        let mut line = Vec::new();
        Encoder::encode_frame(&frame, &mut line);
        // The empty list is the last value, so that its brackets are the last ones.
        let at = memchr::memmem::rfind(&line, b"[]").map_or(line.len(), |at| at + 1);
        let end = line.split_off(at);
        for (place, message) in messages.into_iter().enumerate() {
            if place > 0 {
                line.push(b',');
            }
            line.extend_from_slice(message.as_ref());
        }
        line.extend_from_slice(&end);
        Self::Line { frame, line }
    }

    /// Removes the members that `base` does not have.
    pub fn fit(&mut self, base: Base) {
        match self {
            Self::Frame(frame) => frame.fit(base),
            // The bytes were encoded for the dialect.
            Self::Line { .. } => {}
            Self::Update(update) => {
                update.rest.as_deref_mut().into_iter().for_each(|rest| rest.fit(base));
                if let Step::Start(block) | Step::End(block) = &mut update.step {
                    block.fit(base);
                }
            }
        }
    }

    /// Whether the frame begins or ends an assistant message, which an encoder has to [follow](Encoder::follow).
    pub const fn bounds_answer(&self) -> bool {
        match self {
            Self::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start))) => {
                matches!(start.message, AgentMessage::Assistant(_))
            }
            Self::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end))) => {
                matches!(end.message, AgentMessage::Assistant(_))
            }
            _ => false,
        }
    }

    /// Coalesces `next` into this delta if both are for the same block; else returns `next`. The result is the same for
    /// a reader.
    pub fn join(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (
                Self::Update(Update { index, step: Step::Delta(text), rest, .. }),
                Self::Update(Update { index: to, step: Step::Delta(more), rest: newer, .. }),
            ) if *index == to => {
                text.push_str(&more);
                *rest = newer.or(rest.take());
                None
            }
            (_, next) => Some(next),
        }
    }
}

impl<T: Into<Outbound>> From<T> for Emission {
    fn from(frame: T) -> Self {
        Self::Frame(frame.into())
    }
}
