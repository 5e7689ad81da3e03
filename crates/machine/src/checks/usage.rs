//! Judges the sums in the usage of messages.
//!
//! Rule: `usage-sum`.

use crate::findings::Findings;
use pi_rpc_protocol::{RuleId as Rule, Usage};
use serde_json::Number;

/// Judges that the totals of a message's usage are the sums of their parts; `at` is the JSON pointer to the usage.
pub fn check_sums(usage: &Usage, api: &str, at: &str, found: &mut Findings) {
    let Usage { total_tokens, output, cost, .. } = usage;
    let counted = counters(usage).iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let tokens = match SUMMED.contains(&api) {
        true => *total_tokens == counted,
        false => total_tokens >= output,
    };
    let parts = [&cost.input, &cost.output, &cost.cache_read, &cost.cache_write].map(Number::as_f64);
    let costs =
        (parts.into_iter().flatten().sum::<f64>() - cost.total.as_f64().unwrap_or_default()).abs() < EXACT;
    found.expect(Rule::UsageSum, tokens && costs, || match tokens {
        true => format!("the sum of the costs at {at}/cost/total"),
        false => format!("{counted} at {at}/totalTokens"),
    });
}

/// The APIs whose total is the sum of its parts; others add more to it.
const SUMMED: [&str; 3] = ["anthropic-messages", "openai-completions", "openai-responses"];

/// The tolerated rounding error: costs are sums of rounded products.
const EXACT: f64 = 1e-9;

/// Tokens by kind: input, output, cache read, cache write.
pub const fn counters(usage: &Usage) -> [u64; 4] {
    [usage.input, usage.output, usage.cache_read, usage.cache_write]
}
