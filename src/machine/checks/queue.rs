//! One queue of messages, as the host can know it.

use crate::protocol::{MessageContent, QueueMode, UserContent};
use std::{borrow::Cow, collections::VecDeque};

/// Messages and requests that are kept; of more, the order is not judged.
pub const KEPT: usize = 4096;

/// Messages that wait, as far as is known.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Oldest first.
    pub items: VecDeque<QueuedMessage>,
    /// Unknown until it is told, and while it changes.
    pub mode: Option<QueueMode>,
    /// Moments at which messages had been looked for when the mode became that.
    pub mode_polls: u64,
    /// Taken by this turn.
    pub taken: usize,
}

/// A message that waits.
#[derive(Clone, Debug)]
pub struct QueuedMessage {
    /// What it says.
    pub text: QueuedText,
    /// Moments at which messages had been looked for when it was accepted.
    pub polls: u64,
    /// That it has not been delivered in time is known.
    pub late: bool,
}

/// What the host said; a template or a skill may become another text.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedText {
    /// As the host wrote it.
    pub text: String,
    /// It may become another.
    pub grows: bool,
}

/// How a list has changed.
pub enum QueueChange {
    /// It has not.
    None,
    /// One text more, at its end.
    Added,
    /// One text fewer: its place.
    Taken(usize),
    /// It is empty.
    Cleared,
    /// In another way.
    Other,
}

impl Queue {
    /// The mode, if it was so when messages were last looked for.
    pub fn mode_at(&self, polls: u64) -> Option<QueueMode> {
        self.mode.filter(|_| self.mode_polls < polls)
    }

    /// The mode is told.
    pub fn set_mode(&mut self, mode: Option<QueueMode>, polls: u64) {
        if self.mode != mode {
            (self.mode, self.mode_polls) = (mode, polls);
        }
    }

    /// The first message that waited when messages were last looked for, unless it was reported.
    pub fn overdue(&self, polls: u64) -> Option<&QueuedMessage> {
        self.items.front().filter(|item| item.polls < polls && !item.late)
    }

    /// Those that wait are reported.
    pub fn report(&mut self) {
        self.items.iter_mut().for_each(|item| item.late = true);
    }

    /// The place of the first message with that text.
    pub fn place(&self, text: &str) -> Option<usize> {
        self.items.iter().position(|item| item.text.text == text)
    }

    /// The message at that place is delivered.
    pub fn take(&mut self, place: Option<usize>) {
        if place.and_then(|place| self.items.remove(place)).is_some() {
            self.taken += 1;
        }
    }

    /// Holds these from here on; those that it had keep their age.
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
    /// What the host wrote.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), grows: text.trim_start().starts_with('/') }
    }
}

/// How the queue has changed that is now told so.
pub fn change(known: &VecDeque<QueuedMessage>, told: &[String]) -> QueueChange {
    let same = |(item, text): (&QueuedMessage, &String)| item.text.text == *text;
    let common = known.iter().zip(told).take_while(|pair| same(*pair)).count();
    let rest = || known.iter().skip(common + 1).zip(told.iter().skip(common)).all(same);
    match (known.len(), told.len()) {
        (known, told) if known == told && common == known => QueueChange::None,
        (known, told) if told == known + 1 && common == known => QueueChange::Added,
        (len, told) if len == told + 1 && rest() => {
            // Of those that are alike, the first.
            let alike = (0..=common).rev().take_while(|at| known[*at].text.text == known[common].text.text);
            QueueChange::Taken(alike.last().unwrap_or(common))
        }
        (_, 0) => QueueChange::Cleared,
        _ => QueueChange::Other,
    }
}

/// The texts of those that wait.
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

/// Adds an item, and drops the oldest where there are too many.
pub fn keep<T>(list: &mut VecDeque<T>, item: T) {
    list.push_back(item);
    if list.len() > KEPT {
        list.pop_front();
    }
}
