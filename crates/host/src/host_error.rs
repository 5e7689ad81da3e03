//! Why a host refuses a command.

use pi_rpc_protocol::MultiSessionErrorCode;

/// Why a command to the process is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// No open session has this name.
    UnknownSession,
    /// The session is being opened.
    SessionOpening,
    /// The session is being closed.
    SessionClosing,
    /// The file is open, or being opened.
    PathInUse,
    /// The frame names no session.
    MissingSessionId,
    /// The working directory is not an absolute path.
    InvalidPath,
    /// The session cannot be started, for this reason.
    OpenFailed(String),
    /// A limit of the client's token forbids it: the code, and the limit.
    Forbidden(MultiSessionErrorCode, String),
    /// What connects the processes that share sessions cannot be reached, for this reason.
    ClusterUnavailable(String),
}

impl HostError {
    /// The code.
    pub const fn code(&self) -> MultiSessionErrorCode {
        match self {
            Self::UnknownSession => MultiSessionErrorCode::UnknownSession,
            Self::SessionOpening => MultiSessionErrorCode::SessionOpening,
            Self::SessionClosing => MultiSessionErrorCode::SessionClosing,
            Self::PathInUse => MultiSessionErrorCode::SessionPathInUse,
            Self::MissingSessionId => MultiSessionErrorCode::MissingSessionId,
            Self::InvalidPath => MultiSessionErrorCode::InvalidPath,
            Self::OpenFailed(_) => MultiSessionErrorCode::OpenFailed,
            Self::ClusterUnavailable(_) => MultiSessionErrorCode::ClusterUnavailable,
            Self::Forbidden(code, _) => *code,
        }
    }

    /// The code and what follows it, as `error` has it.
    pub fn text(&self) -> String {
        let code = self.code().as_str();
        match self {
            Self::OpenFailed(reason) | Self::ClusterUnavailable(reason) | Self::Forbidden(_, reason) => {
                format!("{code}: {reason}")
            }
            _ => code.to_owned(),
        }
    }

    /// The client's token allows no more than so many sessions.
    pub(super) fn too_many_sessions(limit: usize) -> Self {
        let text = format!("sessions: {limit}; close one before you open another");
        Self::Forbidden(MultiSessionErrorCode::TooManySessions, text)
    }
}
