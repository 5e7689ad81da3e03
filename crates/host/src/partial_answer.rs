//! The assistant message that a server is streaming, put together from its frames.

use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AssistantContent, AssistantMessage, Outbound, Step, Update,
};

/// The message between its start and its end.
#[derive(Debug, Default)]
pub struct PartialAnswer(Option<AssistantMessage>);

impl PartialAnswer {
    /// The message so far; the arguments of a call that is not complete are those of its start.
    pub const fn message(&self) -> Option<&AssistantMessage> {
        self.0.as_ref()
    }

    /// Takes in a frame.
    pub fn follow(&mut self, frame: &Outbound) {
        let Outbound::AgentSessionEvent(event) = frame else { return };
        match event {
            AgentSessionEvent::MessageStart(it) => {
                self.0 = match &it.message {
                    AgentMessage::Assistant(message) => Some(AssistantMessage::clone(message)),
                    _ => None,
                };
            }
            AgentSessionEvent::MessageEnd(_) | AgentSessionEvent::AgentEnd(_) => self.0 = None,
            AgentSessionEvent::MessageUpdate(it) => {
                match (&it.message, it.assistant_message_event.update()) {
                    (Some(message), _) => self.0 = Some(AssistantMessage::clone(message)),
                    (None, Some(update)) => self.update(update),
                    (None, None) => {}
                }
            }
            _ => {}
        }
    }

    fn update(&mut self, Update { index, step, .. }: Update) {
        let Some(message) = &mut self.0 else { return };
        match (message.content.get_mut(index), step) {
            (Some(block), Step::Start(new) | Step::End(new)) => *block = new,
            (None, Step::Start(new) | Step::End(new)) => message.content.push(new),
            (Some(AssistantContent::Text(block)), Step::Delta(text)) => block.text.push_str(&text),
            (Some(AssistantContent::Thinking(block)), Step::Delta(text)) => block.thinking.push_str(&text),
            (_, Step::Delta(_)) => {}
        }
    }
}
