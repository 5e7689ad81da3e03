//! Builds requests to Anthropic Messages.

use super::{features::Features, messages::messages, thinking::Thinking};
use crate::{
    request::{HttpRequest, ModelRequest},
    transcript::Preamble,
    types::ToolSpec,
};
use serde_json::{Value, json};

/// Builds the request to `{baseUrl}/v1/messages?beta=true`, the address of features that a header asks for.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let base = request.endpoint.model.base_url.trim_end_matches('/');
    let features = Features::of(&request.endpoint.model);
    let (max_tokens, thinking) = Thinking::of(request, features);
    let preamble = Preamble::of(request, features.system_messages);
    let changes = ToolChanges::of(&preamble, features);
    HttpRequest {
        url: format!("{base}/v1/messages?beta=true"),
        headers: headers(request, features, thinking, changes),
        body: body(request, features, max_tokens, thinking, &preamble, changes),
        signing: None,
    }
}

/// Where a request tells changes of instructions and tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChanges {
    /// Ahead of the conversation, as they are now.
    Ahead,
    /// Those of the instructions in the conversation, the tools ahead of it as they are now.
    Texts,
    /// In the conversation.
    Native,
}

impl ToolChanges {
    /// Where a server with these `features` takes them.
    pub fn of(preamble: &Preamble<'_>, features: Features) -> Self {
        match preamble.has_changes {
            false => Self::Ahead,
            // The vendor refuses a list of tools of which none is ready.
            true if features.tool_changes && !preamble.tools.is_empty() => Self::Native,
            true => Self::Texts,
        }
    }
}

/// The effort that the answer keeps, for models that take efforts in the messages of the conversation.
pub fn kept_effort<'a>(request: &ModelRequest<'a>) -> Option<&'a str> {
    match Thinking::of(request, Features::of(&request.endpoint.model)) {
        (_, Thinking::AdaptiveByMessage(effort)) => Some(effort),
        _ => None,
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

fn headers(
    request: &ModelRequest<'_>,
    features: Features,
    thinking: Thinking<'_>,
    changes: ToolChanges,
) -> Vec<(String, String)> {
    let subscription = has_subscription(request);
    let mut headers = vec![
        ("accept".to_owned(), "application/json".to_owned()),
        ("content-type".to_owned(), "application/json".to_owned()),
        ("anthropic-version".to_owned(), "2023-06-01".to_owned()),
        ("anthropic-dangerous-direct-browser-access".to_owned(), "true".to_owned()),
    ];
    let betas = betas(request, features, thinking, changes);
    if !betas.is_empty() {
        headers.push(("anthropic-beta".to_owned(), betas.join(",")));
    }
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

/// The features that the request asks for by the header `anthropic-beta`.
fn betas(
    request: &ModelRequest<'_>,
    features: Features,
    thinking: Thinking<'_>,
    changes: ToolChanges,
) -> Vec<&'static str> {
    let mut betas = Vec::new();
    if has_subscription(request) {
        betas.extend(["claude-code-20250219", "oauth-2025-04-20"]);
    }
    if !request.tools.is_empty() && !features.eager_tool_input {
        betas.push("fine-grained-tool-streaming-2025-05-14");
    }
    if matches!(thinking, Thinking::Budget(_)) {
        betas.push("interleaved-thinking-2025-05-14");
    }
    if features.effort_messages {
        betas.extend(["mid-conversation-output-config-2026-07-01", "thinking-binding-controls-2026-08-01"]);
    }
    if changes == ToolChanges::Native {
        betas.push("inline-tools-2026-09-15");
    }
    if features.threads && request.is_cached() {
        betas.push("message-threads-2026-08-12");
    }
    betas
}

/// A tool that no model sees, declared beside the first ones: it keeps in the cached part what the vendor adds ahead of the
/// conversation once tools change. Source: pi 1.6.0, which has measured it.
fn placeholder() -> Value {
    json!({
        "name": "__pi_deferred_placeholder__",
        "description": "Reserved placeholder. Never available. Never call this.",
        "input_schema": { "type": "object", "properties": {}, "required": [] },
        "defer_loading": true,
    })
}

fn body(
    request: &ModelRequest<'_>,
    features: Features,
    max_tokens: u64,
    thinking: Thinking<'_>,
    preamble: &Preamble<'_>,
    changes: ToolChanges,
) -> Value {
    let cache = cache_control(request, features);
    let cache = cache.as_ref();
    let mut body = json!({
        "model": request.endpoint.model.id,
        "messages": messages(request, features, thinking, preamble, cache),
        "max_tokens": max_tokens,
        "stream": true,
    });
    let mut set = |key: &str, value: Value| body[key] = value;
    let mut system = Vec::new();
    if has_subscription(request) {
        system.push(SUBSCRIPTION_SYSTEM);
    }
    // The vendor refuses blank texts.
    if !preamble.instructions.trim().is_empty() {
        system.push(&preamble.instructions);
    }
    if !system.is_empty() {
        let block = |text| {
            let mut block = json!({ "type": "text", "text": text });
            mark(&mut block, cache);
            block
        };
        set("system", system.into_iter().map(block).collect());
    }
    let mut offered = match changes {
        ToolChanges::Native => tools(&preamble.tools, features, cache),
        ToolChanges::Ahead | ToolChanges::Texts => tools(request.tools, features, cache),
    };
    if changes == ToolChanges::Native {
        offered.push(placeholder());
    }
    if !offered.is_empty() {
        set("tools", offered.into());
    }
    if let (true, Some(name)) = (thinking.allows_forced_tool(), request.forced()) {
        set("tool_choice", json!({ "type": "tool", "name": name }));
    }
    let (thinking, output_config) = thinking.members();
    thinking.into_iter().for_each(|value| set("thinking", value));
    output_config.into_iter().for_each(|value| set("output_config", value));
    body
}

/// The mark up to which the vendor caches the conversation; `None`: it is not to be cached.
fn cache_control(request: &ModelRequest<'_>, features: Features) -> Option<Value> {
    request.is_cached().then(|| match request.options.caches_long && features.long_cache {
        true => json!({ "type": "ephemeral", "ttl": "1h" }),
        false => json!({ "type": "ephemeral" }),
    })
}

/// Marks the end of a cached part.
pub fn mark(block: &mut Value, cache: Option<&Value>) {
    if let Some(cache) = cache {
        block["cache_control"] = cache.clone();
    }
}

fn tools(tools: &[ToolSpec], features: Features, cache: Option<&Value>) -> Vec<Value> {
    let mut tools: Vec<Value> = tools.iter().map(|spec| definition(spec, features)).collect();
    if let Some(last) = tools.last_mut().filter(|_| features.marks_tools) {
        mark(last, cache);
    }
    tools
}

/// Declares a tool.
pub fn definition(tool: &ToolSpec, features: Features) -> Value {
    let member = |key: &str, missing: Value| tool.parameters.get(key).cloned().unwrap_or(missing);
    let mut schema = json!({
        "type": "object",
        "properties": member("properties", json!({})),
        "required": member("required", json!([])),
    });
    // The vendor refuses some others.
    for key in ["additionalProperties", "$defs", "definitions"] {
        if let Some(value) = tool.parameters.get(key) {
            schema[key] = value.clone();
        }
    }
    let mut tool = json!({ "name": tool.name, "description": tool.description, "input_schema": schema });
    if features.eager_tool_input {
        tool["eager_input_streaming"] = true.into();
    }
    tool
}
