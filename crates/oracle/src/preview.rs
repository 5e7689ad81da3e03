//! Shortens a record for excerpts, to its beginning and its end.

use super::report::Quote;
use pi_rpc_files::harmless::harmless;
use pi_rpc_recording::{Direction, Record};

/// A shortened record, whose buffers can be used again.
#[derive(Clone, Debug)]
pub struct Preview {
    record: u64,
    t: f64,
    direction: Direction,
    head: Vec<u8>,
    /// The end of a record that was shortened, else empty.
    tail: Vec<u8>,
    /// The whole record, if it was shortened and whole records are kept.
    whole: Option<Vec<u8>>,
    keeps_whole: bool,
}

/// Bytes of whole records that may still be kept for a report.
#[derive(Clone, Copy, Debug)]
pub struct WholeBudget(pub usize);

impl WholeBudget {
    /// The whole record if it was shortened, and room is left for it.
    pub fn take(&mut self, preview: &Preview) -> Option<String> {
        let whole = preview.whole.as_ref()?;
        self.0 = self.0.checked_sub(whole.len())?;
        Some(String::from_utf8_lossy(whole).into_owned())
    }
}

/// Bytes shown of the beginning of a record with more than [`WHOLE`].
const HEAD: usize = 112;
/// Bytes shown of its end.
const TAIL: usize = 44;
/// The most bytes of a record that is shown whole.
const WHOLE: usize = HEAD + TAIL + 4;

impl Default for Preview {
    fn default() -> Self {
        Self {
            record: 0,
            t: 0.0,
            direction: Direction::Meta,
            head: Vec::new(),
            tail: Vec::new(),
            whole: None,
            keeps_whole: false,
        }
    }
}

impl Preview {
    /// Keeps shortened records whole, too, if `is_wanted`.
    pub fn keeping_whole(mut self, is_wanted: bool) -> Self {
        self.keeps_whole = is_wanted;
        self
    }

    /// Whether the text is not the whole record.
    pub const fn is_shortened(&self) -> bool {
        !self.tail.is_empty()
    }

    /// Replaces the record.
    pub fn set(&mut self, number: u64, record: &Record<'_>) {
        (self.record, self.t, self.direction) = (number, record.t, record.direction);
        self.head.clear();
        self.tail.clear();
        self.whole = None;
        let bytes = record.body.bytes();
        match bytes.len() > WHOLE {
            false => self.head.extend_from_slice(bytes),
            true => {
                self.head.extend_from_slice(&bytes[..boundary(bytes, HEAD)]);
                self.tail.extend_from_slice(&bytes[boundary(bytes, bytes.len() - TAIL)..]);
                self.whole = self.keeps_whole.then(|| bytes.to_vec());
            }
        }
    }

    /// The number of the record.
    pub const fn record(&self) -> u64 {
        self.record
    }

    /// The shortened text, without line breaks and other control characters.
    pub fn text(&self) -> String {
        let shown = |bytes: &[u8]| harmless(&String::from_utf8_lossy(bytes));
        let mut text = shown(&self.head);
        if !self.tail.is_empty() {
            text.push_str(" … ");
            text.push_str(&shown(&self.tail));
        }
        text
    }

    /// The record as a line of an excerpt.
    pub fn quote(&self, marked: bool) -> Quote {
        Quote {
            record: self.record,
            t: self.t,
            direction: self.direction,
            text: self.text(),
            whole: None,
            marked,
            cause: false,
        }
    }
}

/// The last index up to `at` that is not within a UTF-8 character.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let within = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    // No character has more than three bytes after its first.
    (0..=3).map(|back| at - back).find(|at| bytes.get(*at).is_none_or(|byte| !within(byte))).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_recording::Body;
    use std::borrow::Cow;

    fn text(bytes: &[u8]) -> String {
        let body = Body::Raw(Cow::Borrowed(bytes));
        let mut preview = Preview::default();
        preview.set(1, &Record { t: 0.0, direction: Direction::Out, body, cut: false });
        preview.text()
    }

    #[test]
    fn short_line_is_shown_whole() {
        let line = "é".repeat(WHOLE / 2);
        assert_eq!(text(line.as_bytes()), line);
    }

    #[test]
    fn long_line_is_cut_at_character_boundaries() {
        let line = format!("a{}", "é".repeat(WHOLE));
        let wanted = format!("a{} … {}", "é".repeat(HEAD / 2 - 1), "é".repeat(TAIL / 2));
        assert_eq!(text(line.as_bytes()), wanted);
        assert_eq!(text(&[0x80; WHOLE + 1]).chars().filter(|c| *c == '\u{fffd}').count(), HEAD + TAIL);
    }

    #[test]
    fn cursor_movements_are_escaped() {
        assert_eq!(text("a\x1b[2Jb\r\n\u{2028}\u{202e}c".as_bytes()), r"a\u{1b}[2Jb\r\n\u{2028}\u{202e}c");
    }
}
