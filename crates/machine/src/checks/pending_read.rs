//! An outstanding read of the session, and what may have happened since its request.

use pi_rpc_protocol::RpcCommandKind;

/// Notes on a read command, taken at its request.
#[derive(Clone, Debug)]
pub struct PendingRead {
    /// The number of the request.
    pub number: u64,
    /// The version of the session's content at the time, which increases with every change.
    pub version: u64,
    /// The version that increases with everything except added messages.
    pub epoch: u64,
    /// The number of messages at the time.
    pub messages: usize,
    /// The number of known entries at the time.
    pub entries: usize,
    /// The entry after which entries are requested.
    pub since: Option<String>,
}

/// What may have changed the session between a read and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interference {
    /// Nothing: there was no change, and nothing is running.
    None,
    /// A run, which only adds messages.
    Running,
    /// Anything.
    Unknown,
}

/// Whether the response to this command is compared with the session's content.
pub const fn is_judged(command: RpcCommandKind) -> bool {
    use RpcCommandKind as Command;
    matches!(
        command,
        Command::GetMessages
            | Command::GetMessagesPage
            | Command::GetState
            | Command::GetSessionStats
            | Command::GetLastAssistantText
            | Command::GetForkMessages
            | Command::GetBranchMessages
            | Command::GetEntries
            | Command::GetTree
    )
}
