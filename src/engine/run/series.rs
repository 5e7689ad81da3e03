//! State that outlives a run: the chain of runs, retries, overflow.

/// State that earlier runs leave for the next one.
#[derive(Debug, Default)]
pub struct Series {
    /// The open chain of runs, in dialects with `agent_settled`.
    pub chain: Option<Chain>,
    /// Retries in a row.
    pub attempt: u64,
    /// Whether a compaction for an overflow was already tried, so that another would not help.
    pub overflowed: bool,
    /// Whether an automatic compaction was cancelled for a prompt, whose run opens without one.
    pub skips_compaction: bool,
}

/// A chain of runs that follow by themselves, from the first `agent_start` on.
#[derive(Debug)]
pub struct Chain {
    /// Whether the chain was aborted.
    pub aborted: bool,
}
