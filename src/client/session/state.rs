//! What is known of a session, and the frames that it is fed.

use super::kept::{List, nothing};
use crate::{
    client::meant::meant,
    machine::{Machine, State, Unread},
    protocol::{
        AgentMessage, AgentSessionEvent, Dialect, DialectDispatch, DialectStreamingFlag, Disposition,
        FlowState, Inbound, MemberValue, Model, Outbound, RequestId, RpcCommand, RpcCommandKind,
        RpcErrorResponse, RpcExtensionUIRequest, RpcResponse, RpcSuccess, Said, SessionEntry,
        SessionMember as Member, ThinkingLevel, TokenTotals, told_by,
    },
};

/// Commands without a response that are kept; beyond that, nothing is known until it is told again.
const MOST_OPEN: usize = 4096;

/// Prompts that begin a run and whose message has not been seen yet; beyond that the oldest are dropped.
pub(super) const MOST_PROMPTS: usize = 64;

/// Whether a command may be sent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// What becomes of it; `None`: the server has to say.
    pub disposition: Option<Disposition>,
    /// Why it is refused: the server's words.
    pub reason: Option<String>,
}

impl Permission {
    /// Whether the server takes it, as far as can be told.
    pub fn is_allowed(&self) -> bool {
        self.disposition != Some(Disposition::Reject)
    }
}

/// The state of a session: it is fed each frame of both sides, and knows each member that they tell for certain. It does no
/// IO and has no clock.
///
/// What is not known becomes known when a response tells it: `get_state`, `get_messages`, `get_available_models` and so on.
/// An extension may change what [`SessionMember::is_silent`](crate::protocol::SessionMember::is_silent) says without a frame;
/// then the member is what was told last.
///
/// ```
/// use pi_rpc::{client::SessionState, protocol::{AbortCommand, Dialect, PromptCommand, read}};
///
/// let mut session = SessionState::new(Dialect::Pi);
/// let prompt = PromptCommand { id: None, message: "Hello".to_owned(), images: None, streaming_behavior: None, locale: None };
/// assert!(session.may(&prompt.clone().into()).is_allowed());
/// session.outbound(read(br#"{"type":"agent_start"}"#, Dialect::Pi).unwrap());
/// assert_eq!(session.is_streaming(), Some(true));
/// assert!(session.may(&prompt.into()).reason.unwrap().contains("already processing"));
/// assert!(session.may(&AbortCommand::default().into()).is_allowed());
/// ```
#[derive(Debug)]
pub struct SessionState {
    machine: Machine,
    pub(super) dialect: Dialect,
    pub(super) values: [Option<MemberValue>; Member::ALL.len()],
    pub(super) messages: List<AgentMessage>,
    pub(super) entries: List<SessionEntry>,
    pub(super) usage: Option<TokenTotals>,
    /// When each member changed last, and why.
    changed: [Option<Change>; Member::ALL.len()],
    pub(super) open: Vec<Open>,
    dialogs: Vec<RpcExtensionUIRequest>,
    /// Frames so far.
    pub(super) now: u64,
    /// How often the flow has moved.
    moves: u64,
    /// When a message of the user came last.
    pub(super) delivered: u64,
    /// The texts of prompts that begin a run and have not been seen.
    pub(super) prompts: Vec<String>,
    pub(super) notes: Notes,
    /// How often a response told a member that was known: the same value, and another one.
    told: [(u64, u64); Member::ALL.len()],
}

/// The message of a shell command that has ended beside a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Notes {
    /// There is none.
    #[default]
    None,
    /// It waits for the end of the run.
    Waiting,
    /// The run has ended; the message is there at the latest when the next one has begun.
    Idle,
}

/// Why a member has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Command,
    Event,
    Loss,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    at: u64,
    by: Cause,
}

/// A command without a response.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub id: Option<RequestId>,
    pub kind: RpcCommandKind,
    /// The moment at which it was sent.
    pub since: u64,
    moves: u64,
    flow: FlowState,
    /// The command itself, where its success changes something.
    pub command: Option<Box<RpcCommand>>,
    /// It reads a part only.
    is_part: bool,
}

/// The flow that a command met, from when it was sent until its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    Idle,
    Run,
    /// Nothing alone.
    Several,
}

impl SessionState {
    /// Of a server of which nothing is known yet.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            machine: Machine::new(dialect, false),
            dialect,
            values: std::array::from_fn(|_| None),
            messages: List::default(),
            entries: List::default(),
            usage: None,
            changed: [None; Member::ALL.len()],
            open: Vec::new(),
            dialogs: Vec::new(),
            now: 0,
            moves: 0,
            delivered: 0,
            prompts: Vec::new(),
            notes: Notes::None,
            told: [(0, 0); Member::ALL.len()],
        }
    }

    /// Of a server whose process has just begun, and whose every frame will be seen.
    pub fn fresh(dialect: Dialect) -> Self {
        let mut state = Self::new(dialect);
        for member in Member::ALL.into_iter().filter(|member| member.is_fresh()) {
            state.reset(member);
        }
        state
    }

    /// Takes note of a frame that the host writes.
    pub fn inbound(&mut self, frame: &Inbound) {
        self.now += 1;
        match frame {
            Inbound::Command(command) => self.command(command),
            Inbound::ExtensionUIResponse(response) => self.close(response.id()),
            Inbound::HostToolUpdate(_) | Inbound::HostToolResult(_) => {}
        }
        self.machine.inbound(frame);
    }

    /// Takes note of a frame that the server has written.
    pub fn outbound(&mut self, mut frame: Outbound) {
        self.name(&mut frame);
        self.said(&Said::Frame(frame));
    }

    /// The same of a frame whose error, if it is one, has the id of its command.
    pub(in crate::client) fn said(&mut self, said: &Said) {
        self.now += 1;
        let before = self.machine.state().flow;
        self.machine.outbound(said);
        self.moved(before);
        let Said::Frame(frame) = said else { return };
        match frame {
            Outbound::Response(RpcResponse::Success(success)) => self.succeeded(success, before),
            Outbound::Response(RpcResponse::ErrorResponse(error)) => self.failed(error.id.as_ref()),
            Outbound::AgentSessionEvent(event) => {
                self.event(event);
                if let AgentSessionEvent::MessageStart(start) = event
                    && matches!(start.message, AgentMessage::User(_))
                {
                    self.delivered = self.now;
                }
            }
            Outbound::ExtensionUIRequest(RpcExtensionUIRequest::Cancel(cancel)) => self.close(&cancel.target_id),
            Outbound::ExtensionUIRequest(request) if request.kind().wants_answer() => {
                self.dialogs.push(request.clone());
            }
            _ => {}
        }
    }

    /// Takes note of a line of the server that cannot be read.
    pub fn unread(&mut self, line: Unread) {
        self.now += 1;
        let before = self.machine.state().flow;
        let (answer, kind) = (line.answer.clone(), line.kind);
        self.machine.unread(line);
        self.moved(before);
        match answer {
            Some(answer) => {
                let open = self.take(answer.id.as_ref(), RpcCommandKind::parse(&answer.command));
                let changes = open.filter(|_| answer.success).map_or(&[][..], |open| open.kind.changes());
                changes.iter().for_each(|member| self.forget(*member, Cause::Command));
            }
            None if kind.is_some_and(|kind| kind.is_event()) => self.lost(),
            None => {}
        }
    }

    /// Something was missed: nothing is known until it is told again.
    pub fn lost(&mut self) {
        self.now += 1;
        Member::ALL.into_iter().for_each(|member| self.forget(member, Cause::Loss));
    }

    /// Where the conversation stands.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    pub(in crate::client) const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Whether a run is under way, as `get_state` would say; `None`: the frames leave it open.
    pub fn is_streaming(&self) -> Option<bool> {
        use FlowState as F;
        let flow = self.state().flow;
        let goes_on = matches!(flow, F::Settling | F::Retrying | F::Compacting);
        let (goes_on, prepares) = match self.dialect.record().streaming_flag {
            DialectStreamingFlag::Run => (false, None),
            DialectStreamingFlag::Busy => (goes_on, Some(true)),
            DialectStreamingFlag::Settled => (goes_on, None),
        };
        match flow {
            F::Starting => prepares,
            F::CompactingBeforePrompt => prepares.map(|_| false),
            flow => Some(flow.is_streaming() || goes_on),
        }
    }

    /// Whether a compaction is under way; `None`: the frames leave it open.
    pub fn is_compacting(&self) -> Option<bool> {
        use FlowState as F;
        let states =
            [F::Compacting, F::CompactingManual, F::CompactingBeforePrompt, F::StreamingCompacting];
        let is_asked = self.open.iter().any(|open| open.kind == RpcCommandKind::Compact);
        match states.contains(&self.state().flow) {
            true => Some(true),
            false => (!is_asked).then_some(false),
        }
    }

    /// The dialogs that wait for an answer of the user, oldest first.
    pub fn dialogs(&self) -> &[RpcExtensionUIRequest] {
        &self.dialogs
    }

    /// A member, where it is known. Those that are kept as lists or sums have methods of their own.
    pub const fn get(&self, member: Member) -> Option<&MemberValue> {
        self.values[member as usize].as_ref()
    }

    /// Whether a member is known.
    pub fn knows(&self, member: Member) -> bool {
        match member {
            Member::Messages => self.messages().is_some(),
            Member::Entries => self.entries().is_some(),
            Member::Usage => self.usage.is_some(),
            _ => self.get(member).is_some(),
        }
    }

    /// The model, where it is known; `Some(None)`: there is none.
    pub fn model(&self) -> Option<Option<&Model>> {
        match self.get(Member::Model)? {
            MemberValue::Model(model) => Some(model.as_ref()),
            _ => None,
        }
    }

    /// The thinking level, where it is known; `Some(None)`: none is set.
    pub const fn thinking_level(&self) -> Option<Option<ThinkingLevel>> {
        match self.get(Member::ThinkingLevel) {
            Some(MemberValue::ThinkingLevel(level)) => Some(*level),
            _ => None,
        }
    }

    /// The messages of the conversation, where they are known.
    pub fn messages(&self) -> Option<&[AgentMessage]> {
        self.messages.items()
    }

    /// The entries of the session, where they are known.
    pub fn entries(&self) -> Option<&[SessionEntry]> {
        self.entries.items()
    }

    /// The tokens that were used, where they are known.
    pub const fn usage(&self) -> Option<&TokenTotals> {
        self.usage.as_ref()
    }

    /// The texts that wait, steering and follow-up, where they are known.
    pub const fn waiting(&self) -> Option<(&Vec<String>, &Vec<String>)> {
        match (self.get(Member::Steering), self.get(Member::FollowUp)) {
            (Some(MemberValue::Steering(steering)), Some(MemberValue::FollowUp(follow_up))) => {
                Some((steering, follow_up))
            }
            _ => None,
        }
    }

    /// Whether a command may be sent now, and if not, why.
    pub fn may(&self, command: &RpcCommand) -> Permission {
        let (kind, base) = (command.kind(), self.dialect.base());
        if !kind.is_in(base) {
            let reason = Some(format!("{} has no command {kind}", self.dialect));
            return Permission { disposition: Some(Disposition::Reject), reason };
        }
        // Whether a prompt that was acknowledged begins a run is not known: the server decides.
        let is_sure = self.state().flow != FlowState::Starting;
        let case = self.machine.disposition(command).filter(|_| is_sure);
        let refused = case.filter(|case| case.disposition == Disposition::Reject);
        let reason = refused.map(|case| case.error.map_or("", |error| error.template(base)).to_owned());
        Permission { disposition: case.map(|case| case.disposition), reason }
    }

    /// How often a response told a member that was known already and that no frame had changed since: the same value, and
    /// another one. Where it is another, an extension has changed it, or the server is wrong.
    pub const fn told_again(&self, member: Member) -> (u64, u64) {
        self.told[member as usize]
    }

    fn command(&mut self, command: &RpcCommand) {
        let kind = command.kind();
        let changes = !kind.changes().is_empty();
        self.open.push(Open {
            id: command.id().cloned(),
            kind,
            since: self.now,
            moves: self.moves,
            flow: self.machine.state().flow,
            command: changes.then(|| Box::new(command.clone())),
            is_part: matches!(command, RpcCommand::GetEntries(it) if it.since.is_some()),
        });
        if let RpcCommand::Prompt(prompt) = command {
            self.prompts.push(prompt.message.clone());
            if self.prompts.len() > MOST_PROMPTS {
                self.prompts.remove(0);
            }
        }
        if self.open.len() > MOST_OPEN {
            self.open.remove(0);
            self.lost();
        }
    }

    /// Gives an error without an id that of the command that it is taken to answer.
    fn name(&self, frame: &mut Outbound) {
        if let Outbound::Response(RpcResponse::ErrorResponse(error)) = frame
            && matches!(error.id, None | Some(RequestId::Null))
        {
            let open = self.open.iter().map(|open| (open.since, open.kind));
            let since = meant(open, error, self.dialect);
            error.id = self.open.iter().find(|open| Some(open.since) == since).and_then(|open| open.id.clone());
        }
    }

    /// The command that a response answers, which is not open any longer.
    fn take(&mut self, id: Option<&RequestId>, kind: Option<RpcCommandKind>) -> Option<Open> {
        let is_it = |open: &Open| open.id.as_ref() == id && (id.is_some() || Some(open.kind) == kind);
        let place = self.open.iter().position(is_it)?;
        Some(self.open.remove(place))
    }

    fn succeeded(&mut self, success: &RpcSuccess, before: FlowState) {
        let kind = RpcCommandKind::parse(success.kind().as_str());
        let Some(open) = self.take(success.id(), kind) else { return };
        self.learn(&open, success);
        let own = u64::from(self.state().flow != before);
        let met = match (open.moves + own == self.moves, open.flow) {
            (true, FlowState::Idle) => Met::Idle,
            (true, flow) if flow.is_streaming() => Met::Run,
            _ => Met::Several,
        };
        if open.command.is_some() {
            self.succeed(&open, success, met);
        }
    }

    fn failed(&mut self, id: Option<&RequestId>) {
        if self.take(id, None).is_none() {
            // Some servers refuse a prompt that they have acknowledged: it may have been taken for one that waits.
            RpcCommandKind::Prompt.changes().iter().for_each(|member| self.forget(*member, Cause::Command));
        }
    }

    /// Takes what a response tells, where nothing has changed it since it was asked for.
    fn learn(&mut self, open: &Open, success: &RpcSuccess) {
        if open.is_part {
            return;
        }
        let mut told = Vec::new();
        told_by(success, self.dialect.base(), &mut |_, value| told.push(value));
        for value in told.into_iter().filter(|value| self.is_steady(value.member(), open.since)) {
            let member = value.member();
            self.compare(member, self.get(member).map(|known| *known == value));
            self.values[member as usize] = Some(value);
        }
        match success {
            RpcSuccess::GetMessages(list) => {
                if self.is_steady(Member::Messages, open.since) && self.notes == Notes::None {
                    self.compare(Member::Messages, self.messages().map(|known| known == list.data.messages));
                    self.messages.learn(&list.data.messages);
                }
            }
            RpcSuccess::GetEntries(list) => {
                if self.is_steady(Member::Entries, open.since) {
                    self.compare(Member::Entries, self.entries().map(|known| known == list.data.entries));
                    self.entries.learn(&list.data.entries);
                }
            }
            // Whether a sum has what is still to come as an event, only rest can tell.
            RpcSuccess::GetSessionStats(stats) => {
                let rests = open.flow == FlowState::Idle && open.moves == self.moves;
                if self.is_steady(Member::Usage, open.since) && rests {
                    self.compare(Member::Usage, self.usage().map(|known| *known == stats.data.tokens));
                    self.usage = Some(stats.data.tokens.clone());
                }
            }
            _ => {}
        }
    }

    const fn compare(&mut self, member: Member, agrees: Option<bool>) {
        let (same, other) = &mut self.told[member as usize];
        match agrees {
            Some(true) => *same += 1,
            Some(false) => *other += 1,
            None => {}
        }
    }

    /// Whether nothing has changed a member since then, and nothing is about to.
    fn is_steady(&self, member: Member, since: u64) -> bool {
        let is_changing = self.open.iter().any(|open| open.kind.changes().contains(&member));
        !is_changing && self.changed[member as usize].is_none_or(|change| change.at <= since)
    }

    /// Whether another command that changes the member may have come between; in order is what is served one by one. `next`:
    /// whether a value is the one that this command makes of it.
    pub(super) fn is_contested(&self, member: Member, open: &Open, appends: bool, is_next: bool) -> bool {
        if self.dialect.record().dispatch == DialectDispatch::SerialWithControlLane {
            return false;
        }
        let mut others = self.open.iter().filter(|other| other.kind.changes().contains(&member)).peekable();
        let is_alone = others.peek().is_none();
        let is_alike = appends && others.all(|other| other.kind == open.kind);
        let change = self.changed[member as usize].filter(|it| it.by == Cause::Command && it.at > open.since);
        !is_alike && (!is_alone || (change.is_some() && !is_next))
    }

    /// Whether an event has told the member since then.
    pub(super) fn was_told(&self, member: Member, since: u64) -> bool {
        let change = self.changed[member as usize];
        change.is_some_and(|it| it.by == Cause::Event && it.at > since) && self.knows(member)
    }

    pub(super) fn change(&mut self, member: Member, value: Option<MemberValue>, by: Cause) {
        self.note(member, by);
        self.values[member as usize] = value;
    }

    pub(super) const fn note(&mut self, member: Member, by: Cause) {
        self.changed[member as usize] = Some(Change { at: self.now, by });
    }

    pub(super) fn forget(&mut self, member: Member, by: Cause) {
        match member {
            Member::Messages => self.messages.replace(None),
            Member::Entries => self.entries.replace(None),
            Member::Usage => self.usage = None,
            _ => {}
        }
        self.change(member, None, by);
    }

    /// Gives a member its first value, where that is known.
    pub(super) fn reset(&mut self, member: Member) {
        let value = match member {
            Member::SessionName => Some(MemberValue::SessionName(None)),
            Member::TodoPhases => Some(MemberValue::TodoPhases(Vec::new())),
            Member::Steering => Some(MemberValue::Steering(Vec::new())),
            Member::FollowUp => Some(MemberValue::FollowUp(Vec::new())),
            Member::HostTools => Some(MemberValue::HostTools(Vec::new())),
            _ => None,
        };
        match member {
            Member::Messages => self.messages.replace(Some(Vec::new())),
            Member::Entries => self.entries.replace(None),
            Member::Usage => self.usage = Some(nothing()),
            _ => {}
        }
        self.values[member as usize] = value;
    }

    fn close(&mut self, id: &str) {
        self.dialogs.retain(|dialog| dialog.id() != id);
    }

    fn moved(&mut self, before: FlowState) {
        let flow = self.state().flow;
        if flow == before {
            return;
        }
        self.moves += 1;
        match self.notes {
            Notes::Waiting if flow == FlowState::Idle => self.notes = Notes::Idle,
            Notes::Idle if flow.is_streaming() => self.notes = Notes::None,
            _ => {}
        }
    }
}
