//! Exchanging session files with published releases of pi.

mod agent;
mod conversation;
mod files;
mod install;

pub use agent::{Agent, Kind, lines};
pub use conversation::{Session, conversation, fork, vendor};
pub use files::files;
pub use install::peers;
