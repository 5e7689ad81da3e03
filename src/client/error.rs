//! Why a call came to nothing.

use super::ServerExit;
use crate::{
    machine::State,
    protocol::{RpcCommandKind, RpcErrorResponse},
};
use std::{io, time::Duration};

/// Why a server could not be started, or a call brought nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The process could not be started.
    #[error("the server cannot be started: {0}")]
    Start(#[source] std::sync::Arc<io::Error>),
    /// It started, and did not say in time that it is ready.
    #[error("the server did not say within {0:?} that it is ready")]
    NotReady(Duration),
    /// Not sent: what frames have told so far makes it illegal. [`Client::unchecked`](super::Client::unchecked) sends it.
    #[error("`{command}` is refused while the server is {state}: {reason}")]
    Refused {
        /// The command.
        command: RpcCommandKind,
        /// Where the conversation stands.
        state: State,
        /// The words with which the server would refuse it.
        reason: String,
    },
    /// Not sent: the dialect does not have it.
    #[error("`{command}` does not exist in {dialect}")]
    Foreign {
        /// The command.
        command: RpcCommandKind,
        /// The dialect.
        dialect: &'static str,
    },
    /// The server has refused it, or it failed there.
    #[error("`{}` failed: {}", .0.command, .0.error)]
    Failed(RpcErrorResponse),
    /// No answer came in time. It may still be done.
    #[error("`{command}` was not answered within {within:?}")]
    TimedOut {
        /// The command.
        command: RpcCommandKind,
        /// The time.
        within: Duration,
    },
    /// An answer came, and cannot be read.
    #[error("the answer to `{command}` cannot be read: {reason}")]
    Unread {
        /// The command.
        command: RpcCommandKind,
        /// What is wrong with it.
        reason: String,
    },
    /// The server has ended, or was told to.
    #[error("{0}")]
    Gone(ServerExit),
}
