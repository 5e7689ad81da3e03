//! The limits of extensions, for those who tell people of them.

pub use super::{
    asks::{ACCEPT, AFTER_INPUT, FAREWELL, GRACE, HOOK},
    dialogs::DIALOGS,
    extensions::{HANGS, REGISTER, RESTARTS, STRAYS},
};
