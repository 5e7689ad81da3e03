//! The reader of lines that a peer writes to a pipe or a socket. A line beyond the limit is skipped and reported, never held.
//!
//! [`LineReader`] reads asynchronous streams, [`read_line`] blocking ones; [`read_beginning`] is for output that is no lines.

use pi_rpc_protocol::{LineSplitter, SplitLine};
use std::io::{self, BufRead, ErrorKind, Read};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Size of one read, in bytes.
const CHUNK: usize = 64 * 1024;

/// A line that was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the line has {length} bytes, the limit is {limit}")]
pub struct LineTooLong {
    /// Its length in bytes, without the line feed.
    pub length: usize,
    /// The most bytes that a line may have.
    pub limit: usize,
}

/// Reader of the lines of a stream of bytes.
pub struct LineReader<R> {
    from: R,
    splitter: LineSplitter,
    limit: usize,
    has_ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// A reader of lines of at most `limit` bytes.
    pub const fn new(from: R, limit: usize) -> Self {
        Self { from, splitter: LineSplitter::new(limit), limit, has_ended: false }
    }

    /// The next line without its line feed, or that one was too long; `None`: the stream has ended. The last line needs no
    /// line feed. Cancel-safe.
    ///
    /// # Errors
    ///
    /// Those of the stream, which has ended then.
    pub async fn next(&mut self) -> io::Result<Option<Result<Vec<u8>, LineTooLong>>> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(Some(line));
            }
            if self.has_ended {
                return Ok(None);
            }
            if let Some(last) = self.fill().await? {
                return Ok(Some(last));
            }
        }
    }

    /// The next line, as [`next`](Self::next); one that is too long is an error as soon as it is, not at its end.
    ///
    /// # Errors
    ///
    /// Those of the stream, and a line beyond the limit.
    pub async fn next_or_fail(&mut self) -> io::Result<Option<Vec<u8>>> {
        let limit = self.limit;
        let too_long = || {
            let text = format!("a line of more than {limit} bytes");
            io::Error::new(ErrorKind::FileTooLarge, text)
        };
        loop {
            if let Some(line) = self.buffered() {
                return line.map(Some).map_err(|_| too_long());
            }
            if self.splitter.is_skipping() {
                return Err(too_long());
            }
            if self.has_ended {
                return Ok(None);
            }
            if let Some(last) = self.fill().await? {
                return last.map(Some).map_err(|_| too_long());
            }
        }
    }

    /// The next line that is buffered already.
    fn buffered(&mut self) -> Option<Result<Vec<u8>, LineTooLong>> {
        let line = owned(self.splitter.next_line()?, self.limit);
        self.splitter.release();
        Some(line)
    }

    /// Reads once. At the end of the stream: the last line, if only its line feed is missing.
    async fn fill(&mut self) -> io::Result<Option<Result<Vec<u8>, LineTooLong>>> {
        match self.from.read(self.splitter.space(CHUNK)).await {
            Ok(0) => {
                self.has_ended = true;
                Ok(self.splitter.finish().map(|line| owned(line, self.limit)))
            }
            Ok(count) => {
                self.splitter.commit(count);
                Ok(None)
            }
            Err(error) => {
                self.has_ended = true;
                Err(error)
            }
        }
    }
}

fn owned(line: SplitLine<'_>, limit: usize) -> Result<Vec<u8>, LineTooLong> {
    match line {
        SplitLine::Line(line) => Ok(line.to_vec()),
        SplitLine::TooLong(length) => Err(LineTooLong { length, limit }),
    }
}

/// The next line of a blocking stream without its line feed, or that one was too long; `None`: the stream has ended.
///
/// # Errors
///
/// Those of the stream, and [`ErrorKind::InvalidData`] for a line that is not UTF-8.
pub fn read_line(from: &mut impl BufRead, limit: usize) -> io::Result<Option<Result<String, LineTooLong>>> {
    let (mut line, mut length, mut has_begun) = (Vec::new(), 0, false);
    loop {
        let chunk = match from.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        let feed = chunk.iter().position(|byte| *byte == b'\n');
        let piece = &chunk[..feed.unwrap_or(chunk.len())];
        length += piece.len();
        line.extend_from_slice(&piece[..piece.len().min(limit - line.len())]);
        has_begun |= !chunk.is_empty();
        let (count, is_last) =
            (piece.len() + usize::from(feed.is_some()), feed.is_some() || chunk.is_empty());
        from.consume(count);
        if is_last {
            break;
        }
    }
    if !has_begun {
        return Ok(None);
    }
    if length > limit {
        return Ok(Some(Err(LineTooLong { length, limit })));
    }
    let invalid = |_| io::Error::new(ErrorKind::InvalidData, "a line is not valid UTF-8");
    String::from_utf8(line).map(|line| Some(Ok(line))).map_err(invalid)
}

/// The first `limit` bytes that a program prints. The rest is read and dropped, so that the program comes to its end.
///
/// # Errors
///
/// Those of the pipe.
pub fn read_beginning(mut from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(limit).read_to_end(&mut bytes)?;
    io::copy(&mut from, &mut io::sink())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of `text`, with a limit of four bytes; lengths of those beyond it.
    async fn lines(text: &[u8]) -> Vec<Result<Vec<u8>, usize>> {
        let (mut reader, mut lines) = (LineReader::new(text, 4), Vec::new());
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line.map_err(|error| error.length));
        }
        lines
    }

    #[tokio::test]
    async fn long_lines_are_skipped() {
        let line = |text: &str| Ok(text.as_bytes().to_vec());
        assert_eq!(lines(b"a\n12345\n\n1234").await, [line("a"), Err(5), line(""), line("1234")]);
        assert_eq!(lines(b"12345").await, [Err(5)]);
        assert_eq!(lines(b"").await, []);
    }

    #[tokio::test]
    async fn blocking_lines_equal_asynchronous_ones() {
        for text in ["a\n12345\n\n1234", "12345", "", "\n", "1234\n5"] {
            let (mut from, mut read) = (io::BufReader::with_capacity(3, text.as_bytes()), Vec::new());
            while let Some(line) = read_line(&mut from, 4).unwrap() {
                read.push(line.map(String::into_bytes).map_err(|error| error.length));
            }
            assert_eq!(read, lines(text.as_bytes()).await, "{text:?}");
        }
    }

    #[tokio::test]
    async fn endless_line_fails_at_limit() {
        let mut reader = LineReader::new(tokio::io::repeat(b'x'), 1 << 20);
        let error = reader.next_or_fail().await.unwrap_err();
        assert_eq!(error.to_string(), "a line of more than 1048576 bytes");
        assert_eq!(reader.splitter.space(0).len(), 0);
    }

    #[test]
    fn beginning_is_kept_and_rest_dropped() {
        assert_eq!(read_beginning(&[b'x'; 100_000][..], 10).unwrap(), [b'x'; 10]);
    }
}
