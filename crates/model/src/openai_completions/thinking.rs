//! The members that turn thinking on or off, in the words of each server.
//!
//! Source: pi 1.6.0 (`thinkingFormat`).

use crate::{
    compat::{Compat, ThinkingFormat},
    openai::thinking,
    request::{ModelRequest, budget},
};
use pi_rpc_protocol::{JsonObject, ThinkingLevel};
use serde_json::{Map, Value, json};

/// Tokens that the answer keeps when thinking would take all.
const ANSWER_TOKENS: u64 = 1024;

/// Builds the members; none for a model that does not think. `limit`: of the answer with its thinking.
pub fn members(request: &ModelRequest<'_>, compat: &Compat, limit: Option<u64>) -> JsonObject {
    let endpoint = request.endpoint;
    if !endpoint.model.reasoning {
        return JsonObject::new();
    }
    let level = thinking(request);
    let on = level.is_some();
    let own = level.and_then(|level| endpoint.efforts.get(&level)).map(String::as_str);
    // The model's own words precede the server's.
    let word = level.map(|level| {
        let servers = compat.efforts.get(level.as_str()).map(String::as_str);
        own.or(servers).unwrap_or(level.as_str())
    });
    let off = endpoint.efforts.get(&ThinkingLevel::Off).map(String::as_str).filter(|_| !on);
    let can_be_off = endpoint.levels.contains(&ThinkingLevel::Off);
    let most = limit.unwrap_or(endpoint.model.max_tokens).saturating_sub(ANSWER_TOKENS);
    let budget =
        level.map(|level| budget(level, &request.options.budgets).min(most)).filter(|tokens| *tokens > 0);
    let values = TemplateValues { word, off, on, budget };
    let effort = word.filter(|_| compat.reasoning_effort);
    let (switch, effort) = match compat.thinking_format {
        ThinkingFormat::Openai => (None, effort.or(off.filter(|_| compat.reasoning_effort))),
        ThinkingFormat::Zai => {
            let enabled = json!({"type": "enabled", "clear_thinking": false});
            (Some(("thinking", if on { enabled } else { json!({"type": "disabled"}) })), effort)
        }
        ThinkingFormat::Qwen => (Some(("enable_thinking", on.into())), effort),
        ThinkingFormat::QwenTemplate => {
            (Some(("chat_template_kwargs", json!({"enable_thinking": on, "preserve_thinking": true}))), None)
        }
        ThinkingFormat::Template => (template(compat, &values).map(|it| ("chat_template_kwargs", it)), None),
        ThinkingFormat::Baseten => {
            let effort = effort.or(off.filter(|_| compat.reasoning_effort));
            (template(compat, &values).map(|it| ("chat_template_args", it)), effort)
        }
        ThinkingFormat::Deepseek => {
            let kind = if on { "enabled" } else { "disabled" };
            ((on || can_be_off).then(|| ("thinking", json!({"type": kind}))), effort)
        }
        ThinkingFormat::OpenRouter => {
            let word = word.or(can_be_off.then(|| off.unwrap_or("none")));
            (word.map(|word| ("reasoning", json!({"effort": word}))), None)
        }
        ThinkingFormat::AntLing => (own.map(|word| ("reasoning", json!({"effort": word}))), None),
        ThinkingFormat::Together => (Some(("reasoning", json!({"enabled": on}))), effort),
        ThinkingFormat::Word => {
            let word = word.or(can_be_off.then(|| off.unwrap_or("none")));
            (word.map(|word| ("thinking", word.into())), None)
        }
    };
    let effort = effort.map(|word| ("reasoning_effort", Value::from(word)));
    let budget = compat.budget_field.as_deref().zip(budget.map(Value::from));
    [switch, effort, budget].into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// What the variables of a chat template stand for in this request.
struct TemplateValues<'a> {
    /// The word for the level; `None`: thinking is off.
    word: Option<&'a str>,
    /// The word for `off`.
    off: Option<&'a str>,
    /// Whether the model is to think.
    on: bool,
    /// Most tokens of thinking.
    budget: Option<u64>,
}

/// The members of the server's chat template, with the values of this request; `None`: there are none.
fn template(compat: &Compat, given: &TemplateValues<'_>) -> Option<Value> {
    let values = compat.template.iter().filter_map(|(key, value)| {
        let Some(variable) = value.as_object() else { return Some((key.clone(), value.clone())) };
        if !given.on && variable.get("omitWhenOff") == Some(&Value::Bool(true)) {
            return None;
        }
        let value = match variable.get("$var").and_then(Value::as_str) {
            Some("thinking.enabled") => given.on.into(),
            Some("thinking.budget") => given.budget?.into(),
            _ => given.word.or(given.off)?.into(),
        };
        Some((key.clone(), value))
    });
    let values: Map<String, Value> = values.collect();
    (!values.is_empty()).then_some(Value::Object(values))
}
