//! Compaction: a summary replaces the older part of a conversation. This module computes; the engine sends the
//! requests and emits the events, the session stores the entry.
//!
//! 1. [`is_full`] decides from [`context_tokens`] when to compact; [`estimate`] estimates the tokens of a message.
//! 2. [`prepare`] reads the branch from the root to the leaf, a list of [`PathEntry`], and decides which messages are
//!    kept and which are summarized: a [`Preparation`], or [`NothingToCompact`].
//! 3. [`Preparation::history_request`], [`Preparation::prefix_request`] and [`short_request`] build the requests to
//!    the model.
//! 4. [`Preparation::summary`] joins the answers with the lists of [`TouchedFiles`]; [`Preparation::result`] is the result
//!    for hosts and the session. A [`checkpoint`] of the system messages goes with it.

mod checkpoint;
mod cut;
mod estimate;
mod files;
mod lines;
mod path;
mod prepare;
mod prompts;
mod requests;
mod result;
mod threshold;

pub use checkpoint::checkpoint;
pub use estimate::{context_tokens, estimate, is_counted};
pub use files::TouchedFiles;
pub use path::{PathEntry, PathEntryKind};
pub use prepare::{NothingToCompact, Preparation, prepare, prepare_overflow};
pub(super) use requests::branch_request;
pub use requests::{SummaryRequest, short_request};
pub use result::sum_usage;
pub use threshold::is_full;
