//! What a server says, before it is bytes: whole frames, and a growing message by its increments.

use super::{
    AssistantContent, AssistantMessage, AssistantMessageEvent, AssistantMessageEventKind, Base, Check as _,
    Encoder, GetMessagesResponse, JsonObject, MessageList, Outbound, RequestId, RpcSuccess, TextContent,
    ThinkingContent, ToolCall,
};

/// One thing said. Snapshots of a growing message are not among them: the encoder makes those.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "most are frames; they are queued, not copied")]
pub enum Emission {
    /// A frame as it is.
    Frame(Outbound),
    /// The assistant message that the last `message_start` opened has grown.
    Update(Update),
    /// A frame whose bytes are at hand.
    Line {
        /// The frame, without what only the bytes tell.
        frame: Outbound,
        /// It as a line, line feed included.
        line: Vec<u8>,
    },
}

/// One step of a growing assistant message.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The block's place in the message, from 0.
    pub index: usize,
    /// What kind of block it is.
    pub block: BlockKind,
    /// What happened to it.
    pub step: Step,
    /// The message without its content, if something beside the content changed (usage, the provider's id).
    pub rest: Option<Box<AssistantMessage>>,
}

/// The kinds of block that the wire tells apart while they stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Text for the user.
    Text,
    /// Thinking, redacted or not.
    Thinking,
    /// A tool call.
    Toolcall,
}

/// What happens to a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It opens; usually empty.
    Start(AssistantContent),
    /// Its text, or the JSON text of its arguments, grows.
    Delta(String),
    /// It is complete and looks like this.
    End(AssistantContent),
}

impl Update {
    /// The event's `type` on the wire.
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
    /// The message so far; none in dialects that tell only what was added, and with `done` and `error`, which servers do
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

    /// The step that it tells. A block starts empty, whatever the snapshot already shows; one that the snapshot does
    /// not have cannot be told.
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

    /// The block as the snapshot shows it; where there is no snapshot, a new one.
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
        intent: None,
        namespace: None,
    })
}

impl AssistantContent {
    /// The block with another text; calls and hidden reasoning have none.
    fn with(&self, text: &str) -> Self {
        match self.clone() {
            Self::Text(it) => Self::Text(TextContent { text: text.to_owned(), ..it }),
            Self::Thinking(it) => Self::Thinking(ThinkingContent { thinking: text.to_owned(), ..it }),
            other => other,
        }
    }

    /// How its events are named.
    pub const fn block_kind(&self) -> BlockKind {
        match self {
            Self::Text(_) => BlockKind::Text,
            Self::Thinking(_) | Self::RedactedThinking(_) => BlockKind::Thinking,
            Self::ToolCall(_) => BlockKind::Toolcall,
        }
    }
}

impl Emission {
    /// The answer to `get_messages` with these messages, each as its JSON.
    pub fn messages<M: AsRef<[u8]>>(id: Option<RequestId>, messages: impl IntoIterator<Item = M>) -> Self {
        let data = MessageList { messages: Vec::new() };
        let frame = Outbound::Response(RpcSuccess::from(GetMessagesResponse { id, data }).into());
        let mut line = Vec::new();
        Encoder::encode_frame(&frame, &mut line);
        // Nothing but its end follows the empty list.
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

    /// Drops the fields that dialects built on `base` do not have.
    pub fn fit(&mut self, base: Base) {
        match self {
            Self::Frame(frame) => frame.fit(base),
            // Bytes are at hand as the dialect has them.
            Self::Line { .. } => {}
            Self::Update(update) => {
                update.rest.as_deref_mut().into_iter().for_each(|rest| rest.fit(base));
                if let Step::Start(block) | Step::End(block) = &mut update.step {
                    block.fit(base);
                }
            }
        }
    }

    /// Joins `next` to this delta if both grow the same block; else gives it back. What a reader computes from the
    /// joined delta is the same.
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
