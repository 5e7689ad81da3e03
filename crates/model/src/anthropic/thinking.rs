//! How a request names the thinking level.

use crate::{
    anthropic::features::Features,
    context_room::Room,
    request::{ModelRequest, budget},
};
use pi_rpc_protocol::ThinkingLevel;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How the model is to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking<'a> {
    /// The request leaves it to the server: the model does not think, or cannot stop.
    Unnamed,
    /// Not at all.
    Disabled,
    /// As long as it finds right, at this effort.
    Adaptive(&'a str),
    /// The same, but messages of the conversation name the effort where it holds, so that a change keeps the cache.
    AdaptiveByMessage(&'a str),
    /// Up to this number of tokens.
    Budget(u64),
}

/// Tokens that the answer keeps when thinking would take all.
const ANSWER_TOKENS: u64 = 1024;
/// Smallest budget that the vendor accepts; a smaller model answers without thinking.
const LEAST_BUDGET: u64 = 1024;
/// Effort of models that cannot stop thinking, where no level is given.
const USUAL_EFFORT: &str = "high";
/// Effort that a request with efforts in its messages names itself; it never changes, or the cache would be lost.
const CONSTANT_EFFORT: &str = "low";

impl<'a> Thinking<'a> {
    /// Decides `max_tokens`, which includes thinking, and how to think.
    pub fn of(request: &ModelRequest<'a>, features: Features) -> (u64, Self) {
        let endpoint = request.endpoint;
        let (model, level, room) = (&endpoint.model, request.level, Room::of(request));
        let usual =
            room.limit(request.max_answer_tokens.map_or(model.max_tokens, |most| most.min(model.max_tokens)));
        let is_off = level == ThinkingLevel::Off;
        if !model.reasoning {
            return (usual, Self::Unnamed);
        }
        if is_off && endpoint.levels.contains(&ThinkingLevel::Off) {
            return (usual, Self::Disabled);
        }
        let effort = || effort(level, &model.id, &endpoint.efforts);
        if features.effort_messages {
            return (usual, Self::AdaptiveByMessage(if is_off { USUAL_EFFORT } else { effort() }));
        }
        if is_off {
            return (usual, Self::Unnamed);
        }
        if endpoint.adaptive {
            return (usual, Self::Adaptive(effort()));
        }
        let mut budget = budget(level, &request.options.budgets);
        let most = room.limit(usual.saturating_add(budget).min(model.max_tokens));
        budget = budget.min(most.saturating_sub(ANSWER_TOKENS));
        if budget < LEAST_BUDGET {
            return (usual, Self::Unnamed);
        }
        (most, Self::Budget(budget))
    }

    /// The values of `thinking` and `output_config`. The vendor's newest models show no thinking unless asked for it.
    pub fn members(self) -> (Option<Value>, Option<Value>) {
        let effort = |effort: &str| Some(json!({ "effort": effort }));
        match self {
            Self::Unnamed => (None, None),
            Self::Disabled => (Some(json!({ "type": "disabled" })), None),
            Self::Adaptive(word) => {
                (Some(json!({ "type": "adaptive", "display": "summarized" })), effort(word))
            }
            Self::AdaptiveByMessage(_) => {
                let binding = json!({ "prefix_mismatch_behavior": "drop_block" });
                let thinking =
                    json!({ "type": "adaptive", "display": "summarized", "block_binding": binding });
                (Some(thinking), effort(CONSTANT_EFFORT))
            }
            Self::Budget(tokens) => {
                let thinking = json!({ "type": "enabled", "budget_tokens": tokens, "display": "summarized" });
                (Some(thinking), None)
            }
        }
    }

    /// Whether the vendor accepts a forced tool, which it refuses while the model thinks.
    pub const fn allows_forced_tool(self) -> bool {
        matches!(self, Self::Unnamed | Self::Disabled)
    }
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
