//! A line that a server wrote and that is no frame of the dialect, with what is known of it.

use crate::{
    machine::{kind::Kind, requests::ResponseHead},
    protocol::RuleId as Rule,
};

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableFrame {
    /// What it would have been; none of what the dialect does not know.
    pub kind: Option<Kind>,
    /// Of a response: what it answers.
    pub answer: Option<ResponseHead>,
    /// The rule that it breaks by being unreadable.
    pub rule: Rule,
    /// What was expected, and where.
    pub expected: String,
}
