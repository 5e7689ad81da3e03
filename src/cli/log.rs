//! The log on stderr. Never blocks for long, and redacts credentials.

use pi_rpc_files::{harmless::harmless_lines, secrets::Secrets};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, Write},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// How long a line waits for a slow reader, in milliseconds.
const PATIENCE_MS: i64 = 100;

/// Bytes that a writable pipe takes without blocking.
const PIPE_BUF: usize = 4096;

/// Number of lines lost since the last one that was written.
static LOST_LINES: AtomicU64 = AtomicU64::new(0);

/// Credentials to redact.
static SECRETS: OnceLock<Secrets> = OnceLock::new();

/// Redacts these credentials in every line from now on.
pub fn set_secrets(secrets: Secrets) {
    // A process reads its configuration once.
    let _ = SECRETS.set(secrets);
}

/// Writer to stderr that redacts credentials and removes control characters. A line for which there is no room is dropped and
/// counted in the next one.
pub struct Log;

impl Write for Log {
    /// Writes a whole line. Never fails, even if stderr is closed.
    fn write(&mut self, whole: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(whole);
        let text = harmless_lines(&SECRETS.get().map_or(text.clone(), |secrets| secrets.redact(&text)));
        let line = text.as_bytes();
        let lost = LOST_LINES.load(Ordering::Relaxed);
        // After a lost line, do not wait again until there is room.
        if !has_room(if lost == 0 { PATIENCE_MS } else { 0 }) {
            LOST_LINES.fetch_add(1, Ordering::Relaxed);
            return Ok(whole.len());
        }
        LOST_LINES.store(0, Ordering::Relaxed);
        let notice =
            if lost == 0 { String::new() } else { format!("({lost} lines lost: stderr was full)\n") };
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

/// Whether stderr takes a piece, or cannot be polled.
fn has_room(patience_ms: i64) -> bool {
    let limit = Timespec { tv_sec: 0, tv_nsec: patience_ms * 1_000_000 };
    poll(&mut [PollFd::new(&io::stderr(), PollFlags::OUT)], Some(&limit)) != Ok(0)
}
