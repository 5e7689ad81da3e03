//! Where a conversation stands.

use crate::protocol::FlowState;
use std::fmt;

/// Where the conversation stands: the four regions side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// What the agent is doing.
    pub flow: FlowState,
    /// Dialogs that wait for the host.
    pub dialogs: usize,
    /// Shell commands of the host that run.
    pub shell: usize,
    /// Input has ended.
    pub closing: bool,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.flow)?;
        if self.dialogs > 0 {
            f.write_str("+awaiting_ui")?;
        }
        if self.shell > 0 {
            f.write_str("+bash")?;
        }
        if self.closing {
            f.write_str("+closing")?;
        }
        Ok(())
    }
}
