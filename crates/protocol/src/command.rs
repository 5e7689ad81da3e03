//! The result type of each command.

use super::{RpcCommand, RpcSuccess};

/// A command with the type of its result. Generated for every command.
///
/// ```
/// use pi_rpc_protocol::{Command, RpcSuccess, SetModelCommand, Model};
///
/// fn model(response: RpcSuccess) -> Option<Model> {
///     SetModelCommand::success(response)
/// }
/// ```
pub trait Command: Into<RpcCommand> {
    /// `data` of the success response: `()` if it has none, an `Option` if it may be null.
    type Success;

    /// Takes the result out of a success response; `None` if it belongs to another command.
    fn success(response: RpcSuccess) -> Option<Self::Success>;
}
