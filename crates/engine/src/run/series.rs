//! State that outlives a run: the chain of runs, retries, overflow.

use crate::run::prompt_results::PromptResults;
use pi_rpc_protocol::{AgentMessage, AssistantMessage};
use std::sync::Arc;

/// State that earlier runs leave for the next one.
#[derive(Debug, Default)]
pub struct Series {
    /// The open chain of runs, in dialects with a frame at the end of it.
    pub chain: Option<Chain>,
    /// Ids of messages, in dialects that have them.
    pub message_ids: MessageIds,
    /// The prompts that `prompt_result` is to end.
    pub prompt_results: PromptResults,
    /// Retries in a row.
    pub attempt: u64,
    /// The failed answer that the next request repeats, for the router of a virtual model.
    pub failed_answer: Option<Box<AssistantMessage>>,
    /// Whether a compaction for an overflow was already tried, so that another would not help.
    pub overflowed: bool,
    /// Whether a run with the messages that are queued follows the chain that has ended.
    pub delivers_queued: bool,
    /// Whether an automatic compaction was cancelled for a prompt, whose run opens without one.
    pub skips_compaction: bool,
}

/// The ids that messages have had in this process.
#[derive(Debug, Default)]
pub struct MessageIds {
    /// The last one.
    pub last: u64,
    /// Those of messages that have begun and not ended.
    pub open: Vec<u64>,
}

/// A chain of runs that follow by themselves, from the first `agent_start` on.
#[derive(Debug, Default)]
pub struct Chain {
    /// Whether the chain was aborted.
    pub aborted: bool,
    /// Whether messages that are queued wait for the next prompt.
    pub keeps_queue: bool,
    /// Messages of its last run, where `agent_end` comes at the end of the chain.
    pub messages: Vec<Arc<AgentMessage>>,
    /// Whether extensions were told after its last run that it is about to settle.
    pub is_settling: bool,
    /// Attempt of a retry that has succeeded, where that is emitted at the end of the chain.
    pub recovered: Option<u64>,
}
