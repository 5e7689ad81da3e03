//! Queue of encoded frames for stdout, with back-pressure.
//!
//! All outbound frames pass through it in order. Updates of the partial message wait as deltas; in dialects with snapshots
//! they become those only when they are written. Marks of the pending bytes, as parts of the limit: from the
//! [`COALESCE_PART`]th on, deltas of one block are coalesced; from the [`PAUSE_PART`]th on, models and tools pause and only the
//! newest progress of a tool call is kept; from the whole on, the loop stops reading commands.

use super::{
    batch_writer::{BatchWriter, PendingFrame},
    frame_limit::FrameLimiter,
    hazard::{Hazards, Occurrences},
    print_mode::PrintMode,
};
use pi_rpc_protocol::{
    AgentSessionEvent, AssistantContent, Dialect, DialectMessageUpdate, Emission, Encoder, Outbound,
    SessionHeader, Step as Grown, Update,
};
use std::{collections::VecDeque, io};
use tokio::sync::watch;

/// Default limit of pending bytes, from which on no commands are read. Source: own.
pub const MAX_PENDING_BYTES: usize = 16 * 1024 * 1024;

/// The part of the limit at which models and tools pause: one sixteenth.
const PAUSE_PART: usize = 16;

/// The part of the limit at which deltas are coalesced: before the model pauses, while there still are some.
const COALESCE_PART: usize = 2 * PAUSE_PART;

/// Bytes that an update counts besides its content.
const UPDATE_OVERHEAD: usize = 384;

/// The queue and its writer.
pub struct Outbox {
    queue: Queue,
    encoder: Encoder,
    writer: BatchWriter,
    /// Whether models and tools may go on.
    gate: watch::Sender<bool>,
    /// Whether commands may be read.
    accepts_commands: bool,
    broken: bool,
    /// Filters the frames when a run is printed.
    print: Option<PrintMode>,
}

#[derive(Default)]
struct Queue {
    /// Pending bytes from which on no commands are read.
    max_pending: usize,
    items: VecDeque<Item>,
    /// Pending bytes, as they will be written.
    pending_bytes: usize,
    /// Whether updates carry snapshots of the partial message.
    has_snapshots: bool,
    /// Bytes of the partial message.
    partial_bytes: usize,
}

struct Item {
    what: PendingFrame,
    /// Bytes, as they will be written.
    weight: usize,
    progress_of: Option<String>,
}

impl Outbox {
    /// An outbox for stdout that encodes frames in `dialect`, with a limit of `most` pending bytes.
    pub fn to_stdout(dialect: Dialect, most: usize, hazards: Option<Hazards>) -> io::Result<Self> {
        let has_snapshots = dialect.record().message_update == DialectMessageUpdate::Snapshot;
        Ok(Self {
            queue: Queue { max_pending: most, has_snapshots, ..Queue::default() },
            encoder: Encoder::new(dialect),
            writer: BatchWriter::to_stdout(hazards, FrameLimiter::new(dialect))?,
            gate: watch::Sender::new(true),
            accepts_commands: true,
            broken: false,
            print: None,
        })
    }

    /// How often each hazard has occurred; `None` without hazards.
    pub fn hazard_occurrences(&self) -> Option<&Occurrences> {
        self.writer.hazard_occurrences()
    }

    /// Prints a run from now on, that of the session with this `header`, in place of frames.
    pub fn start_print(&mut self, print: PrintMode, header: &SessionHeader) {
        if let Some(line) = print.first_line(header) {
            self.push_bytes(line);
        }
        self.print = Some(print);
    }

    /// The run that is printed, if one is.
    pub const fn print_mode(&mut self) -> Option<&mut PrintMode> {
        self.print.as_mut()
    }

    /// Queues bytes that are no frame.
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

    /// Queues a frame; [`flush`](Self::flush) writes it.
    pub fn push(&mut self, emission: Emission) {
        if self.broken {
            return;
        }
        let emission = match &mut self.print {
            Some(print) => print.filter(emission),
            None => Some(emission),
        };
        let Some(emission) = emission else { return };
        // An encoded line is queued as it is rather than copied into a batch.
        match self.is_full() || matches!(emission, Emission::Line { .. }) {
            true => self.queue.push(emission),
            false => {
                let length = self.writer.push(&emission, &mut self.encoder);
                self.queue.track_partial_size(&emission, length);
            }
        }
        self.update_backpressure();
    }

    /// Writes as much as stdout takes. Never blocks.
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

    /// Whether frames are pending that the host has to read first.
    pub fn is_behind(&self) -> bool {
        let all_written = self.writer.is_empty() && self.queue.items.is_empty();
        !self.broken && !all_written
    }

    /// Waits until [`flush`](Self::flush) can make progress.
    pub async fn ready(&self) {
        self.writer.ready().await;
    }

    /// Resolves when the reader of stdout hangs up, also while nothing is written.
    pub async fn closed(&self) {
        self.writer.closed().await;
    }

    /// The gate of models and tools: `false` while they must pause.
    pub fn gate(&self) -> watch::Receiver<bool> {
        self.gate.subscribe()
    }

    /// Whether models and tools may go on.
    pub fn is_gate_open(&self) -> bool {
        *self.gate.borrow()
    }

    /// Whether commands may be read.
    pub const fn accepts_commands(&self) -> bool {
        self.accepts_commands
    }

    /// Whether no frame can join the next write.
    pub fn is_full(&self) -> bool {
        !self.queue.items.is_empty() || !self.writer.is_open()
    }

    /// Whether stdout is closed; frames are then dropped.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Closes and opens the gates by the pending bytes; a gate opens again at half of its mark.
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
    fn push(&mut self, emission: Emission) {
        let frame = match emission {
            Emission::Frame(frame) => frame,
            Emission::Update(_) => return self.push_update(emission),
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
        let emission = Emission::Frame(frame);
        self.track_partial_size(&emission, bytes.len());
        let is_followed = emission.bounds_answer() || FrameLimiter::is_negotiation(&emission);
        let follow = is_followed.then(|| Box::new(emission));
        let weight = bytes.len();
        self.items.push_back(Item { what: PendingFrame::Encoded(bytes, follow), weight, progress_of });
    }

    fn push_update(&mut self, emission: Emission) {
        let added = delta_len(&emission);
        self.track_partial_size(&emission, 0);
        let more = if self.has_snapshots { 2 * added } else { added };
        let whole = if self.has_snapshots { 2 * self.partial_bytes } else { content_len(&emission) };
        let mut emission = Some(emission);
        if self.pending_bytes > self.max_pending / COALESCE_PART
            && let Some(Item { what: PendingFrame::Update(last), weight, .. }) = self.items.back_mut()
        {
            emission = emission.and_then(|next| last.join(next));
            if emission.is_none() {
                *weight += more;
                self.pending_bytes += more;
            }
        }
        if let Some(emission) = emission {
            let weight = UPDATE_OVERHEAD + whole;
            self.pending_bytes += weight;
            self.items.push_back(Item {
                what: PendingFrame::Update(Box::new(emission)),
                weight,
                progress_of: None,
            });
        }
    }

    /// Follows the size of the partial message through a frame of so many bytes.
    fn track_partial_size(&mut self, emission: &Emission, bytes: usize) {
        self.partial_bytes =
            if emission.bounds_answer() { bytes } else { self.partial_bytes + delta_len(emission) };
    }

    fn pop(&mut self) -> Option<PendingFrame> {
        let item = self.items.pop_front()?;
        self.pending_bytes -= item.weight;
        Some(item.what)
    }

    /// Drops older progress of a tool call from the end of the queue: the newest replaces it.
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

/// The id of the tool call whose progress the frame reports.
fn progress_call(frame: &Outbound) -> Option<&str> {
    match frame {
        Outbound::AgentSessionEvent(AgentSessionEvent::ToolExecutionUpdate(update)) => {
            Some(&update.tool_call_id)
        }
        _ => None,
    }
}

/// Bytes that a delta adds to the partial message.
fn delta_len(emission: &Emission) -> usize {
    match emission {
        Emission::Update(Update { step: Grown::Delta(text), .. }) => text.len(),
        _ => 0,
    }
}

/// Bytes of an update without a snapshot: a delta, or the whole block at its end.
fn content_len(emission: &Emission) -> usize {
    match emission {
        Emission::Update(Update { step: Grown::End(block), .. }) => match block {
            AssistantContent::Text(block) => block.text.len(),
            AssistantContent::Thinking(block) => block.thinking.len(),
            AssistantContent::ToolCall(call) => {
                call.arguments.iter().map(|(_, it)| it.to_string().len()).sum()
            }
            AssistantContent::RedactedThinking(_) => 0,
        },
        emission => delta_len(emission),
    }
}
