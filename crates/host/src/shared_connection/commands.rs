//! The commands of a host on a connection of many sessions.

use super::{
    Attachment, Outcome, SharedConnection, Watched,
    response_lines::{line_of, refusal, tag, tagged},
};
use crate::{
    host_error::HostError,
    open_request::{OpenRequest, Start},
    registry::ReservedSession,
    scoped_host::ScopedHost,
    session_handle::SessionRequest,
};
use pi_rpc_protocol::{
    ArchiveSessionResponse, AttachSessionResponse, AttachedSession, CloseSessionResponse,
    DetachSessionResponse, GetProtocolInfoResponse, JsonObject, ListSessionsResponse,
    ListStoredSessionsResponse, MultiSessionCommand, MultiSessionSuccess, OpenSessionCommand,
    OpenSessionResponse, OpenedSessionInfo, ProtocolCapability, ProtocolInfo, ProtocolMode,
    ReadStoredSessionResponse, RenameStoredSessionResponse, RequestId, SessionListing,
};
use std::path::PathBuf;
use tokio::sync::oneshot;

/// The version of this wire. Source: senpi reference.
const PROTOCOL_VERSION: u64 = 1;

impl SharedConnection {
    pub(super) async fn execute(&mut self, command: MultiSessionCommand) -> Option<Vec<u8>> {
        match command {
            MultiSessionCommand::GetProtocolInfo(command) => {
                let data = ProtocolInfo {
                    protocol_version: PROTOCOL_VERSION,
                    capabilities: ProtocolCapability::ALL.to_vec(),
                    mode: ProtocolMode::Multi,
                };
                Some(line_of(&MultiSessionSuccess::from(GetProtocolInfoResponse { id: command.id, data })))
            }
            MultiSessionCommand::ListSessions(command) => {
                let data = SessionListing { sessions: self.host.list().await };
                Some(line_of(&MultiSessionSuccess::from(ListSessionsResponse { id: command.id, data })))
            }
            MultiSessionCommand::OpenSession(command) => {
                let id = command.id.clone();
                // Listed from now on, whatever comes next.
                let opening = match open_request(command).and_then(|request| self.host.reserve(request)) {
                    Ok(opening) => opening,
                    Err(error) => return Some(refusal(id, "open_session", &error)),
                };
                let (host, attachment) = (self.host.clone(), self.attachment(Some(0)));
                let outcomes = self.outcomes.clone();
                self.outstanding += 1;
                tokio::spawn(async move {
                    let outcome = open(&host, id, opening, attachment).await;
                    // A connection that is gone needs no response.
                    let _ = outcomes.send(outcome);
                });
                None
            }
            MultiSessionCommand::CloseSession(command) => {
                let (host, outcomes) = (self.host.clone(), self.outcomes.clone());
                self.closing.insert(command.session_id.clone());
                self.outstanding += 1;
                tokio::spawn(async move {
                    let outcome = match host.close(&command.session_id).await {
                        Ok(()) => {
                            let data = JsonObject::new();
                            let response = CloseSessionResponse { id: command.id, data };
                            let line = line_of(&MultiSessionSuccess::from(response));
                            let line = tagged(line, &tag(&command.session_id, None));
                            Outcome::Closed(command.session_id, line)
                        }
                        Err(error) => Outcome::Response(refusal(command.id, "close_session", &error)),
                    };
                    let _ = outcomes.send(outcome);
                });
                None
            }
            MultiSessionCommand::ListStoredSessions(command) => {
                self.answer_later("list_stored_sessions", command.id.clone(), |host, id| async move {
                    let data = host.list_stored(command).await?;
                    Ok(ListStoredSessionsResponse { id, data }.into())
                })
            }
            MultiSessionCommand::ReadStoredSession(command) => {
                self.answer_later("read_stored_session", command.id.clone(), |host, id| async move {
                    let data = host.read_stored(command).await?;
                    Ok(ReadStoredSessionResponse { id, data }.into())
                })
            }
            MultiSessionCommand::RenameStoredSession(command) => {
                self.answer_later("rename_stored_session", command.id.clone(), |host, id| async move {
                    let data = host.rename_stored(command).await?;
                    Ok(RenameStoredSessionResponse { id, data }.into())
                })
            }
            MultiSessionCommand::ArchiveSession(command) => {
                self.answer_later("archive_session", command.id.clone(), |host, id| async move {
                    let data = host.archive(command).await?;
                    Ok(ArchiveSessionResponse { id, data }.into())
                })
            }
            MultiSessionCommand::AttachSession(command) => {
                let result = self.watch(&command.session_id, command.after).await;
                let attached = result.map(|watched| AttachedSession {
                    session_id: watched.session.id.clone(),
                    dialect: watched.session.dialect.as_str().to_owned(),
                    sequence: watched.attached.sequence,
                });
                Some(match attached {
                    Ok(data) => {
                        let response = AttachSessionResponse { id: command.id, data };
                        line_of(&MultiSessionSuccess::from(response))
                    }
                    Err(error) => refusal(command.id, "attach_session", &error),
                })
            }
            MultiSessionCommand::DetachSession(command) => {
                let Some(watched) = self.sessions.remove(&command.session_id) else {
                    let error = HostError::UnknownSession;
                    return Some(refusal(command.id, "detach_session", &error));
                };
                watched.detach().await;
                let response = DetachSessionResponse { id: command.id, data: JsonObject::new() };
                Some(line_of(&MultiSessionSuccess::from(response)))
            }
        }
    }

    /// Answers a command that takes its time; other commands are served meanwhile.
    fn answer_later<F>(
        &mut self,
        command: &'static str,
        id: Option<RequestId>,
        answer: impl FnOnce(ScopedHost, Option<RequestId>) -> F,
    ) -> Option<Vec<u8>>
    where
        F: Future<Output = Result<MultiSessionSuccess, HostError>> + Send + 'static,
    {
        let (outcomes, answer) = (self.outcomes.clone(), answer(self.host.clone(), id.clone()));
        self.outstanding += 1;
        tokio::spawn(async move {
            let line = match answer.await {
                Ok(response) => line_of(&response),
                Err(error) => refusal(id, command, &error),
            };
            // A connection that is gone needs no response.
            let _ = outcomes.send(Outcome::Response(line));
        });
        None
    }
}

async fn open(
    host: &ScopedHost,
    id: Option<RequestId>,
    opening: ReservedSession,
    attachment: Attachment,
) -> Outcome {
    let opened = async {
        let session = host.start(opening).await?;
        let watched = Watched::attach(host, session, attachment).await?;
        let (reply, state) = oneshot::channel();
        let _ = watched.session.requests.send(SessionRequest::State(reply)).await;
        let state = state.await.map_err(|_| HostError::UnknownSession)?;
        Ok((watched, state))
    };
    match opened.await {
        Ok((watched, state)) => {
            let data = OpenedSessionInfo { session_id: watched.session.id.clone(), state };
            let tag = tag(&data.session_id, None);
            let line = line_of(&MultiSessionSuccess::from(OpenSessionResponse { id, data }));
            Outcome::Opened(Box::new((watched, tagged(line, &tag))))
        }
        Err(error) => Outcome::Response(refusal(id, "open_session", &error)),
    }
}

fn open_request(command: OpenSessionCommand) -> Result<OpenRequest, HostError> {
    let refuse = |reason: &str| HostError::OpenFailed(reason.to_owned());
    if command.permission_preset.is_some() {
        return Err(refuse(
            "permissionPreset: presets are not supported; start the host with --confirm-tools",
        ));
    }
    let dialect = OpenRequest::dialect(command.dialect.as_deref())?;
    Ok(OpenRequest {
        dialect,
        start: match (command.session_path, command.in_memory) {
            (Some(path), _) => Start::Named(path),
            (None, Some(true)) => Start::InMemory,
            (None, _) => Start::New,
        },
        directory: command.cwd.map(PathBuf::from),
        provider: command.provider,
        model: command.model_id,
        level: command.thinking_level,
        name: command.name,
        budget: OpenRequest::budget([
            ("max_cost", command.max_cost),
            ("max_turns", command.max_turns),
            ("max_time", command.max_time),
        ])?,
        ..OpenRequest::default()
    })
}
