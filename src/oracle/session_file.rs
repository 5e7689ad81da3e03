//! What a session's file holds, against what was said.
//!
//! Source: pi source, observed.

use crate::{
    machine::{Findings, Rule},
    protocol::{AgentSessionEvent, Outbound, RpcResponse, RpcSuccess},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet, VecDeque, btree_map::Entry},
    hash::{DefaultHasher, Hash, Hasher},
};

/// Messages that are remembered, the latest.
const MAX_MESSAGES: usize = 4096;
/// Who says what every server keeps as an entry of its own.
const ENTRY_ROLES: [&str; 4] = ["user", "assistant", "toolResult", "system"];

/// What was said that a file repeats: of each message what tells it from others, and a digest of the whole; of messages
/// that were said in one millisecond, all digests.
#[derive(Clone, Default)]
pub struct SessionFileCheck {
    digests: BTreeMap<String, VecDeque<u64>>,
    order: VecDeque<String>,
    session: Session,
}

/// The session that is open.
#[derive(Clone, Default)]
struct Session {
    /// Its id, where it was told.
    id: Option<String>,
    /// The messages that were said in it, the latest.
    messages: VecDeque<String>,
    /// Extensions act, which may change what they like.
    may_be_changed: bool,
}

impl SessionFileCheck {
    /// A message is complete.
    pub fn add_message(&mut self, message: &Value) {
        let Some(name) = message_key(message) else { return };
        self.digests.entry(name.clone()).or_default().push_back(digest(message));
        if message.get("role").and_then(Value::as_str).is_some_and(|role| ENTRY_ROLES.contains(&role)) {
            self.session.messages.push_back(name.clone());
            if self.session.messages.len() > MAX_MESSAGES {
                self.session.messages.pop_front();
            }
        }
        self.order.push_back(name);
        if self.order.len() > MAX_MESSAGES
            && let Some(oldest) = self.order.pop_front()
            && let Entry::Occupied(mut said) = self.digests.entry(oldest)
        {
            said.get_mut().pop_front();
            if said.get().is_empty() {
                said.remove();
            }
        }
    }

    /// A process begins, or something was said that may have led to another session.
    pub fn leave_session(&mut self) {
        (self.session.id, self.session.messages) = (None, VecDeque::new());
    }

    /// A process begins; whether it was told to load extensions.
    pub fn begin_process(&mut self, has_extensions: bool) {
        self.session = Session { may_be_changed: has_extensions, ..Session::default() };
    }

    /// Follows the sessions.
    pub fn observe(&mut self, frame: &Outbound) {
        use RpcSuccess as Success;
        match frame {
            Outbound::Response(RpcResponse::Success(success)) => match success {
                Success::GetState(it) => self.session.id = Some(it.data.session_id.clone()),
                Success::GetSessionStats(it) => self.session.id = Some(it.data.session_id.clone()),
                Success::NewSession(_)
                | Success::SwitchSession(_)
                | Success::Fork(_)
                | Success::Branch(_)
                | Success::Clone(_) => self.leave_session(),
                _ => {}
            },
            Outbound::AgentSessionEvent(AgentSessionEvent::AutoCompactionEnd(_)) => self.leave_session(),
            Outbound::ExtensionUIRequest(_) | Outbound::ExtensionError(_) => {
                self.session.may_be_changed = true
            }
            _ => {}
        }
    }

    /// The lines of a session's file; `at_rest`: those that a process has left that had nothing more to do.
    pub fn check(&self, lines: &[Value], at_rest: bool, found: &mut Findings) {
        if at_rest {
            self.check_completeness(lines, found);
        }
        self.check_tree(lines, found);
    }

    /// Whether the file of the session that is open has all messages that were said in it.
    fn check_completeness(&self, lines: &[Value], found: &mut Findings) {
        let id = lines.first().and_then(|header| header.get("id")?.as_str());
        if id.is_none() || id != self.session.id.as_deref() || self.session.may_be_changed {
            return;
        }
        let kept: HashSet<String> =
            lines.iter().filter_map(|line| line.get("message")).filter_map(message_key).collect();
        let missing = self.session.messages.iter().find(|name| !kept.contains(*name));
        let role = missing.and_then(|name| name.split(' ').next()).unwrap_or_default();
        found.expect(Rule::FileTree, missing.is_none(), || {
            format!("all messages that were said: one of role {role} is missing")
        });
    }

    /// Whether the lines are a header and a tree of entries.
    fn check_tree(&self, lines: &[Value], found: &mut Findings) {
        let text = |line: &Value, key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some((first, rest)) = lines.split_first() else { return };
        let opens = text(first, "type").as_deref() == Some("session");
        let (entries, above) = if opens { (rest, 2) } else { (lines, 1) };
        found.expect(Rule::FileTree, opens, || "a header as the first line of the file".to_owned());
        let mut ids = HashSet::new();
        let mut last = String::new();
        let mut answered = false;
        for (number, entry) in entries.iter().enumerate() {
            let line = number + above;
            let id = text(entry, "id").unwrap_or_default();
            let parent = entry.get("parentId").cloned().unwrap_or(Value::Null);
            let known = parent.is_null() || parent.as_str().is_some_and(|parent| ids.contains(parent));
            found.expect(Rule::FileTree, known, || format!("a parent above line {line}, not {parent}"));
            found.expect(Rule::FileTree, !id.is_empty() && ids.insert(id.clone()), || {
                format!("an id of its own in line {line}, not `{id}`")
            });
            let when = text(entry, "timestamp").unwrap_or_default();
            // A fork takes marks along with the time that they had.
            let copied = text(entry, "type").as_deref() == Some("label");
            found.expect(Rule::FileTree, is_time(&when) && (when >= last || copied), || {
                format!("a time in line {line} that is not before `{last}`, not `{when}`")
            });
            last = last.max(when);
            if let Some(message) = entry.get("message") {
                answered |= text(message, "role").as_deref() == Some("assistant");
                self.check_message(message, line, found);
            }
        }
        found.expect(Rule::NoFileBeforeAssistant, answered, || {
            "no file before anything was answered".to_owned()
        });
    }

    /// Whether a message of the file is the one that was said; of those that were not, nothing is known.
    fn check_message(&self, message: &Value, line: usize, found: &mut Findings) {
        let said = message_key(message).and_then(|name| self.digests.get(&name));
        if let Some(said) = said {
            found.expect(Rule::FileTree, said.contains(&digest(message)), || {
                format!("the message of line {line} as its `message_end` said it")
            });
        }
    }
}

/// What tells a message from others: who says it, when, and of a result for which call.
fn message_key(message: &Value) -> Option<String> {
    let role = message.get("role")?.as_str()?;
    let when = message.get("timestamp")?.as_u64()?;
    let call = message.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
    Some(format!("{role} {when} {call}"))
}

/// A digest that does not look at the order of members.
fn digest(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash(value, &mut hasher);
    hasher.finish()
}

fn hash(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<_, _> = members.iter().collect();
            sorted.len().hash(hasher);
            for (key, value) in sorted {
                key.hash(hasher);
                hash(value, hasher);
            }
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash(item, hasher));
        }
        // 1 and 1.0 are one number.
        Value::Number(number) => number.as_f64().map(f64::to_bits).hash(hasher),
        other => other.to_string().hash(hasher),
    }
}

/// Whether it is a time as files have it: `2026-01-31T12:00:00.000Z`.
fn is_time(text: &str) -> bool {
    const SHAPE: &str = "0000-00-00T00:00:00.000Z";
    text.len() == SHAPE.len()
        && text.bytes().zip(SHAPE.bytes()).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            shape => byte == shape,
        })
}
