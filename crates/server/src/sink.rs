//! stdout, which is never waited for in a write: it takes what it can at once.

use super::stdin::{is_ready, watch};
use rustix::{
    event::PollFlags,
    fs::{FileType, Mode, OFlags, fstat, open},
    net::{SendAncillaryBuffer, SendFlags, sendmsg},
};
use std::{
    fs::File,
    io::{self, ErrorKind, IoSlice, Write},
    os::fd::{AsFd, OwnedFd},
};
use tokio::io::{Interest, unix::AsyncFd};

/// Bytes that a writable pipe takes without blocking. Source: pipe(7), `PIPE_BUF`.
const PIPE_BUF: usize = 4096;

/// Flags for reopening a pipe. Close-on-exec, as a child that inherited it would keep the host from seeing end of file.
const REOPEN_FLAGS: OFlags = OFlags::WRONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// stdout, written without blocking.
pub struct Sink {
    to: File,
    mode: WriteMode,
    /// Readiness of the descriptor; `None` for a file, which is always ready.
    watched: Option<AsyncFd<OwnedFd>>,
}

/// How a write is kept from blocking. The host shares the descriptor, so its flags are not changed.
enum WriteMode {
    /// A file, which does not block, or a pipe that was reopened with flags of its own.
    Plain,
    /// A socket, with a flag at each write.
    Socket,
    /// Anything else: at most [`PIPE_BUF`] bytes once it is writable.
    Bounded,
}

impl Sink {
    /// This process's stdout.
    pub fn stdout() -> io::Result<Self> {
        // A descriptor of our own: std's stdout flushes at every line feed.
        let shared = io::stdout().as_fd().try_clone_to_owned()?;
        let watches = Interest::READABLE | Interest::WRITABLE;
        let (to, mode) = match FileType::from_raw_mode(fstat(&shared)?.st_mode) {
            FileType::Socket => (shared, WriteMode::Socket),
            FileType::RegularFile => (shared, WriteMode::Plain),
            FileType::Fifo => match open("/proc/self/fd/1", REOPEN_FLAGS, Mode::empty()) {
                Ok(own) => (own, WriteMode::Plain),
                Err(_) => (shared, WriteMode::Bounded),
            },
            _ => (shared, WriteMode::Bounded),
        };
        let watched = watch(&to, watches)?;
        Ok(Self { to: File::from(to), mode, watched })
    }

    /// Writes as much as there is room for; [`ErrorKind::WouldBlock`] if there is none.
    pub fn write(&mut self, parts: &[IoSlice]) -> io::Result<usize> {
        loop {
            let written = match self.mode {
                WriteMode::Plain => self.to.write_vectored(parts),
                WriteMode::Socket => {
                    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                    Ok(sendmsg(&self.to, parts, &mut SendAncillaryBuffer::default(), flags)?)
                }
                WriteMode::Bounded => self.write_bounded(parts),
            };
            match written {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                written => return written,
            }
        }
    }

    fn write_bounded(&mut self, parts: &[IoSlice]) -> io::Result<usize> {
        if self.watched.is_some() && !is_ready(&self.to, PollFlags::OUT) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let first = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| &**part);
        self.to.write(&first[..first.len().min(PIPE_BUF)])
    }

    /// Waits until there is room.
    pub async fn writable(&self) {
        let Some(watched) = &self.watched else { return };
        // If watching fails, the write reports why.
        while let Ok(mut guard) = watched.writable().await {
            if is_ready(watched, PollFlags::OUT) {
                return;
            }
            guard.clear_ready();
        }
    }

    /// Resolves when the reader hangs up: no write would notice a host that is killed while a silent tool runs.
    pub async fn closed(&self) {
        if let Some(watched) = &self.watched {
            // If watching fails, the next write notices.
            while let Ok(mut guard) = watched.ready(Interest::READABLE | Interest::ERROR).await {
                if is_ready(watched, PollFlags::empty()) {
                    return;
                }
                guard.clear_ready();
            }
        }
        std::future::pending().await
    }
}
