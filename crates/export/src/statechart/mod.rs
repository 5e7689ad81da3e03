//! The chart of a dialect for other people's interpreters of state machines.
//!
//! `events` names the events: one for each kind of frame, so that no guard is needed. `model` combines the walk of the machine, the
//! dispositions of commands and the regions of `states.json` to states that list the events that they accept; `xstate` and `scxml`
//! write it in the two languages. What a state does not list is illegal in it, and leads nowhere.

mod events;
mod model;
mod scxml;
mod xstate;

pub use events::{CommandEvent, command_events, event_name};
pub use scxml::scxml;
pub use xstate::xstate;
