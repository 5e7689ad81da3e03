//! The queue of observed bytes and events between the pumps and the recorder's thread.

use super::recorder::{Recorder, TapOptions};
use pi_rpc_recording::{Direction, Meta};
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

/// The most pending bytes, in case the judge or the disk is slower than the conversation: 256 MiB. Bytes beyond the limit,
/// and everything after them, are neither recorded nor judged.
const LIMIT: usize = 256 * 1024 * 1024;

/// Records and judges a conversation on a thread of its own.
pub struct Observer {
    handle: ObserverHandle,
    recorder: JoinHandle<()>,
}

impl Observer {
    /// Starts the thread, which first records the start of the process.
    pub fn start(options: TapOptions) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = ObservationQueue { sender, waiting: waiting.clone(), lost: 0, start: Instant::now() };
        let recorder = thread::Builder::new().name("observer".to_owned());
        let recorder = recorder.spawn(move || run(Recorder::start(options), &receiver, &waiting))?;
        Ok(Self { handle: ObserverHandle(Arc::new(Mutex::new(queue))), recorder })
    }

    /// A handle for a pump.
    pub fn handle(&self) -> ObserverHandle {
        self.handle.clone()
    }

    /// Records the exit of the process, and waits until everything is recorded, judged and reported.
    pub fn finish(self, code: u8) {
        self.handle.send(|lost| Observation::Exit { code, lost });
        // A panic has printed its own message.
        let _ = self.recorder.join();
    }
}

/// The sending end of the queue, for a pump. Sending waits only for the other pumps' copies.
#[derive(Clone)]
pub struct ObserverHandle(Arc<Mutex<ObservationQueue>>);

struct ObservationQueue {
    sender: Sender<(f64, Observation)>,
    waiting: Arc<AtomicUsize>,
    /// Bytes lost since the queue was full.
    lost: u64,
    start: Instant,
}

/// An observation of a pump or of the process.
enum Observation {
    Bytes(Direction, Vec<u8>),
    Event(Meta<'static>),
    Exit { code: u8, lost: u64 },
}

impl ObserverHandle {
    /// Sends bytes of the host.
    pub fn host_wrote(&self, bytes: &[u8]) {
        self.bytes(Direction::In, bytes);
    }

    /// Sends bytes of the server.
    pub fn server_wrote(&self, bytes: &[u8]) {
        self.bytes(Direction::Out, bytes);
    }

    /// Sends that the host has closed the server's input.
    pub fn end_of_input(&self) {
        self.send(|_| Observation::Event(Meta::StdinClosed));
    }

    /// Sends that the host has closed its end of the server's output.
    pub fn end_of_output(&self) {
        self.send(|_| Observation::Event(Meta::StdoutClosed));
    }

    /// Sends that the host has left output unread for this long.
    pub fn stalled(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.send(|_| Observation::Event(Meta::Stalled { ms }));
    }

    /// Sends that the host has sent a signal.
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

impl ObservationQueue {
    fn send(&self, seen: Observation) {
        let t = self.start.elapsed().as_secs_f64() * 1000.0;
        // A recorder that has finished receives nothing more.
        let _ = self.sender.send((t, seen));
    }
}

/// Feeds observations to the recorder, until the process has exited.
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
