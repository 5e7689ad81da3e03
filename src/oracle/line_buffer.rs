//! The lines of what a host wrote in pieces.

/// Bytes that are no line yet.
#[derive(Clone, Default)]
pub struct LineBuffer {
    rest: Vec<u8>,
}

impl LineBuffer {
    /// The lines that are complete with these bytes; the rest waits for more.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.rest.extend_from_slice(bytes);
        let mut lines: Vec<Vec<u8>> = self.rest.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        self.rest = lines.pop().unwrap_or_default();
        lines
    }

    /// Whether nothing waits.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What waits, as a line without its end.
    pub fn take_rest(&mut self) -> Vec<Vec<u8>> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() { Vec::new() } else { vec![rest] }
    }
}
