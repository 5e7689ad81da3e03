//! Checks that a host tolerates unknown frames and members.
//!
//! A server in hazard mode adds them; a host that stops in the middle of something soon afterwards does not tolerate them.

use memchr::memmem::Finder;
use pi_rpc_protocol::HAZARD_PREFIX;

/// The outstanding trial of the host, if any: additions of the server to which it has not reacted.
#[derive(Clone)]
pub struct Tolerance {
    mark: Finder<'static>,
    /// Frames since the last one with an addition, as long as the host has written nothing.
    frames_since: Option<u64>,
}

/// Frames that the server may have written before it notices that the host has left.
const FRAMES_IN_FLIGHT: u64 = 32;

impl Default for Tolerance {
    fn default() -> Self {
        Self { mark: Finder::new(&format!("\"{HAZARD_PREFIX}")).into_owned(), frames_since: None }
    }
}

impl Tolerance {
    /// Takes in a line of the server. Never decides a trial.
    pub fn server_wrote(&mut self, line: &[u8]) -> Option<bool> {
        self.frames_since = match self.mark.find(line) {
            Some(_) => Some(0),
            None => self.frames_since.map(|frames| frames + 1),
        };
        None
    }

    /// Takes in a line of the host: an outstanding trial is passed.
    pub fn host_wrote(&mut self) -> Option<bool> {
        self.frames_since.take().map(|_| true)
    }

    /// Decides an outstanding trial when the host has left: passed if nothing was `under_way`, or if the host had stayed long
    /// enough after the addition.
    pub fn host_left(&mut self, under_way: bool) -> Option<bool> {
        let frames_since = self.frames_since.take()?;
        Some(!under_way || frames_since > FRAMES_IN_FLIGHT)
    }
}
