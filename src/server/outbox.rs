//! What is said, on its way to stdout: one queue, one writer thread.
//!
//! A growing message waits as deltas and becomes a snapshot only when it is written. Above [`JOIN`] deltas of one block
//! are joined; above [`HIGH`] models and tools are told to pause and only the newest progress of a tool call is kept;
//! above [`HARD`] the loop stops reading commands.

use crate::protocol::{AgentMessage, AgentSessionEvent, Encoder, Outbound, Said};
use rustix::event::{PollFd, PollFlags, poll};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};
use tokio::sync::watch;

/// Bytes that wait before models and tools pause.
const HIGH: usize = 1024 * 1024;

/// Bytes that wait before deltas of one block are joined: before the model is paused, while there still are some.
const JOIN: usize = HIGH / 2;

/// Bytes that wait before commands are no longer read.
const HARD: usize = 16 * 1024 * 1024;

/// Bytes that an update counts beside the message that it repeats twice.
const DELTA: usize = 256;

/// Bytes encoded before they are handed to the pipe.
const BATCH: usize = 64 * 1024;

/// How full the outbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Models and tools may go on.
    pub flows: bool,
    /// Commands may be read.
    pub reads: bool,
    /// stdout is gone.
    pub broken: bool,
    /// Nobody has the other end of stdout any more, though nothing was written since.
    pub unheard: bool,
}

/// The loop's end of the queue.
pub struct Outbox {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    /// Follows [`Level::flows`], for tools and models.
    gate: watch::Receiver<bool>,
    level: watch::Receiver<Level>,
}

struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    gate: watch::Sender<bool>,
    level: watch::Sender<Level>,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    /// Bytes that wait, as they will be written.
    weight: usize,
    /// Bytes of the message that grows, by what was said of it last.
    growing: usize,
    closed: bool,
    broken: bool,
}

enum Item {
    /// A frame's bytes; `Some` if it begins or ends an assistant message, which the encoder follows.
    Frame { bytes: Vec<u8>, follow: Option<Box<Said>>, progress_of: Option<String> },
    /// A delta.
    Update(Box<Said>, usize),
}

impl Outbox {
    /// Starts the writer on stdout.
    pub fn start() -> std::io::Result<Self> {
        // A descriptor of our own: std's stdout flushes at every line feed.
        let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        let (gate, gate_view) = watch::channel(true);
        let (level, level_view) =
            watch::channel(Level { flows: true, reads: true, broken: false, unheard: false });
        let shared = Arc::new(Shared { queue: Mutex::default(), filled: Condvar::new(), gate, level });
        let (own, watching) = (shared.clone(), shared.clone());
        let watched = stdout.try_clone()?;
        std::thread::Builder::new().name("stdout-gone".to_owned()).spawn(move || watching.watch(&watched))?;
        let writer =
            std::thread::Builder::new().name("stdout".to_owned()).spawn(move || own.write(stdout))?;
        Ok(Self { shared, writer: Some(writer), gate: gate_view, level: level_view })
    }

    /// Adds what is said. Never waits.
    pub fn say(&self, said: Said) {
        let mut queue = self.shared.lock();
        if queue.broken {
            return;
        }
        queue.push(said);
        self.shared.report(&queue);
        drop(queue);
        self.shared.filled.notify_one();
    }

    /// For models and tools: `false` while they must pause.
    pub fn gate(&self) -> watch::Receiver<bool> {
        self.gate.clone()
    }

    /// For the loop.
    pub fn level(&self) -> watch::Receiver<Level> {
        self.level.clone()
    }

    /// Nothing more will be said: writes what waits. Blocks until the host has read it or is gone; `false`: it is gone.
    pub fn finish(mut self) -> bool {
        self.shared.lock().closed = true;
        self.shared.filled.notify_one();
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("stdout: the writer panicked");
            return false;
        }
        !self.shared.lock().broken
    }
}

impl Queue {
    fn push(&mut self, said: Said) {
        let Said::Frame(frame) = said else { return self.push_update(said) };
        let progress_of = progress(&frame).map(str::to_owned);
        if let Some(call) = &progress_of
            && self.weight > HIGH
        {
            self.drop_progress(call);
        }
        let mut bytes = Vec::new();
        Encoder::encode_frame(&frame, &mut bytes);
        self.weight += bytes.len();
        let follow = is_followed(&frame).then(|| Box::new(Said::Frame(frame)));
        if follow.is_some() {
            self.growing = bytes.len();
        }
        self.items.push_back(Item::Frame { bytes, follow, progress_of });
    }

    fn push_update(&mut self, said: Said) {
        let added = delta_len(&said);
        self.growing += added;
        let mut said = Some(said);
        if self.weight > JOIN
            && let Some(Item::Update(last, weight)) = self.items.back_mut()
        {
            said = said.and_then(|next| last.join(next));
            if said.is_none() {
                *weight += 2 * added;
                self.weight += 2 * added;
            }
        }
        if let Some(said) = said {
            let weight = DELTA + 2 * self.growing;
            self.weight += weight;
            self.items.push_back(Item::Update(Box::new(said), weight));
        }
    }

    /// Progress repeats itself: of what waits at the end of the queue only the newest of each call matters.
    fn drop_progress(&mut self, call: &str) {
        let tail = self
            .items
            .iter()
            .rev()
            .take_while(|item| matches!(item, Item::Frame { progress_of: Some(_), .. }));
        let found = tail
            .enumerate()
            .find(|(_, item)| matches!(item, Item::Frame { progress_of: Some(of), .. } if of == call));
        let Some(from_back) = found.map(|(at, _)| at) else { return };
        if let Some(Item::Frame { bytes, .. }) = self.items.remove(self.items.len() - 1 - from_back) {
            self.weight -= bytes.len();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells who waits; half the mark must be free again before anything goes on.
    fn report(&self, queue: &Queue) {
        let below = |mark: usize, open: bool| queue.weight < if open { mark } else { mark / 2 };
        self.gate.send_if_modified(|open| {
            let next = below(HIGH, *open);
            std::mem::replace(open, next) != next
        });
        self.level.send_if_modified(|level| {
            let next = Level {
                flows: below(HIGH, level.flows),
                reads: below(HARD, level.reads),
                broken: queue.broken,
                ..*level
            };
            std::mem::replace(level, next) != next
        });
    }

    /// Waits until nobody has the other end: a host that was killed while a silent tool runs is noticed by no write.
    fn watch(&self, stdout: &File) {
        let gone = PollFlags::ERR | PollFlags::HUP;
        loop {
            let mut polled = [PollFd::new(stdout, PollFlags::empty())];
            match poll(&mut polled, None) {
                Ok(_) if polled[0].revents().intersects(gone) => break,
                Err(rustix::io::Errno::INTR) => {}
                // What cannot be watched is noticed by the next write.
                _ => return,
            }
        }
        self.level.send_modify(|level| level.unheard = true);
    }

    fn write(&self, mut to: File) {
        let mut encoder = Encoder::default();
        let mut out = Vec::with_capacity(BATCH);
        loop {
            let items = self.take();
            if items.is_empty() {
                return;
            }
            for item in items {
                match item {
                    Item::Frame { bytes, follow, .. } => {
                        follow.iter().for_each(|said| encoder.follow(said));
                        out.extend_from_slice(&bytes);
                    }
                    Item::Update(said, _) => encoder.encode(&said, &mut out),
                }
                if out.len() >= BATCH && !self.flush(&mut to, &mut out) {
                    return;
                }
            }
            if !self.flush(&mut to, &mut out) {
                return;
            }
        }
    }

    /// What waits, up to one batch; empty when nothing more will come.
    fn take(&self) -> Vec<Item> {
        let mut queue = self.lock();
        while queue.items.is_empty() && !queue.closed {
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let mut taken = Vec::new();
        let mut size = 0;
        while size < BATCH
            && let Some(item) = queue.items.pop_front()
        {
            let weight = match &item {
                Item::Frame { bytes, .. } => bytes.len(),
                Item::Update(_, weight) => *weight,
            };
            queue.weight -= weight;
            size += weight;
            taken.push(item);
        }
        self.report(&queue);
        taken
    }

    fn flush(&self, to: &mut File, out: &mut Vec<u8>) -> bool {
        let written = write_all(to, out);
        out.clear();
        if let Err(error) = &written {
            tracing::warn!("stdout: {error}");
            let mut queue = self.lock();
            queue.broken = true;
            queue.items.clear();
            queue.weight = 0;
            self.report(&queue);
        }
        written.is_ok()
    }
}

/// [`Write::write_all`] for a pipe that a host may have made non-blocking.
fn write_all(to: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(to, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
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
const fn is_followed(frame: &Outbound) -> bool {
    match frame {
        Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start)) => {
            matches!(start.message, AgentMessage::Assistant(_))
        }
        Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end)) => {
            matches!(end.message, AgentMessage::Assistant(_))
        }
        _ => false,
    }
}

fn delta_len(said: &Said) -> usize {
    match said {
        Said::Update(crate::protocol::Update { step: crate::protocol::Step::Delta(text), .. }) => text.len(),
        _ => 0,
    }
}
