//! Which session of the agent belongs to which of ours, and the messages that it has.
//!
//! A session of ours is a list of messages; a session of the agent remembers its prompts. The messages name the agent's
//! session (`responseId` of its answers), so that it is found again in a session file. It is used if it has a beginning of
//! our messages and nothing else: then the rest is the prompt. After going back in the conversation it has more, and no
//! method of ACP takes messages back.

use super::{
    choices::{API, AgentSettings, Change, changes},
    connection::Connection,
    prompt::is_input,
};
use agent_client_protocol::v1::schema::{
    LoadSessionRequest, NewSessionRequest, ResumeSessionRequest, SessionConfigOptionValue, SessionId,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use pi_rpc_engine::ModelCall;
use pi_rpc_protocol::{AgentMessage, AssistantMessage, StopReason};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    sync::Arc,
};

/// A session of the agent that is open.
#[derive(Clone, Debug)]
pub struct OpenSession {
    /// Its id.
    pub id: SessionId,
    /// Its settings, as far as known.
    pub settings: AgentSettings,
    /// Hashes of the messages that were sent to it, in order.
    sent: Vec<u64>,
}

/// The sessions of the agent.
#[derive(Debug)]
pub struct Sessions {
    /// By the agent's id.
    open: HashMap<String, OpenSession>,
    /// The agent's id, by ours. Two of ours may have the same: one is a copy of the other.
    bound: HashMap<String, String>,
    /// The session that belongs to none of ours yet.
    spare: Option<String>,
}

/// What to send: our new messages, and the session that they go to.
pub struct Delivery {
    /// The agent's session.
    pub session: SessionId,
    /// The new messages.
    pub messages: Vec<Arc<AgentMessage>>,
}

impl Sessions {
    /// The sessions of an agent that has just opened one.
    pub fn new(spare: OpenSession) -> Self {
        let id = spare.id.to_string();
        Self { open: HashMap::from([(id.clone(), spare)]), bound: HashMap::new(), spare: Some(id) }
    }

    /// Forgets all sessions: the agent is gone, and with it what it does not keep itself.
    pub fn close_all(&mut self) {
        (self.open, self.bound, self.spare) = Default::default();
    }

    /// Brings the agent's session for a call to its model and level, and returns what to send there.
    ///
    /// # Errors
    ///
    /// The agent does not know the conversation, or refuses a method.
    pub async fn prepare(
        &mut self,
        connection: &mut Connection,
        directory: &Path,
        call: &ModelCall,
    ) -> Result<Delivery, String> {
        if !self.bound.contains_key(&call.session_id) {
            let id = match known_session(&call.messages)? {
                Some(id) if self.open.contains_key(&id) => id,
                Some(id) => {
                    let session = reopen(connection, directory, id, &call.messages).await?;
                    self.add(session)
                }
                None => match self.spare.take() {
                    Some(spare) => spare,
                    None => {
                        let session = OpenSession::begin(connection, directory).await?;
                        self.add(session)
                    }
                },
            };
            self.bound.insert(call.session_id.clone(), id);
        }
        let Some(session) = self.get_mut(&call.session_id) else {
            return Err("The session of the agent is gone".to_owned());
        };
        let messages = session.unsent(&call.messages)?;
        if messages.is_empty() {
            return Err("There is no message that the agent does not have".to_owned());
        }
        for change in changes(&session.settings, &call.model, call.level) {
            session.change(connection, change).await?;
        }
        Ok(Delivery { session: session.id.clone(), messages })
    }

    /// The messages of an open turn that the agent does not have: the host steers.
    pub fn unsent(&mut self, call: &ModelCall) -> Result<Vec<Arc<AgentMessage>>, String> {
        match self.get_mut(&call.session_id) {
            Some(session) => session.unsent(&call.messages),
            None => Ok(Vec::new()),
        }
    }

    /// Notes that messages were sent.
    pub fn add_sent(&mut self, session_id: &str, messages: &[Arc<AgentMessage>]) {
        if let Some(session) = self.get_mut(session_id) {
            session.sent.extend(messages.iter().map(|message| hash(message)));
        }
    }

    /// Notes that the last messages were not taken.
    pub fn remove_sent(&mut self, session_id: &str, count: usize) {
        if let Some(session) = self.get_mut(session_id) {
            session.sent.truncate(session.sent.len().saturating_sub(count));
        }
    }

    /// The settings of the agent's session with this id.
    pub fn settings_mut(&mut self, id: &SessionId) -> Option<&mut AgentSettings> {
        self.open.get_mut(&*id.0).map(|session| &mut session.settings)
    }

    /// The agent's session of ours with this id.
    fn get_mut(&mut self, session_id: &str) -> Option<&mut OpenSession> {
        self.open.get_mut(self.bound.get(session_id)?)
    }

    fn add(&mut self, session: OpenSession) -> String {
        let id = session.id.to_string();
        self.open.insert(id.clone(), session);
        id
    }
}

/// Longest id of an agent's session, in bytes: it is kept with our own.
const MAX_ID: usize = 4096;

/// Checks the id that an agent gives to a session.
fn check_id(id: &SessionId) -> Result<(), String> {
    match id.0.is_empty() || id.0.len() > MAX_ID || id.0.contains(char::is_control) {
        true => {
            let shown: String = id.0.chars().take(100).collect();
            let expected = format!("expected an id of 1 to {MAX_ID} bytes without control characters");
            Err(format!("The agent's answer to session/new: sessionId: {expected}, got {shown:?}"))
        }
        false => Ok(()),
    }
}

impl OpenSession {
    /// Begins a session of the agent.
    ///
    /// # Errors
    ///
    /// The agent refuses: it may want its user to log in first.
    pub async fn begin(connection: &mut Connection, directory: &Path) -> Result<Self, String> {
        let begun = connection.request("session/new", NewSessionRequest::new(directory)).await?;
        let settings =
            AgentSettings { options: begun.config_options.unwrap_or_default(), modes: begun.modes };
        check_id(&begun.session_id)?;
        Ok(Self { id: begun.session_id, settings, sent: Vec::new() })
    }

    /// The messages that the session does not have.
    fn unsent(&self, messages: &[Arc<AgentMessage>]) -> Result<Vec<Arc<AgentMessage>>, String> {
        let inputs: Vec<_> = messages.iter().filter(|message| is_input(message)).collect();
        let is_beginning = self.sent.len() <= inputs.len()
            && self.sent.iter().zip(&inputs).all(|(sent, message)| *sent == hash(message));
        match is_beginning {
            true => Ok(inputs[self.sent.len()..].iter().map(|message| (*message).clone()).collect()),
            false => {
                Err("The agent cannot go back in its session, and it has messages that are not in this one. \
                 Begin a new session"
                    .to_owned())
            }
        }
    }

    async fn change(&mut self, connection: &mut Connection, change: Change) -> Result<(), String> {
        match change {
            Change::Option { id, value } => {
                let value = SessionConfigOptionValue::value_id(value);
                let request = SetSessionConfigOptionRequest::new(self.id.clone(), id, value);
                let set = connection.request("session/set_config_option", request).await?;
                self.settings.options = set.config_options;
            }
            Change::Mode(mode) => {
                let request = SetSessionModeRequest::new(self.id.clone(), mode.clone());
                connection.request("session/set_mode", request).await?;
                if let Some(modes) = &mut self.settings.modes {
                    modes.current_mode_id = mode.into();
                }
            }
        }
        Ok(())
    }
}

/// Opens a session that the agent keeps.
async fn reopen(
    connection: &mut Connection,
    directory: &Path,
    id: String,
    messages: &[Arc<AgentMessage>],
) -> Result<OpenSession, String> {
    let id = SessionId::new(id);
    let capabilities = &connection.capabilities;
    let settings = if capabilities.session_capabilities.resume.is_some() {
        let request = ResumeSessionRequest::new(id.clone(), directory);
        let resumed = connection.request("session/resume", request).await?;
        AgentSettings { options: resumed.config_options.unwrap_or_default(), modes: resumed.modes }
    } else if capabilities.load_session {
        let request = LoadSessionRequest::new(id.clone(), directory);
        let loaded = connection.request("session/load", request).await?;
        AgentSettings { options: loaded.config_options.unwrap_or_default(), modes: loaded.modes }
    } else {
        return Err(format!(
            "The agent {} cannot go on with its session {id}: it has neither session/resume nor session/load. \
             Begin a new session",
            connection.name
        ));
    };
    let answered = messages.iter().rposition(|message| session_of(message).is_some()).unwrap_or(0);
    let sent = messages[..answered].iter().filter(|message| is_input(message));
    Ok(OpenSession { id, settings, sent: sent.map(|message| hash(message)).collect() })
}

/// The session of the agent that the newest answer names; `None`: there is no answer.
///
/// # Errors
///
/// There are answers of another model, which the agent does not know.
fn known_session(messages: &[Arc<AgentMessage>]) -> Result<Option<String>, String> {
    if let Some(id) = messages.iter().rev().find_map(|message| session_of(message)) {
        return Ok(Some(id.to_owned()));
    }
    let foreign = messages.iter().find_map(|message| match &**message {
        AgentMessage::Assistant(answer) if answer.api != API && !answer.content.is_empty() => Some(answer),
        _ => None,
    });
    match foreign {
        Some(AssistantMessage { provider, model, .. }) => Err(format!(
            "The agent does not know this conversation: {provider}/{model} has answered in it. Begin a new session"
        )),
        None => Ok(None),
    }
}

/// The session of the agent that an answer names. A failed answer does not count: the agent may have died of it.
fn session_of(message: &AgentMessage) -> Option<&str> {
    match message {
        AgentMessage::Assistant(answer) if answer.api == API && answer.stop_reason != StopReason::Error => {
            answer.response_id.as_deref()
        }
        _ => None,
    }
}

/// A hash by which a message is known again in this process.
fn hash(message: &AgentMessage) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(message).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
