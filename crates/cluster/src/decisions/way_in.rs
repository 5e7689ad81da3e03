//! A client's way into a session.
//!
//! A client numbers its lines from 1 on, over all its connections. When it connects, its node reads what was received, and gives the
//! connection a number above those of all that have written before (`attachment`), with which it is announced before its first line.
//! What nodes of earlier connections publish late counts for nothing from there on: such a line has a number that the new connection
//! gives to another one. The number is that of the moment when the client has connected: a connection that was left is never announced
//! above a later one.

use crate::session_record::{ClientInput, TakenInput};

/// Clients whose lines are counted. One that returns behind so many others begins anew, and is told so.
pub const MAX_CLIENTS: usize = 256;

/// A message of a client, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientMessage {
    /// A connection that begins to write.
    Attach {
        /// Its number.
        attachment: u64,
    },
    /// A line, or the end of input.
    Line {
        /// The connection; `None`: a node of an earlier version names none.
        attachment: Option<u64>,
        /// The number of the line.
        line: u64,
    },
}

impl ClientInput {
    /// Adds the next message of the client. `true`: it counts; `false`: it was received already, or is of a connection that
    /// another one has replaced.
    pub fn admit(&mut self, message: ClientMessage) -> bool {
        match message {
            ClientMessage::Attach { attachment } => {
                let is_newer = attachment > self.attachment;
                self.attachment = self.attachment.max(attachment);
                is_newer
            }
            ClientMessage::Line { attachment, line } => {
                let attachment = attachment.unwrap_or(self.attachment);
                // A higher one is of a client that was forgotten: its connection was announced before.
                let counts = attachment >= self.attachment && line > self.lines;
                if counts {
                    *self = Self { lines: line, attachment };
                }
                counts
            }
        }
    }

    /// The number of a connection that begins behind this input. `position`: a sequence of the stream that was read. Numbers are no
    /// higher than the sequence at which they are announced, so this one is above that of a client that was forgotten by then, too.
    pub fn next_attachment(self, position: u64) -> u64 {
        self.attachment.max(position) + 1
    }
}

impl TakenInput {
    /// Adds the next message of a client. `true`: it counts. Of more than `max_clients`, the one is forgotten that has not written for
    /// longest.
    pub fn admit(&mut self, client: &str, message: ClientMessage, max_clients: usize) -> bool {
        let mut input = self.lines.shift_remove(client).unwrap_or_default();
        let counts = input.admit(message);
        self.lines.insert(client.to_owned(), input);
        if self.lines.len() > max_clients {
            self.lines.shift_remove_index(0);
        }
        counts
    }
}

/// What becomes of a connection that was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It may write; its first line has the number behind this one.
    Entered(u64),
    /// Another connection was announced since, or the client was told a number of lines that is not true any more: it has to
    /// connect again.
    Outdated,
}

impl Entry {
    /// Judges the announcement of the connection with the number `attachment` by the input `before` it. `told`: the lines that the
    /// client was told to be received; `None`: it does not count them.
    pub fn judge(before: ClientInput, attachment: u64, told: Option<u64>) -> Self {
        let is_true = told.is_none_or(|told| told == before.lines);
        match before.attachment < attachment && is_true {
            true => Self::Entered(before.lines),
            false => Self::Outdated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_line_of_replaced_connection_counts_not() {
        let mut input = ClientInput::default();
        let line = |attachment, line| ClientMessage::Line { attachment: Some(attachment), line };
        let attach = |attachment| ClientMessage::Attach { attachment };
        let admitted =
            [attach(1), line(1, 1), line(1, 1), attach(2), line(1, 2), line(2, 2), attach(1), attach(2)]
                .map(|message| input.admit(message));
        assert_eq!(admitted, [true, true, false, true, false, true, false, false]);
        assert_eq!(input, ClientInput { lines: 2, attachment: 2 });
        assert_eq!((input.next_attachment(1), input.next_attachment(7)), (3, 8));
    }

    #[test]
    fn longest_silent_client_is_forgotten() {
        let mut taken = TakenInput::default();
        let line = |line| ClientMessage::Line { attachment: Some(1), line };
        for (client, number) in [("a", 1), ("b", 1), ("a", 2), ("c", 1)] {
            assert!(taken.admit(client, line(number), 2));
        }
        assert_eq!(taken.lines.keys().collect::<Vec<_>>(), ["a", "c"]);
    }

    #[test]
    fn forgotten_client_goes_on() {
        let mut input = ClientInput::default();
        assert!(input.admit(ClientMessage::Line { attachment: Some(3), line: 7 }));
        assert!(!input.admit(ClientMessage::Line { attachment: Some(2), line: 8 }));
        assert_eq!(input, ClientInput { lines: 7, attachment: 3 });
    }

    #[test]
    fn record_of_earlier_version_is_read() {
        let read = |text: &str| serde_json::from_str::<ClientInput>(text).unwrap();
        assert_eq!(read("4"), ClientInput { lines: 4, attachment: 0 });
        assert_eq!(read("[4,2]"), ClientInput { lines: 4, attachment: 2 });
        for text in ["4", "[4,2]"] {
            assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
        }
        let mut input = read("4");
        assert!(input.admit(ClientMessage::Line { attachment: None, line: 5 }));
        assert_eq!(input, ClientInput { lines: 5, attachment: 0 });
    }

    #[test]
    fn entry_needs_the_told_count() {
        let before = ClientInput { lines: 3, attachment: 1 };
        assert_eq!(Entry::judge(before, 2, Some(3)), Entry::Entered(3));
        assert_eq!(Entry::judge(before, 2, None), Entry::Entered(3));
        assert_eq!(Entry::judge(before, 2, Some(2)), Entry::Outdated);
        assert_eq!(Entry::judge(before, 1, Some(3)), Entry::Outdated);
    }
}
