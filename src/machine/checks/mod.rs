//! The checks of counts, equalities and prefixes: what a frame's kind cannot say. [`Checks`] follows the runs, and only
//! sees frames that are legal where they stand; [`Beside`] follows what goes on beside them, and sees everything.

mod answers;
mod asks;
mod beside;
mod compaction;
mod conversation;
mod counts;
mod ending;
mod entries;
mod growing;
mod host_tools;
mod progress;
mod queues;
mod run;
mod seen;
mod settling;
mod shells;
mod tail;
mod told;
mod turn;
mod usage;

pub use beside::{Beside, Moment};
pub use conversation::Checks;
pub use ending::End;
pub(super) use run::has_broken_down;
