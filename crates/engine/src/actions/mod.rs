//! What the engine does for the actions of extensions.

pub(super) mod navigation;
pub(super) mod perform;
pub(super) mod side_calls;
pub(super) mod task;
