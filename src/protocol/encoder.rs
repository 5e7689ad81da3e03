//! What is said, to bytes. A growing message is never serialised again: its bytes are kept, the escaped delta is
//! appended, and the snapshot that the dialect wants is spliced together.

use super::{AgentMessage, AgentSessionEvent};
use super::{
    AssistantContent, AssistantMessage, AssistantMessageEvent, BlockKind, Cost, MessageUpdateEvent, Outbound,
    Said, Step, StopReason, TextContent, TextDeltaUpdate, TextEndUpdate, TextStartUpdate,
    ThinkingDeltaUpdate, ThinkingEndUpdate, ThinkingStartUpdate, ToolCall, ToolcallDeltaUpdate,
    ToolcallEndUpdate, ToolcallStartUpdate, Update, Usage, parse_partial,
};
use serde::Serialize;

/// Encodes what one server says, in order. Keeps a copy of the assistant message that is growing.
#[derive(Debug)]
pub struct Encoder {
    growing: Option<Growing>,
    /// An empty message; its bytes mark where the snapshots go.
    mark: AssistantMessage,
    mark_bytes: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        let mark = empty_message();
        let mark_bytes = bytes(&mark);
        Self { growing: None, mark, mark_bytes }
    }
}

impl Encoder {
    /// Appends a whole frame and its line feed to `out`. Needs no memory of what was said before.
    pub fn encode_frame(frame: &Outbound, out: &mut Vec<u8>) {
        write(frame, out);
        out.push(b'\n');
    }

    /// Appends what is said and its line feed to `out`.
    ///
    /// An update without an open message is left out; the machine reports it.
    pub fn encode(&mut self, said: &Said, out: &mut Vec<u8>) {
        match said {
            Said::Frame(frame) => {
                self.follow(said);
                return Self::encode_frame(frame, out);
            }
            Said::Update(update) => {
                let Some(growing) = &mut self.growing else { return };
                let event = growing.apply(update, &self.mark);
                let frame = MessageUpdateEvent { assistant_message_event: event, message: self.mark.clone() };
                splice(&bytes(&frame), &self.mark_bytes, growing, out);
            }
        }
        out.push(b'\n');
    }

    /// Sees a frame that was encoded elsewhere: the edges of an assistant message matter here.
    pub fn follow(&mut self, said: &Said) {
        match said {
            Said::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start))) => {
                if let AgentMessage::Assistant(message) = &start.message {
                    self.growing = Some(Growing::new(message));
                }
            }
            Said::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(_))) => self.growing = None,
            _ => {}
        }
    }
}

/// The bytes of a growing message: what is before its content, its blocks, what is after.
#[derive(Debug)]
struct Growing {
    before: Vec<u8>,
    blocks: Vec<Block>,
    after: Vec<u8>,
}

#[derive(Debug)]
struct Block {
    before: Vec<u8>,
    /// Escaped text.
    live: Vec<u8>,
    after: Vec<u8>,
    /// The whole text or raw arguments so far, unescaped.
    text: String,
    /// A tool call whose arguments are still open.
    call: Option<ToolCall>,
}

impl Growing {
    fn new(message: &AssistantMessage) -> Self {
        let mut growing = Self { before: Vec::new(), blocks: Vec::new(), after: Vec::new() };
        growing.rest(message);
        growing.blocks.extend(message.content.iter().map(Block::open));
        growing
    }

    fn rest(&mut self, message: &AssistantMessage) {
        let block = text_block(MARK);
        let marked = AssistantMessage { content: vec![block.clone()], ..message.clone() };
        (self.before, self.after) = split(&bytes(&marked), &bytes(&block));
    }

    /// Applies the update; gives its event, with `mark` in the place of the snapshot.
    fn apply(&mut self, update: &Update, mark: &AssistantMessage) -> AssistantMessageEvent {
        if let Some(rest) = &update.rest {
            self.rest(rest);
        }
        let (partial, content_index) = (mark.clone(), update.index as u64);
        match &update.step {
            Step::Start(block) => {
                self.blocks.truncate(update.index);
                self.blocks.push(Block::open(block));
                match update.block {
                    BlockKind::Text => TextStartUpdate { content_index, partial }.into(),
                    BlockKind::Thinking => ThinkingStartUpdate { content_index, partial }.into(),
                    BlockKind::Toolcall => ToolcallStartUpdate { content_index, partial }.into(),
                }
            }
            Step::Delta(delta) => {
                if let Some(block) = self.blocks.get_mut(update.index) {
                    block.append(delta);
                }
                let delta = delta.clone();
                match update.block {
                    BlockKind::Text => TextDeltaUpdate { content_index, delta, partial }.into(),
                    BlockKind::Thinking => ThinkingDeltaUpdate { content_index, delta, partial }.into(),
                    BlockKind::Toolcall => ToolcallDeltaUpdate { content_index, delta, partial }.into(),
                }
            }
            Step::End(whole) => {
                if let Some(block) = self.blocks.get_mut(update.index) {
                    *block = Block::closed(whole);
                }
                match whole {
                    AssistantContent::Text(it) => {
                        TextEndUpdate { content_index, content: it.text.clone(), partial }.into()
                    }
                    AssistantContent::Thinking(it) => {
                        ThinkingEndUpdate { content_index, content: it.thinking.clone(), partial }.into()
                    }
                    AssistantContent::RedactedThinking(_) => {
                        ThinkingEndUpdate { content_index, content: String::new(), partial }.into()
                    }
                    AssistantContent::ToolCall(call) => {
                        ToolcallEndUpdate { content_index, tool_call: call.clone(), partial }.into()
                    }
                }
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&block.before);
            out.extend_from_slice(&block.live);
            out.extend_from_slice(&block.after);
        }
        out.extend_from_slice(&self.after);
    }

    fn len(&self) -> usize {
        let blocks: usize =
            self.blocks.iter().map(|b| b.before.len() + b.live.len() + b.after.len() + 1).sum();
        self.before.len() + blocks + self.after.len()
    }
}

impl Block {
    fn open(block: &AssistantContent) -> Self {
        let (marked, text) = match block {
            AssistantContent::Text(it) => {
                (AssistantContent::Text(TextContent { text: MARK.to_owned(), ..it.clone() }), &it.text)
            }
            AssistantContent::Thinking(it) => {
                let marked = super::ThinkingContent { thinking: MARK.to_owned(), ..it.clone() };
                (AssistantContent::Thinking(marked), &it.thinking)
            }
            AssistantContent::ToolCall(call) => {
                return Self { call: Some(call.clone()), ..Self::closed(block) };
            }
            AssistantContent::RedactedThinking(_) => return Self::closed(block),
        };
        let (before, after) = split(&bytes(&marked), MARK.as_bytes());
        let mut open = Self { before, live: Vec::new(), after, text: String::new(), call: None };
        open.append(text);
        open
    }

    fn closed(block: &AssistantContent) -> Self {
        Self { before: bytes(block), live: Vec::new(), after: Vec::new(), text: String::new(), call: None }
    }

    fn append(&mut self, delta: &str) {
        if let Some(call) = &mut self.call {
            self.text.push_str(delta);
            call.arguments = parse_partial(&self.text);
            self.before = bytes(&AssistantContent::ToolCall(call.clone()));
            return;
        }
        let escaped = bytes(&delta);
        self.live.extend_from_slice(&escaped[1..escaped.len() - 1]);
    }
}

/// A character that no protocol text holds at these places: marks where the live text goes.
const MARK: &str = "\u{f8ff}";

fn text_block(text: &str) -> AssistantContent {
    AssistantContent::Text(TextContent { text: text.to_owned(), text_signature: None })
}

fn empty_message() -> AssistantMessage {
    let zero = || serde_json::Number::from(0);
    let cost = Cost { input: zero(), output: zero(), cache_read: zero(), cache_write: zero(), total: zero() };
    AssistantMessage {
        content: Vec::new(),
        api: MARK.to_owned(),
        provider: MARK.to_owned(),
        model: MARK.to_owned(),
        usage: Usage {
            input: 0,
            output: 0,
            cache_read: 0,
            cache_write: 0,
            total_tokens: 0,
            premium_requests: None,
            cost,
        },
        stop_reason: StopReason::Stop,
        timestamp: 0,
        response_id: None,
        provider_payload: None,
        error_message: None,
        duration: None,
        ttft: None,
    }
}

/// Writes `frame` with the growing message wherever it has the mark.
fn splice(frame: &[u8], mark: &[u8], growing: &Growing, out: &mut Vec<u8>) {
    out.reserve(frame.len() + 2 * growing.len());
    let mut rest = frame;
    while let Some(at) = find(rest, mark) {
        out.extend_from_slice(&rest[..at]);
        growing.write(out);
        rest = &rest[at + mark.len()..];
    }
    out.extend_from_slice(rest);
}

fn split(bytes: &[u8], mark: &[u8]) -> (Vec<u8>, Vec<u8>) {
    match find(bytes, mark) {
        Some(at) => (bytes[..at].to_vec(), bytes[at + mark.len()..].to_vec()),
        None => (bytes.to_vec(), Vec::new()),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, what)
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

fn write(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing to memory cannot fail, and every key of a frame is a string.
    let _ = serde_json::to_writer(out, value);
}
