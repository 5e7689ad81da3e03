//! What tools say that they have spent while they run, so that a limit of the day counts it before their results come.

use pi_rpc_protocol::{AgentMessage, AgentSessionEvent, Emission, Outbound, Usage};
use std::collections::HashMap;

/// Dollars that count already, by the ids of the calls that run.
#[derive(Default)]
pub struct ToolSpending(HashMap<String, f64>);

impl ToolSpending {
    /// The dollars that a frame tells of and no earlier one has; `told`: those of the answer or the result that it ends.
    pub fn further(&mut self, emission: &Emission, told: Option<f64>) -> Option<f64> {
        let (Emission::Frame(frame) | Emission::Line { frame, .. }) = emission else { return told };
        let Outbound::AgentSessionEvent(event) = frame else { return told };
        let further = match event {
            AgentSessionEvent::ToolExecutionUpdate(it) => {
                let now = dollars(it.partial_result.usage.as_ref()?);
                let counted = self.0.entry(it.tool_call_id.clone()).or_default();
                let further = now - *counted;
                *counted = counted.max(now);
                further
            }
            AgentSessionEvent::MessageEnd(it) => {
                let AgentMessage::ToolResult(message) = &it.message else { return told };
                told.unwrap_or_default() - self.0.remove(&message.tool_call_id).unwrap_or_default()
            }
            AgentSessionEvent::AgentEnd(_) => {
                self.0.clear();
                return told;
            }
            _ => return told,
        };
        Some(further).filter(|dollars| *dollars > 0.0)
    }
}

fn dollars(usage: &Usage) -> f64 {
    usage.cost.total.as_f64().unwrap_or_default()
}
