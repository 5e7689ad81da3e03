//! What is said, on its way to stdout: one queue, which the loop empties as far as stdout has room.
//!
//! A growing message waits as deltas and becomes a snapshot, where the dialect has them, only when it is written. Above a [`JOIN`]th of what may wait
//! deltas of one block are joined; above a [`HIGH`]th models and tools are told to pause and only the newest progress of a
//! tool call is kept; above all of it the loop stops reading commands.

use super::{
    hazard::Hazards,
    pipe::{Pipe, Waiting},
    print_mode::PrintMode,
};
use crate::protocol::{
    AgentMessage, AgentSessionEvent, AssistantContent, Dialect, DialectMessageUpdate, Emission, Encoder,
    Outbound, SessionHeader, Step as Grown, Update,
};
use std::{collections::VecDeque, io};
use tokio::sync::watch;

/// Bytes that wait before commands are no longer read, where nothing else is said. Source: own.
pub const MOST_UNREAD: usize = 16 * 1024 * 1024;

/// Which part of that waits before models and tools pause.
const HIGH: usize = 16;

/// Which part waits before deltas of one block are joined: before the model is paused, while there still are some.
const JOIN: usize = 2 * HIGH;

/// Bytes that an update counts beside what it says: of the message that it repeats twice, or of what was added.
const DELTA: usize = 384;

/// The queue and what empties it.
pub struct Outbox {
    queue: Queue,
    encoder: Encoder,
    pipe: Pipe,
    /// For tools and models: whether they may go on.
    gate: watch::Sender<bool>,
    /// Commands may be read.
    reads: bool,
    broken: bool,
    /// Takes the frames where a run is printed.
    print: Option<PrintMode>,
}

#[derive(Default)]
struct Queue {
    /// Bytes that may wait before commands are no longer read.
    most: usize,
    items: VecDeque<Item>,
    /// Bytes that wait, as they will be written.
    weight: usize,
    /// Each update repeats the message that grows.
    repeats: bool,
    /// Bytes of the message that grows, by what was said of it last.
    growing: usize,
}

struct Item {
    what: Waiting,
    /// Bytes, as they will be written.
    weight: usize,
    progress_of: Option<String>,
}

impl Outbox {
    /// The one to stdout, which says things as `dialect` does, and in which `most` bytes may wait before commands are no
    /// longer read; with `hazards`, it is inconvenient.
    pub fn to_stdout(dialect: Dialect, most: usize, hazards: Option<Hazards>) -> io::Result<Self> {
        let repeats = dialect.record().message_update == DialectMessageUpdate::Snapshot;
        Ok(Self {
            queue: Queue { most, repeats, ..Queue::default() },
            encoder: Encoder::new(dialect),
            pipe: Pipe::to_stdout(hazards)?,
            gate: watch::Sender::new(true),
            reads: true,
            broken: false,
            print: None,
        })
    }

    /// From now on a run is printed, that of the session with this `header`.
    pub fn print(&mut self, print: PrintMode, header: &SessionHeader) {
        if let Some(line) = print.first_line(header) {
            self.write(line);
        }
        self.print = Some(print);
    }

    /// The run that is printed.
    pub const fn printed(&mut self) -> Option<&mut PrintMode> {
        self.print.as_mut()
    }

    /// Adds bytes that are no frame.
    pub fn write(&mut self, bytes: Vec<u8>) {
        let weight = bytes.len();
        self.queue.weight += weight;
        self.queue.items.push_back(Item { what: Waiting::Frame(bytes, None), weight, progress_of: None });
        self.look();
    }

    /// Adds what is said; [`flush`](Self::flush) writes it.
    pub fn say(&mut self, said: Emission) {
        if self.broken {
            return;
        }
        let said = match &mut self.print {
            Some(print) => print.pass(said),
            None => Some(said),
        };
        let Some(said) = said else { return };
        // What is bytes already is not copied to a batch, unless there is one.
        match self.is_full() || matches!(said, Emission::Line { .. }) {
            true => self.queue.push(said),
            false => {
                let length = self.pipe.say(&said, &mut self.encoder);
                self.queue.grows(&said, length);
            }
        }
        self.look();
    }

    /// Writes what there is room for. Never waits.
    pub fn flush(&mut self) {
        while !self.broken {
            if let Err(error) = self.pipe.write(&self.encoder) {
                tracing::warn!("stdout: {error}");
                (self.broken, self.queue.weight) = (true, 0);
                self.queue.items.clear();
            }
            if !self.pipe.is_empty() || self.queue.items.is_empty() || !self.pipe.takes() {
                break;
            }
            self.pipe.fill(&mut self.encoder, || self.queue.pop());
        }
        self.look();
    }

    /// Whether the host has to read before everything is written.
    pub fn is_behind(&self) -> bool {
        let all_written = self.pipe.is_empty() && self.queue.items.is_empty();
        !self.broken && !all_written
    }

    /// Until more can be written.
    pub async fn ready(&self) {
        self.pipe.ready().await;
    }

    /// Until nobody has the other end of stdout any more, though nothing was written.
    pub async fn unheard(&self) {
        self.pipe.unheard().await;
    }

    /// For models and tools: `false` while they must pause.
    pub fn gate(&self) -> watch::Receiver<bool> {
        self.gate.subscribe()
    }

    /// Models and tools may go on.
    pub fn flows(&self) -> bool {
        *self.gate.borrow()
    }

    /// Commands may be read.
    pub const fn reads(&self) -> bool {
        self.reads
    }

    /// More waits than one write should have.
    pub fn is_full(&self) -> bool {
        !self.queue.items.is_empty() || !self.pipe.is_open()
    }

    /// stdout is gone: what is said is heard by nobody.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Tells who waits; half the mark must be free again before anything goes on.
    fn look(&mut self) {
        let below = |mark: usize, open: bool| self.queue.weight < if open { mark } else { mark / 2 };
        self.reads = below(self.queue.most, self.reads);
        let flows = self.flows();
        if below(self.queue.most / HIGH, flows) != flows {
            self.gate.send_replace(!flows);
        }
    }
}

impl Queue {
    fn push(&mut self, said: Emission) {
        let frame = match said {
            Emission::Frame(frame) => frame,
            Emission::Update(_) => return self.push_update(said),
            Emission::Line { line, .. } => {
                self.weight += line.len();
                let item = Item { weight: line.len(), what: Waiting::Frame(line, None), progress_of: None };
                return self.items.push_back(item);
            }
        };
        let progress_of = progress(&frame).map(str::to_owned);
        if let Some(call) = &progress_of
            && self.weight > self.most / HIGH
        {
            self.drop_progress(call);
        }
        let mut bytes = Vec::new();
        Encoder::encode_frame(&frame, &mut bytes);
        self.weight += bytes.len();
        let said = Emission::Frame(frame);
        self.grows(&said, bytes.len());
        let follow = is_followed(&said).then(|| Box::new(said));
        let weight = bytes.len();
        self.items.push_back(Item { what: Waiting::Frame(bytes, follow), weight, progress_of });
    }

    fn push_update(&mut self, said: Emission) {
        let added = delta_len(&said);
        self.grows(&said, 0);
        let more = if self.repeats { 2 * added } else { added };
        let whole = if self.repeats { 2 * self.growing } else { said_len(&said) };
        let mut said = Some(said);
        if self.weight > self.most / JOIN
            && let Some(Item { what: Waiting::Update(last), weight, .. }) = self.items.back_mut()
        {
            said = said.and_then(|next| last.join(next));
            if said.is_none() {
                *weight += more;
                self.weight += more;
            }
        }
        if let Some(said) = said {
            let weight = DELTA + whole;
            self.weight += weight;
            self.items.push_back(Item { what: Waiting::Update(Box::new(said)), weight, progress_of: None });
        }
    }

    /// Sees what was said in so many bytes.
    fn grows(&mut self, said: &Emission, bytes: usize) {
        self.growing = if is_followed(said) { bytes } else { self.growing + delta_len(said) };
    }

    fn pop(&mut self) -> Option<Waiting> {
        let item = self.items.pop_front()?;
        self.weight -= item.weight;
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
            self.weight -= item.weight;
        }
    }
}

/// The call whose progress the frame tells.
fn progress(frame: &Outbound) -> Option<&str> {
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
fn said_len(said: &Emission) -> usize {
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
