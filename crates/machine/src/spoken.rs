//! What is known of the dialect of a conversation.

use pi_rpc_protocol::{Dialect, DialectRecord};

/// The dialect of a conversation, and whether one of its other versions may be spoken instead.
#[derive(Clone, Copy, Debug)]
pub struct Spoken {
    pub dialect: Dialect,
    /// Whether nothing but the frames has shown the dialect: its versions with the same frames are not told apart.
    pub any_version: bool,
}

impl Spoken {
    /// Whether the record of the dialect, or of one of the versions that may be spoken, is as wanted.
    pub fn may(self, wanted: impl Fn(&DialectRecord) -> bool) -> bool {
        let is_version = |other: &Dialect| self.any_version && other.base() == self.dialect.base();
        wanted(self.dialect.record())
            || Dialect::ALL.into_iter().filter(is_version).any(|other| wanted(other.record()))
    }
}
