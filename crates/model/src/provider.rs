//! What single providers need besides their API: headers that keep a conversation at one server, and GitHub Copilot's.
//!
//! Source: pi 1.6.0.

use super::{api::Api, compat::CompatObject, request::ModelRequest};
use pi_rpc_protocol::{AgentMessage, MessageContent, UserContent};

/// OpenAI itself.
pub const OPENAI: &str = "openai";

/// Variables that say who pays, which go into headers: of no other vendor.
pub const OPENAI_VARIABLES: [&str; 2] = [ORGANIZATION, PROJECT];

const ORGANIZATION: &str = "OPENAI_ORG_ID";
const PROJECT: &str = "OPENAI_PROJECT_ID";

/// Adds the headers of the model's provider, where none of the same name is configured.
pub fn add_headers(api: Api, request: &ModelRequest<'_>, headers: &mut Vec<(String, String)>) {
    let mut add = |name: &str, value: &str| {
        if !headers.iter().any(|(known, _)| known == name) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    };
    let model = &request.endpoint.model;
    for (variable, name) in [(ORGANIZATION, "openai-organization"), (PROJECT, "openai-project")] {
        let value = request.credentials.variable(variable).filter(|_| model.provider == OPENAI);
        value.into_iter().for_each(|value| add(name, value));
    }
    if model.provider == "github-copilot" {
        let initiator = if is_follow_up(request) { "agent" } else { "user" };
        add("x-initiator", initiator);
        add("openai-intent", "conversation-edits");
        if has_images(request) {
            add("copilot-vision-request", "true");
        }
    }
    if request.session_id.is_empty() {
        return;
    }
    if ["opencode", "opencode-go"].contains(&model.provider.as_str())
        || model.base_url.contains("//opencode.ai/")
    {
        add("x-opencode-session", request.session_id);
    }
    for name in session_headers(api, request) {
        add(name, request.session_id);
    }
}

/// Names of the headers that hold the session's id, so that its requests meet the same cache.
fn session_headers(api: Api, request: &ModelRequest<'_>) -> &'static [&'static str] {
    let model = &request.endpoint.model;
    let compat = CompatObject::of(model);
    let sends = compat.flag("sendSessionAffinityHeaders");
    match (api, compat.word("sessionAffinityFormat").unwrap_or_default()) {
        (Api::OpenaiResponses, "openrouter") => &["x-session-id"],
        (Api::OpenaiResponses, "openai") => &["session-id", "x-client-request-id"],
        (Api::OpenaiResponses, _) => &["x-client-request-id"],
        (Api::OpenaiCompletions | Api::AnthropicMessages, "openrouter") if sends => &["x-session-id"],
        (Api::AnthropicMessages, _) if sends => &["x-session-affinity"],
        (Api::OpenaiCompletions, "openai") if sends => {
            &["session_id", "x-client-request-id", "x-session-affinity"]
        }
        (Api::OpenaiCompletions, _) if sends => &["x-client-request-id", "x-session-affinity"],
        _ => &[],
    }
}

/// Whether the model goes on by itself: the last message is an answer or a result.
fn is_follow_up(request: &ModelRequest<'_>) -> bool {
    let last = request.messages.last().map(|message| &**message);
    matches!(last, Some(AgentMessage::Assistant(_) | AgentMessage::ToolResult(_)))
}

fn has_images(request: &ModelRequest<'_>) -> bool {
    let is_image = |part: &UserContent| matches!(part, UserContent::Image(_));
    request.messages.iter().any(|message| match &**message {
        AgentMessage::User(message) => match &message.content {
            MessageContent::Blocks(parts) => parts.iter().any(is_image),
            MessageContent::Text(_) => false,
        },
        AgentMessage::ToolResult(message) => message.content.iter().any(is_image),
        _ => false,
    })
}
