//! Where a frame stands.

use crate::{
    machine::state::State,
    protocol::{Base, Dialect},
};

/// Where a frame stands.
#[derive(Clone, Copy, Debug)]
pub struct FrameContext {
    /// The dialect that is spoken.
    pub dialect: Dialect,
    /// The state that the frame met.
    pub met: State,
    /// The state behind it.
    pub now: State,
    /// The number of the frame, both directions counted together.
    pub frame: u64,
    /// A string in it was shortened.
    pub cut: bool,
    /// When it came, in milliseconds of the recording's clock; none without a clock.
    pub time: Option<u64>,
    /// The conversation was seen from the start of the process on, and every line of the host could be read.
    pub whole: bool,
    /// Something has shown that extensions are there, which may change what they like.
    pub has_extensions: bool,
}

impl FrameContext {
    /// The dialect whose frames are spoken.
    pub const fn base(&self) -> Base {
        self.dialect.base()
    }
}
