//! What a command that reads can see of the session.

use crate::protocol::RpcCommandKind;

/// What is noted when a command that reads comes in.
#[derive(Clone, Debug)]
pub struct PendingRead {
    /// The number of its request.
    pub number: u64,
    /// The version of the model then: it goes up with every change.
    pub version: u64,
    /// The epoch of the model then: it goes up where more happens than that messages are added.
    pub epoch: u64,
    /// Messages that were said by then.
    pub messages: usize,
    /// Entries that were listed by then.
    pub entries: usize,
    /// The entry behind which entries are asked for.
    pub since: Option<String>,
}

/// What a read may tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interference {
    /// Nothing has happened since it was asked for, and nothing is under way.
    None,
    /// A run was open all the time, which only adds messages.
    Running,
    /// Anything.
    Unknown,
}

/// Whether the answer to that command is held against what was said.
pub const fn is_judged(command: RpcCommandKind) -> bool {
    use RpcCommandKind as Command;
    matches!(
        command,
        Command::GetMessages
            | Command::GetState
            | Command::GetSessionStats
            | Command::GetLastAssistantText
            | Command::GetForkMessages
            | Command::GetBranchMessages
            | Command::GetEntries
            | Command::GetTree
    )
}
