//! The shell commands of the host whose output is in the conversation.
//!
//! It grows with the commands: some 50 bytes for each, up to [`MOST`].

use super::{
    digest::digest,
    message_record::{MessageKey, Presence},
};
use crate::protocol::{AgentMessage, BashExecutionMessage, BashResult};
use std::{
    collections::{HashMap, HashSet},
    mem,
};

/// Commands that are kept.
const MOST: usize = 1 << 14;

/// The messages of shell commands. Where they stand among the others depends on when a run ended, so that their places
/// are known once they were listed.
#[derive(Clone, Debug, Default)]
pub struct ShellMessages {
    said: Vec<ShellMessage>,
    /// There are no others.
    are_all: bool,
    /// A command has ended of which not all was seen.
    has_gaps: bool,
}

#[derive(Clone, Copy, Debug)]
struct ShellMessage {
    digest: u64,
    presence: Presence,
    /// It waits for a run to be over.
    waits: bool,
    /// That run was over when the open one began.
    is_due: bool,
    /// Whether models are not told of it; `None`: that is not known.
    is_excluded: Option<bool>,
    /// The message of host or model above it in the last list; `None`: it was in none.
    above: Option<u64>,
}

/// A shell command's message in a list.
struct ListedShellMessage {
    place: usize,
    digest: u64,
    /// Of the message with its time.
    whole: u64,
    is_excluded: bool,
    /// The name of the message of host or model above it; 0: there is none.
    above: u64,
}

/// What is wrong with the messages of shell commands in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellFault {
    /// The message at this place is that of no command.
    NeverEmitted(usize),
    /// The message at this place stands above it already.
    Repeated(usize),
    /// The message at this place was told elsewhere before.
    Misplaced(usize),
    /// The message at this place says otherwise whether models are told of it.
    Exclusion(usize),
    /// So many are missing.
    Missing(usize),
}

impl ShellMessages {
    /// A session begins without messages.
    pub fn clear(&mut self) {
        *self = Self { are_all: true, ..Self::default() };
    }

    /// Something was missed, or another session goes on.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// There were no messages before those that are known.
    pub const fn mark_beginning(&mut self) {
        self.are_all = true;
    }

    /// A command has ended of which not all was seen.
    pub const fn miss(&mut self) {
        (self.are_all, self.has_gaps) = (false, true);
    }

    /// More has happened than that messages were added: their places are not known.
    pub fn lose_places(&mut self) {
        self.said.iter_mut().for_each(|said| said.above = None);
    }

    /// A command has ended; `is_excluded`: whether models are not told of it, where that is known. `waits`: a run is open,
    /// which it does not interrupt. `certain`: in this session.
    pub fn end(
        &mut self,
        command: &str,
        result: &BashResult,
        is_excluded: Option<bool>,
        waits: bool,
        certain: bool,
    ) {
        if self.said.len() >= MOST {
            self.forget();
            self.has_gaps = true;
        }
        let presence = if waits || !certain { Presence::Maybe } else { Presence::In };
        let digest = of_result(command, result);
        self.said.push(ShellMessage {
            digest,
            presence,
            waits: waits && certain,
            is_due: false,
            is_excluded,
            above: None,
        });
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
    pub fn compare(&self, messages: &[AgentMessage]) -> Result<(), ShellFault> {
        let told: Vec<ListedShellMessage> = listed(messages).collect();
        if let Some(place) = self.doubled(&told) {
            return Err(ShellFault::Repeated(place));
        }
        // What is above a message may be left out of a list.
        let names: HashSet<u64> = names_above(messages).chain([0]).collect();
        let is_free = |said: &ShellMessage| said.above.is_none_or(|above| !names.contains(&above));
        let mut left: Vec<&ShellMessage> = self.said.iter().collect();
        for message in &told {
            let alike = || left.iter().enumerate().filter(|(_, said)| said.digest == message.digest);
            let same =
                || alike().filter(|(_, said)| said.is_excluded.is_none_or(|is| is == message.is_excluded));
            let here = same().find(|(_, said)| said.above == Some(message.above));
            match here.or_else(|| same().find(|(_, said)| is_free(said))).map(|(at, _)| at) {
                Some(at) => drop(left.remove(at)),
                None if same().next().is_some() => return Err(ShellFault::Misplaced(message.place)),
                None if alike().next().is_some() => return Err(ShellFault::Exclusion(message.place)),
                None if self.are_all => return Err(ShellFault::NeverEmitted(message.place)),
                None => {}
            }
        }
        match left.iter().filter(|said| said.presence == Presence::In).count() {
            0 => Ok(()),
            missing => Err(ShellFault::Missing(missing)),
        }
    }

    /// The place of a message that a list has more often than its command was run: all those alike have one time, at which
    /// it was seen what was run.
    fn doubled(&self, told: &[ListedShellMessage]) -> Option<usize> {
        let mut alike: HashMap<u64, Vec<&ListedShellMessage>> = HashMap::new();
        told.iter().for_each(|message| alike.entry(message.digest).or_default().push(message));
        let mut doubled = told.iter().filter(|message| {
            let alike = &alike[&message.digest];
            let run: Vec<&ShellMessage> =
                self.said.iter().filter(|said| said.digest == message.digest).collect();
            let are_certain = run.iter().all(|said| said.presence == Presence::In);
            let is_one_time = alike.iter().all(|other| other.whole == message.whole);
            !self.has_gaps && is_one_time && are_certain && (1..alike.len()).contains(&run.len())
        });
        doubled.next_back().map(|message| message.place)
    }

    /// How many of the commands that have to be in the session are not among its entries.
    pub fn missing_from(&self, entries: impl Iterator<Item = u64>) -> usize {
        let mut entries: Vec<u64> = entries.collect();
        let is_missing = |said: &&ShellMessage| match entries.iter().position(|entry| *entry == said.digest) {
            Some(at) => {
                entries.swap_remove(at);
                false
            }
            None => true,
        };
        self.said.iter().filter(|said| said.presence == Presence::In).filter(is_missing).count()
    }

    /// These are in memory; `None`: they were not seen whole.
    pub fn learn(&mut self, told: Option<&[AgentMessage]>) {
        let Some(told) = told else {
            self.are_all = false;
            return self.doubt();
        };
        let mut waiting = mem::take(&mut self.said);
        waiting.retain(|said| said.waits);
        for message in listed(told).take(MOST) {
            // One that waited is there by now.
            if let Some(at) = waiting.iter().position(|said| said.digest == message.digest) {
                waiting.remove(at);
            }
            self.said.push(ShellMessage {
                digest: message.digest,
                presence: Presence::In,
                waits: false,
                is_due: false,
                is_excluded: Some(message.is_excluded),
                above: Some(message.above),
            });
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

/// The names of the messages of host or model in a list.
fn names_above(told: &[AgentMessage]) -> impl Iterator<Item = u64> {
    told.iter().map(|message| MessageKey::of(message, false)).filter(MessageKey::is_core).map(|key| key.name)
}

/// The messages of shell commands in a list.
fn listed(told: &[AgentMessage]) -> impl Iterator<Item = ListedShellMessage> {
    let mut above = 0;
    told.iter().enumerate().filter_map(move |(place, message)| {
        let AgentMessage::BashExecution(shell) = message else {
            let key = MessageKey::of(message, false);
            above = if key.is_core() { key.name } else { above };
            return None;
        };
        let is_excluded = shell.exclude_from_context == Some(true);
        Some(ListedShellMessage {
            place,
            digest: shell_digest(shell),
            whole: digest(shell),
            is_excluded,
            above,
        })
    })
}

fn of_result(command: &str, result: &BashResult) -> u64 {
    digest(&(command, &result.output, result.exit_code, result.cancelled, result.truncated))
}

/// The digest of what the message of a shell command says that its result has said.
pub fn shell_digest(message: &BashExecutionMessage) -> u64 {
    digest(&(&message.command, &message.output, message.exit_code, message.cancelled, message.truncated))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn run(command: &str) -> ShellMessages {
        let mut shells = ShellMessages::default();
        shells.end(command, &result(), Some(false), false, true);
        shells
    }

    fn result() -> BashResult {
        let result = json!({ "output": "", "exitCode": 0, "cancelled": false, "truncated": false });
        serde_json::from_value(result).expect("a result")
    }

    fn shell(time: u64) -> Value {
        let mut message = json!({ "role": "bashExecution", "command": "true", "timestamp": time });
        let result = serde_json::to_value(result()).expect("JSON");
        message.as_object_mut().expect("an object").extend(result.as_object().expect("an object").clone());
        message
    }

    fn user(time: u64) -> Value {
        json!({ "role": "user", "content": "x", "timestamp": time })
    }

    fn list(messages: &[Value]) -> Vec<AgentMessage> {
        serde_json::from_value(json!(messages)).expect("messages")
    }

    #[test]
    fn command_of_one_moment_is_listed_once() {
        let shells = run("true");
        assert_eq!(shells.compare(&list(&[shell(1)])), Ok(()));
        assert_eq!(shells.compare(&list(&[shell(1), shell(1)])), Err(ShellFault::Repeated(1)));
        // The other may have been run before what was seen.
        assert_eq!(shells.compare(&list(&[shell(1), shell(2)])), Ok(()));
    }

    #[test]
    fn listed_command_keeps_its_place() {
        let mut shells = run("true");
        shells.learn(Some(&list(&[user(1), shell(2), user(3)])));
        assert_eq!(shells.compare(&list(&[user(1), shell(2), user(3), user(4)])), Ok(()));
        let moved = list(&[user(1), user(3), shell(2)]);
        assert_eq!(shells.compare(&moved), Err(ShellFault::Misplaced(2)));
        assert_eq!(shells.compare(&list(&[shell(2), user(3)])), Ok(()));
        shells.lose_places();
        assert_eq!(shells.compare(&moved), Ok(()));
    }

    #[test]
    fn exclusion_is_that_of_the_command() {
        let mut excluded = shell(1);
        excluded["excludeFromContext"] = json!(true);
        assert_eq!(run("true").compare(&list(&[excluded])), Err(ShellFault::Exclusion(0)));
    }
}
