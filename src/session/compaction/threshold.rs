//! When a context is too full to go on with.

use crate::protocol::DialectCompaction;

/// Whether a context of `tokens` leaves less free of the model's `window` than is to be kept: `reserve`, or the
/// dialect's share of the window where that is more. All are tokens; a window of 0 is not known, so never full.
///
/// Source: pi source, xcsh source.
pub const fn is_full(tokens: u64, window: u64, reserve: u64, rules: &DialectCompaction) -> bool {
    // Rounded down; divided first so that no window is too large.
    let share = window / 100 * rules.reserve_share + window % 100 * rules.reserve_share / 100;
    let free = if share > reserve { share } else { reserve };
    window > 0 && tokens > window.saturating_sub(free)
}
