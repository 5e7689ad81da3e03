//! Watcher of the rule that everything a frame reports is on disk before, unless a write has failed in the open run.

use super::Watcher;
use crate::{Checked, Disk, ensure};
use pi_rpc_protocol::Emission;
use serde_json::Value;

/// Comparison of frames with the disk.
#[derive(Default)]
pub struct Stored {
    /// Whether a write has failed in the open run, which will end for that reason.
    failed: bool,
    run_open: bool,
}

impl Watcher for Stored {
    fn frame(&mut self, _: &Emission, frame: &Value, disk: &Disk) -> Checked {
        match frame["type"].as_str() {
            Some("agent_start") => self.run_open = true,
            Some("agent_end") => (self.run_open, self.failed) = (false, false),
            _ => {}
        }
        let told = self.failed || disk.has_reported(frame, self.run_open);
        ensure!(told, "told before it was stored: {frame}");
        Ok(())
    }

    fn write_failed(&mut self) {
        self.failed = self.run_open;
    }
}
