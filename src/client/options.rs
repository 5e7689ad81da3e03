//! Options of a client.

use super::{DialogHandler, process::LONGEST};
use crate::protocol::Dialect;
use std::time::Duration;
use tokio::process::Command;

/// The server to start, with timeouts and limits of the client.
#[derive(Debug)]
pub struct Options {
    /// Starts the server. The client sets pipes and process group.
    pub command: Command,
    /// The dialect of the server.
    pub dialect: Dialect,
    /// Highest version of the protocol to negotiate, with servers that offer several (2, which has frames in chunks).
    pub protocol_version: u64,
    /// Timeout for the `ready` frame, in dialects that have one (30 s).
    pub start_within: Duration,
    /// Timeout from the end of input to TERM, and from TERM to KILL (5 s).
    pub end_within: Duration,
    /// Timeout for the start of an acknowledged prompt's run (10 s). Servers acknowledge a prompt before they have prepared
    /// its run, and an extension may handle the prompt without one (pi source). A text that begins with `/` is most often a
    /// command of an extension; its run is awaited only while the server reports that it is busy.
    pub begin_within: Duration,
    /// Pending bytes of [`Events`](super::Events) at which reading stops (8 MiB).
    pub unread: usize,
    /// Longest line, in bytes (256 MiB). A server that writes a longer one is killed, as the line may be the response that a
    /// call waits for.
    pub longest_line: usize,
    /// Handler of dialogs, in force before [`Client::spawn`](super::Client::spawn) returns (none: dialogs are cancelled).
    pub on_dialog: DialogHandler,
}

impl Options {
    /// The defaults for a server of `dialect` that `command` starts.
    pub const fn new(command: Command, dialect: Dialect) -> Self {
        Self {
            command,
            dialect,
            protocol_version: 2,
            start_within: Duration::from_secs(30),
            end_within: Duration::from_secs(5),
            begin_within: Duration::from_secs(10),
            unread: 8 * 1024 * 1024,
            longest_line: LONGEST,
            on_dialog: DialogHandler::none(),
        }
    }
}
