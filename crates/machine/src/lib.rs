//! The state machine over frames: the current state, the disposition of a command in it, and the rules for every frame.
//!
//! For everything that follows a conversation: a server checks what it emits, a client learns what it may send, a judge finds
//! what is wrong in a recording. All of them run the same [`Machine`].
//!
//! It knows frames only: no engine and no IO, and it reads no clock. A user that knows the time of frames may give it
//! ([`Machine::time`]); without it nothing is late. It never refuses a frame or repairs it: a frame that breaks a rule yields a
//! [`Violation`]; then the machine resynchronizes and goes on.
//!
//! - [`Machine`]: the machine of one conversation; its states may carry data ([`Carried`]). [`State`]: the state of its regions.
//! - [`Kind`]: a frame reduced to its type plus role, delta type, `success` or `stopReason`.
//! - [`Violation`], [`Rule`], [`Difference`]: a frame that broke a rule, the rule, the member that differs.
//! - [`Requests`]: the outstanding requests of the host.
//! - [`walk`], [`arrows`], [`edges`], [`chart`](chart()): the chart, generated from the machine.
//!
//! The state has five orthogonal regions, each a statig machine: `flow` (a hierarchy; which frames are legal in a state and
//! where they lead is the schema's `x-fires-in`, what no event shows is written by hand), `asks` (open dialogs), `shell` (bash
//! commands of the host), `switch` (whether the session is being changed) and `input` (the [`Lifecycle`] of the process). Each frame takes this way:
//!
//! - It is reduced to its [`Kind`]. Kinds are finite, so that [`walk`] covers every state and kind, and the chart is generated
//!   from it.
//! - An outbound frame moves `flow`. An inbound frame opens a [request](Requests), which remembers every state until its
//!   response: the server may have handled the command in any of them.
//! - The checks judge what kinds cannot express (counts, equalities, prefixes): [`RunChecks`] the messages of runs,
//!   [`ConversationChecks`] everything else.
//!
//! ```
//! use pi_rpc_machine::Machine;
//! use pi_rpc_protocol::{Dialect, Emission, FlowState, Inbound, Outbound, read};
//!
//! let mut machine = Machine::new(Dialect::Pi, true);
//! let abort: Inbound = read(br#"{"id":"1","type":"abort"}"#, Dialect::Pi)?;
//! let response: Outbound = read(br#"{"id":"1","type":"response","command":"abort","success":true}"#, Dialect::Pi)?;
//! assert!(machine.inbound(&abort).is_empty());
//! assert!(machine.outbound(&Emission::Frame(response.clone())).is_empty());
//! assert_eq!(machine.flow(), FlowState::Idle);
//! // No request is outstanding.
//! let violations = machine.outbound(&Emission::Frame(response));
//! assert_eq!(violations[0].rule.as_str(), "resp-once");
//! # Ok::<(), pi_rpc_protocol::ReadError>(())
//! ```

mod asks;
mod carrier;
mod chart;
mod checks;
mod difference;
mod envelope;
mod findings;
mod flow;
mod kind;
mod lifecycle;
mod machine;
mod placement;
mod region_steps;
mod requests;
mod session_state;
mod session_switch;
mod shell;
mod spoken;
mod state;
mod unreadable_frame;
mod violation;

pub use carrier::Carried;
pub use chart::{Arrow, Cell, Edge, arrows, chart, edges, required_events, superstates, walk};
pub use checks::{ConversationChecks, FrameContext, RunChecks, ServerExit};
pub use difference::Difference;
pub use envelope::Envelope;
pub use findings::{BrokenRule, Findings, RuleSet};
pub use kind::{Kind, Step};
pub use lifecycle::{Lifecycle, LifecycleEvent};
pub use machine::Machine;
pub use pi_rpc_protocol::{RuleId as Rule, Tier};
pub use region_steps::{RegionStep, region_steps};
pub use requests::{OpenRequest, Requests, ResponseHead, ResponseMatch, StrayResponse};
pub use session_state::{
    known_members::KnownMembers,
    member_history::{Knowledge, MemberHistory},
    prices::{Costs, PricedTokens, costs},
};
pub use session_switch::{SessionSwitch, SwitchEvent};
pub use state::State;
pub use unreadable_frame::UnreadableFrame;
pub use violation::Violation;
