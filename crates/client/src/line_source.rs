//! Reads lines from one of a server's output pipes.

use pi_rpc_protocol::{LineSplitter, SplitLine};
use std::{collections::VecDeque, future::pending};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Size of one read, in bytes: the usual capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// Reader of a pipe, line by line.
pub(super) struct LineSource<R> {
    /// `None` after end of file, or once closed.
    pipe: Option<R>,
    splitter: LineSplitter,
    chunk: Box<[u8]>,
}

/// A piece of a pipe's output.
pub(super) enum SourceLine {
    Line(Vec<u8>),
    TooLong(usize),
    /// The unfinished line at the end of the pipe.
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

    /// Waits for data and adds the lines that it completes to `lines`; waits for ever when the pipe is closed. Cancel-safe.
    pub async fn read(&mut self, lines: &mut VecDeque<SourceLine>) {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        // A read error counts as end of file.
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
