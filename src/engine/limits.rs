//! How much is kept for whom, and the limits of extensions, for those who tell people of them.

use crate::engine::{Engine, extensions::hook::Hook, prompts::Prompting, run::after::AfterRun};
pub use crate::engine::{
    extensions::dialog::{DIALOGS, UNSHOWN},
    extensions::process::{HANGS, REGISTER, RESTARTS, STRAYS},
    extensions::request::{ACCEPT, AFTER_INPUT, FAREWELL, GRACE, HOOK},
};
use crate::protocol::{
    AgentMessage, Disposition, ImageContent, MessageContent, RpcCommand, RpcCommandKind, UserContent, errors,
};

/// How much an engine keeps for a host that says more than can be done. What is refused for it is answered with an error
/// that names the option. Source: own; the originals keep what they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `--max-queue`: bytes of what waits for its turn: texts and images of messages, what shell commands behind a run have
    /// printed, and [`ITEM`] for each.
    pub queue: usize,
    /// `--max-session`: bytes of a session's lines. A run that is under way goes on beyond it.
    pub session: usize,
    /// `--max-bash`: shell commands of the host that run at a time.
    pub shells: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { queue: 64 << 20, session: 1 << 30, shells: 64 }
    }
}

/// Bytes that anything that waits counts beside what it says.
pub const ITEM: usize = 256;

impl Engine {
    /// Lines of the host that were read and are not served yet.
    pub fn unserved(&self) -> usize {
        self.waiting.len() + self.held.len() + self.delayed.len()
    }

    /// Why there is no room for what a command brings along; `None`: there is.
    pub(in crate::engine) fn no_room_for(
        &self,
        command: &RpcCommand,
        disposition: Disposition,
    ) -> Option<String> {
        use RpcCommandKind as Kind;
        let kind = command.kind();
        let waits = match kind {
            Kind::Steer | Kind::FollowUp => true,
            Kind::Prompt => disposition == Disposition::Queue || self.understanding,
            Kind::AbortAndPrompt | Kind::Compact => !self.after_run.is_empty(),
            Kind::NewSession | Kind::SwitchSession | Kind::Fork | Kind::Branch | Kind::Clone => {
                !self.after_run.is_empty()
            }
            Kind::Bash => self.is_under_way(),
            _ => false,
        };
        if waits && self.waiting_bytes() > self.limits.queue {
            return Some(errors::queue_full(self.dialect.base(), &self.limits.queue.to_string()));
        }
        if kind == Kind::Bash && self.shells.len() >= self.limits.shells {
            return Some(errors::too_many_shells(self.dialect.base(), &self.limits.shells.to_string()));
        }
        let adds =
            matches!(kind, Kind::Prompt | Kind::AbortAndPrompt | Kind::Steer | Kind::FollowUp | Kind::Bash);
        self.session_full().filter(|_| adds)
    }

    /// Why nothing more can be said for now by somebody who is not the host; `None`: it can.
    pub(in crate::engine) fn no_room(&self) -> Option<String> {
        if self.waiting_bytes() > self.limits.queue {
            return Some(errors::queue_full(self.dialect.base(), &self.limits.queue.to_string()));
        }
        self.session_full()
    }

    fn session_full(&self) -> Option<String> {
        let limit = self.limits.session;
        let is_full = self.session.tree().bytes() > limit;
        is_full.then(|| errors::session_full(self.dialect.base(), &limit.to_string()))
    }

    /// Bytes of what waits for its turn.
    fn waiting_bytes(&self) -> usize {
        let queued = self.steering.bytes() + self.follow_up.bytes();
        let behind: usize = self.after_run.iter().map(after_run_bytes).sum();
        let asked: usize = self.extensions.hooks().map(hook_bytes).sum();
        let of_extensions = self.next_turn.iter().chain(&self.triggering);
        let messages = self.deferred.iter().map(|message| &**message).chain(of_extensions);
        queued + behind + asked + messages.map(message_bytes).sum::<usize>()
    }
}

fn after_run_bytes(next: &AfterRun) -> usize {
    match next {
        AfterRun::LinedUp(prompting) | AfterRun::Prompt(prompting) => prompting_bytes(prompting),
        _ => ITEM,
    }
}

fn prompting_bytes(prompting: &Prompting) -> usize {
    ITEM + prompting.text.len() + image_bytes(prompting.images.iter().flatten())
}

fn hook_bytes(hook: &Hook) -> usize {
    match hook {
        Hook::Input { event, .. } => ITEM + event.text.len() + image_bytes(event.images.iter().flatten()),
        _ => ITEM,
    }
}

/// What a message that waits counts, in bytes: only those that wait for a turn are weighed, and what else they hold is short.
pub fn message_bytes(message: &AgentMessage) -> usize {
    ITEM + match message {
        AgentMessage::User(message) => content_bytes(&message.content),
        AgentMessage::Custom(message) => content_bytes(&message.content),
        AgentMessage::BashExecution(message) => message.command.len() + message.output.len(),
        _ => 0,
    }
}

fn content_bytes(content: &MessageContent) -> usize {
    match content {
        MessageContent::Text(text) => text.len(),
        MessageContent::Blocks(blocks) => blocks
            .iter()
            .map(|block| match block {
                UserContent::Text(text) => text.text.len(),
                UserContent::Image(image) => image.data.len(),
            })
            .sum(),
    }
}

fn image_bytes<'a>(images: impl Iterator<Item = &'a ImageContent>) -> usize {
    images.map(|image| image.data.len()).sum()
}
