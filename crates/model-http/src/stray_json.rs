//! Turns bare JSON in an event stream into an event.
//!
//! A server that fails within a stream may write the JSON of the error without an event around it, on one line or several. A
//! parser of events ignores such lines, and the error would be lost.

use bytes::Bytes;

/// Finds bare JSON among the lines of a stream.
#[derive(Debug, Default)]
pub struct StrayJson {
    /// Whether the last line was part of JSON.
    is_inside: bool,
    /// Whether the last line ended with a carriage return, so that its line feed may follow.
    may_get_line_feed: bool,
}

impl StrayJson {
    /// Prefixes the lines of JSON among the next complete `lines` with `data: `. JSON extends to the next empty line.
    pub fn mark(&mut self, lines: Bytes) -> Bytes {
        let begins = |at: usize| lines.get(at) == Some(&b'{');
        let is_plain = !self.is_inside
            && !begins(0)
            && !memchr::memchr2_iter(b'\n', b'\r', &lines).any(|end| begins(end + 1));
        if is_plain {
            self.may_get_line_feed = lines.last() == Some(&b'\r');
            return lines;
        }
        let mut marked = Vec::with_capacity(lines.len() + 64);
        let mut rest = &lines[..];
        if self.may_get_line_feed && rest.first() == Some(&b'\n') {
            marked.push(b'\n');
            rest = &rest[1..];
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            let feed = usize::from(rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n'));
            let (line, after) = rest.split_at(end + 1 + feed);
            self.is_inside = end > 0 && (self.is_inside || line[0] == b'{');
            if self.is_inside {
                marked.extend_from_slice(b"data: ");
            }
            marked.extend_from_slice(line);
            rest = after;
        }
        marked.extend_from_slice(rest);
        self.may_get_line_feed = lines.last() == Some(&b'\r');
        marked.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The marked text, which is the same wherever it is cut.
    fn marked(text: &str) -> String {
        let mut all = Vec::new();
        for at in memchr::memchr2_iter(b'\n', b'\r', text.as_bytes()) {
            let mut stray = StrayJson::default();
            let (before, after) = text.split_at(at + 1);
            let pieces = [before, after].map(|piece| stray.mark(Bytes::copy_from_slice(piece.as_bytes())));
            all.push(String::from_utf8(pieces.concat()).expect("UTF-8"));
        }
        all.dedup();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn stray_json_becomes_data_until_blank_line() {
        for feed in ["\n", "\r\n", "\r"] {
            let with = |text: &str| text.replace('\n', feed);
            let events = with("data: {\"a\":\ndata: 1}\n\n: {\n\nevent: {\ndata\n\n");
            assert_eq!(marked(&events), events);
            let stray = with("data: 1\n\n{\n  \"error\": {}\n}\n\ndata: 2\n\n{\"error\":1}\n");
            let expected =
                "data: 1\n\ndata: {\ndata:   \"error\": {}\ndata: }\n\ndata: 2\n\ndata: {\"error\":1}\n";
            assert_eq!(marked(&stray), with(expected));
        }
    }
}
