//! What the page wants of a source, and what a source reports.

use super::wire::ProcessAction;
use tokio::sync::oneshot;

/// A request to a source.
pub enum SourceRequest {
    /// A line to send.
    Line(Line),
    /// An action on the process of the server.
    Process(ProcessAction),
}

/// A line to send.
pub struct Line {
    /// The line without a line feed.
    pub text: String,
    /// Whether it was taken, or why not.
    pub sent: oneshot::Sender<Result<(), String>>,
}

/// What a source reports.
pub enum SourceEvent {
    /// A process with this number has started.
    Started(u32),
    /// Nothing more can be sent, for this reason; with the exit status of a process.
    Ended(String, Option<i32>),
    /// A session of a session host was attached to.
    Attached(String),
    /// The host says which dialect the session speaks.
    Dialect(String),
}
