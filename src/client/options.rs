//! What a server is started with.

use super::{DialogHandler, process::LONGEST};
use crate::protocol::Dialect;
use std::time::Duration;
use tokio::process::Command;

/// What a server is started with, and how patient its client is.
#[derive(Debug)]
pub struct Options {
    /// Starts it. Its pipes and its process group are the client's to set.
    pub command: Command,
    /// What it speaks.
    pub dialect: Dialect,
    /// How long it may take to say that it is ready, in dialects that do (30 s).
    pub start_within: Duration,
    /// How long it may take to end when its input does, and again when it is sent TERM, before it is killed (5 s).
    pub end_within: Duration,
    /// How long the run of a prompt that was acknowledged is waited for (10 s): servers acknowledge it before they have
    /// prepared the run, and an extension may have kept the prompt to itself (pi source). Texts that begin with `/` are
    /// most often commands of an extension: their run is waited for no longer than the server says that it is busy.
    pub begin_within: Duration,
    /// How far [`Events`](super::Events) may be behind before reading stops, in bytes of lines (8 MiB).
    pub unread: usize,
    /// The longest line that is read, in bytes (256 MiB). A server that writes a longer one is killed: nobody knows what
    /// it was.
    pub longest_line: usize,
    /// What answers dialogs, also those that come before [`Client::spawn`](super::Client::spawn) has returned (nothing:
    /// they are cancelled).
    pub on_dialog: DialogHandler,
}

impl Options {
    /// A server that `command` starts and that speaks `dialect`; everything else as usual.
    pub const fn new(command: Command, dialect: Dialect) -> Self {
        Self {
            command,
            dialect,
            start_within: Duration::from_secs(30),
            end_within: Duration::from_secs(5),
            begin_within: Duration::from_secs(10),
            unread: 8 * 1024 * 1024,
            longest_line: LONGEST,
            on_dialog: DialogHandler::none(),
        }
    }
}
