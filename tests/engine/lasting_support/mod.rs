//! Conversations that last, at random and in virtual time: models fail and fill the context, the disk fills up, the host
//! goes from session to session. What must hold whatever happens is in `watch`.

pub mod extended;
pub mod scenario;
mod watch;
mod world;

pub use extended::{answers, habits};
pub use scenario::{Act, Close, Scenario, scenarios};
pub use world::play;

/// Whether a rule holds; if not, what is wrong.
pub type Checked = Result<(), String>;
