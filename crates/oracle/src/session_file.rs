//! Judges the file of a session against the messages of the conversation.
//!
//! Source: pi source, observed.
//!
//! Rules: `file-tree`, `no-file-before-assistant`.

use pi_rpc_machine::{Findings, Rule};
use pi_rpc_protocol::{
    AgentSessionEvent, CompactionResult, Model, Outbound, RpcExtensionUIRequest, RpcResponse, RpcSuccess,
    SessionEntryKind, SessionHeader,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

/// The most messages that are remembered; the latest are kept.
const MAX_MESSAGES: usize = 4096;
/// The roles of messages that every server persists as entries.
const ENTRY_ROLES: [&str; 4] = ["user", "assistant", "toolResult", "system"];

/// The complete messages of a conversation, as digests, to compare session files with.
#[derive(Clone, Default)]
pub struct SessionFileCheck {
    /// Messages by [`message_key`]: several if messages of one role came in the same millisecond.
    messages: BTreeMap<String, VecDeque<CompleteMessage>>,
    /// The keys in the order of the messages.
    order: VecDeque<String>,
    /// The number of messages so far.
    count: u64,
    /// The number of messages before the second process; `None` until it starts.
    first_process: Option<u64>,
    /// The number of processes so far.
    processes: u64,
    /// Whether a command has changed the model or the thinking level.
    has_changed_models: bool,
    /// Whether a session has continued on another branch.
    has_branched: bool,
    /// The latest compactions that frames have told.
    compactions: VecDeque<ToldCompaction>,
    session: Session,
}

/// A complete message.
#[derive(Clone, Copy)]
struct CompleteMessage {
    /// The number of the message, in the order of the conversation.
    number: u64,
    digest: u64,
    /// Whether it is an answer that has failed.
    has_failed: bool,
    /// The number of the process, and of the frame that said it within that.
    place: (u64, u64),
}

/// What a frame has told of a compaction.
#[derive(Clone, PartialEq)]
struct ToldCompaction {
    /// The digest of the summary.
    summary: u64,
    first_kept: String,
    tokens_before: u64,
}

/// The lines of a file behind its title.
#[derive(Clone, Copy)]
struct FileLines<'l> {
    lines: &'l [Value],
    /// The number of lines before them.
    from: usize,
}

impl<'l> std::ops::Deref for FileLines<'l> {
    type Target = [Value];

    fn deref(&self) -> &'l [Value] {
        self.lines
    }
}

impl FileLines<'_> {
    /// The JSON pointer to a member of a line.
    fn pointer(&self, place: usize, member: &str) -> String {
        format!("/lines/{}/{member}", self.from + place)
    }
}

/// The open session.
#[derive(Clone, Default)]
struct Session {
    /// The session's id, if a frame has shown it.
    id: Option<String>,
    /// The keys of its latest messages.
    messages: VecDeque<String>,
    /// Its model and thinking level, if a frame has shown them and none may have changed them since.
    model: Option<String>,
    level: Option<String>,
    /// Whether it has taken another one's place, with whatever model the server has begun it.
    is_replaced: bool,
    /// Whether extensions may have changed the session without a frame.
    may_be_changed: bool,
    /// Whether a reported state has broken a rule.
    is_doubted: bool,
    /// Whether a message has begun in the wrong place.
    is_misplaced: bool,
}

impl SessionFileCheck {
    /// Adds a complete message, which the frame with this number has said.
    pub fn add_message(&mut self, message: &Value, frame: u64) {
        let Some(name) = message_key(message) else { return };
        self.count += 1;
        let has_failed = message.get("errorMessage").is_some();
        let complete = CompleteMessage {
            number: self.count,
            digest: digest(message),
            has_failed,
            place: (self.processes, frame),
        };
        self.messages.entry(name.clone()).or_default().push_back(complete);
        if message.get("role").and_then(Value::as_str).is_some_and(|role| ENTRY_ROLES.contains(&role)) {
            self.session.messages.push_back(name.clone());
            if self.session.messages.len() > MAX_MESSAGES {
                self.session.messages.pop_front();
            }
        }
        self.order.push_back(name);
        if self.order.len() > MAX_MESSAGES
            && let Some(oldest) = self.order.pop_front()
        {
            // Those with the same key would look repeated.
            self.messages.remove(&oldest);
        }
    }

    /// Forgets the open session: another one may be open now.
    pub fn request_session_change(&mut self) {
        let may_be_changed = self.session.may_be_changed;
        self.session = Session { may_be_changed, is_replaced: true, ..Session::default() };
    }

    /// Starts a new process, which loads extensions or not.
    pub fn begin_process(&mut self, has_extensions: bool) {
        self.processes += 1;
        if self.processes == 2 {
            self.first_process = Some(self.count);
        }
        self.session = Session { may_be_changed: has_extensions, ..Session::default() };
    }

    fn add_compaction(&mut self, result: &CompactionResult) {
        let told = ToldCompaction {
            summary: digest(&Value::from(result.summary.as_str())),
            first_kept: result.first_kept_entry_id.clone(),
            tokens_before: result.tokens_before,
        };
        // An event and a response may tell of the same one.
        if self.compactions.back() == Some(&told) {
            return;
        }
        self.compactions.push_back(told);
        if self.compactions.len() > MAX_MESSAGES {
            self.compactions.pop_front();
        }
    }

    /// Follows which session is open. What a frame says that breaks a rule is not believed, so that one fault is found once.
    pub fn observe(&mut self, frame: &Outbound, is_legal: bool) {
        use RpcSuccess as Success;
        if let Some(result) = compaction_result(frame).filter(|_| is_legal) {
            self.add_compaction(result);
        }
        match frame {
            Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(_)) if !is_legal => {
                self.session.is_misplaced = true;
            }
            Outbound::Response(RpcResponse::Success(Success::GetState(_) | Success::GetSessionStats(_)))
                if !is_legal =>
            {
                (self.session.id, self.session.model, self.session.level) = (None, None, None);
                self.session.is_doubted = true;
            }
            Outbound::Response(RpcResponse::Success(Success::GetState(_) | Success::GetSessionStats(_)))
                if self.session.is_doubted => {}
            Outbound::Response(RpcResponse::Success(success)) => match success {
                Success::GetState(it) => {
                    let name = |model: &Model| format!("{}/{}", model.provider, model.id);
                    self.session.id = Some(it.data.session_id.clone());
                    self.session.model = it.data.model.as_ref().map(name);
                    self.session.level = it.data.thinking_level.map(|level| level.as_str().to_owned());
                }
                Success::SetModel(_)
                | Success::CycleModel(_)
                | Success::SetThinkingLevel(_)
                | Success::CycleThinkingLevel(_) => {
                    self.has_changed_models = true;
                    (self.session.model, self.session.level) = (None, None);
                }
                Success::GetSessionStats(it) => self.session.id = Some(it.data.session_id.clone()),
                Success::NavigateTree(it) => self.has_branched |= !it.data.cancelled,
                success if success.command().replaces_session() => self.request_session_change(),
                _ => {}
            },
            Outbound::AgentSessionEvent(AgentSessionEvent::AutoCompactionEnd(_)) => {
                self.request_session_change()
            }
            // Some servers remove a widget that belongs to no extension.
            Outbound::ExtensionUIRequest(RpcExtensionUIRequest::SetWidget(widget))
                if widget.widget_lines.is_none() => {}
            Outbound::ExtensionUIRequest(_) | Outbound::ExtensionError(_) => {
                self.session.may_be_changed = true
            }
            _ => {}
        }
    }

    /// Judges the lines of a session file. With `at_rest` the process was idle when it exited, so the file must be complete.
    pub fn check(&self, lines: &[Value], has_title_line: bool, at_rest: bool, found: &mut Findings) {
        let (lines, from) = match lines {
            [first, rest @ ..] if has_title_line && first["type"] == "title" => (rest, 1),
            lines => (lines, 0),
        };
        let lines = FileLines { lines, from };
        if at_rest {
            self.check_completeness(lines, found);
        }
        self.check_tree(lines, found);
        if !self.session.may_be_changed {
            self.check_header(lines, found);
            if !self.session.is_misplaced {
                self.check_order(lines, found);
            }
            self.check_chain(lines, found);
            self.check_compactions(lines, found);
            self.check_models(lines, found);
        }
    }

    /// Judges that the file with a message of the open session has the id of that session.
    fn check_header(&self, lines: FileLines<'_>, found: &mut Findings) {
        let (Some(id), Some(header)) = (&self.session.id, lines.first()) else { return };
        let has_own = || {
            let mut keys = lines.iter().filter_map(|line| message_key(line.get("message")?));
            keys.any(|key| self.session.messages.contains(&key))
        };
        let told = header.get("id").and_then(Value::as_str);
        if told != Some(id) && header.get("type").is_some_and(|it| it == "session") && has_own() {
            let what = "the id of the session that has said these messages, in the header of the file";
            found.fail_with_difference(Rule::FileTree, &lines.pointer(0, "id"), what, id, &told);
        }
    }

    /// Judges that the messages of the file have the order of the conversation, each once.
    fn check_order(&self, lines: FileLines<'_>, found: &mut Findings) {
        let mut last = 0;
        for (place, line) in lines.iter().enumerate() {
            let Some(messages) = self.emitted(line) else { continue };
            let digest = digest(&line["message"]);
            let mut same = messages.iter().filter(|message| message.digest == digest).map(|it| it.number);
            let next = same.clone().find(|number| *number > last);
            // There is another check for a message that was changed.
            if let (None, Some(_)) = (next, same.next()) {
                let at = lines.pointer(place, "message");
                return found.fail(
                    Rule::FileTree,
                    format!("the messages in the order in which they were said, each once, not this at {at}"),
                );
            }
            last = next.unwrap_or(last);
        }
    }

    /// Judges that the entries follow each other, in a file whose messages were all said here and have not failed.
    fn check_chain(&self, lines: FileLines<'_>, found: &mut Findings) {
        let is_plain = |line: &Value| match line["type"].as_str() {
            Some(kind) if kind == SessionEntryKind::Message.as_str() => {
                let has_events = line["message"]["role"].as_str().is_some_and(|it| ENTRY_ROLES.contains(&it));
                !has_events
                    || self.emitted(line).is_some_and(|them| them.iter().all(|message| !message.has_failed))
            }
            Some(SessionHeader::TYPE) => true,
            kind => matches!(
                kind.and_then(SessionEntryKind::parse),
                Some(
                    SessionEntryKind::ModelChange
                        | SessionEntryKind::ThinkingLevelChange
                        | SessionEntryKind::SessionInfo
                )
            ),
        };
        if self.has_branched || !lines.iter().all(is_plain) {
            return;
        }
        for (place, pair) in lines.windows(2).enumerate().skip(1) {
            let (before, parent) = (pair[0].get("id"), pair[1].get("parentId"));
            if before.is_some_and(Value::is_string) && parent != before {
                let (at, what) = (lines.pointer(place + 1, "parentId"), "the entry of the line before it");
                return found.fail_with_difference(Rule::FileTree, &at, what, &before, &parent);
            }
        }
    }

    /// Judges that a compaction whose summary was told once is in the file as it was told. One above all messages that were said
    /// here is from before, with the same summary perhaps.
    fn check_compactions(&self, lines: FileLines<'_>, found: &mut Findings) {
        let own = lines.iter().position(|line| self.emitted(line).is_some()).unwrap_or(lines.len());
        let is_compaction = |line: &Value| line["type"] == SessionEntryKind::Compaction.as_str();
        for (place, line) in lines.iter().enumerate().skip(own).filter(|(_, line)| is_compaction(line)) {
            let summary = digest(&line["summary"]);
            let mut told = self.compactions.iter().filter(|told| told.summary == summary);
            let (Some(told), None) = (told.next(), told.next()) else { continue };
            if lines.iter().filter(|line| is_compaction(line) && digest(&line["summary"]) == summary).count()
                > 1
            {
                continue;
            }
            let what = "the compaction as it was told";
            let (first, tokens) = (line["firstKeptEntryId"].as_str(), line["tokensBefore"].as_u64());
            let at = lines.pointer(place, "firstKeptEntryId");
            found.expect_same(Rule::FileTree, &at, what, &Some(told.first_kept.as_str()), &first);
            let at = lines.pointer(place, "tokensBefore");
            found.expect_same(Rule::FileTree, &at, what, &Some(told.tokens_before), &tokens);
        }
    }

    /// Judges that the answers are of models and levels that the file has set above them, and that the last ones are those of
    /// the state. A file that was continued by another process, or begun as a copy, may lack them.
    fn check_models(&self, lines: FileLines<'_>, found: &mut Findings) {
        let is_copy = lines.first().is_some_and(|header| header.get("parentSession").is_some());
        if is_copy && self.has_changed_models {
            return;
        }
        let until = self.first_process.unwrap_or(u64::MAX);
        let (mut models, mut levels) = (Vec::new(), Vec::new());
        let (mut are_own, mut is_judged) = (true, true);
        for (place, line) in lines.iter().enumerate() {
            let text = |key: &str| line.get(key).and_then(Value::as_str);
            match text("type") {
                Some("model_change") if text("role").is_none_or(|role| role == "default") => {
                    models.extend(match (text("provider"), text("modelId"), text("model")) {
                        (Some(provider), Some(id), _) => Some(format!("{provider}/{id}")),
                        (_, _, model) => model.map(str::to_owned),
                    });
                }
                Some("thinking_level_change") => levels.extend(text("thinkingLevel").map(str::to_owned)),
                Some(kind) if kind == SessionEntryKind::Message.as_str() => {
                    let own = self.emitted(line).filter(|it| it.iter().all(|it| it.number <= until));
                    are_own &= own.is_some();
                    if is_judged && own.is_some_and(|it| it.iter().all(|it| !it.has_failed)) {
                        is_judged = Self::check_answer(lines, place, (&models, &levels), found);
                    }
                }
                _ => {}
            }
        }
        if !are_own || !is_judged || self.processes > 1 || self.session.is_replaced {
            return;
        }
        let told =
            [("model", &self.session.model, models.last()), ("level", &self.session.level, levels.last())];
        for (name, told, last) in told {
            if let (Some(told), Some(last)) = (told, last) {
                let what = format!("the {name} of the state, set last in the file");
                found.expect_same(Rule::FileTree, "/lines", &what, told, last);
            }
        }
    }

    /// Judges that an answer is of a model and a level that were set above its line. Returns whether it is.
    fn check_answer(
        lines: FileLines<'_>,
        place: usize,
        (models, levels): (&[String], &[String]),
        found: &mut Findings,
    ) -> bool {
        let text = |key: &str| lines[place]["message"].get(key).and_then(Value::as_str);
        if text("role") != Some("assistant") {
            return true;
        }
        let model = format!("{}/{}", text("provider").unwrap_or_default(), text("model").unwrap_or_default());
        if let Some(set) = models.last().filter(|_| !models.contains(&model)) {
            let (at, what) = (lines.pointer(place, "message/model"), "a model that was set above");
            found.fail_with_difference(Rule::FileTree, &at, what, set, &model);
            return false;
        }
        let level = text("thinkingLevel").map(str::to_owned).filter(|level| !levels.contains(level));
        if let (Some(set), Some(level)) = (levels.last(), level) {
            let (at, what) = (lines.pointer(place, "message/thinkingLevel"), "a level that was set above");
            found.fail_with_difference(Rule::FileTree, &at, what, set, &level);
            return false;
        }
        true
    }

    /// The messages that were emitted with the key of the message of a line.
    fn emitted(&self, line: &Value) -> Option<&VecDeque<CompleteMessage>> {
        self.messages.get(&message_key(line.get("message")?)?)
    }

    /// The frame that has said a message, if the process is still the same.
    fn frame_of(&self, message: Option<&CompleteMessage>) -> Option<u64> {
        message.filter(|it| it.place.0 == self.processes).map(|it| it.place.1)
    }

    /// Judges whether the file of the open session has all its messages.
    fn check_completeness(&self, lines: FileLines<'_>, found: &mut Findings) {
        let id = lines.first().and_then(|header| header.get("id")?.as_str());
        if id.is_none() || id != self.session.id.as_deref() || self.session.may_be_changed {
            return;
        }
        let kept: HashSet<String> =
            lines.iter().filter_map(|line| line.get("message")).filter_map(message_key).collect();
        let missing = self.session.messages.iter().find(|name| !kept.contains(*name));
        let role = missing.and_then(|name| name.split(' ').next()).unwrap_or_default();
        let said = missing.and_then(|name| self.messages.get(name)).and_then(VecDeque::back);
        found.with_cause(self.frame_of(said), |found| {
            found.expect(Rule::FileTree, missing.is_none(), || {
                format!("all messages that were said, also this one of role {role}, in /lines")
            });
        });
    }

    /// Judges whether the lines are a header and a tree of entries.
    fn check_tree(&self, lines: FileLines<'_>, found: &mut Findings) {
        let text = |line: &Value, key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some((first, rest)) = lines.split_first() else { return };
        let opens = text(first, "type").as_deref() == Some("session");
        let (entries, above) = if opens { (rest, 1) } else { (&*lines, 0) };
        found.expect(Rule::FileTree, opens, || "a header as the first line of the file".to_owned());
        let mut ids = HashSet::new();
        let mut last = String::new();
        let mut answered = false;
        for (number, entry) in entries.iter().enumerate() {
            let place = number + above;
            let at = |member: &str| lines.pointer(place, member);
            let id = text(entry, "id").unwrap_or_default();
            let parent = entry.get("parentId").cloned().unwrap_or(Value::Null);
            let known = parent.is_null() || parent.as_str().is_some_and(|parent| ids.contains(parent));
            found.expect(Rule::FileTree, known, || format!("the id of an entry above at {}", at("parentId")));
            found.expect(Rule::FileTree, !id.is_empty() && ids.insert(id.clone()), || {
                format!("an id of its own at {}", at("id"))
            });
            let when = text(entry, "timestamp").unwrap_or_default();
            // A fork copies labels with their old timestamps.
            let copied = text(entry, "type").as_deref() == Some("label");
            found.expect(Rule::FileTree, is_time(&when) && (when >= last || copied), || {
                format!("a time that is not before `{last}` at {}", at("timestamp"))
            });
            last = last.max(when);
            if let Some(message) = entry.get("message") {
                answered |= text(message, "role").as_deref() == Some("assistant");
                self.check_message(message, &at("message"), found);
            }
        }
        found.expect(Rule::NoFileBeforeAssistant, answered, || {
            "no file before anything was answered".to_owned()
        });
    }

    /// Judges whether a message of the file equals the one in the conversation, if that was recorded.
    fn check_message(&self, message: &Value, at: &str, found: &mut Findings) {
        let emitted = message_key(message).and_then(|name| self.messages.get(&name));
        if let Some(emitted) = emitted {
            let digest = digest(message);
            found.with_cause(self.frame_of(emitted.back()), |found| {
                found.expect(Rule::FileTree, emitted.iter().any(|it| it.digest == digest), || {
                    format!("the message as its `message_end` said it at {at}")
                });
            });
        }
    }
}

/// The result of a compaction that a frame tells.
fn compaction_result(frame: &Outbound) -> Option<&CompactionResult> {
    match frame {
        Outbound::AgentSessionEvent(AgentSessionEvent::CompactionEnd(it)) => it.result.as_ref(),
        Outbound::AgentSessionEvent(AgentSessionEvent::AutoCompactionEnd(it)) => it.result.as_ref(),
        Outbound::Response(RpcResponse::Success(RpcSuccess::Compact(it))) => Some(&it.data),
        _ => None,
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
