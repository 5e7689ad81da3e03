//! The assistant message that a server is streaming, put together from its frames.

use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AssistantContent, AssistantMessage, FRAME_LIMIT, Outbound, Step, Update,
};

/// The message between its start and its end.
#[derive(Debug, Default)]
pub struct PartialAnswer {
    message: Option<AssistantMessage>,
    /// Bytes that frames have added to the message since one had all of it.
    added: usize,
}

impl PartialAnswer {
    /// The message so far; the arguments of a call that is not complete are those of its start.
    pub const fn message(&self) -> Option<&AssistantMessage> {
        self.message.as_ref()
    }

    /// Whether more was added to the message than one frame may have.
    pub const fn is_too_long(&self) -> bool {
        self.added > FRAME_LIMIT
    }

    /// Takes in a frame.
    pub fn follow(&mut self, frame: &Outbound) {
        let Outbound::AgentSessionEvent(event) = frame else { return };
        match event {
            AgentSessionEvent::MessageStart(it) => {
                self.set(match &it.message {
                    AgentMessage::Assistant(message) => Some(AssistantMessage::clone(message)),
                    _ => None,
                });
            }
            AgentSessionEvent::MessageEnd(_) | AgentSessionEvent::AgentEnd(_) => self.set(None),
            AgentSessionEvent::MessageUpdate(it) => {
                match (&it.message, it.assistant_message_event.update()) {
                    (Some(message), _) => self.set(Some(AssistantMessage::clone(message))),
                    (None, Some(update)) => self.update(update),
                    (None, None) => {}
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, message: Option<AssistantMessage>) {
        (self.message, self.added) = (message, 0);
    }

    fn update(&mut self, Update { index, step, .. }: Update) {
        let Some(message) = self.message.as_mut().filter(|_| self.added <= FRAME_LIMIT) else { return };
        self.added += match &step {
            Step::Delta(text) => text.len(),
            Step::Start(block) | Step::End(block) => serde_json::to_vec(block).map_or(0, |bytes| bytes.len()),
        };
        match (message.content.get_mut(index), step) {
            (Some(block), Step::Start(new) | Step::End(new)) => *block = new,
            (None, Step::Start(new) | Step::End(new)) => message.content.push(new),
            (Some(AssistantContent::Text(block)), Step::Delta(text)) => block.text.push_str(&text),
            (Some(AssistantContent::Thinking(block)), Step::Delta(text)) => block.thinking.push_str(&text),
            (_, Step::Delta(_)) => {}
        }
    }
}
