//! Notices about damage in a session file that did not prevent reading it.

use std::{fmt, sync::Arc};

/// A notice about a session file. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Lines that are no JSON objects were passed over; they stay in the file.
    Skipped {
        /// Their numbers.
        lines: Vec<usize>,
    },
    /// Entries without an id were passed over; they stay in the file.
    Nameless {
        /// Their numbers.
        lines: Vec<usize>,
    },
    /// Bytes that are no UTF-8 were read as U+FFFD.
    NotUtf8 {
        /// Their numbers.
        lines: Vec<usize>,
    },
    /// Ids that an earlier line has, too: the later entry counts.
    Duplicates {
        /// Numbers of the later lines.
        lines: Vec<usize>,
    },
    /// A header that is not the first: some versions of the originals write everything a second time.
    SecondHeader {
        /// Its number.
        line: usize,
    },
    /// The last line is incomplete: its writer was stopped.
    Torn {
        /// Its number.
        line: usize,
        /// Number of bytes that are there.
        bytes: usize,
    },
    /// The file has an unknown, later version.
    Version(u64),
    /// The parent of an entry is missing: the entries before it are lost to the conversation.
    Orphan {
        /// The entry.
        id: Arc<str>,
        /// Its parent.
        parent: Arc<str>,
    },
    /// The parent of an entry was in a damaged line: the entry is attached to the one before that line.
    Bridged {
        /// The entry.
        id: Arc<str>,
        /// Its parent.
        parent: Arc<str>,
        /// The damaged line.
        line: usize,
        /// The entry before that line.
        before: Arc<str>,
    },
    /// The parents form a cycle; the conversation begins at this entry.
    Circle {
        /// The entry.
        id: Arc<str>,
    },
    /// An entry on the branch could not be read, or not whole.
    Unread {
        /// The entry.
        id: Arc<str>,
        /// Why.
        why: String,
    },
    /// The process that had the session has ended while it worked.
    OwnerLost,
}

impl Notice {
    /// Whether a part of the conversation is lost.
    pub const fn reports_loss(&self) -> bool {
        matches!(
            self,
            Self::Skipped { .. }
                | Self::Nameless { .. }
                | Self::Orphan { .. }
                | Self::Bridged { .. }
                | Self::Circle { .. }
                | Self::Unread { .. }
                | Self::OwnerLost
        )
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped { lines } => write!(f, "{} passed over: no JSON object", LineList(lines)),
            Self::Nameless { lines } => write!(f, "{} passed over: an entry without an id", LineList(lines)),
            Self::NotUtf8 { lines } => {
                write!(f, "{}: not UTF-8; bad bytes are read as U+FFFD", LineList(lines))
            }
            Self::Duplicates { lines } => {
                write!(f, "{}: an id that an earlier line has; the later one counts", LineList(lines))
            }
            Self::SecondHeader { line } => write!(f, "line {line}: a second header, ignored"),
            Self::Torn { line, bytes } => {
                write!(f, "line {line} is incomplete ({bytes} bytes): its writer was stopped")
            }
            Self::Version(version) => {
                write!(f, "the file is of version {version}, later than {}", super::VERSION)
            }
            Self::Orphan { id, parent } => {
                write!(f, "entry {id}: its parent {parent} is missing; the conversation begins here")
            }
            Self::Bridged { id, parent, line, before } => {
                write!(
                    f,
                    "entry {id}: its parent {parent} is missing (line {line} is damaged); the conversation goes on from \
                     entry {before}"
                )
            }
            Self::Circle { id } => {
                write!(f, "entry {id}: its parents go round in a circle; the conversation begins here")
            }
            Self::OwnerLost => f.write_str(
                "the host that ran the session has ended in the middle of its work; what it had accepted and not stored is gone, \
                 and `get_messages` has what is left",
            ),
            Self::Unread { id, why } => write!(f, "entry {id} could not be read whole: {why}"),
        }
    }
}

/// Number of line numbers that are listed one by one.
const LISTED_LINES: usize = 5;

/// `line 3`, `lines 3, 4 and 90 more`.
struct LineList<'a>(&'a [usize]);

impl fmt::Display for LineList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().take(LISTED_LINES).map(ToString::to_string).collect();
        write!(f, "line{} {}", if self.0.len() == 1 { "" } else { "s" }, lines.join(", "))?;
        match self.0.len().saturating_sub(LISTED_LINES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
