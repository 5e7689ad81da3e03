//! Reads streamed answers of Responses.
//!
//! Each output item is a block. Its final content is authoritative: if it is longer than its deltas, the rest becomes
//! one more delta, so that the deltas together are the block's text. A call whose final arguments are others than its
//! deltas gets both, which are no arguments: it does not run.

use super::input::TextSignature;
use crate::{
    openai::{ContentHash, argument_text, count, error_text, stopped_with, text, unnamed_error},
    openrouter_cost::billed,
    request::Reader,
    sequence::BlockSequencer,
    service_tiers,
    sse::{STREAM_CUT, read},
    types::{AnswerDiagnostic, Bill, BlockStart, Finish, StreamEvent, TokenCounts},
};
use pi_rpc_protocol::Model;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

/// The kind of the diagnostic that lists the reasoning which the server has withheld. Source: pi 1.6.0.
const INPUT_TRANSFORMATIONS: &str = "openai_input_transformations";

/// The state of one answer.
#[derive(Debug, Default)]
pub struct AnswerReader {
    out: BlockSequencer,
    items: Vec<OutputItem>,
    response_id: Option<String>,
    /// Hash of everything so far, for calls that come without an id.
    content_hash: ContentHash,
    /// What an answer costs in each service tier, in percent of the model's prices.
    tiers: BTreeMap<&'static str, u32>,
}

#[derive(Debug)]
struct OutputItem {
    kind: ItemKind,
    /// The server's `output_index`.
    place: Option<u64>,
    /// Index of the block.
    index: usize,
    /// Text of its deltas.
    said: String,
    /// Number of parts that have begun.
    parts: usize,
    /// Type of the open part.
    part: String,
    /// Whether the arguments of a call have been told to their end.
    told: bool,
    ended: bool,
    /// The item of thinking that was done without its encrypted form.
    unencrypted: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemKind {
    Reasoning,
    Message,
    Call,
}

/// Separator of the parts of a summary.
const BLANK_LINE: &str = "\n\n";

impl Reader for AnswerReader {
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamEvent> {
        if self.out.is_finished() {
            return Vec::new();
        }
        if data.trim() == "[DONE]" {
            return self.end();
        }
        self.content_hash.add(data);
        match read(data) {
            Ok(Some(event)) => self.read(name, &event),
            Ok(None) => {}
            Err(message) => self.out.fail(message),
        }
        self.out.take()
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            self.out.fail(STREAM_CUT.to_owned());
        }
        self.out.take()
    }

    fn refusal(&self, body: &Value) -> Option<String> {
        error_text(&body["error"]).or_else(|| text(body, "detail").map(str::to_owned))
    }

    fn usage_limit(&self, body: &Value, now: SystemTime) -> Option<String> {
        let error = &body["error"];
        let code = text(error, "code").or_else(|| text(error, "type"))?;
        let limit = match code {
            "usage_limit_reached" | "subscription_sharing_usage_limit_exceeded" => {
                "The usage limit of the ChatGPT account is reached"
            }
            "subscription_sharing_workplace_individual_usage_limit_exceeded" => {
                "The usage limit of the ChatGPT workspace is reached"
            }
            "usage_not_included" => "The plan of the ChatGPT account does not include this use",
            _ => return None,
        };
        let plan = text(error, "plan_type").map(|plan| format!(" (plan: {})", plan.to_lowercase()));
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let left = count(&error["resets_in_seconds"]);
        let left = left.or_else(|| Some(count(&error["resets_at"])?.saturating_sub(now)));
        let left = left.map(|left| format!("; it resets in about {} min", left.div_ceil(60)));
        Some(format!("{limit}{}{}.", plan.unwrap_or_default(), left.unwrap_or_default()))
    }
}

impl AnswerReader {
    /// Creates the reader of an answer of `model`, which may be in a service tier.
    pub fn of_model(model: &Model) -> Self {
        Self { tiers: service_tiers::percents(model), ..Self::default() }
    }

    fn read(&mut self, name: &str, event: &Value) {
        let delta = event["delta"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or(name) {
            "response.created" => self.response_id(&event["response"]),
            "response.output_item.added" => drop(self.add(&event["item"], place(event))),
            "response.reasoning_summary_part.added" => self.summary_part(event),
            "response.reasoning_summary_text.delta" => {
                self.grow(event, ItemKind::Reasoning, |item| item.parts > 0, delta);
            }
            "response.reasoning_text.delta" => self.grow(event, ItemKind::Reasoning, |_| true, delta),
            "response.content_part.added" => self.content_part(event),
            "response.output_text.delta" => {
                self.grow(event, ItemKind::Message, |item| item.part == "output_text", delta);
            }
            "response.refusal.delta" => {
                self.grow(event, ItemKind::Message, |item| item.part == "refusal", delta);
            }
            "response.function_call_arguments.delta" => self.grow(event, ItemKind::Call, |_| true, delta),
            "response.function_call_arguments.done" => {
                if let Some(at) = self.find(event, ItemKind::Call) {
                    self.complete_arguments(at, &argument_text(&event["arguments"]));
                    self.items[at].told = true;
                }
            }
            "response.output_item.done" => self.done(event),
            // ChatGPT's word for the same.
            "response.completed" | "response.done" => self.finish(event, "completed"),
            "response.incomplete" => self.finish(event, "incomplete"),
            "response.failed" => self.out.fail(failure(&event["response"])),
            "error" => self.out.fail(error(event)),
            // Not part of this API: errors of gateways.
            _ => {
                if let Some(message) = error_text(&event["error"]) {
                    self.out.fail(message);
                }
            }
        }
    }

    fn response_id(&mut self, response: &Value) {
        let id = text(response, "id").map(str::to_owned);
        if let (Some(id), true) = (&id, id != self.response_id) {
            self.out.emit(StreamEvent::ResponseId(id.clone()));
            self.response_id = Some(id.clone());
            if let Some(model) = text(response, "model") {
                self.out.emit(StreamEvent::Model(model.to_owned()));
            }
        }
    }

    /// Opens a block for an item; `None`: items of its kind are no blocks.
    fn add(&mut self, item: &Value, place: Option<u64>) -> Option<usize> {
        let kind = kind(item)?;
        let block = match kind {
            ItemKind::Reasoning => BlockStart::Thinking,
            ItemKind::Message => BlockStart::Text,
            ItemKind::Call => BlockStart::ToolCall {
                id: self.call_id(item),
                name: text(item, "name").unwrap_or_default().to_owned(),
            },
        };
        let index = self.out.open(block);
        let (said, part) = (String::new(), String::new());
        let item_state = OutputItem {
            kind,
            place,
            index,
            said,
            parts: 0,
            part,
            told: false,
            ended: false,
            unencrypted: None,
        };
        self.items.push(item_state);
        let at = self.items.len() - 1;
        if kind == ItemKind::Call {
            // Some servers begin with an empty object, whatever follows.
            let arguments = argument_text(&item["arguments"]);
            self.append(
                at,
                Some(arguments.as_str()).filter(|arguments| *arguments != "{}").unwrap_or_default(),
            );
        }
        Some(at)
    }

    fn call_id(&self, item: &Value) -> String {
        match (text(item, "call_id"), text(item, "id")) {
            (Some(call), Some(item)) => format!("{call}|{item}"),
            (Some(id), None) | (None, Some(id)) => id.to_owned(),
            (None, None) => format!("call_{}_{}", self.content_hash.digits(), self.items.len()),
        }
    }

    fn summary_part(&mut self, event: &Value) {
        let Some(at) = self.find(event, ItemKind::Reasoning) else { return };
        self.items[at].parts += 1;
        if self.items[at].parts > 1 {
            self.append(at, BLANK_LINE);
        }
        self.append(at, text(&event["part"], "text").unwrap_or_default());
    }

    fn content_part(&mut self, event: &Value) {
        let part = &event["part"];
        let Some(at) = self.find(event, ItemKind::Message) else { return };
        if let Some(kind @ ("output_text" | "refusal")) = part["type"].as_str() {
            kind.clone_into(&mut self.items[at].part);
            self.append(at, &part_text(part));
        }
    }

    /// Appends a delta to the item that `event` names, if it is ready.
    fn grow(&mut self, event: &Value, kind: ItemKind, is_ready: impl Fn(&OutputItem) -> bool, delta: &str) {
        if let Some(at) = self.find(event, kind)
            && is_ready(&self.items[at])
        {
            self.items[at].said.push_str(delta);
            self.out.delta(self.items[at].index, delta);
        }
    }

    /// Emits a delta that is not empty.
    fn append(&mut self, at: usize, delta: &str) {
        if !delta.is_empty() {
            self.items[at].said.push_str(delta);
            self.out.delta(self.items[at].index, delta);
        }
    }

    /// Emits the rest of `whole` behind the deltas. A text that differs from them stays as emitted.
    fn complete(&mut self, at: usize, whole: &str) {
        let rest = whole.strip_prefix(self.items[at].said.as_str()).map(str::to_owned);
        self.append(at, &rest.unwrap_or_default());
    }

    /// Emits the rest of the final arguments behind the deltas; all of them, if the deltas are others.
    fn complete_arguments(&mut self, at: usize, whole: &str) {
        let said = &self.items[at].said;
        let is_same = || {
            serde_json::from_str::<Value>(said)
                .is_ok_and(|said| serde_json::from_str(whole).is_ok_and(|whole: Value| said == whole))
        };
        let rest = match whole.strip_prefix(said.as_str()) {
            Some(rest) => rest.to_owned(),
            None if whole.trim().is_empty() || is_same() => return,
            None => whole.to_owned(),
        };
        self.append(at, &rest);
    }

    fn done(&mut self, event: &Value) {
        let item = &event["item"];
        let Some(kind) = kind(item) else { return };
        let Some(at) = self.find(event, kind).or_else(|| self.add(item, place(event))) else { return };
        let (whole, signature) = match kind {
            ItemKind::Reasoning => (thoughts(item), Some(item.to_string())),
            ItemKind::Message => {
                let phase = text(item, "phase").map(str::to_owned);
                let signature = text(item, "id").map(|id| TextSignature { id: id.to_owned(), phase }.write());
                (parts(&item["content"], part_text, ""), signature)
            }
            ItemKind::Call => (argument_text(&item["arguments"]), None),
        };
        match kind {
            ItemKind::Call => self.complete_arguments(at, &whole),
            ItemKind::Reasoning | ItemKind::Message => self.complete(at, &whole),
        }
        if kind == ItemKind::Reasoning && text(item, "encrypted_content").is_none() {
            self.items[at].unencrypted = Some(item.clone());
        }
        self.items[at].ended = true;
        self.out.end(self.items[at].index, signature);
    }

    /// Finds the open item that `event` names, or the latest.
    fn find(&self, event: &Value, kind: ItemKind) -> Option<usize> {
        let place = place(event);
        self.items.iter().rposition(|item| {
            item.kind == kind
                && !item.ended
                && (place.is_none() || item.place.is_none() || item.place == place)
        })
    }

    /// Adds to the signatures of thinking what some servers send only with the last event: its encrypted form.
    fn add_encrypted_thinking(&mut self, output: &Value) {
        for item in output.as_array().map_or(&[][..], Vec::as_slice) {
            let encrypted = text(item, "encrypted_content").filter(|_| item["type"] == "reasoning");
            let Some((id, encrypted)) = text(item, "id").zip(encrypted) else { continue };
            let lacks_it =
                |known: &&mut OutputItem| known.unencrypted.as_ref().is_some_and(|known| known["id"] == id);
            let Some(known) = self.items.iter_mut().find(lacks_it) else { continue };
            if let Some(mut whole) = known.unencrypted.take() {
                whole["encrypted_content"] = encrypted.into();
                let signature = whole.to_string();
                self.out.emit(StreamEvent::Signature { index: known.index, signature });
            }
        }
    }

    /// Tells of reasoning that the server has withheld from the model. That of earlier turns is always withheld from some
    /// models, and is left out.
    fn removed_reasoning(&mut self, transformations: &Value) {
        let removed = transformations.as_array().into_iter().flatten().filter(|it| {
            it["type"] == "reasoning" && it["action"] == "removed" && it["reason"] != "turn_boundary"
        });
        let members = ["type", "id", "action", "reason"];
        let told = AnswerDiagnostic::of_transformations(INPUT_TRANSFORMATIONS, removed.cloned(), &members);
        if let Some(told) = told {
            self.out.emit(told);
        }
    }

    fn finish(&mut self, event: &Value, status: &str) {
        let response = &event["response"];
        self.response_id(response);
        self.add_encrypted_thinking(&response["output"]);
        self.removed_reasoning(&response["input_transformations"]);
        let counts = usage(&response["usage"]).or_else(|| usage(&event["usage"]));
        if let Some(counts) = counts {
            let percent = text(response, "service_tier").and_then(|tier| self.tiers.get(tier));
            let billed = counts.billed.or(percent.map(|percent| Bill::Percent(*percent)));
            self.out.emit(StreamEvent::Usage(TokenCounts { billed, ..counts }));
        }
        let called = self.items.iter().any(|item| item.kind == ItemKind::Call);
        for item in self.items.iter_mut().filter(|item| item.told && !item.ended) {
            item.ended = true;
            self.out.end(item.index, None);
        }
        let status = text(response, "status").unwrap_or(status);
        match status {
            "completed" | "in_progress" | "queued" => {
                let finish = if called { Finish::ToolUse } else { Finish::Stop };
                self.out.finish(finish, Some(status));
            }
            "incomplete" => match text(&response["incomplete_details"], "reason") {
                None => self.out.fail_for(status, "Response incomplete without a reason".to_owned()),
                Some(reason @ "max_output_tokens") => {
                    self.out.finish(Finish::Length, Some(&format!("{status}.{reason}")));
                }
                Some(reason) => {
                    let message = format!("Response incomplete: {reason}");
                    self.out.fail_for(&format!("{status}.{reason}"), message);
                }
            },
            "failed" => self.out.fail_for(status, failure(response)),
            "cancelled" => self.out.fail_for(status, stopped_with(status, None)),
            status => self.out.fail_for(status, format!("Unhandled stop reason: {status}")),
        }
    }
}

fn kind(item: &Value) -> Option<ItemKind> {
    match item["type"].as_str()? {
        "reasoning" => Some(ItemKind::Reasoning),
        "message" => Some(ItemKind::Message),
        "function_call" => Some(ItemKind::Call),
        _ => None,
    }
}

fn place(event: &Value) -> Option<u64> {
    count(&event["output_index"])
}

/// The summary of thinking, or without one the thinking itself.
fn thoughts(item: &Value) -> String {
    let text = |part: &Value| part["text"].as_str().unwrap_or_default().to_owned();
    let summary = parts(&item["summary"], text, BLANK_LINE);
    if summary.is_empty() { parts(&item["content"], text, BLANK_LINE) } else { summary }
}

fn parts(list: &Value, text: impl Fn(&Value) -> String, between: &str) -> String {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().map(text).collect::<Vec<_>>().join(between)
}

/// The text of a message's part, or the model's refusal.
fn part_text(part: &Value) -> String {
    let key = if part["type"] == "refusal" { "refusal" } else { "text" };
    part[key].as_str().unwrap_or_default().to_owned()
}

/// Reads the server's token counts; tokens read from and written to the cache are part of `input_tokens`, thinking of `output_tokens`.
fn usage(usage: &Value) -> Option<TokenCounts> {
    let usage = Some(usage).filter(|usage| usage.is_object())?;
    let details = &usage["input_tokens_details"];
    let tokens = |value: &Value| count(value).unwrap_or(0);
    let cached = tokens(&details["cached_tokens"]);
    let written = tokens(&details["cache_write_tokens"]);
    Some(TokenCounts {
        input: tokens(&usage["input_tokens"]).saturating_sub(cached).saturating_sub(written),
        output: tokens(&usage["output_tokens"]),
        cache_read: cached,
        cache_write: written,
        reasoning: Some(tokens(&usage["output_tokens_details"]["reasoning_tokens"])),
        billed: billed(usage),
        ..TokenCounts::default()
    })
}

/// The text of an `error` event; some servers wrap the error.
fn error(event: &Value) -> String {
    if let Some(message) = error_text(&event["error"]) {
        return message;
    }
    let Some(message) = text(event, "message") else { return unnamed_error(event) };
    match &event["code"] {
        Value::Null => message.to_owned(),
        Value::String(code) => format!("Error Code {code}: {message}"),
        code => format!("Error Code {code}: {message}"),
    }
}

/// The text of a failed response.
fn failure(response: &Value) -> String {
    let error = &response["error"];
    if error.is_object() {
        let said = text(error, "message").map_or_else(|| unnamed_error(error), str::to_owned);
        return text(error, "code").map_or(said.clone(), |code| format!("{code}: {said}"));
    }
    match text(&response["incomplete_details"], "reason") {
        Some(reason) => format!("incomplete: {reason}"),
        None => "Unknown error (no error details in response)".to_owned(),
    }
}
