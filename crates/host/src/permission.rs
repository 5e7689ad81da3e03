//! Who may touch a session.
//!
//! [`permit`] is the only function that decides it, and the only one that makes a [`Permitted`]: connections get the handle of a
//! session, or the path of its file, in no other way. Principals that may not are told what they would be told of a session that
//! does not exist.

use super::{host_error::HostError, principal::Principal};
use std::ops::Deref;

/// Whose a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOwner<'a> {
    /// The principal of this name has opened it.
    Opener(&'a str),
    /// Nobody is known to have opened it; these principals have roots that it lies in.
    RootHolders(&'a [String]),
}

impl SessionOwner<'_> {
    /// What belongs to no principal, such as the status of the host itself: principals that see all sessions may read it, and no others.
    pub const NOBODY: Self = Self::RootHolders(&[]);
}

/// Something of a session that a principal may touch: its handle, its file, its place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted<T>(T);

impl<T> Permitted<T> {
    /// What it is.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Permitted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Decides whether a principal may touch a session: its own ones, and all of them if it sees all. A session that nobody is known
/// to have opened belongs to the principal in whose roots it lies, if that is one alone.
///
/// # Errors
///
/// `unknown_session`: it may not.
pub fn permit<T>(
    principal: &Principal,
    owner: SessionOwner<'_>,
    session: T,
) -> Result<Permitted<T>, HostError> {
    let is_own = match owner {
        // The local user sees all sessions; a token that calls itself so is another.
        SessionOwner::Opener(name) => name == principal.name && name != Principal::LOCAL,
        SessionOwner::RootHolders(names) => principal.limits.roots.is_some() && *names == [&*principal.name],
    };
    match is_own || principal.limits.sees_all {
        true => Ok(Permitted(session)),
        false => Err(HostError::UnknownSession),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UsageBook;
    use std::sync::Arc;
    use tokio_util::sync::CancellationToken;

    fn principal(name: &str, limits: &str) -> Arc<Principal> {
        UsageBook::default().principal(
            name.to_owned(),
            serde_json::from_str(limits).unwrap(),
            CancellationToken::new(),
        )
    }

    #[test]
    fn principals_touch_what_is_theirs() {
        let (rooted, rootless) = (principal("a", r#"{"roots":["/a"]}"#), principal("a", "{}"));
        let (all, impostor) = (principal("c", r#"{"sees_all":true}"#), principal("local", "{}"));
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (nobody, one, other, two) = (names(&[]), names(&["a"]), names(&["b"]), names(&["a", "b"]));
        use SessionOwner::{Opener, RootHolders};
        for (owner, by_rooted, by_rootless) in [
            (Opener("a"), true, true),
            (Opener("b"), false, false),
            (Opener("local"), false, false),
            (Opener(""), false, false),
            (RootHolders(&nobody), false, false),
            (RootHolders(&one), true, false),
            (RootHolders(&other), false, false),
            (RootHolders(&two), false, false),
        ] {
            for (principal, expected) in
                [(&rooted, by_rooted), (&rootless, by_rootless), (&all, true), (&impostor, false)]
            {
                let expected = expected.then_some("x").ok_or(HostError::UnknownSession);
                let permitted = permit(principal, owner, "x").map(Permitted::into_inner);
                assert_eq!(permitted, expected, "{} {owner:?}", principal.name);
            }
        }
        assert!(permit(&Principal::local(), Opener("local"), ()).is_ok());
    }
}
