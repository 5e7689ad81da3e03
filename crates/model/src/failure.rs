//! Classifies failed answers: shorten the context, retry after a delay, or give up.
//!
//! Source: pi source, xcsh source.

use pi_rpc_protocol::{AssistantMessage, DialectRetry, StopReason};
use regex_lite::Regex;
use serde_json::Value;
use std::time::Duration;

/// Providers' texts for a context that is too long: Anthropic, Bedrock, OpenAI, Google, xAI, Groq, OpenRouter,
/// Copilot, llama.cpp, LM Studio, vLLM, TGI, MiniMax, Kimi, Mistral, z.ai, DS4, Qwen, others, and Cerebras, whose errors have
/// no text.
const OVERFLOW: [&str; 41] = [
    "prompt (?:is )?too long",
    "input is too long for requested model",
    "exceeds the context window",
    "input token count.*exceeds the maximum",
    r"maximum prompt length is \d",
    "reduce the length of the (?:input|prompt|messages)",
    r"maximum context length is [\d,]+ tokens",
    r"exceeds the limit of \d",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    r"too large for model with \d+ maximum context length",
    "model_context_window_exceeded",
    "context[_ ]length[_ ]exceeded",
    "too many tokens",
    "token limit exceeded",
    "prompt exceeds max length",
    "request_too_large",
    r"exceeds (?:the )?(?:model'?s )?maximum context length(?: of [\d,]+ tokens?|\s*\([\d,]+\))",
    "context window exceeded",
    r"exceeds (?:the )?maximum allowed input length of [\d,]+ tokens?",
    r"input \(\d+ tokens\) is longer than the model'?s context length",
    r"prompt has [\d,]+ tokens?, but the configured context size is [\d,]+ tokens?",
    "range of input length should be",
    // vLLM.
    "longer than the maximum (?:model|context|input|prompt|sequence) length",
    r"context length is only [\d,]+ tokens",
    r"input prompt \([\d,]+ tokens\) is too long",
    "exceeds? (?:the )?max_model_len",
    // LM Studio and llama.cpp.
    r"keep the first [\d,]+ tokens when ",
    r"context length of only [\d,]+ tokens",
    r"reached (?:the )?context length of [\d,]+",
    r"n_keep.*n_ctx",
    "context shift is disabled",
    r"context[_ ](?:size|length|window|limit) (?:has been |was )?exceeded",
    "context[_ -](?:(?:length|size|window)[_ -])?overflow",
    // Ollama, Anthropic, and others.
    "exceeds? (?:the )?(?:model'?s )?(?:maximum )?context (?:length|limit|size|window)",
    // TGI.
    r"inputs.{0,3} tokens \+ .{0,3}max_new_tokens.{0,3} must be <= [\d,]+",
    r"inputs.{0,3} must have less than [\d,]+ tokens",
    r"^(?:[\w -]+ api error \(413\):|413(?:\s|:|$))",
    r"^400\s*(?:status code)?\s*\(no body\)",
];

/// Providers' texts for too many requests in a short time, which also match [`OVERFLOW`]; a shorter context does not
/// help, though the originals compact then.
const THROTTLED: [&str; 6] = [
    r"^429\b",
    "rate.?limit",
    "too many requests",
    "throttl",
    "please wait",
    r"per[ _-](?:second|sec|minute|min|hour|day)\b",
];

/// Texts of failures that pass by themselves. Words may be joined by a blank or an underscore; numbers match only
/// whole: 5000 is no 500.
const TRANSIENT: [&str; 16] = [
    "overloaded",
    "rate.?limit",
    "too many requests",
    "throttl",
    // Exceptions within a stream of Bedrock, which have no status.
    "server.?exception",
    "model.?(?:stream.?error|timeout|not.?ready).?exception",
    r"\b(?:429|500|502|503|504)\b",
    "service.?unavailable",
    "server.?error",
    "internal.?error",
    "connection.?(?:error|refused)",
    "other side closed",
    "fetch failed",
    "upstream.?connect|reset before headers",
    "terminated",
    "retry delay",
];

/// Longest wait that a frame can hold, in milliseconds.
const LONGEST_MS: u64 = (1 << 53) - 1;

/// Whether an answer failed because the context is longer than the model's `window`, in tokens; or should have
/// failed, as some providers cut the context silently. A window of 0 is unknown.
pub fn overflows(message: &AssistantMessage, window: u64) -> bool {
    match message.stop_reason {
        StopReason::Error => message.error_message.as_deref().is_some_and(is_overflow),
        StopReason::Aborted => false,
        reason => {
            let input = message.usage.input + message.usage.cache_read;
            // Xiaomi cuts the input so that it fills the context, and has no room left for an answer.
            let is_filled = reason == StopReason::Length
                && message.usage.output == 0
                && input.saturating_mul(100) >= window.saturating_mul(99);
            window > 0 && (input > window || is_filled)
        }
    }
}

/// The code in the body of an error that says by itself that the context is too long, where the message may not.
pub fn overflow_code(body: &Value) -> Option<&str> {
    let errors = [&body["error"], body].into_iter();
    let codes = errors.flat_map(|error| ["code", "type", "status"].map(|key| error[key].as_str()));
    codes.flatten().find(|code| is_overflow(code))
}

/// Whether an error's text means that the context is too long.
pub fn is_overflow(error: &str) -> bool {
    matches_any(error, &OVERFLOW) && !matches_any(error, &THROTTLED)
}

/// Whether an error's text means a failure that passes by itself, so that a retry may succeed.
pub fn is_transient_error(error: &str, rules: &DialectRetry) -> bool {
    !is_overflow(error)
        && !matches_any(error, rules.never_transient)
        && (matches_any(error, &TRANSIENT) || matches_any(error, rules.also_transient))
}

/// The wait before retry number `attempt`, counted from 1; `None`: do not retry.
///
/// The wait is `base_ms` milliseconds before the first retry, doubled for each further one up to `longest_ms`; in
/// dialects that respect `stated`, at least as long as the provider asks for. A provider that asks for more than `cap_ms` milliseconds is
/// not asked again; a cap of 0 is none.
pub fn delay(
    attempt: u64,
    base_ms: u64,
    longest_ms: u64,
    stated: Option<Duration>,
    cap_ms: u64,
    rules: &DialectRetry,
) -> Option<Duration> {
    let stated = stated.unwrap_or_default();
    if cap_ms > 0 && stated > Duration::from_millis(cap_ms) {
        return None;
    }
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let own = Duration::from_millis(base_ms.saturating_mul(2_u64.saturating_pow(doublings)).min(longest_ms));
    let wait = if rules.heeds_stated_wait { own.max(stated) } else { own };
    Some(wait.min(Duration::from_millis(LONGEST_MS)))
}

/// Whether one of `patterns` matches in `text`, in any case.
fn matches_any(text: &str, patterns: &[&str]) -> bool {
    patterns
        .iter()
        .any(|pattern| Regex::new(&format!("(?i){pattern}")).is_ok_and(|pattern| pattern.is_match(text)))
}
