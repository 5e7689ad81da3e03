//! The output of a session that has no connections of its own: another task passes it on.

use super::watcher::{ClientId, WatcherMessage};
use pi_rpc_protocol::{Dialect, Emission, Encoder, Outbound};
use tokio::sync::{mpsc, watch};

/// Where a session emits, in place of the queues of connections. What it emits is held until it is released.
pub struct Outlet {
    items: mpsc::UnboundedSender<OutletItem>,
    encoder: Encoder,
    /// The number of the last frame.
    last: u64,
    /// What is not passed on yet.
    held: Vec<OutletItem>,
    /// While `false`, models, tools and extensions pause.
    pub gate: watch::Receiver<bool>,
}

/// What a session emits.
#[derive(Debug)]
pub enum OutletItem {
    /// A frame.
    Frame {
        /// The line, line feed included.
        line: Vec<u8>,
        /// The client that it is for; `None`: all of them.
        to: Option<ClientId>,
        /// Whether it responds to a command.
        is_response: bool,
    },
    /// A message about the session.
    Message(Option<ClientId>, WatcherMessage),
}

impl Outlet {
    /// An outlet whose first frame has the number after `last`.
    pub fn new(
        dialect: Dialect,
        last: u64,
        items: mpsc::UnboundedSender<OutletItem>,
        gate: watch::Receiver<bool>,
    ) -> Self {
        Self { items, encoder: Encoder::new(dialect), last, held: Vec::new(), gate }
    }

    /// The number of the last frame.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Emits a frame: `line` is the encoded one, unless the emission is an update.
    pub fn emit(&mut self, emission: &Emission, mut line: Vec<u8>, to: Option<ClientId>) {
        let is_response = match emission {
            Emission::Update(_) => {
                self.encoder.encode(emission, &mut line);
                false
            }
            Emission::Frame(frame) | Emission::Line { frame, .. } => {
                if emission.bounds_answer() {
                    self.encoder.follow(emission);
                }
                matches!(frame, Outbound::Response(_))
            }
        };
        self.last += 1;
        self.held.push(OutletItem::Frame { line, to, is_response });
    }

    /// Sends a message about the session.
    pub fn send_message(&mut self, to: Option<ClientId>, message: WatcherMessage) {
        self.held.push(OutletItem::Message(to, message));
    }

    /// Passes on what was emitted since the last call.
    pub fn release(&mut self) {
        for item in self.held.drain(..) {
            // A receiver that is gone has given the session up.
            let _ = self.items.send(item);
        }
    }
}
