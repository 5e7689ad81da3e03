//! The context of a frame for the checks.

use crate::state::State;
use pi_rpc_protocol::{Base, Dialect};

/// The context of a frame: the states around it, its number and its time.
#[derive(Clone, Copy, Debug)]
pub struct FrameContext {
    /// The dialect of the conversation.
    pub dialect: Dialect,
    /// The state before the frame.
    pub met: State,
    /// The state after the frame.
    pub now: State,
    /// The number of the frame, counting both directions.
    pub frame: u64,
    /// Whether strings in the frame were shortened.
    pub cut: bool,
    /// The time of the frame in milliseconds, if there is a clock.
    pub time: Option<u64>,
    /// Whether the conversation was observed from the start of the process, and every line of the host was valid.
    pub whole: bool,
    /// Whether extensions are loaded, which may change anything without a frame.
    pub has_extensions: bool,
}

impl FrameContext {
    /// The base of the dialect.
    pub const fn base(&self) -> Base {
        self.dialect.base()
    }
}
