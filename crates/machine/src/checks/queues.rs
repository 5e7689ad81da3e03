//! Judges the queues of steering and follow-up messages, as far as the host can know them: what was accepted, and not yet
//! delivered.
//!
//! Rules: `run-goes-on`, `queue-told`, `deliver-fifo`, `one-at-a-time`, `one-queue-per-turn`,
//! `deliver-in-time`, `all-at-once`, `deliver-once`.

mod reported_state;

use super::{
    frame_context::FrameContext,
    queue::{MAX_MESSAGES, Queue, QueueChange, QueuedMessage, QueuedText, change, keep, text_of, texts},
    queue_responses::{is_queued, is_runless},
    sent_texts::SentTexts,
};
use crate::{findings::Findings, kind::Kind, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AgentSessionEventKind, FlowState, ImageContent, QueueMode,
    QueueUpdateEvent, RpcCommand, RpcCommandKind, RpcSuccess, RuleId as Rule, StopReason, StreamingBehavior,
    UserMessage, fires_anywhere,
};
use serde_json::json;
use std::collections::VecDeque;

/// The steering and follow-up queues, as far as the host can know them.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    /// Outstanding commands that may queue a message or change a mode.
    outstanding: VecDeque<(u64, QueueCommand)>,
    /// The texts of prompts, delivered or not, with the numbers of their requests.
    prompts: VecDeque<(u64, QueuedText)>,
    steering: Queue,
    follow_up: Queue,
    /// Whether the content of the queues is uncertain: a run was stopped, or a message could not be recognized.
    unsure: bool,
    /// The changes that `queue_update` has reported.
    reported: ReportedUpdates,
    /// The number of polls of the queues so far: ended turns and started runs.
    polls: u64,
    /// Whether it is unknown what the current turn has taken.
    doubtful: bool,
    /// The steering message that the current turn had to deliver before its answer.
    missed: Option<String>,
    /// All texts that the host has sent in this process.
    sent_texts: SentTexts,
    /// The number of texts that the host has sent.
    sent: u64,
    /// The latest command that changes to a session without queues: its number, and the number of texts sent before it.
    leaving: Option<(u64, u64)>,
    /// The latest `get_state` in a turn that had taken all that it may: its number, and the number of polls.
    read: Option<(u64, u64)>,
}

/// Changes that `queue_update` has reported, without the response or message that belongs to them.
#[derive(Clone, Debug, Default)]
struct ReportedUpdates {
    /// Added texts without their response.
    added: VecDeque<String>,
    /// The removed text whose message comes next.
    taken: Option<String>,
    /// Whether a message may have been removed, as the content before was uncertain.
    maybe_taken: bool,
    /// The texts removed at once, by `clear_queue`.
    cleared: Option<(Vec<String>, Vec<String>)>,
}

#[derive(Clone, Debug)]
/// An outstanding command that concerns the queues.
enum QueueCommand {
    Queue(StreamingBehavior, QueuedText),
    Clear,
    SteeringMode(QueueMode),
    FollowUpMode(QueueMode),
}

impl Queues {
    /// Whether both queues are empty, as far as known.
    pub fn is_empty(&self) -> bool {
        !self.unsure && self.steering.items.is_empty() && self.follow_up.items.is_empty()
    }

    /// Whether a steering message is or may be queued.
    pub fn may_steer(&self) -> bool {
        !self.is_empty() || !self.outstanding.is_empty()
    }

    /// Whether a steering message is certainly queued, which interrupts the current turn.
    pub fn steers(&self) -> bool {
        !self.unsure && !self.steering.items.is_empty()
    }

    /// Whether a message with this text is or may be queued.
    pub fn may_hold(&self, text: &str) -> bool {
        let holds = |queue: &Queue| queue.place(text).is_some() || queue.grows();
        self.unsure || holds(&self.steering) || holds(&self.follow_up)
    }

    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand, at: &FrameContext) {
        match command {
            RpcCommand::Prompt(it) => self.on_text_sent(&it.message, it.images.as_deref()),
            RpcCommand::AbortAndPrompt(it) => self.on_text_sent(&it.message, it.images.as_deref()),
            RpcCommand::Steer(it) => self.on_text_sent(&it.message, it.images.as_deref()),
            RpcCommand::FollowUp(it) => self.on_text_sent(&it.message, it.images.as_deref()),
            RpcCommand::NewSession(_) | RpcCommand::SwitchSession(_) => {
                self.leaving = Some((number, self.sent));
            }
            RpcCommand::GetState(_) if at.met.flow == FlowState::StreamingTurn && self.has_taken_all() => {
                self.read = Some((number, self.polls));
            }
            _ => {}
        }
        let queue_command = match command {
            RpcCommand::Prompt(prompt) => match prompt.streaming_behavior {
                Some(behavior) => QueueCommand::Queue(behavior, QueuedText::new(&prompt.message)),
                None => return keep(&mut self.prompts, (number, QueuedText::new(&prompt.message))),
            },
            RpcCommand::AbortAndPrompt(prompt) => {
                self.unsure = true;
                return keep(&mut self.prompts, (number, QueuedText::new(&prompt.message)));
            }
            RpcCommand::Steer(steer) => {
                QueueCommand::Queue(StreamingBehavior::Steer, QueuedText::new(&steer.message))
            }
            RpcCommand::FollowUp(follow) => {
                QueueCommand::Queue(StreamingBehavior::FollowUp, QueuedText::new(&follow.message))
            }
            RpcCommand::SetSteeringMode(set) => {
                self.steering.mode = None;
                QueueCommand::SteeringMode(set.mode)
            }
            RpcCommand::SetFollowUpMode(set) => {
                self.follow_up.mode = None;
                QueueCommand::FollowUpMode(set.mode)
            }
            RpcCommand::ClearQueue(_) => QueueCommand::Clear,
            // Between responses a message may have been removed and not delivered.
            RpcCommand::Abort(_) => {
                return self.unsure |= !matches!(at.met.flow, FlowState::Idle | FlowState::StreamingMessage);
            }
            _ => return,
        };
        keep(&mut self.outstanding, (number, queue_command));
    }

    /// Takes in a response. `success` is `None` for an error, and `Some(None)` for an unreadable success.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        success: Option<Option<&RpcSuccess>>,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let (response, success) = (success.flatten(), success.is_some());
        if !success || is_runless(response) {
            // Even if it was acknowledged first.
            self.prompts.retain(|(number, _)| *number != request.number);
        }
        let place = self.outstanding.iter().position(|(number, _)| *number == request.number);
        let Some((_, queue_command)) = place.and_then(|place| self.outstanding.remove(place)) else { return };
        match queue_command {
            QueueCommand::SteeringMode(mode) => self.steering.set_mode(success.then_some(mode), self.polls),
            QueueCommand::FollowUpMode(mode) => self.follow_up.set_mode(success.then_some(mode), self.polls),
            QueueCommand::Queue(behavior, text) if success => {
                // A template, or an extension, may have made another text of it.
                let was_reported = self.reported.added.iter().any(|added| text.grows || *added == text.text);
                match is_queued(response, request, was_reported) {
                    Some(queued) if tells(at) => self.check_reported(queued, request, text, at, found),
                    _ => self.accepted(request, behavior, text, at),
                }
            }
            QueueCommand::Clear => self.cleared(response, at, found),
            QueueCommand::Queue(..) => {}
        }
    }

    fn on_text_sent(&mut self, text: &str, images: Option<&[ImageContent]>) {
        self.sent_texts.add(text, images);
        self.sent += 1;
    }

    /// Takes in the refusal of a request: its text will not be delivered.
    pub fn on_refusal(&mut self, number: u64) {
        let prompt = self.prompts.iter().find(|(of, _)| *of == number).map(|(_, text)| text);
        let queued = self.outstanding.iter().find_map(|(of, queue_command)| match queue_command {
            QueueCommand::Queue(_, text) if *of == number => Some(text),
            _ => None,
        });
        if let Some(text) = prompt.or(queued) {
            self.sent_texts.refuse(&text.text);
        }
    }

    /// Judges that a queued message was reported before its response. A message that was not queued may begin a run.
    fn check_reported(
        &mut self,
        queued: bool,
        request: &OpenRequest,
        text: QueuedText,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if !queued {
            return keep(&mut self.prompts, (request.number, text));
        }
        // A template, or an extension, may have made another text of it.
        let place = self.reported.added.iter().position(|added| *added == text.text);
        let known = self.reported.added.remove(place.unwrap_or_default()).is_some();
        found.expect(Rule::QueueTold, known || self.unsure || at.cut, || {
            format!("a `queue_update` that has `{}` before the response", text.text)
        });
        // The next one may have it.
        self.unsure |= !known && !at.cut;
    }

    fn cleared(&mut self, response: Option<&RpcSuccess>, at: &FrameContext, found: &mut Findings) {
        let cleared = self.reported.cleared.take();
        let Some(RpcSuccess::ClearQueue(it)) = response else { return };
        if at.cut || self.unsure {
            return;
        }
        let told = Some((it.data.steering.clone(), it.data.follow_up.clone()));
        let what = "what was removed, steering and follow-ups, as the queues had it";
        found.expect_same(Rule::QueueTold, "/data", what, &cleared, &told);
    }

    fn accepted(
        &mut self,
        request: &OpenRequest,
        behavior: StreamingBehavior,
        text: QueuedText,
        at: &FrameContext,
    ) {
        let is_prompt = request.command == RpcCommandKind::Prompt;
        if is_prompt || at.dialect.record().starts_when_idle {
            // If both are possible, the response does not show whether the message was queued or began a run.
            let idle = |state: &FlowState| *state == FlowState::Idle;
            if request.met.iter().all(idle) {
                return keep(&mut self.prompts, (request.number, text));
            }
            // A command of an extension is never delivered as a message.
            self.unsure |= (is_prompt && text.grows) || !request.met.iter().all(|state| state.is_streaming());
        }
        let item = QueuedMessage { text, polls: self.polls, late: false };
        self.unsure |= at.cut;
        match behavior {
            StreamingBehavior::Steer => keep(&mut self.steering.items, item),
            StreamingBehavior::FollowUp => keep(&mut self.follow_up.items, item),
        }
        self.unsure |=
            self.steering.items.len() == MAX_MESSAGES || self.follow_up.items.len() == MAX_MESSAGES;
    }

    /// Takes in an event. `ready`: a follow-up may be delivered in the current turn.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        ready: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        use AgentSessionEvent as Event;
        if !fires_anywhere(event.kind().as_str()) && !matches!(event, Event::MessageStart(_)) {
            if let Some(text) = self.reported.taken.take() {
                let what =
                    format!("the `message_start` of `{text}`, which `queue_update` has taken from the queue");
                found.fail(Rule::QueueTold, what);
            }
            self.reported.maybe_taken = false;
        }
        match event {
            Event::QueueUpdate(update) => self.on_queue_update(update, ready, at, found),
            Event::TurnStart(_) => {
                (self.steering.taken, self.follow_up.taken, self.doubtful) = (0, 0, false);
                self.missed = None;
            }
            Event::AgentStart(_) | Event::TurnEnd(_) => self.polls += 1,
            Event::MessageStart(start) if at.met.flow.is_streaming() => {
                if let AgentMessage::User(message) = &start.message {
                    self.on_delivery(message, ready, at, found);
                }
            }
            _ => {}
        }
    }

    /// Takes in a `queue_update`, and compares it with the previous one.
    fn on_queue_update(
        &mut self,
        update: &QueueUpdateEvent,
        ready: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let clears =
            self.outstanding.iter().any(|(_, queue_command)| matches!(queue_command, QueueCommand::Clear));
        let empty = update.steering.is_empty() && update.follow_up.is_empty();
        // Messages are delivered in runs only. The session is changed outside of runs, by extensions, too.
        let leaves = empty && !clears && !at.met.flow.is_streaming();
        let changes = [
            change(&self.steering.items, &update.steering),
            change(&self.follow_up.items, &update.follow_up),
        ];
        let holds = match &changes {
            [QueueChange::Added, QueueChange::None] | [QueueChange::None, QueueChange::Added] => true,
            [QueueChange::Taken(_), QueueChange::None] | [QueueChange::None, QueueChange::Taken(_)] => true,
            [QueueChange::None, QueueChange::None] if leaves => false,
            [
                QueueChange::None | QueueChange::Cleared | QueueChange::Taken(_),
                QueueChange::None | QueueChange::Cleared | QueueChange::Taken(_),
            ] => (clears || leaves) && empty,
            _ => false,
        };
        let known = !self.unsure && !at.cut;
        match holds || !known {
            true => found.pass(Rule::QueueTold),
            false => {
                let what = "the queues as they were, and one message more at the end of one, or one fewer";
                let lists = |steering, follow_up| json!({ "steering": steering, "followUp": follow_up });
                let had = lists(texts(&self.steering.items), texts(&self.follow_up.items));
                let told = lists(update.steering.clone(), update.follow_up.clone());
                found.fail_with_difference(Rule::QueueTold, "", what, &had, &told);
            }
        }
        if clears && empty {
            found.expect(Rule::QueueTold, self.reported.cleared.is_none() || !known, || {
                "one `queue_update` for `clear_queue`".to_owned()
            });
            self.reported.cleared = Some((texts(&self.steering.items), texts(&self.follow_up.items)));
        } else if known && holds && !leaves {
            let waited = self.steering.items.iter().any(|item| item.polls < self.polls);
            match changes {
                [QueueChange::Added, _] => keep_text(&mut self.reported.added, update.steering.last()),
                [_, QueueChange::Added] => keep_text(&mut self.reported.added, update.follow_up.last()),
                [QueueChange::Taken(place), _] => self.on_taken(false, place, false, found),
                [_, QueueChange::Taken(place)] => {
                    self.follow_up_taken(ready, found);
                    self.on_taken(true, place, waited, found);
                }
                _ => {}
            }
        } else if !known {
            // Any of the equal texts may be the new one.
            let texts = update.steering.iter().chain(&update.follow_up);
            texts.for_each(|text| keep_text(&mut self.reported.added, Some(text)));
            (self.reported.maybe_taken, self.doubtful) = (true, true);
        }
        let polls = self.polls;
        self.steering.retell(&update.steering, polls);
        self.follow_up.retell(&update.follow_up, polls);
        self.unsure = at.cut;
    }

    /// Takes in that a message was removed from a queue.
    fn on_taken(&mut self, follow_up: bool, place: usize, skips_steering: bool, found: &mut Findings) {
        self.check_order(Some(place), skips_steering, found);
        let queue = if follow_up { &mut self.follow_up } else { &mut self.steering };
        self.reported.taken = queue.items.get(place).map(|item| item.text.text.clone());
        queue.take(Some(place));
        self.check_per_turn(found);
    }

    /// Notes that an unreadable line may have queued a message.
    pub const fn doubt(&mut self) {
        self.unsure = true;
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, kind: Kind) {
        if kind.is_event() {
            (self.unsure, self.reported.taken) = (true, None);
        }
    }

    /// Takes in a user message.
    fn on_delivery(&mut self, message: &UserMessage, ready: bool, at: &FrameContext, found: &mut Findings) {
        let text = &*text_of(&message.content);
        if at.cut {
            self.unsure = true;
            return;
        }
        let wanted = self.sent_texts.deliver(message, text, at);
        // A misplaced message is reported already.
        if wanted.is_none() || found.broken.is_empty() {
            found.expect(Rule::DeliverOnce, wanted.is_none(), || wanted.unwrap_or_default().to_owned());
        }
        let fits = |(_, known): &(u64, QueuedText)| known.text == text;
        if tells(at) {
            return self.on_reported_delivery(text, fits, found);
        }
        let (steering, follow_up) = (self.steering.place(text), self.follow_up.place(text));
        if let Some(place) = self.prompts.iter().position(fits)
            && steering != Some(0)
        {
            self.prompts.drain(..=place);
            return;
        }
        let waited = self.steering.items.iter().any(|item| item.polls < self.polls);
        match (steering, follow_up) {
            (Some(0), _) | (Some(_), None) => {
                self.check_order(steering, false, found);
                self.steering.take(steering);
            }
            (_, Some(_)) => {
                self.check_order(follow_up, waited, found);
                self.follow_up_taken(ready, found);
                self.follow_up.take(follow_up);
            }
            (None, None) => return self.on_unknown_message(),
        }
        self.check_per_turn(found);
    }

    /// Judges the delivery of a follow-up in a turn that is `ready` for it or not.
    fn follow_up_taken(&self, ready: bool, found: &mut Findings) {
        found.expect(Rule::DeliverInTime, ready || self.unsure, || {
            "the follow-up behind a turn without calls".to_owned()
        });
    }

    /// Judges the beginning of a turn's answer: messages that were due must have been delivered.
    pub fn turn_opens(&mut self, at: &FrameContext, found: &mut Findings) {
        if self.unsure || self.doubtful || at.has_extensions || at.now.closing {
            return;
        }
        let polls = self.polls;
        let due = self.steering.overdue(polls).map(|item| item.text.text.clone());
        match self.steering.taken {
            0 => self.missed = due,
            _ if due.is_none() => found.pass(Rule::DeliverInTime),
            _ => {}
        }
        for queue in [&mut self.steering, &mut self.follow_up] {
            if queue.mode_at(polls) == Some(QueueMode::All) && queue.taken > 0 {
                let rest = queue.overdue(polls).map(|item| item.text.text.clone());
                if rest.is_some() {
                    queue.report();
                }
                found.expect(Rule::AllAtOnce, rest.is_none(), || {
                    format!("all that waits, also `{}`", rest.unwrap_or_default())
                });
            }
        }
    }

    /// Judges the end of a turn: the steering that was due must have been delivered, unless the answer failed. A server that cannot
    /// store a message ends its run with such an answer and keeps the queue.
    pub fn turn_ends(&mut self, reason: StopReason, found: &mut Findings) {
        let Some(text) = self.missed.take().filter(|_| reason != StopReason::Error) else { return };
        found.fail(Rule::DeliverInTime, format!("the steering `{text}` before the answer of this turn"));
        self.steering.report();
    }

    /// Judges the end of a run whose last answer has no calls: no message may be left.
    pub fn run_ends(&self, at: &FrameContext, found: &mut Findings) {
        if self.unsure || at.cut {
            return;
        }
        let late = self.steering.overdue(self.polls).or_else(|| self.follow_up.overdue(self.polls));
        found.expect(Rule::RunGoesOn, late.is_none(), || {
            let text = late.map(|item| item.text.text.as_str()).unwrap_or_default();
            format!("a turn with the message that waits, `{text}`")
        });
    }

    /// Takes in a user message in a dialect that reports changes of the queues.
    fn on_reported_delivery(
        &mut self,
        text: &str,
        fits: impl Fn(&(u64, QueuedText)) -> bool,
        found: &mut Findings,
    ) {
        let maybe_taken = std::mem::take(&mut self.reported.maybe_taken);
        if let Some(taken) = self.reported.taken.take() {
            let what = "the message that was taken from the queue";
            return found.expect_same(Rule::QueueTold, "/message/content", what, &taken.as_str(), &text);
        }
        match self.prompts.iter().position(fits) {
            Some(place) => {
                self.prompts.drain(..=place);
            }
            None => {
                let waits = self.steering.place(text).or_else(|| self.follow_up.place(text)).is_some();
                let was_reported = !waits || maybe_taken || self.unsure;
                found.expect(Rule::QueueTold, was_reported, || {
                    format!("a `queue_update` without `{text}` before the message")
                });
                if !was_reported {
                    self.steering.report();
                    self.follow_up.report();
                }
            }
        }
    }

    fn check_per_turn(&self, found: &mut Findings) {
        for queue in [&self.steering, &self.follow_up] {
            if queue.mode_at(self.polls) == Some(QueueMode::OneAtATime) && queue.taken > 0 {
                found.expect(Rule::OneAtATime, queue.taken == 1 || self.unsure, || {
                    "one message of the queue in a turn".to_owned()
                });
            }
        }
        let both = self.steering.taken > 0 && self.follow_up.taken > 0;
        found.expect(Rule::OneQueuePerTurn, self.unsure || !both, || {
            "messages of one queue in a turn".to_owned()
        });
    }

    fn check_order(&mut self, place: Option<usize>, skips_steering: bool, found: &mut Findings) {
        let first = self.steering.items.front().filter(|_| skips_steering);
        let holds = self.unsure || (place == Some(0) && !skips_steering);
        found.expect(Rule::DeliverFifo, holds, || match first {
            Some(item) => format!("the steering message first: {}", beginning(&item.text.text)),
            None => {
                let fronts =
                    [&self.steering, &self.follow_up].into_iter().filter_map(|queue| queue.items.front());
                let fronts: Vec<String> = fronts.map(|item| beginning(&item.text.text)).collect();
                format!("the message that was queued first: {}", fronts.join(", or the follow-up "))
            }
        });
        if !holds {
            self.steering.report();
            self.follow_up.report();
        }
    }

    /// Takes in a user message with an unknown text: a prompt or a queued message that became another text, or a message of an
    /// extension.
    fn on_unknown_message(&mut self) {
        let grows = |(_, text): &(u64, QueuedText)| text.grows;
        if let Some(place) = self.prompts.iter().position(grows) {
            self.prompts.drain(..=place);
        } else if let Some(queue) =
            [&mut self.steering, &mut self.follow_up].into_iter().find(|queue| queue.grows())
        {
            queue.take(Some(0));
        } else {
            // Extensions queue messages that the host does not know.
            self.unsure = true;
        }
    }

    /// Takes in a change of the session by a request. `drops`: queued messages do not move to the new session.
    pub fn on_session_change(&mut self, request: &OpenRequest, drops: bool) {
        let leaving = self.leaving.filter(|(number, _)| *number == request.number);
        // The run of a prompt that is being prepared may begin in the new session.
        let drops = drops && self.prompts.is_empty();
        self.forget();
        match leaving {
            // Texts that were sent meanwhile may belong to either session.
            Some((_, sent)) if drops && sent == self.sent && self.outstanding.is_empty() => {
                self.sent_texts.drop_rest()
            }
            _ => self.unsure = true,
        }
    }

    fn forget(&mut self) {
        self.steering.items.clear();
        self.follow_up.items.clear();
        self.prompts.clear();
        self.reported = ReportedUpdates::default();
        self.unsure = false;
    }
}

/// Whether the dialect reports the content of the queues.
fn tells(at: &FrameContext) -> bool {
    AgentSessionEventKind::QueueUpdate.is_in(at.base())
}

fn keep_text(list: &mut VecDeque<String>, text: Option<&String>) {
    if let Some(text) = text {
        keep(list, text.clone());
    }
}

/// The most characters of a text in a finding.
const SHOWN: usize = 80;

fn beginning(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}
