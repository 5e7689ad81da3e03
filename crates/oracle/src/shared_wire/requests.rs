//! Commands that the wire itself answers: those to the process, and those to sessions that are refused.

use pi_rpc_protocol::{MultiSessionCommandKind, MultiSessionErrorCode as Code, RequestId};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};

/// The most commands that are tracked; the latest are kept.
const MAX_REQUESTS: usize = 4096;

/// A command that has no response yet.
#[derive(Clone, Debug, Default)]
pub struct WireRequest {
    /// The id, if the command has one.
    pub id: Option<RequestId>,
    /// The `type` of the command.
    pub command: String,
    /// The line of a session's command, without its tag.
    pub line: String,
    /// The session that it names.
    pub session: Option<String>,
    /// Whether it is a command to the process; else it is one to a session.
    pub is_to_process: bool,
    /// Whether it is valid: an invalid one may be refused in any words.
    pub is_valid: bool,
    /// Why it must be refused, if it must.
    pub must_fail: Option<Code>,
    /// The working directory that `open_session` asks for.
    pub directory: Option<String>,
    /// The file that `open_session` asks for.
    pub path: Option<String>,
    /// The dialect that `open_session` asks for.
    pub dialect: Option<String>,
    /// Whether `attach_session` asks for frames of the past.
    pub asks_for_past: bool,
    /// The number of the frame on this connection.
    pub frame: u64,
}

/// What a response belongs to.
pub enum Answered {
    /// This command.
    Command(WireRequest),
    /// A command with another `type`.
    OtherCommand(WireRequest),
    /// A command that has had its response.
    Again,
    /// None of the commands.
    Nothing,
}

/// The commands without a response, oldest first.
#[derive(Clone, Debug, Default)]
pub struct WireRequests {
    outstanding: VecDeque<WireRequest>,
    /// The ids of commands that were answered.
    answered: VecDeque<RequestId>,
}

impl WireRequests {
    /// Adds a command.
    pub fn add(&mut self, request: WireRequest) {
        self.outstanding.push_back(request);
        if self.outstanding.len() > MAX_REQUESTS {
            self.outstanding.pop_front();
        }
    }

    /// Takes the command that a response with this id and `command` belongs to.
    pub fn answer(&mut self, id: Option<&RequestId>, command: &str) -> Answered {
        let same_id = |request: &WireRequest| request.id.as_ref() == id;
        let fits = self.outstanding.iter().position(|it| same_id(it) && it.command == command);
        let other = || self.outstanding.iter().position(|it| it.is_to_process && id.is_some() && same_id(it));
        let (at, is_same) = match fits {
            Some(at) => (Some(at), true),
            None => (other(), false),
        };
        let Some(request) = at.and_then(|at| self.outstanding.remove(at)) else {
            return match id.is_some_and(|id| self.answered.contains(id)) {
                true => Answered::Again,
                false => Answered::Nothing,
            };
        };
        self.answered.extend(request.id.clone());
        if self.answered.len() > MAX_REQUESTS {
            self.answered.pop_front();
        }
        match is_same {
            true => Answered::Command(request),
            false => Answered::OtherCommand(request),
        }
    }

    /// Takes the commands to this session, which answers by itself: id, type and line of each.
    pub fn take_session(&mut self, session: &str) -> Vec<(Option<RequestId>, String, String)> {
        let of_session = |it: &WireRequest| !it.is_to_process && it.session.as_deref() == Some(session);
        let (taken, left): (VecDeque<_>, _) =
            std::mem::take(&mut self.outstanding).into_iter().partition(of_session);
        self.outstanding = left;
        taken.into_iter().map(|it| (it.id, it.command, it.line)).collect()
    }

    /// The commands to the process that have no response.
    pub fn to_process(&self) -> impl Iterator<Item = &WireRequest> {
        self.outstanding.iter().filter(|request| request.is_to_process || request.session.is_none())
    }

    /// Whether the client has written to a session by a name that is neither a handle nor the id of a known one.
    pub fn names_unknown(&self, handles: &BTreeMap<String, String>) -> bool {
        self.outstanding.iter().any(|it| {
            !it.is_to_process && it.session.as_ref().is_some_and(|name| !handles.contains_key(name))
        })
    }

    /// Whether the client has written to the session of this name.
    pub fn names(&self, name: &str) -> bool {
        self.outstanding.iter().any(|it| it.session.as_deref() == Some(name))
    }
}

/// The code of an error: all of it, or what stands before `: `.
pub fn code_of(error: &str) -> Option<Code> {
    Code::parse(error.split_once(": ").map_or(error, |(code, _)| code))
}

/// Commands that name the file of a session.
const FILE_COMMANDS: [&str; 3] = [
    MultiSessionCommandKind::ReadStoredSession.as_str(),
    MultiSessionCommandKind::RenameStoredSession.as_str(),
    MultiSessionCommandKind::ArchiveSession.as_str(),
];

/// Why a code does not fit the command; `is_open`: the session that it names is open on this connection.
pub fn misfit(code: Code, request: &WireRequest, is_open: bool) -> Option<&'static str> {
    let is_of_file = FILE_COMMANDS.contains(&request.command.as_str());
    match code {
        Code::UnknownSession if request.session.is_none() => {
            Some("a code for a command that names no session")
        }
        Code::UnknownSession if is_open => Some("no `unknown_session`, as the session is open"),
        Code::MissingSessionId if request.session.is_some() || request.is_to_process => {
            Some("no `missing_session_id`, as the command needs none or has one")
        }
        Code::SessionFailed if !is_of_file => Some("a code for a command that changes no file"),
        Code::InvalidPath | Code::SessionPathInUse if is_of_file => None,
        Code::InvalidPath if request.directory.as_deref().is_none_or(|it| Path::new(it).is_absolute()) => {
            Some("no `invalid_path`, as the command has no relative `cwd`")
        }
        Code::SessionPathInUse | Code::OpenFailed
            if request.command != MultiSessionCommandKind::OpenSession.as_str() =>
        {
            Some("a code for a command that opens nothing")
        }
        _ if request.must_fail == Some(Code::MissingSessionId) && code != Code::MissingSessionId => {
            Some("`missing_session_id`, as the command names no session")
        }
        _ => None,
    }
}
