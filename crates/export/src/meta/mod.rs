//! The meta file: properties of a dialect that JSON Schema cannot express, as data. Legality and responses of commands, cases
//! of events, the chart, texts of errors, rules, defaults and limits.
//!
//! Everything is derived from the tables and the machine that the server runs and the oracle judges by, so it cannot
//! contradict them. `types` is the shape of the file, `builder` makes it, `session` the part about the session's state.

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
