//! How full a context is, and when it is too full.

use crate::compaction_support::{self, path};
use pi_rpc_protocol::{AgentMessage, Dialect};
use pi_rpc_session::compaction::{PathEntry, context_tokens, estimate, is_full};
use serde_json::{Value, json};
use std::sync::Arc;

/// More would be read back from no file.
#[test]
fn tokens_are_capped_at_frame_limit() {
    const MOST: u64 = (1 << 53) - 1;
    let mut answer = compaction_support::answer("12345", &[], 0, false);
    for counts in [&["totalTokens"][..], &["input", "output", "cacheRead", "cacheWrite"]] {
        for key in counts {
            answer["usage"][*key] = MOST.into();
        }
        let message = |value: Value| Arc::new(serde_json::from_value::<AgentMessage>(value).unwrap());
        let asked = json!({ "role": "user", "content": "12345", "timestamp": 1 });
        assert_eq!(context_tokens(&[message(answer.clone()), message(asked)], 0), MOST, "{counts:?}");
        answer["usage"]["totalTokens"] = 0.into();
    }
}

#[test]
fn message_tokens_are_quarter_of_characters() {
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let text = json!({ "type": "text", "text": "12345" });
    let both = json!([text, image]);
    let content = |role: &str, content: &Value| json!({ "role": role, "content": content, "timestamp": 1 });
    let custom = |role: &str| json!({ "role": role, "customType": "a name", "content": both, "display": false, "timestamp": 1 });
    let mut answer = compaction_support::answer("12345", &["a call"], 0, false);
    answer["content"].as_array_mut().unwrap().extend([
        json!({ "type": "thinking", "thinking": "123", "thinkingSignature": "not weighed" }),
        json!({ "type": "redactedThinking", "data": "not weighed" }),
        json!({ "type": "toolCall", "id": "i", "name": "read", "arguments": { "path": "é\n" } }),
    ]);
    let ran = |role: &str, what: &str| json!({ "role": role, what: "123", "output": "45", "cancelled": false, "truncated": false, "timestamp": 1 });
    for (message, tokens) in [
        (content("user", &json!("")), 0),
        (content("user", &json!("1")), 1),
        (content("user", &json!("1234")), 1),
        (content("user", &json!("éñ€5")), 1),
        // Two units each.
        (content("user", &json!("😀😀5")), 2),
        (content("user", &both), 2),
        (content("developer", &both), 1202),
        (custom("custom"), 1202),
        (custom("hookMessage"), 1202),
        (
            json!({ "role": "toolResult", "toolCallId": "i", "toolName": "t", "content": both, "isError": false,
                 "timestamp": 1 }),
            1202,
        ),
        // The texts, t{} and read{"path":"é\n"}, whose line feed is written as two characters: 5 + 3 + 3 + 18.
        (answer, 8),
        (ran("bashExecution", "command"), 2),
        (ran("pythonExecution", "code"), 2),
        (json!({ "role": "branchSummary", "summary": "12345", "fromId": "e", "timestamp": 1 }), 2),
        (json!({ "role": "compactionSummary", "summary": "12345", "tokensBefore": 9, "timestamp": 1 }), 2),
        (
            json!({ "role": "fileMention", "timestamp": 1, "files": [
            { "path": "p", "content": "12345" }, { "path": "p", "content": "", "image": image },
        ] }),
            1202,
        ),
    ] {
        let read: AgentMessage = serde_json::from_value(message.clone()).unwrap();
        assert_eq!(estimate(&read), tokens, "{message}");
    }
}

#[test]
fn provider_count_covers_earlier_messages() {
    for (line, compacted, tokens) in [
        ("", 0, 0),
        ("u10 a10", 0, 20),
        ("u10 a10=900", 0, 900),
        ("u10 a10=900 u10 a10=800 u5", 0, 805),
        // A failed answer counts nothing, and is there.
        ("u10 a10=900 u10 a10=1!", 0, 920),
        ("u10 a10=1!", 0, 20),
        // Before the last compaction there was more.
        ("u10 a10=900", 2, 20),
        ("u10 a10=900 u10 a10", 2, 40),
        ("u10 a10=900 u10 a10=70 u1", 2, 71),
    ] {
        let messages: Vec<_> = path(line).iter().filter_map(PathEntry::message).cloned().collect();
        assert_eq!(context_tokens(&messages, compacted), tokens, "{line}, {compacted} of them old");
    }
    let mut answer = compaction_support::answer("", &[], 0, false);
    answer["usage"] = json!({
        "input": 1, "output": 20, "cacheRead": 300, "cacheWrite": 4000, "totalTokens": 0,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
    });
    let read = |answer: &Value| std::sync::Arc::new(serde_json::from_value(answer.clone()).unwrap());
    assert_eq!(context_tokens(&[read(&answer)], 0), 4321);
    answer["stopReason"] = json!("aborted");
    assert_eq!(context_tokens(&[read(&answer)], 0), 0);
}

#[test]
fn context_without_free_reserve_is_full() {
    for (dialect, tokens, window, reserve, full) in [
        (Dialect::Pi, 183_616, 200_000, 16_384, false),
        (Dialect::Pi, 183_617, 200_000, 16_384, true),
        (Dialect::Pi, 1, 8_000, 16_384, true),
        (Dialect::Pi, 0, 8_000, 16_384, false),
        (Dialect::Pi, 1_000_000, 0, 16_384, false),
        // Fifteen percent, where that is more.
        (Dialect::Xcsh, 170_000, 200_000, 16_384, false),
        (Dialect::Xcsh, 170_001, 200_000, 16_384, true),
        (Dialect::Xcsh, 83_616, 100_000, 16_384, false),
        (Dialect::Xcsh, 83_617, 100_000, 16_384, true),
        // Rounded down: 18 of 123.
        (Dialect::Xcsh, 105, 123, 0, false),
        (Dialect::Xcsh, 106, 123, 0, true),
        (Dialect::Xcsh, 1_000_000, 0, 16_384, false),
        (Dialect::Xcsh, u64::MAX, u64::MAX, u64::MAX, true),
    ] {
        let found = is_full(tokens, window, reserve, &dialect.record().compaction);
        assert_eq!(found, full, "{dialect}: {tokens} of {window}, {reserve} kept free");
    }
}
