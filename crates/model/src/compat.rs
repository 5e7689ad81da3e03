//! Differences of Chat Completions servers from OpenAI's own.
//!
//! Source: pi 1.6.0 (`compat`); pi RPC reference: model.

use super::compat_defaults::default_member;
use pi_rpc_protocol::{JsonObject, Model};
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// The features of a server.
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
    /// `requiresToolsWithToolHistory`: an empty list of tools is sent with a history that has calls.
    pub tools_with_history: bool,
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
    /// `promptCacheKeyMode`: whether requests name their conversation; `None`: those to OpenAI, and those that are kept long.
    pub cache_key: Option<bool>,
    /// `thinkingTokenBudgetField`, or `supportsThinkingTokenBudget`: the member that limits thinking in tokens.
    pub budget_field: Option<String>,
    /// `vllmPriority`: the value of `priority`.
    pub priority: Option<Number>,
    /// `supportsLongCacheRetention`: keeps the conversation for an hour or a day on request.
    pub long_cache: bool,
    /// `supportsMidConvoSystemMessages`: takes changes of the instructions in the conversation.
    pub system_messages: bool,
    /// `supportsMidConvoToolAdditions` with `supportsMidConvoSystemMessages`: takes further tools there.
    pub tool_additions: bool,
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
    /// Reads the features of `model`'s server.
    pub fn of(model: &Model) -> Self {
        let compat = CompatObject::of(model);
        let thinking_format =
            compat.word("thinkingFormat").and_then(ThinkingFormat::parse).unwrap_or(ThinkingFormat::Openai);
        let template = match thinking_format {
            ThinkingFormat::Baseten => "chatTemplateArgs",
            _ => "chatTemplateKwargs",
        };
        let budget_field = compat.word("thinkingTokenBudgetField").filter(|name| !name.is_empty());
        let budget_field =
            budget_field.or(compat.flag("supportsThinkingTokenBudget").then_some("thinking_token_budget"));
        Self {
            store: compat.flag("supportsStore"),
            developer_role: compat.flag("supportsDeveloperRole"),
            reasoning_effort: compat.flag("supportsReasoningEffort"),
            efforts: compat.words("reasoningEffortMap").unwrap_or_else(|| known_efforts(model)),
            usage_in_streaming: compat.flag("supportsUsageInStreaming"),
            finish_reason: compat.flag("supportsFinishReason"),
            max_tokens_field: compat.word("maxTokensField").unwrap_or("max_completion_tokens").to_owned(),
            tool_result_name: compat.flag("requiresToolResultName"),
            assistant_after_tool_result: compat.flag("requiresAssistantAfterToolResult"),
            content_never_null: compat.flag("requiresNonNullAssistantContent"),
            tools_with_history: compat.flag("requiresToolsWithToolHistory"),
            thinking_as_text: compat.flag("requiresThinkingAsText"),
            reasoning_content: compat.flag("requiresReasoningContentOnAssistantMessages"),
            thinking_format,
            template: compat.object(template).cloned().unwrap_or_default(),
            tool_stream: compat.flag("zaiToolStream"),
            open_router_routing: compat.given_object("openRouterRouting").cloned(),
            vercel_gateway_routing: compat.given_object("vercelGatewayRouting").cloned(),
            strict_mode: compat.flag("supportsStrictMode"),
            marks_cache: compat.word("cacheControlFormat") == Some("anthropic"),
            cache_key: match compat.word("promptCacheKeyMode") {
                Some("enabled") => Some(true),
                Some("disabled") => Some(false),
                _ => None,
            },
            budget_field: budget_field.map(str::to_owned),
            priority: compat.read("vllmPriority", Value::as_number).cloned(),
            long_cache: compat.flag("supportsLongCacheRetention"),
            system_messages: compat.flag("supportsMidConvoSystemMessages"),
            tool_additions: compat.flag("supportsMidConvoSystemMessages")
                && compat.flag("supportsMidConvoToolAdditions"),
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

/// The members of a model's `compat`, with the [defaults](compat_defaults) of what it does not state. A value of a wrong
/// type counts as absent.
pub(super) struct CompatObject<'a>(&'a Model);

impl<'a> CompatObject<'a> {
    /// The members for `model`.
    pub(super) const fn of(model: &'a Model) -> Self {
        Self(model)
    }

    /// What `read` makes of the member `key`: of the stated one, else of the default.
    fn read<T>(&self, key: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let given = self.0.compat.as_ref().and_then(|members| members.get(key)).and_then(&read);
        given.or_else(|| default_member(self.0, key).and_then(read))
    }

    /// The boolean `key`; `false` if it has no value.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.read(key, Value::as_bool).unwrap_or(false)
    }

    /// The string `key`; `None` if it has no value.
    pub(super) fn word(&self, key: &str) -> Option<&'a str> {
        self.read(key, Value::as_str)
    }

    fn object(&self, key: &str) -> Option<&'a JsonObject> {
        self.read(key, Value::as_object)
    }

    /// The object `key`, if it is stated.
    fn given_object(&self, key: &str) -> Option<&'a JsonObject> {
        self.0.compat.as_ref()?.get(key)?.as_object()
    }

    fn words(&self, key: &str) -> Option<BTreeMap<String, String>> {
        let words = self.object(key)?.iter();
        Some(words.filter_map(|(key, word)| Some((key.clone(), word.as_str()?.to_owned()))).collect())
    }
}
