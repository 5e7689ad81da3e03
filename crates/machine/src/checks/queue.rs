//! One queue of messages, as data, as far as the host can know it. `queues` judges both of them.

use pi_rpc_protocol::{MessageContent, QueueMode, UserContent};
use std::{borrow::Cow, collections::VecDeque};

/// The most messages and requests that are kept; beyond that the order is not judged.
pub const MAX_MESSAGES: usize = 4096;

/// The queued messages, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Oldest first.
    pub items: VecDeque<QueuedMessage>,
    /// The delivery mode; `None` until it is reported, and while it changes.
    pub mode: Option<QueueMode>,
    /// The number of polls of the queue before the mode was set.
    pub mode_polls: u64,
    /// The number of messages that the current turn has taken.
    pub taken: usize,
}

/// A queued message.
#[derive(Clone, Debug)]
pub struct QueuedMessage {
    /// The text.
    pub text: QueuedText,
    /// The number of polls of the queue before the message was accepted.
    pub polls: u64,
    /// Whether the message was reported as late.
    pub late: bool,
}

/// The text of a message of the host. A template or a skill becomes another text.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedText {
    /// The text as sent.
    pub text: String,
    /// Whether it may become another text.
    pub grows: bool,
}

/// A change of a queue.
pub enum QueueChange {
    /// No change.
    None,
    /// A text was added at the end.
    Added,
    /// The text at this place was removed.
    Taken(usize),
    /// The queue was cleared.
    Cleared,
    /// Any other change.
    Other,
}

impl Queue {
    /// The mode, if it was already set at the last poll.
    pub fn mode_at(&self, polls: u64) -> Option<QueueMode> {
        self.mode.filter(|_| self.mode_polls < polls)
    }

    /// Sets the mode.
    pub fn set_mode(&mut self, mode: Option<QueueMode>, polls: u64) {
        if self.mode != mode {
            (self.mode, self.mode_polls) = (mode, polls);
        }
    }

    /// The first message that was already queued at the last poll, unless it was reported.
    pub fn overdue(&self, polls: u64) -> Option<&QueuedMessage> {
        self.items.front().filter(|item| item.polls < polls && !item.late)
    }

    /// Marks all messages as reported.
    pub fn report(&mut self) {
        self.items.iter_mut().for_each(|item| item.late = true);
    }

    /// The place of the first message with this text.
    pub fn place(&self, text: &str) -> Option<usize> {
        self.items.iter().position(|item| item.text.text == text)
    }

    /// Removes the message at this place, which is delivered.
    pub fn take(&mut self, place: Option<usize>) {
        if place.and_then(|place| self.items.remove(place)).is_some() {
            self.taken += 1;
        }
    }

    /// Replaces the messages; known ones keep their age.
    pub fn retell(&mut self, texts: &[String], polls: u64) {
        let mut known = std::mem::take(&mut self.items);
        self.items = texts
            .iter()
            .map(|text| {
                let place = known.iter().position(|item| item.text.text == *text);
                place.and_then(|place| known.remove(place)).unwrap_or_else(|| QueuedMessage {
                    text: QueuedText { text: text.clone(), grows: false },
                    polls,
                    late: false,
                })
            })
            .collect();
    }

    /// Whether the first message may become another text.
    pub fn grows(&self) -> bool {
        self.items.front().is_some_and(|item| item.text.grows)
    }
}

impl QueuedText {
    /// Creates a text as the host sent it.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), grows: text.trim_start().starts_with('/') }
    }
}

/// The change from the known messages to the reported texts.
pub fn change(known: &VecDeque<QueuedMessage>, reported: &[String]) -> QueueChange {
    let same = |(item, text): (&QueuedMessage, &String)| item.text.text == *text;
    let common = known.iter().zip(reported).take_while(|pair| same(*pair)).count();
    let rest = || known.iter().skip(common + 1).zip(reported.iter().skip(common)).all(same);
    match (known.len(), reported.len()) {
        (known, reported) if known == reported && common == known => QueueChange::None,
        (known, reported) if reported == known + 1 && common == known => QueueChange::Added,
        (len, reported) if len == reported + 1 && rest() => {
            // Of equal texts, the first.
            let alike = (0..=common).rev().take_while(|at| known[*at].text.text == known[common].text.text);
            QueueChange::Taken(alike.last().unwrap_or(common))
        }
        (_, 0) => QueueChange::Cleared,
        _ => QueueChange::Other,
    }
}

/// The texts of the messages.
pub fn texts(items: &VecDeque<QueuedMessage>) -> Vec<String> {
    items.iter().map(|item| item.text.text.clone()).collect()
}

/// The text of a message, without its images.
pub fn text_of(content: &MessageContent) -> Cow<'_, str> {
    match content {
        MessageContent::Text(text) => text.into(),
        MessageContent::Blocks(blocks) => {
            if let [UserContent::Text(only)] = blocks.as_slice() {
                return (&only.text).into();
            }
            let texts = blocks.iter().filter_map(|block| match block {
                UserContent::Text(text) => Some(text.text.as_str()),
                UserContent::Image(_) => None,
            });
            texts.collect()
        }
    }
}

/// Adds an item, and drops the oldest if there are too many.
pub fn keep<T>(list: &mut VecDeque<T>, item: T) {
    list.push_back(item);
    if list.len() > MAX_MESSAGES {
        list.pop_front();
    }
}
