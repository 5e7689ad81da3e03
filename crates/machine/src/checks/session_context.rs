//! Judges the reported context usage, against the usage of the assistant messages.
//!
//! Rule: `context-usage`.

use super::{
    frame_context::FrameContext, pending_read::Interference, session_checks::SessionChecks,
    state_checks::is_virtual,
};
use crate::{findings::Findings, session_state::context::ContextSize};
use pi_rpc_protocol::{ContextUsage, DialectStatsOver, RuleId as Rule, SessionState, SessionStats};

/// The tolerated rounding error of a percentage.
const ROUNDED: f64 = 1e-9;

impl SessionChecks {
    /// Judges the context usage in the statistics.
    pub(super) fn context_usage(
        &self,
        stats: &SessionStats,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let Some(usage) = &stats.context_usage else { return };
        is_scaled(usage, found);
        if sight != Interference::None || self.may_be_changed_by_extensions() {
            return;
        }
        if let Some(window) = &self.window {
            let what = "the window of the model that is in use";
            let reported = &usage.context_window;
            found.expect_same(Rule::ContextUsage, "/data/contextUsage/contextWindow", what, window, reported);
        }
        let size = match self.context {
            // If the beginning was missed, so may have been messages of shell commands.
            _ if at.has_extensions || !at.whole => return,
            // The system prompt and the tools count, too.
            _ if at.dialect.record().stats_over == DialectStatsOver::Context => return,
            ContextSize::Uncounted => None,
            // A message of a shell command may follow the answer.
            ContextSize::Counted(tokens) if !self.has_shells => i64::try_from(tokens).ok(),
            ContextSize::Counted(_) | ContextSize::Unknown => return,
        };
        let what = match size {
            Some(_) => "the tokens that the newest answer tells",
            None => "null, as nothing was answered since the compaction",
        };
        // No tokens are `null` on the wire.
        let [size, told] = [size, usage.tokens].map(|tokens| serde_json::json!(tokens));
        found.expect_same(Rule::ContextUsage, "/data/contextUsage/tokens", what, &size, &told);
    }

    /// Judges the context usage in the state, which has the model, too.
    pub(super) fn context_of_state(state: &SessionState, at: &FrameContext, found: &mut Findings) {
        let Some(usage) = &state.context_usage else { return };
        is_scaled(usage, found);
        // A virtual model has the window of the one that has answered.
        if let Some(model) = state.model.as_ref().filter(|model| !is_virtual(model, at.dialect)) {
            let (at, what) = ("/data/contextUsage/contextWindow", "the window of the model");
            found.expect_same(Rule::ContextUsage, at, what, &model.context_window, &usage.context_window);
        }
    }
}

/// Judges that the percentage is that of the tokens.
fn is_scaled(usage: &ContextUsage, found: &mut Findings) {
    let percent = usage.percent.as_ref().and_then(serde_json::Number::as_f64);
    let expected = usage.tokens.map(|tokens| tokens as f64 / usage.context_window as f64 * 100.0);
    let same = match (expected, percent) {
        (Some(expected), Some(percent)) => (expected - percent).abs() <= ROUNDED * expected.abs().max(1.0),
        (expected, percent) => expected.is_none() == percent.is_none(),
    };
    found.expect(Rule::ContextUsage, same, || match expected {
        Some(expected) => format!("{expected} at /data/contextUsage/percent"),
        None => "null at /data/contextUsage/percent, as the tokens are".to_owned(),
    });
}
