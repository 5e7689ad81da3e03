//! Reads Mistral's streamed answers: chunks as of OpenAI's chat completions, but content is a text or a list of parts,
//! with thinking among them.

use crate::{
    openai::{ContentHash, content_parts, count, error_text, stopped_with, text, unnamed_error},
    openai_completions::calls::Calls,
    request::Reader,
    sequence::BlockSequencer,
    sse::{NO_STREAM, STREAM_CUT, read},
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::Value;

/// The state of one answer.
#[derive(Debug, Default)]
pub struct AnswerReader {
    out: BlockSequencer,
    /// The open block of text or thinking.
    prose: Option<Prose>,
    calls: Calls,
    finish_reason: Option<String>,
    has_id: bool,
    /// Hash of everything so far, for calls that come without an id.
    content_hash: ContentHash,
}

/// An open block of text or thinking.
#[derive(Clone, Copy, Debug)]
struct Prose {
    index: usize,
    is_thought: bool,
}

impl Reader for AnswerReader {
    fn event(&mut self, _name: &str, data: &str) -> Vec<StreamEvent> {
        if self.out.is_finished() {
            return Vec::new();
        }
        if data.trim() == "[DONE]" {
            self.finish();
            return self.out.take();
        }
        self.content_hash.add(data);
        match read(data) {
            Ok(Some(chunk)) => self.chunk(&chunk),
            Ok(None) => {}
            Err(message) => self.out.fail(message),
        }
        self.out.take()
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            self.finish();
        }
        self.out.take()
    }

    fn refusal(&self, body: &Value) -> Option<String> {
        // Refusals of a body's shape stand in `message` or at the top, depending on what refuses.
        let details = [&body["message"]["detail"], &body["detail"], &body["message"]];
        details.into_iter().find_map(detail_text).or_else(|| error_text(&body["error"]))
    }
}

/// Formats the details of a refusal: a text, or a list of faults with their places.
fn detail_text(detail: &Value) -> Option<String> {
    let fault = |fault: &Value| {
        let message = text(fault, "msg")?;
        let place = fault["loc"].as_array().into_iter().flatten();
        let place: Vec<String> =
            place.map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned)).collect();
        Some(format!("{}: {message}", place.join(".")))
    };
    let text = match detail {
        Value::String(text) => text.clone(),
        Value::Array(faults) => faults.iter().filter_map(fault).collect::<Vec<_>>().join("; "),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

impl AnswerReader {
    fn chunk(&mut self, chunk: &Value) {
        let own = || {
            (chunk["object"] == "error").then(|| self.refusal(chunk).unwrap_or_else(|| unnamed_error(chunk)))
        };
        if let Some(message) = error_text(&chunk["error"]).or_else(own) {
            return self.out.fail(message);
        }
        if let (Some(id), false) = (text(chunk, "id"), self.has_id) {
            self.has_id = true;
            self.out.emit(StreamEvent::ResponseId(id.to_owned()));
        }
        let choice = &chunk["choices"][0];
        if let Some(counts) = usage(&chunk["usage"]).or_else(|| usage(&choice["usage"])) {
            self.out.emit(StreamEvent::Usage(counts));
        }
        if choice["message"].is_object() && !choice["delta"].is_object() && !self.out.has_begun() {
            return self.out.fail(NO_STREAM.to_owned());
        }
        if let Some(reason) = text(choice, "finish_reason") {
            self.finish_reason = Some(reason.to_owned());
        }
        let delta = &choice["delta"];
        for (is_thought, said) in content_parts(&delta["content"]) {
            self.append(is_thought, &said);
        }
        for fragment in delta["tool_calls"].as_array().into_iter().flatten() {
            self.fragment(fragment);
        }
    }

    /// Appends text or thinking. What is empty opens no block: thinking in two blocks would be refused later.
    fn append(&mut self, is_thought: bool, said: &str) {
        if said.is_empty() {
            return;
        }
        let open = self.prose.filter(|prose| prose.is_thought == is_thought);
        let prose = open.unwrap_or_else(|| {
            self.end_prose();
            self.calls.close_for_next_block(&self.content_hash, &mut self.out);
            let block = if is_thought { BlockStart::Thinking } else { BlockStart::Text };
            Prose { index: self.out.open(block), is_thought }
        });
        self.prose = Some(prose);
        self.out.delta(prose.index, said);
    }

    fn fragment(&mut self, fragment: &Value) {
        let mut fragment = fragment.clone();
        // The service writes a missing id as this word.
        if fragment["id"] == "null" {
            fragment["id"] = Value::Null;
        }
        if self.calls.begins(&fragment) {
            self.end_prose();
        }
        self.calls.fragment(&fragment, &self.content_hash, &mut self.out);
    }

    fn end_prose(&mut self) {
        if let Some(prose) = self.prose.take() {
            self.out.end(prose.index, None);
        }
    }

    /// Ends the answer.
    fn finish(&mut self) {
        self.end_prose();
        let word = self.finish_reason.as_deref();
        let finish = match word {
            None => return self.out.fail(STREAM_CUT.to_owned()),
            Some("stop") => Finish::Stop,
            Some("length" | "model_length") => Finish::Length,
            Some("tool_calls") => Finish::ToolUse,
            // A transient failure: `model::failure` retries a text with `server error`.
            Some(word @ "error") => {
                return self.out.fail_for(word, "Provider stopped with: error (server error)".to_owned());
            }
            Some(reason) => return self.out.fail_for(reason, stopped_with(reason, None)),
        };
        self.calls.end(true, &self.content_hash, &mut self.out);
        self.out.finish(finish, word);
    }
}

/// Members with the cached tokens of the prompt, in the order in which they count. Source: pi source.
const CACHED: [&str; 3] =
    ["/prompt_tokens_details/cached_tokens", "/prompt_token_details/cached_tokens", "/num_cached_tokens"];

/// Reads the token counts; cached tokens are part of `prompt_tokens`.
fn usage(usage: &Value) -> Option<TokenCounts> {
    let usage = Some(usage).filter(|usage| usage.is_object())?;
    let cached = CACHED.iter().find_map(|pointer| count(usage.pointer(pointer)?)).unwrap_or(0);
    let count = |key: &str| count(&usage[key]).unwrap_or(0);
    let prompt = count("prompt_tokens");
    let cached = cached.min(prompt);
    Some(TokenCounts {
        input: prompt - cached,
        output: count("completion_tokens"),
        cache_read: cached,
        ..TokenCounts::default()
    })
}
