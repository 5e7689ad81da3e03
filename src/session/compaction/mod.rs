//! Compaction: the older part of a conversation gives way to a summary of it. Here is everything about it that can be
//! worked out; the engine asks the model and says what happens, the store keeps the entry.
//!
//! 1. [`is_full`] tells from [`context_tokens`] that it is time; messages are weighed by [`estimate`].
//! 2. [`prepare`] looks at the way from the root to the leaf, a list of [`PathEntry`], and decides what is kept as it is
//!    and what is summed up: a [`Preparation`], or [`NothingToCompact`].
//! 3. [`Preparation::history_request`], [`Preparation::prefix_request`] and [`short_request`] are what a model is asked.
//! 4. [`Preparation::summary`] puts the answers together, with the lists of [`Files`]; [`Preparation::result`] is what
//!    hosts are told and the session keeps. A [`checkpoint`] of the system messages goes with it.

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
pub use files::Files;
pub use path::{PathEntry, PathEntryKind};
pub use prepare::{NothingToCompact, Preparation, prepare, prepare_overflow};
pub(super) use requests::branch_request;
pub use requests::{SummaryRequest, short_request};
pub use result::sum_usage;
pub use threshold::is_full;
