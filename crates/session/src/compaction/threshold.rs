//! Decides when a context is full.

use pi_rpc_protocol::DialectCompaction;

/// Whether a context of `tokens` leaves less of the model's `window` free than `reserve`, or than the dialect's share
/// of the window where that is more. All in tokens; a `window` of 0 is unknown, and never full.
///
/// Source: pi source, xcsh source.
pub const fn is_full(tokens: u64, window: u64, reserve: u64, rules: &DialectCompaction) -> bool {
    // Rounded down; divided first to avoid an overflow.
    let share = window / 100 * rules.reserve_share + window % 100 * rules.reserve_share / 100;
    let free = if share > reserve { share } else { reserve };
    window > 0 && tokens > window.saturating_sub(free)
}
