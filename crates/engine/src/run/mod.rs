//! One run: its turns, its tool calls, and what follows it.

pub(super) mod after_run;
pub(super) mod batch;
pub(super) mod boundary;
pub(super) mod calls;
pub(super) mod chain;
pub(super) mod compact;
pub(super) mod compaction;
pub(super) mod deferred;
pub(super) mod nested_calls;
pub(super) mod partial_message;
pub(super) mod prompt_results;
pub(super) mod reminders;
pub(super) mod retry;
pub(super) mod rules;
pub(super) mod run_tools;
pub(super) mod series;
pub(super) mod state;
pub(super) mod summaries;
pub(super) mod summarize;
pub(super) mod turns;
pub(super) mod waiting_run;
