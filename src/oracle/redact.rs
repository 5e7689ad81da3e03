//! Recordings without what was said: letters become `x`, digits `0`, and what says nothing stays.
//!
//! What stays is what `x-redact` of the schema says, tags and enumerations, the names of members, numbers, and the texts
//! that the protocol fixes. Blanks, punctuation and the number of characters stay, too: what was equal is equal again, and
//! deltas still make up their message. What the schema does not know is redacted.

mod json_text;

use super::{Body, Direction, Record};
use crate::protocol::{BUNDLE, mend_surrogates};
use json_text::JsonText;
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

/// Redacts the records of one recording, in their order.
#[derive(Debug, Default)]
pub struct Redactor {
    /// The arguments of the calls that a model is writing, by the place of the block in its message.
    calls: HashMap<u64, JsonText>,
}

/// What becomes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// It stays.
    Keep,
    /// It stays if it names a command.
    Command,
    /// Every character is redacted but those of texts that the protocol fixes.
    Text,
    /// Every character is redacted.
    All,
    /// A piece of JSON: the names of members stay.
    Json,
}

/// A schema that a value fits, and what becomes of the texts in it.
type Fit = (&'static Value, Mode);

/// The least length of a fixed text, in bytes: a shorter one would be found in what was said.
const SHORTEST: usize = 6;

/// What the schema says of texts.
struct Known {
    defs: Value,
    commands: HashSet<String>,
    /// What stands between the placeholders of fixed texts, by the first character, the longest first.
    pieces: HashMap<char, Vec<String>>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let mut bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
    let mut pieces: HashMap<char, Vec<String>> = HashMap::new();
    for texts in ["errors", "texts"].map(|key| bundle.get(key).and_then(Value::as_object)) {
        for text in texts.into_iter().flatten().filter_map(|(_, entry)| entry.get("text")) {
            let by_dialect = text.as_object().into_iter().flat_map(Map::values);
            for piece in by_dialect.chain([text]).filter_map(Value::as_str).flat_map(fixed) {
                if let Some(first) = piece.chars().next() {
                    pieces.entry(first).or_default().push(piece.to_owned());
                }
            }
        }
    }
    for list in pieces.values_mut() {
        list.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    }
    let defs = bundle.get_mut("$defs").map(Value::take).unwrap_or_default();
    let commands = defs.pointer("/RpcCommand/discriminator/mapping").and_then(Value::as_object);
    let commands = commands.into_iter().flat_map(Map::keys).cloned().chain(["parse".to_owned()]).collect();
    Known { defs, commands, pieces }
});

/// The pieces of a text around its `{placeholders}`.
fn fixed(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(open) = rest.get(from..).and_then(|tail| tail.find('{')).map(|at| from + at) {
        let inner = rest.get(open + 1..).unwrap_or_default();
        let close = inner.find(|c: char| !c.is_ascii_alphabetic() && c != '_').unwrap_or(inner.len());
        if inner.get(close..).is_some_and(|tail| tail.starts_with('}')) {
            pieces.push(rest.get(..open).unwrap_or_default());
            rest = inner.get(close + 1..).unwrap_or_default();
            from = 0;
        } else {
            from = open + 1;
        }
    }
    pieces.push(rest);
    pieces.retain(|piece| piece.len() >= SHORTEST);
    pieces
}

impl Redactor {
    /// The record without what was said in it.
    pub fn redact(&mut self, record: &Record<'_>) -> Record<'static> {
        let Record { t, direction, ref body, cut } = *record;
        let bytes = body.bytes();
        let Some(frame) = parsed(bytes) else {
            return Record { t, direction, body: Body::Raw(Cow::Owned(bytes_masked(bytes))), cut };
        };
        let frame = match direction {
            Direction::In => self.frame(frame, &root("Inbound")),
            Direction::Out => self.frame(frame, &root("Outbound")),
            Direction::Err => free(frame, Mode::All),
            Direction::Meta => self.meta(frame),
        };
        // Texts and numbers: there is nothing that could fail.
        let mut redacted = serde_json::to_vec(&frame).unwrap_or_default();
        let body = match body {
            Body::Json(_) => Body::Json(Cow::Owned(redacted)),
            Body::Raw(_) => {
                redacted.extend(bytes.ends_with(b"\n").then_some(b'\n'));
                Body::Raw(Cow::Owned(redacted))
            }
        };
        Record { t, direction, body, cut }
    }

    /// What one side said. The `id` of a frame that nobody knows stays, too: it is answered with it.
    fn frame(&mut self, frame: Value, schemas: &[Fit]) -> Value {
        let id = frame.get("id").cloned();
        let mut redacted = self.value(frame, schemas);
        if let (Some(own), Some(id @ Value::String(_))) = (redacted.get_mut("id"), id) {
            *own = id;
        }
        redacted
    }

    /// What happened to a process: where it was started and what it was given is private, too.
    fn meta(&mut self, frame: Value) -> Value {
        let Value::Object(mut members) = frame else { return free(frame, Mode::All) };
        for (key, value) in &mut members {
            let old = value.take();
            *value = match (key.as_str(), old) {
                ("event" | "dialect", old) => old,
                ("argv", Value::Array(words)) => words.into_iter().map(word).collect(),
                ("lines", Value::Array(lines)) => {
                    let of_file = [root("SessionHeader"), root("SessionEntry")].concat();
                    lines.into_iter().map(|line| self.value(line, &of_file)).collect()
                }
                ("what", Value::String(what)) => Value::String(awaited(&what)),
                (_, old) => free(old, Mode::All),
            };
        }
        Value::Object(members)
    }

    /// A value that should fit one of `schemas`.
    fn value(&mut self, value: Value, schemas: &[Fit]) -> Value {
        let mut fitting = Vec::new();
        for (schema, mode) in schemas {
            fits(schema, *mode, &value, &mut fitting);
        }
        // What is below a text that is redacted as a whole is so even where no schema fits.
        let whole = schemas.iter().any(|(_, mode)| *mode == Mode::All);
        let unknown = if whole { Mode::All } else { Mode::Text };
        match value {
            Value::String(text) => {
                let strictest = fitting.iter().map(|(_, mode)| *mode).find(|mode| *mode != Mode::Keep);
                let mode = if fitting.is_empty() { unknown } else { strictest.unwrap_or(Mode::Keep) };
                Value::String(masked(text, mode))
            }
            Value::Array(list) => {
                let items: Vec<Fit> =
                    fitting.iter().filter_map(|(schema, mode)| Some((schema.get("items")?, *mode))).collect();
                list.into_iter().map(|item| self.known_or_free(item, &items, unknown)).collect()
            }
            Value::Object(members) => self.object(members, &fitting, unknown),
            scalar => scalar,
        }
    }

    fn object(&mut self, mut members: Map<String, Value>, fitting: &[Fit], unknown: Mode) -> Value {
        let block = members.get("contentIndex").and_then(Value::as_u64);
        let mut is_piece = false;
        for (key, value) in &mut members {
            let schemas: Vec<Fit> = fitting
                .iter()
                .filter_map(|(schema, mode)| {
                    let own = schema.get("properties").and_then(|properties| properties.get(key));
                    Some((own.or_else(|| schema.get("additionalProperties"))?, *mode))
                })
                .collect();
            let is_json = schemas.iter().any(|(schema, _)| mode_of(schema) == Some(Mode::Json));
            *value = match (value.take(), block) {
                (Value::String(piece), Some(block)) if is_json => {
                    is_piece = true;
                    Value::String(self.calls.entry(block).or_default().redact(&piece))
                }
                (other, _) => self.known_or_free(other, &schemas, unknown),
            };
        }
        if let (Some(block), false) = (block, is_piece) {
            self.calls.remove(&block);
        }
        Value::Object(members)
    }

    fn known_or_free(&mut self, value: Value, schemas: &[Fit], unknown: Mode) -> Value {
        match schemas.is_empty() {
            true => free(value, unknown),
            false => self.value(value, schemas),
        }
    }
}

fn root(def: &str) -> Vec<Fit> {
    KNOWN.defs.get(def).map(|def| (def, Mode::Text)).into_iter().collect()
}

/// What a schema says itself.
fn mode_of(schema: &Value) -> Option<Mode> {
    match schema.get("x-redact")?.as_str()? {
        "keep" => Some(Mode::Keep),
        "command" => Some(Mode::Command),
        "json" => Some(Mode::Json),
        _ => Some(Mode::All),
    }
}

/// The schemas without branches that `value` fits.
fn fits(schema: &'static Value, outer: Mode, value: &Value, into: &mut Vec<Fit>) {
    let mode = mode_of(schema).unwrap_or(outer);
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    if let Some(def) = target.and_then(|name| KNOWN.defs.get(name)) {
        return fits(def, mode, value, into);
    }
    if let Some(branches) = schema.get("oneOf").and_then(Value::as_array) {
        return branches.iter().for_each(|branch| fits(branch, mode, value, into));
    }
    let fixed = schema.get("const").is_some() || schema.get("enum").is_some();
    let listed = |value: &Value| {
        let enumerated =
            schema.get("enum").and_then(Value::as_array).is_some_and(|list| list.contains(value));
        enumerated || schema.get("const") == Some(value)
    };
    if has_type(schema, value) && (!fixed || listed(value)) && has_tags(schema, value) {
        into.push((schema, if fixed { Mode::Keep } else { mode }));
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is = |kind: &Value| kind == name || kind == "integer" && name == "number";
    match schema.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(is),
        Some(kind) => is(kind),
    }
}

/// Whether the members that are constant are as they should be.
fn has_tags(schema: &Value, value: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut tags = properties.into_iter().flatten().filter_map(|(key, own)| Some((key, own.get("const")?)));
    tags.all(|(key, tag)| value.get(key) == Some(tag))
}

/// A value that no schema describes.
fn free(value: Value, mode: Mode) -> Value {
    match value {
        Value::String(text) => Value::String(masked(text, mode)),
        Value::Array(list) => list.into_iter().map(|item| free(item, mode)).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(key, value)| (key, free(value, mode))).collect())
        }
        scalar => scalar,
    }
}

fn masked(text: String, mode: Mode) -> String {
    match mode {
        Mode::Keep => text,
        Mode::Command if KNOWN.commands.contains(&text) => text,
        Mode::Text => around_fixed(&text),
        Mode::Command | Mode::All | Mode::Json => text.chars().map(mask).collect(),
    }
}

/// Redacts what stands around the texts that the protocol fixes.
fn around_fixed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let pieces = KNOWN.pieces.get(&first).into_iter().flatten();
        let piece = pieces.into_iter().find(|piece| rest.starts_with(piece.as_str()));
        let taken = match piece {
            Some(piece) => {
                out.push_str(piece);
                piece.len()
            }
            None => {
                out.push(mask(first));
                first.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

const fn mask(c: char) -> char {
    match c {
        '0'..='9' => '0',
        'a'..='z' | 'A'..='Z' => 'x',
        c if c.is_ascii() => c,
        _ => 'x',
    }
}

/// The name of an option stays, its value does not.
fn word(word: Value) -> Value {
    match word {
        Value::String(word) if word.starts_with("--") && !word.contains(char::is_whitespace) => {
            let (name, value) = word.split_at(word.find('=').unwrap_or(word.len()));
            Value::String(name.chars().chain(value.chars().map(mask)).collect())
        }
        other => free(other, Mode::All),
    }
}

/// What was waited for: whether it is a response is judged.
fn awaited(what: &str) -> String {
    let (start, rest) = what.split_at(if what.starts_with("response") { "response".len() } else { 0 });
    start.chars().chain(rest.chars().map(mask)).collect()
}

fn parsed(bytes: &[u8]) -> Option<Value> {
    let text = str::from_utf8(bytes).ok()?;
    serde_json::from_str(&mend_surrogates(text)).ok()
}

/// What is no JSON. What is no UTF-8 is none afterwards.
fn bytes_masked(bytes: &[u8]) -> Vec<u8> {
    let byte_masked = |byte: &u8| match byte {
        b'0'..=b'9' => b'0',
        b'a'..=b'z' | b'A'..=b'Z' => b'x',
        0x80.. => 0xff,
        _ => *byte,
    };
    match str::from_utf8(bytes) {
        Ok(text) => text.chars().map(mask).collect::<String>().into_bytes(),
        Err(_) => bytes.iter().map(byte_masked).collect(),
    }
}
