//! Checks limits before a command or an extension adds to the queue or the session.

use crate::{
    core::Engine,
    extensions::hook::Hook,
    gate::Gate,
    limits::{ITEM_BYTES, image_bytes, message_bytes},
    run::deferred::AfterRun,
};
use pi_rpc_protocol::{ImageContent, RpcCommand, RpcCommandKind, errors};

impl Engine {
    /// How many lines of the host are read but not served yet.
    pub fn unserved(&self) -> usize {
        self.backlog.lines.len() + self.backlog.before_greeting.len() + self.backlog.behind_disk.len()
    }

    /// The error if a limit forbids the command; `None`: there is room.
    pub(crate) fn no_room_for(&self, command: &RpcCommand, gate: Gate) -> Option<String> {
        use RpcCommandKind as Kind;
        let kind = command.kind();
        let waits = match kind {
            Kind::Prompt => gate == Gate::Queue || !self.backlog.intake.is_free(),
            Kind::AbortAndPrompt | Kind::Compact => !self.backlog.after_run.is_empty(),
            kind if kind.has_message() => true,
            kind if kind.replaces_session() => !self.backlog.after_run.is_empty(),
            Kind::Bash => self.is_under_way(),
            _ => false,
        };
        if waits && self.waiting_bytes() > self.limits.queue {
            return Some(errors::queue_full(self.dialect.base(), &self.limits.queue.to_string()));
        }
        if kind == Kind::Bash && self.requests.shells.len() >= self.limits.shells {
            return Some(errors::too_many_shells(self.dialect.base(), &self.limits.shells.to_string()));
        }
        self.session_full().filter(|_| kind.has_message() || kind == Kind::Bash)
    }

    /// The error if a limit forbids a message of an extension; `None`: there is room.
    pub(crate) fn no_room(&self) -> Option<String> {
        if self.waiting_bytes() > self.limits.queue {
            return Some(errors::queue_full(self.dialect.base(), &self.limits.queue.to_string()));
        }
        self.session_full()
    }

    /// The error if the session has reached its limit.
    fn session_full(&self) -> Option<String> {
        let limit = self.limits.session;
        let is_full = self.store.session.tree().bytes() > limit;
        is_full.then(|| errors::session_full(self.dialect.base(), &limit.to_string()))
    }

    /// Size of all queued and deferred content, in bytes.
    fn waiting_bytes(&self) -> usize {
        let queued = self.queues.steering.bytes() + self.queues.follow_up.bytes();
        let of_text = |text: &str, images: &Option<Vec<ImageContent>>| {
            ITEM_BYTES + text.len() + image_bytes(images.iter().flatten())
        };
        let deferred = self.backlog.after_run.iter().map(|next| match next {
            AfterRun::AfterPrompt(prompt) | AfterRun::Prompt(prompt) => of_text(&prompt.text, &prompt.images),
            _ => ITEM_BYTES,
        });
        let hooked = self.extensions.hooks().map(|hook| match hook {
            Hook::Input { event, .. } => of_text(&event.text, &event.images),
            _ => ITEM_BYTES,
        });
        let of_extensions = self.queues.next_prompt.iter().chain(&self.queues.triggering);
        let messages = self.backlog.shell_messages.iter().map(|message| &**message).chain(of_extensions);
        queued + deferred.sum::<usize>() + hooked.sum::<usize>() + messages.map(message_bytes).sum::<usize>()
    }
}
