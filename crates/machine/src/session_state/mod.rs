//! Models of the session's state, fed by frames. They store what is known and judge nothing: the rules are in `checks`.
//!
//! A recording may begin anywhere, so everything is unknown until a frame shows it, and again after frames were missed. A
//! response may have been decided before frames that precede it: a read may report any value that its member had since the
//! read was written.
//!
//! - Members of the state: `known_members` (all of them, and what `x-effects` of the schema makes of them; the client stores
//!   them so, too), `known_state` (them, with the outstanding commands), `member_history` (one of them over time), `levels` (thinking levels), `todos`, `session_history` (earlier sessions).
//! - Messages: `message_log` (in memory and in the session), `message_record` (what is stored of one), `list_match` (compares
//!   them with a list), `fork_points`, `shells` (messages of shell commands), `answer_texts` (of the whole process).
//! - Entries: `entries`.
//! - Usage: `totals`, `prices`, `context`.
//! - `inactive_sessions`: messages and entries of earlier sessions. `digest`: stands for values that are only compared.

pub(super) mod answer_texts;
pub(super) mod context;
pub(super) mod digest;
pub(super) mod entries;
pub(super) mod fork_points;
pub(super) mod inactive_sessions;
pub(super) mod known_members;
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
