//! Whether a host stands what it does not know.

use crate::protocol::ADDED;
use memchr::memmem::Finder;

/// What a host has met that was added to try it, and what it did then.
#[derive(Clone)]
pub struct Tolerance {
    mark: Finder<'static>,
    /// Frames since the last one that had something added, and nothing from the host since.
    frames_since: Option<u64>,
}

/// Frames that may be under way when a host gives up.
const FRAMES_IN_FLIGHT: u64 = 32;

impl Default for Tolerance {
    fn default() -> Self {
        Self { mark: Finder::new(&format!("\"{ADDED}")).into_owned(), frames_since: None }
    }
}

impl Tolerance {
    /// The server wrote this line, which tells nothing of the host.
    pub fn server_wrote(&mut self, line: &[u8]) -> Option<bool> {
        self.frames_since = match self.mark.find(line) {
            Some(_) => Some(0),
            None => self.frames_since.map(|frames| frames + 1),
        };
        None
    }

    /// The host wrote something: if it was frames_since, it has gone on.
    pub fn host_wrote(&mut self) -> Option<bool> {
        self.frames_since.take().map(|_| true)
    }

    /// The host has gone, with something under way or not: if it was frames_since, whether it had gone on.
    pub fn host_left(&mut self, under_way: bool) -> Option<bool> {
        let frames_since = self.frames_since.take()?;
        Some(!under_way || frames_since > FRAMES_IN_FLIGHT)
    }
}
