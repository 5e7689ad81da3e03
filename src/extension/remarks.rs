//! stderr: for our log, and for whoever wants to know why an extension has ended.

use super::pipe::Pipe;
use tokio::process::ChildStderr;

/// How much of a line is kept, in bytes.
const LONGEST: usize = 4096;

/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;

/// What an extension says on stderr.
pub(super) struct Remarks<'a> {
    /// Whose they are, for the log.
    path: &'a str,
    /// The beginning of the line that is not over yet.
    line: Vec<u8>,
    last: String,
}

impl<'a> Remarks<'a> {
    pub(super) const fn new(path: &'a str) -> Self {
        Self { path, line: Vec::new(), last: String::new() }
    }

    /// Reads to the end. It is read at once, whatever else waits: nobody's memory fills up.
    pub(super) async fn follow(&mut self, mut stderr: Pipe<ChildStderr>) {
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = stderr.read(&mut chunk).await;
            if count == 0 {
                return self.end_line();
            }
            self.absorb(&chunk[..count]);
        }
    }

    /// The last line that was not blank; empty without any.
    pub(super) fn last(&self) -> &str {
        &self.last
    }

    fn absorb(&mut self, chunk: &[u8]) {
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            let room = LONGEST - self.line.len();
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if text.len() < part.len() {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let text = String::from_utf8_lossy(&self.line).trim_end().to_owned();
        self.line.clear();
        if !text.is_empty() {
            tracing::info!("{}: {text}", self.path);
            self.last = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_kept_however_it_comes() {
        let mut remarks = Remarks::new("x");
        remarks.absorb(b"one\ntw");
        assert_eq!(remarks.last(), "one");
        remarks.absorb(b"o\r\n\n  \n");
        assert_eq!(remarks.last(), "two");
        remarks.absorb(b"three");
        remarks.end_line();
        assert_eq!(remarks.last(), "three");
    }

    #[test]
    fn of_a_long_line_the_beginning_is_kept() {
        let mut remarks = Remarks::new("x");
        remarks.absorb(&[b'a'; LONGEST - 1]);
        remarks.absorb(&[b'b'; 3 * LONGEST]);
        assert_eq!(remarks.line.len(), LONGEST);
        remarks.absorb(b"\nshort");
        assert_eq!(remarks.last().len(), LONGEST);
        assert_eq!(remarks.line, b"short");
    }
}
