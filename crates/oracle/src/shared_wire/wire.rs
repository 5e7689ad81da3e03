//! Judges what is no frame of a session, and whose frame a frame is.
//!
//! Rules: `framing`, `schema`, `resp-known-id`, `resp-once`, `resp-command`, `host-line`, `host-schema`, `session-tag`,
//! `session-known`, `session-handle`, `session-last`, `session-sequence`, `session-code`, `session-listed`,
//! `session-dialog`, `host-session`.

use super::{
    JudgedSession, SharedJudge, SharedLine, TAG,
    requests::{Answered, WireRequest, code_of, misfit},
};
use crate::Finding;
use pi_rpc_machine::{Envelope, Findings, Kind, Rule};
use pi_rpc_protocol::{
    AgentSessionEventKind, ListSessionsResponse, MultiSessionCommand, MultiSessionCommandKind,
    MultiSessionErrorCode as Code, MultiSessionEvent, MultiSessionEventKind, MultiSessionSuccess,
    OpenSessionCommand, OpenSessionResponse, RequestId, RpcCommandKind, RpcResponse, from_str,
};
use std::{ops::Range, path::Path};

/// The type of frames that are coalesced.
const UPDATE: &str = AgentSessionEventKind::MessageUpdate.as_str();

impl SharedJudge {
    /// Judges a line of the client.
    pub(super) fn inbound(&mut self, line: &[u8]) -> Vec<Finding> {
        if line.trim_ascii().is_empty() {
            return Vec::new();
        }
        self.frames += 1;
        let text = String::from_utf8_lossy(line);
        let read = SharedLine::read(&text);
        let kind = read.as_ref().and_then(|line| line.value::<String>("type"));
        let (Some(line), Some(kind)) = (read, kind) else {
            self.bad_lines += 1;
            let mut found = Findings::default();
            found.fail(Rule::HostLine, "one JSON object with a string `type`");
            return self.report(found, Kind::Stray, None);
        };
        self.client_sent_command = true;
        match MultiSessionCommandKind::parse(&kind) {
            Some(command) => self.process_command(&text, &line, command),
            None => self.session_command(&line, &kind),
        }
    }

    fn process_command(
        &mut self,
        text: &str,
        line: &SharedLine<'_>,
        kind: MultiSessionCommandKind,
    ) -> Vec<Finding> {
        let mut found = Findings::default();
        let command = from_str::<MultiSessionCommand>(text);
        let session: Option<String> = line.value(TAG[0]);
        let mut request = WireRequest {
            id: line.value("id"),
            command: kind.as_str().to_owned(),
            session: session.clone(),
            is_to_process: true,
            is_valid: command.is_ok(),
            frame: self.frames,
            ..WireRequest::default()
        };
        match command {
            Ok(MultiSessionCommand::OpenSession(command)) => self.ask_to_open(command, &mut request),
            Ok(MultiSessionCommand::CloseSession(_)) => {
                self.judge_name(session.as_deref(), &mut request, &mut found);
                let handle = session.map(|name| self.handle_of(&name).to_owned());
                if let Some(session) = handle.and_then(|handle| self.sessions.get_mut(&handle)) {
                    session.is_closing = true;
                }
            }
            Ok(MultiSessionCommand::AttachSession(command)) => {
                request.asks_for_past = command.after.is_some();
                self.judge_name(session.as_deref(), &mut request, &mut found);
            }
            Ok(_) => {}
            Err(error) => found.fail(Rule::HostSchema, format!("a valid `{}`: {error}", kind.as_str())),
        }
        self.requests.add(request);
        self.report(found, Kind::ProcessCommand(kind), None)
    }

    fn ask_to_open(&self, command: OpenSessionCommand, request: &mut WireRequest) {
        let is_relative = |path: &String| !Path::new(path).is_absolute();
        let is_open =
            |path: &String| self.sessions.values().any(|it| it.path.as_ref() == Some(path) && !it.is_closing);
        request.must_fail = match (&command.cwd, &command.session_path) {
            (Some(directory), _) if is_relative(directory) => Some(Code::InvalidPath),
            (_, Some(path)) if is_open(path) => Some(Code::SessionPathInUse),
            _ => None,
        };
        (request.directory, request.path, request.dialect) =
            (command.cwd, command.session_path, command.dialect);
    }

    /// Judges the session that a command names.
    fn judge_name(&self, name: Option<&str>, request: &mut WireRequest, found: &mut Findings) {
        let Some(name) = name else {
            request.must_fail = Some(Code::MissingSessionId);
            found.fail(Rule::HostSession, "a `sessionId`");
            return;
        };
        let handle = self.handle_of(name);
        let is_over = self.gone.get(handle).is_some_and(|(_, is_over)| *is_over);
        if is_over {
            request.must_fail = Some(Code::UnknownSession);
        }
        found.expect(Rule::HostSession, !is_over, || "a session that is not over".to_owned());
    }

    fn session_command(&mut self, line: &SharedLine<'_>, kind: &str) -> Vec<Finding> {
        let name: Option<String> = line.value(TAG[0]);
        let id: Option<RequestId> = line.value("id");
        let handle = name.as_deref().map(|name| self.handle_of(name).to_owned());
        let seen = RpcCommandKind::parse(kind).map_or(Kind::Stray, Kind::Command);
        let t = self.t;
        if let Some(handle) = &handle
            && let Some(session) = self.sessions.get_mut(handle)
        {
            let lane = session.lane;
            let found = session.inbound(id, kind, line.without(&TAG[..1]), t);
            self.last = Some(handle.clone());
            self.exercised.insert(Rule::HostSession);
            return found.into_iter().map(|finding| self.of_session(finding, handle, lane)).collect();
        }
        let mut found = Findings::default();
        let mut request = WireRequest {
            id,
            command: kind.to_owned(),
            session: handle,
            line: line.without(&TAG[..1]),
            is_valid: true,
            frame: self.frames,
            ..WireRequest::default()
        };
        self.judge_name(name.as_deref(), &mut request, &mut found);
        self.requests.add(request);
        self.report(found, seen, None)
    }

    /// Judges a line of the server.
    pub(super) fn outbound(&mut self, text: &str, cut: bool) -> Vec<Finding> {
        let (envelope, kind) = match Envelope::read(text) {
            Ok(read) => read,
            Err(expected) => return self.not_a_frame(expected),
        };
        // An envelope is an object.
        let Some(line) = SharedLine::read(text) else {
            return self.not_a_frame("one JSON object".to_owned());
        };
        self.server_wrote_frame = true;
        let command: Option<String> = line.value("command").filter(|_| kind == RpcResponse::TYPE);
        let to_process = command.as_deref().and_then(MultiSessionCommandKind::parse);
        match (to_process, MultiSessionEventKind::parse(&kind)) {
            (Some(command), _) => self.process_response(text, &line, &envelope, command),
            (None, Some(event)) => self.process_event_frame(text, &line, event),
            (None, None) => match self.refusal(&line, command.as_deref()) {
                Some(findings) => findings,
                None => self.frame_of_session(&line, &kind, cut),
            },
        }
    }

    pub(super) fn not_a_frame(&mut self, expected: String) -> Vec<Finding> {
        let mut found = Findings::default();
        found.fail(Rule::Framing, expected);
        self.report(found, Kind::Stray, None)
    }

    /// Judges the refusal of a session's command; `None`: it is no refusal by the wire.
    fn refusal(&mut self, line: &SharedLine<'_>, command: Option<&str>) -> Option<Vec<Finding>> {
        let command = command?;
        let error = line.value::<String>("error").filter(|_| line.value("success") == Some(false))?;
        let (tag, id) = (line.value::<String>(TAG[0]), line.value::<RequestId>("id"));
        let kind = Kind::Response(RpcCommandKind::parse(command), false);
        let mut found = Findings::default();
        if tag.is_none() && command == "parse" && id.is_none() && self.bad_lines > 0 {
            self.bad_lines -= 1;
            return Some(self.report(found, kind, None));
        }
        let code = code_of(&error);
        if tag.is_some() && code.is_none() {
            return None;
        }
        if let Answered::Command(request) = self.requests.answer(id.as_ref(), command) {
            found.set_cause(Some(request.frame));
            self.judge_code(&error, &request, &mut found);
            return Some(self.report(found, kind, None));
        }
        // A session that is closed meanwhile refuses commands, too.
        let owner = self.sessions.iter_mut().find_map(|(handle, session)| {
            session.take_command(id.as_ref(), Some(command)).map(|_| handle.clone())
        })?;
        let is_closing = self.sessions.get(&owner).is_some_and(|session| session.is_closing);
        match code {
            None => {
                found.fail(Rule::SessionTag, "the `sessionId` of the command's session");
            }
            Some(Code::UnknownSession | Code::MissingSessionId) => {
                found.expect(Rule::SessionCode, is_closing, || {
                    "no such code, as the session is open".to_owned()
                });
            }
            Some(_) => found.pass(Rule::SessionCode),
        }
        Some(self.report(found, kind, Some(&owner)))
    }

    fn judge_code(&self, error: &str, request: &WireRequest, found: &mut Findings) {
        let Some(code) = code_of(error) else {
            // What a command lacks may be said in any words.
            if request.is_valid {
                found.fail(Rule::SessionCode, "an error that is a code, or begins with one and `: `");
            }
            return;
        };
        let session = request.session.as_deref().map(|name| self.handle_of(name));
        let session = session.and_then(|handle| self.sessions.get(handle));
        let is_open = session.is_some_and(|it| !it.is_closing && it.since < request.frame);
        match misfit(code, request, is_open) {
            Some(expected) => found.fail(Rule::SessionCode, expected),
            None => found.pass(Rule::SessionCode),
        }
    }

    /// Judges whose frame a frame is, and hands it to that session.
    fn frame_of_session(&mut self, line: &SharedLine<'_>, kind: &str, cut: bool) -> Vec<Finding> {
        let mut found = Findings::default();
        let mut gap = None;
        let handle = match line.value::<String>(TAG[0]) {
            Some(handle) => {
                found.pass(Rule::SessionTag);
                self.judge_handle(&handle, &mut found);
                if !self.sessions.contains_key(&handle) && found.broken.is_empty() {
                    // A client that writes to a session is attached to it.
                    self.add_session(&handle, JudgedSession::attached(self.dialect_of(&handle)));
                }
                Some(handle)
            }
            None => {
                found.fail(Rule::SessionTag, "the `sessionId` of the frame's session");
                // What was meant is clear if there is one session.
                let mut handles = self.sessions.keys();
                handles.next().filter(|_| handles.next().is_none()).cloned()
            }
        };
        if let Some(session) = handle.as_ref().and_then(|handle| self.sessions.get_mut(handle))
            && line.raw(TAG[0]).is_some()
        {
            match session.number(line.value(TAG[1])) {
                Ok(left_out) => {
                    found.pass(Rule::SessionSequence);
                    gap = Some(left_out).filter(|gap| !gap.is_empty() && kind != UPDATE);
                }
                Err(expected) => found.fail(Rule::SessionSequence, expected),
            }
        }
        if let (Some(gap), Some(handle)) = (gap, &handle) {
            self.note_gap(&gap, handle);
        }
        let mut findings = self.report(found, Kind::Stray, handle.as_deref());
        if let Some(handle) = handle {
            // It was open when it was not listed.
            findings.extend(self.unlisted.remove(&handle).into_iter().flatten());
            findings.extend(self.session_frame(&handle, line, kind, cut));
        }
        findings
    }

    /// Notes frames that were left out: responses to other clients, or what a snapshot will stand for. Updates of a message
    /// are coalesced and leave no gap behind.
    fn note_gap(&mut self, gap: &Range<u64>, handle: &str) {
        if let Some(session) = self.sessions.get_mut(handle) {
            session.doubt();
        }
        // A process has one client on its pipes.
        if self.ends_sessions {
            let mut found = Findings::default();
            let (first, last) = (gap.start, gap.end - 1);
            found
                .fail(Rule::SessionSequence, format!("the frames {first} to {last}, or a snapshot later on"));
            let findings = self.report(found, Kind::Stray, Some(handle));
            self.gaps.entry(handle.to_owned()).or_insert(findings);
        }
    }

    /// Judges whether frames of a session may come.
    fn judge_handle(&self, handle: &str, found: &mut Findings) {
        match self.gone.get(handle) {
            _ if self.sessions.contains_key(handle) => {
                found.pass(Rule::SessionKnown);
                found.pass(Rule::SessionLast);
            }
            Some((_, true)) => found.fail(Rule::SessionLast, "nothing of a session that is over"),
            _ => {
                // The client may have named it by the id in its file.
                let is_named = self.requests.names(handle) || self.requests.names_unknown(&self.handles);
                found.expect(Rule::SessionKnown, is_named, || {
                    "a session that `open_session` or `attach_session` has returned".to_owned()
                });
            }
        }
    }

    /// Judges a response to a command to the process.
    fn process_response(
        &mut self,
        text: &str,
        line: &SharedLine<'_>,
        envelope: &Envelope<'_>,
        command: MultiSessionCommandKind,
    ) -> Vec<Finding> {
        let mut found = Findings::default();
        envelope.judge(RpcResponse::TYPE, &mut found);
        let success = line.value("success") == Some(true);
        let kind = Kind::ProcessResponse(command, success);
        let id: Option<RequestId> = line.value("id");
        let request = match self.requests.answer(id.as_ref(), command.as_str()) {
            Answered::Command(request) => {
                [Rule::RespKnownId, Rule::RespOnce, Rule::RespCommand]
                    .into_iter()
                    .for_each(|rule| found.pass(rule));
                found.set_cause(Some(request.frame));
                request
            }
            Answered::OtherCommand(request) => {
                found.set_cause(Some(request.frame));
                found.fail(Rule::RespCommand, format!("`{}`, the type of the command", request.command));
                return self.report(found, kind, None);
            }
            Answered::Again => {
                found.fail(Rule::RespOnce, "one response to the command");
                return self.report(found, kind, None);
            }
            Answered::Nothing => {
                found.fail(Rule::RespKnownId, format!("a response to a `{command}` that has none"));
                WireRequest { command: command.as_str().to_owned(), ..WireRequest::default() }
            }
        };
        if !success {
            if command == MultiSessionCommandKind::CloseSession {
                self.keep_open(request.session.as_deref());
            }
            self.judge_code(&line.value::<String>("error").unwrap_or_default(), &request, &mut found);
            return self.report(found, kind, None);
        }
        if let Some(code) = request.must_fail {
            found.fail(Rule::SessionCode, format!("the command to be refused with `{}`", code.as_str()));
        }
        let tag: Option<String> = line.value(TAG[0]);
        match from_str::<MultiSessionSuccess>(text) {
            Err(error) => {
                found.fail(Rule::Schema, format!("a valid response to `{command}`: {error}"));
                self.report(found, kind, None)
            }
            Ok(response) => {
                found.pass(Rule::Schema);
                self.apply(response, &request, tag, found, kind)
            }
        }
    }

    fn keep_open(&mut self, name: Option<&str>) {
        let handle = name.map(|name| self.handle_of(name).to_owned());
        if let Some(session) = handle.and_then(|handle| self.sessions.get_mut(&handle)) {
            session.is_closing = false;
        }
    }

    /// Judges a success, and follows what it changes.
    fn apply(
        &mut self,
        response: MultiSessionSuccess,
        request: &WireRequest,
        tag: Option<String>,
        mut found: Findings,
        kind: Kind,
    ) -> Vec<Finding> {
        match response {
            MultiSessionSuccess::OpenSession(opened) => {
                let findings = self.judge_opened(&opened, tag.as_deref(), found, kind);
                let handle = opened.data.session_id;
                let spoken = self.set_dialect(&handle, request.dialect.as_deref());
                let mut session = JudgedSession::opened(spoken, self.view, &self.start_record());
                session.path.clone_from(&request.path);
                self.handles.insert(opened.data.state.session_id, handle.clone());
                self.add_session(&handle, session);
                findings
            }
            MultiSessionSuccess::CloseSession(_) => {
                let is_tagged = tag.is_some();
                let handle = tag.or_else(|| request.session.clone()).unwrap_or_default();
                let asked = request.session.as_deref().map(|name| self.handle_of(name));
                found.expect(
                    Rule::SessionTag,
                    is_tagged && asked.is_none_or(|asked| asked == handle),
                    || "the `sessionId` of the session that is closed".to_owned(),
                );
                let mut findings = self.report(found, kind, Some(&handle));
                findings.extend(self.end_session(&handle, true, Some(0)));
                self.leave(&handle, true);
                findings
            }
            MultiSessionSuccess::ListSessions(listing) => {
                found.expect(Rule::SessionTag, tag.is_none(), || "no `sessionId`".to_owned());
                self.judge_listing(&listing, request, found, kind)
            }
            MultiSessionSuccess::GetProtocolInfo(_)
            | MultiSessionSuccess::ListStoredSessions(_)
            | MultiSessionSuccess::ReadStoredSession(_)
            | MultiSessionSuccess::RenameStoredSession(_)
            | MultiSessionSuccess::ArchiveSession(_) => {
                found.expect(Rule::SessionTag, tag.is_none(), || "no `sessionId`".to_owned());
                self.report(found, kind, None)
            }
            MultiSessionSuccess::AttachSession(attached) => {
                let handle = attached.data.session_id;
                if !self.sessions.contains_key(&handle) {
                    let spoken = self.set_dialect(&handle, Some(&attached.data.dialect));
                    self.add_session(&handle, JudgedSession::attached(spoken));
                }
                let session = self.sessions.get_mut(&handle);
                match session.map(|it| it.attach(attached.data.sequence, request.asks_for_past)) {
                    Some(Err(expected)) => found.fail(Rule::SessionSequence, expected),
                    Some(Ok(())) | None => found.pass(Rule::SessionSequence),
                }
                self.report(found, kind, Some(&handle))
            }
            MultiSessionSuccess::DetachSession(_) => {
                let name = request.session.as_deref().unwrap_or_default();
                let handle = self.handle_of(name).to_owned();
                let mut findings = self.report(found, kind, Some(&handle));
                findings.extend(self.end_session(&handle, false, None));
                self.leave(&handle, false);
                findings
            }
        }
    }

    fn judge_opened(
        &mut self,
        opened: &OpenSessionResponse,
        tag: Option<&str>,
        mut found: Findings,
        kind: Kind,
    ) -> Vec<Finding> {
        let handle = &opened.data.session_id;
        found.expect(Rule::SessionTag, tag.is_some(), || "the `sessionId` of the new session".to_owned());
        let is_same = tag.is_none_or(|tag| tag == handle);
        found.expect(Rule::SessionHandle, is_same, || format!("`{handle}` as `sessionId` at the top, too"));
        let is_new = !self.sessions.contains_key(handle) && !self.gone.contains_key(handle);
        found.expect(Rule::SessionHandle, is_new, || "a handle that no session has had".to_owned());
        self.report(found, kind, Some(handle))
    }

    fn judge_listing(
        &mut self,
        listing: &ListSessionsResponse,
        request: &WireRequest,
        mut found: Findings,
        kind: Kind,
    ) -> Vec<Finding> {
        let mut listed = std::collections::BTreeSet::new();
        found.pass(Rule::SessionListed);
        for session in &listing.data.sessions {
            let handle = &session.session_id;
            if !listed.insert(handle.clone()) {
                found.fail(Rule::SessionListed, "each session once");
            }
            if self.gone.get(handle).is_some_and(|(since, is_over)| *is_over && *since < request.frame) {
                found.fail(Rule::SessionListed, "no session that is over");
            }
            if let Some(durable) = &session.durable_session_id {
                self.handles.insert(durable.clone(), handle.clone());
            }
        }
        let findings = self.report(found, kind, None);
        for handle in self.open_before(request.frame).into_iter().filter(|it| !listed.contains(it)) {
            let mut found = Findings::default();
            found.set_cause(Some(request.frame));
            found.fail(Rule::SessionListed, "every session that is open");
            let missing = self.report(found, kind, Some(&handle));
            self.unlisted.insert(handle, missing);
        }
        findings
    }

    /// Judges an event about a session.
    fn process_event_frame(
        &mut self,
        text: &str,
        line: &SharedLine<'_>,
        event: MultiSessionEventKind,
    ) -> Vec<Finding> {
        let kind = Kind::ProcessEvent(event);
        let mut found = Findings::default();
        let handle: String = line.value(TAG[0]).unwrap_or_default();
        let event = match from_str::<MultiSessionEvent>(text) {
            Ok(event) => event,
            Err(error) => {
                found.fail(Rule::Schema, format!("a valid `{}`: {error}", event.as_str()));
                return self.report(found, kind, None);
            }
        };
        found.pass(Rule::Schema);
        self.judge_handle(&handle, &mut found);
        let t = self.t;
        let session = self.sessions.get_mut(&handle);
        match (event, session) {
            (MultiSessionEvent::SessionSnapshot(snapshot), Some(session)) => {
                self.gaps.remove(&handle);
                match session.restore(&snapshot, t) {
                    Ok(()) => found.pass(Rule::SessionSequence),
                    Err(expected) => found.fail(Rule::SessionSequence, expected),
                }
            }
            (MultiSessionEvent::DialogResolved(resolved), Some(session)) => {
                let was_open = session.resolve_dialog(&resolved.id);
                found.expect(Rule::SessionDialog, was_open, || "a dialog that is open".to_owned());
            }
            (MultiSessionEvent::SessionEnded(ended), Some(_)) => {
                let mut findings = self.report(found, kind, Some(&handle));
                self.unlisted.remove(&handle);
                // The sessions of a process end with its input; others were ended by another client.
                let is_own_end = self.ends_sessions;
                let status = if ended.error.is_some() { 0 } else { ended.exit_status };
                findings.extend(self.end_session(&handle, !is_own_end, Some(status)));
                self.leave(&handle, true);
                return findings;
            }
            (_, None) => {}
        }
        self.report(found, kind, Some(&handle))
    }
}
