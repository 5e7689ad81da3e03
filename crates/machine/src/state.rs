//! The state of a conversation.

use pi_rpc_protocol::FlowState;
use std::fmt;

/// The state of the regions that frames show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The activity of the agent.
    pub flow: FlowState,
    /// The number of dialogs that wait for the host.
    pub dialogs: usize,
    /// The number of running shell commands of the host.
    pub shell: usize,
    /// Whether the input has ended.
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
