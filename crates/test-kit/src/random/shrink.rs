//! Shrinking of a failing conversation.

use super::play;
use crate::{Conversation, HostLine, Kind};
use pi_rpc_scenario::random::shrink_list;
use serde_json::{Map, Value};

/// Maximum number of plays for shrinking a conversation.
const TRIES: usize = 3000;

/// Removes parts of a conversation that its failure does not need, and simplifies the rest. The result fails in the
/// same way: its error text is equal except for numbers and quotations.
pub fn shrink(failed: &Conversation) -> Conversation {
    let way = play(failed).err().map(|wrong| way(&wrong));
    Shrinker { way, tries: TRIES }.shrink(failed.clone())
}

struct Shrinker {
    way: Option<String>,
    tries: usize,
}

impl Shrinker {
    fn shrink(mut self, mut best: Conversation) -> Conversation {
        loop {
            let before = size(&best);
            self.plain(&mut best);
            self.list(&mut best, |it| &mut it.host);
            self.list(&mut best, |it| &mut it.turns);
            self.list(&mut best, |it| &mut it.actions);
            self.list(&mut best, |it| &mut it.full);
            self.list(&mut best, |it| &mut it.tools);
            self.list(&mut best, |it| &mut it.shells);
            self.list(&mut best, |it| &mut it.answers);
            self.list(&mut best, |it| &mut it.habits);
            for place in 0..best.habits.len() {
                self.list(&mut best, |it| &mut it.habits[place]);
            }
            for turn in 0..best.turns.len() {
                self.says(&mut best, turn);
            }
            for line in 0..best.host.len() {
                self.members(&mut best, line);
            }
            self.waits(&mut best);
            if size(&best) == before || self.tries == 0 {
                return best;
            }
        }
    }

    /// Whether the candidate fails in the same way.
    fn fails(&self, candidate: &Conversation) -> bool {
        let is_whole = !candidate.tools.is_empty()
            && !candidate.shells.is_empty()
            && candidate.habits.iter().all(|it| !it.is_empty())
            && (candidate.kind != Kind::Asking || !candidate.answers.is_empty());
        is_whole && play(candidate).err().map(|wrong| way(&wrong)) == self.way
    }

    fn take(&mut self, best: &mut Conversation, change: impl FnOnce(&mut Conversation)) {
        let mut candidate = best.clone();
        change(&mut candidate);
        if self.tries > 0 && text(&candidate) != text(best) {
            self.tries -= 1;
            if self.fails(&candidate) {
                *best = candidate;
            }
        }
    }

    fn list<T: Clone>(&mut self, best: &mut Conversation, list: impl Fn(&mut Conversation) -> &mut Vec<T>) {
        let all = list(best).clone();
        let mut tries = self.tries;
        let left = shrink_list(&all, &mut tries, |some| {
            let mut candidate = best.clone();
            some.clone_into(list(&mut candidate));
            self.fails(&candidate)
        });
        self.tries = tries;
        *list(best) = left;
    }

    fn plain(&mut self, best: &mut Conversation) {
        self.take(best, |it| it.close = None);
        self.take(best, |it| it.echoes = false);
        self.take(best, |it| it.strays = false);
        self.take(best, |it| it.dies = false);
        self.take(best, |it| it.outcome = 0);
        self.take(best, |it| it.confirm.clear());
        self.take(best, |it| it.seed = 0);
        let plain = Conversation::new(best.kind, best.dialect);
        self.take(best, |it| it.tools = plain.tools);
        self.take(best, |it| it.shells = plain.shells);
    }

    fn says(&mut self, best: &mut Conversation, turn: usize) {
        let says = best.turns[turn]["say"].as_array().map_or(0, Vec::len);
        for at in (0..says).rev() {
            self.take(best, |it| {
                it.turns[turn]["say"].as_array_mut().map(|say| say.remove(at));
            });
        }
        for key in ["firstDelayMs", "delayMs", "size", "afterDeltas"] {
            self.take(best, |it| {
                it.turns[turn].as_object_mut().map(|turn| turn.shift_remove(key));
            });
        }
    }

    fn members(&mut self, best: &mut Conversation, line: usize) {
        let Ok(command) = serde_json::from_str::<Map<String, Value>>(&best.host[line].line) else { return };
        for key in command.keys().filter(|key| *key != "type" && *key != "id") {
            self.take(best, |it| {
                if let Ok(mut command) = serde_json::from_str::<Map<String, Value>>(&it.host[line].line) {
                    command.shift_remove(key);
                    it.host[line].line = Value::Object(command).to_string();
                }
            });
        }
    }

    fn waits(&mut self, best: &mut Conversation) {
        for at in 0..best.host.len() {
            let HostLine { wait, .. } = best.host[at];
            self.take(best, |it| it.host[at].wait = 0);
            self.take(best, |it| it.host[at].wait = wait / 2);
        }
        for at in 0..best.actions.len() {
            self.take(best, |it| it.actions[at].0 = 0);
        }
    }
}

/// Size of a conversation, to be minimised.
fn size(conversation: &Conversation) -> usize {
    let waits: u64 = conversation.host.iter().map(|line| line.wait).sum();
    text(conversation).len() * 100_000 + waits as usize
}

fn text(conversation: &Conversation) -> String {
    serde_json::to_string(conversation).unwrap_or_default()
}

/// Error text without numbers and quotations.
fn way(wrong: &str) -> String {
    let first = wrong.lines().next().unwrap_or_default();
    let first = first.split(['"', '{', '[']).next().unwrap_or_default();
    first.chars().filter(|it| !it.is_ascii_digit()).collect()
}
