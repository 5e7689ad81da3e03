//! The messages of the host's shell commands in the session.
//!
//! Takes some 50 bytes for each command, up to [`MAX_SHELL_COMMANDS`].

use super::{
    digest::digest,
    message_record::{MessageKey, Presence},
};
use pi_rpc_protocol::{AgentMessage, BashExecutionMessage, BashResult};
use std::{
    collections::{HashMap, HashSet},
    mem,
};

/// The most commands that are kept.
const MAX_SHELL_COMMANDS: usize = 1 << 14;

/// The messages of shell commands. Their places among the other messages depend on the end of a run, and are known only
/// once they were listed.
#[derive(Clone, Debug, Default)]
pub struct ShellMessages {
    messages: Vec<ShellMessage>,
    /// Whether there are no others.
    are_all: bool,
    /// Whether a command has ended whose output is not completely known.
    has_gaps: bool,
    /// How many of these may wait for the end of a run.
    missed: u64,
    /// How many of them had ended when the current run began.
    missed_due: u64,
}

#[derive(Clone, Copy, Debug)]
struct ShellMessage {
    digest: u64,
    presence: Presence,
    /// Whether the message may wait for the end of a run.
    waits: bool,
    /// Whether the message certainly belongs to this session.
    is_certain: bool,
    /// Whether that run had ended when the current one began.
    is_due: bool,
    /// Whether the message is excluded from the model's context; `None` if not known.
    is_excluded: Option<bool>,
    /// The message of host or model before it in the last list; `None` if it was in none.
    above: Option<u64>,
}

/// The message of a shell command in a list.
struct ListedShellMessage {
    place: usize,
    digest: u64,
    /// The digest of the message with its timestamp.
    whole: u64,
    is_excluded: bool,
    /// The identity of the message of host or model before it; 0 if there is none.
    above: u64,
}

/// A fault of the messages of shell commands in a list. Places are indices of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellFault {
    /// The message at this place belongs to no command.
    NeverEmitted(usize),
    /// The message at this place is repeated.
    Repeated(usize),
    /// The message at this place was elsewhere before.
    Misplaced(usize),
    /// The message at this place has the wrong exclusion from the context.
    Exclusion(usize),
    /// This many messages are missing.
    Missing(usize),
}

impl ShellMessages {
    /// Clears the list for a new session.
    pub fn clear(&mut self) {
        *self = Self { are_all: true, ..Self::default() };
    }

    /// Forgets all messages: frames were missed, or the session has changed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Notes that there were no messages before the known ones.
    pub const fn mark_beginning(&mut self) {
        self.are_all = true;
    }

    /// Notes that a command has ended whose output is not completely known.
    pub const fn miss(&mut self) {
        (self.are_all, self.has_gaps) = (false, true);
        self.missed += 1;
    }

    /// Forgets the places of the messages: more has happened than messages being added.
    pub fn lose_places(&mut self) {
        self.messages.iter_mut().for_each(|own| own.above = None);
    }

    /// Adds the message of a finished command. `is_excluded`: whether it is excluded from the context, if known. `waits`: a run
    /// is open, so the message is added after it. `certain`: the message certainly belongs to this session.
    pub fn end(
        &mut self,
        command: &str,
        result: &BashResult,
        is_excluded: Option<bool>,
        waits: bool,
        certain: bool,
    ) {
        if self.messages.len() >= MAX_SHELL_COMMANDS {
            self.forget();
            self.has_gaps = true;
        }
        let presence = if waits || !certain { Presence::Maybe } else { Presence::In };
        let digest = of_result(command, result);
        self.messages.push(ShellMessage {
            digest,
            presence,
            waits,
            is_certain: certain,
            is_due: false,
            is_excluded,
            above: None,
        });
    }

    /// Begins the run of a prompt: messages that have waited so far come before its first assistant message.
    pub fn begin_run(&mut self) {
        self.messages.iter_mut().for_each(|own| own.is_due = own.waits);
        self.missed_due = self.missed;
    }

    /// Marks the messages that were due at the beginning of the run as present, if they certainly belong to the session.
    /// Returns the number of these.
    pub fn settle(&mut self) -> u64 {
        let mut settled = 0;
        for own in self.messages.iter_mut().filter(|own| own.waits && own.is_due) {
            own.waits = false;
            if own.is_certain {
                own.presence = Presence::In;
                settled += 1;
            }
        }
        self.missed -= self.missed_due;
        self.missed_due = 0;
        settled
    }

    /// The number of messages that may wait for the end of a run: one list may lack them, and the next one have them.
    pub fn waiting(&self) -> u64 {
        self.messages.iter().filter(|own| own.waits).count() as u64 + self.missed
    }

    /// Marks all messages as possibly missing: a summary may have replaced them, or the session has changed.
    pub fn doubt(&mut self) {
        self.messages.iter_mut().for_each(|own| own.presence = Presence::Maybe);
    }

    /// Compares the messages of a list with the commands, none of which is running.
    pub fn compare(&self, messages: &[AgentMessage]) -> Result<(), ShellFault> {
        let list: Vec<ListedShellMessage> = listed(messages).collect();
        if let Some(place) = self.doubled(&list) {
            return Err(ShellFault::Repeated(place));
        }
        // The message before it may be missing in a list.
        let names: HashSet<u64> = names_above(messages).chain([0]).collect();
        let is_free = |own: &ShellMessage| own.above.is_none_or(|above| !names.contains(&above));
        let mut left: Vec<&ShellMessage> = self.messages.iter().collect();
        for message in &list {
            let alike = || left.iter().enumerate().filter(|(_, own)| own.digest == message.digest);
            let same =
                || alike().filter(|(_, own)| own.is_excluded.is_none_or(|is| is == message.is_excluded));
            let here = same().find(|(_, own)| own.above == Some(message.above));
            match here.or_else(|| same().find(|(_, own)| is_free(own))).map(|(at, _)| at) {
                Some(at) => drop(left.remove(at)),
                None if same().next().is_some() => return Err(ShellFault::Misplaced(message.place)),
                None if alike().next().is_some() => return Err(ShellFault::Exclusion(message.place)),
                None if self.are_all => return Err(ShellFault::NeverEmitted(message.place)),
                None => {}
            }
        }
        match left.iter().filter(|own| own.presence == Presence::In).count() {
            0 => Ok(()),
            missing => Err(ShellFault::Missing(missing)),
        }
    }

    /// The place of a message that is listed more often than its command was run.
    fn doubled(&self, list: &[ListedShellMessage]) -> Option<usize> {
        let mut alike: HashMap<u64, Vec<&ListedShellMessage>> = HashMap::new();
        list.iter().for_each(|message| alike.entry(message.digest).or_default().push(message));
        let mut doubled = list.iter().filter(|message| {
            let alike = &alike[&message.digest];
            let run: Vec<&ShellMessage> =
                self.messages.iter().filter(|own| own.digest == message.digest).collect();
            let are_certain = run.iter().all(|own| own.presence == Presence::In);
            let is_one_time = alike.iter().all(|other| other.whole == message.whole);
            !self.has_gaps && is_one_time && are_certain && (1..alike.len()).contains(&run.len())
        });
        doubled.next_back().map(|message| message.place)
    }

    /// The number of commands that must be in the session and are not among its entries.
    pub fn missing_from(&self, entries: impl Iterator<Item = u64>) -> usize {
        let mut entries: Vec<u64> = entries.collect();
        let is_missing = |own: &&ShellMessage| match entries.iter().position(|entry| *entry == own.digest) {
            Some(at) => {
                entries.swap_remove(at);
                false
            }
            None => true,
        };
        self.messages.iter().filter(|own| own.presence == Presence::In).filter(is_missing).count()
    }

    /// Learns the messages from a list of memory; `None` if it was shortened.
    pub fn learn(&mut self, list: Option<&[AgentMessage]>) {
        let Some(list) = list else {
            self.are_all = false;
            return self.doubt();
        };
        let (mut waiting, present): (Vec<ShellMessage>, Vec<ShellMessage>) =
            mem::take(&mut self.messages).into_iter().partition(|own| own.waits);
        let mut present_before: HashMap<u64, usize> = HashMap::new();
        present.iter().for_each(|own| *present_before.entry(own.digest).or_default() += 1);
        for message in listed(list).take(MAX_SHELL_COMMANDS) {
            // A message that waited is there by now, unless an earlier run of the same command is meant.
            match present_before.get_mut(&message.digest).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => {
                    let place = waiting.iter().position(|own| own.digest == message.digest);
                    place.map(|place| waiting.remove(place));
                }
            }
            self.messages.push(ShellMessage {
                digest: message.digest,
                presence: Presence::In,
                waits: false,
                is_certain: true,
                is_due: false,
                is_excluded: Some(message.is_excluded),
                above: Some(message.above),
            });
        }
        self.messages.append(&mut waiting);
    }

    /// The number of messages that must be there.
    pub fn certain(&self) -> usize {
        self.messages.iter().filter(|own| own.presence == Presence::In).count()
    }

    /// Whether the number of messages is known.
    pub fn are_certain(&self) -> bool {
        self.certain() == self.messages.len()
    }
}

/// For each message of a list, the identity of the last message of host or model before it.
fn names_above(list: &[AgentMessage]) -> impl Iterator<Item = u64> {
    list.iter().map(|message| MessageKey::of(message, false)).filter(MessageKey::is_core).map(|key| key.name)
}

/// The messages of shell commands in a list.
fn listed(list: &[AgentMessage]) -> impl Iterator<Item = ListedShellMessage> {
    let mut above = 0;
    list.iter().enumerate().filter_map(move |(place, message)| {
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

/// The digest of the message of a shell command, as far as the result of the command has the same members.
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
    fn same_command_in_a_run_waits_on() {
        let mut shells = run("true");
        shells.end("true", &result(), Some(false), true, true);
        assert_eq!(shells.waiting(), 1);
        shells.learn(Some(&list(&[shell(1)])));
        assert_eq!(shells.waiting(), 1);
        shells.learn(Some(&list(&[shell(1), shell(2)])));
        assert_eq!(shells.waiting(), 0);
    }

    #[test]
    fn uncertain_and_missed_commands_may_wait() {
        let mut shells = ShellMessages::default();
        shells.end("true", &result(), Some(false), true, false);
        shells.miss();
        assert_eq!(shells.waiting(), 2);
        shells.begin_run();
        assert_eq!((shells.settle(), shells.waiting(), shells.certain()), (0, 0, 0));
    }

    #[test]
    fn exclusion_is_that_of_the_command() {
        let mut excluded = shell(1);
        excluded["excludeFromContext"] = json!(true);
        assert_eq!(run("true").compare(&list(&[excluded])), Err(ShellFault::Exclusion(0)));
    }
}
