//! A model that plays a script: no key, no network, the same answer every time.
//!
//! A [`Script`] is a list of [`Turn`]s, each of them one answer of the model: what it thinks and says,
//! the tools it calls, in which pieces and how fast, what it costs, and how it fails or hangs. A
//! [`Player`] takes a turn for every [`ScriptedCall`], by order or because its `match` fits the prompt, and
//! spells it out as [`Step`]s: stream events, each with the pause before it.
//!
//! Everything here is pure. Somebody else reads the file, keeps the clock, runs the tools; and a
//! script says nothing about who hears it, so the same file plays behind a vendor's HTTP API
//! ([`Player::take`] instead of [`Player::answer`]).
//!
//! [`Script::demo`] is the script for a first look. It is computed from the prompt and the tools at
//! hand instead of written down.

mod block;
mod check;
mod demo;
mod failure;
mod pattern;
mod player;
mod script;
mod steps;
mod turn;

pub use block::{Block, Filler, RedactedBlock, TextBlock, ThinkingBlock, ToolBlock};
pub use failure::Failure;
pub use pattern::Pattern;
pub use player::{Player, ScriptedCall, ToolText};
pub use script::{Cost, Input, ModelCard, Script, ScriptError, script_schema};
pub use steps::{Step, StepAction};
pub use turn::{ScriptedUsage, Turn};
