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

/// What a pipe that has room takes without waiting, in bytes. Source: pipe(7), `PIPE_BUF`.
const PIPE_BUF: usize = 4096;

/// How a pipe is opened anew. A process that inherited it would keep the host from seeing the end of our output.
const REOPEN_FLAGS: OFlags = OFlags::WRONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Where everything that is said goes.
pub struct Sink {
    to: File,
    mode: WriteMode,
    /// Tells when there is room, and when nobody has the other end; `None` for a file, which is never waited for.
    watched: Option<AsyncFd<OwnedFd>>,
}

/// How a write is kept from waiting. The descriptor is the host's, too: its flags are not ours to change.
enum WriteMode {
    /// It is a file, which does not make anyone wait; or a pipe, opened anew so that its flags are our own.
    Plain,
    /// It is a socket, which is asked not to wait at each write.
    Socket,
    /// It is something else: as much as there certainly is room for.
    Bounded,
}

impl Sink {
    /// This process's.
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

    /// Writes what there is room for; [`ErrorKind::WouldBlock`] where there is none.
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

    /// Until there is room.
    pub async fn writable(&self) {
        let Some(watched) = &self.watched else { return };
        // Where it cannot be watched any more, a write says why.
        while let Ok(mut guard) = watched.writable().await {
            if is_ready(watched, PollFlags::OUT) {
                return;
            }
            guard.clear_ready();
        }
    }

    /// Until nobody has the other end: a host that was killed while a silent tool runs is noticed by no write.
    pub async fn closed(&self) {
        if let Some(watched) = &self.watched {
            // What cannot be watched is noticed by the next write.
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
