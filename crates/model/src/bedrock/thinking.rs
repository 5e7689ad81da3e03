//! The thinking that a request asks for, and the limit of the answer that goes with it.
//!
//! The API has no member for thinking: each vendor's own members go into `additionalModelRequestFields`.

use super::traits::{ModelTraits, OpenaiEffort};
use crate::{
    context_room::Room,
    request::{ModelRequest, budget},
};
use pi_rpc_protocol::ThinkingLevel;
use serde_json::{Value, json};

/// The thinking of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct ThinkingPlan {
    /// `maxTokens`, thinking included; `None`: unknown.
    pub max_tokens: Option<u64>,
    /// `additionalModelRequestFields`.
    pub fields: Option<Value>,
}

/// Tokens that the answer keeps when thinking would take all.
const ANSWER_TOKENS: u64 = 1024;
/// Smallest budget that the vendor accepts; a smaller model answers without thinking.
const LEAST_BUDGET: u64 = 1024;
/// Lets a model with a budget think between calls of tools.
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
/// Lets a request say what becomes of thinking that does not belong to the conversation.
const BINDING: &str = "thinking-binding-controls-2026-08-01";

/// Plans the thinking, within the `room` that the conversation leaves.
pub fn plan(request: &ModelRequest<'_>, traits: ModelTraits, region: &str, room: Room) -> ThinkingPlan {
    let level = request.level;
    // 0: the model's limit is unknown.
    let most = request.endpoint.model.max_tokens;
    let limit = room.limit(request.max_answer_tokens.unwrap_or(most).min(most));
    let plain = |fields| ThinkingPlan { max_tokens: Some(limit).filter(|limit| *limit > 0), fields };
    if !request.endpoint.model.reasoning || level == ThinkingLevel::Off {
        return plain(None);
    }
    let own = request.endpoint.efforts.get(&level).map(String::as_str);
    match traits.openai {
        _ if traits.is_claude => {}
        Some(OpenaiEffort::Plain) => {
            return plain(Some(json!({"reasoning_effort": openai_effort(level, ThinkingLevel::High)})));
        }
        Some(OpenaiEffort::Nested) => {
            let effort = own.unwrap_or_else(|| openai_effort(level, ThinkingLevel::Max));
            return plain(Some(json!({"reasoning": {"effort": effort}})));
        }
        None => return plain(None),
    }
    let is_gov = is_gov_cloud(&request.endpoint.model.id, region);
    if traits.is_adaptive {
        let effort = match (level, own) {
            (ThinkingLevel::Xhigh, _) if traits.is_newest => "xhigh",
            (_, Some(word)) => word,
            (ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low, None) => "low",
            (ThinkingLevel::Medium, None) => "medium",
            (ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max, None) => "high",
        };
        let mut fields =
            json!({"thinking": thinking("adaptive", is_gov), "output_config": {"effort": effort}});
        if traits.is_newest && !is_gov {
            fields["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
            fields["anthropic_beta"] = json!([BINDING]);
        }
        return plain(Some(fields));
    }
    let mut budget = budget(level, &request.options.budgets);
    let max_tokens = room.limit(limit.saturating_add(budget).min(most));
    budget = budget.min(max_tokens.saturating_sub(ANSWER_TOKENS));
    if budget < LEAST_BUDGET {
        return plain(None);
    }
    let mut fields = json!({"thinking": thinking("enabled", is_gov), "anthropic_beta": [INTERLEAVED]});
    fields["thinking"]["budget_tokens"] = budget.into();
    ThinkingPlan { max_tokens: Some(max_tokens), fields: Some(fields) }
}

/// Whether the request goes to the regions of the US government, whose models know fewer members.
fn is_gov_cloud(id: &str, region: &str) -> bool {
    let id = id.to_lowercase();
    region.starts_with("us-gov-") || id.starts_with("us-gov.") || id.starts_with("arn:aws-us-gov:")
}

fn thinking(kind: &str, is_gov: bool) -> Value {
    match is_gov {
        true => json!({"type": kind}),
        false => json!({"type": kind, "display": "summarized"}),
    }
}

/// OpenAI's word for a level, up to `most`.
fn openai_effort(level: ThinkingLevel, most: ThinkingLevel) -> &'static str {
    level.min(most).max(ThinkingLevel::Low).as_str()
}
