//! Lines of the client, on their way to the server.

use crate::{
    bridges::bridges,
    front::{ClientCommand, Front, OpenCommand, Origin, Output, WaitingCommand, typed},
    names::renamed_command,
    plan::TYPE,
    totals::StatsBridge,
};
use pi_rpc_protocol::{
    AbortRetryCommand, Check as _, Disposition, EndedWork, FlowState, GetMessagesCommand, Inbound, LineError,
    NegotiateProtocolResponse, NegotiatedProtocol, Outbound, RequestId, RpcCommand, RpcCommandKind,
    RpcErrorResponse, RpcSuccess, errors, read_line,
};
use serde_json::Value;

impl Front {
    /// Takes a line of the client.
    pub fn client_line(&mut self, line: &[u8], out: &mut Output) {
        match read_line(line, self.client.dialect) {
            Ok(None) => {}
            Ok(Some(Inbound::Command(command))) => self.client_command(command, out),
            Ok(Some(frame)) => self.pass_inbound(&frame, out),
            Err(error) => {
                self.client.machine.invalid_line(&error);
                if error.is_answered() {
                    self.emit(Outbound::Response(error.response(self.client.dialect).into()), out);
                }
            }
        }
        self.release_waiting(out);
    }

    /// Takes a line of the client that has gone to the server as it is, before anything was translated.
    pub fn passed_client_line(&mut self, line: &[u8]) {
        let mut is_queued = false;
        if let Ok(Some(frame)) = read_line(line, self.client.dialect) {
            if let Inbound::Command(command) = &frame {
                let allowed = self.client.machine.disposition(command);
                is_queued = allowed.is_some_and(|case| case.disposition == Disposition::Queue);
            }
            self.client.machine.inbound(&frame);
        }
        match read_line(line, self.server.dialect) {
            Ok(Some(Inbound::Command(command))) => {
                let origin = Origin::Client(Box::new(ClientCommand::new(&command, is_queued)));
                self.note_sent(command, origin);
            }
            Ok(Some(frame)) => drop(self.server.machine.inbound(&frame)),
            // The server has answered it, and nothing follows.
            Ok(None) | Err(_) => {}
        }
    }

    fn client_command(&mut self, command: RpcCommand, out: &mut Output) {
        let kind = command.kind();
        let allowed = self.client.machine.disposition(&command);
        let is_sure = self.client.machine.flow() != FlowState::Starting;
        self.client.machine.inbound(&Inbound::Command(command.clone()));
        if let RpcCommand::NegotiateProtocol(it) = &command {
            return self.negotiate(it.id.clone(), it.protocol_version, out);
        }
        let is_queued = allowed.is_some_and(|case| case.disposition == Disposition::Queue);
        let asked = Box::new(ClientCommand::new(&command, is_queued));
        let Some(carried) = self.carry_command(&command, kind) else {
            if self.set_host_tools(&command, out) {
                return;
            }
            return match self.first_step(&command, kind) {
                Some((first, then)) => self.send_own(first, Origin::Step(Box::new(then), asked), out),
                None => self.refuse_unknown(&command, out),
            };
        };
        let is_refused = |case: &pi_rpc_protocol::Case| case.disposition == Disposition::Reject;
        let server = self.server.machine.disposition(&carried);
        let is_known = self.server.machine.flow() != FlowState::Starting;
        match (allowed, server) {
            // The client's own server would refuse it, and this one would not, or only after it has accepted it.
            (Some(case), server)
                if is_sure && is_refused(case) && (self.accepts_first || !server.is_some_and(is_refused)) =>
            {
                let text = case.error.map_or("", |error| error.template(self.client.base()));
                self.fail_command(command.id().cloned(), kind, text, out);
            }
            // The client's own server would serve it, and this one refuses it until something has ended.
            (Some(case), Some(server)) if is_known && !is_refused(case) && is_refused(server) => {
                self.waiting.push_back(WaitingCommand { command: carried, origin: Origin::Client(asked) });
                if case.disposition == Disposition::Preempt {
                    self.end_retry(out);
                }
            }
            // The messages that the client counts are listed first.
            _ if kind == RpcCommandKind::GetSessionStats && self.stats == StatsBridge::OfContext => {
                self.send_own(
                    GetMessagesCommand::default().into(),
                    Origin::Step(Box::new(carried), asked),
                    out,
                );
            }
            _ => self.send(carried, Origin::Client(asked), out),
        }
    }

    /// The command in the server's dialect.
    fn carry_command(&self, command: &RpcCommand, kind: RpcCommandKind) -> Option<RpcCommand> {
        let to = renamed_command(self.client.base(), self.server.base(), kind)?;
        let mut value = serde_json::to_value(command).ok()?;
        value.as_object_mut()?.insert(TYPE.to_owned(), to.as_str().into());
        let value = self.to_server.carry(self.to_server.frame(to.as_str())?, value, &self.account)?;
        typed(&value).ok()
    }

    /// The first of the commands that do what this one does, and the last.
    fn first_step(&self, command: &RpcCommand, kind: RpcCommandKind) -> Option<(RpcCommand, RpcCommand)> {
        let steps = &bridges().sequences.get(kind.as_str())?.steps;
        let [first, last] = steps.as_slice() else { return None };
        let step = |name: &str| -> Option<RpcCommand> {
            let kind = RpcCommandKind::parse(name).filter(|kind| kind.is_in(self.server.base()))?;
            let mut value = serde_json::to_value(command).ok()?;
            value.as_object_mut()?.insert(TYPE.to_owned(), kind.as_str().into());
            typed(&self.to_server.carry(self.to_server.frame(kind.as_str())?, value, &self.account)?).ok()
        };
        Some((step(first)?, step(last)?))
    }

    /// Sends a command to the server.
    pub(crate) fn send(&mut self, command: RpcCommand, origin: Origin, out: &mut Output) {
        write_line(&self.note_sent(command, origin), out);
    }

    /// Notes a command that the server gets.
    fn note_sent(&mut self, command: RpcCommand, origin: Origin) -> Inbound {
        if command.kind().ended_work() == Some(EndedWork::Run)
            && self.server.machine.flow() != FlowState::Idle
        {
            self.account.is_aborted = true;
        }
        self.commands_sent += 1;
        self.open.push(OpenCommand {
            number: self.commands_sent,
            id: command.id().cloned(),
            kind: command.kind(),
            origin,
            is_answered: false,
        });
        let frame = Inbound::Command(command);
        self.server.machine.inbound(&frame);
        frame
    }

    /// Sends the commands that have waited and that the server accepts now.
    pub(crate) fn release_waiting(&mut self, out: &mut Output) {
        let Some(first) = self.waiting.front() else { return };
        let case = self.server.machine.disposition(&first.command);
        let is_refused = case.is_some_and(|case| case.disposition == Disposition::Reject);
        // The next one may wait for the run of this one.
        let is_open = self.open.iter().any(|it| it.kind == first.command.kind() && !it.is_answered);
        if !is_refused && !is_open && self.server.machine.flow() != FlowState::Starting {
            let Some(WaitingCommand { command, origin }) = self.waiting.pop_front() else { return };
            self.send(command, origin, out);
        }
    }

    /// Ends the wait for a retry, as the client's own server does for the command that was given.
    fn end_retry(&mut self, out: &mut Output) {
        let ends_retry = |kind: &RpcCommandKind| {
            kind.ended_work() == Some(EndedWork::Retry) && kind.is_in(self.server.base())
        };
        if RpcCommandKind::ALL.iter().any(ends_retry) {
            self.send_own(AbortRetryCommand::default().into(), Origin::Own, out);
        }
    }

    /// A frame that is no command: a response to a dialog, or a result of a tool of the host.
    fn pass_inbound(&mut self, frame: &Inbound, out: &mut Output) {
        self.client.machine.inbound(frame);
        if self.take_host_frame(frame, out) {
            return;
        }
        let Ok(value) = serde_json::to_value(frame) else { return };
        let id = value.get(TYPE).and_then(Value::as_str).and_then(|kind| self.to_server.frame(kind));
        let carried = id.and_then(|id| self.to_server.carry(id, value, &self.account));
        match carried
            .and_then(|value| typed::<Inbound>(&value).ok())
            .filter(|it| !it.is_refused(self.server.base()))
        {
            Some(frame) => {
                self.server.machine.inbound(&frame);
                write_line(&frame, out);
            }
            None => out
                .notices
                .push("a frame of the client was dropped: the server's dialect does not have it".to_owned()),
        }
    }

    /// Refuses a command that the server does not have, as a server of the client's dialect refuses an unknown one.
    fn refuse_unknown(&mut self, command: &RpcCommand, out: &mut Output) {
        let error =
            LineError::Unknown { kind: command.kind().as_str().to_owned(), id: command.id().cloned() };
        let mut response = error.response(self.client.dialect);
        // The client waits for this response; the dialect only leaves the id out for names that it does not know.
        response.id = command.id().cloned();
        self.emit(Outbound::Response(response.into()), out);
    }

    /// Answers a command with an error of the client's dialect.
    pub(crate) fn fail_command(
        &mut self,
        id: Option<RequestId>,
        kind: RpcCommandKind,
        text: &str,
        out: &mut Output,
    ) {
        let response =
            RpcErrorResponse { id, command: kind.as_str().to_owned(), error: text.to_owned(), code: None };
        self.emit(Outbound::Response(response.into()), out);
    }

    /// Agrees on a version of the protocol, which concerns the front alone.
    fn negotiate(&mut self, id: Option<RequestId>, version: u64, out: &mut Output) {
        let versions = &self.client.dialect.record().protocol_versions;
        let supported = [versions.first, versions.chunks].into_iter().flatten();
        match supported.into_iter().find(|it| *it == version) {
            Some(version) => {
                let data = NegotiatedProtocol { protocol_version: version };
                let response = RpcSuccess::from(NegotiateProtocolResponse { id, data });
                self.emit(Outbound::Response(response.into()), out);
                self.negotiated = Some(version);
            }
            None => {
                let text = errors::protocol_version(self.client.base(), &version.to_string());
                self.fail_command(id, RpcCommandKind::NegotiateProtocol, &text, out);
            }
        }
    }
}

/// Writes a frame to the server.
pub fn write_line(frame: &Inbound, out: &mut Output) {
    // Writing to memory cannot fail, and every key of a frame is a string.
    let _ = serde_json::to_writer(&mut out.to_server, frame);
    out.to_server.push(b'\n');
}
