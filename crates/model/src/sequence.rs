//! Puts interleaved blocks one after another.

use super::types::{BlockStart, Finish, StreamEvent};
use std::{
    collections::{BTreeSet, VecDeque},
    mem,
};

/// Size limit of an answer in bytes: texts, thinking, arguments and signatures. Models stop long before; a longer one
/// would fill the memory.
pub const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Bytes that a block counts for beside its content.
const BLOCK_OVERHEAD: usize = 200;

/// Collects the events of an answer so that they obey [`super::request::Reader`]: a block that begins while another
/// is open waits until the other has ended, and nothing follows the last event. An answer of more than
/// [`ANSWER_BYTES`] fails.
#[derive(Debug, Default)]
pub struct BlockSequencer {
    /// Events that can be emitted.
    ready: Vec<StreamEvent>,
    /// Index of the block that is emitted now.
    current: usize,
    /// Events of the blocks behind.
    waiting: VecDeque<WaitingBlock>,
    /// Index of the next block.
    next: usize,
    /// Calls that have neither arguments nor an end.
    silent_calls: BTreeSet<usize>,
    /// Bytes of the answer so far.
    bytes: usize,
    is_finished: bool,
}

/// A block that waits for its turn.
#[derive(Debug, Default)]
struct WaitingBlock {
    events: Vec<StreamEvent>,
    ended: bool,
}

impl BlockSequencer {
    /// Opens a block; returns its index.
    pub fn open(&mut self, block: BlockStart) -> usize {
        let index = self.next;
        self.next += 1;
        if index > self.current {
            self.waiting.push_back(WaitingBlock::default());
        }
        if matches!(block, BlockStart::ToolCall { .. }) {
            self.silent_calls.insert(index);
        }
        self.queue(index, StreamEvent::Start { index, block });
        index
    }

    /// Adds a delta to an open block.
    pub fn delta(&mut self, index: usize, delta: &str) {
        if !delta.trim().is_empty() {
            self.silent_calls.remove(&index);
        }
        self.queue(index, StreamEvent::Delta { index, delta: delta.to_owned() });
    }

    /// Adds the signature of a block, which may have ended.
    pub fn sign(&mut self, index: usize, signature: String) {
        self.queue(index, StreamEvent::Signature { index, signature });
    }

    /// Ends a block; ending it again does nothing.
    pub fn end(&mut self, index: usize, signature: Option<String>) {
        self.silent_calls.remove(&index);
        self.queue(index, StreamEvent::End { index, signature });
    }

    /// Counts bytes that the answer holds, emitted or not.
    pub fn count_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > ANSWER_BYTES && !self.is_finished {
            self.fail(format!("The answer is longer than {ANSWER_BYTES} bytes"));
        }
    }

    /// Emits an event that belongs to no block.
    pub fn emit(&mut self, event: StreamEvent) {
        if !self.is_finished {
            self.ready.push(event);
        }
    }

    /// Whether another block has begun after the one at `index`.
    pub fn is_followed(&self, index: usize) -> bool {
        index + 1 < self.next
    }

    /// Ends the answer and all open blocks, of which calls without arguments are [`Unclosed`](StreamEvent::Unclosed);
    /// `word` is the provider's reason.
    pub fn finish(&mut self, finish: Finish, word: Option<&str>) {
        for index in mem::take(&mut self.silent_calls) {
            self.queue(index, StreamEvent::Unclosed { index });
        }
        while self.current < self.next {
            self.end(self.current, None);
        }
        if let Some(word) = word {
            self.emit(StreamEvent::ProviderReason(word.to_owned()));
        }
        self.emit(StreamEvent::Finish(finish));
        self.is_finished = true;
    }

    /// Fails the answer; waiting blocks are dropped.
    pub fn fail(&mut self, message: String) {
        self.emit(StreamEvent::Fail { message, retry_after: None });
        self.waiting.clear();
        self.is_finished = true;
    }

    /// Fails the answer that the provider ended for the reason `word`.
    pub fn fail_for(&mut self, word: &str, message: String) {
        self.emit(StreamEvent::ProviderReason(word.to_owned()));
        self.fail(message);
    }

    /// Whether a block has begun.
    pub const fn has_begun(&self) -> bool {
        self.next > 0
    }

    /// Whether the last event was emitted.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Takes the events that became ready since the last call.
    pub fn take(&mut self) -> Vec<StreamEvent> {
        mem::take(&mut self.ready)
    }

    fn queue(&mut self, index: usize, event: StreamEvent) {
        self.count_bytes(weight(&event));
        if self.is_finished {
            return;
        }
        let ends = matches!(event, StreamEvent::End { .. });
        match index.checked_sub(self.current) {
            Some(0) => {
                self.ready.push(event);
                if ends {
                    self.advance();
                }
            }
            Some(after) => {
                let Some(block) = self.waiting.get_mut(after - 1) else { return };
                if is_signature(&event) || !block.ended {
                    block.events.push(event);
                }
                block.ended |= ends;
            }
            None if is_signature(&event) => self.ready.push(event),
            None => {}
        }
    }

    /// Emits the next block's events, and those of further blocks while each has ended.
    fn advance(&mut self) {
        loop {
            self.current += 1;
            let Some(block) = self.waiting.pop_front() else { return };
            self.ready.extend(block.events);
            if !block.ended {
                return;
            }
        }
    }
}

fn is_signature(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Signature { .. })
}

/// Bytes that an event adds to the answer.
fn weight(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Start { block: BlockStart::ToolCall { id, name }, .. } => {
            BLOCK_OVERHEAD + id.len() + name.len()
        }
        StreamEvent::Start { block: BlockStart::Redacted { data }, .. } => BLOCK_OVERHEAD + data.len(),
        StreamEvent::Start { .. } => BLOCK_OVERHEAD,
        StreamEvent::Delta { delta, .. } => delta.len(),
        StreamEvent::Signature { signature, .. } => signature.len(),
        StreamEvent::End { signature, .. } => signature.as_ref().map_or(0, String::len),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a block and makes it as long as the answer may be, by pieces of `piece` bytes.
    fn filled(out: &mut BlockSequencer, piece: usize) -> usize {
        let index = out.open(BlockStart::Text);
        (0..ANSWER_BYTES / piece - 1).for_each(|_| out.delta(index, &"x".repeat(piece)));
        index
    }

    #[test]
    fn answer_above_size_limit_fails() {
        let too_long = [StreamEvent::Fail {
            message: "The answer is longer than 16777216 bytes".to_owned(),
            retry_after: None,
        }];
        let piece = 1024 * 1024;
        let more: [fn(&mut BlockSequencer, usize); 3] = [
            |out, index| out.delta(index, &"y".repeat(1024 * 1024)),
            |out, _| out.count_bytes(1024 * 1024),
            |out, _| {
                for _ in 0..1024 * 1024 / BLOCK_OVERHEAD {
                    out.open(BlockStart::Thinking);
                }
            },
        ];
        for (waits, more) in [false, true].into_iter().flat_map(|waits| more.map(|more| (waits, more))) {
            let mut out = BlockSequencer::default();
            if waits {
                out.open(BlockStart::Thinking);
            }
            let index = filled(&mut out, piece);
            assert!(!out.is_finished());
            out.take();
            more(&mut out, index);
            let events = out.take();
            assert_eq!((&events[events.len() - 1..], out.is_finished()), (&too_long[..], true));
            more(&mut out, index);
            assert_eq!(out.take(), []);
        }
    }
}
