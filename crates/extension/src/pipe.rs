//! Reads a pipe of a process until its exit, even if others have inherited the pipe.

use rustix::io::ioctl_fionread;
use std::os::fd::AsFd;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::watch,
};

/// A pipe of a process.
pub(super) struct Pipe<R> {
    from: R,
    /// Becomes `true` at the exit of the process.
    exited: watch::Receiver<bool>,
    /// After the exit: bytes that are left to read.
    left: Option<usize>,
}

impl<R: AsyncRead + AsFd + Unpin> Pipe<R> {
    pub(super) fn new(from: R, exited: watch::Receiver<bool>) -> Self {
        Self { from, exited, left: None }
    }

    /// Reads into `buffer`; gives the number of bytes. 0: nothing more will come, because the pipe was closed, or
    /// because the process is gone and everything that was in the pipe then has been read. Others may have inherited
    /// it and go on to write: they are not heard.
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> usize {
        if self.left.is_none() {
            tokio::select! {
                read = self.from.read(buffer) => return read.unwrap_or(0),
                _ = self.exited.wait_for(|exited| *exited) => {
                    let left = ioctl_fionread(&self.from).unwrap_or(0);
                    self.left = Some(usize::try_from(left).unwrap_or(usize::MAX));
                }
            }
        }
        let left = self.left.unwrap_or(0).min(buffer.len());
        if left == 0 {
            return 0;
        }
        let count = self.from.read(&mut buffer[..left]).await.unwrap_or(0);
        self.left = self.left.map(|left| left - count);
        count
    }
}
