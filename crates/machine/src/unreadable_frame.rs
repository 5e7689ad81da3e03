//! A line of a server that is not a valid frame, as far as it could be read.

use crate::{kind::Kind, requests::ResponseHead};
use pi_rpc_protocol::RuleId as Rule;

/// A line that is not a valid frame of the dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableFrame {
    /// The kind that the frame would have had; `None` if the dialect does not know it.
    pub kind: Option<Kind>,
    /// The identifying members, if it is a response.
    pub answer: Option<ResponseHead>,
    /// The rule that the line breaks.
    pub rule: Rule,
    /// The expectation, with the place in the frame.
    pub expected: String,
}
