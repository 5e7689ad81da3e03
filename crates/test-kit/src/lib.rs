//! One simulator of the engine for every test: a host, a scripted model, tools, shells, extensions and a disk, all in
//! virtual time. A [`Scenario`] says who does what when; playing it gives a [`Playback`]: every frame, with its moment.
//!
//! ```
//! use pi_rpc::protocol::Dialect;
//! use pi_rpc_test_kit::{shorthand::*, scenario};
//! use serde_json::json;
//!
//! // The model calls a tool that takes 50 ms; the host steers meanwhile.
//! let turns = json!([calls("t1", "bash", "sleep 50; echo one"), says("Done.")]);
//! let played = scenario(turns).host(0, prompt("p", "go")).host(20, steer("s")).play(Dialect::Pi);
//! assert_eq!(played.answers("s")[0]["success"], true);
//! let run = "agent_start · user go · start t1 · < s · ok s · update t1 · end t1 · user s · agent_end [uatua]";
//! assert_eq!(played.transcript(), format!("< p · ok p · {run}"));
//! ```
//!
//! ```text
//! Scenario ─→ World ─ inputs ─→ Engine ─ outputs ─→ watchers (rules): which rule of the documents is broken
//!               ↑                  │
//!               └── model, tools, shells, extensions, host, disk ◄──┘
//! ```
//!
//! [`Conversation`] is a scenario as data, drawn by [`random`] from a string of choices, and watched by independent
//! models of the documents: see [`rules`]. `tests/explore` plays conversations without end, `tests/regressions` holds
//! those that once failed, `fuzz` lets libFuzzer make the choices.

mod conversation;
mod disk;
mod extension;
mod extension_actions;
mod extension_host;
mod habits;
mod host;
mod model;
mod plan;
mod playback;
pub mod random;
pub mod rules;
mod scenario;
mod setup;
mod shape;
pub mod shorthand;
mod transcript;
mod work;
mod world;

pub use conversation::{Close, Conversation, DiskFull, HostLine, Kind};
pub use disk::{Disk, stored_messages};
pub use extension::{Extension, Peer, PeerStep};
pub use extension_actions::ACTIONS;
pub use habits::Habit;
pub use host::Answers;
pub use playback::{Playback, Step};
pub use scenario::{Scenario, scenario};
pub use work::{Ending, Work};

/// Whether a rule holds; if not, what is wrong.
pub type Checked = Result<(), String>;

/// Returns the text as an error unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}
pub(crate) use ensure;
