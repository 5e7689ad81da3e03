//! Conversion of a member of a frame into the value of a member of the session state.

/// Conversion of a member of a frame into a value of the session state; `None`: the frame does not report the value.
///
/// The frame may have the value itself, or omit it because the dialect does not have it, or because there is no value.
pub trait IntoMember<T> {
    /// Converts the member.
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
