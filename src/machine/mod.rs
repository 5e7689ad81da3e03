//! The state machine over frames: which state are we in, what becomes of this command here, may this be said now?
//!
//! Four regions stand side by side: `flow` (a statig hierarchy in [`flow`](self), written by hand because it is the
//! document that people read), `asks`, `shell` and `input`. The server runs the machine over everything that it reads
//! and says; the oracle runs the same one over what it sees. Both know frames only, no clock and no engine.
//!
//! - Its alphabet is [`Kind`]: a frame reduced to its type plus role, delta type, `success` or `stopReason`. So the
//!   walk over every state and kind is exact and finite, and the chart is made from it.
//! - `flow` changes on outbound frames alone: the server meets a command when it handles it, the oracle sees it when
//!   the host wrote it. An inbound frame opens a [request](Requests) and remembers the states that it can have met.
//! - What kinds cannot say (counts, equalities, prefixes) are the named checks beside it: of the runs ([`Checks`]) and of what goes on [beside](Beside) them.
//! - A frame that may not be said gives a [`Violation`]; then the machine resynchronises and goes on.

mod chart;
mod checks;
mod difference;
mod envelope;
mod findings;
mod flow;
mod kind;
mod places;
mod regions;
mod requests;
mod session_state;
mod state;
mod unread;
mod violation;

pub use crate::protocol::{RuleId as Rule, Tier};
pub use chart::{Arrow, Cell, Edge, around, arrows, before, chart, edges, walk};
pub use checks::{Beside, Checks, End, Moment};
pub use difference::Difference;
pub use envelope::Envelope;
pub use findings::{Broken, Findings, RuleSet};
pub use kind::{Kind, Step};
pub use regions::Machine;
pub use requests::{Answer, Answered, Open, Requests, Stray};
#[cfg(feature = "serve")]
pub(crate) use session_state::levels::{Levels, without_thinking};
pub use state::State;
pub use unread::Unread;
pub use violation::Violation;
