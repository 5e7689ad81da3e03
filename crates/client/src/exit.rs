//! The report of a server's exit.

use std::fmt;

/// How a server exited: status and last output on stderr.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerExit {
    /// Exit status; 128 plus the signal if it was killed. `None`: the shutdown is still in progress.
    pub status: Option<i32>,
    /// Length in bytes of the line for which it was killed; see
    /// [`Options::longest_line`](super::Options::longest_line).
    pub too_long: Option<usize>,
    /// The last lines on stderr, at most five.
    pub stderr_tail: Vec<String>,
}

impl fmt::Display for ServerExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.too_long, self.status) {
            (Some(length), _) => {
                write!(f, "the server was killed because it wrote a line of {length} bytes")?;
            }
            (None, None) => f.write_str("the server is shutting down")?,
            (None, Some(status)) => write!(f, "the server has ended with status {status}")?,
        }
        match self.stderr_tail.last() {
            Some(line) => write!(f, ": {line}"),
            None => Ok(()),
        }
    }
}
