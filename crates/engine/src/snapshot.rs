//! Everything that a client needs that joins a session in the middle.

use crate::{core::Engine, run::state::Phase, toolbox::arguments::ToolOwner};
use pi_rpc_protocol::{
    AssistantMessage, Check as _, RpcExtensionUIRequest, SessionSnapshotEvent, SessionState,
};

impl Engine {
    /// The state of the session, as `get_state` has it.
    pub fn state(&self) -> SessionState {
        let mut state = self.session_state();
        state.fit(self.dialect.base());
        state
    }

    /// The state of the session behind the frame with the number `sequence`, for clients that know it by `handle`.
    pub fn snapshot(&self, handle: String, sequence: u64) -> SessionSnapshotEvent {
        let mut snapshot = SessionSnapshotEvent {
            session_id: handle,
            sequence,
            state: self.session_state(),
            messages: self.messages().iter().map(|message| (**message).clone()).collect(),
            partial: self.partial_message().cloned(),
            dialogs: self.extensions.open_dialogs().cloned().collect(),
        };
        // Messages of another dialect, which a session may hold, stay as they are.
        snapshot.fit(self.dialect.base());
        snapshot
    }

    /// The ids of the open dialogs, in the order in which they were opened.
    pub fn dialogs(&self) -> impl Iterator<Item = &str> {
        self.extensions.open_dialogs().map(RpcExtensionUIRequest::id)
    }

    /// The names of the tools that the model is offered, but for those that clients carry out.
    pub fn offered_tools(&self) -> impl Iterator<Item = &str> {
        let offered = self.tools.all().filter(|(_, owner, offered)| *offered && *owner != ToolOwner::Host);
        offered.map(|(spec, ..)| spec.name.as_str())
    }

    /// The assistant message between its `message_start` and its `message_end`.
    fn partial_message(&self) -> Option<&AssistantMessage> {
        match self.activity.phase()? {
            Phase::Message(call) => self.requests.partial(*call).map(|partial| &partial.message),
            Phase::Answered(answer) => Some(answer),
            _ => None,
        }
    }
}
