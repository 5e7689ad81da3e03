//! The state machine over frames: the current state, the disposition of a command in it, and the rules for every frame.
//!
//! The server runs the [`Machine`] over everything it reads and emits, the oracle runs the same one over recordings. It
//! knows frames only, no engine and no IO; a clock is optional.
//!
//! The state has four orthogonal regions: `flow` (a statig hierarchy in [`flow`](self), written by hand because people read
//! it), dialogs, shell commands, and the end of input. Each frame takes this way:
//!
//! - It is reduced to its [`Kind`]: its type plus role, delta type, `success` or `stopReason`. Kinds are finite, so that
//!   [`walk`] covers every state and kind, and the chart is generated from it.
//! - An outbound frame moves `flow`. An inbound frame opens a [request](Requests), which remembers every state until its
//!   response: the server may have handled the command in any of them.
//! - The checks judge what kinds cannot express (counts, equalities, prefixes): [`RunChecks`] the messages of runs,
//!   [`ConversationChecks`] everything else.
//! - A frame that breaks a rule yields a [`Violation`]; then the machine resynchronizes and goes on.

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

pub use chart::{Arrow, Cell, Edge, arrows, chart, edges, required_events, superstates, walk};
pub use checks::{ConversationChecks, FrameContext, RunChecks, ServerExit};
pub use difference::Difference;
pub use envelope::Envelope;
pub use findings::{BrokenRule, Findings, RuleSet};
pub use kind::{Kind, Step};
pub use pi_rpc_protocol::{RuleId as Rule, Tier};
pub use regions::Machine;
pub use requests::{OpenRequest, Requests, ResponseHead, ResponseMatch, StrayResponse};
pub use session_state::levels::{Levels, without_thinking};
pub use state::State;
pub use unreadable_frame::UnreadableFrame;
pub use violation::Violation;
