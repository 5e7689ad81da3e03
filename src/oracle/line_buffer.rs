//! Splits bytes that a host wrote in pieces into lines.

/// The bytes after the last line feed.
#[derive(Clone, Default)]
pub struct LineBuffer {
    rest: Vec<u8>,
}

impl LineBuffer {
    /// Adds bytes, and returns the lines that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.rest.extend_from_slice(bytes);
        let mut lines: Vec<Vec<u8>> = self.rest.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        self.rest = lines.pop().unwrap_or_default();
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
