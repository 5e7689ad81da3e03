//! Watchers: models of the rules of the documents that follow a conversation and report the first violation. They are
//! made from the documents, not from the engine.
//!
//! - [`SnapshotCheck`]: the updates of a streamed message add up to its snapshots (scripted scenarios).
//! - [`Stored`]: what frames report is on disk before (scripted scenarios with stored sessions).
//! - [`Brief`]: everything about conversations without a disk or extensions: responses in order
//!   (`requests`); runs, turns, queues, messages (`talk`); the tool calls of a turn (`calls`); the bytes (`wire`).
//! - [`Lasting`]: rules that hold whatever disks, providers and extensions do.

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
use pi_rpc_engine::{CallId, Engine, Input, Now, Output};
use pi_rpc_protocol::Emission;
use serde_json::Value;
use std::collections::BTreeSet;

/// Observer of one conversation. Errors name the violated rule.
pub trait Watcher {
    /// Handles an input, before the engine does.
    fn input(&mut self, _input: &Input, _now: Now) -> Checked {
        Ok(())
    }

    /// Handles a frame of the host.
    fn wrote(&mut self, _frame: &Value) {}

    /// Handles an output.
    fn output(&mut self, _output: &Output) -> Checked {
        Ok(())
    }

    /// Handles a frame of the server, in the form in which the host reads it.
    fn frame(&mut self, _said: &Emission, _frame: &Value, _disk: &Disk) -> Checked {
        Ok(())
    }

    /// Handles a failed write.
    fn write_failed(&mut self) {}

    /// Handles a frame to an extension.
    fn frame_to_extension(&mut self, _process: CallId, _frame: &Value) {}

    /// Handles a frame of an extension.
    fn frame_from_extension(&mut self, _process: CallId, _frame: &Value) {}

    /// Checks the engine after all outputs of an input.
    fn handled(&mut self, _engine: &Engine) -> Checked {
        Ok(())
    }

    /// Checks the engine when nothing is due.
    fn quiet(&self, _engine: &Engine) -> Checked {
        Ok(())
    }

    /// Checks the engine and the disk after the exit of the process.
    fn ended(&self, _engine: &Engine, _disk: &Disk) -> Checked {
        Ok(())
    }

    /// Notable occurrences, one word each.
    fn happened(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }
}
