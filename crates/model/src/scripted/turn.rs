//! One turn of a script: its condition and its content.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{block::Block, failure::Failure, pattern::Pattern, player::ScriptedCall};
use crate::types::{Finish, TokenCounts};

/// Characters of a delta if the script sets none.
const DEFAULT_DELTA_CHARS: u32 = 20;

/// Characters that count as a token in an estimate.
const CHARS_PER_TOKEN: u64 = 4;

/// One answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Turn {
    /// Take this turn only when the newest user message fits.
    #[serde(rename = "match")]
    pub prompt: Option<Pattern>,
    /// Take this turn only when the answer is to a tool's result, and the text of the last result fits
    /// (`""` fits every result).
    pub on_result: Option<Pattern>,
    /// This turn answers requests for a summary by a compaction, and no others. Without such a turn the model invents
    /// a summary. Behind a vendor's HTTP API these requests cannot be recognized: use `match` there.
    pub summary: bool,
    /// Keep this turn for further calls instead of taking it once.
    pub repeat: bool,
    /// The blocks of the answer.
    pub say: Vec<Block>,
    /// The tokens to report; omitted ones are estimated from the lengths of the texts.
    pub usage: Option<ScriptedUsage>,
    /// The reason for the end: by default `toolUse` after a tool call, else `stop`.
    pub stop: Option<Finish>,
    /// The answer ends without the reason for its end, and so has failed. Behind a vendor's HTTP API the body ends as that
    /// of a whole answer, such as by `[DONE]`.
    pub no_reason: bool,
    /// The answer fails: at once without blocks, else after them. The last block then stays open.
    pub fail: Option<Failure>,
    /// The answer never ends: the model falls silent after the blocks, or at once without any. The last block then
    /// stays open.
    pub hang: bool,
    /// Fail or hang after this number of deltas, counted over all blocks, instead of after all of them.
    pub after_deltas: Option<u32>,
    /// Behind a vendor's HTTP API: cut the connection after this number of bytes of the response's body. Ignored
    /// elsewhere.
    pub cut_after_bytes: Option<u64>,
    /// Behind a vendor's HTTP API: members that are merged over the last event of a streamed answer (RFC 7396), in that
    /// vendor's form. Ignored elsewhere.
    pub last_event: Option<Map<String, Value>>,
    /// Milliseconds before the first block or the failure (default 0).
    pub first_delay_ms: u64,
    /// Characters of a delta, in blocks without a `size` of their own (default 20); 0: each block in one.
    pub size: Option<u32>,
    /// Milliseconds before each delta, in blocks without a `delay_ms` of their own (default 0).
    pub delay_ms: u64,
}

impl Turn {
    /// The failure that replaces the whole answer, with the status of an HTTP API; `None`: the turn has content.
    pub fn refusal(&self) -> Option<&Failure> {
        self.fail.as_ref().filter(|_| self.say.is_empty())
    }

    /// Whether the turn fits `ask`.
    pub(super) fn fits(&self, ask: &ScriptedCall<'_>) -> bool {
        let prompt_fits = self.prompt.as_ref().is_none_or(|pattern| pattern.fits(ask.prompt));
        let result_fits = self.on_result.as_ref().is_none_or(|pattern| {
            let last = ask.results.last();
            last.is_some_and(|result| pattern.fits(&result.text))
        });
        self.summary == ask.summary && prompt_fits && result_fits
    }

    /// Whether the answer never ends regularly.
    pub(super) fn is_cut_short(&self) -> bool {
        self.hang || self.fail.is_some()
    }

    /// The reason for which the answer ends.
    pub(super) fn finish(&self) -> Finish {
        let calls_tool = self.say.iter().any(|block| matches!(block, Block::Tool(_)));
        self.stop.unwrap_or(if calls_tool { Finish::ToolUse } else { Finish::Stop })
    }

    /// Characters of a delta of `block`; 0: one delta.
    pub(super) fn delta_chars(&self, block: &Block) -> u32 {
        block.size().or(self.size).unwrap_or(DEFAULT_DELTA_CHARS)
    }

    /// Usage of the whole answer with `output_chars` of text.
    pub(super) fn tokens(&self, ask: &ScriptedCall<'_>, output_chars: u64) -> TokenCounts {
        let scripted = self.usage.unwrap_or_default();
        let input_chars = u64::try_from(ask.input_chars).unwrap_or(u64::MAX);
        TokenCounts {
            input: scripted.input.unwrap_or(input_chars.div_ceil(CHARS_PER_TOKEN)),
            output: scripted.output.unwrap_or(output_chars.div_ceil(CHARS_PER_TOKEN)),
            cache_read: scripted.cache_read,
            cache_write: scripted.cache_write,
            ..TokenCounts::default()
        }
    }
}

/// The usage that a turn reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptedUsage {
    /// Input tokens, without the cache; estimated by default.
    pub input: Option<u64>,
    /// Output tokens; estimated by default.
    pub output: Option<u64>,
    /// Tokens read from the cache (default 0).
    pub cache_read: u64,
    /// Tokens written to the cache (default 0).
    pub cache_write: u64,
}
