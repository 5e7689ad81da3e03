//! [`SessionState`]: the known members of a session, and how they are read.

use super::lists::List;
use pi_rpc_machine::{KnownMembers, Machine, State};
use pi_rpc_protocol::{
    AgentMessage, Dialect, Disposition, FlowState, MemberValue, Model, RequestId, RpcCommand, RpcCommandKind,
    RpcExtensionUIRequest, SessionEntry, SessionMember as Member, ThinkingLevel, TokenTotals,
};
use std::fmt;

/// Whether a command may be sent now, as far as frames show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The server accepts it, with this disposition; `None`: the state does not determine which.
    Allowed(Option<Disposition>),
    /// The server refuses it with this text, or the dialect does not have it.
    Refused(String),
}

impl Permission {
    /// Whether the server accepts it.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// The reason of a refusal.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Allowed(_) => None,
            Self::Refused(reason) => Some(reason),
        }
    }
}

/// Comparison of a member's values in responses with the known value, where no frame had changed it since the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Responses with the known value.
    pub same: u64,
    /// Responses with another value: an extension has changed it without a frame, or the server is wrong.
    pub different: u64,
}

/// The state of a session, derived from the frames of both sides. Does no IO and has no clock.
///
/// `None` means unknown. A member becomes known with the response that carries it: of `get_state`, `get_messages`,
/// `get_available_models` and so on. It becomes unknown when two commands that change it were outstanding at once, when a
/// shell command has added a message, and after a compaction. Members with [`is_silent`](Member::is_silent) may change
/// without a frame, by an extension; they keep the last value.
///
/// The effects of frames on members are in the schema (`x-effects`); `pi-rpc schema --format meta` shows them. Messages and
/// entries are kept as long as the session has them.
///
/// [`Client::session`](super::super::Client::session) gives access to that of a client. Without a client, feed one yourself:
///
/// ```
/// use pi_rpc_client::SessionState;
/// use pi_rpc_protocol::{AbortCommand, Dialect, PromptCommand, read};
///
/// let mut session = SessionState::new(Dialect::Pi);
/// let message = "Hello".to_owned();
/// let prompt = PromptCommand { id: None, message, images: None, streaming_behavior: None, locale: None };
/// assert!(session.permission(&prompt.clone().into()).is_allowed());
/// session.outbound(read(br#"{"type":"agent_start"}"#, Dialect::Pi)?);
/// assert_eq!(session.is_streaming(), Some(true));
/// assert!(session.permission(&prompt.into()).reason().is_some_and(|why| why.contains("already processing")));
/// assert!(session.permission(&AbortCommand::default().into()).is_allowed());
/// # Ok::<(), pi_rpc_protocol::ReadError>(())
/// ```
#[derive(Clone)]
pub struct SessionState {
    pub(super) machine: Machine,
    pub(super) dialect: Dialect,
    pub(super) members: KnownMembers,
    pub(super) messages: List<AgentMessage>,
    pub(super) entries: List<SessionEntry>,
    pub(super) usage: Option<TokenTotals>,
    /// The last change of each member.
    pub(super) changes: [Option<Change>; Member::ALL.len()],
    /// The outstanding commands, in the order of sending.
    pub(super) open: Vec<OpenCommand>,
    pub(super) dialogs: Vec<RpcExtensionUIRequest>,
    /// Number of frames so far.
    pub(super) frames: u64,
    /// Number of moves of the flow.
    pub(super) moves: u64,
    /// The number of the frame that began the last user message.
    pub(super) delivered: u64,
    /// Texts of prompts whose user message has not come.
    pub(super) prompts: Vec<String>,
    pub(super) shell_message: ShellMessage,
    pub(super) agreements: [Agreement; Member::ALL.len()],
    pub(super) revision: u64,
    pub(super) revisions: [u64; Member::ALL.len()],
}

/// The message of a shell command that has ended during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShellMessage {
    /// There is none.
    None,
    /// It is added at the end of the run.
    Waiting,
    /// The run has ended; the message is added before the next run begins.
    Idle,
}

/// The cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Command,
    Event,
    Loss,
}

/// A change of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// The number of the frame.
    pub at: u64,
    pub by: Cause,
}

/// An outstanding command.
#[derive(Clone, Debug)]
pub(super) struct OpenCommand {
    pub id: Option<RequestId>,
    pub kind: RpcCommandKind,
    /// The number of the frame.
    pub since: u64,
    /// Moves of the flow when it was sent.
    pub moves: u64,
    pub flow: FlowState,
    /// The command, if its success changes a member.
    pub command: Option<Box<RpcCommand>>,
    /// Whether it reads only a part of a list.
    pub is_part: bool,
}

impl SessionState {
    /// A state without known members.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            machine: Machine::new(dialect, false),
            dialect,
            members: KnownMembers::default(),
            messages: List::default(),
            entries: List::default(),
            usage: None,
            changes: [None; Member::ALL.len()],
            open: Vec::new(),
            dialogs: Vec::new(),
            frames: 0,
            moves: 0,
            delivered: 0,
            prompts: Vec::new(),
            shell_message: ShellMessage::None,
            agreements: [Agreement::default(); Member::ALL.len()],
            revision: 0,
            revisions: [0; Member::ALL.len()],
        }
    }

    /// The state of a server that was just started and whose every frame will be taken: some members have known first values.
    pub fn fresh(dialect: Dialect) -> Self {
        let mut state = Self::new(dialect);
        Member::ALL.into_iter().filter(|member| member.is_fresh()).for_each(|member| state.reset(member));
        state
    }

    /// A number that grows with every observable change, except of [`agreement`](Self::agreement).
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The [`revision`](Self::revision) of a member's last change.
    pub const fn revision_of(&self, member: Member) -> u64 {
        self.revisions[member as usize]
    }

    /// The dialect of the frames.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The state of the conversation.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// The `isStreaming` that `get_state` would return.
    pub fn is_streaming(&self) -> Option<bool> {
        self.machine.is_streaming()
    }

    /// The `isCompacting` that `get_state` would return.
    pub fn is_compacting(&self) -> Option<bool> {
        let is_requested = self.open.iter().any(|open| open.kind == RpcCommandKind::Compact);
        match self.machine.flow() {
            flow if flow.is_compacting() => Some(true),
            _ => (!is_requested).then_some(false),
        }
    }

    /// The open dialogs, oldest first.
    pub fn dialogs(&self) -> &[RpcExtensionUIRequest] {
        &self.dialogs
    }

    /// The value of a member. `None` for messages, entries and usage, which have methods of their own.
    pub const fn get(&self, member: Member) -> Option<&MemberValue> {
        self.members.slot(member).value()
    }

    /// Whether the value of a member is known.
    pub fn is_known(&self, member: Member) -> bool {
        match member {
            Member::Messages => self.messages().is_some(),
            Member::Entries => self.entries().is_some(),
            Member::Usage => self.usage.is_some(),
            _ => self.get(member).is_some(),
        }
    }

    /// The model; `Some(None)`: there is none.
    pub fn model(&self) -> Option<Option<&Model>> {
        match self.get(Member::Model)? {
            MemberValue::Model(model) => Some(model.as_ref()),
            _ => None,
        }
    }

    /// The thinking level; `Some(None)`: none is set.
    pub fn thinking_level(&self) -> Option<Option<ThinkingLevel>> {
        self.members.level()
    }

    /// The messages of the conversation.
    pub fn messages(&self) -> Option<&[AgentMessage]> {
        self.messages.items()
    }

    /// The entries of the session.
    pub fn entries(&self) -> Option<&[SessionEntry]> {
        self.entries.items()
    }

    /// The tokens that the session has used.
    pub const fn usage(&self) -> Option<&TokenTotals> {
        self.usage.as_ref()
    }

    /// The texts of queued steering messages, in order.
    pub fn steering(&self) -> Option<&[String]> {
        self.queue(Member::Steering)
    }

    /// The texts of queued follow-up messages, in order.
    pub fn follow_up(&self) -> Option<&[String]> {
        self.queue(Member::FollowUp)
    }

    pub(super) fn queue(&self, member: Member) -> Option<&[String]> {
        match self.get(member)? {
            MemberValue::Steering(texts) | MemberValue::FollowUp(texts) => Some(texts),
            _ => None,
        }
    }

    /// Whether a command may be sent now, by the state machine of the dialect.
    pub fn permission(&self, command: &RpcCommand) -> Permission {
        let (kind, base) = (command.kind(), self.dialect.base());
        if !kind.is_in(base) {
            return Permission::Refused(format!("{} has no command {kind}", self.dialect));
        }
        // Whether an acknowledged prompt begins a run is unknown.
        let is_sure = self.machine.flow() != FlowState::Starting;
        match self.machine.disposition(command).filter(|_| is_sure) {
            None => Permission::Allowed(None),
            Some(case) if case.disposition == Disposition::Reject => {
                Permission::Refused(case.error.map_or("", |error| error.template(base)).to_owned())
            }
            Some(case) => Permission::Allowed(Some(case.disposition)),
        }
    }

    /// The text with which the server refuses every command of this kind now, whatever its members are.
    pub fn refusal_of(&self, kind: RpcCommandKind) -> Option<&'static str> {
        let (flow, base) = (self.machine.flow(), self.dialect.base());
        let cases = kind.cases(flow).iter().filter(|case| case.only.is_none_or(|only| base.is_in(only)));
        let mut refusals = cases.map(|case| {
            let is_refused = case.disposition == Disposition::Reject && flow != FlowState::Starting;
            is_refused.then(|| case.error.map_or("", |error| error.template(base)))
        });
        let first = refusals.next()??;
        refusals.all(|refusal| refusal.is_some()).then_some(first)
    }

    /// How responses have agreed with the known value of a member.
    pub const fn agreement(&self, member: Member) -> Agreement {
        self.agreements[member as usize]
    }
}

impl fmt::Debug for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&MemberValue> = Member::ALL.iter().filter_map(|member| self.get(*member)).collect();
        f.debug_struct("SessionState")
            .field("dialect", &self.dialect)
            .field("state", &self.state())
            .field("revision", &self.revision)
            .field("known", &known)
            .finish_non_exhaustive()
    }
}
