//! The shell commands of the host whose output is in the conversation.
//!
//! It grows with the commands: 16 bytes for each, up to [`MOST`].

use super::{digest::digest, message::Presence};
use crate::protocol::{AgentMessage, BashExecutionMessage, BashResult};
use std::mem;

/// Commands that are kept.
const MOST: usize = 1 << 14;

/// The messages of shell commands. Where they stand among the others depends on when a run ended, so that their places
/// are not compared.
#[derive(Clone, Debug, Default)]
pub struct ShellMessages {
    said: Vec<Said>,
    /// There are no others.
    are_all: bool,
}

#[derive(Clone, Copy, Debug)]
struct Said {
    digest: u64,
    presence: Presence,
    /// It waits for a run to be over.
    waits: bool,
    /// That run was over when the open one began.
    is_due: bool,
}

/// What is wrong with the messages of shell commands in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellFault {
    /// The message at this place is that of no command.
    Unsaid(usize),
    /// So many are missing.
    Missing(usize),
}

impl ShellMessages {
    /// A session begins without messages.
    pub fn clear(&mut self) {
        *self = Self { said: Vec::new(), are_all: true };
    }

    /// Something was missed, or another session goes on.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// There were no messages before those that are known.
    pub const fn begin_here(&mut self) {
        self.are_all = true;
    }

    /// A command has ended of which not all was seen.
    pub const fn miss(&mut self) {
        self.are_all = false;
    }

    /// A command has ended; `waits`: a run is open, which it does not interrupt. `certain`: in this session.
    pub fn end(&mut self, command: &str, result: &BashResult, waits: bool, certain: bool) {
        if self.said.len() >= MOST {
            self.forget();
        }
        let presence = if waits || !certain { Presence::Maybe } else { Presence::In };
        let digest = of_result(command, result);
        self.said.push(Said { digest, presence, waits: waits && certain, is_due: false });
    }

    /// A run has begun by a prompt: what has waited so far comes before its answer.
    pub fn begin_run(&mut self) {
        self.said.iter_mut().for_each(|said| said.is_due = said.waits);
    }

    /// What was due when the run began is there. Gives how many that are.
    pub fn settle(&mut self) -> u64 {
        let mut settled = 0;
        for said in self.said.iter_mut().filter(|said| said.waits && said.is_due) {
            (said.presence, said.waits) = (Presence::In, false);
            settled += 1;
        }
        settled
    }

    /// A summary may stand for them, or they may have been left behind.
    pub fn doubt(&mut self) {
        self.said.iter_mut().for_each(|said| said.presence = Presence::Maybe);
    }

    /// Holds the messages of a list against the commands, of which none is open.
    pub fn compare(&self, told: &[AgentMessage]) -> Result<(), ShellFault> {
        let mut left: Vec<&Said> = self.said.iter().collect();
        for (place, digest) in listed(told) {
            match left.iter().position(|said| said.digest == digest) {
                Some(at) => drop(left.remove(at)),
                None if self.are_all => return Err(ShellFault::Unsaid(place)),
                None => {}
            }
        }
        match left.iter().filter(|said| said.presence == Presence::In).count() {
            0 => Ok(()),
            missing => Err(ShellFault::Missing(missing)),
        }
    }

    /// These are in memory; `None`: they were not seen whole.
    pub fn learn(&mut self, told: Option<&[AgentMessage]>) {
        let Some(told) = told else {
            self.are_all = false;
            return self.doubt();
        };
        let mut waiting = mem::take(&mut self.said);
        waiting.retain(|said| said.waits);
        for (_, digest) in listed(told).take(MOST) {
            // One that waited is there by now.
            if let Some(at) = waiting.iter().position(|said| said.digest == digest) {
                waiting.remove(at);
            }
            self.said.push(Said { digest, presence: Presence::In, waits: false, is_due: false });
        }
        self.said.append(&mut waiting);
    }

    /// How many have to be there.
    pub fn certain(&self) -> usize {
        self.said.iter().filter(|said| said.presence == Presence::In).count()
    }

    /// Whether how many there are is known.
    pub fn are_certain(&self) -> bool {
        self.certain() == self.said.len()
    }
}

/// The messages of shell commands in a list: place and digest.
fn listed(told: &[AgentMessage]) -> impl Iterator<Item = (usize, u64)> {
    told.iter().enumerate().filter_map(|(place, message)| match message {
        AgentMessage::BashExecution(message) => Some((place, of_message(message))),
        _ => None,
    })
}

fn of_result(command: &str, result: &BashResult) -> u64 {
    digest(&(command, &result.output, result.exit_code, result.cancelled, result.truncated))
}

fn of_message(message: &BashExecutionMessage) -> u64 {
    digest(&(&message.command, &message.output, message.exit_code, message.cancelled, message.truncated))
}
