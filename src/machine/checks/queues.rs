//! The queues of messages, as the host can know them: what was accepted, less what was delivered.

use super::{
    frame_context::FrameContext,
    queue::{KEPT, Queue, QueueChange, QueuedMessage, QueuedText, change, keep, text_of, texts},
    sent_texts::SentTexts,
};
use crate::{
    machine::{findings::Findings, kind::Kind, requests::OpenRequest},
    protocol::{
        AgentMessage, AgentSessionEvent, AgentSessionEventKind, FlowState, ImageContent, PromptDisposition,
        QueueDisposition, QueueMode, QueueOutcome, QueueUpdateEvent, RpcCommand, RpcCommandKind, RpcSuccess,
        RuleId as Rule, SessionState, StreamingBehavior, UserMessage, fires_anywhere,
    },
};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub struct Queues {
    /// Commands so far: their numbers are those of the requests.
    count: u64,
    /// Commands that may queue a message or change a mode, and have no answer yet.
    asked: VecDeque<(u64, QueueCommand)>,
    /// What prompts will say, or have said already, with the numbers of their requests.
    prompts: VecDeque<(u64, QueuedText)>,
    steering: Queue,
    follow_up: Queue,
    /// What waits is not known for certain: a run was stopped, a message could not be told.
    unsure: bool,
    /// Where the server tells what waits: what it has told.
    reported: ReportedUpdates,
    /// Moments so far at which messages are looked for: turns that have ended, runs that have begun.
    polls: u64,
    /// What the open turn has taken is not known.
    doubtful: bool,
    /// What the host has sent in this process.
    sent_texts: SentTexts,
    /// Texts that the host has sent so far.
    sent: u64,
    /// The latest command that leaves the session for one without queues: its number, and the texts sent before it.
    leaving: Option<(u64, u64)>,
}

/// What `queue_update` has told that is not seen to be so yet.
#[derive(Clone, Debug, Default)]
struct ReportedUpdates {
    /// Texts that were added and belong to no answer yet.
    added: VecDeque<String>,
    /// The text that was taken: its message comes next.
    taken: Option<String>,
    /// A message may have been taken: it was not known for certain what waited before.
    maybe_taken: bool,
    /// What was removed at once, for `clear_queue`.
    cleared: Option<(Vec<String>, Vec<String>)>,
}

#[derive(Clone, Debug)]
enum QueueCommand {
    Queue(StreamingBehavior, QueuedText),
    Clear,
    SteeringMode(QueueMode),
    FollowUpMode(QueueMode),
}

impl Queues {
    /// Whether nothing waits, as far as is known.
    pub fn is_empty(&self) -> bool {
        !self.unsure && self.steering.items.is_empty() && self.follow_up.items.is_empty()
    }

    /// Whether steering waits, or may wait.
    pub fn may_steer(&self) -> bool {
        !self.is_empty() || !self.asked.is_empty()
    }

    /// Whether a message is known to wait that interrupts the open turn.
    pub fn steers(&self) -> bool {
        !self.unsure && !self.steering.items.is_empty()
    }

    /// Whether a message of that text waits, or may wait.
    pub fn may_hold(&self, text: &str) -> bool {
        let holds = |queue: &Queue| queue.place(text).is_some() || queue.grows();
        self.unsure || holds(&self.steering) || holds(&self.follow_up)
    }

    pub fn on_command(&mut self, command: &RpcCommand, at: &FrameContext) {
        let number = self.count;
        self.count += 1;
        match command {
            RpcCommand::Prompt(it) => self.on_text_sent(&it.message, it.images.as_deref()),
            RpcCommand::AbortAndPrompt(it) => self.on_text_sent(&it.message, it.images.as_deref()),
            RpcCommand::Steer(it) => self.on_text_sent(&it.message, it.images.as_deref()),
            RpcCommand::FollowUp(it) => self.on_text_sent(&it.message, it.images.as_deref()),
            RpcCommand::NewSession(_) | RpcCommand::SwitchSession(_) => {
                self.leaving = Some((number, self.sent));
            }
            _ => {}
        }
        let asked = match command {
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
            // Between answers a message may have been taken that is not delivered.
            RpcCommand::Abort(_) => {
                return self.unsure |= !matches!(at.met.flow, FlowState::Idle | FlowState::StreamingMessage);
            }
            _ => return,
        };
        keep(&mut self.asked, (number, asked));
    }

    /// A response came: `success` holds it if it is one, where it could be read.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        success: Option<Option<&RpcSuccess>>,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let (response, success) = (success.flatten(), success.is_some());
        if !success || is_runless(response) {
            // Also one that was acknowledged first.
            self.prompts.retain(|(number, _)| *number != request.number);
        }
        let place = self.asked.iter().position(|(number, _)| *number == request.number);
        let Some((_, asked)) = place.and_then(|place| self.asked.remove(place)) else { return };
        match asked {
            QueueCommand::SteeringMode(mode) => self.steering.set_mode(success.then_some(mode), self.polls),
            QueueCommand::FollowUpMode(mode) => self.follow_up.set_mode(success.then_some(mode), self.polls),
            QueueCommand::Queue(behavior, text) if success => {
                // A template, or an extension, may have made another text of it.
                let told = self.reported.added.iter().any(|added| text.grows || *added == text.text);
                match is_queued(response, request, told) {
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

    /// What that request was to say was refused.
    pub fn on_refusal(&mut self, number: u64) {
        let prompt = self.prompts.iter().find(|(of, _)| *of == number).map(|(_, text)| text);
        let queued = self.asked.iter().find_map(|(of, asked)| match asked {
            QueueCommand::Queue(_, text) if *of == number => Some(text),
            _ => None,
        });
        if let Some(text) = prompt.or(queued) {
            self.sent_texts.refuse(&text.text);
        }
    }

    /// What was queued had to be told before its answer; what was not may begin a run.
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
            "a `queue_update` with it first".to_owned()
        });
    }

    fn cleared(&mut self, response: Option<&RpcSuccess>, at: &FrameContext, found: &mut Findings) {
        let cleared = self.reported.cleared.take();
        let Some(RpcSuccess::ClearQueue(it)) = response else { return };
        if at.cut || self.unsure {
            return;
        }
        let same = cleared.is_some_and(|(steering, follow_up)| {
            steering == it.data.steering && follow_up == it.data.follow_up
        });
        found.expect(Rule::QueueTold, same, || "what was removed, as the queues had it".to_owned());
    }

    fn accepted(
        &mut self,
        request: &OpenRequest,
        behavior: StreamingBehavior,
        text: QueuedText,
        at: &FrameContext,
    ) {
        if request.command == RpcCommandKind::Prompt {
            // Whether it was queued, or began a run, is not said where it can have met both.
            let idle = |state: &FlowState| *state == FlowState::Idle;
            if request.met.iter().all(idle) {
                return keep(&mut self.prompts, (request.number, text));
            }
            // A command of an extension is never delivered.
            self.unsure |= text.grows || !request.met.iter().all(|state| state.is_streaming());
        }
        let item = QueuedMessage { text, polls: self.polls, late: false };
        self.unsure |= at.cut;
        match behavior {
            StreamingBehavior::Steer => keep(&mut self.steering.items, item),
            StreamingBehavior::FollowUp => keep(&mut self.follow_up.items, item),
        }
        self.unsure |= self.steering.items.len() == KEPT || self.follow_up.items.len() == KEPT;
    }

    /// Sees an event. `ready`: a follow-up may be delivered in the open turn.
    pub fn on_event(
        &mut self,
        event: &AgentSessionEvent,
        ready: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        use AgentSessionEvent as Event;
        if !fires_anywhere(event.kind().as_str()) && !matches!(event, Event::MessageStart(_)) {
            if self.reported.taken.take().is_some() {
                found.fail(Rule::QueueTold, "the message that was taken from the queue");
            }
            self.reported.maybe_taken = false;
        }
        match event {
            Event::QueueUpdate(update) => self.on_queue_update(update, ready, at, found),
            Event::TurnStart(_) => {
                (self.steering.taken, self.follow_up.taken, self.doubtful) = (0, 0, false);
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

    /// The queues as the server tells them, against what it told before.
    fn on_queue_update(
        &mut self,
        update: &QueueUpdateEvent,
        ready: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let clears = self.asked.iter().any(|(_, asked)| matches!(asked, QueueCommand::Clear));
        let empty = update.steering.is_empty() && update.follow_up.is_empty();
        // Messages are delivered in a run only. The session is left outside of one, also by extensions.
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
        found.expect(Rule::QueueTold, holds || !known, || {
            "the queues as they were, and one message more or fewer".to_owned()
        });
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
            // Any of them may be the new one.
            let texts = update.steering.iter().chain(&update.follow_up);
            texts.for_each(|text| keep_text(&mut self.reported.added, Some(text)));
            (self.reported.maybe_taken, self.doubtful) = (true, true);
        }
        let polls = self.polls;
        self.steering.retell(&update.steering, polls);
        self.follow_up.retell(&update.follow_up, polls);
        self.unsure = at.cut;
    }

    /// A message was taken from a queue.
    fn on_taken(&mut self, follow_up: bool, place: usize, skips_steering: bool, found: &mut Findings) {
        self.check_order(Some(place), skips_steering, found);
        let queue = if follow_up { &mut self.follow_up } else { &mut self.steering };
        self.reported.taken = queue.items.get(place).map(|item| item.text.text.clone());
        queue.take(Some(place));
        self.check_per_turn(found);
    }

    /// Something was accepted that could not be read.
    pub const fn doubt(&mut self) {
        self.unsure = true;
    }

    /// An event was said of which the kind alone is known.
    pub fn on_unread_event(&mut self, kind: Kind) {
        if kind.is_event() {
            (self.unsure, self.reported.taken) = (true, None);
        }
    }

    /// A message of the user begins.
    fn on_delivery(&mut self, message: &UserMessage, ready: bool, at: &FrameContext, found: &mut Findings) {
        let text = &*text_of(&message.content);
        if at.cut {
            self.unsure = true;
            return;
        }
        let wanted = self.sent_texts.deliver(message, text, at);
        // What has no place here is reported already.
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

    /// A follow-up is delivered, where the open turn is `ready` for it or not.
    fn follow_up_taken(&self, ready: bool, found: &mut Findings) {
        found.expect(Rule::DeliverInTime, ready || self.unsure, || {
            "the follow-up behind a turn without calls".to_owned()
        });
    }

    /// The answer of a turn begins: what had to be delivered before it has been.
    pub fn turn_opens(&mut self, at: &FrameContext, found: &mut Findings) {
        if self.unsure || self.doubtful || at.has_extensions || at.now.closing {
            return;
        }
        let polls = self.polls;
        let late = self.steering.overdue(polls).map(|item| item.text.text.clone());
        match late {
            None if self.steering.taken > 0 => found.pass(Rule::DeliverInTime),
            Some(text) if self.steering.taken == 0 => {
                found.fail(Rule::DeliverInTime, format!("the steering `{text}` in this turn"));
                self.steering.report();
            }
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

    /// The run ends with an answer that has no calls.
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

    /// A user message begins where the server tells what it takes from the queues.
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
                let told = !waits || maybe_taken || self.unsure;
                found.expect(Rule::QueueTold, told, || "a `queue_update` without it first".to_owned());
                if !told {
                    self.steering.report();
                    self.follow_up.report();
                }
            }
        }
    }

    fn check_per_turn(&self, found: &mut Findings) {
        self.check_one_at_a_time(found);
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
            None => "the message that was queued before it".to_owned(),
        });
        if !holds {
            self.steering.report();
            self.follow_up.report();
        }
    }

    fn check_one_at_a_time(&self, found: &mut Findings) {
        for queue in [&self.steering, &self.follow_up] {
            if queue.mode_at(self.polls) == Some(QueueMode::OneAtATime) && queue.taken > 0 {
                found.expect(Rule::OneAtATime, queue.taken == 1 || self.unsure, || {
                    "one message of the queue in a turn".to_owned()
                });
            }
        }
    }

    /// A user message that nobody is known to have sent: a prompt or a queued message that became another text, or one
    /// of an extension.
    fn on_unknown_message(&mut self) {
        let grows = |(_, text): &(u64, QueuedText)| text.grows;
        if let Some(place) = self.prompts.iter().position(grows) {
            self.prompts.drain(..=place);
        } else if let Some(queue) =
            [&mut self.steering, &mut self.follow_up].into_iter().find(|queue| queue.grows())
        {
            queue.take(Some(0));
        } else {
            // Extensions queue what the host does not see.
            self.unsure = true;
        }
    }

    /// What the server says of its state.
    pub fn on_state(
        &mut self,
        state: &SessionState,
        request: &OpenRequest,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let changes = |(_, asked): &(u64, QueueCommand)| {
            matches!(asked, QueueCommand::SteeringMode(_) | QueueCommand::FollowUpMode(_))
        };
        if !self.asked.iter().any(changes) {
            self.steering.set_mode(Some(state.steering_mode), self.polls);
            self.follow_up.set_mode(Some(state.follow_up_mode), self.polls);
        }
        let said = state.pending_message_count.or(state.queued_message_count);
        let moving = matches!(at.now.flow, FlowState::StreamingTurn | FlowState::StreamingBetween);
        let queues = |(_, asked): &(u64, QueueCommand)| matches!(asked, QueueCommand::Queue(..));
        let still = request.met.len() == 1 && !moving && !self.asked.iter().any(queues);
        let Some(said) = said.filter(|_| still) else { return };
        let known = (self.steering.items.len() + self.follow_up.items.len()) as u64;
        if self.unsure {
            if said == 0 {
                self.forget();
            }
            self.unsure = said != 0 && said != known;
            return;
        }
        let told = state.pending_message_count.is_some();
        let at = if told { "/data/pendingMessageCount" } else { "/data/queuedMessageCount" };
        found.expect_same(Rule::QueueCount, at, "the count of what waits", &known, &said);
        self.unsure |= said != known;
    }

    /// Another session has taken the place of this one, by that request. `drops`: what waits does not come along.
    pub fn on_session_change(&mut self, request: &OpenRequest, drops: bool) {
        let said = self.leaving.filter(|(number, _)| *number == request.number);
        // The run of a prompt that is being prepared may begin in the other session.
        let drops = drops && self.prompts.is_empty();
        self.forget();
        match said {
            // What was sent meanwhile may be for either of them.
            Some((_, sent)) if drops && sent == self.sent && self.asked.is_empty() => {
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

/// Whether the dialect tells what waits.
fn tells(at: &FrameContext) -> bool {
    AgentSessionEventKind::QueueUpdate.is_in(at.base())
}

/// Whether an answer says that its prompt begins no run.
fn is_runless(response: Option<&RpcSuccess>) -> bool {
    matches!(response, Some(RpcSuccess::Prompt(it))
        if it.data.as_ref().is_some_and(|it| it.disposition != PromptDisposition::Started))
}

/// Whether an answer says that its message waits, or leaves it to what was `told` before; `None`: it waits nowhere, or
/// that is not known.
fn is_queued(response: Option<&RpcSuccess>, request: &OpenRequest, told: bool) -> Option<bool> {
    let said = match response? {
        RpcSuccess::Prompt(it) => match it.data.as_ref().map(|data| data.disposition) {
            None => Some(told),
            Some(PromptDisposition::Started) => Some(false),
            Some(PromptDisposition::Queued) => Some(true),
            Some(PromptDisposition::Handled) => None,
        },
        RpcSuccess::Steer(it) => queued(it.data.as_ref()),
        RpcSuccess::FollowUp(it) => queued(it.data.as_ref()),
        _ => None,
    };
    said.filter(|_| request.command != RpcCommandKind::AbortAndPrompt)
}

/// Where nothing is said of it, it waits.
fn queued(outcome: Option<&QueueOutcome>) -> Option<bool> {
    outcome.is_none_or(|it| it.disposition == QueueDisposition::Queued).then_some(true)
}

fn keep_text(list: &mut VecDeque<String>, text: Option<&String>) {
    if let Some(text) = text {
        keep(list, text.clone());
    }
}

/// How much of a text a report shows, in characters.
const SHOWN: usize = 80;

fn beginning(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}
