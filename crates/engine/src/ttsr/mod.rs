//! *Time traveling stream rules* (TTSR, their name in oh-my-pi and xcsh), which stop an answer: text is matched while it
//! streams; an answer that breaks a rule is aborted, taken back and requested again, with the rule in the context.
//!
//! [`Rules`] finds out which rules apply, and makes the message that tells the model of them. Stopping the answer and
//! opening the next run is the engine's.
//!
//! - `rules`: the rules of a session, those already injected, and the matching.
//! - `rule`: one compiled rule.
//!
//! What the published sources leave open is decided here, as simply as possible:
//!
//! - A rule without conditions watches nothing; one with several applies when any of them matches.
//! - `scope` holds `text`, `thinking`, `tool` and `tool:<name>`; without one, everything is watched.
//! - A rule with `globs` watches only tool calls whose `path` (or `file_path`) fits one of them.
//! - `interruptMode` without a value is `always`. As nothing but an interruption brings a rule to the model, a rule with
//!   `never` watches nothing.
//! - Conditions see what is streamed: of tool calls the JSON text of the arguments.
//! - A rule is injected once in a session.
//!
//! Source: xcsh source. xcsh alone has them.

pub(crate) mod rule;
pub(crate) mod rules;

pub use rule::WatchedContent;
pub use rules::{INJECTION, Rules};
