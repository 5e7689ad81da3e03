//! Builds requests to Anthropic Messages.

use crate::{
    model::{
        convert::{AssistantTurn, CallResult, ChatBlock, ChatPart, ChatTurn, SEE_IMAGE, convert, plain_id},
        request::{Endpoint, HttpRequest, ModelRequest},
        types::ToolSpec,
    },
    protocol::{ImageContent, JsonObject, ThinkingLevel},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Builds the request to `{baseUrl}/v1/messages`.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let base = request.endpoint.model.base_url.trim_end_matches('/');
    HttpRequest {
        url: format!("{base}/v1/messages"),
        headers: headers(request),
        body: body(request),
        signing: None,
    }
}

/// Marks keys that are a subscription's tokens, which go into other headers.
const SUBSCRIPTION_TOKEN: &str = "sk-ant-oat";

/// The first instruction of requests with a subscription's token: the vendor refuses them without exactly this
/// sentence in a block of its own. The real instructions follow in the next block.
const SUBSCRIPTION_SYSTEM: &str = "You are Claude Code, Anthropic's official CLI for Claude.";

fn has_subscription(request: &ModelRequest<'_>) -> bool {
    request.credentials.key.as_deref().is_some_and(|key| key.contains(SUBSCRIPTION_TOKEN))
}

fn headers(request: &ModelRequest<'_>) -> Vec<(String, String)> {
    let subscription = has_subscription(request);
    let mut betas = Vec::new();
    if subscription {
        betas.extend(["claude-code-20250219", "oauth-2025-04-20"]);
    }
    betas.push("fine-grained-tool-streaming-2025-05-14");
    if !request.endpoint.adaptive {
        betas.push("interleaved-thinking-2025-05-14");
    }
    let mut headers = vec![
        ("accept".to_owned(), "application/json".to_owned()),
        ("content-type".to_owned(), "application/json".to_owned()),
        ("anthropic-version".to_owned(), "2023-06-01".to_owned()),
        ("anthropic-dangerous-direct-browser-access".to_owned(), "true".to_owned()),
        ("anthropic-beta".to_owned(), betas.join(",")),
    ];
    if subscription {
        headers.push(("x-app".to_owned(), "cli".to_owned()));
    }
    match &request.credentials.key {
        Some(key) if subscription || request.credentials.bearer => {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        Some(key) => headers.push(("x-api-key".to_owned(), key.clone())),
        None => {}
    }
    request.credentials.add_headers(&mut headers);
    headers
}

fn body(request: &ModelRequest<'_>) -> Value {
    let model = &request.endpoint.model;
    let (max_tokens, thinking) = thinking(request);
    let mut body = json!({
        "model": model.id,
        "messages": messages(request),
        "max_tokens": max_tokens,
        "stream": true,
    });
    let mut set = |key: &str, value: Value| body[key] = value;
    let mut system = Vec::new();
    if has_subscription(request) {
        system.push(SUBSCRIPTION_SYSTEM);
    }
    // The vendor refuses blank texts.
    if !request.system_prompt.trim().is_empty() {
        system.push(request.system_prompt);
    }
    if !system.is_empty() {
        let cache = cache_control(request);
        let block = |text| json!({ "type": "text", "text": text, "cache_control": cache });
        set("system", system.into_iter().map(block).collect());
    }
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
    }
    // The vendor refuses a forced tool while the model thinks.
    if let (Thinking::None, Some(name)) = (&thinking, request.forced()) {
        set("tool_choice", json!({ "type": "tool", "name": name }));
    }
    match thinking {
        Thinking::None => {}
        Thinking::Adaptive(effort) => {
            set("thinking", json!({ "type": "adaptive" }));
            set("output_config", json!({ "effort": effort }));
        }
        Thinking::Budget(tokens) => {
            set("thinking", json!({ "type": "enabled", "budget_tokens": tokens }));
        }
    }
    body
}

enum Thinking<'a> {
    None,
    Adaptive(&'a str),
    Budget(u64),
}

/// Tokens that the answer keeps when thinking would take all.
const ANSWER_TOKENS: u64 = 1024;
/// Smallest budget that the vendor accepts; a smaller model answers without thinking.
const LEAST_BUDGET: u64 = 1024;

/// Decides `max_tokens`, which includes thinking, and how to think.
fn thinking<'a>(request: &ModelRequest<'a>) -> (u64, Thinking<'a>) {
    let Endpoint { model, adaptive, efforts, .. } = request.endpoint;
    let usual = request.answer_tokens();
    if !model.reasoning || request.level == ThinkingLevel::Off {
        return (usual, Thinking::None);
    }
    if *adaptive {
        return (usual, Thinking::Adaptive(effort(request.level, &model.id, efforts)));
    }
    let mut budget = budget(request.level, &request.options.budgets);
    let most = usual.saturating_add(budget).min(model.max_tokens);
    if most <= budget {
        budget = most.saturating_sub(ANSWER_TOKENS);
    }
    if budget < LEAST_BUDGET {
        return (usual, Thinking::None);
    }
    (most, Thinking::Budget(budget))
}

fn effort<'a>(level: ThinkingLevel, model: &str, efforts: &'a BTreeMap<ThinkingLevel, String>) -> &'a str {
    match (efforts.get(&level), level) {
        (Some(word), _) => word,
        (None, ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low) => "low",
        (None, ThinkingLevel::Medium) => "medium",
        (None, ThinkingLevel::Xhigh | ThinkingLevel::Max) if model.contains("opus") => "max",
        (None, ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max) => "high",
    }
}

/// The budget of a level in tokens; `xhigh` and `max` have that of `high`.
fn budget(level: ThinkingLevel, budgets: &BTreeMap<ThinkingLevel, u64>) -> u64 {
    let (level, usual) = match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => (ThinkingLevel::Minimal, 1024),
        ThinkingLevel::Low => (ThinkingLevel::Low, 2048),
        ThinkingLevel::Medium => (ThinkingLevel::Medium, 8192),
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => (ThinkingLevel::High, 16384),
    };
    budgets.get(&level).copied().unwrap_or(usual)
}

/// The mark up to which the vendor caches the conversation.
fn cache_control(request: &ModelRequest<'_>) -> Value {
    let base = &request.endpoint.model.base_url;
    let host = base.split_once("://").map_or(base.as_str(), |(_, rest)| rest);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    // Only the vendor's own service is known to accept the longer time.
    match request.options.caches_long && host == "api.anthropic.com" {
        true => json!({ "type": "ephemeral", "ttl": "1h" }),
        false => json!({ "type": "ephemeral" }),
    }
}

fn tool(tool: &ToolSpec) -> Value {
    let member = |key: &str, missing: Value| tool.parameters.get(key).cloned().unwrap_or(missing);
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": {
            "type": "object",
            "properties": member("properties", json!({})),
            "required": member("required", json!([])),
        },
    })
}

fn messages(request: &ModelRequest<'_>) -> Vec<Value> {
    let mut messages = Vec::new();
    let mut say = |role: &str, content: Vec<Value>| {
        if !content.is_empty() {
            messages.push(json!({ "role": role, "content": content }));
        }
    };
    for turn in convert(request, |id, _| plain_id(id, ID_LIMIT)) {
        match turn {
            // The API has no role for the agent's remarks.
            ChatTurn::User(parts) | ChatTurn::Developer(parts) => say("user", blocks(&parts)),
            ChatTurn::Assistant(turn) => {
                say("assistant", turn.blocks.iter().filter_map(block).collect());
                say("user", results(&turn));
            }
        }
    }
    if let Some(last) = messages.last_mut()
        && last["role"] == "user"
        && let Some(block) = last["content"].as_array_mut().and_then(|content| content.last_mut())
    {
        block["cache_control"] = cache_control(request);
    }
    messages
}

/// Longest call id that the vendor accepts, in characters.
const ID_LIMIT: usize = 64;

/// Converts a block of an answer; `None`: a blank text, which the vendor refuses.
fn block(block: &ChatBlock<'_>) -> Option<Value> {
    let text = |text: &str| (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }));
    match block {
        ChatBlock::Text { text: content, .. } | ChatBlock::Thinking { text: content, signature: None } => {
            text(content)
        }
        ChatBlock::Thinking { text, signature: Some(signature) } => {
            Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
        }
        ChatBlock::Redacted { data } => Some(json!({ "type": "redacted_thinking", "data": data })),
        ChatBlock::Call { id, name, arguments, .. } => Some(tool_use(id, name, arguments)),
    }
}

fn tool_use(id: &str, name: &str, input: &JsonObject) -> Value {
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

/// Converts texts and images; blank texts are left out.
fn blocks(parts: &[ChatPart<'_>]) -> Vec<Value> {
    let block = |part: &ChatPart<'_>| match part {
        ChatPart::Text(text) if text.trim().is_empty() => None,
        ChatPart::Text(text) => Some(json!({ "type": "text", "text": text })),
        ChatPart::Image(found) => Some(image(found)),
    };
    parts.iter().filter_map(block).collect()
}

fn image(image: &ImageContent) -> Value {
    json!({
        "type": "image",
        "source": { "type": "base64", "media_type": image.mime_type, "data": image.data },
    })
}

/// Converts all results of a turn, then the images of failed ones, which the vendor accepts as text only.
fn results(turn: &AssistantTurn<'_>) -> Vec<Value> {
    let mut content: Vec<Value> = turn.results.iter().map(result).collect();
    for result in turn.results.iter().filter(|result| result.is_error) {
        let images: Vec<Value> = images(&result.content).map(image).collect();
        if !images.is_empty() {
            let caption = format!("Images of the failed call of {}:", result.name);
            content.push(json!({ "type": "text", "text": caption }));
            content.extend(images);
        }
    }
    content
}

fn result(result: &CallResult<'_>) -> Value {
    let texts: Vec<&str> = result.content.iter().filter_map(ChatPart::text).collect();
    let shows_images = !result.is_error && images(&result.content).next().is_some();
    let content = match shows_images {
        true => {
            let mut content = blocks(&result.content);
            if content.iter().all(|block| block["type"] == "image") {
                content.insert(0, json!({ "type": "text", "text": SEE_IMAGE }));
            }
            Value::Array(content)
        }
        // The vendor refuses errors without text.
        false if result.is_error && texts.iter().all(|text| text.trim().is_empty()) => "(no output)".into(),
        false => texts.join("\n").into(),
    };
    json!({ "type": "tool_result", "tool_use_id": result.id, "content": content, "is_error": result.is_error })
}

fn images<'p, 'a>(parts: &'p [ChatPart<'a>]) -> impl Iterator<Item = &'a ImageContent> + use<'p, 'a> {
    parts.iter().filter_map(|part| match part {
        ChatPart::Image(image) => Some(*image),
        ChatPart::Text(_) => None,
    })
}
