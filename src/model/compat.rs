//! Differences of Chat Completions servers from OpenAI's own.
//!
//! Source: pi source (model registry: `compat`); pi RPC reference: model.

use crate::protocol::{JsonObject, Model};
use serde_json::Value;
use std::collections::BTreeMap;

/// The features of a server. [`Compat::of`] takes them from the model's `compat`, else from what is known of its
/// provider, else as OpenAI's.
#[derive(Clone, Debug, PartialEq)]
pub struct Compat {
    /// `supportsStore`: takes `store`.
    pub store: bool,
    /// `supportsDeveloperRole`: takes instructions in the role `developer`.
    pub developer_role: bool,
    /// `supportsReasoningEffort`: takes `reasoning_effort`.
    pub reasoning_effort: bool,
    /// `reasoningEffortMap`: the server's words for thinking levels.
    pub efforts: BTreeMap<String, String>,
    /// `supportsUsageInStreaming`: takes `stream_options.include_usage`.
    pub usage_in_streaming: bool,
    /// `maxTokensField`: the key of the answer's limit.
    pub max_tokens_field: String,
    /// `requiresToolResultName`: results name their tool.
    pub tool_result_name: bool,
    /// `requiresAssistantAfterToolResult`: an assistant message has to stand between results and user; content is
    /// never null.
    pub assistant_after_tool_result: bool,
    /// `requiresThinkingAsText`: earlier thinking is sent as text.
    pub thinking_as_text: bool,
    /// `thinkingFormat`: how a request turns thinking on.
    pub thinking_format: ThinkingFormat,
    /// `openRouterRouting`: the value of `provider` for OpenRouter.
    pub open_router_routing: Option<JsonObject>,
    /// `vercelGatewayRouting`: the routing options for Vercel's gateway.
    pub vercel_gateway_routing: Option<JsonObject>,
    /// `supportsStrictMode`: takes `strict` in tools.
    pub strict_mode: bool,
}

/// How a request turns thinking on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingFormat {
    /// `reasoning_effort`.
    Openai,
    /// `enable_thinking`, of Z.ai and Qwen.
    Switch,
    /// `chat_template_kwargs.enable_thinking`.
    TemplateSwitch,
}

impl Compat {
    /// Determines the features of `model`'s server. Values of a wrong type in its `compat` count as absent.
    pub fn of(model: &Model) -> Self {
        let at = |name: &str, host: &str| model.provider == name || model.base_url.contains(host);
        let zai = at("zai", "api.z.ai");
        let xai = at("xai", "api.x.ai");
        let chutes = at("chutes", "chutes.ai");
        let plain = zai
            || xai
            || chutes
            || at("cerebras", "cerebras.ai")
            || at("deepseek", "deepseek.com")
            || at("opencode", "opencode.ai");
        let given = CompatObject(model.compat.as_ref());
        Self {
            store: given.flag("supportsStore", !plain),
            developer_role: given.flag("supportsDeveloperRole", !plain),
            reasoning_effort: given.flag("supportsReasoningEffort", !xai && !zai),
            efforts: given.words("reasoningEffortMap").unwrap_or_else(|| known_efforts(model)),
            usage_in_streaming: given.flag("supportsUsageInStreaming", true),
            max_tokens_field: given
                .word("maxTokensField")
                .unwrap_or(if chutes { "max_tokens" } else { "max_completion_tokens" })
                .to_owned(),
            tool_result_name: given.flag("requiresToolResultName", false),
            assistant_after_tool_result: given.flag("requiresAssistantAfterToolResult", false),
            thinking_as_text: given.flag("requiresThinkingAsText", false),
            thinking_format: match given.word("thinkingFormat") {
                Some("zai" | "qwen") => ThinkingFormat::Switch,
                Some("qwen-chat-template") => ThinkingFormat::TemplateSwitch,
                None if zai => ThinkingFormat::Switch,
                _ => ThinkingFormat::Openai,
            },
            open_router_routing: given.object("openRouterRouting").cloned(),
            vercel_gateway_routing: given.object("vercelGatewayRouting").cloned(),
            strict_mode: given.flag("supportsStrictMode", true),
        }
    }
}

/// Words for levels of known models: Groq's Qwen has one level of thinking.
fn known_efforts(model: &Model) -> BTreeMap<String, String> {
    match (model.provider.as_str(), model.id.as_str()) {
        ("groq", "qwen/qwen3-32b") => {
            let thinking = ["minimal", "low", "medium", "high", "xhigh"];
            thinking.map(|level| (level.to_owned(), "default".to_owned())).into()
        }
        _ => BTreeMap::new(),
    }
}

/// The members of a model's `compat`.
struct CompatObject<'a>(Option<&'a JsonObject>);

impl<'a> CompatObject<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.and_then(|members| members.get(key))
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or(default)
    }

    fn word(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    fn object(&self, key: &str) -> Option<&'a JsonObject> {
        self.get(key).and_then(Value::as_object)
    }

    fn words(&self, key: &str) -> Option<BTreeMap<String, String>> {
        let words = self.object(key)?.iter();
        Some(words.filter_map(|(key, word)| Some((key.clone(), word.as_str()?.to_owned()))).collect())
    }
}
