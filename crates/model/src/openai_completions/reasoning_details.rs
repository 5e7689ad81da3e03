//! The structured form of thinking (`reasoning_details`), in which gateways such as OpenRouter send a vendor's texts,
//! summaries, signatures and encrypted thinking, and take them back whole and in order.
//!
//! The list is the signature of the answer's first block of thinking.

use serde_json::{Map, Value, json};

/// The details of one answer, in order. Pieces of one text or one summary are joined.
#[derive(Debug, Default)]
pub struct ReasoningDetails(Vec<Map<String, Value>>);

impl ReasoningDetails {
    /// Adds a detail, or continues the last one with it; returns its size in bytes, `None`: it is no detail.
    pub fn add(&mut self, detail: &Value) -> Option<usize> {
        let detail = detail.as_object()?;
        let kind = detail.get("type")?.as_str()?;
        let key = content_key(kind)?;
        let mut detail = detail.clone();
        // A piece that holds the signature alone has no text.
        if kind == "reasoning.text" && detail.get(key).is_none_or(Value::is_null) {
            detail.insert(key.to_owned(), "".into());
        }
        detail.get(key)?.as_str()?;
        let size = detail.iter().map(|(key, value)| key.len() + value.as_str().map_or(8, str::len)).sum();
        match self.0.last_mut().filter(|last| is_continued(last, &detail)) {
            Some(last) => join(last, detail, key),
            None => self.0.push(detail),
        }
        Some(size)
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the list as a signature; `None`: there are no details.
    pub fn signature(&mut self) -> Option<String> {
        let details = std::mem::take(&mut self.0);
        (!details.is_empty()).then(|| json!(details).to_string())
    }
}

/// The list in the signature of a block of thinking; `None`: the signature is another.
pub fn of_signature(signature: &str) -> Option<Value> {
    let details: Value = serde_json::from_str(signature).ok().filter(Value::is_array)?;
    let is_detail = |detail: &Value| detail["type"].as_str().is_some_and(|kind| content_key(kind).is_some());
    let is_list = details.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_detail));
    is_list.then_some(details)
}

/// The member that holds what a kind of detail is about.
fn content_key(kind: &str) -> Option<&'static str> {
    match kind {
        "reasoning.text" => Some("text"),
        "reasoning.summary" => Some("summary"),
        "reasoning.encrypted" => Some("data"),
        _ => None,
    }
}

/// Whether `detail` is the next piece of `last`. A signed text is whole, unless the next piece has its number.
fn is_continued(last: &Map<String, Value>, detail: &Map<String, Value>) -> bool {
    let is_signed = last.get("signature").is_some_and(|signature| !signature.is_null());
    let is_same = last.get("index") == detail.get("index");
    last.get("type") == detail.get("type")
        && detail.get("type").is_some_and(|kind| kind != "reasoning.encrypted")
        && (is_same || !is_signed)
}

/// Appends the content of `detail` under `key` to `last`, and adds members that `last` lacks.
fn join(last: &mut Map<String, Value>, detail: Map<String, Value>, key: &str) {
    for (name, value) in detail {
        match last.get_mut(&name) {
            Some(Value::String(content)) if name == key => {
                content.push_str(value.as_str().unwrap_or_default())
            }
            Some(Value::Null) => drop(last.insert(name, value)),
            Some(Value::String(known)) if known.is_empty() => drop(last.insert(name, value)),
            Some(_) => {}
            None => drop(last.insert(name, value)),
        }
    }
}
