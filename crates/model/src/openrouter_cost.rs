//! What OpenRouter says that an answer cost, in every API that it speaks.
//!
//! Source: pi 1.6's `openrouter-cost`; observed.

use crate::types::Bill;
use serde_json::Value;

/// The cost in the token counts `usage` of an answer; `None` if they tell none, or not whose key paid. With a key of the
/// user's own at the vendor it is the sum of both bills.
pub fn billed(usage: &Value) -> Option<Bill> {
    let dollars = |value: &Value| value.as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0);
    let own = dollars(&usage["cost"])?;
    let total = match usage["is_byok"].as_bool()? {
        false => own,
        true => {
            let details = &usage["cost_details"];
            let parts = || {
                let prompt = dollars(&details["upstream_inference_prompt_cost"])?;
                Some(prompt + dollars(&details["upstream_inference_completions_cost"])?)
            };
            own + dollars(&details["upstream_inference_cost"]).or_else(parts)?
        }
    };
    Some(Bill::Total((total * 1e12).round() as u64))
}
