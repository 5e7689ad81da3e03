//! What is said, on its way to stdout: one queue, which the loop empties as far as stdout has room.
//!
//! A growing message waits as deltas and becomes a snapshot, where the dialect has them, only when it is written. Above a [`JOIN`]th of what may wait
//! deltas of one block are joined; above a [`HIGH`]th models and tools are told to pause and only the newest progress of a
//! tool call is kept; above all of it the loop stops reading commands.

use super::{
    batch_writer::{BatchWriter, PendingFrame},
    hazard::Hazards,
    print_mode::PrintMode,
};
use crate::protocol::{
    AgentMessage, AgentSessionEvent, AssistantContent, Dialect, DialectMessageUpdate, Emission, Encoder,
    Outbound, SessionHeader, Step as Grown, Update,
};
use std::{collections::VecDeque, io};
use tokio::sync::watch;

/// Bytes that wait before commands are no longer read, where nothing else is said. Source: own.
pub const MAX_PENDING_BYTES: usize = 16 * 1024 * 1024;

/// Which part of that waits before models and tools pause.
const PAUSE_PART: usize = 16;

/// Which part waits before deltas of one block are joined: before the model is paused, while there still are some.
const COALESCE_PART: usize = 2 * PAUSE_PART;

/// Bytes that an update counts beside what it says: of the message that it repeats twice, or of what was added.
const UPDATE_OVERHEAD: usize = 384;

/// The queue and what empties it.
pub struct Outbox {
    queue: Queue,
    encoder: Encoder,
    writer: BatchWriter,
    /// For tools and models: whether they may go on.
    gate: watch::Sender<bool>,
    /// Commands may be read.
    accepts_commands: bool,
    broken: bool,
    /// Takes the frames where a run is printed.
    print: Option<PrintMode>,
}

#[derive(Default)]
struct Queue {
    /// Bytes that may wait before commands are no longer read.
    max_pending: usize,
    items: VecDeque<Item>,
    /// Bytes that wait, as they will be written.
    pending_bytes: usize,
    /// Each update repeats the message that grows.
    has_snapshots: bool,
    /// Bytes of the message that grows, by what was said of it last.
    partial_bytes: usize,
}

struct Item {
    what: PendingFrame,
    /// Bytes, as they will be written.
    weight: usize,
    progress_of: Option<String>,
}

impl Outbox {
    /// The one to stdout, which says things as `dialect` does, and in which `most` bytes may wait before commands are no
    /// longer read; with `hazards`, it is inconvenient.
    pub fn to_stdout(dialect: Dialect, most: usize, hazards: Option<Hazards>) -> io::Result<Self> {
        let has_snapshots = dialect.record().message_update == DialectMessageUpdate::Snapshot;
        Ok(Self {
            queue: Queue { max_pending: most, has_snapshots, ..Queue::default() },
            encoder: Encoder::new(dialect),
            writer: BatchWriter::to_stdout(hazards)?,
            gate: watch::Sender::new(true),
            accepts_commands: true,
            broken: false,
            print: None,
        })
    }

    /// From now on a run is printed, that of the session with this `header`.
    pub fn start_print(&mut self, print: PrintMode, header: &SessionHeader) {
        if let Some(line) = print.first_line(header) {
            self.push_bytes(line);
        }
        self.print = Some(print);
    }

    /// The run that is printed.
    pub const fn print_mode(&mut self) -> Option<&mut PrintMode> {
        self.print.as_mut()
    }

    /// Adds bytes that are no frame.
    pub fn push_bytes(&mut self, bytes: Vec<u8>) {
        let weight = bytes.len();
        self.queue.pending_bytes += weight;
        self.queue.items.push_back(Item {
            what: PendingFrame::Encoded(bytes, None),
            weight,
            progress_of: None,
        });
        self.update_backpressure();
    }

    /// Adds what is said; [`flush`](Self::flush) writes it.
    pub fn push(&mut self, said: Emission) {
        if self.broken {
            return;
        }
        let said = match &mut self.print {
            Some(print) => print.filter(said),
            None => Some(said),
        };
        let Some(said) = said else { return };
        // What is bytes already is not copied to a batch, unless there is one.
        match self.is_full() || matches!(said, Emission::Line { .. }) {
            true => self.queue.push(said),
            false => {
                let length = self.writer.push(&said, &mut self.encoder);
                self.queue.track_partial_size(&said, length);
            }
        }
        self.update_backpressure();
    }

    /// Writes what there is room for. Never waits.
    pub fn flush(&mut self) {
        while !self.broken {
            if let Err(error) = self.writer.write(&self.encoder) {
                tracing::warn!("stdout: {error}");
                (self.broken, self.queue.pending_bytes) = (true, 0);
                self.queue.items.clear();
            }
            if !self.writer.is_empty() || self.queue.items.is_empty() || !self.writer.accepts_batch() {
                break;
            }
            self.writer.fill(&mut self.encoder, || self.queue.pop());
        }
        self.update_backpressure();
    }

    /// Whether the host has to read before everything is written.
    pub fn is_behind(&self) -> bool {
        let all_written = self.writer.is_empty() && self.queue.items.is_empty();
        !self.broken && !all_written
    }

    /// Until more can be written.
    pub async fn ready(&self) {
        self.writer.ready().await;
    }

    /// Until nobody has the other end of stdout any more, though nothing was written.
    pub async fn closed(&self) {
        self.writer.closed().await;
    }

    /// For models and tools: `false` while they must pause.
    pub fn gate(&self) -> watch::Receiver<bool> {
        self.gate.subscribe()
    }

    /// Models and tools may go on.
    pub fn is_gate_open(&self) -> bool {
        *self.gate.borrow()
    }

    /// Commands may be read.
    pub const fn accepts_commands(&self) -> bool {
        self.accepts_commands
    }

    /// More waits than one write should have.
    pub fn is_full(&self) -> bool {
        !self.queue.items.is_empty() || !self.writer.is_open()
    }

    /// stdout is gone: what is said is heard by nobody.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Tells who waits; half the mark must be free again before anything goes on.
    fn update_backpressure(&mut self) {
        let below = |mark: usize, open: bool| self.queue.pending_bytes < if open { mark } else { mark / 2 };
        self.accepts_commands = below(self.queue.max_pending, self.accepts_commands);
        let is_open = self.is_gate_open();
        if below(self.queue.max_pending / PAUSE_PART, is_open) != is_open {
            self.gate.send_replace(!is_open);
        }
    }
}

impl Queue {
    fn push(&mut self, said: Emission) {
        let frame = match said {
            Emission::Frame(frame) => frame,
            Emission::Update(_) => return self.push_update(said),
            Emission::Line { line, .. } => {
                self.pending_bytes += line.len();
                let item =
                    Item { weight: line.len(), what: PendingFrame::Encoded(line, None), progress_of: None };
                return self.items.push_back(item);
            }
        };
        let progress_of = progress_call(&frame).map(str::to_owned);
        if let Some(call) = &progress_of
            && self.pending_bytes > self.max_pending / PAUSE_PART
        {
            self.drop_progress(call);
        }
        let mut bytes = Vec::new();
        Encoder::encode_frame(&frame, &mut bytes);
        self.pending_bytes += bytes.len();
        let said = Emission::Frame(frame);
        self.track_partial_size(&said, bytes.len());
        let follow = is_followed(&said).then(|| Box::new(said));
        let weight = bytes.len();
        self.items.push_back(Item { what: PendingFrame::Encoded(bytes, follow), weight, progress_of });
    }

    fn push_update(&mut self, said: Emission) {
        let added = delta_len(&said);
        self.track_partial_size(&said, 0);
        let more = if self.has_snapshots { 2 * added } else { added };
        let whole = if self.has_snapshots { 2 * self.partial_bytes } else { content_len(&said) };
        let mut said = Some(said);
        if self.pending_bytes > self.max_pending / COALESCE_PART
            && let Some(Item { what: PendingFrame::Update(last), weight, .. }) = self.items.back_mut()
        {
            said = said.and_then(|next| last.join(next));
            if said.is_none() {
                *weight += more;
                self.pending_bytes += more;
            }
        }
        if let Some(said) = said {
            let weight = UPDATE_OVERHEAD + whole;
            self.pending_bytes += weight;
            self.items.push_back(Item {
                what: PendingFrame::Update(Box::new(said)),
                weight,
                progress_of: None,
            });
        }
    }

    /// Sees what was said in so many bytes.
    fn track_partial_size(&mut self, said: &Emission, bytes: usize) {
        self.partial_bytes = if is_followed(said) { bytes } else { self.partial_bytes + delta_len(said) };
    }

    fn pop(&mut self) -> Option<PendingFrame> {
        let item = self.items.pop_front()?;
        self.pending_bytes -= item.weight;
        Some(item.what)
    }

    /// Progress repeats itself: of what waits at the end of the queue only the newest of each call matters.
    fn drop_progress(&mut self, call: &str) {
        let tail = self.items.iter().rev().take_while(|item| item.progress_of.is_some());
        let Some(from_back) = tail.map(|item| item.progress_of.as_deref()).position(|of| of == Some(call))
        else {
            return;
        };
        if let Some(item) = self.items.remove(self.items.len() - 1 - from_back) {
            self.pending_bytes -= item.weight;
        }
    }
}

/// The call whose progress the frame tells.
fn progress_call(frame: &Outbound) -> Option<&str> {
    match frame {
        Outbound::AgentSessionEvent(AgentSessionEvent::ToolExecutionUpdate(update)) => {
            Some(&update.tool_call_id)
        }
        _ => None,
    }
}

/// Whether the encoder must see it: the edges of an assistant message.
const fn is_followed(said: &Emission) -> bool {
    match said {
        Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start))) => {
            matches!(start.message, AgentMessage::Assistant(_))
        }
        Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end))) => {
            matches!(end.message, AgentMessage::Assistant(_))
        }
        _ => false,
    }
}

/// By how much a growing message grows.
fn delta_len(said: &Emission) -> usize {
    match said {
        Emission::Update(Update { step: Grown::Delta(text), .. }) => text.len(),
        _ => 0,
    }
}

/// What an update says by itself: a delta, or the whole block at its end.
fn content_len(said: &Emission) -> usize {
    match said {
        Emission::Update(Update { step: Grown::End(block), .. }) => match block {
            AssistantContent::Text(block) => block.text.len(),
            AssistantContent::Thinking(block) => block.thinking.len(),
            AssistantContent::ToolCall(call) => {
                call.arguments.iter().map(|(_, it)| it.to_string().len()).sum()
            }
            AssistantContent::RedactedThinking(_) => 0,
        },
        said => delta_len(said),
    }
}
