//! Reads stderr of an extension, for the log and for the `extension_error` about its end.

use super::pipe::Pipe;
use pi_rpc_files::{harmless::harmless, secrets::Secrets};
use std::collections::VecDeque;
use tokio::process::ChildStderr;

/// Maximum of a kept line, in bytes.
const LINE_LIMIT: usize = 4096;

/// How many lines are kept: more than are shown, so that a key of several lines is known as one.
const KEPT_LINES: usize = 64;

/// How many lines are shown.
const SHOWN_LINES: usize = 8;

/// Maximum of a shown line, in characters. Less than is kept, so that no part of a key is shown where a line was cut.
const SHOWN_OF_LINE: usize = 400;

/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;

/// The last lines that an extension wrote to stderr.
pub(super) struct StderrTail<'a> {
    /// The path of the extension, for the log.
    path: &'a str,
    /// Whether the log shows the lines, as pi's extensions expect of what they print.
    is_shown: bool,
    /// The beginning of the incomplete line.
    line: Vec<u8>,
    last: VecDeque<String>,
}

impl<'a> StderrTail<'a> {
    pub(super) const fn new(path: &'a str, is_shown: bool) -> Self {
        Self { path, is_shown, line: Vec::new(), last: VecDeque::new() }
    }

    /// Reads stderr to its end, without back-pressure: little of it is kept.
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

    /// The last lines that are not blank, redacted and without control characters.
    pub(super) fn last(&self, secrets: &Secrets) -> String {
        let lines = self.last.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let masked = secrets.redact(&lines);
        let lines: Vec<String> = masked.lines().rev().take(SHOWN_LINES).map(shown).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn absorb(&mut self, chunk: &[u8]) {
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            let room = LINE_LIMIT - self.line.len();
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
            match self.is_shown {
                true => tracing::warn!("{}: {text}", self.path),
                false => tracing::info!("{}: {text}", self.path),
            }
            if self.last.len() == KEPT_LINES {
                self.last.pop_front();
            }
            self.last.push_back(text);
        }
    }
}

/// Formats a line for display.
fn shown(line: &str) -> String {
    match line.char_indices().nth(SHOWN_OF_LINE) {
        Some((end, _)) => format!("{}…", harmless(&line[..end])),
        None => harmless(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(tail: &StderrTail<'_>) -> String {
        tail.last(&Secrets::default())
    }

    #[test]
    fn last_lines_are_kept_across_chunks() {
        let mut tail = StderrTail::new("x", false);
        tail.absorb(b"one\ntw");
        assert_eq!(last(&tail), "one");
        tail.absorb(b"o\r\n\n  \n");
        assert_eq!(last(&tail), "one\ntwo");
        tail.absorb(b"three");
        tail.end_line();
        assert_eq!(last(&tail), "one\ntwo\nthree");
        for line in 0..100 {
            tail.absorb(format!("{line}\n").as_bytes());
        }
        assert_eq!(last(&tail), "92\n93\n94\n95\n96\n97\n98\n99");
    }

    #[test]
    fn long_line_is_shown_by_its_beginning() {
        let mut tail = StderrTail::new("x", false);
        tail.absorb(&[b'a'; LINE_LIMIT - 1]);
        tail.absorb(&[b'b'; 3 * LINE_LIMIT]);
        assert_eq!(tail.line.len(), LINE_LIMIT);
        tail.absorb(b"\nshort");
        assert_eq!(last(&tail), format!("{}…", "a".repeat(SHOWN_OF_LINE)));
        assert_eq!(tail.line, b"short");
    }

    #[test]
    fn keys_and_escapes_are_not_shown() {
        let secrets = Secrets::default();
        secrets.remember("sk-123456789");
        let mut tail = StderrTail::new("x", false);
        tail.absorb(b"\x1b[2Jkey sk-123456789\x07\n");
        assert_eq!(tail.last(&secrets), r"\u{1b}[2Jkey ***\u{7}");
    }
}
