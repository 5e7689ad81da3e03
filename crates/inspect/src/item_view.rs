//! Items as people read them, made from the frames that they consist of.

use super::{
    facts::RecordFacts,
    item_index::{ItemEnd, ItemFacts},
    partial_message::PartialMessage,
    wire::{Item, ItemKind, Part, Tokens, Usage},
};
use pi_rpc_files::harmless::{harmless, harmless_lines};
use serde_json::{Map, Value};

/// Where the frames of a recording are.
pub trait Frames {
    /// The facts of a record.
    fn facts(&self, record: u32) -> Option<RecordFacts>;
    /// The line of a record, without what the recording adds to it.
    fn line(&self, record: u32) -> Option<Vec<u8>>;
    /// The name with this number.
    fn name(&self, number: u16) -> String;
    /// The item of the tool call with this id that begins after the item `after`.
    fn tool(&self, session: u16, call: &str, after: u32) -> Option<u32>;
}

/// How an item is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct ItemScope {
    /// The number of the item.
    pub number: u32,
    /// The last record that counts.
    pub at: u32,
    /// The most bytes of a text.
    pub limit: usize,
}

/// The most characters of a title.
const TITLE: usize = 200;

/// The item as it was after the record `scope.at`, without its content.
pub fn unread_item(facts: &ItemFacts, scope: ItemScope, frames: &impl Frames) -> Item {
    let mut item = bare_item(facts, scope, frames);
    item.parts.push(Part::Text { text: String::new(), cut: true, markdown: false });
    item
}

fn is_over(facts: &ItemFacts, scope: ItemScope) -> bool {
    facts.content > 0 && facts.content <= scope.at
}

fn bare_item(facts: &ItemFacts, scope: ItemScope, frames: &impl Frames) -> Item {
    let is_over = is_over(facts, scope);
    let last = facts.last.min(scope.at);
    let time = |record| frames.facts(record).map(|facts| facts.t).unwrap_or_default();
    let mut item = Item {
        item: scope.number,
        kind: facts.kind,
        first: facts.first,
        last,
        open: !is_over && (facts.end == ItemEnd::Open || last < facts.last),
        t: time(facts.first),
        until: time(last),
        title: String::new(),
        status: None,
        session: (facts.session > 0).then(|| frames.name(facts.session)),
        parts: Vec::new(),
        model: None,
        usage: None,
        findings: Vec::new(),
    };
    if is_over || !item.open {
        item.status = match facts.end {
            ItemEnd::Open | ItemEnd::Done => None,
            ItemEnd::Failed => Some("error".to_owned()),
            ItemEnd::Cancelled => Some("cancelled".to_owned()),
        };
    }
    item
}

/// The item as it was after the record `scope.at`.
pub fn item_view(facts: &ItemFacts, scope: ItemScope, frames: &impl Frames) -> Item {
    let mut item = bare_item(facts, scope, frames);
    let first = frame(frames, facts.first);
    let content = is_over(facts, scope).then_some(facts.content);
    let view = ItemView { frames, scope, facts, content };
    match facts.kind {
        ItemKind::User | ItemKind::Assistant | ItemKind::Custom | ItemKind::System => {
            view.message(&mut item, first);
        }
        ItemKind::Tool => view.tool(&mut item, &first),
        ItemKind::Shell => view.shell(&mut item, &first),
        ItemKind::Dialog => view.dialog(&mut item, &first),
        ItemKind::Compaction | ItemKind::Retry => view.pair(&mut item, &first),
        ItemKind::Notice | ItemKind::Process => view.event(&mut item, &first),
        ItemKind::Command => view.command(&mut item, &first),
        ItemKind::Error | ItemKind::Stderr => view.line(&mut item, &first),
    }
    item.title = title(&item.title);
    item
}

struct ItemView<'a, F> {
    frames: &'a F,
    scope: ItemScope,
    facts: &'a ItemFacts,
    /// The record that has the whole content, if it has come.
    content: Option<u32>,
}

impl<F: Frames> ItemView<'_, F> {
    fn message(&self, item: &mut Item, first: Value) {
        let (record, message) = match self.content {
            Some(record) => (record, frame(self.frames, record)["message"].take()),
            None => match PartialMessage::read(self.facts, item.last, self.scope.number, self.frames) {
                Some(partial) => (item.last, partial),
                None => (self.facts.first, first["message"].clone()),
            },
        };
        let reason = message["stopReason"].as_str().filter(|reason| *reason != "stop");
        if self.content.is_some() && item.status.is_none() {
            item.status = reason.map(harmless);
        }
        item.title = match self.facts.kind {
            ItemKind::Custom => text_of(&message["customType"]),
            ItemKind::System => text_of(&message["role"]),
            _ => String::new(),
        };
        if self.facts.kind == ItemKind::Assistant {
            item.model = message["model"].as_str().map(harmless);
            if self.content.is_some() {
                let cost = message["usage"]["cost"]["total"].as_f64().unwrap_or_default();
                let tokens = serde_json::from_value::<Tokens>(message["usage"].clone());
                item.usage = tokens.ok().map(|tokens| Usage { tokens, cost });
            }
        }
        let is_markdown = self.facts.kind == ItemKind::Assistant;
        self.content_parts(item, record, "/message/content", &message["content"], is_markdown);
        if message["sections"].is_object() {
            item.parts.push(self.json(&message["sections"]));
        }
        if let Some(summary) = message["summary"].as_str() {
            item.parts.push(self.text(summary, true));
        }
        if let Some(error) = message["errorMessage"].as_str() {
            item.parts.push(self.output(error));
        }
    }

    /// The blocks of a message or of a result.
    fn content_parts(&self, item: &mut Item, record: u32, at: &str, content: &Value, is_markdown: bool) {
        if let Some(text) = content.as_str().filter(|text| !text.is_empty()) {
            item.parts.push(self.text(text, is_markdown));
        }
        for (number, block) in content.as_array().into_iter().flatten().enumerate() {
            let part = match block["type"].as_str() {
                Some("text") if self.facts.kind == ItemKind::Tool => self.output(str_of(&block["text"])),
                Some("text") => self.text(str_of(&block["text"]), is_markdown),
                Some("thinking") => {
                    let (text, cut) = cut(str_of(&block["thinking"]), self.scope.limit);
                    Part::Thinking { text, cut }
                }
                Some("toolCall") => self.call(block),
                Some("image") => Part::Image {
                    mime: text_of(&block["mimeType"]),
                    href: format!("api/records/{record}/image?at={at}/{number}"),
                    bytes: (str_of(&block["data"]).len() / 4 * 3) as u32,
                },
                _ => self.json(block),
            };
            item.parts.push(part);
        }
    }

    fn call(&self, block: &Value) -> Part {
        let id = str_of(&block["id"]);
        let arguments = match &block["arguments"] {
            Value::String(partial) => partial.clone(),
            whole => format!("{whole:#}"),
        };
        let (text, cut) = cut(&arguments, self.scope.limit);
        let item = self.frames.tool(self.facts.session, id, self.scope.number);
        Part::Call { id: harmless(id), name: text_of(&block["name"]), text, cut, item }
    }

    fn tool(&self, item: &mut Item, first: &Value) {
        let name = str_of(&first["toolName"]);
        item.title = format!("{name}: {}", gist(&first["args"]));
        if first["args"].as_object().is_some_and(|arguments| !arguments.is_empty()) {
            item.parts.push(self.json(&first["args"]));
        }
        let (record, result, at) = match self.content {
            Some(record) => (record, frame(self.frames, record)["result"].take(), "/result/content"),
            None => {
                let record = item.last;
                (record, frame(self.frames, record)["partialResult"].take(), "/partialResult/content")
            }
        };
        self.content_parts(item, record, at, &result["content"], false);
        let details = &result["details"];
        let diff = [&details["patch"], &details["diff"]].into_iter().find_map(Value::as_str);
        if let Some(diff) = diff {
            let (text, cut) = cut(diff, self.scope.limit);
            let path = first["args"]["path"].as_str().map(harmless);
            item.parts.push(Part::Diff { path, text, cut });
        }
    }

    fn shell(&self, item: &mut Item, first: &Value) {
        let (command, data) = match self.facts.first == self.facts.content {
            // A message about it.
            true => (str_of(&first["message"]["command"]), first["message"].clone()),
            false => {
                let content = self.content.map(|record| frame(self.frames, record));
                (str_of(&first["command"]), content.map(|mut frame| frame["data"].take()).unwrap_or_default())
            }
        };
        item.title = format!("$ {command}");
        let output = match data["output"].as_str() {
            Some(output) => output.to_owned(),
            None => self.shell_deltas(item.last),
        };
        if !output.is_empty() {
            item.parts.push(self.output(&output));
        }
        if let Some(code) = data["exitCode"].as_i64().filter(|code| *code != 0) {
            item.status = Some(format!("exit {code}"));
        }
        if data["cancelled"] == true {
            item.status = Some("cancelled".to_owned());
        }
    }

    /// The output of a shell command that is under way.
    fn shell_deltas(&self, last: u32) -> String {
        let mut output = String::new();
        for record in self.facts.first + 1..=last {
            let is_own = |facts: RecordFacts| facts.item() == Some(self.scope.number);
            if output.len() > self.scope.limit || !self.frames.facts(record).is_some_and(is_own) {
                continue;
            }
            output.push_str(str_of(&frame(self.frames, record)["delta"]));
        }
        output
    }

    fn dialog(&self, item: &mut Item, first: &Value) {
        item.title = format!("{}: {}", str_of(&first["method"]), str_of(&first["title"]));
        if let Some(message) = first["message"].as_str() {
            item.parts.push(self.text(message, false));
        }
        for option in first["options"].as_array().into_iter().flatten() {
            item.parts.push(self.text(str_of(option), false));
        }
        if let Some(record) = self.content.filter(|record| *record != self.facts.first) {
            item.parts.push(self.json(&without(frame(self.frames, record), &["type", "id"])));
        }
    }

    /// Something with a first and a last event.
    fn pair(&self, item: &mut Item, first: &Value) {
        item.title = gist(&without(first.clone(), &["type"]));
        let Some(record) = self.content.filter(|record| *record != self.facts.first) else { return };
        let last = frame(self.frames, record);
        if let Some(summary) = last["result"]["summary"].as_str() {
            item.parts.push(self.text(summary, true));
        }
        if let Some(error) = ["errorMessage", "finalError"].into_iter().find_map(|key| last[key].as_str()) {
            item.parts.push(self.output(error));
        }
    }

    fn event(&self, item: &mut Item, first: &Value) {
        let name = if first["event"].is_string() { "event" } else { "method" };
        let rest = without(first.clone(), &["type", "id", name]);
        let text = rest["message"].as_str().map_or_else(|| gist(&rest), str::to_owned);
        item.title = format!("{}: {text}", str_of(&first[name]));
        if let Some(record) = self.content.filter(|record| *record != self.facts.first) {
            item.parts.push(self.json(&frame(self.frames, record)));
        }
    }

    fn command(&self, item: &mut Item, first: &Value) {
        let is_response = first["type"] == "response";
        let name = if is_response { str_of(&first["command"]) } else { str_of(&first["type"]) };
        let members = without(first.clone(), &["type", "id"]);
        item.title = format!("{name}: {}", gist(&members)).trim_end_matches(": ").to_owned();
        let has_members = members.as_object().is_some_and(|members| !members.is_empty());
        if has_members && !is_response {
            item.parts.push(self.json(&members));
        }
        let Some(record) = self.content else { return };
        let response = frame(self.frames, record);
        if let Some(error) = response["error"].as_str() {
            item.parts.push(self.output(error));
        } else if !response["data"].is_null() {
            item.parts.push(self.json(&response["data"]));
        }
    }

    fn line(&self, item: &mut Item, first: &Value) {
        if let Some(error) = first["error"].as_str() {
            item.title = format!("{}: {}", str_of(&first["extensionPath"]), str_of(&first["event"]));
            item.parts.push(self.output(error));
            return;
        }
        let line = self.frames.line(self.facts.first).unwrap_or_default();
        item.parts.push(self.output(&String::from_utf8_lossy(&line)));
    }

    fn text(&self, text: &str, markdown: bool) -> Part {
        let (text, cut) = cut(text, self.scope.limit);
        Part::Text { text, cut, markdown }
    }

    fn output(&self, text: &str) -> Part {
        let (text, cut) = cut(text, self.scope.limit);
        Part::Output { text, cut }
    }

    fn json(&self, value: &Value) -> Part {
        let (text, cut) = cut(&format!("{value:#}"), self.scope.limit);
        Part::Json { text, cut }
    }
}

/// The frame of a record; null if it is none.
fn frame(frames: &impl Frames, record: u32) -> Value {
    let line = frames.line(record).unwrap_or_default();
    serde_json::from_slice(&line).unwrap_or_default()
}

fn str_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn text_of(value: &Value) -> String {
    harmless(str_of(value))
}

/// The object without some members.
fn without(value: Value, members: &[&str]) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.into_iter().filter(|(name, _)| !members.contains(&name.as_str()));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// The values of an object on one line: of one member the value alone.
fn gist(value: &Value) -> String {
    match value.as_object() {
        Some(members) => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let texts: Vec<String> = match members.len() {
                1 => members.values().map(text).collect(),
                _ => members.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect(),
            };
            texts.join(", ")
        }
        None => String::new(),
    }
}

fn title(text: &str) -> String {
    let mut title = harmless(&text.chars().take(TITLE).collect::<String>());
    if text.chars().nth(TITLE).is_some() {
        title.push('…');
    }
    title
}

/// At most `limit` bytes of a text, without characters that do harm, and whether it was shortened.
pub fn cut(text: &str, limit: usize) -> (String, bool) {
    match text.len() > limit {
        true => (harmless_lines(&text[..text.floor_char_boundary(limit)]), true),
        false => (harmless_lines(text), false),
    }
}
