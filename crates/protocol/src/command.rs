//! A command and what its success brings.

use super::{RpcCommand, RpcSuccess};

/// A command whose success is known by its type. Generated for every command.
///
/// ```
/// use pi_rpc_protocol::{Command, RpcSuccess, SetModelCommand, Model};
///
/// fn model(response: RpcSuccess) -> Option<Model> {
///     SetModelCommand::success(response)
/// }
/// ```
pub trait Command: Into<RpcCommand> {
    /// The `data` of its success response: `()` where it has none, an `Option` where it may be null.
    type Success;

    /// What the success response brings; `None` if it answers another command.
    fn success(response: RpcSuccess) -> Option<Self::Success>;
}
