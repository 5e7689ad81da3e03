//! A model that plays a script: no key, no network, the same answer every time.
//!
//! A [`Script`] is a list of [`Turn`]s, each one answer of the model: its blocks, their pieces and pace, their usage,
//! and how the answer fails or hangs. A [`Player`] takes a turn for every [`ScriptedCall`], by order or because its
//! `match` fits the prompt, and expands it to [`Step`]s: stream events, each with the pause before it.
//!
//! Everything here is pure: the caller reads the file, keeps the clock and runs the tools. A script is independent of
//! its listener, so the same file plays behind a vendor's HTTP API ([`Player::take`] instead of [`Player::answer`]).
//!
//! [`Script::demo`] is the script for a first look. It is computed from the prompt and the tools at hand.

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
