//! Tools of the host, where the server has none: [`EXTENSION`] registers them in the server, and passes their calls on.
//!
//! What the front wants of the extension is a prompt with its slash command; a call is a dialog, and its result the response.

use crate::front::{Front, OWN_IDS, Output, typed};
use pi_rpc_protocol::{
    Base, HostToolCall, HostToolCancel, HostToolDefinition, HostToolNames, HostToolResult, HostToolUpdate,
    Inbound, Outbound, PromptCommand, RequestId, RpcCommand, RpcCommandKind, RpcErrorResponse,
    RpcExtensionUIRequest, RpcExtensionUIResponse, RpcResponse, RpcSuccess, SetHostToolsCommand,
    SetHostToolsResponse, StreamingBehavior, UIValueResponse,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// The extension, in JavaScript, which the server has to be started with.
pub const EXTENSION: &str = include_str!("host_tools.js");

/// The name of the extension's command and of its dialogs.
const NAME: &str = "pi-rpc-host-tools";

/// Titles of the defs that the extension carries, to a server that has none of them.
pub const CARRIED: [&str; 5] =
    ["SetHostToolsCommand", "HostToolDefinition", "HostToolUpdate", "HostToolResult", "ToolLoadMode"];

/// The tools of the host, if the extension carries them.
#[derive(Debug, Default)]
pub struct HostTools {
    /// Whether the client's dialect has such tools, and the server's has not.
    is_bridged: bool,
    /// Whether the server was started with the extension.
    is_loaded: bool,
    tools: Vec<HostToolDefinition>,
    /// The commands that wait for the extension, each with the number of its order.
    asked: VecDeque<(u64, SetHostToolsCommand)>,
    calls: Vec<Call>,
    /// Calls of tools whose start the client has seen.
    started: Vec<String>,
    sent: u64,
}

/// An open call.
#[derive(Debug)]
struct Call {
    frame: HostToolCall,
    /// Whether the client has it: it comes behind the start of the tool.
    is_told: bool,
}

/// What the extension says of the tools.
#[derive(Deserialize)]
struct Told {
    /// The number of the order; `None`: the extension is older than the numbers.
    order: Option<u64>,
    #[serde(rename = "toolNames")]
    tool_names: Option<Vec<String>>,
    error: Option<String>,
}

impl HostTools {
    /// Without the extension.
    pub fn new(server: Base, client: Base) -> Self {
        let has = |base: Base| RpcCommandKind::SetHostTools.is_in(base);
        Self { is_bridged: has(client) && !has(server), ..Self::default() }
    }
}

impl Front {
    /// Says that the server was started with [`EXTENSION`].
    pub fn has_host_tools(&mut self) {
        self.host_tools.is_loaded = true;
    }

    /// Takes a command of the client that sets its tools. Returns whether the extension carries it.
    pub(crate) fn set_host_tools(&mut self, command: &RpcCommand, out: &mut Output) -> bool {
        let RpcCommand::SetHostTools(command) = command else { return false };
        if !self.host_tools.is_bridged || !self.host_tools.is_loaded {
            return false;
        }
        let order = self.tell_extension(json!({ "tools": command.tools }), out);
        self.host_tools.asked.push_back((order, command.clone()));
        true
    }

    /// The command with this order, which waits no more; without a number: the oldest.
    fn take_asked(&mut self, order: Option<u64>) -> Option<SetHostToolsCommand> {
        let asked = &mut self.host_tools.asked;
        let at = order.map_or(Some(0), |order| asked.iter().position(|(of, _)| *of == order))?;
        asked.remove(at).map(|(_, command)| command)
    }

    /// Sets the tools again in a session that has begun.
    pub(crate) fn keep_host_tools(&mut self, out: &mut Output) {
        if !self.host_tools.tools.is_empty() {
            let tools = json!({ "tools": self.host_tools.tools });
            self.tell_extension(tools, out);
        }
        // The extension of the last session may answer no more.
        for (_, command) in std::mem::take(&mut self.host_tools.asked) {
            let order = self.tell_extension(json!({ "tools": command.tools }), out);
            self.host_tools.asked.push_back((order, command));
        }
    }

    /// Sends the extension's slash command, past the account of the server: no run follows it.
    /// Returns the number of the order.
    fn tell_extension(&mut self, mut order: Value, out: &mut Output) -> u64 {
        self.host_tools.sent += 1;
        order["order"] = self.host_tools.sent.into();
        let prompt = PromptCommand {
            id: Some(RequestId::from(format!("{OWN_IDS}tools-{}", self.host_tools.sent).as_str())),
            message: format!("/{NAME} {order}"),
            images: None,
            streaming_behavior: Some(StreamingBehavior::Steer),
            locale: None,
        };
        crate::commands::write_line(&Inbound::Command(prompt.into()), out);
        self.host_tools.sent
    }

    /// Takes the response to a slash command of the extension. Returns whether it is one.
    pub(crate) fn extension_answered(&mut self, response: &RpcResponse, out: &mut Output) -> bool {
        let id = match response {
            RpcResponse::Success(success) => success.id(),
            RpcResponse::ErrorResponse(error) => error.id.as_ref(),
        };
        let Some(RequestId::String(id)) = id else { return false };
        let Some(order) = id.strip_prefix(OWN_IDS).and_then(|id| id.strip_prefix("tools-")) else {
            return false;
        };
        if let RpcResponse::ErrorResponse(error) = response
            && let Ok(order) = order.parse()
            && let Some(command) = self.take_asked(Some(order))
        {
            self.answer_host_tools(&command, Err(&error.error), out);
        }
        true
    }

    fn answer_host_tools(
        &mut self,
        command: &SetHostToolsCommand,
        told: Result<Vec<String>, &str>,
        out: &mut Output,
    ) {
        let id = command.id.clone();
        match told {
            Ok(tool_names) => {
                self.host_tools.tools.clone_from(&command.tools);
                let response = SetHostToolsResponse { id, data: HostToolNames { tool_names } };
                self.emit(Outbound::Response(RpcSuccess::from(response).into()), out);
            }
            Err(text) => {
                let command = RpcCommandKind::SetHostTools.as_str().to_owned();
                let response = RpcErrorResponse { id, command, error: text.to_owned(), code: None };
                self.emit(Outbound::Response(response.into()), out);
            }
        }
    }

    /// Takes a request of the extension in place of a person. Returns whether it is one.
    pub(crate) fn extension_asked(&mut self, request: &RpcExtensionUIRequest, out: &mut Output) -> bool {
        if !self.host_tools.is_loaded {
            return false;
        }
        match request {
            RpcExtensionUIRequest::Notify(notice) => {
                let Some(text) = notice.message.strip_prefix(NAME) else { return false };
                let told = serde_json::from_str::<Told>(text);
                if let Ok(told) = told
                    && let Some(command) = self.take_asked(told.order)
                {
                    let names = told.error.map_or_else(|| Ok(told.tool_names.unwrap_or_default()), Err);
                    self.answer_host_tools(
                        &command,
                        names.as_deref().map(<[_]>::to_vec).map_err(|it| &**it),
                        out,
                    );
                }
                true
            }
            RpcExtensionUIRequest::Input(dialog) if dialog.title == NAME => {
                let call: Option<Value> =
                    dialog.placeholder.as_deref().and_then(|it| serde_json::from_str(it).ok());
                let frame = call.and_then(|call| {
                    let mut frame: Map<String, Value> = call.as_object()?.clone();
                    frame.insert("type".to_owned(), "host_tool_call".into());
                    frame.insert("id".to_owned(), dialog.id.clone().into());
                    typed::<HostToolCall>(&Value::Object(frame)).ok()
                });
                self.host_tools.calls.extend(frame.map(|frame| Call { frame, is_told: false }));
                self.tell_host_calls(out);
                true
            }
            _ => false,
        }
    }

    /// Tells the client of calls whose tool it has seen start.
    fn tell_host_calls(&mut self, out: &mut Output) {
        let HostTools { calls, started, .. } = &mut self.host_tools;
        let mut due = Vec::new();
        for call in
            calls.iter_mut().filter(|call| !call.is_told && started.contains(&call.frame.tool_call_id))
        {
            call.is_told = true;
            due.push(call.frame.clone());
        }
        for frame in due {
            self.emit(frame.into(), out);
        }
    }

    /// The client has seen a tool start.
    pub(crate) fn host_tool_started(&mut self, tool_call_id: String, out: &mut Output) {
        if self.host_tools.is_loaded {
            self.host_tools.started.push(tool_call_id);
            self.tell_host_calls(out);
        }
    }

    /// Closes the client's call for a tool that has ended. The client is told to cancel it, if it has not answered.
    pub(crate) fn end_host_call(&mut self, tool_call_id: &str, out: &mut Output) {
        let HostTools { calls, started, .. } = &mut self.host_tools;
        started.retain(|id| id != tool_call_id);
        let Some(at) = calls.iter().position(|call| call.frame.tool_call_id == tool_call_id) else { return };
        let Call { frame, is_told } = calls.remove(at);
        self.server.machine.close_dialog(&frame.id);
        if is_told {
            let cancel = HostToolCancel { id: format!("{OWN_IDS}cancel-{}", frame.id), target_id: frame.id };
            self.emit(cancel.into(), out);
        }
    }

    /// Takes a result or the progress of a call. Returns whether the extension carries it.
    pub(crate) fn take_host_frame(&mut self, frame: &Inbound, out: &mut Output) -> bool {
        let calls = &mut self.host_tools.calls;
        match frame {
            Inbound::HostToolResult(HostToolResult { id, result, is_error }) => {
                let Some(at) = calls.iter().position(|call| call.frame.id == *id) else { return false };
                calls.remove(at);
                let value = json!({ "result": result, "isError": is_error }).to_string();
                let answer =
                    RpcExtensionUIResponse::UIValueResponse(UIValueResponse { id: id.clone(), value });
                let answer = Inbound::ExtensionUIResponse(answer);
                self.server.machine.inbound(&answer);
                crate::commands::write_line(&answer, out);
                true
            }
            Inbound::HostToolUpdate(HostToolUpdate { id, partial_result }) => {
                let Some(call) = calls.iter().find(|call| call.frame.id == *id) else { return false };
                let id = call.frame.tool_call_id.clone();
                let update = json!({ "update": { "toolCallId": id, "partialResult": partial_result } });
                self.tell_extension(update, out);
                true
            }
            _ => false,
        }
    }

    /// Leaves the extension's command out of a list of slash commands.
    pub(crate) fn hide_extension(&self, response: &mut RpcSuccess) {
        if let (true, RpcSuccess::GetCommands(list)) = (self.host_tools.is_loaded, response) {
            list.data.commands.retain(|command| command.name != NAME);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EXTENSION, NAME};

    #[test]
    fn extension_has_the_name() {
        assert!(EXTENSION.contains(&format!("const NAME = \"{NAME}\";")));
    }
}
