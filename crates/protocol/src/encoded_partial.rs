//! The encoded bytes of a partial message, to which deltas are appended.

use super::{
    AssistantContent, AssistantMessage, Step, TextContent, ThinkingContent, ToolCall, Update, parse_partial,
};
use serde::Serialize;
use std::io;

/// Encoded partial message: the bytes before its content, its blocks, and the bytes after them.
#[derive(Clone, Debug)]
pub struct EncodedPartial {
    before: Vec<u8>,
    blocks: Vec<Block>,
    after: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Block {
    before: Vec<u8>,
    /// Text so far, escaped.
    live: Vec<u8>,
    after: Vec<u8>,
    /// JSON text of the arguments so far, unescaped; empty for other blocks.
    text: String,
    /// Tool call whose arguments are incomplete.
    call: Option<ToolCall>,
}

impl EncodedPartial {
    /// Encodes the message as it starts.
    pub fn new(message: &AssistantMessage) -> Self {
        let mut partial = Self { before: Vec::new(), blocks: Vec::new(), after: Vec::new() };
        partial.rest(message);
        partial.blocks.extend(message.content.iter().map(Block::open));
        partial
    }

    fn rest(&mut self, message: &AssistantMessage) {
        let block = text_block(MARK);
        let marked = AssistantMessage { content: vec![block.clone()], ..message.clone() };
        (self.before, self.after) = split(&bytes(&marked), &bytes(&block));
    }

    /// Applies one step.
    pub fn apply(&mut self, update: &Update) {
        if let Some(rest) = &update.rest {
            self.rest(rest);
        }
        match &update.step {
            Step::Start(block) => {
                self.blocks.truncate(update.index);
                self.blocks.push(Block::open(block));
            }
            Step::Delta(delta) => {
                if let Some(block) = self.blocks.get_mut(update.index) {
                    block.append(delta);
                }
            }
            Step::End(whole) => {
                if let Some(block) = self.blocks.get_mut(update.index) {
                    *block = Block::closed(whole);
                }
            }
        }
    }

    /// Bytes of the message so far, in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let blocks = self.blocks.iter().enumerate().flat_map(|(index, block)| {
            let comma: &[u8] = if index > 0 { b"," } else { b"" };
            [comma, &block.before, &block.live, &block.after]
        });
        [&self.before[..]].into_iter().chain(blocks).chain([&self.after[..]])
    }

    /// Number of bytes of the message so far.
    pub fn size(&self) -> usize {
        self.parts().map(<[u8]>::len).sum()
    }
}

impl Block {
    fn open(block: &AssistantContent) -> Self {
        let (marked, text) = match block {
            AssistantContent::Text(it) => {
                (AssistantContent::Text(TextContent { text: MARK.to_owned(), ..it.clone() }), &it.text)
            }
            AssistantContent::Thinking(it) => {
                let marked = ThinkingContent { thinking: MARK.to_owned(), ..it.clone() };
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
        write_inner(delta, &mut self.live);
    }
}

/// Placeholder for a text: a character of the private use area, which does not occur in the templates otherwise.
pub const MARK: &str = "\u{f8ff}";

fn text_block(text: &str) -> AssistantContent {
    AssistantContent::Text(TextContent { text: text.to_owned(), text_signature: None })
}

fn split(bytes: &[u8], mark: &[u8]) -> (Vec<u8>, Vec<u8>) {
    match find(bytes, mark) {
        Some(at) => (bytes[..at].to_vec(), bytes[at + mark.len()..].to_vec()),
        None => (bytes.to_vec(), Vec::new()),
    }
}

/// Position of `what` in `bytes`.
pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, what)
}

/// Encodes the value as JSON.
pub fn bytes(value: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

/// Appends the value as JSON.
pub fn write(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing to memory cannot fail, and every key of a frame is a string.
    let _ = serde_json::to_writer(Bytes(out), value);
}

/// Appends the text, escaped as in a JSON string, without quotes.
pub fn write_inner(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    write(&text, out);
    out.pop();
    // Removes the opening quote; moving the few bytes behind it is cheap.
    out.remove(start);
}

/// Writer for serde_json, which mostly writes single bytes: those are pushed instead of copied as slices.
struct Bytes<'a>(&'a mut Vec<u8>);

impl io::Write for Bytes<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match bytes {
            [byte] => self.0.push(*byte),
            bytes => self.0.extend_from_slice(bytes),
        }
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
