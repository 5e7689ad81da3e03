//! A world in virtual time for the engine, and the rules that every conversation in it must keep.
//!
//! ```text
//! scenario ─→ world ─ inputs ─→ Engine ─ outputs ─→ watch ─→ requests   one response each, in order
//!               ↑                  │                  ├────→ talk       runs, turns, queues, messages
//!               └──── actors ◄─────┘                  ├────→ calls      the tool calls of a turn
//!        (models, tools, shells)                      └────→ wire       the same as bytes
//! ```
//!
//! A [`Scenario`] is data: what the host writes and when, what the model says, how long tools and shells take. The
//! world lets it happen, without a clock: the next thing due is simply next. The watch follows what comes out with a
//! model of its own, made from the documents and not from the engine, and objects as soon as the two differ.
//!
//! Here nothing is kept in files, tried again or compacted: that is for the conversations of `lasting_support`.

mod actors;
mod calls;
pub mod lines;
mod requests;
mod scenario;
mod talk;
mod watch;
mod wire;
mod world;

pub use scenario::{Act, Close, Ending, Scenario, Work, closes, crowded, scenarios};
pub use world::play;

/// Whether a rule holds; if not, what is wrong.
pub type Checked = Result<(), String>;

/// Returns the text as an error unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}
pub(crate) use ensure;
