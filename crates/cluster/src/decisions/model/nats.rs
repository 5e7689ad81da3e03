//! NATS, as far as one session has to do with it.

use crate::{
    decisions::way_in::ClientMessage,
    session_record::{ClientInput, SessionRecord},
};
use std::hash::{Hash, Hasher};

/// A command of a client: the client, and which of its commands from 1 on.
pub type Command = (usize, u8);

/// A record that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Record(pub SessionRecord);

impl Eq for Record {}

impl Hash for Record {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let SessionRecord { owner, epoch, taken, is_running, waiting, .. } = &self.0;
        (owner, epoch, taken.position, is_running, waiting.is_some()).hash(state);
        taken.lines.iter().for_each(|line| line.hash(state));
        taken.outstanding.iter().for_each(|command| (&command.client, &command.command).hash(state));
    }
}

/// A message of the input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    pub client: usize,
    pub numbered: ClientMessage,
    /// The command of the line; 0: it is none.
    pub command: u8,
}

/// What the output says of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    /// An owner has begun.
    Owner,
    /// The command was executed.
    Done(Command),
    /// The owner that had taken the command was lost.
    Lost(Command),
    /// A question is open.
    Asked,
    /// The run that the owner before has left is closed.
    Closed,
}

/// A message that an owner writes: its epoch, its host, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Written<T> {
    pub epoch: u64,
    pub host: usize,
    pub content: T,
}

/// What NATS holds. Sequences count from 1 on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Nats {
    pub record: Record,
    pub revision: u8,
    pub input: Vec<Message>,
    /// `None`: an owner has begun.
    pub entries: Vec<Written<Option<Command>>>,
    pub output: Vec<Written<Told>>,
}

impl Nats {
    /// What was received from a client behind `known`, which is what there was up to `after`, and before the message `before`.
    pub fn client_input(
        &self,
        client: usize,
        known: ClientInput,
        after: usize,
        before: usize,
    ) -> ClientInput {
        let mut input = known;
        let behind = self.input.iter().take(before.saturating_sub(1)).skip(after);
        behind.filter(|message| message.client == client).for_each(|message| {
            input.admit(message.numbered);
        });
        input
    }

    /// What was received from a client by the record and what lies behind it.
    pub fn received(&self, client: usize) -> ClientInput {
        let taken = &self.record.0.taken;
        let known = taken.lines.get(&client.to_string()).copied().unwrap_or_default();
        self.client_input(client, known, taken.position as usize, usize::MAX)
    }

    /// Writes the record behind the revision that the writer knows. `false`: another one was there.
    pub fn write_record(&mut self, record: &Record, revision: &mut u8) -> bool {
        if self.revision != *revision {
            return false;
        }
        (self.record, self.revision) = (record.clone(), self.revision + 1);
        *revision = self.revision;
        true
    }
}
