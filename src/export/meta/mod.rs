//! What JSON Schema cannot say of one dialect, as data: which command is legal where and what answers it, which event
//! may fire when and after what, the chart, the texts of errors, the rules, defaults and limits.
//!
//! Everything in it is taken from the tables and the machine that the server runs and the oracle judges by; nothing is
//! listed a second time.

mod builder;
mod frames;
mod session;
mod types;

pub use builder::{meta, meta_schema};
pub use types::{
    Chart, CommandAbout, DialogAbout, EffectAbout, EffectCondition, ErrorAbout, EventAbout, EventCase,
    FlowStep, Limits, MemberAbout, Meta, Outcome, Region, RuleInMeta, SessionAbout, StateAbout, Trigger,
    When,
};
