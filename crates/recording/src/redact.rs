//! Redacts recordings: letters become `x`, digits become `0`.
//!
//! Kept are the texts that `x-redact` in the schema names, tags and enumerations, the names of members, numbers, and the
//! fixed texts of the protocol. Blanks, punctuation and the number of characters are kept, too: equal texts stay equal, and
//! deltas still add up to their message. Values that the schema does not describe are redacted.

mod json_text;

use super::{Body, Direction, Record};
use json_text::JsonRedactor;
use pi_rpc_protocol::{BUNDLE, mend_surrogates};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

/// Redacts the records of one recording, in their order.
#[derive(Debug, Default)]
pub struct Redactor {
    /// The partial arguments of tool calls, by content index.
    calls: HashMap<u64, JsonRedactor>,
}

/// How a text is redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Redaction {
    /// Not at all.
    Keep,
    /// Not at all if it names a command, else every character.
    Command,
    /// Every character except those of the protocol's fixed texts.
    Text,
    /// Every character.
    All,
    /// As a piece of JSON: the names of members are kept.
    Json,
}

/// A schema that a value fits, with the redaction of its texts.
type SchemaMatch = (&'static Value, Redaction);

/// The least length of a fixed text, in bytes: a shorter one could occur in private text by chance.
const MIN_FIXED_LENGTH: usize = 6;

/// The parts of the schema that decide about texts.
struct SchemaTexts {
    defs: Value,
    commands: HashSet<String>,
    /// The pieces of fixed texts between their placeholders, by first character, the longest first.
    pieces: HashMap<char, Vec<String>>,
}

static SCHEMA: LazyLock<SchemaTexts> = LazyLock::new(|| {
    let mut bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
    let mut pieces: HashMap<char, Vec<String>> = HashMap::new();
    for texts in ["errors", "texts"].map(|key| bundle.get(key).and_then(Value::as_object)) {
        for text in texts.into_iter().flatten().filter_map(|(_, entry)| entry.get("text")) {
            let by_dialect = text.as_object().into_iter().flat_map(Map::values);
            for piece in by_dialect.chain([text]).filter_map(Value::as_str).flat_map(fixed_pieces) {
                if let Some(first) = piece.chars().next() {
                    pieces.entry(first).or_default().push(piece.to_owned());
                }
            }
        }
    }
    let codes = bundle.pointer("/$defs/MultiSessionErrorCode/enum").and_then(Value::as_array);
    for code in codes.into_iter().flatten().filter_map(Value::as_str) {
        if let Some(first) = code.chars().next() {
            pieces.entry(first).or_default().push(code.to_owned());
        }
    }
    for list in pieces.values_mut() {
        list.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    }
    let defs = bundle.get_mut("$defs").map(Value::take).unwrap_or_default();
    let commands = ["RpcCommand", "MultiSessionCommand"]
        .map(|union| defs.pointer(&format!("/{union}/discriminator/mapping")).and_then(Value::as_object));
    let commands = commands.into_iter().flatten().flat_map(Map::keys).cloned();
    let commands = commands.chain(["parse".to_owned()]).collect();
    SchemaTexts { defs, commands, pieces }
});

/// The pieces of a text between its `{placeholders}`.
fn fixed_pieces(text: &str) -> Vec<&str> {
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
    pieces.retain(|piece| piece.len() >= MIN_FIXED_LENGTH);
    pieces
}

impl Redactor {
    /// Redacts a record.
    pub fn redact(&mut self, record: &Record<'_>) -> Record<'static> {
        let Record { t, direction, ref body, cut } = *record;
        let bytes = body.bytes();
        let Some(frame) = parsed(bytes) else {
            return Record { t, direction, body: Body::Raw(Cow::Owned(redact_bytes(bytes))), cut };
        };
        let frame = match direction {
            Direction::In => self.frame(frame, &roots(&["Inbound", "MultiSessionCommand", "SessionTag"])),
            Direction::Out => {
                let roots = roots(&["Outbound", "MultiSessionSuccess", "MultiSessionEvent", "SessionTag"]);
                self.frame(frame, &roots)
            }
            Direction::Err => redact_unknown(frame, Redaction::All),
            Direction::Meta => self.meta(frame),
        };
        // A JSON value always serializes.
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

    /// Redacts a frame. The `id` is kept even if the frame is unknown, because the response repeats it.
    fn frame(&mut self, frame: Value, schemas: &[SchemaMatch]) -> Value {
        let id = frame.get("id").cloned();
        let mut redacted = self.value(frame, schemas);
        if let (Some(own), Some(id @ Value::String(_))) = (redacted.get_mut("id"), id) {
            *own = id;
        }
        redacted
    }

    /// Redacts the body of a `meta` record: paths and arguments of the process are private, too.
    fn meta(&mut self, frame: Value) -> Value {
        let Value::Object(mut members) = frame else { return redact_unknown(frame, Redaction::All) };
        for (key, value) in &mut members {
            let old = value.take();
            *value = match (key.as_str(), old) {
                ("event" | "dialect", old) => old,
                ("argv", Value::Array(words)) => words.into_iter().map(redact_argument).collect(),
                ("lines", Value::Array(lines)) => {
                    let of_file = roots(&["SessionHeader", "SessionEntry"]);
                    lines.into_iter().map(|line| self.value(line, &of_file)).collect()
                }
                ("what", Value::String(what)) => Value::String(redact_timeout(&what)),
                (_, old) => redact_unknown(old, Redaction::All),
            };
        }
        Value::Object(members)
    }

    /// Redacts a value that should fit one of `schemas`.
    fn value(&mut self, value: Value, schemas: &[SchemaMatch]) -> Value {
        let mut fitting = Vec::new();
        for (schema, mode) in schemas {
            fits(schema, *mode, &value, &mut fitting);
        }
        // Below a value that is redacted as a whole, a value that fits no schema is redacted as a whole, too.
        let whole = schemas.iter().any(|(_, mode)| *mode == Redaction::All);
        let unknown = if whole { Redaction::All } else { Redaction::Text };
        match value {
            Value::String(text) => {
                let strictest = fitting.iter().map(|(_, mode)| *mode).find(|mode| *mode != Redaction::Keep);
                let mode = if fitting.is_empty() { unknown } else { strictest.unwrap_or(Redaction::Keep) };
                Value::String(redact_text(text, mode))
            }
            Value::Array(list) => {
                let items: Vec<SchemaMatch> =
                    fitting.iter().filter_map(|(schema, mode)| Some((schema.get("items")?, *mode))).collect();
                list.into_iter().map(|item| self.redact_member(item, &items, unknown)).collect()
            }
            Value::Object(members) => self.object(members, &fitting, unknown),
            scalar => scalar,
        }
    }

    fn object(
        &mut self,
        mut members: Map<String, Value>,
        fitting: &[SchemaMatch],
        unknown: Redaction,
    ) -> Value {
        let block = members.get("contentIndex").and_then(Value::as_u64);
        let mut is_piece = false;
        for (key, value) in &mut members {
            let schemas: Vec<SchemaMatch> = fitting
                .iter()
                .filter_map(|(schema, mode)| {
                    let own = schema.get("properties").and_then(|properties| properties.get(key));
                    Some((own.or_else(|| schema.get("additionalProperties"))?, *mode))
                })
                .collect();
            let is_json = schemas.iter().any(|(schema, _)| redaction_of(schema) == Some(Redaction::Json));
            *value = match (value.take(), block) {
                (Value::String(piece), Some(block)) if is_json => {
                    is_piece = true;
                    Value::String(self.calls.entry(block).or_default().redact(&piece))
                }
                (other, _) => self.redact_member(other, &schemas, unknown),
            };
        }
        if let (Some(block), false) = (block, is_piece) {
            self.calls.remove(&block);
        }
        Value::Object(members)
    }

    fn redact_member(&mut self, value: Value, schemas: &[SchemaMatch], unknown: Redaction) -> Value {
        match schemas.is_empty() {
            true => redact_unknown(value, unknown),
            false => self.value(value, schemas),
        }
    }
}

fn roots(defs: &[&str]) -> Vec<SchemaMatch> {
    defs.iter().filter_map(|def| Some((SCHEMA.defs.get(*def)?, Redaction::Text))).collect()
}

/// The redaction that a schema itself asks for.
fn redaction_of(schema: &Value) -> Option<Redaction> {
    match schema.get("x-redact")?.as_str()? {
        "keep" => Some(Redaction::Keep),
        "command" => Some(Redaction::Command),
        "json" => Some(Redaction::Json),
        _ => Some(Redaction::All),
    }
}

/// Collects the schemas, below `oneOf` and `$ref`, that `value` fits.
fn fits(schema: &'static Value, outer: Redaction, value: &Value, into: &mut Vec<SchemaMatch>) {
    let mode = redaction_of(schema).unwrap_or(outer);
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    if let Some(def) = target.and_then(|name| SCHEMA.defs.get(name)) {
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
    // All members that the schema fixes by `const` have that value.
    let has_tags = || {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut tags = properties.filter_map(|(key, own)| Some((key, own.get("const")?)));
        tags.all(|(key, tag)| value.get(key) == Some(tag))
    };
    if has_type(schema, value) && (!fixed || listed(value)) && has_tags() {
        into.push((schema, if fixed { Redaction::Keep } else { mode }));
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

/// Redacts a value that no schema describes.
fn redact_unknown(value: Value, mode: Redaction) -> Value {
    match value {
        Value::String(text) => Value::String(redact_text(text, mode)),
        Value::Array(list) => list.into_iter().map(|item| redact_unknown(item, mode)).collect(),
        Value::Object(members) => Value::Object(
            members.into_iter().map(|(key, value)| (key, redact_unknown(value, mode))).collect(),
        ),
        scalar => scalar,
    }
}

fn redact_text(text: String, mode: Redaction) -> String {
    match mode {
        Redaction::Keep => text,
        Redaction::Command if SCHEMA.commands.contains(&text) => text,
        Redaction::Text => redact_around_fixed(&text),
        Redaction::Command | Redaction::All | Redaction::Json => text.chars().map(mask).collect(),
    }
}

/// Redacts every character outside of the protocol's fixed texts.
fn redact_around_fixed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let pieces = SCHEMA.pieces.get(&first).into_iter().flatten();
        let piece = pieces.into_iter().find(|piece| begins_with_words(rest, piece));
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

/// Whether a text begins with this piece, and the last word of the piece ends there.
fn begins_with_words(text: &str, piece: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    text.strip_prefix(piece).is_some_and(|rest| !(piece.ends_with(is_letter) && rest.starts_with(is_letter)))
}

const fn mask(c: char) -> char {
    match c {
        '0'..='9' => '0',
        'a'..='z' | 'A'..='Z' => 'x',
        c if c.is_ascii() => c,
        _ => 'x',
    }
}

/// Redacts an argument, except the name of a long option.
fn redact_argument(word: Value) -> Value {
    match word {
        Value::String(word) if word.starts_with("--") && !word.contains(char::is_whitespace) => {
            let (name, value) = word.split_at(word.find('=').unwrap_or(word.len()));
            Value::String(name.chars().chain(value.chars().map(mask)).collect())
        }
        other => redact_unknown(other, Redaction::All),
    }
}

/// Redacts what a timeout waited for, except a leading `response`, which the judge needs.
fn redact_timeout(what: &str) -> String {
    let (start, rest) = what.split_at(if what.starts_with("response") { "response".len() } else { 0 });
    start.chars().chain(rest.chars().map(mask)).collect()
}

fn parsed(bytes: &[u8]) -> Option<Value> {
    let text = str::from_utf8(bytes).ok()?;
    serde_json::from_str(&mend_surrogates(text)).ok()
}

/// Redacts a line that is not JSON. Invalid UTF-8 stays invalid.
fn redact_bytes(bytes: &[u8]) -> Vec<u8> {
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
