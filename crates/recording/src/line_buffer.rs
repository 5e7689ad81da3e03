//! Splits bytes that a host wrote in pieces into lines.

use pi_rpc_protocol::FRAME_LIMIT;

/// The longest line of a recording, in bytes: room for the longest frame that servers read by default, escaped.
pub const LONGEST_LINE: usize = 2 * FRAME_LIMIT;

/// The bytes after the last line feed. Those of a line beyond [`LONGEST_LINE`] are dropped.
#[derive(Clone, Default)]
pub struct LineBuffer {
    rest: Vec<u8>,
}

impl LineBuffer {
    /// Adds bytes, and returns the lines that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = LONGEST_LINE - self.rest.len();
            self.rest.extend_from_slice(&text[..text.len().min(room)]);
            if is_whole {
                lines.push(std::mem::take(&mut self.rest));
            }
        }
        lines
    }

    /// Whether the last byte was a line feed, or there was none.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes the unterminated rest as a line; empty if there is none.
    pub fn take_rest(&mut self) -> Vec<Vec<u8>> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() { Vec::new() } else { vec![rest] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_line_is_cut() {
        let mut buffer = LineBuffer::default();
        assert_eq!(buffer.push(b"on"), Vec::<Vec<u8>>::new());
        assert_eq!(buffer.push(b"e\n\ntwo"), [b"one".to_vec(), Vec::new()]);
        buffer.rest = vec![b'x'; LONGEST_LINE - 1];
        buffer.push(b"xyz");
        assert_eq!(buffer.rest.len(), LONGEST_LINE);
        assert_eq!(buffer.push(b"z\nthree\n")[1], b"three");
    }
}
