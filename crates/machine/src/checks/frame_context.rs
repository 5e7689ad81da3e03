//! The context of a frame for the checks.

use crate::{spoken::Spoken, state::State};
use pi_rpc_protocol::{Base, Dialect, DialectRecord};

/// The context of a frame: the states around it, its number and its time.
#[derive(Clone, Copy, Debug)]
pub struct FrameContext {
    /// The dialect of the conversation.
    pub dialect: Dialect,
    /// Whether one of its other versions may be spoken instead.
    pub any_version: bool,
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

    /// Whether the record of the dialect, or of one of the versions that may be spoken, is as wanted.
    pub fn may(&self, wanted: impl Fn(&DialectRecord) -> bool) -> bool {
        Spoken { dialect: self.dialect, any_version: self.any_version }.may(wanted)
    }
}
