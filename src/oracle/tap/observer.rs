//! What the pumps have seen, on its way to the recording and the judge.

use super::recorder::{Recorder, TapOptions};
use crate::oracle::{Direction, Meta};
use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Bytes that may wait for a judge or a disk that is slower than the conversation: 256 MiB. What comes when so many
/// wait is not recorded and not judged, nor is anything after it.
const LIMIT: usize = 256 * 1024 * 1024;

/// Sees a conversation go by: records it and has it judged, on a thread of its own.
pub struct Observer {
    handle: ObserverHandle,
    recorder: JoinHandle<()>,
}

impl Observer {
    /// Starts with the record of the process, which is about to be started.
    pub fn start(sheet: TapOptions) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = Queue { sender, waiting: waiting.clone(), lost: 0, start: Instant::now() };
        let recorder = thread::Builder::new().name("observer".to_owned());
        let recorder = recorder.spawn(move || run(Recorder::start(sheet), &receiver, &waiting))?;
        Ok(Self { handle: ObserverHandle(Arc::new(Mutex::new(queue))), recorder })
    }

    /// For one of the pumps.
    pub fn handle(&self) -> ObserverHandle {
        self.handle.clone()
    }

    /// The process has ended with that status: waits until everything is recorded, judged and reported.
    pub fn finish(self, code: u8) {
        self.handle.send(|lost| Observation::Exit { code, lost });
        // It has told its own panic.
        let _ = self.recorder.join();
    }
}

/// What a pump tells. Never waits for more than the other pump's telling.
#[derive(Clone)]
pub struct ObserverHandle(Arc<Mutex<Queue>>);

struct Queue {
    sender: Sender<(f64, Observation)>,
    waiting: Arc<AtomicUsize>,
    /// Bytes since there was no room any more.
    lost: u64,
    start: Instant,
}

/// Something that was seen.
enum Observation {
    Bytes(Direction, Vec<u8>),
    Event(Meta<'static>),
    Exit { code: u8, lost: u64 },
}

impl ObserverHandle {
    /// The host wrote `bytes`.
    pub fn host_wrote(&self, bytes: &[u8]) {
        self.bytes(Direction::In, bytes);
    }

    /// The server wrote `bytes`.
    pub fn server_wrote(&self, bytes: &[u8]) {
        self.bytes(Direction::Out, bytes);
    }

    /// The host has ended the input.
    pub fn end_of_input(&self) {
        self.send(|_| Observation::Event(Meta::StdinClosed));
    }

    /// The host has closed its end of the output.
    pub fn end_of_output(&self) {
        self.send(|_| Observation::Event(Meta::StdoutClosed));
    }

    /// The host has not taken what the server wrote for so long.
    pub fn stalled(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.send(|_| Observation::Event(Meta::Stalled { ms }));
    }

    /// The host has sent a signal.
    pub fn signal(&self, number: i32) {
        self.send(|_| Observation::Event(Meta::Signal { number }));
    }

    fn bytes(&self, direction: Direction, bytes: &[u8]) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = LIMIT.saturating_sub(queue.waiting.load(Ordering::Relaxed));
        if queue.lost > 0 || bytes.len() > room {
            queue.lost += bytes.len() as u64;
            return;
        }
        queue.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        queue.send(Observation::Bytes(direction, bytes.to_vec()));
    }

    fn send(&self, seen: impl FnOnce(u64) -> Observation) {
        let queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.send(seen(queue.lost));
    }
}

impl Queue {
    fn send(&self, seen: Observation) {
        let t = self.start.elapsed().as_secs_f64() * 1000.0;
        // A recorder that has finished takes nothing more.
        let _ = self.sender.send((t, seen));
    }
}

/// Takes what is seen, until the process has ended.
fn run(mut recorder: Recorder, seen: &Receiver<(f64, Observation)>, waiting: &AtomicUsize) {
    for (t, seen) in seen {
        match seen {
            Observation::Bytes(direction, bytes) => {
                recorder.bytes(t, direction, &bytes);
                waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            }
            Observation::Event(what) => recorder.event(t, &what),
            Observation::Exit { code, lost } => return recorder.exit(t, code, lost),
        }
    }
}
