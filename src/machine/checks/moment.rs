//! Where a frame stands.

use crate::{
    machine::state::State,
    protocol::{Base, Dialect},
};

/// Where a frame stands.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
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
}

impl Moment {
    pub(super) const fn base(&self) -> Base {
        self.dialect.base()
    }
}
