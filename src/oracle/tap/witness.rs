//! What the pumps have seen, on its way to the recording and the judge.

use super::clerk::{Clerk, Sheet};
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
pub struct Witness {
    told: Teller,
    clerk: JoinHandle<()>,
}

impl Witness {
    /// Starts with the record of the process, which is about to be started.
    pub fn start(sheet: Sheet) -> io::Result<Self> {
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let told = Told { sender, waiting: waiting.clone(), lost: 0, start: Instant::now() };
        let clerk = thread::Builder::new().name("witness".to_owned());
        let clerk = clerk.spawn(move || work(Clerk::start(sheet), &receiver, &waiting))?;
        Ok(Self { told: Teller(Arc::new(Mutex::new(told))), clerk })
    }

    /// For one of the pumps.
    pub fn teller(&self) -> Teller {
        self.told.clone()
    }

    /// The process has ended with that status: waits until everything is recorded, judged and reported.
    pub fn finish(self, code: u8) {
        self.told.tell(|lost| Seen::Exit { code, lost });
        // It has told its own panic.
        let _ = self.clerk.join();
    }
}

/// What a pump tells. Never waits for more than the other pump's telling.
#[derive(Clone)]
pub struct Teller(Arc<Mutex<Told>>);

struct Told {
    sender: Sender<(f64, Seen)>,
    waiting: Arc<AtomicUsize>,
    /// Bytes since there was no room any more.
    lost: u64,
    start: Instant,
}

/// Something that was seen.
enum Seen {
    Bytes(Direction, Vec<u8>),
    Done(Meta<'static>),
    Exit { code: u8, lost: u64 },
}

impl Teller {
    /// The host wrote `bytes`.
    pub fn of_host(&self, bytes: &[u8]) {
        self.bytes(Direction::In, bytes);
    }

    /// The server wrote `bytes`.
    pub fn of_server(&self, bytes: &[u8]) {
        self.bytes(Direction::Out, bytes);
    }

    /// The host has ended the input.
    pub fn end_of_input(&self) {
        self.tell(|_| Seen::Done(Meta::StdinClosed));
    }

    /// The host has closed its end of the output.
    pub fn end_of_output(&self) {
        self.tell(|_| Seen::Done(Meta::StdoutClosed));
    }

    /// The host has not taken what the server wrote for so long.
    pub fn stalled(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.tell(|_| Seen::Done(Meta::Stalled { ms }));
    }

    /// The host has sent a signal.
    pub fn signal(&self, number: i32) {
        self.tell(|_| Seen::Done(Meta::Signal { number }));
    }

    fn bytes(&self, direction: Direction, bytes: &[u8]) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = LIMIT.saturating_sub(told.waiting.load(Ordering::Relaxed));
        if told.lost > 0 || bytes.len() > room {
            told.lost += bytes.len() as u64;
            return;
        }
        told.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        told.send(Seen::Bytes(direction, bytes.to_vec()));
    }

    fn tell(&self, seen: impl FnOnce(u64) -> Seen) {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.send(seen(told.lost));
    }
}

impl Told {
    fn send(&self, seen: Seen) {
        let t = self.start.elapsed().as_secs_f64() * 1000.0;
        // A clerk that has finished takes nothing more.
        let _ = self.sender.send((t, seen));
    }
}

/// Takes what is seen, until the process has ended.
fn work(mut clerk: Clerk, seen: &Receiver<(f64, Seen)>, waiting: &AtomicUsize) {
    for (t, seen) in seen {
        match seen {
            Seen::Bytes(direction, bytes) => {
                clerk.bytes(t, direction, &bytes);
                waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            }
            Seen::Done(what) => clerk.done(t, &what),
            Seen::Exit { code, lost } => return clerk.exit(t, code, lost),
        }
    }
}
