//! What a compaction has made of the conversation.

use super::{Preparation, files::without_lists};
use crate::protocol::{CompactionResult, DialectCompaction, JsonObject, texts};

impl Preparation {
    /// Puts the summary together from what the models said: of the history, and of the beginning of the split turn.
    ///
    /// Where there was no history to sum up, the summary of the compaction before takes its place: the originals drop
    /// it there, and with it everything that it stands for.
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

    /// What the host is told and the session keeps; `short` is the short summary, where the dialect has one.
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
        }
    }
}
