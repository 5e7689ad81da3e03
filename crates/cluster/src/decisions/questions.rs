//! Questions about tool calls that wait for a client: when the record says that a run waits, and what its next owner does.
//!
//! The next owner of a session resumes the run that the record names, and asks its question again. So the run is taken out of the
//! record before the tool call begins that was asked about, and an owner that does not resume a run tells the clients.

/// Whether what a session says of its question is true now: not if lines are `taken` with the same record, or if it has not
/// `handled` all lines that it was `given`, as one of them may be the answer.
pub const fn is_current(taken: bool, handled: u64, given: u64) -> bool {
    !taken && handled == given
}

/// What becomes of the run that the owner before has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftRun {
    /// It goes on, and its question is open.
    GoesOn,
    /// What was cut of it is closed.
    Closed {
        /// Whether clients are told: the owner before was not idle.
        is_told: bool,
    },
}

impl LeftRun {
    /// Decides by the record: whether it says that the run `waits`, and whether the owner before has left work that `is_cut`.
    pub const fn of(waits: bool, is_cut: bool) -> Self {
        if waits { Self::GoesOn } else { Self::Closed { is_told: is_cut } }
    }
}
