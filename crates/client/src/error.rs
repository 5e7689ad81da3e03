//! Errors of the client.

use super::ServerExit;
use pi_rpc_machine::State;
use pi_rpc_protocol::{RpcCommandKind, RpcErrorResponse};
use std::{io, time::Duration};

/// Why a server could not be started, or a call failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The process could not be started.
    #[error("the server cannot be started: {0}")]
    Start(#[source] std::sync::Arc<io::Error>),
    /// No `ready` frame came in time.
    #[error("the server was not ready within {0:?}")]
    NotReady(Duration),
    /// Not sent, as it is illegal in the current state. [`Client::unchecked`](super::Client::unchecked) sends it.
    #[error("`{command}` is refused while the server is {state}: {reason}")]
    Refused {
        /// The command.
        command: RpcCommandKind,
        /// The current state.
        state: State,
        /// The error text that the server would answer with.
        reason: String,
    },
    /// Not sent, as the dialect does not have the command.
    #[error("`{command}` does not exist in {dialect}")]
    Foreign {
        /// The command.
        command: RpcCommandKind,
        /// The dialect.
        dialect: &'static str,
    },
    /// The server answered with an error.
    #[error("`{}` failed: {}", .0.command, .0.error)]
    Failed(RpcErrorResponse),
    /// No response came in time. The command may still be executed.
    #[error("`{command}` was not answered within {within:?}")]
    TimedOut {
        /// The command.
        command: RpcCommandKind,
        /// The timeout.
        within: Duration,
    },
    /// The response is not valid in the dialect.
    #[error("the answer to `{command}` cannot be read: {reason}")]
    Unread {
        /// The command.
        command: RpcCommandKind,
        /// Why it is invalid.
        reason: String,
    },
    /// The server has exited, or is shutting down.
    #[error("{0}")]
    Gone(ServerExit),
}
