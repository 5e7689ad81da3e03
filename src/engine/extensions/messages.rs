//! What extensions do to the conversation by themselves.

use crate::engine::{
    CallId, Engine,
    prompts::{Prompting, Reply, parts},
    store::persist::{Answer, Before},
};
use crate::{
    protocol::{
        AgentMessage, DeliverAs, ExtensionSendMessage, ExtensionSendUserMessage, FromExtension,
        PromptCommand, RpcCommand, StreamingBehavior, errors,
    },
    session::NewEntry,
};

impl Engine {
    /// Does what an extension wants.
    pub(in crate::engine) fn act(&mut self, process: CallId, action: FromExtension) {
        let reply = |id: Option<String>| Reply::Extension { process, id, event: None };
        match action {
            FromExtension::SendMessage(it) => self.send_message(process, it),
            FromExtension::SendUserMessage(it) => self.send_user_message(process, it),
            FromExtension::AppendEntry(it) => {
                let appended = self.keep(NewEntry::Custom { kind: it.custom_type, data: it.data });
                let before = Before { changes: 1, appended, ..self.before() };
                self.answer_kept(before, Answer::Reply(reply(it.id)));
            }
            FromExtension::SetModel(it) => match self.find_usable(&it.provider, &it.model_id) {
                Some(at) => {
                    let before = self.before();
                    self.switch(at);
                    self.settings_changed(before, Answer::Reply(reply(it.id)));
                }
                None => {
                    let text = errors::model_not_found(self.dialect.base(), &it.provider, &it.model_id);
                    self.refuse(&reply(it.id), text);
                }
            },
            FromExtension::SetThinkingLevel(it) => {
                let before = self.before();
                self.level = self.fitting(it.level);
                self.level_changed(before, Answer::Reply(reply(it.id)));
            }
            FromExtension::SetSessionName(it) => self.rename(&it.name, reply(it.id)),
            FromExtension::Shutdown(it) => {
                self.accept(&reply(it.id));
                self.drain();
            }
            further => self.act_on(process, further),
        }
    }

    /// A message of an extension joins what goes on, or the conversation.
    fn send_message(&mut self, process: CallId, sent: ExtensionSendMessage) {
        let message = AgentMessage::Custom(self.custom_message(sent.message));
        let reply = Reply::Extension { process, id: sent.id, event: Some(SEND_MESSAGE) };
        let triggers = sent.trigger_turn.unwrap_or(false);
        if let Some(error) = self.no_room() {
            return self.refuse(&reply, error);
        }
        let waits = self.is_under_way();
        match sent.deliver_as {
            Some(DeliverAs::NextTurn) => self.next_turn.push(message),
            Some(DeliverAs::FollowUp) if waits => self.follow_up.push(message),
            _ if waits => self.steering.push(message),
            // It is not certain yet that a run begins.
            _ if triggers && self.is_preparing() => self.triggering.push(message),
            _ if triggers => {
                if let Some(error) = self.models[self.model].unusable.clone() {
                    return self.refuse(&reply, error);
                }
                self.start_run([message.into()]);
            }
            _ => return self.keep_note(message, reply),
        }
        self.accept(&reply);
    }

    /// An extension says something for the user.
    fn send_user_message(&mut self, process: CallId, sent: ExtensionSendUserMessage) {
        let reply = Reply::Extension { process, id: sent.id, event: Some(SEND_USER_MESSAGE) };
        if let Some(error) = self.no_room() {
            return self.refuse(&reply, error);
        }
        let streaming_behavior = match sent.deliver_as {
            Some(DeliverAs::Steer) => Some(StreamingBehavior::Steer),
            Some(DeliverAs::FollowUp) => Some(StreamingBehavior::FollowUp),
            Some(DeliverAs::NextTurn) | None => None,
        };
        let (text, images) = parts(&sent.content);
        let command = PromptCommand {
            id: None,
            message: text.clone(),
            images: images.clone(),
            streaming_behavior,
            locale: None,
        };
        self.prompt(Prompting { command: RpcCommand::Prompt(command), reply, text, images, unasked: false });
    }
}

/// What failed, in the words of `extension_error`.
const SEND_MESSAGE: &str = "send_message";
const SEND_USER_MESSAGE: &str = "send_user_message";
