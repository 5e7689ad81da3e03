//! The checks of counts, equalities and prefixes: what a frame's kind cannot say. [`Checks`] follows the runs, and only
//! sees frames that are legal where they stand; [`Beside`] follows what goes on beside them, and sees everything.

pub(super) mod aborts;
pub(super) mod answers;
pub(super) mod asked;
pub(super) mod asks;
pub(super) mod beside;
pub(super) mod compaction;
pub(super) mod conversation;
pub(super) mod counts;
pub(super) mod delays;
pub(super) mod ending;
pub(super) mod entries;
pub(super) mod extensions;
pub(super) mod growing;
pub(super) mod host_tools;
pub(super) mod host_work;
pub(super) mod moment;
pub(super) mod progress;
pub(super) mod promises;
pub(super) mod prompts;
pub(super) mod queue;
pub(super) mod queues;
pub(super) mod reminders;
pub(super) mod run;
pub(super) mod sayings;
pub(super) mod seen;
pub(super) mod session_entries;
pub(super) mod session_facts;
pub(super) mod session_log;
pub(super) mod session_reads;
pub(super) mod session_sight;
pub(super) mod settling;
pub(super) mod shells;
pub(super) mod skips;
pub(super) mod switches;
pub(super) mod tail;
pub(super) mod told;
pub(super) mod turn;
pub(super) mod turns;
pub(super) mod usage;

pub use beside::Beside;
pub use conversation::Checks;
pub use ending::End;
pub use moment::Moment;
