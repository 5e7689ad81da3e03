//! Reads streamed answers of Chat Completions.
//!
//! Servers differ most in tool calls. A fragment belongs to the call of its `index` or `id`, else to the latest. A
//! call is emitted once its arguments begin, because its name may come in pieces until then; it ends when another
//! block begins, or, if its arguments are incomplete by then, when they are complete. Later blocks wait.

use super::{calls::Calls, messages::THINKING_KEYS, reasoning_details::ReasoningDetails};
use crate::{
    openai::{ContentHash, content_parts, count, error_text, text, unnamed_error},
    openrouter_cost::billed,
    request::Reader,
    sequence::BlockSequencer,
    sse::{NO_STREAM, STREAM_CUT, read, shorten},
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::Value;
use std::time::SystemTime;

/// The state of one answer.
#[derive(Debug, Default)]
pub struct AnswerReader {
    /// Whether the server gives a reason for the end of an answer.
    gives_reason: bool,
    out: BlockSequencer,
    /// The open block of thinking.
    thinking: Option<OpenThinking>,
    /// The open block of text, which waits while thinking is open.
    text: Option<usize>,
    /// Index of the first block of thinking.
    first_thinking: Option<usize>,
    details: ReasoningDetails,
    calls: Calls,
    finish_reason: Option<String>,
    /// What else the server says of the reason.
    finish_details: Option<String>,
    has_id: bool,
    /// Hash of everything so far, for calls that come without an id.
    content_hash: ContentHash,
}

/// An open block of thinking, and the key under which it came; `None`: only as details.
#[derive(Clone, Copy, Debug)]
struct OpenThinking {
    index: usize,
    key: Option<&'static str>,
}

/// Z.ai's code for a plan that is used up; its text may not say so.
const PLAN_USED_UP: &str = "1308";

/// Error of an answer that ends as a whole one does, but without `finish_reason`.
const NO_FINISH_REASON: &str = "terminated: the answer ended without finish_reason \
    (for a server that never sends one, set compat.supportsFinishReason of the model to false)";

impl Reader for AnswerReader {
    fn event(&mut self, name: &str, data: &str) -> Vec<StreamEvent> {
        if self.out.is_finished() {
            return Vec::new();
        }
        if data.trim() == "[DONE]" {
            self.finish();
            return self.out.take();
        }
        self.content_hash.add(data);
        match read(data) {
            Ok(Some(chunk)) => self.chunk(name, &chunk),
            Ok(None) => {}
            Err(message) => self.out.fail(message),
        }
        self.out.take()
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            match self.finish_reason.is_some() || !self.gives_reason {
                true => self.finish(),
                false => self.out.fail(STREAM_CUT.to_owned()),
            }
        }
        self.out.take()
    }

    fn refusal(&self, body: &Value) -> Option<String> {
        error_text(&body["error"])
    }

    fn usage_limit(&self, body: &Value, _now: SystemTime) -> Option<String> {
        let code = &body["error"]["code"];
        let is_limit =
            code == PLAN_USED_UP || count(code).is_some_and(|code| code.to_string() == PLAN_USED_UP);
        error_text(&body["error"]).filter(|_| is_limit)
    }
}

impl AnswerReader {
    /// Creates the reader; `gives_reason`: an answer without `finish_reason` has failed.
    pub fn new(gives_reason: bool) -> Self {
        Self { gives_reason, ..Self::default() }
    }

    fn chunk(&mut self, name: &str, chunk: &Value) {
        let own = (name == "error").then(|| error_text(chunk).unwrap_or_else(|| unnamed_error(chunk)));
        let choice = &chunk["choices"][0];
        let given = [&chunk["error"], &choice["error"], &chunk["x_groq"]["error"]];
        if let Some(message) = given.into_iter().find_map(error_text).or(own) {
            return self.out.fail(message);
        }
        if let (Some(id), false) = (text(chunk, "id"), self.has_id) {
            self.has_id = true;
            self.out.emit(StreamEvent::ResponseId(id.to_owned()));
            if let Some(model) = text(chunk, "model") {
                self.out.emit(StreamEvent::Model(model.to_owned()));
            }
        }
        // Groq, Moonshot and others have places of their own.
        let places =
            [&chunk["usage"], &choice["usage"], &chunk["x_groq"]["usage"], &choice["delta"]["usage"]];
        if let Some(counts) = places.into_iter().find_map(usage) {
            self.out.emit(StreamEvent::Usage(counts));
        }
        if choice["message"].is_object() && !choice["delta"].is_object() && !self.out.has_begun() {
            return self.out.fail(NO_STREAM.to_owned());
        }
        if let Some(reason) = text(choice, "finish_reason") {
            self.finish_reason = Some(reason.to_owned());
            self.finish_details = finish_details(choice, reason);
        }
        self.delta(&choice["delta"]);
    }

    /// Reads thinking first: servers that join pieces put both into one delta, and thinking precedes the text.
    fn delta(&mut self, delta: &Value) {
        let thought = THINKING_KEYS.iter().find_map(|key| Some((*key, text(delta, key)?)));
        if let Some((key, thought)) = thought {
            let index = self.thinking_block(Some(key));
            self.out.delta(index, thought);
        }
        for detail in list(&delta["reasoning_details"]) {
            self.detail(detail);
        }
        let mut has_thought = thought.is_some();
        let parts = [&delta["content"], &delta["refusal"]].into_iter().flat_map(content_parts);
        for (is_thought, fragment) in parts.filter(|(_, fragment)| !fragment.is_empty()) {
            let index = if is_thought {
                has_thought = true;
                self.thinking_block(None)
            } else {
                if !has_thought {
                    self.end_thinking();
                }
                self.text.unwrap_or_else(|| self.open_text())
            };
            self.out.delta(index, &fragment);
        }
        for fragment in list(&delta["tool_calls"]) {
            if self.calls.begins(fragment) {
                self.end_prose();
            }
            self.calls.fragment(fragment, &self.content_hash, &mut self.out);
        }
    }

    /// Keeps a detail of thinking for the end of the answer, with a block that it can sign. One in the midst of a text
    /// does not part it.
    fn detail(&mut self, detail: &Value) {
        let Some(size) = self.details.add(detail) else { return };
        self.out.count_bytes(size);
        if self.first_thinking.is_none() && self.text.is_none() {
            self.thinking_block(None);
        }
    }

    /// The open block of thinking, opened if there is none, with `key` as its signature.
    fn thinking_block(&mut self, key: Option<&'static str>) -> usize {
        let open = self.thinking.take().unwrap_or_else(|| {
            self.end_prose();
            self.calls.close_for_next_block(&self.content_hash, &mut self.out);
            OpenThinking { index: self.out.open(BlockStart::Thinking), key: None }
        });
        self.first_thinking.get_or_insert(open.index);
        if let (None, Some(key)) = (open.key, key) {
            self.out.sign(open.index, key.to_owned());
        }
        self.thinking = Some(OpenThinking { key: open.key.or(key), ..open });
        open.index
    }

    fn open_text(&mut self) -> usize {
        self.calls.close_for_next_block(&self.content_hash, &mut self.out);
        let index = self.out.open(BlockStart::Text);
        self.text = Some(index);
        index
    }

    fn end_thinking(&mut self) {
        if let Some(thinking) = self.thinking.take() {
            self.out.end(thinking.index, thinking.key.map(str::to_owned));
        }
    }

    fn end_prose(&mut self) {
        self.end_thinking();
        if let Some(index) = self.text.take() {
            self.out.end(index, None);
            if self.first_thinking.is_none() && !self.details.is_empty() {
                self.thinking_block(None);
                self.end_thinking();
            }
        }
    }

    /// Ends the answer.
    fn finish(&mut self) {
        self.end_prose();
        let word = self.finish_reason.as_deref();
        if word.is_none() && self.gives_reason {
            return self.out.fail(NO_FINISH_REASON.to_owned());
        }
        // The reason ends the calls; without one, those that have not told their arguments stay unclosed.
        let has_calls = self.calls.end(word.is_some(), &self.content_hash, &mut self.out);
        if let Some((index, signature)) = self.first_thinking.zip(self.details.signature()) {
            self.out.sign(index, signature);
        }
        match word {
            None if has_calls => self.out.finish(Finish::ToolUse, word),
            None | Some("stop" | "end") => self.out.finish(Finish::Stop, word),
            Some("length") => self.out.finish(Finish::Length, word),
            Some("tool_calls" | "function_call") => self.out.finish(Finish::ToolUse, word),
            Some(reason) => {
                let details = self.finish_details.take().map(|details| format!(" ({details})"));
                let details = details.unwrap_or_default();
                let message = format!("Provider finish_reason: {reason}{details}");
                self.out.fail_for(reason, message);
            }
        }
    }
}

/// What a server says beside the reason for the end: the vendor's own reason behind a gateway, or what its filter found.
fn finish_details(choice: &Value, reason: &str) -> Option<String> {
    let native = text(choice, "native_finish_reason").filter(|native| *native != reason);
    let found = choice["content_filter_results"].as_object().into_iter().flatten();
    let found = found.filter(|(_, result)| result["filtered"] == true).map(|(category, _)| category.as_str());
    let all: Vec<&str> = native.into_iter().chain(found).collect();
    (!all.is_empty()).then(|| shorten(&all.join(", ")))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Reads the server's token counts; cached tokens are part of `prompt_tokens`.
fn usage(usage: &Value) -> Option<TokenCounts> {
    let usage = Some(usage).filter(|usage| usage.is_object())?;
    let prompt = count(&usage["prompt_tokens"]).unwrap_or(0);
    let completion = count(&usage["completion_tokens"]).unwrap_or(0);
    let cached = count(&usage["prompt_tokens_details"]["cached_tokens"])
        .or_else(|| count(&usage["prompt_cache_hit_tokens"]))
        .or_else(|| count(&usage["cached_tokens"]))
        .unwrap_or(0);
    let written = count(&usage["prompt_tokens_details"]["cache_write_tokens"]).unwrap_or(0);
    let reasoning = count(&usage["completion_tokens_details"]["reasoning_tokens"])
        .filter(|tokens| *tokens > 0)
        // Of GitHub Copilot.
        .or_else(|| count(&usage["reasoning_tokens"]))
        .unwrap_or(0);
    // Some servers count reasoning beside the completion; the total shows it.
    let total = count(&usage["total_tokens"]);
    let beside = total.is_some_and(|total| total > prompt.saturating_add(completion));
    Some(TokenCounts {
        input: prompt.saturating_sub(cached).saturating_sub(written),
        output: if beside { completion.saturating_add(reasoning) } else { completion },
        cache_read: cached,
        cache_write: written,
        reasoning: Some(reasoning),
        billed: billed(usage),
        ..TokenCounts::default()
    })
}
