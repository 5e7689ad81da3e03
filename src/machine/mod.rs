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
//! - What kinds cannot say (counts, equalities, prefixes) are the named checks beside it: of the runs ([`RunChecks`]) and of what goes on [beside](ConversationChecks) them.
//! - A frame that may not be said gives a [`Violation`]; then the machine resynchronises and goes on.

mod chart;
mod checks;
mod difference;
mod envelope;
mod findings;
mod flow;
mod kind;
mod placement;
mod regions;
mod requests;
mod session_state;
mod state;
mod unreadable_frame;
mod violation;

pub use crate::protocol::{RuleId as Rule, Tier};
pub use chart::{Arrow, Cell, Edge, arrows, chart, edges, required_events, superstates, walk};
pub use checks::{ConversationChecks, FrameContext, RunChecks, ServerExit};
pub use difference::Difference;
pub use envelope::Envelope;
pub use findings::{BrokenRule, Findings, RuleSet};
pub use kind::{Kind, Step};
pub use regions::Machine;
pub use requests::{OpenRequest, Requests, ResponseHead, ResponseMatch, StrayResponse};
#[cfg(feature = "serve")]
pub(crate) use session_state::levels::{Levels, without_thinking};
pub use state::State;
pub use unreadable_frame::UnreadableFrame;
pub use violation::Violation;
