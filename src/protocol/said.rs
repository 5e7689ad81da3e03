//! What a server says, before it is bytes: whole frames, and a growing message by its increments.

use super::{AssistantContent, AssistantMessage, AssistantMessageEventKind, Base, Check as _, Outbound};

/// One thing said. Snapshots of a growing message are not among them: the encoder makes those.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "most are frames; they are queued, not copied")]
pub enum Said {
    /// A frame as it is.
    Frame(Outbound),
    /// The assistant message that the last `message_start` opened has grown.
    Update(Update),
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

impl AssistantContent {
    /// How its events are named.
    pub const fn block_kind(&self) -> BlockKind {
        match self {
            Self::Text(_) => BlockKind::Text,
            Self::Thinking(_) | Self::RedactedThinking(_) => BlockKind::Thinking,
            Self::ToolCall(_) => BlockKind::Toolcall,
        }
    }
}

impl Said {
    /// Drops the fields that dialects built on `base` do not have.
    pub fn fit(&mut self, base: Base) {
        match self {
            Self::Frame(frame) => frame.fit(base),
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

impl<T: Into<Outbound>> From<T> for Said {
    fn from(frame: T) -> Self {
        Self::Frame(frame.into())
    }
}
