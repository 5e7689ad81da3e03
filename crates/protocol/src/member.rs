//! How a member of a frame becomes the value of a member of the session's state.

/// Takes what a frame has as the value of a member of the session's state; `None`: the frame tells nothing of it.
///
/// A frame may have the value itself; or leave out what the dialect does not have; or leave out what has no value.
pub trait IntoMember<T> {
    /// The value.
    fn into_member(self) -> Option<T>;
}

impl<T> IntoMember<T> for T {
    fn into_member(self) -> Option<T> {
        Some(self)
    }
}

impl<T> IntoMember<Option<T>> for T {
    fn into_member(self) -> Option<Option<T>> {
        Some(Some(self))
    }
}

impl<T> IntoMember<T> for Option<T> {
    fn into_member(self) -> Self {
        self
    }
}
