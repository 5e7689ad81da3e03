//! Tools that the host carries out: registration, calls, progress and results. Source: xcsh RPC reference: host tools;
//! xcsh source; observed.

use crate::{
    core::Engine,
    io::CallId,
    prompt::texts,
    tool_result::error_result,
    toolbox::arguments::{SchemaFault, ToolAccess, ToolOwner, examine},
};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_protocol::{
    HostToolCall, HostToolCancel, HostToolDefinition, HostToolNames, HostToolResult, HostToolUpdate,
    JsonObject, Outbound, RpcCommandKind, SetHostToolsCommand, SetHostToolsResponse, ToolCall, errors,
};

/// Refusal of `set_host_tools` where an agent behind the server has tools of its own.
const AGENT_HAS_TOOLS: &str =
    "The agent behind this server uses its own tools; it cannot be given tools of the host";

impl Engine {
    /// Serves `set_host_tools`: replaces the tools of the host. Outstanding calls of removed tools can still complete.
    pub(crate) fn set_host_tools(&mut self, command: SetHostToolsCommand) {
        if self.tools.is_of_agent() && !command.tools.is_empty() {
            let text = AGENT_HAS_TOOLS.to_owned();
            return self.handler_failed(command.id, RpcCommandKind::SetHostTools, text);
        }
        match self.host_tools(&command.tools) {
            Ok(tools) => {
                self.tools.remove_of(ToolOwner::Host);
                let tool_names = tools.iter().map(|(spec, _)| spec.name.clone()).collect();
                for (spec, offered) in tools {
                    // Checked before.
                    let _ = self.tools.add(spec, ToolOwner::Host, offered, ToolAccess::DIRECT);
                }
                self.succeed(SetHostToolsResponse { id: command.id, data: HostToolNames { tool_names } });
            }
            Err(text) => self.handler_failed(command.id, RpcCommandKind::SetHostTools, text),
        }
    }

    /// The tools as offered to the model, or the fault of the first invalid one.
    fn host_tools(&self, defined: &[HostToolDefinition]) -> Result<Vec<(ToolSpec, bool)>, String> {
        let base = self.dialect.base();
        let mut tools: Vec<(ToolSpec, bool)> = Vec::new();
        for (index, tool) in defined.iter().enumerate() {
            let (name, description) = (tool.name.trim(), tool.description.trim());
            if name.is_empty() {
                return Err(errors::host_tool_name(base, &index.to_string()));
            }
            if description.is_empty() {
                return Err(errors::host_tool_description(base, name));
            }
            let parameters = tool.parameters.clone().into();
            examine(&parameters).map_err(|fault| match fault {
                SchemaFault::Invalid(_) => errors::host_tool_parameters(base, name),
                SchemaFault::Costly(_) => fault.error_text(base, name),
            })?;
            if tools.iter().any(|(other, _)| other.name == name) {
                return Err(errors::host_tool_twice(base));
            }
            if self.tools.owner(name).is_some_and(|owner| owner != ToolOwner::Host) {
                return Err(errors::host_tool_conflict(base, name));
            }
            if self.tools.excludes(name) {
                return Err(format!("Host tool \"{name}\" is excluded by the options of this server"));
            }
            let (name, description) = (name.to_owned(), description.to_owned());
            let spec =
                ToolSpec { name, description, parameters: parameters.into(), exclusive: false, output: None };
            // A tool that stays keeps whether it is offered.
            let before = self.tools.owner(&spec.name).map(|_| self.tools.is_offered(&spec.name));
            tools.push((spec, before.unwrap_or(!tool.hidden.unwrap_or(false))));
        }
        Ok(tools)
    }

    /// Sends a tool call to the host.
    pub(crate) fn start_host_call(&mut self, call: CallId, tool_call: ToolCall, arguments: JsonObject) {
        if self.activity.lifecycle().is_input_over() {
            let text = errors::host_gone(self.dialect.base());
            return self.tool_end(call, error_result(&text), true);
        }
        let id = self.ids.hex16();
        self.requests.host_tools.insert(id.clone(), call);
        self.emit(Outbound::HostToolCall(HostToolCall {
            id,
            tool_call_id: tool_call.id,
            tool_name: tool_call.name,
            arguments,
        }));
    }

    /// Cancels a tool call at the host.
    pub(crate) fn cancel_host_call(&mut self, call: CallId, name: &str) {
        let found = self.requests.host_tools.iter().find(|(_, other)| **other == call);
        let Some(target_id) = found.map(|(id, _)| id.clone()) else { return };
        self.requests.host_tools.remove(&target_id);
        let id = self.ids.hex16();
        self.emit(Outbound::HostToolCancel(HostToolCancel { id, target_id }));
        let text = errors::host_tool_aborted(self.dialect.base(), name);
        self.tool_end(call, error_result(&text), true);
    }

    /// Handles progress of a tool call at the host.
    pub(crate) fn on_host_tool_update(&mut self, update: HostToolUpdate) {
        if let Some(call) = self.requests.host_tools.get(&update.id) {
            self.tool_progress(*call, update.partial_result);
        }
    }

    /// Handles the result of a tool call at the host.
    pub(crate) fn on_host_tool_result(&mut self, result: HostToolResult) {
        let Some(call) = self.requests.host_tools.remove(&result.id) else { return };
        if !result.is_error.unwrap_or(false) {
            return self.tool_end(call, result.result, false);
        }
        let text = texts(&result.result.content).trim().to_owned();
        let text = if text.is_empty() { errors::host_tool_failed(self.dialect.base()) } else { text };
        self.tool_end(call, error_result(&text), true);
    }
}
