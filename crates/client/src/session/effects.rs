//! Applies the effects of the schema (`x-effects`), and implements the codes that they name.

use super::{
    frames::FlowMet,
    lists::add_usage,
    members::Contest,
    state::{Cause, OpenCommand, SessionState, ShellMessage},
};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, Effect, EffectCode, MemberValue, MessageContent, PromptCommand,
    RpcCommand, RpcSuccess, SessionMember as Member, StreamingBehavior, UserContent, effects_of_event,
    effects_of_success,
};

/// The frame that causes an effect.
#[derive(Clone, Copy)]
enum Source<'a> {
    Command(&'a OpenCommand, &'a RpcCommand, FlowMet),
    Event(&'a AgentSessionEvent),
}

impl Source<'_> {
    const fn cause(&self) -> Cause {
        match self {
            Self::Command(..) => Cause::Command,
            Self::Event(_) => Cause::Event,
        }
    }

    const fn open(&self) -> Option<&OpenCommand> {
        match self {
            Self::Command(open, ..) => Some(open),
            Self::Event(_) => None,
        }
    }
}

impl SessionState {
    /// Applies the effects of a successful command.
    pub(super) fn apply_success(&mut self, open: &OpenCommand, success: &RpcSuccess, met: FlowMet) {
        let Some(command) = &open.command else { return };
        let mut effects = Vec::new();
        effects_of_success(command, success, self.dialect.base(), &mut |effect| effects.push(effect));
        for effect in effects {
            self.apply(effect, Source::Command(open, command, met));
        }
    }

    /// Applies the effects of an event.
    pub(super) fn apply_event(&mut self, event: &AgentSessionEvent) {
        let mut effects = Vec::new();
        effects_of_event(event, self.dialect.base(), &mut |effect| effects.push(effect));
        for effect in effects {
            self.apply(effect, Source::Event(event));
        }
    }

    fn apply(&mut self, effect: Effect, source: Source<'_>) {
        let by = source.cause();
        match effect {
            Effect::Reset(member) => {
                let is_contested =
                    source.open().is_some_and(|open| self.is_contested(member, open, Contest::Sets));
                self.note(member, by);
                match is_contested {
                    true => self.forget(member, by),
                    false => self.reset(member),
                }
            }
            Effect::Forget(member) => self.forget(member, by),
            Effect::Append(member) => self.append(member, source),
            Effect::Add(member) => {
                self.note(member, by);
                if let (Some(known), Source::Event(AgentSessionEvent::MessageEnd(end))) =
                    (&self.usage, source)
                    && let AgentMessage::Assistant(message) = &end.message
                {
                    self.set_usage(Some(add_usage(known, &message.usage)));
                }
            }
            Effect::Code(code, members) => self.run_code(code, members, source),
            effect => {
                for (member, to) in self.members.after(effect, self.dialect) {
                    self.set(member, to.into_value(), source);
                }
            }
        }
    }

    /// Sets a member to the value of an effect; `None`: unknown.
    fn set(&mut self, member: Member, value: Option<MemberValue>, source: Source<'_>) {
        let mut value = value;
        if let Some(open) = source.open() {
            // An event has already announced this change.
            if self.was_announced(member, open.since) {
                return;
            }
            let is_kept = value.is_some() && self.get(member) == value.as_ref();
            let contest = if is_kept { Contest::Keeps } else { Contest::Sets };
            value = value.filter(|_| !self.is_contested(member, open, contest));
        }
        self.change(member, value, source.cause());
    }

    fn append(&mut self, member: Member, source: Source<'_>) {
        match (member, source) {
            (Member::Messages, Source::Event(AgentSessionEvent::MessageEnd(end))) => {
                self.note(member, Cause::Event);
                let changes = self.messages.append(&end.message);
                self.revise(member, changes);
            }
            (Member::Entries, Source::Event(AgentSessionEvent::EntryAppended(appended))) => {
                self.note(member, Cause::Event);
                let changes = self.entries.append(&appended.entry);
                self.revise(member, changes);
            }
            (_, Source::Command(open, RpcCommand::Steer(steer), _)) => {
                self.enqueue(member, &steer.message, open);
            }
            (_, Source::Command(open, RpcCommand::FollowUp(follow_up), _)) => {
                self.enqueue(member, &follow_up.message, open);
            }
            _ => self.forget(member, source.cause()),
        }
    }

    /// Adds a message to the queue `member`. The queue becomes unknown if the message may have been delivered before the
    /// response, or may be a command of an extension.
    fn enqueue(&mut self, member: Member, text: &str, open: &OpenCommand) {
        let is_sure = !text.trim_start().starts_with('/')
            && self.delivered <= open.since
            && !self.is_contested(member, open, Contest::Appends);
        let waiting = self.queue(member).filter(|_| is_sure);
        let value = waiting.map(|waiting| [waiting, &[text.to_owned()]].concat());
        self.change(member, value.and_then(|value| queue(member, value)), Cause::Command);
    }

    fn run_code(&mut self, code: EffectCode, members: &[Member], source: Source<'_>) {
        match (code, source) {
            (EffectCode::QueuePrompt, Source::Command(open, RpcCommand::Prompt(prompt), met)) => {
                self.enqueue_prompt(prompt, open, met);
            }
            (EffectCode::TakeDelivered, Source::Event(AgentSessionEvent::MessageStart(start))) => {
                if let AgentMessage::User(message) = &start.message {
                    self.take_delivered(&text_of(&message.content));
                }
            }
            (EffectCode::DropFailed, Source::Event(_)) => self.drop_failed(),
            // A compaction without a result changes nothing.
            (EffectCode::Summarise, Source::Event(AgentSessionEvent::CompactionEnd(end)))
                if end.result.is_none() => {}
            (EffectCode::Summarise, Source::Event(AgentSessionEvent::AutoCompactionEnd(end)))
                if end.result.is_none() => {}
            _ => {
                let is_beside_run = matches!(source, Source::Command(_, _, met) if met != FlowMet::Idle);
                if code == EffectCode::NoteBash && is_beside_run {
                    self.shell_message = ShellMessage::Waiting;
                }
                self.forget_all(members, source.cause());
            }
        }
    }

    /// Adds a prompt that was sent during a run to its queue.
    fn enqueue_prompt(&mut self, prompt: &PromptCommand, open: &OpenCommand, met: FlowMet) {
        let member = match prompt.streaming_behavior {
            None => return,
            Some(StreamingBehavior::Steer) => Member::Steering,
            Some(StreamingBehavior::FollowUp) => Member::FollowUp,
        };
        match met {
            FlowMet::Idle => {}
            FlowMet::Run => {
                self.take_prompt(&prompt.message);
                self.enqueue(member, &prompt.message, open);
            }
            FlowMet::Other => self.forget(member, Cause::Command),
        }
    }

    /// Removes a delivered user message from its queue.
    fn take_delivered(&mut self, text: &str) {
        let is_prompt = self.take_prompt(text);
        for member in [Member::Steering, Member::FollowUp] {
            let waiting = self.queue(member).unwrap_or_default();
            let Some(place) = waiting.iter().position(|waiting| text.starts_with(waiting)) else { continue };
            let mut waiting = waiting.to_vec();
            // It may be a prompt with the same text or beginning.
            let is_sure = !is_prompt && waiting.remove(place) == text;
            let value = is_sure.then_some(waiting).and_then(|waiting| queue(member, waiting));
            return self.change(member, value, Cause::Event);
        }
    }

    /// Removes a sent prompt with this text; `false` if there is none.
    fn take_prompt(&mut self, text: &str) -> bool {
        let place = self.prompts.iter().position(|prompt| prompt == text);
        place.map(|place| self.prompts.remove(place)).is_some()
    }

    /// Removes the failed message of the assistant.
    fn drop_failed(&mut self) {
        let used = match self.messages.remove_failed() {
            Some(failed) => {
                self.note(Member::Messages, Cause::Event);
                self.revise(Member::Messages, true);
                matches!(failed, AgentMessage::Assistant(message) if message.usage.total_tokens != 0)
            }
            None => {
                self.forget(Member::Messages, Cause::Event);
                true
            }
        };
        if used {
            self.forget(Member::Usage, Cause::Event);
        }
    }
}

/// The value of a queue.
fn queue(member: Member, texts: Vec<String>) -> Option<MemberValue> {
    match member {
        Member::Steering => Some(MemberValue::Steering(texts)),
        Member::FollowUp => Some(MemberValue::FollowUp(texts)),
        _ => None,
    }
}

/// The text of a message, its blocks of text joined.
fn text_of(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                UserContent::Text(text) => Some(text.text.as_str()),
                UserContent::Image(_) => None,
            });
            texts.collect()
        }
    }
}
