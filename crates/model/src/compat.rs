//! Differences of Chat Completions servers from OpenAI's own.
//!
//! Source: pi 1.5.2 (`compat`, and what it derives from provider and address); pi RPC reference: model.

use pi_rpc_protocol::{JsonObject, Model};
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
    /// `supportsFinishReason`: answers have a `finish_reason`; without it, one that has none is not complete.
    pub finish_reason: bool,
    /// `maxTokensField`: the key of the answer's limit.
    pub max_tokens_field: String,
    /// `requiresToolResultName`: results name their tool.
    pub tool_result_name: bool,
    /// `requiresAssistantAfterToolResult`: an assistant message has to stand between results and user; content is
    /// never null.
    pub assistant_after_tool_result: bool,
    /// `requiresNonNullAssistantContent`: content of an assistant message is never null.
    pub content_never_null: bool,
    /// `requiresThinkingAsText`: earlier thinking is sent as text.
    pub thinking_as_text: bool,
    /// `requiresReasoningContentOnAssistantMessages`: every answer has `reasoning_content`, if only an empty one.
    pub reasoning_content: bool,
    /// `thinkingFormat`: how a request turns thinking on.
    pub thinking_format: ThinkingFormat,
    /// `chatTemplateKwargs` or `chatTemplateArgs`: the members of the chat template.
    pub template: JsonObject,
    /// `zaiToolStream`: takes `tool_stream`.
    pub tool_stream: bool,
    /// `openRouterRouting`: the value of `provider` for OpenRouter.
    pub open_router_routing: Option<JsonObject>,
    /// `vercelGatewayRouting`: the routing options for Vercel's gateway.
    pub vercel_gateway_routing: Option<JsonObject>,
    /// `supportsStrictMode`: takes `strict` in tools.
    pub strict_mode: bool,
    /// `cacheControlFormat`: texts and tools are marked as Anthropic's are.
    pub marks_cache: bool,
    /// `supportsLongCacheRetention`: keeps the conversation for an hour or a day on request.
    pub long_cache: bool,
}

/// How a request turns thinking on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingFormat {
    /// `reasoning_effort`.
    Openai,
    /// `thinking.type` with `clear_thinking`, and `reasoning_effort`, of Z.ai.
    Zai,
    /// `enable_thinking` and `reasoning_effort`, of Qwen.
    Qwen,
    /// `chat_template_kwargs.enable_thinking`, of Qwen's template.
    QwenTemplate,
    /// `chat_template_kwargs` with the members of `chatTemplateKwargs`.
    Template,
    /// `chat_template_args` with the members of `chatTemplateArgs`, and `reasoning_effort`, of Baseten.
    Baseten,
    /// `thinking.type` and `reasoning_effort`, of DeepSeek.
    Deepseek,
    /// `reasoning.effort`, of OpenRouter.
    OpenRouter,
    /// `reasoning.effort` for levels that have a word, of Ant Ling.
    AntLing,
    /// `reasoning.enabled` and `reasoning_effort`, of Together.
    Together,
    /// The word as `thinking`.
    Word,
}

impl ThinkingFormat {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "openai" => Self::Openai,
            "zai" => Self::Zai,
            "qwen" => Self::Qwen,
            "qwen-chat-template" => Self::QwenTemplate,
            "chat-template" => Self::Template,
            "baseten" => Self::Baseten,
            "deepseek" => Self::Deepseek,
            "openrouter" => Self::OpenRouter,
            "ant-ling" => Self::AntLing,
            "together" => Self::Together,
            "string-thinking" => Self::Word,
            _ => return None,
        })
    }
}

impl Compat {
    /// Determines the features of `model`'s server. Values of a wrong type in its `compat` count as absent.
    pub fn of(model: &Model) -> Self {
        let is = |names: &[&str], hosts: &[&str]| {
            names.contains(&model.provider.as_str()) || hosts.iter().any(|host| model.base_url.contains(host))
        };
        let zai = is(&["zai", "zai-coding-cn"], &["api.z.ai", "open.bigmodel.cn"]);
        let together = is(&["together"], &["api.together.ai", "api.together.xyz"]);
        let moonshot = is(&["moonshotai", "moonshotai-cn"], &["api.moonshot."]);
        let open_router = is(&["openrouter"], &["openrouter.ai"]);
        let workers = is(&["cloudflare-workers-ai"], &["api.cloudflare.com"]);
        let gateway = is(&["cloudflare-ai-gateway"], &["gateway.ai.cloudflare.com"]);
        let nvidia = is(&["nvidia"], &["integrate.api.nvidia.com"]);
        let ant_ling = is(&["ant-ling"], &["api.ant-ling.com"]);
        let deepseek = is(&["deepseek"], &["deepseek.com"]);
        let xai = is(&["xai"], &["api.x.ai"]);
        let chutes = is(&["chutes"], &["chutes.ai"]);
        let other = is(&["cerebras", "opencode"], &["cerebras.ai", "opencode.ai"]);
        let plain =
            [zai, together, moonshot, workers, gateway, nvidia, ant_ling, deepseek, xai, chutes, other];
        let plain = plain.contains(&true);
        let takes_max_tokens =
            [chutes, deepseek, moonshot, gateway, together, nvidia, ant_ling, zai].contains(&true);
        let lacks_effort = [xai, zai, moonshot, together, gateway, nvidia, ant_ling].contains(&true);
        let forgets = [together, workers, gateway, nvidia, ant_ling].contains(&true);
        let of_router = |vendor: &str| open_router && model.id.starts_with(vendor);
        let format = match () {
            () if deepseek => ThinkingFormat::Deepseek,
            () if zai => ThinkingFormat::Zai,
            () if together => ThinkingFormat::Together,
            () if ant_ling => ThinkingFormat::AntLing,
            () if open_router => ThinkingFormat::OpenRouter,
            () => ThinkingFormat::Openai,
        };
        let given = CompatObject::of(model);
        let thinking_format = given.word("thinkingFormat").and_then(ThinkingFormat::parse).unwrap_or(format);
        let template = match thinking_format {
            ThinkingFormat::Baseten => "chatTemplateArgs",
            _ => "chatTemplateKwargs",
        };
        let takes_developer = of_router("anthropic/") || of_router("openai/") || (!plain && !open_router);
        Self {
            store: given.flag("supportsStore", !plain),
            developer_role: given.flag("supportsDeveloperRole", takes_developer),
            reasoning_effort: given.flag("supportsReasoningEffort", !lacks_effort),
            efforts: given.words("reasoningEffortMap").unwrap_or_else(|| known_efforts(model)),
            usage_in_streaming: given.flag("supportsUsageInStreaming", true),
            finish_reason: given.flag("supportsFinishReason", true),
            max_tokens_field: given
                .word("maxTokensField")
                .unwrap_or(if takes_max_tokens { "max_tokens" } else { "max_completion_tokens" })
                .to_owned(),
            tool_result_name: given.flag("requiresToolResultName", false),
            assistant_after_tool_result: given.flag("requiresAssistantAfterToolResult", false),
            content_never_null: given.flag("requiresNonNullAssistantContent", false),
            thinking_as_text: given.flag("requiresThinkingAsText", false),
            reasoning_content: given.flag("requiresReasoningContentOnAssistantMessages", deepseek),
            thinking_format,
            template: given.object(template).cloned().unwrap_or_default(),
            tool_stream: given.flag("zaiToolStream", false),
            open_router_routing: given.object("openRouterRouting").cloned(),
            vercel_gateway_routing: given.object("vercelGatewayRouting").cloned(),
            strict_mode: given.flag("supportsStrictMode", false),
            marks_cache: match given.word("cacheControlFormat") {
                Some(format) => format == "anthropic",
                None => model.provider == "openrouter" && model.id.starts_with("anthropic/"),
            },
            long_cache: given.flag("supportsLongCacheRetention", !forgets),
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
pub(super) struct CompatObject<'a>(Option<&'a JsonObject>);

impl<'a> CompatObject<'a> {
    /// The members of `model`'s `compat`, if it has any.
    pub(super) fn of(model: &'a Model) -> Self {
        Self(model.compat.as_ref())
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.and_then(|members| members.get(key))
    }

    /// The boolean `key`; `default` if it is absent or of another type.
    pub(super) fn flag(&self, key: &str, default: bool) -> bool {
        self.given_flag(key).unwrap_or(default)
    }

    /// The boolean `key`; `None` if it is absent or of another type.
    pub(super) fn given_flag(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Value::as_bool)
    }

    /// The string `key`; `None` if it is absent or of another type.
    pub(super) fn word(&self, key: &str) -> Option<&'a str> {
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
