//! Takes frames of both sides, and pairs responses with their commands.

use super::state::{Cause, OpenCommand, SessionState, ShellMessage};
use pi_rpc_machine::UnreadableFrame;
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, Emission, FlowState, Inbound, Outbound, RequestId, RpcCommand,
    RpcCommandKind, RpcExtensionUIRequest, RpcResponse, RpcSuccess, SessionMember as Member,
    members_of_success,
};

/// Most outstanding commands; beyond that, all members become unknown.
const MOST_OPEN: usize = 4096;

/// Most prompts whose user message has not come; beyond that the oldest are dropped.
const MOST_PROMPTS: usize = 64;

/// The state of the flow while a command was outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowMet {
    Idle,
    Run,
    /// Another state, or more than one.
    Other,
}

impl SessionState {
    /// Takes a frame that the host writes.
    pub fn inbound(&mut self, frame: &Inbound) {
        self.take_frame(|state| {
            match frame {
                Inbound::Command(command) => state.note_command(command),
                Inbound::ExtensionUIResponse(response) => state.close_dialog(response.id()),
                Inbound::HostToolUpdate(_) | Inbound::HostToolResult(_) | Inbound::HostUriResult(_) => {}
            }
            state.machine.inbound(frame);
        });
    }

    /// Takes a frame that the server has written. An error without an id is attributed to a command as in
    /// [`Client::call`](super::super::Client::call).
    pub fn outbound(&mut self, mut frame: Outbound) {
        if let Outbound::Response(RpcResponse::ErrorResponse(error)) = &mut frame
            && matches!(error.id, None | Some(RequestId::Null))
        {
            let open = self.open.iter().map(|open| (open.since, open.kind));
            let origin = self.dialect.origin_of_error(error, open);
            let origin = self.open.iter().find(|open| Some(open.since) == origin);
            error.id = origin.and_then(|open| open.id.clone());
        }
        self.outbound_with_ids(&Emission::Frame(frame));
    }

    /// [`outbound`](Self::outbound) for frames whose errors have been given the ids of their commands.
    pub(crate) fn outbound_with_ids(&mut self, emission: &Emission) {
        self.take_frame(|state| {
            let before = state.machine.flow();
            state.machine.outbound(emission);
            state.note_move(before);
            let Emission::Frame(frame) = emission else { return };
            match frame {
                Outbound::Response(RpcResponse::Success(success)) => state.complete_command(success, before),
                Outbound::Response(RpcResponse::ErrorResponse(error)) => {
                    let closed = state.close(error.id.as_ref(), None);
                    // Some servers refuse a prompt after its acknowledgement, which may have queued it here.
                    if closed.is_none() {
                        state.forget_all(RpcCommandKind::Prompt.changes(), Cause::Command);
                    }
                }
                Outbound::AgentSessionEvent(event) => {
                    state.apply_event(event);
                    if let AgentSessionEvent::MessageStart(start) = event
                        && matches!(start.message, AgentMessage::User(_))
                    {
                        state.delivered = state.frames;
                    }
                }
                Outbound::ExtensionUIRequest(RpcExtensionUIRequest::Cancel(cancel)) => {
                    state.close_dialog(&cancel.target_id);
                }
                Outbound::ExtensionUIRequest(request) if request.kind().is_dialog() => {
                    state.dialogs.push(request.clone());
                    state.revision += 1;
                }
                _ => {}
            }
        });
    }

    /// Takes a line of the server that is no valid frame of the dialect.
    pub fn unreadable(&mut self, line: UnreadableFrame) {
        self.take_frame(|state| {
            let before = state.machine.flow();
            let (answer, kind) = (line.answer.clone(), line.kind);
            state.machine.unreadable_line(line);
            state.note_move(before);
            match answer {
                Some(answer) => {
                    let open = state.close(answer.id.as_ref(), RpcCommandKind::parse(&answer.command));
                    if let Some(open) = open.filter(|_| answer.success) {
                        state.forget_all(open.kind.changes(), Cause::Command);
                    }
                }
                None if kind.is_some_and(|kind| kind.is_event()) => {
                    state.forget_all(&Member::ALL, Cause::Loss)
                }
                None => {}
            }
        });
    }

    /// Makes all members unknown, as frames were missed.
    pub fn forget_everything(&mut self) {
        self.take_frame(|state| state.forget_all(&Member::ALL, Cause::Loss));
    }

    /// Takes one frame, and counts a revision if the state of the conversation changes.
    fn take_frame(&mut self, frame: impl FnOnce(&mut Self)) {
        self.frames += 1;
        let before = (self.state(), self.is_compacting());
        frame(self);
        if (self.state(), self.is_compacting()) != before {
            self.revision += 1;
        }
    }

    fn note_command(&mut self, command: &RpcCommand) {
        let kind = command.kind();
        self.open.push(OpenCommand {
            id: command.id().cloned(),
            kind,
            since: self.frames,
            moves: self.moves,
            flow: self.machine.flow(),
            command: (!kind.changes().is_empty()).then(|| Box::new(command.clone())),
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
            self.forget_all(&Member::ALL, Cause::Loss);
        }
    }

    /// Removes the outstanding command that a response answers.
    fn close(&mut self, id: Option<&RequestId>, kind: Option<RpcCommandKind>) -> Option<OpenCommand> {
        let is_it = |open: &OpenCommand| open.id.as_ref() == id && (id.is_some() || Some(open.kind) == kind);
        let place = self.open.iter().position(is_it)?;
        Some(self.open.remove(place))
    }

    fn complete_command(&mut self, success: &RpcSuccess, before: FlowState) {
        let kind = RpcCommandKind::parse(success.kind().as_str());
        let Some(open) = self.close(success.id(), kind) else { return };
        self.apply_response(&open, success);
        let own = u64::from(self.machine.flow() != before);
        let met = match open.flow {
            _ if open.moves + own != self.moves => FlowMet::Other,
            FlowState::Idle => FlowMet::Idle,
            flow if flow.is_streaming() => FlowMet::Run,
            _ => FlowMet::Other,
        };
        self.apply_success(&open, success, met);
    }

    /// Takes over the members of a response that nothing has changed since its command was sent.
    fn apply_response(&mut self, open: &OpenCommand, success: &RpcSuccess) {
        if open.is_part {
            return;
        }
        let mut values = Vec::new();
        members_of_success(success, self.dialect.base(), &mut |_, value| values.push(value));
        for value in values {
            let member = value.member();
            if self.is_steady(member, open.since) {
                self.count_agreement(member, self.get(member).map(|known| *known == value));
                self.store(member, Some(value));
            }
        }
        match success {
            RpcSuccess::GetMessages(list) => {
                let messages = &list.data.messages;
                if self.is_steady(Member::Messages, open.since) && self.shell_message == ShellMessage::None {
                    self.count_agreement(Member::Messages, self.messages().map(|known| known == messages));
                    let changes = self.messages.replace(messages);
                    self.revise(Member::Messages, changes);
                }
            }
            RpcSuccess::GetEntries(list) => {
                let entries = &list.data.entries;
                if self.is_steady(Member::Entries, open.since) {
                    self.count_agreement(Member::Entries, self.entries().map(|known| known == entries));
                    let changes = self.entries.replace(entries);
                    self.revise(Member::Entries, changes);
                }
            }
            RpcSuccess::GetSessionStats(stats) => {
                let tokens = &stats.data.tokens;
                // During a run the sum may include messages whose events are still to come.
                let rests = open.flow == FlowState::Idle && open.moves == self.moves;
                if self.is_steady(Member::Usage, open.since) && rests {
                    self.count_agreement(Member::Usage, self.usage().map(|known| known == tokens));
                    self.set_usage(Some(tokens.clone()));
                }
            }
            _ => {}
        }
    }

    fn count_agreement(&mut self, member: Member, agrees: Option<bool>) {
        let agreement = &mut self.agreements[member as usize];
        match agrees {
            Some(true) => agreement.same += 1,
            Some(false) => agreement.different += 1,
            None => {}
        }
    }

    fn close_dialog(&mut self, id: &str) {
        let before = self.dialogs.len();
        self.dialogs.retain(|dialog| dialog.id() != id);
        self.revision += u64::from(self.dialogs.len() != before);
    }

    /// Counts a move of the flow, if it has moved.
    fn note_move(&mut self, before: FlowState) {
        let flow = self.machine.flow();
        if flow == before {
            return;
        }
        self.moves += 1;
        match self.shell_message {
            ShellMessage::Waiting if flow == FlowState::Idle => self.shell_message = ShellMessage::Idle,
            ShellMessage::Idle if flow.is_streaming() => self.shell_message = ShellMessage::None,
            _ => {}
        }
    }
}
