//! The state of the session as far as frames tell it.
//!
//! Each member is known, one of several values, or unknown: a recording may begin anywhere. `x-effects` of the schema says
//! what commands and events make of the members, `x-tells` which response tells one; what is told is compared with what is
//! known. A response may have been decided before frames that stand above it: a read may tell any value that its member
//! had since the read was written.
//!
//! - `slot`: what is known of one member, and what it was before.
//! - `facts`: all members, fed by frames.
//! - `levels`: the thinking levels that a model takes, as far as it is told.
//! - `sessions`: the sessions that a process has had.
//! - `todos`: what the model writes.
//! - `said_answers`: the texts of all answers of a process.
//!
//! What was said is a list of its own: `log` (the messages in memory), `entries` (those of the session), `account` (what they
//! used and cost, by `prices`), `context` (how much of it a model has), `shells` (what waits for the end of a run), `fork_points`; `left`: what was known of them in
//! the sessions that were left. What is only compared is kept as a `digest`. All of it is unknown until frames tell it, and
//! again where some of them were missed.

pub(super) mod answer_texts;
pub(super) mod context;
pub(super) mod digest;
pub(super) mod entries;
pub(super) mod fork_points;
pub(super) mod inactive_sessions;
pub(super) mod known_state;
pub(super) mod levels;
pub(super) mod list_match;
pub(super) mod member_history;
pub(super) mod message_log;
pub(super) mod message_record;
pub(super) mod prices;
pub(super) mod session_history;
pub(super) mod shells;
pub(super) mod todos;
pub(super) mod totals;
