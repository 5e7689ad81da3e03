//! Whether a host stands what it does not know.

use crate::protocol::ADDED;
use memchr::memmem::Finder;

/// What a host has met that was added to try it, and what it did then.
#[derive(Clone)]
pub struct Tolerance {
    mark: Finder<'static>,
    /// Frames since the last one that had something added, and nothing from the host since.
    tried: Option<u64>,
}

/// Frames that may be under way when a host gives up.
const UNDER_WAY: u64 = 32;

impl Default for Tolerance {
    fn default() -> Self {
        Self { mark: Finder::new(&format!("\"{ADDED}")).into_owned(), tried: None }
    }
}

impl Tolerance {
    /// The server wrote this line, which tells nothing of the host.
    pub fn server(&mut self, line: &[u8]) -> Option<bool> {
        self.tried = match self.mark.find(line) {
            Some(_) => Some(0),
            None => self.tried.map(|frames| frames + 1),
        };
        None
    }

    /// The host wrote something: if it was tried, it has gone on.
    pub fn host(&mut self) -> Option<bool> {
        self.tried.take().map(|_| true)
    }

    /// The host has gone, with something under way or not: if it was tried, whether it had gone on.
    pub fn gone(&mut self, under_way: bool) -> Option<bool> {
        let tried = self.tried.take()?;
        Some(!under_way || tried > UNDER_WAY)
    }
}
