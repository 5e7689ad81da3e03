//! Reader of a pipe that is fast enough not to affect measurements: counts bytes, finds line ends, and compares the
//! head of each line with a mark. Nothing is parsed.

use memchr::{memchr_iter, memmem::Finder};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use std::{
    io::Read,
    os::fd::AsFd,
    time::{Duration, Instant},
};

/// Capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// Number of bytes of a line that are compared.
const HEAD: usize = 200;

/// Lines of a pipe.
pub struct Reader<R> {
    pipe: R,
    chunk: Vec<u8>,
    /// Unprocessed part of `chunk`, after the last returned line.
    rest: std::ops::Range<usize>,
    head: Vec<u8>,
    length: usize,
    update: Finder<'static>,
    /// Number of bytes so far.
    pub bytes: u64,
    /// Number of `message_update` lines so far.
    pub updates: u64,
    /// Length of the last returned line.
    pub last: usize,
    /// Lengths of all lines so far, with their line ends, if enabled.
    pub lengths: Option<Vec<u32>>,
    /// Limit in bytes per second.
    pub slowly: Option<u32>,
}

impl<R: Read + AsFd> Reader<R> {
    /// Creates a reader of the pipe.
    pub fn new(pipe: R) -> Self {
        let update = Finder::new(r#""type":"message_update""#);
        let (chunk, head) = (vec![0; CHUNK], Vec::with_capacity(HEAD));
        Self {
            pipe,
            chunk,
            rest: 0..0,
            head,
            length: 0,
            update,
            bytes: 0,
            updates: 0,
            last: 0,
            lengths: None,
            slowly: None,
        }
    }

    /// Reads up to the end of the next line whose head has `mark`. Nothing is allocated, unless the lengths are kept.
    pub fn next(&mut self, mark: &Finder<'_>, limit: Duration) -> Result<(), Stop> {
        self.head = self.seek(mark, 1, limit)?;
        self.head.clear();
        Ok(())
    }

    /// Reads up to the end of the `count`-th line whose head has `mark`; returns its head.
    pub fn until(&mut self, mark: &str, count: usize, limit: Duration) -> Result<Vec<u8>, Stop> {
        self.seek(&Finder::new(mark), count, limit)
    }

    fn seek(&mut self, mark: &Finder<'_>, count: usize, limit: Duration) -> Result<Vec<u8>, Stop> {
        let mut left = count;
        let deadline = Instant::now() + limit;
        loop {
            let chunk = &self.chunk[self.rest.clone()];
            let mut start = 0;
            for end in memchr_iter(b'\n', chunk) {
                let line = &chunk[start..end];
                let room = HEAD.saturating_sub(self.head.len());
                self.head.extend_from_slice(&line[..line.len().min(room)]);
                let length = std::mem::take(&mut self.length) + line.len() + 1;
                if let Some(lengths) = &mut self.lengths {
                    lengths.push(u32::try_from(length).unwrap_or(u32::MAX));
                }
                start = end + 1;
                self.updates += u64::from(self.update.find(&self.head).is_some());
                let found = mark.find(&self.head).is_some();
                if found {
                    left -= 1;
                }
                if left == 0 {
                    self.last = length;
                    self.rest.start += start;
                    return Ok(std::mem::take(&mut self.head));
                }
                self.head.clear();
            }
            let line = &chunk[start..];
            let room = HEAD.saturating_sub(self.head.len());
            self.head.extend_from_slice(&line[..line.len().min(room)]);
            self.length += line.len();
            self.fill(deadline)?;
        }
    }

    /// Reads to the end.
    pub fn drain(&mut self, limit: Duration) -> Result<(), Stop> {
        match self.until("\n", 1, limit) {
            Err(Stop::Ended) => Ok(()),
            Err(stop) => Err(stop),
            Ok(_) => unreachable!("no line holds its end"),
        }
    }

    fn fill(&mut self, deadline: Instant) -> Result<(), Stop> {
        let size = match self.slowly {
            Some(rate) => {
                let piece = CHUNK / 4;
                std::thread::sleep(Duration::from_secs(1) * u32::try_from(piece).unwrap_or(u32::MAX) / rate);
                piece
            }
            None => CHUNK,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| Stop::Silent)?;
        let mut fds = [PollFd::new(&self.pipe, PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(0) => return Err(Stop::Silent),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Stop::Failed(error.into())),
        }
        let length = self.pipe.read(&mut self.chunk[..size]).map_err(Stop::Failed)?;
        if length == 0 {
            return Err(Stop::Ended);
        }
        self.bytes += u64::try_from(length).unwrap_or_default();
        self.rest = 0..length;
        Ok(())
    }
}

/// Reason why a line did not come.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    #[error("its stdout ended")]
    Ended,
    #[error("it did not come in time")]
    Silent,
    #[error("{0}")]
    Failed(std::io::Error),
}
