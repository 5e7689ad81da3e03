//! Commands that change to another session.

use pi_rpc_protocol::{
    BranchCommand, CloneCommand, ContinueSessionCommand, ForkCommand, NewSessionCommand, RequestId,
    RpcCommandKind, SwitchSessionCommand,
};
use std::path::PathBuf;

/// The session that a command changes to.
#[derive(Debug)]
pub enum NextSession {
    /// A new session.
    New(NewSessionCommand),
    /// The session of a file.
    File(SwitchSessionCommand),
    /// A fork of the current session.
    Fork(Fork),
    /// A copy of the current branch; with the request's id.
    Clone(Option<RequestId>),
    /// The newest session of a directory, or a new one there.
    Newest(NewestSession),
}

/// The newest session of a directory that has entries.
#[derive(Debug)]
pub struct NewestSession {
    /// The command.
    pub command: ContinueSessionCommand,
    /// Its file; `None`: there is none, and a new session begins there.
    pub file: Option<PathBuf>,
}

/// A fork of the session at one entry.
#[derive(Debug)]
pub struct Fork {
    /// The id of the request.
    pub id: Option<RequestId>,
    /// Its kind: dialects have one or the other.
    pub kind: RpcCommandKind,
    /// The message of the user that it is forked at.
    pub entry: String,
}

impl NextSession {
    /// The kind of the request.
    pub const fn kind(&self) -> RpcCommandKind {
        match self {
            Self::New(_) => RpcCommandKind::NewSession,
            Self::File(_) => RpcCommandKind::SwitchSession,
            Self::Fork(fork) => fork.kind,
            Self::Clone(_) => RpcCommandKind::Clone,
            Self::Newest(_) => RpcCommandKind::OpenSession,
        }
    }
}

impl From<ForkCommand> for NextSession {
    fn from(ForkCommand { id, entry_id: entry }: ForkCommand) -> Self {
        Self::Fork(Fork { id, kind: RpcCommandKind::Fork, entry })
    }
}

impl From<BranchCommand> for NextSession {
    fn from(BranchCommand { id, entry_id: entry }: BranchCommand) -> Self {
        Self::Fork(Fork { id, kind: RpcCommandKind::Branch, entry })
    }
}

impl From<CloneCommand> for NextSession {
    fn from(CloneCommand { id }: CloneCommand) -> Self {
        Self::Clone(id)
    }
}
