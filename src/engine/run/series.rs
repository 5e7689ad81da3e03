//! What outlives a run for the next one: runs that follow one another by themselves.

/// Runs that follow one another: what earlier ones mean for the next.
#[derive(Debug, Default)]
pub struct Series {
    /// The open chain of runs, in dialects with `agent_settled`.
    pub chain: Option<Chain>,
    /// How often in a row a failed run was tried again.
    pub attempt: u64,
    /// The context was too long once already: compacting it again would not help.
    pub overflowed: bool,
    /// An automatic compaction was ended for a prompt: its run opens without one.
    pub skips_compaction: bool,
}

/// Runs that follow one another by themselves, from the first `agent_start` on.
#[derive(Debug)]
pub struct Chain {
    /// An abort was asked for since.
    pub aborted: bool,
}
