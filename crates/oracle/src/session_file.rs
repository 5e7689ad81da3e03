//! Judges the file of a session against the messages of the conversation.
//!
//! Source: pi source, observed.
//!
//! Rules: `file-tree`, `no-file-before-assistant`.

use pi_rpc_machine::Findings;
use pi_rpc_machine::Rule;
use pi_rpc_protocol::{AgentSessionEvent, Outbound, RpcResponse, RpcSuccess};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet, VecDeque, btree_map::Entry},
    hash::{DefaultHasher, Hash, Hasher},
};

/// The most messages that are remembered; the latest are kept.
const MAX_MESSAGES: usize = 4096;
/// The roles of messages that every server persists as entries.
const ENTRY_ROLES: [&str; 4] = ["user", "assistant", "toolResult", "system"];

/// The complete messages of a conversation, as digests, to compare session files with.
#[derive(Clone, Default)]
pub struct SessionFileCheck {
    /// Digests by [`message_key`]: several if messages of one role came in the same millisecond.
    digests: BTreeMap<String, VecDeque<u64>>,
    /// The keys in the order of the messages.
    order: VecDeque<String>,
    session: Session,
}

/// The open session.
#[derive(Clone, Default)]
struct Session {
    /// The session's id, if a frame has shown it.
    id: Option<String>,
    /// The keys of its latest messages.
    messages: VecDeque<String>,
    /// Whether extensions may have changed the session without a frame.
    may_be_changed: bool,
}

impl SessionFileCheck {
    /// Adds a complete message.
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
            && let Entry::Occupied(mut digests) = self.digests.entry(oldest)
        {
            digests.get_mut().pop_front();
            if digests.get().is_empty() {
                digests.remove();
            }
        }
    }

    /// Forgets the open session: another one may be open now.
    pub fn request_session_change(&mut self) {
        (self.session.id, self.session.messages) = (None, VecDeque::new());
    }

    /// Starts a new process, which loads extensions or not.
    pub fn begin_process(&mut self, has_extensions: bool) {
        self.session = Session { may_be_changed: has_extensions, ..Session::default() };
    }

    /// Follows which session is open.
    pub fn observe(&mut self, frame: &Outbound) {
        use RpcSuccess as Success;
        match frame {
            Outbound::Response(RpcResponse::Success(success)) => match success {
                Success::GetState(it) => self.session.id = Some(it.data.session_id.clone()),
                Success::GetSessionStats(it) => self.session.id = Some(it.data.session_id.clone()),
                success if success.command().replaces_session() => self.request_session_change(),
                _ => {}
            },
            Outbound::AgentSessionEvent(AgentSessionEvent::AutoCompactionEnd(_)) => {
                self.request_session_change()
            }
            Outbound::ExtensionUIRequest(_) | Outbound::ExtensionError(_) => {
                self.session.may_be_changed = true
            }
            _ => {}
        }
    }

    /// Judges the lines of a session file. With `at_rest` the process was idle when it exited, so the file must be complete.
    pub fn check(&self, lines: &[Value], has_title_line: bool, at_rest: bool, found: &mut Findings) {
        let lines = match lines {
            [first, rest @ ..] if has_title_line && first["type"] == "title" => rest,
            lines => lines,
        };
        if at_rest {
            self.check_completeness(lines, found);
        }
        self.check_tree(lines, found);
    }

    /// Judges whether the file of the open session has all its messages.
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

    /// Judges whether the lines are a header and a tree of entries.
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
            // A fork copies labels with their old timestamps.
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

    /// Judges whether a message of the file equals the one in the conversation, if that was recorded.
    fn check_message(&self, message: &Value, line: usize, found: &mut Findings) {
        let digests = message_key(message).and_then(|name| self.digests.get(&name));
        if let Some(digests) = digests {
            found.expect(Rule::FileTree, digests.contains(&digest(message)), || {
                format!("the message of line {line} as its `message_end` said it")
            });
        }
    }
}

/// The key of a message: its role, timestamp and tool call.
fn message_key(message: &Value) -> Option<String> {
    let role = message.get("role")?.as_str()?;
    let when = message.get("timestamp")?.as_u64()?;
    let call = message.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
    Some(format!("{role} {when} {call}"))
}

/// A digest that is independent of the order of members.
fn digest(message: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Servers add these to a message after its end.
    let is_kept = |key: &str| !["contextSnapshot", "errorId", "retryRecovery"].contains(&key);
    match message.as_object().filter(|members| !members.keys().all(|key| is_kept(key))) {
        Some(members) => {
            let kept = members.iter().filter(|(key, _)| is_kept(key));
            hash(
                &Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect()),
                &mut hasher,
            );
        }
        None => hash(message, &mut hasher),
    }
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

/// Whether the text is a timestamp such as `2026-01-31T12:00:00.000Z`.
fn is_time(text: &str) -> bool {
    const SHAPE: &str = "0000-00-00T00:00:00.000Z";
    text.len() == SHAPE.len()
        && text.bytes().zip(SHAPE.bytes()).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            shape => byte == shape,
        })
}
