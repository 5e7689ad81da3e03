//! Renders streams of Responses: events are named and numbered, and each item appears three times: when it is opened,
//! while it grows, and when it is done.

use crate::{
    answer::{AnswerWriter, sse},
    handle::CREATED,
    refusal::openai_kind,
    vendor::model,
};
use pi_rpc_model::{
    scripted::Failure,
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::{Map, Value, json};

/// Encrypted thinking for which the script has none: the API sends some to every client that asks.
const ENCRYPTED: &str = "c2NyaXB0ZWQ=";

/// Members of a request that its answer repeats, with their defaults.
fn echoed() -> Value {
    json!({
        "background": false,
        "instructions": null,
        "max_output_tokens": null,
        "max_tool_calls": null,
        "metadata": {},
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "prompt_cache_key": null,
        "reasoning": { "effort": null, "summary": null },
        "safety_identifier": null,
        "service_tier": "default",
        "store": true,
        "temperature": 1.0,
        "text": { "format": { "type": "text" }, "verbosity": "medium" },
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "user": null,
    })
}

/// The response rendered so far.
pub struct ItemWriter {
    response: Map<String, Value>,
    /// Beginning of the items' ids, behind the prefix of their kind.
    id: String,
    items: Vec<RenderedItem>,
    sequence: u64,
    begun: bool,
    /// Whether the client asks for encrypted thinking, to send it back.
    encrypts: bool,
}

struct RenderedItem {
    /// The item without its growing text.
    json: Value,
    text: String,
}

impl ItemWriter {
    /// Starts the answer to the request `body`.
    pub fn new(body: &Value) -> Self {
        let mut response = Map::new();
        response.insert("id".to_owned(), "resp_scripted".into());
        response.insert("object".to_owned(), "response".into());
        response.insert("created_at".to_owned(), CREATED.into());
        response.insert("status".to_owned(), "in_progress".into());
        response.insert("error".to_owned(), Value::Null);
        response.insert("incomplete_details".to_owned(), Value::Null);
        response.insert("model".to_owned(), model(body).into());
        response.insert("output".to_owned(), json!([]));
        response.insert("usage".to_owned(), Value::Null);
        if let Value::Object(defaults) = echoed() {
            for (name, default) in defaults {
                let own = body.get(&name).filter(|own| !own.is_null()).cloned();
                response.insert(name, own.unwrap_or(default));
            }
        }
        let includes = body["include"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == "reasoning.encrypted_content"));
        Self {
            response,
            id: "scripted".to_owned(),
            items: Vec::new(),
            sequence: 0,
            begun: false,
            encrypts: includes,
        }
    }

    fn event(&mut self, kind: &str, fields: Value) -> String {
        let mut event = Map::from_iter([("type".to_owned(), kind.into())]);
        event.insert("sequence_number".to_owned(), self.sequence.into());
        self.sequence += 1;
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        sse(Some(kind), &Value::Object(event).to_string())
    }

    fn usage(&mut self, usage: TokenCounts) -> String {
        let mut text = String::new();
        if !std::mem::replace(&mut self.begun, true) {
            for kind in ["response.created", "response.in_progress"] {
                let response = json!({ "response": self.response });
                text += &self.event(kind, response);
            }
        }
        let TokenCounts { input, output, cache_read, cache_write, .. } = usage;
        let input = input + cache_read + cache_write;
        let usage = json!({
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": cache_read },
            "output_tokens": output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + output,
        });
        self.response.insert("usage".to_owned(), usage);
        text
    }

    fn start(&mut self, index: usize, block: &BlockStart) -> String {
        let id = format!("{}_{index}", self.id);
        let json = match block {
            BlockStart::Text => json!({
                "id": format!("msg_{id}"),
                "type": "message",
                "status": "in_progress",
                "content": [],
                "role": "assistant",
            }),
            BlockStart::Thinking => json!({ "id": format!("rs_{id}"), "type": "reasoning", "summary": [] }),
            BlockStart::Redacted { data } => json!({
                "id": format!("rs_{id}"), "type": "reasoning", "summary": [], "encrypted_content": data,
            }),
            BlockStart::ToolCall { id: call_id, name } => json!({
                "id": format!("fc_{id}"),
                "type": "function_call",
                "status": "in_progress",
                "arguments": "",
                "call_id": call_id,
                "name": name,
            }),
        };
        let added = json!({ "output_index": index, "item": json });
        let mut text = self.event("response.output_item.added", added);
        match block {
            BlockStart::Text => {
                let part = at(&json, index, "content_index", json!({ "part": text_part("") }));
                text += &self.event("response.content_part.added", part);
            }
            BlockStart::Thinking => {
                let part = at(&json, index, "summary_index", json!({ "part": summary_part("") }));
                text += &self.event("response.reasoning_summary_part.added", part);
            }
            BlockStart::Redacted { .. } | BlockStart::ToolCall { .. } => {}
        }
        self.items.push(RenderedItem { json, text: String::new() });
        text
    }

    fn append_delta(&mut self, index: usize, more: &str) -> String {
        let Some(item) = self.items.get_mut(index) else { return String::new() };
        item.text.push_str(more);
        let json = item.json.clone();
        match json["type"].as_str() {
            Some("message") => {
                let delta = at(&json, index, "content_index", json!({ "delta": more, "logprobs": [] }));
                self.event("response.output_text.delta", delta)
            }
            Some("reasoning") => {
                let delta = at(&json, index, "summary_index", json!({ "delta": more }));
                self.event("response.reasoning_summary_text.delta", delta)
            }
            _ => {
                let delta = json!({ "item_id": json["id"], "output_index": index, "delta": more });
                self.event("response.function_call_arguments.delta", delta)
            }
        }
    }

    fn end(&mut self, index: usize, signature: Option<&str>) -> String {
        let Some(item) = self.items.get(index) else { return String::new() };
        let (mut json, item_text) = (item.json.clone(), item.text.clone());
        let redacted = json.get("encrypted_content").is_some();
        let mut text = String::new();
        match json["type"].as_str() {
            Some("message") => {
                let done = at(&json, index, "content_index", json!({ "text": item_text, "logprobs": [] }));
                text += &self.event("response.output_text.done", done);
                let part = at(&json, index, "content_index", json!({ "part": text_part(&item_text) }));
                text += &self.event("response.content_part.done", part);
                json["content"] = json!([text_part(&item_text)]);
                json["status"] = "completed".into();
            }
            Some("reasoning") if redacted => {}
            Some("reasoning") => {
                let done = at(&json, index, "summary_index", json!({ "text": item_text }));
                text += &self.event("response.reasoning_summary_text.done", done);
                let part = at(&json, index, "summary_index", json!({ "part": summary_part(&item_text) }));
                text += &self.event("response.reasoning_summary_part.done", part);
                json["summary"] = json!([summary_part(&item_text)]);
                if self.encrypts {
                    json["encrypted_content"] = signature.unwrap_or(ENCRYPTED).into();
                }
            }
            _ => {
                let done = json!({ "item_id": json["id"], "output_index": index, "arguments": item_text });
                text += &self.event("response.function_call_arguments.done", done);
                json["arguments"] = item_text.into();
                json["status"] = "completed".into();
            }
        }
        text += &self.event("response.output_item.done", json!({ "output_index": index, "item": json }));
        if let Some(Value::Array(output)) = self.response.get_mut("output") {
            output.push(json);
        }
        text
    }

    fn finish(&mut self, finish: Finish) -> String {
        let (status, details) = match finish {
            Finish::Length => ("incomplete", json!({ "reason": "max_output_tokens" })),
            Finish::Stop | Finish::ToolUse => ("completed", Value::Null),
        };
        self.response.insert("status".to_owned(), status.into());
        self.response.insert("incomplete_details".to_owned(), details);
        let response = json!({ "response": self.response });
        self.event(&format!("response.{status}"), response)
    }
}

impl AnswerWriter for ItemWriter {
    fn event(&mut self, event: &StreamEvent) -> String {
        match event {
            StreamEvent::ResponseId(id) => {
                self.response.insert("id".to_owned(), format!("resp_{id}").into());
                self.id.clone_from(id);
                String::new()
            }
            StreamEvent::Usage(usage) => self.usage(*usage),
            StreamEvent::Start { index, block } => self.start(*index, block),
            StreamEvent::Delta { index, delta } => self.append_delta(*index, delta),
            StreamEvent::End { index, signature } => self.end(*index, signature.as_deref()),
            StreamEvent::Finish(finish) => self.finish(*finish),
            // Scripts send signatures at a block's end, and failures do not come here.
            StreamEvent::Model(_)
            | StreamEvent::Effort(_)
            | StreamEvent::Diagnostic(_)
            | StreamEvent::ProviderReason(_)
            | StreamEvent::Signature { .. }
            | StreamEvent::Unclosed { .. }
            | StreamEvent::Fail { .. } => String::new(),
        }
    }

    // The event has the error's members at its top, the HTTP response in an object.
    fn failure(&mut self, failure: &Failure, body: &str) -> String {
        if failure.body.is_some() {
            return sse(Some("error"), body);
        }
        let (kind, code) = openai_kind(failure.status().unwrap_or(500));
        let code = failure.kind.as_deref().or(code).unwrap_or(kind);
        let error = json!({ "code": code, "message": failure.message_or_usual(), "param": null });
        self.event("error", error)
    }

    fn whole(&self) -> Value {
        self.response.clone().into()
    }
}

/// Adds the ids of an item and the index of its only part, called `part`, to `fields`.
fn at(item: &Value, index: usize, part: &str, fields: Value) -> Value {
    let mut at = json!({ "item_id": item["id"], "output_index": index });
    at[part] = 0.into();
    if let (Value::Object(at), Value::Object(fields)) = (&mut at, fields) {
        at.extend(fields);
    }
    at
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text })
}

fn summary_part(text: &str) -> Value {
    json!({ "type": "summary_text", "text": text })
}
