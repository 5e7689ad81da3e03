//! Features in which servers of this API differ.
//!
//! Source: pi 1.6.0 (`compat`).

use crate::{
    compat::CompatObject,
    openai::{effort, thinking},
    request::ModelRequest,
};
use pi_rpc_protocol::Model;

/// The features of a server, from the model's `compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    /// `supportsDeveloperRole`: takes instructions in the role `developer`.
    pub developer_role: bool,
    /// `supportsStrictMode`: takes `strict` in tools.
    pub strict_mode: bool,
    /// `supportsMidConvoSystemMessages`: takes changes of the instructions in the conversation.
    pub system_messages: bool,
    /// `supportsAdditionalTools` with `supportsMidConvoSystemMessages`: takes tools as items of the input.
    pub tools_as_items: bool,
    /// `supportsMidConvoEffort`: takes efforts as items of the input.
    pub effort_items: bool,
    /// `supportsMaxOutputTokens`: takes `max_output_tokens`.
    pub max_output_tokens: bool,
    /// `promptCacheKeyMode`, unless it is `disabled`: takes `prompt_cache_key`.
    pub cache_key: bool,
    /// `supportsLongCacheRetention`: keeps the conversation for longer on request.
    pub long_cache: bool,
    /// `supportsExplicitPromptCacheMode`: such a request is made by `prompt_cache_options`.
    pub cache_options: bool,
}

impl Features {
    /// Reads the features of `model`'s server.
    pub fn of(model: &Model) -> Self {
        let compat = CompatObject::of(model);
        Self {
            developer_role: compat.flag("supportsDeveloperRole"),
            strict_mode: compat.flag("supportsStrictMode"),
            system_messages: compat.flag("supportsMidConvoSystemMessages"),
            tools_as_items: compat.flag("supportsMidConvoSystemMessages")
                && compat.flag("supportsAdditionalTools"),
            effort_items: compat.flag("supportsMidConvoEffort"),
            max_output_tokens: compat.flag("supportsMaxOutputTokens"),
            cache_key: compat.word("promptCacheKeyMode") != Some("disabled"),
            long_cache: compat.flag("supportsLongCacheRetention"),
            cache_options: compat.flag("supportsExplicitPromptCacheMode"),
        }
    }
}

/// The address at which OpenAI also takes the tokens of ChatGPT accounts.
const OPENAI: &str = "https://api.openai.com/v1";

/// Whether the key is the token of a ChatGPT account, with which the vendor takes fewer members.
pub(super) fn has_chatgpt_token(request: &ModelRequest<'_>) -> bool {
    let model = &request.endpoint.model;
    let is_token = request.credentials.key.as_deref().is_some_and(|key| !key.starts_with("sk-"));
    model.provider == "openai" && model.base_url == OPENAI && is_token
}

/// The effort that an item of the input names for the answer, so that a change keeps the cache; `None`: the request does.
pub fn kept_effort<'a>(request: &ModelRequest<'a>) -> Option<&'a str> {
    let takes = Features::of(&request.endpoint.model).effort_items && !has_chatgpt_token(request);
    effort(request).filter(|_| takes && thinking(request).is_some())
}
