//! Bytes to lines: split on LF only, of any chunking, with a limit beyond which a line is skipped, not held.

/// Splits a byte stream into lines. Feed it chunks with [`push`](Self::push), take lines with [`next`](Self::next_line).
///
/// U+2028 and U+2029 are ordinary characters; a CR before the LF belongs to the line and is for the reader to strip.
#[derive(Debug)]
pub struct LineSplitter {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were handed out already.
    taken: usize,
    /// Bytes of `buffer` that are known to hold no LF.
    searched: usize,
    limit: usize,
    /// Bytes thrown away of the over-long line being skipped.
    skipping: Option<usize>,
}

/// What [`LineSplitter`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum SplitLine<'a> {
    /// One line, without its LF.
    Line(&'a [u8]),
    /// A line longer than the limit was skipped; its length in bytes, LF not counted.
    TooLong(usize),
}

/// Bytes of buffer that are kept when a long line is over.
const KEPT: usize = 1024 * 1024;

impl LineSplitter {
    /// `limit`: the longest line in bytes, LF not counted.
    pub const fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), taken: 0, searched: 0, limit, skipping: None }
    }

    /// Adds what was read.
    pub fn push(&mut self, chunk: &[u8]) {
        self.drop_taken();
        self.buffer.extend_from_slice(chunk);
    }

    /// The next complete line, if there is one.
    pub fn next_line(&mut self) -> Option<SplitLine<'_>> {
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        let Some(offset) = found else {
            self.drop_taken();
            self.searched = self.buffer.len();
            self.drop_overlong();
            return None;
        };
        let (start, end) = (self.taken, self.searched + offset);
        self.taken = end + 1;
        self.searched = self.taken;
        let length = self.skipping.take().unwrap_or(0) + (end - start);
        Some(if length > self.limit {
            SplitLine::TooLong(length)
        } else {
            SplitLine::Line(&self.buffer[start..end])
        })
    }

    /// Whether the line that is being read is longer than the limit already; how long it is, is only known at its end.
    pub const fn is_skipping(&self) -> bool {
        self.skipping.is_some()
    }

    /// What is left when the input ends: an unterminated last line.
    pub fn finish(&mut self) -> Option<SplitLine<'_>> {
        let start = std::mem::replace(&mut self.taken, self.buffer.len());
        self.searched = self.taken;
        let length = self.skipping.take().unwrap_or(0) + (self.buffer.len() - start);
        match length {
            0 => None,
            length if length > self.limit => Some(SplitLine::TooLong(length)),
            _ => Some(SplitLine::Line(&self.buffer[start..])),
        }
    }

    fn drop_taken(&mut self) {
        self.buffer.drain(..self.taken);
        self.buffer.shrink_to(KEPT.max(2 * self.buffer.len()));
        self.searched -= self.taken;
        self.taken = 0;
    }

    fn drop_overlong(&mut self) {
        let held = self.buffer.len();
        if self.skipping.is_some() || held > self.limit {
            self.skipping = Some(self.skipping.unwrap_or(0) + held);
            self.buffer = Vec::new();
            self.searched = 0;
        }
    }
}
