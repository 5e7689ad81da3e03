//! Detects that extensions are loaded. They may change texts, stop prompts, queue messages and begin runs without a frame, so
//! several rules do not apply then.

use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, CommandSource, Emission, Outbound, PromptDisposition,
    RpcExtensionUIRequest, RpcResponse, RpcSuccess,
};

/// The evidence of extensions so far.
#[derive(Clone, Debug, Default)]
pub struct ExtensionEvidence {
    /// Whether a frame has come that only extensions cause.
    pub seen: bool,
}

/// Types of custom messages that xcsh itself adds.
const OWN_MESSAGES: [&str; 2] = ["eager-todo-prelude", "ttsr-injection"];

/// The widget that xcsh itself clears at its start.
const OWN_WIDGET: &str = "autoresearch";

impl ExtensionEvidence {
    /// Takes in an outbound frame.
    pub fn on_outbound(&mut self, emission: &Emission) {
        let Emission::Frame(frame) = emission else { return };
        self.seen |= match frame {
            Outbound::ExtensionError(_) => true,
            Outbound::ExtensionUIRequest(RpcExtensionUIRequest::SetWidget(it)) => it.widget_key != OWN_WIDGET,
            Outbound::ExtensionUIRequest(_) => true,
            Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start)) => match &start.message {
                AgentMessage::Custom(it) => !OWN_MESSAGES.contains(&it.custom_type.as_str()),
                _ => false,
            },
            Outbound::Response(RpcResponse::Success(success)) => shows(success),
            _ => false,
        };
    }
}

/// Whether a success response shows that there are extensions.
fn shows(success: &RpcSuccess) -> bool {
    match success {
        RpcSuccess::GetCommands(it) => {
            it.data.commands.iter().any(|command| command.source == CommandSource::Extension)
        }
        RpcSuccess::Prompt(it) => {
            it.data.as_ref().is_some_and(|data| data.disposition == Some(PromptDisposition::Handled))
        }
        _ => false,
    }
}
