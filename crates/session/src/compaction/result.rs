//! Builds summary and result of a compaction from the models' answers.

use super::{Preparation, files::without_lists};
use crate::stats::MOST_COUNTED;
use pi_rpc_protocol::{CompactionResult, Cost, DialectCompaction, JsonObject, Usage, number, texts};
use serde_json::Number;

impl Preparation {
    /// Joins the summaries of the history and of the beginning of the split turn.
    ///
    /// Without history, the summary of the previous compaction takes its place: the originals drop it there, and with
    /// it all that it covers.
    ///
    /// Source: pi source, xcsh source, observed.
    pub fn summary(&self, history: Option<&str>, prefix: Option<&str>, rules: &DialectCompaction) -> String {
        let history = match history.or(self.previous_summary.as_deref()) {
            Some(history) => without_lists(history),
            None => texts::no_prior_history(),
        };
        let whole = match prefix {
            Some(prefix) => texts::split_turn(&history, &without_lists(prefix)),
            None => history,
        };
        whole + &self.files.lists(rules.list_lines)
    }

    /// Builds the result for the host and the session; `short` is the short summary, in dialects that have one.
    pub fn result(
        self,
        summary: String,
        short: Option<String>,
        rules: &DialectCompaction,
    ) -> CompactionResult {
        CompactionResult {
            summary,
            short_summary: short.filter(|_| rules.short_summary),
            first_kept_entry_id: self.first_kept.to_string(),
            tokens_before: self.tokens_before,
            details: serde_json::to_value(self.files.details()).ok(),
            preserve_data: rules.preserves_data.then(JsonObject::new),
            estimated_tokens_after: None,
            usage: None,
        }
    }
}

/// Sums the usage of two requests.
///
/// Source: pi source, observed.
pub fn sum_usage(one: Usage, other: Usage) -> Usage {
    let tokens = |one: u64, other: u64| one.saturating_add(other).min(MOST_COUNTED);
    let optional_tokens = |one: Option<u64>, other: Option<u64>| {
        one.or(other).map(|_| tokens(one.unwrap_or_default(), other.unwrap_or_default()))
    };
    let dollars = |one: &Number, other: &Number| {
        number(one.as_f64().unwrap_or_default() + other.as_f64().unwrap_or_default())
    };
    let (here, there) = (&one.cost, &other.cost);
    let cost = Cost {
        input: dollars(&here.input, &there.input),
        output: dollars(&here.output, &there.output),
        cache_read: dollars(&here.cache_read, &there.cache_read),
        cache_write: dollars(&here.cache_write, &there.cache_write),
        total: dollars(&here.total, &there.total),
        // The sum counts as the provider's only if both parts do.
        total_from_provider: match (here.total_from_provider, there.total_from_provider) {
            (Some(one), Some(other)) => Some(one && other),
            (one, other) => one.or(other),
        },
    };
    Usage {
        input: tokens(one.input, other.input),
        output: tokens(one.output, other.output),
        cache_read: tokens(one.cache_read, other.cache_read),
        cache_write: tokens(one.cache_write, other.cache_write),
        cache_write1h: optional_tokens(one.cache_write1h, other.cache_write1h),
        reasoning: optional_tokens(one.reasoning, other.reasoning),
        total_tokens: tokens(one.total_tokens, other.total_tokens),
        premium_requests: None,
        cost,
    }
}
