//! Passes bytes from one pipe to another, as they come.

use rustix::event::{PollFd, PollFlags, poll};
use std::{
    fs::File,
    io::{self, ErrorKind, PipeReader, Read, Write},
    time::{Duration, Instant},
};

/// The most bytes that are passed on at once: the capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// The reason why a pump has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PumpEnd {
    /// The input has ended.
    Ended,
    /// The reader of the output has closed its end.
    ReaderClosed,
}

/// Passes bytes on from `from` to `to`. Calls `seen` just before each write, and `waited` with its duration just after.
/// Returns when `from` has ended, when the reader of `to` has closed its end (also while nothing comes), or when `from` is
/// empty and `stop` is closed.
pub fn pump(
    from: &mut File,
    to: &mut File,
    stop: Option<&PipeReader>,
    mut seen: impl FnMut(&[u8]),
    mut waited: impl FnMut(Duration),
) -> PumpEnd {
    let mut chunk = vec![0; CHUNK];
    loop {
        match ready(from, to, stop) {
            Ok(None) => {}
            Ok(Some(over)) => return over,
            Err(_) => return PumpEnd::Ended,
        }
        let bytes = match from.read(&mut chunk) {
            Ok(count) => chunk.get(..count).unwrap_or_default(),
            // The host may have made its end, and so ours, non-blocking.
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => continue,
            Err(_) => return PumpEnd::Ended,
        };
        if bytes.is_empty() {
            return PumpEnd::Ended;
        }
        seen(bytes);
        let began = Instant::now();
        let written = write_all(to, bytes);
        waited(began.elapsed());
        if written.is_err() {
            return PumpEnd::ReaderClosed;
        }
    }
}

/// Waits until there are bytes to read (`None`), or a reason to end.
fn ready(from: &File, to: &File, stop: Option<&PipeReader>) -> rustix::io::Result<Option<PumpEnd>> {
    let gone = PollFlags::ERR | PollFlags::HUP;
    loop {
        let mut polled = vec![PollFd::new(from, PollFlags::IN), PollFd::new(to, PollFlags::empty())];
        polled.extend(stop.map(|stop| PollFd::new(stop, PollFlags::IN)));
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        let shows = |at: usize, flags| polled.get(at).is_some_and(|fd| fd.revents().intersects(flags));
        if shows(1, gone) {
            return Ok(Some(PumpEnd::ReaderClosed));
        }
        if shows(0, PollFlags::IN | gone) {
            return Ok(None);
        }
        if shows(2, gone) {
            return Ok(Some(PumpEnd::Ended));
        }
    }
}

/// [`Write::write_all`] for a pipe that may be non-blocking.
fn write_all(to: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(to, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
