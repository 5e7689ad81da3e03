//! The log on stderr: it never holds anybody up.

use crate::{harmless::harmless_lines, secrets::Secrets};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, Write},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// How long a line waits for room, in milliseconds: a reader may be slow.
const PATIENCE_MS: i64 = 100;

/// What a pipe that has room takes without waiting, in bytes.
const PIPE_BUF: usize = 4096;

/// Lines that found no room since the last one that did.
static LOST_LINES: AtomicU64 = AtomicU64::new(0);

/// What no line may say.
static SECRETS: OnceLock<Secrets> = OnceLock::new();

/// From now on every line has `***` in the place of these.
pub fn set_secrets(secrets: Secrets) {
    // A process reads its configuration once.
    let _ = SECRETS.set(secrets);
}

/// stderr, without keys, without what moves the cursor and without what nobody reads: a line that finds no room is left out, and the next one that does says so.
pub struct Log;

impl Write for Log {
    /// Writes a whole line. Never fails: where stderr is closed, nobody is left to be told so.
    fn write(&mut self, whole: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(whole);
        let text = harmless_lines(&SECRETS.get().map_or(text.clone(), |secrets| secrets.redact(&text)));
        let line = text.as_bytes();
        let lost = LOST_LINES.load(Ordering::Relaxed);
        // Once nobody reads, nobody is waited for.
        if !has_room(if lost == 0 { PATIENCE_MS } else { 0 }) {
            LOST_LINES.fetch_add(1, Ordering::Relaxed);
            return Ok(whole.len());
        }
        LOST_LINES.store(0, Ordering::Relaxed);
        let notice =
            if lost == 0 { String::new() } else { format!("({lost} lines lost: nobody read them)\n") };
        let mut stderr = io::stderr();
        for piece in [notice.as_bytes(), line].concat().chunks(PIPE_BUF) {
            if !has_room(PATIENCE_MS) || stderr.write_all(piece).is_err() {
                break;
            }
        }
        Ok(whole.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether stderr takes a piece, or says that it cannot be asked.
fn has_room(patience_ms: i64) -> bool {
    let limit = Timespec { tv_sec: 0, tv_nsec: patience_ms * 1_000_000 };
    poll(&mut [PollFd::new(&io::stderr(), PollFlags::OUT)], Some(&limit)) != Ok(0)
}
