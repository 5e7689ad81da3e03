//! What frames have shown of the members of the session's state.

use super::{
    known_members::KnownMembers,
    member_history::Knowledge,
    session_history::{PreviousSession, SessionHistory},
    todos::written_todos,
};
use crate::{checks::frame_context::FrameContext, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, AgentSessionEvent, Effect, MemberValue, RpcCommand,
    RpcExtensionUIRequest, RpcSuccess, SessionMember as Member, StopReason, effects_of_event,
    effects_of_success, members_of_success,
};
use serde_json::Value;
use std::collections::VecDeque;

/// What is known of the session's state. Stores a copy of each outstanding command that changes the state; of more than 4,096
/// outstanding commands the oldest are dropped.
#[derive(Clone, Debug, Default)]
pub struct KnownState {
    /// The known values of the members.
    pub members: KnownMembers,
    /// Outstanding commands, oldest first.
    open: VecDeque<PendingCommand>,
    /// The frame of the first prompt for the next run.
    prompted: Option<u64>,
    /// The frame of the prompt that began the current run, or the last one.
    run_prompt: u64,
    /// The range of models that cycling goes through.
    pub cycling: CycleRange,
    pub sessions: SessionHistory,
    /// Whether an extension has acted, which may change members without a frame.
    has_extension_acted: bool,
}

/// The range of models that cycling goes through, which is fixed for a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CycleRange {
    /// Not known yet.
    #[default]
    Unknown,
    /// There is nothing to cycle through.
    Nothing,
    /// All available models.
    All,
    /// The models that were named at the start of the process.
    Scoped,
}

/// An outstanding command.
#[derive(Clone, Debug)]
pub struct PendingCommand {
    number: u64,
    /// The number of its frame.
    pub frame: u64,
    /// Whether the command changes nothing.
    is_read: bool,
    /// The command, if it changes the state.
    pub command: Option<Box<RpcCommand>>,
}

/// The most outstanding commands that are kept.
const MAX_COMMANDS: usize = 4096;

impl KnownState {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand, at: &FrameContext) {
        let is_compared = matches!(command, RpcCommand::NegotiateProtocol(_));
        let kept = (is_compared || !command.kind().changes().is_empty()).then(|| Box::new(command.clone()));
        self.open.push_back(PendingCommand {
            number,
            frame: at.frame,
            is_read: command.kind().is_read(),
            command: kept,
        });
        if self.open.len() > MAX_COMMANDS {
            self.open.pop_front();
            self.forget_all(at.frame);
        }
        if matches!(command, RpcCommand::Prompt(_) | RpcCommand::AbortAndPrompt(_))
            && !at.met.flow.is_streaming()
        {
            self.prompted.get_or_insert(at.frame);
        }
        if let RpcCommand::Prompt(prompt) = command
            && prompt.message.trim_start().starts_with('/')
        {
            // The prompt may be a command of an extension.
            self.has_extension_acted = true;
        }
    }

    /// Takes the outstanding command of a request that was answered.
    pub fn take_command(&mut self, request: &OpenRequest) -> Option<PendingCommand> {
        let place = self.open.iter().position(|open| open.number == request.number)?;
        self.open.remove(place)
    }

    /// Drops earlier values that no outstanding request and no run can refer to.
    pub fn forget_passed(&mut self, at: &FrameContext) {
        let oldest = self.open.front().map_or(at.frame, |open| open.frame).min(self.run_prompt);
        let oldest = self.prompted.map_or(oldest, |prompted| oldest.min(prompted));
        Member::ALL.into_iter().for_each(|member| self.members.slot_mut(member).forget_before(oldest));
    }

    /// Takes in an unreadable response or an error: the members that the command may have changed become unknown.
    pub fn on_unread_response(&mut self, request: &OpenRequest, success: bool, at: &FrameContext) {
        if let Some(PendingCommand { command: Some(command), .. }) = self.take_command(request)
            && success
        {
            for member in command.kind().changes() {
                self.change(*member, Knowledge::Unknown, at.frame);
            }
        }
    }

    /// Learns the members that a success response reports, without judging them.
    pub fn learn(&mut self, success: &RpcSuccess, at: &FrameContext) {
        members_of_success(success, at.base(), &mut |_, value| {
            self.members.slot_mut(value.member()).change(at.frame, Knowledge::Known(value));
        });
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, at: &FrameContext) {
        self.forget_all(at.frame);
    }

    /// Notes that an extension has acted.
    pub const fn note_extension(&mut self) {
        self.has_extension_acted = true;
    }

    /// The frame of the prompt that began the current run, or the last one.
    pub const fn run_prompt(&self) -> u64 {
        self.run_prompt
    }

    /// Whether no outstanding command changes anything.
    pub fn has_only_reads_outstanding(&self) -> bool {
        self.open.iter().all(|open| open.is_read)
    }

    /// Whether an extension has acted, which may change members without a frame.
    pub const fn may_change_silently(&self) -> bool {
        self.has_extension_acted
    }

    /// Whether an outstanding command may change the member.
    pub fn is_changing(&self, member: Member) -> bool {
        self.open
            .iter()
            .filter_map(|open| open.command.as_ref())
            .any(|it| it.kind().changes().contains(&member))
    }

    /// Applies the effects of a successful command.
    pub fn apply_success(&mut self, command: &RpcCommand, success: &RpcSuccess, at: &FrameContext) {
        if let RpcSuccess::CycleModel(response) = success {
            self.cycling = match &response.data {
                None => CycleRange::Nothing,
                Some(cycle) if cycle.is_scoped => CycleRange::Scoped,
                Some(_) => CycleRange::All,
            };
        }
        let level_before = self.members.level();
        let mut effects = Vec::new();
        effects_of_success(command, success, at.base(), &mut |effect| effects.push(effect));
        for effect in effects {
            self.apply(effect, at);
        }
        match success {
            RpcSuccess::SetModel(_) | RpcSuccess::CycleModel(_) => {
                (self.sessions.has_model, self.sessions.answers_differ) = (true, false);
            }
            // Without a next level nothing is stored.
            RpcSuccess::CycleThinkingLevel(response) if response.data.is_none() => {}
            RpcSuccess::SetThinkingLevel(_) | RpcSuccess::CycleThinkingLevel(_) => {
                // A level that stays the same is stored only where a session begins.
                let is_other = |before| !self.members.allows(&MemberValue::ThinkingLevel(before));
                self.sessions.has_level |= !self.sessions.is_copy || level_before.is_some_and(is_other);
            }
            _ => {}
        }
    }

    /// What is known of the session when it is left.
    pub fn previous_session(&self, at: &FrameContext) -> PreviousSession {
        let name = match self.members.slot(Member::SessionName).value() {
            Some(MemberValue::SessionName(name)) => Some(name.clone()),
            _ => None,
        };
        // The interrupted answer may be of another model, with which the session would be reopened.
        let is_sure = !at.met.flow.is_streaming() && !self.sessions.answers_differ;
        let has_level = self.sessions.has_level && is_sure;
        PreviousSession {
            id: self.id().cloned(),
            file: self.file().cloned(),
            name,
            model: self.members.model().filter(|_| self.sessions.has_model && is_sure).cloned(),
            level: self.members.level().filter(|_| has_level),
            has_level,
            level_changes: self.sessions.level_changes,
            is_written: self.sessions.is_answered,
        }
    }

    /// Switches to the session that replaces the previous one, and keeps what is known of it.
    pub fn switch_session(
        &mut self,
        command: &RpcCommand,
        success: &RpcSuccess,
        left: PreviousSession,
        at: &FrameContext,
    ) {
        if changes_session(success) {
            self.take_up_session(command, left, at);
            if at.may(|record| record.sessions_start_anew) {
                // It begins with the model and the level of the command line or of the settings, which no frame tells.
                self.change(Member::Model, Knowledge::Unknown, at.frame);
                self.change(Member::ThinkingLevel, Knowledge::Unknown, at.frame);
            }
        }
    }

    fn take_up_session(&mut self, command: &RpcCommand, left: PreviousSession, at: &FrameContext) {
        let is_same =
            matches!(command, RpcCommand::NewSession(_)) && left.level_changes == self.sessions.level_changes;
        self.sessions.same_level = is_same.then_some(self.sessions.level_changes);
        self.sessions.add(left);
        self.sessions.is_copy = !matches!(command, RpcCommand::NewSession(_));
        if let RpcCommand::SwitchSession(switch) = command {
            let path = Some(switch.session_path.as_str());
            let taken_up = self.sessions.left.iter().find(|session| session.file.as_deref() == path);
            let Some(taken_up) = taken_up.filter(|session| session.is_written).cloned() else { return };
            let known = [
                taken_up.id.map(MemberValue::SessionId),
                taken_up.file.map(|file| MemberValue::SessionFile(Some(file))),
                taken_up.name.map(MemberValue::SessionName),
                taken_up.model.map(|model| MemberValue::Model(Some(model))),
                taken_up.level.map(MemberValue::ThinkingLevel),
            ];
            for value in known.into_iter().flatten() {
                self.change(value.member(), Knowledge::Known(value), at.frame);
            }
            return;
        }
        // It may be any session of its folder, also the one that was open.
        if matches!(command, RpcCommand::OpenSession(_)) {
            return;
        }
        // Id and file are none of the earlier ones.
        let ids = self.sessions.left.iter().filter_map(|session| session.id.clone());
        let ids = Knowledge::NoneOf(ids.map(MemberValue::SessionId).collect());
        let files = self.sessions.left.iter().filter_map(|session| session.file.clone());
        let files = Knowledge::NoneOf(files.map(|file| MemberValue::SessionFile(Some(file))).collect());
        self.change(Member::SessionId, ids, at.frame);
        self.change(Member::SessionFile, files, at.frame);
    }

    fn id(&self) -> Option<&String> {
        match self.members.slot(Member::SessionId).value()? {
            MemberValue::SessionId(id) => Some(id),
            _ => None,
        }
    }

    fn file(&self) -> Option<&String> {
        match self.members.slot(Member::SessionFile).value()? {
            MemberValue::SessionFile(file) => file.as_ref(),
            _ => None,
        }
    }

    /// Takes in an event.
    pub fn on_event(&mut self, event: &AgentSessionEvent, at: &FrameContext) {
        if matches!(event, AgentSessionEvent::AgentStart(_)) {
            self.run_prompt = self.prompted.take().unwrap_or(self.run_prompt);
        }
        if let AgentSessionEvent::MessageEnd(end) = event
            && let AgentMessage::Assistant(answer) = &end.message
        {
            // An answer that was cut off may come to no file, and with it the session.
            let is_cut_off = matches!(answer.stop_reason, StopReason::Aborted | StopReason::Error);
            self.sessions.is_answered |= !is_cut_off;
            // Some servers reopen a session with the model of its last answer.
            self.sessions.answers_differ |= self
                .members
                .model()
                .is_none_or(|model| model.provider != answer.provider || model.id != answer.model);
        }
        if let AgentSessionEvent::MessageStart(start) = event
            && start.message.kind() == AgentMessageKind::Custom
        {
            self.has_extension_acted = true;
        }
        if let AgentSessionEvent::ToolExecutionEnd(end) = event
            && let Some(phases) = written_todos(end)
        {
            let is_doubtful = at.cut && may_be_cut(&MemberValue::TodoPhases(phases.clone()));
            let to = Knowledge::Known(MemberValue::TodoPhases(phases));
            return self.change(
                Member::TodoPhases,
                if is_doubtful { Knowledge::Unknown } else { to },
                at.frame,
            );
        }
        let mut effects = Vec::new();
        effects_of_event(event, at.base(), &mut |effect| effects.push(effect));
        for effect in effects {
            self.apply(effect, at);
        }
    }

    fn apply(&mut self, effect: Effect, at: &FrameContext) {
        for (member, to) in self.members.after(effect, at.dialect) {
            let is_doubtful = at.cut && matches!(&to, Knowledge::Known(value) if may_be_cut(value));
            self.change(member, if is_doubtful { Knowledge::Unknown } else { to }, at.frame);
        }
    }

    fn forget_all(&mut self, frame: u64) {
        for member in Member::ALL {
            self.change(member, Knowledge::Unknown, frame);
        }
    }

    /// Changes what is known of a member from this frame on.
    pub fn change(&mut self, member: Member, to: Knowledge, frame: u64) {
        self.sessions.level_changes += u64::from(member == Member::ThinkingLevel);
        self.members.slot_mut(member).change(frame, to);
    }
}

/// Whether another session is current after this response.
pub fn changes_session(success: &RpcSuccess) -> bool {
    success.command().replaces_session() && !success.is_vetoed()
}

/// The least length, in bytes, of a string that a recorder may have shortened.
pub const LONG: usize = 256;

/// Whether a value can contain the string that was shortened in its frame.
pub fn may_be_cut(value: &MemberValue) -> bool {
    fn has_long(value: &Value) -> bool {
        match value {
            Value::String(text) => text.len() >= LONG,
            Value::Array(items) => items.iter().any(has_long),
            Value::Object(members) => members.values().any(has_long),
            _ => false,
        }
    }
    serde_json::to_value(value).is_ok_and(|value| has_long(&value))
}

/// Whether a UI request shows that an extension acts; removing a widget does not.
pub fn is_act(request: &RpcExtensionUIRequest) -> bool {
    !matches!(request, RpcExtensionUIRequest::SetWidget(widget) if widget.widget_lines.is_none())
}
