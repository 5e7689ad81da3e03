//! How a server ended.

use std::fmt;

/// How a server ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerExit {
    /// Its exit status; 128 and the signal if it was killed. `None`: it still runs, but was told to end.
    pub status: Option<i32>,
    /// The length of a line that it wrote, in bytes, if it was killed because that is more than is read; see
    /// [`Options::longest_line`](super::Options::longest_line).
    pub too_long: Option<usize>,
    /// The last lines of its stderr, at most five.
    pub stderr_tail: Vec<String>,
}

impl fmt::Display for ServerExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.too_long, self.status) {
            (Some(length), _) => {
                write!(f, "the server was killed because it wrote a line of {length} bytes")?;
            }
            (None, None) => f.write_str("the server was told to end")?,
            (None, Some(status)) => write!(f, "the server has ended with status {status}")?,
        }
        match self.stderr_tail.last() {
            Some(line) => write!(f, ": {line}"),
            None => Ok(()),
        }
    }
}
