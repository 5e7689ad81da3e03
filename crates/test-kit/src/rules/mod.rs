//! Watchers: models of the documents' rules that follow a conversation and object as soon as it breaks one. They are made
//! from the documents, not from the engine.
//!
//! - [`SnapshotCheck`]: the updates of a streamed message add up to its snapshots (scripted scenarios).
//! - [`Stored`]: what is told is on disk before (scripted scenarios that are kept).
//! - [`Brief`]: everything about conversations without a disk or extensions: each request its response, in order
//!   (`requests`); runs, turns, queues, messages (`talk`); the tool calls of a turn (`calls`); the bytes (`wire`).
//! - [`Lasting`]: what holds whatever disks, providers and extensions do.

mod brief;
mod calls;
mod lasting;
mod requests;
mod run_model;
mod snapshots;
mod stored;
mod wire;

pub use brief::{Brief, NO_SESSION, toolbox};
pub use lasting::Lasting;
pub use snapshots::SnapshotCheck;
pub use stored::Stored;

use crate::{Checked, Disk};
use pi_rpc::{
    engine::{CallId, Engine, Input, Now, Output},
    protocol::Emission,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// Follows one conversation; the error names the rule that is broken.
pub trait Watcher {
    /// Something is about to go in.
    fn input(&mut self, _input: &Input, _now: Now) -> Checked {
        Ok(())
    }

    /// The host wrote a frame.
    fn wrote(&mut self, _frame: &Value) {}

    /// Something came out.
    fn output(&mut self, _output: &Output) -> Checked {
        Ok(())
    }

    /// A frame came out, as the host reads it.
    fn frame(&mut self, _said: &Emission, _frame: &Value, _disk: &Disk) -> Checked {
        Ok(())
    }

    /// A write has failed.
    fn write_failed(&mut self) {}

    /// An extension was told something.
    fn frame_to_extension(&mut self, _process: CallId, _frame: &Value) {}

    /// An extension wrote something.
    fn frame_from_extension(&mut self, _process: CallId, _frame: &Value) {}

    /// Everything has come out that an input led to.
    fn handled(&mut self, _engine: &Engine) -> Checked {
        Ok(())
    }

    /// Nothing is due any more.
    fn quiet(&self, _engine: &Engine) -> Checked {
        Ok(())
    }

    /// The process has ended.
    fn ended(&self, _engine: &Engine, _disk: &Disk) -> Checked {
        Ok(())
    }

    /// What happened, in one word each.
    fn happened(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }
}
