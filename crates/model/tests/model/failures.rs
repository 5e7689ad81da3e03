//! Which errors are overflows, which are transient, and how long to wait before a retry.

use pi_rpc_model::failure::{delay, is_overflow, is_transient_error, overflow_code, overflows};
use pi_rpc_protocol::{AssistantMessage, Dialect, DialectRetry};
use regex_lite::Regex;
use serde_json::json;
use std::time::Duration;

const PI: &DialectRetry = &Dialect::Pi.record().retry;
const PI_1: &DialectRetry = &Dialect::Pi1.record().retry;
const XCSH: &DialectRetry = &Dialect::Xcsh.record().retry;

/// Errors of providers when the context is too long.
const OVERFLOWS: [&str; 50] = [
    "422 `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 2000 `max_new_tokens`",
    r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
    "prompt too long; exceeded max context length by 4 tokens",
    "ValidationException: Input is too long for requested model.",
    "400 Your input exceeds the context window of this model. Please adjust your input and try again.",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "This endpoint's maximum context length is 128000 tokens. However, you requested about 130000 tokens.",
    "prompt token count of 130000 exceeds the limit of 128000",
    "the request exceeds the available context size, try increasing it",
    "tokens to keep from the initial prompt is greater than the context length",
    "invalid params, context window exceeds limit (2013)",
    "Your request exceeded model token limit: 262144",
    "Prompt contains 40000 tokens and is too large for model with 32768 maximum context length",
    "model_context_window_exceeded",
    r#"400 {"error":{"code":"context_length_exceeded"}}"#,
    "Context length exceeded",
    "too many tokens",
    "TOKEN LIMIT EXCEEDED",
    "400 (no body)",
    "400 status code (no body)",
    "413 (no body)",
    "413 status code (no body)",
    "500 prompt is too long",
    "400 Prompt exceeds max length",
    "413 Request too large",
    r#"{"type":"request_too_large"}"#,
    "400 Input length 300000 exceeds the model's maximum context length of 262,144 tokens.",
    "Context window exceeded",
    "The prompt exceeds the maximum allowed input length of 100 tokens",
    "The input (300 tokens) is longer than the model's context length (200 tokens)",
    "Prompt has 9,000 tokens, but the configured context size is 4,096 tokens",
    "400 This model's maximum context length is 131,072 tokens and your request has 140,000 input tokens",
    "400 The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "400 You passed 10005 input tokens and requested 1000 output tokens. However, the model's context length is only 8192 tokens",
    "400 Please reduce the length of the input prompt.",
    "Input prompt (5000 tokens) is too long and exceeds limit of 4096",
    "400 prompt length 5000 exceeds max_model_len 4096",
    "Trying to keep the first 5000 tokens when context the overflows.",
    "The model is loaded with context length of only 4096 tokens, which is not enough",
    "Reached context length of 4096 tokens, but this model does not support mid-generation context overflow",
    "The number of tokens is too large (n_keep: 5000 >= n_ctx: 4096)",
    "the context is full and context shift is disabled",
    "Context size has been exceeded.",
    r#"400 {"error":{"code":"context_overflow","message":"Bad request"}}"#,
    "context_length_overflow",
    "the input length exceeds the context length",
    "400 input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "400 <400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
];

/// Transient errors in every dialect.
const PASSING: [&str; 32] = [
    r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    r#"{"error":{"type":"rate_limit_error"}}"#,
    "Rate limit reached",
    "ratelimit",
    "Too Many Requests",
    "429 status code (no body)",
    "500 Oops",
    "status 502",
    "(503)",
    "504",
    "Service Unavailable",
    "service_unavailable",
    "The server had an error: server_error",
    "Internal error",
    "internal_error",
    "Connection error: example.com: refused",
    "Connection refused",
    "other side closed",
    "TypeError: fetch failed",
    "upstream connect error",
    "disconnect/reset before headers",
    "terminated: the stream ended before the answer was complete",
    "Retry delay: 5 s",
    // A shorter context is no cure for these.
    "429 Too many tokens per minute: limit 30000",
    "Too many tokens, please wait before trying again. 429",
    "Rate limit: your request exceeds the limit of 30000 tokens per min",
    "ThrottlingException 503: too many tokens",
    "ThrottlingException: Slow down",
    "InternalServerException: unexpected",
    "ModelStreamErrorException: the model failed",
    "ModelTimeoutException: too slow",
];

/// Transient errors in xcsh only.
const PASSING_IN_XCSH: [&str; 12] = [
    "Provider returned error",
    "provider_returned_error",
    "Network error",
    "network_error",
    "socket hang up",
    "request timed out",
    "Gateway Timeout",
    "stream stall: nothing came for 60 s",
    "Stream ended before message_start",
    "usage limit reached",
    "You exceeded your current quota",
    "Monthly quota exceeded",
];

/// Further transient errors in pi 1.
const PASSING_IN_PI_1: [&str; 39] = [
    "Connection closed.",
    "read ECONNRESET",
    "connection reset by peer",
    "websocket connection limit reached",
    "server_busy",
    "Our servers are currently busy",
    "This model is currently experiencing high demand",
    "Model is at capacity",
    "524 A timeout occurred",
    "The service is temporarily unavailable",
    "Provider returned an error",
    "exceeded request buffer limit while retrying upstream",
    "unable to forward upstream",
    "Upstream request failed",
    "upstream_stream_read_error",
    "the stream was interrupted",
    "HTTP/2 stream failed",
    "Network error",
    "Connection lost",
    "request to https://api.example.com failed, reason: closed",
    "getaddrinfo",
    "ENOTFOUND",
    "EAI_AGAIN",
    "socket hang up",
    "The socket connection was closed unexpectedly",
    "Request timed out.",
    "Gateway Timeout",
    "WebSocket closed 1006",
    "The stream ended without a result",
    "stream ended before message_stop",
    "http2 request did not get a response",
    "stream disconnected before completion",
    "cut short after the reply had begun",
    "The pending stream has been canceled",
    "You can retry your request",
    "Please retry your request",
    "Try your request again",
    "RESOURCE_EXHAUSTED",
    "subscription_sharing_usage_unavailable",
];

/// Errors that hold until the user's plan allows more, in pi 1.
const LIMITS_IN_PI_1: [&str; 9] = [
    "429 FreeUsageLimitError: upgrade",
    "429 Monthly usage limit reached",
    "429 Your available balance is too low",
    "429 insufficient_quota",
    "429 The team is out of budget",
    "429 Quota exceeded for this month",
    "429 You exceeded your current quota, please check your plan and billing details.",
    "429 subscription_sharing_usage_limit_exceeded",
    r#"429 {"error":{"code":"1308","message":"Usage limit reached for 5 hour"}}"#,
];

/// Errors that are not transient.
const LASTING: [&str; 10] = [
    "400 max_tokens must be <= 8192",
    "",
    r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 50000 > 8192"}}"#,
    "401 Invalid API key",
    "404 model: not found",
    "Request was aborted",
    "An unknown error occurred",
    "refusal",
    "400 a document of more than 1500 pages",
    "the image exceeds 5 MB: 5242880 bytes, maximum 5000000",
];

#[test]
fn overflow_is_recognised_by_words() {
    for text in OVERFLOWS {
        assert!(is_overflow(text), "{text}");
        assert!(is_overflow(&text.to_uppercase()), "{text}");
    }
    for text in PASSING.into_iter().chain(PASSING_IN_XCSH).chain(LASTING) {
        assert!(!is_overflow(text), "{text}");
    }
}

#[test]
fn transient_failure_is_recognised_by_words() {
    for text in PASSING {
        assert!(is_transient_error(text, PI) && is_transient_error(text, XCSH), "{text}");
        assert!(is_transient_error(&text.to_uppercase(), PI), "{text}");
    }
    for text in PASSING_IN_XCSH {
        assert!(!is_transient_error(text, PI) && is_transient_error(text, XCSH), "{text}");
    }
    for text in PASSING.into_iter().chain(PASSING_IN_PI_1) {
        assert!(is_transient_error(text, PI_1), "{text}");
    }
    for text in LIMITS_IN_PI_1 {
        assert!(is_transient_error(text, PI) && !is_transient_error(text, PI_1), "{text}");
    }
    for text in OVERFLOWS.into_iter().chain(LASTING) {
        assert!(!is_transient_error(text, PI_1), "{text}");
        assert!(!is_transient_error(text, PI) && !is_transient_error(text, XCSH), "{text}");
    }
}

#[test]
fn dialect_expressions_all_match() {
    for dialect in Dialect::ALL {
        for expression in dialect.record().retry.also_transient {
            let compiled = Regex::new(&format!("(?i){expression}")).unwrap();
            let mut texts = PASSING_IN_XCSH.iter().chain(&PASSING_IN_PI_1);
            assert!(texts.any(|text| compiled.is_match(text)), "{expression}");
        }
        for expression in dialect.record().retry.never_transient {
            let compiled = Regex::new(&format!("(?i){expression}")).unwrap();
            assert!(LIMITS_IN_PI_1.iter().any(|text| compiled.is_match(text)), "{expression}");
        }
    }
}

#[test]
fn usage_beyond_window_is_overflow() {
    let answer = |reason: &str, error: Option<&str>, input: u64, cached: u64| {
        let mut answer = json!({
            "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
            "usage": {
                "input": input, "output": 900, "cacheRead": cached, "cacheWrite": 900, "totalTokens": 9000,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
            },
            "stopReason": reason, "timestamp": 1,
        });
        answer["errorMessage"] = error.into();
        if error.is_none() {
            answer.as_object_mut().unwrap().remove("errorMessage");
        }
        serde_json::from_value::<AssistantMessage>(answer).unwrap()
    };
    let silent = |input: u64| {
        let mut answer = answer("length", None, input, 0);
        answer.usage.output = 0;
        answer
    };
    for (message, window, expected) in [
        (answer("stop", None, 60, 40), 100, false),
        (answer("stop", None, 60, 41), 100, true),
        (answer("toolUse", None, 101, 0), 100, true),
        (answer("length", None, 101, 0), 100, true),
        (answer("stop", None, 101, 0), 0, false),
        (answer("length", None, 99, 0), 100, false),
        (silent(99), 100, true),
        (silent(98), 100, false),
        (silent(0), 0, false),
        (answer("error", Some("prompt is too long"), 0, 0), 100, true),
        (answer("error", Some("prompt is too long"), 0, 0), 0, true),
        (answer("error", Some("overloaded"), 101, 0), 100, false),
        (answer("error", None, 101, 0), 100, false),
        (answer("aborted", Some("prompt is too long"), 101, 0), 100, false),
    ] {
        assert_eq!(overflows(&message, window), expected, "{message:?} in {window}");
    }
}

#[test]
fn code_may_tell_overflow_alone() {
    for (body, code) in [
        (json!({"error": {"code": "context_overflow", "message": "No."}}), Some("context_overflow")),
        (json!({"type": "context_length_exceeded"}), Some("context_length_exceeded")),
        (json!({"error": {"code": 400, "type": "invalid_request_error"}}), None),
        (json!("context_overflow"), None),
    ] {
        assert_eq!(overflow_code(&body), code, "{body}");
    }
}

#[test]
fn retry_delay_doubles() {
    let millis = Duration::from_millis;
    let waits = |rules| {
        (1..=4).map(|attempt| delay(attempt, 2000, u64::MAX, None, 60_000, rules)).collect::<Vec<_>>()
    };
    let doubled = [2000, 4000, 8000, 16_000].map(|wait| Some(millis(wait)));
    assert_eq!(waits(PI), doubled);
    assert_eq!(waits(XCSH), doubled);
    assert_eq!(delay(9, 2000, u64::MAX, None, 60_000, PI), Some(millis(512_000)));
    assert_eq!(delay(u64::MAX, 2000, u64::MAX, None, 0, PI), Some(millis((1 << 53) - 1)));
    assert_eq!(delay(9, 2000, 60_000, None, 60_000, PI), Some(millis(60_000)));
    assert_eq!(delay(u64::MAX, 0, u64::MAX, None, 0, PI), Some(Duration::ZERO));
}

#[test]
fn stated_delay_depends_on_dialect_and_cap() {
    let millis = Duration::from_millis;
    for (stated, cap, pi, xcsh) in [
        (1000, 60_000, Some(2000), Some(2000)),
        (30_000, 60_000, Some(2000), Some(30_000)),
        (60_000, 60_000, Some(2000), Some(60_000)),
        (60_001, 60_000, None, None),
        (90_000, 0, Some(2000), Some(90_000)),
    ] {
        let wait = |rules| delay(1, 2000, u64::MAX, Some(millis(stated)), cap, rules);
        assert_eq!(
            (wait(PI), wait(XCSH)),
            (pi.map(millis), xcsh.map(millis)),
            "{stated} asked for, {cap} at most"
        );
    }
}
