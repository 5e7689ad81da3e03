//! Options of a client.

use super::{DialogHandler, process::LONGEST};
use pi_rpc_protocol::Dialect;
use std::{fmt, sync::Arc, time::Duration};
use tokio::{process::Command, sync::mpsc};

/// The side that has written a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOrigin {
    /// The client.
    Client,
    /// The server.
    Server,
}

type Observe = dyn Fn(LineOrigin, &[u8]) + Send + Sync;

/// Sees each line of both sides, without its line feed, in the order in which the client handles them. Must not block.
#[derive(Clone)]
pub struct LineObserver(Arc<Observe>);

impl LineObserver {
    /// An observer that calls `observe`.
    pub fn new(observe: impl Fn(LineOrigin, &[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(super) fn observe(&self, origin: LineOrigin, line: &[u8]) {
        (self.0)(origin, line.strip_suffix(b"\n").unwrap_or(line));
    }
}

impl fmt::Debug for LineObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineObserver(..)")
    }
}

/// Lines to and from a server that is no process of its own. The server is over once it has dropped its ends.
#[derive(Debug)]
pub struct LineChannels {
    /// Lines to the server, with their line feeds. Closed by the client when the input is over.
    pub to_server: mpsc::Sender<Vec<u8>>,
    /// Lines of the server, without line feeds.
    pub from_server: mpsc::Receiver<Vec<u8>>,
}

/// The server to start, with timeouts and limits of the client.
#[derive(Debug)]
pub struct Options {
    /// Starts the server. The client sets pipes and process group.
    pub command: Command,
    /// The dialect of the server.
    pub dialect: Dialect,
    /// Highest version of the protocol to negotiate, with servers that offer several (the highest of the dialect).
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
    /// Sees each line (none).
    pub observer: Option<LineObserver>,
}

/// The part of [`Options`] that concerns a server in this process.
#[derive(Debug)]
pub struct ConnectionOptions {
    /// The dialect of the server.
    pub dialect: Dialect,
    /// See [`Options::protocol_version`].
    pub protocol_version: u64,
    /// See [`Options::start_within`].
    pub start_within: Duration,
    /// See [`Options::begin_within`].
    pub begin_within: Duration,
    /// See [`Options::unread`].
    pub unread: usize,
    /// See [`Options::on_dialog`].
    pub on_dialog: DialogHandler,
    /// See [`Options::observer`].
    pub observer: Option<LineObserver>,
}

impl ConnectionOptions {
    /// The defaults for a server of `dialect`.
    pub const fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            protocol_version: u64::MAX,
            start_within: Duration::from_secs(30),
            begin_within: Duration::from_secs(10),
            unread: 8 * 1024 * 1024,
            on_dialog: DialogHandler::none(),
            observer: None,
        }
    }
}

impl From<Options> for ConnectionOptions {
    fn from(options: Options) -> Self {
        let Options {
            dialect,
            protocol_version,
            start_within,
            begin_within,
            unread,
            on_dialog,
            observer,
            ..
        } = options;
        Self { dialect, protocol_version, start_within, begin_within, unread, on_dialog, observer }
    }
}

impl Options {
    /// The defaults for a server of `dialect` that `command` starts.
    pub fn new(command: Command, dialect: Dialect) -> Self {
        Self::with_connection(command, ConnectionOptions::new(dialect))
    }

    /// Those of `connection`, for a server that `command` starts.
    pub fn with_connection(command: Command, connection: ConnectionOptions) -> Self {
        let ConnectionOptions {
            dialect,
            protocol_version,
            start_within,
            begin_within,
            unread,
            on_dialog,
            observer,
        } = connection;
        Self {
            command,
            dialect,
            protocol_version,
            start_within,
            end_within: Duration::from_secs(5),
            begin_within,
            unread,
            longest_line: LONGEST,
            on_dialog,
            observer,
        }
    }
}
