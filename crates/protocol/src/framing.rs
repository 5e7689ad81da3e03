//! Splitting of a byte stream into lines, at LF only, with a limit beyond which a line is skipped instead of buffered.

/// Splits a byte stream into lines. Add bytes with [`push`](Self::push), or read into [`space`](Self::space); take
/// lines with [`next_line`](Self::next_line).
///
/// U+2028 and U+2029 are ordinary characters; a CR before the LF belongs to the line and is stripped by the reader.
#[derive(Debug)]
pub struct LineSplitter {
    /// Bytes that were read, followed by free space.
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were read.
    filled: usize,
    /// Bytes of `buffer` that were already returned as lines.
    taken: usize,
    /// Bytes of `buffer` up to which no further LF exists.
    searched: usize,
    limit: usize,
    /// Bytes that were dropped of the over-long line being skipped.
    skipping: Option<usize>,
}

/// Result of [`LineSplitter::next_line`].
#[derive(Debug, PartialEq, Eq)]
pub enum SplitLine<'a> {
    /// One line, without its LF.
    Line(&'a [u8]),
    /// A line longer than the limit was skipped; its length in bytes, LF not counted.
    TooLong(usize),
}

/// Default limit of a line that a server reads, in bytes. Source: own.
pub const FRAME_LIMIT: usize = 64 * 1024 * 1024;

/// Bytes of buffer that are kept after a long line.
const KEPT: usize = 1024 * 1024;

impl LineSplitter {
    /// `limit`: the maximum length of a line in bytes, without LF.
    pub const fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), filled: 0, taken: 0, searched: 0, limit, skipping: None }
    }

    /// Adds a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.space(chunk.len())[..chunk.len()].copy_from_slice(chunk);
        self.commit(chunk.len());
    }

    /// Free space of the read buffer, at least `length` bytes; read into it, then [`commit`](Self::commit) the number
    /// of bytes.
    pub fn space(&mut self, length: usize) -> &mut [u8] {
        self.drop_taken();
        let needed = self.filled + length;
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// Commits `count` bytes of the [`space`](Self::space) as read.
    pub fn commit(&mut self, count: usize) {
        self.filled = self.buffer.len().min(self.filled + count);
    }

    /// Takes the next complete line, if there is one.
    pub fn next_line(&mut self) -> Option<SplitLine<'_>> {
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..self.filled]);
        let Some(offset) = found else {
            self.searched = self.filled;
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

    /// Whether the incomplete line already exceeds the limit. Its length is known only at its end.
    pub const fn is_skipping(&self) -> bool {
        self.skipping.is_some()
    }

    /// Takes the unterminated last line at the end of the input.
    pub fn finish(&mut self) -> Option<SplitLine<'_>> {
        let start = std::mem::replace(&mut self.taken, self.filled);
        self.searched = self.taken;
        let length = self.skipping.take().unwrap_or(0) + (self.filled - start);
        match length {
            0 => None,
            length if length > self.limit => Some(SplitLine::TooLong(length)),
            _ => Some(SplitLine::Line(&self.buffer[start..self.filled])),
        }
    }

    /// Frees the memory of a long line that was returned. Bytes after it stay.
    pub fn release(&mut self) {
        // Only if little is left, so that copying it costs less than reading did.
        if self.buffer.len() > KEPT && self.filled - self.taken < self.buffer.len() / 4 {
            self.drop_taken();
        }
    }

    fn drop_taken(&mut self) {
        if self.taken == 0 {
            return;
        }
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.searched -= self.taken;
        self.taken = 0;
        let kept = KEPT.max(2 * self.filled);
        if self.buffer.len() > kept {
            self.buffer.truncate(kept);
            self.buffer.shrink_to_fit();
        }
    }

    fn drop_overlong(&mut self) {
        let held = self.filled - self.taken;
        if self.skipping.is_some() || held > self.limit {
            self.skipping = Some(self.skipping.unwrap_or(0) + held);
            (self.filled, self.taken, self.searched) = (0, 0, 0);
            self.buffer = Vec::new();
        }
    }
}
