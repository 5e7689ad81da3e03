//! Reads a streamed answer of the Gemini API: chunks with the newest parts.
//!
//! The stream has no last event, as a reason to stop may come in several chunks. The answer is complete if a reason has come when
//! the stream ends.

use crate::{
    openai::{ContentHash, count, stopped_with, text, unnamed_error},
    request::Reader,
    sequence::BlockSequencer,
    sse::{STREAM_CUT, read},
    types::{BlockStart, Finish, StreamEvent, TokenCounts},
};
use serde_json::Value;
use std::{collections::HashSet, time::Duration};

/// The state of one answer.
#[derive(Debug, Default)]
pub struct AnswerReader {
    out: BlockSequencer,
    /// The open block of text or thinking, if there is one.
    prose: Option<Prose>,
    /// The ids of the calls so far.
    call_ids: HashSet<String>,
    finish_reason: Option<String>,
    /// Why the provider stopped, in more words.
    finish_details: Option<String>,
    has_id: bool,
    /// Hash of the events so far, for ids of calls that come without one.
    content_hash: ContentHash,
}

/// A block of text or thinking.
#[derive(Debug)]
struct Prose {
    index: usize,
    is_thought: bool,
    /// The latest signature of its parts.
    signature: Option<String>,
}

impl Reader for AnswerReader {
    fn event(&mut self, _name: &str, data: &str) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            self.content_hash.add(data);
            match read(data) {
                Ok(Some(chunk)) => self.chunk(&chunk),
                Ok(None) => {}
                Err(message) => self.out.fail(message),
            }
        }
        self.out.take()
    }

    fn end(&mut self) -> Vec<StreamEvent> {
        if !self.out.is_finished() {
            self.finish();
        }
        self.out.take()
    }

    fn is_complete(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn refusal(&self, body: &Value) -> Option<String> {
        let error = error_of(body);
        let message = text(error, "message")?;
        Some(text(error, "status").map_or(message.to_owned(), |status| format!("{status}: {message}")))
    }

    fn retry_after(&self, body: &Value) -> Option<Duration> {
        let details = error_of(body)["details"].as_array()?;
        let delay = details.iter().find_map(|detail| text(detail, "retryDelay"))?;
        Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
    }
}

/// The error object of a body, which may be in a list.
fn error_of(body: &Value) -> &Value {
    let body = body.as_array().and_then(|bodies| bodies.first()).unwrap_or(body);
    &body["error"]
}

impl AnswerReader {
    fn chunk(&mut self, chunk: &Value) {
        if chunk["error"].is_object() {
            let message = self.refusal(chunk).unwrap_or_else(|| unnamed_error(&chunk["error"]));
            let code = count(&chunk["error"]["code"]);
            return self.out.fail(code.map_or(message.clone(), |code| format!("{code} {message}")));
        }
        if let (Some(id), false) = (text(chunk, "responseId"), self.has_id) {
            self.has_id = true;
            self.out.emit(StreamEvent::ResponseId(id.to_owned()));
        }
        if let Some(counts) = usage(&chunk["usageMetadata"]) {
            self.out.emit(StreamEvent::Usage(counts));
        }
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part);
        }
        if let Some(reason) = text(candidate, "finishReason") {
            self.finish_reason = Some(reason.to_owned());
            self.finish_details = text(candidate, "finishMessage").map(str::to_owned);
            self.finish_details = self.finish_details.take().or_else(|| blocked_for(candidate));
        }
        let feedback = &chunk["promptFeedback"];
        if let Some(reason) = text(feedback, "blockReason") {
            let details = text(feedback, "blockReasonMessage").map(str::to_owned);
            let details = details.or_else(|| blocked_for(feedback)).map(|details| format!(": {details}"));
            self.out
                .fail(format!("The provider blocked the prompt: {reason}{}", details.unwrap_or_default()));
        }
    }

    fn part(&mut self, part: &Value) {
        let signature = text(part, "thoughtSignature");
        if part["functionCall"].is_object() {
            return self.call(&part["functionCall"], signature);
        }
        // A signature may come in a part of its own, with an empty text or without one.
        let more = part["text"].as_str().or(signature.map(|_| ""));
        let Some(more) = more.filter(|more| !more.is_empty() || signature.is_some()) else { return };
        let is_thought = part["thought"] == true;
        if self.prose.as_ref().is_none_or(|prose| prose.is_thought != is_thought) {
            self.end_prose();
            let block = if is_thought { BlockStart::Thinking } else { BlockStart::Text };
            let index = self.out.open(block);
            self.prose = Some(Prose { index, is_thought, signature: None });
        }
        let Some(prose) = &mut self.prose else { return };
        if !more.is_empty() {
            self.out.delta(prose.index, more);
        }
        if let Some(signature) = signature {
            prose.signature = Some(signature.to_owned());
        }
    }

    /// Adds a call, which is complete in one part. Arguments in pieces are not asked for: a call that has them is not
    /// ended, and they stand there as they came, so that it does not run.
    fn call(&mut self, call: &Value, signature: Option<&str>) {
        self.end_prose();
        let own = text(call, "id").filter(|id| !self.call_ids.contains(*id)).map(str::to_owned);
        let made = || format!("call_{}_{}", self.content_hash.digits(), self.call_ids.len());
        let id = own.unwrap_or_else(made);
        self.call_ids.insert(id.clone());
        let name = text(call, "name").unwrap_or_default().to_owned();
        let index = self.out.open(BlockStart::ToolCall { id, name });
        let pieces = &call["partialArgs"];
        let arguments = match &call["args"] {
            _ if !pieces.is_null() => pieces.to_string(),
            _ if call["willContinue"] == true => return,
            Value::Null => "{}".to_owned(),
            arguments => arguments.to_string(),
        };
        self.out.delta(index, &arguments);
        self.out.end(index, signature.map(str::to_owned));
    }

    fn end_prose(&mut self) {
        if let Some(prose) = self.prose.take() {
            self.out.end(prose.index, prose.signature);
        }
    }

    /// Handles the end of the stream.
    fn finish(&mut self) {
        self.end_prose();
        let finish = match self.finish_reason.as_deref() {
            None => return self.out.fail(STREAM_CUT.to_owned()),
            Some("STOP") if self.call_ids.is_empty() => Finish::Stop,
            Some("STOP") => Finish::ToolUse,
            Some("MAX_TOKENS" | "CONTINUATION") => Finish::Length,
            Some(reason) => {
                let message = stopped_with(reason, self.finish_details.as_deref());
                return self.out.fail_for(reason, message);
            }
        };
        self.out.finish(finish, self.finish_reason.as_deref());
    }
}

/// The categories for which a prompt or an answer was blocked; `None`: none is named.
fn blocked_for(judged: &Value) -> Option<String> {
    let ratings = judged["safetyRatings"].as_array().into_iter().flatten();
    let blocked = ratings.filter(|rating| rating["blocked"] == true);
    let categories: Vec<&str> = blocked.filter_map(|rating| text(rating, "category")).collect();
    (!categories.is_empty()).then(|| categories.join(", "))
}

/// Converts the vendor's counts, where the prompt includes cached tokens and the answer does not include thoughts.
fn usage(usage: &Value) -> Option<TokenCounts> {
    let usage = Some(usage).filter(|usage| usage.is_object())?;
    let count = |key: &str| count(&usage[key]).unwrap_or(0);
    let (cached, thoughts) = (count("cachedContentTokenCount"), count("thoughtsTokenCount"));
    Some(TokenCounts {
        input: count("promptTokenCount").saturating_sub(cached),
        output: count("candidatesTokenCount").saturating_add(thoughts),
        cache_read: cached,
        reasoning: Some(thoughts),
        ..TokenCounts::default()
    })
}
