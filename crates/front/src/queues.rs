//! The queues of messages, for clients whose dialect has an event for each change of them.

use crate::front::{Front, Output};
use pi_rpc_machine::Kind;
use pi_rpc_protocol::{AgentSessionEventKind as Event, Base, RpcCommand, RpcCommandKind, StreamingBehavior};
use serde_json::{Map, Value};

/// Events that a client gets from the account where its server has no such event.
pub const COMPUTED: [Event; 1] = [Event::QueueUpdate];

/// Texts that wait, if the server does not say it itself.
#[derive(Debug)]
pub struct Queues {
    is_counted: bool,
    steering: Vec<String>,
    follow_up: Vec<String>,
}

/// A text that goes to a queue when its command succeeds.
#[derive(Clone, Debug)]
pub struct QueuedText {
    is_steering: bool,
    text: String,
}

impl QueuedText {
    /// The text of a command that may be queued. `is_queued`: whether a prompt is.
    pub fn of(command: &RpcCommand, is_queued: bool) -> Option<Self> {
        match command {
            RpcCommand::Steer(it) => Some(Self { is_steering: true, text: it.message.clone() }),
            RpcCommand::FollowUp(it) => Some(Self { is_steering: false, text: it.message.clone() }),
            RpcCommand::Prompt(it) if is_queued => {
                let is_steering = it.streaming_behavior == Some(StreamingBehavior::Steer);
                Some(Self { is_steering, text: it.message.clone() })
            }
            _ => None,
        }
    }
}

impl Queues {
    /// Empty queues.
    pub fn new(server: Base, client: Base) -> Self {
        let has = |base: Base| Kind::Event(Event::QueueUpdate).is_in(base);
        Self { is_counted: has(client) && !has(server), steering: Vec::new(), follow_up: Vec::new() }
    }
}

impl Front {
    /// A message was queued.
    pub(crate) fn message_queued(&mut self, queued: QueuedText, out: &mut Output) {
        if self.queues.is_counted {
            let queue =
                if queued.is_steering { &mut self.queues.steering } else { &mut self.queues.follow_up };
            queue.push(queued.text);
            self.emit_queues(out);
        }
    }

    /// A user message begins: it was delivered, if it has waited.
    pub(crate) fn message_delivered(&mut self, message: &Value, out: &mut Output) {
        if !self.queues.is_counted {
            return;
        }
        let text = text_of(message);
        let Queues { steering, follow_up, .. } = &mut self.queues;
        let removed = [steering, follow_up].into_iter().find_map(|queue| {
            let at = queue.iter().position(|it| *it == text)?;
            Some(queue.remove(at))
        });
        if removed.is_some() {
            self.emit_queues(out);
        }
    }

    /// Another session has empty queues.
    pub(crate) fn forget_queues(&mut self) {
        self.queues.steering.clear();
        self.queues.follow_up.clear();
    }

    fn emit_queues(&mut self, out: &mut Output) {
        let texts = |queue: &[String]| Value::from(queue.to_vec());
        let Queues { steering, follow_up, .. } = &self.queues;
        // The members of the event are named as the values of the prompt's option and the command.
        let members =
            [(RpcCommandKind::Steer, texts(steering)), (RpcCommandKind::FollowUp, texts(follow_up))];
        let named =
            members.into_iter().filter_map(|(kind, value)| Some((queue_member(kind)?.to_owned(), value)));
        let members: Map<String, Value> = named.collect();
        self.emit_computed(Event::QueueUpdate, members, out);
    }
}

/// The member of the event with the texts of a command.
const fn queue_member(kind: RpcCommandKind) -> Option<&'static str> {
    match kind {
        RpcCommandKind::Steer => Some(pi_rpc_protocol::SessionMember::Steering.as_str()),
        RpcCommandKind::FollowUp => Some(pi_rpc_protocol::SessionMember::FollowUp.as_str()),
        _ => None,
    }
}

/// The text of a message, its blocks of text joined.
fn text_of(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}
