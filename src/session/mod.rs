//! The session: the conversation so far and what is known of it.
//!
//! - [`Memory`]: a session that is kept in memory only.
//! - [`totals`]: what `get_session_stats` counts.

mod memory;
mod stats;

pub use memory::Memory;
pub use stats::{Totals, totals};
