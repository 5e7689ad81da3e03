//! Server-sent events from the bytes of a stream, and the place where the stream can be resumed.
//!
//! Not by the parser that answers of models go through: that one reads an incomplete line anew with each piece, needs a limit in front
//! of it, and does not say at which event a stream stopped.

use super::MAX_MESSAGE;
use reqwest::header::HeaderValue;
use std::time::Duration;

/// Pauses before a stream is resumed: a server that wants a shorter or longer one gets these.
const MIN_RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_secs(3600);

/// The name of events that are messages.
const MESSAGE: &[u8] = b"message";

/// Splits a stream into events. It stays when the stream is resumed, and knows where.
#[derive(Debug, Default)]
pub(crate) struct EventStream {
    line: Vec<u8>,
    data: Vec<u8>,
    /// The event that is being read is no message.
    is_other: bool,
    /// The line before ended with a carriage return, which a line feed belongs to.
    ended_by_return: bool,
    /// The id in the event that is being read.
    id: Option<HeaderValue>,
    /// The id of the last event that has come whole, for the header `Last-Event-ID`.
    pub(crate) last_event: Option<HeaderValue>,
    /// How long the server wants to be left alone before the stream is resumed.
    pub(crate) retry: Option<Duration>,
}

/// A message is longer than [`MAX_MESSAGE`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl EventStream {
    /// Takes the bytes that have come; hands each message to `found`.
    ///
    /// # Errors
    ///
    /// A line or a message is too long.
    pub(crate) fn read(&mut self, bytes: &[u8], mut found: impl FnMut(&[u8])) -> Result<(), TooLong> {
        for byte in bytes {
            let belongs = std::mem::take(&mut self.ended_by_return) && *byte == b'\n';
            match byte {
                _ if belongs => {}
                b'\n' | b'\r' => {
                    self.ended_by_return = *byte == b'\r';
                    self.end_line(&mut found);
                }
                byte => {
                    self.line.push(*byte);
                    if self.line.len() + self.data.len() > MAX_MESSAGE {
                        return Err(TooLong);
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the stream: an event without the blank line behind it counts, as some servers leave that out.
    pub(crate) fn end(&mut self, mut found: impl FnMut(&[u8])) {
        if !self.line.is_empty() {
            self.end_line(&mut found);
        }
        self.end_line(&mut found);
        self.ended_by_return = false;
    }

    /// Forgets what has come of an event: the stream was cut, and the event comes again.
    pub(crate) fn cut(&mut self) {
        (self.line, self.data, self.id) = Default::default();
        (self.is_other, self.ended_by_return) = (false, false);
    }

    fn end_line(&mut self, found: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            if let Some(id) = self.id.take() {
                self.last_event = Some(id);
            }
            let (data, is_other) = (std::mem::take(&mut self.data), std::mem::take(&mut self.is_other));
            // An event without data only names a place.
            if !is_other && !data.trim_ascii().is_empty() {
                found(&data);
            }
            return;
        }
        let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(at);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.is_other = value != MESSAGE,
            // Bytes that no header may have are no place to go back to.
            b"id" => self.id = HeaderValue::from_bytes(value).ok(),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let millis = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = millis.map(|millis| Duration::from_millis(millis).clamp(MIN_RETRY, MAX_RETRY));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages in pieces of a stream that then ends.
    fn read(stream: &mut EventStream, pieces: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        let mut add = |data: &[u8]| found.push(String::from_utf8(data.to_vec()).unwrap());
        for piece in pieces {
            stream.read(piece.as_bytes(), &mut add).unwrap();
        }
        stream.end(&mut add);
        found
    }

    #[test]
    fn lines_end_in_three_ways() {
        for pieces in [
            &["data: {\ndata:}\n\ndata: 2\n\n"][..],
            &["data: {\r\ndata:}\r", "\n\r\ndata: 2\r\n\r\n"],
            &["data: {\rdata:}\r\rdata: 2\r\r"],
            &["data: {\ndata:}\n", "\nda", "ta: 2"],
        ] {
            assert_eq!(read(&mut EventStream::default(), pieces), ["{\n}\n", "2\n"], "{pieces:?}");
        }
    }

    #[test]
    fn other_events_are_no_messages() {
        let pieces =
            [": a comment\nevent: ping\ndata: 1\n\ndata:\n\nevent: message\ndata: 2\n\nevent\ndata: 3\n\n"];
        assert_eq!(read(&mut EventStream::default(), &pieces), ["2\n"]);
    }

    #[test]
    fn whole_events_name_the_place() {
        let mut stream = EventStream::default();
        let mut none = |_: &[u8]| ();
        stream.read(b"id: a\nretry: 140\ndata:\n\nid: b\ndata: 1", &mut none).unwrap();
        assert_eq!(
            (stream.last_event.as_ref().unwrap(), stream.retry),
            (&"a".parse().unwrap(), Some(Duration::from_millis(140)))
        );
        stream.cut();
        stream.read(b"data: 2\n\nid: \0\nretry: soon\ndata: 3\n\n", &mut none).unwrap();
        assert_eq!(
            (stream.last_event.as_ref().unwrap(), stream.retry),
            (&"a".parse().unwrap(), Some(Duration::from_millis(140)))
        );
        for (millis, pause) in [(u64::MAX, MAX_RETRY), (0, MIN_RETRY)] {
            stream.read(format!("retry: {millis}\n\n").as_bytes(), &mut none).unwrap();
            assert_eq!(stream.retry, Some(pause));
        }
    }

    #[test]
    fn endless_events_are_too_long() {
        let mut stream = EventStream::default();
        let piece = "data: x\n".repeat(64 * 1024);
        let outcome = (0..100).try_for_each(|_| stream.read(piece.as_bytes(), |_| ()));
        assert_eq!(outcome, Err(TooLong));
    }
}
