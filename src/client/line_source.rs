//! One of the pipes that a server writes to.

use crate::protocol::{LineSplitter, SplitLine};
use std::{collections::VecDeque, future::pending};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// As much as a pipe usually holds.
const CHUNK: usize = 64 * 1024;

/// A pipe that is read line by line.
pub(super) struct LineSource<R> {
    /// `None` once it has ended, or was closed.
    pipe: Option<R>,
    splitter: LineSplitter,
    chunk: Box<[u8]>,
}

/// What a pipe had to say.
pub(super) enum SourceLine {
    Line(Vec<u8>),
    TooLong(usize),
    /// What stood behind the last line feed when the pipe ended.
    Rest(Vec<u8>),
}

impl<R: AsyncRead + Unpin> LineSource<R> {
    pub fn new(pipe: Option<R>, limit: usize) -> Self {
        Self { pipe, splitter: LineSplitter::new(limit), chunk: vec![0; CHUNK].into() }
    }

    pub const fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    pub fn close(&mut self) {
        self.pipe = None;
    }

    /// Waits for more, and adds the lines that it completes to `lines`; for ever when the pipe is closed. Nothing is
    /// lost when it is dropped while it waits.
    pub async fn read(&mut self, lines: &mut VecDeque<SourceLine>) {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        // A pipe that cannot be read is as good as one that has ended.
        let length = pipe.read(&mut self.chunk).await.unwrap_or(0);
        self.splitter.push(self.chunk.get(..length).unwrap_or_default());
        while let Some(line) = self.splitter.next_line() {
            lines.push_back(match line {
                SplitLine::Line(line) => SourceLine::Line(line.to_vec()),
                SplitLine::TooLong(length) => SourceLine::TooLong(length),
            });
        }
        if length == 0 {
            self.pipe = None;
            lines.extend(self.splitter.finish().map(|rest| match rest {
                SplitLine::Line(rest) => SourceLine::Rest(rest.to_vec()),
                SplitLine::TooLong(length) => SourceLine::TooLong(length),
            }));
        }
    }
}
