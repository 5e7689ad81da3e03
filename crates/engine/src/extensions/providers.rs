//! Providers and models that extensions add, and the answers that extensions stream.
//!
//! The server keeps the list of all models; here is which extension added a provider, and which one streams the
//! responses of its models itself. Source: own; pi source for what a provider may stream.

use crate::{
    extensions::{
        hook::Hook,
        host::{ChangedProvider, Context, ExtensionHost, ExtensionOutput, ProviderChange},
        model_stream::{ModelStream, portable},
        request::{CANCEL_TIMEOUT, RequestKind},
    },
    io::{CallId, ModelCall, Output},
};
use pi_rpc_model::types::{StreamEvent, ToolSpec};
use pi_rpc_protocol::{
    ExtensionCancel, ExtensionModelCall, ExtensionTool, JsonObject, ModelRouteHook, errors,
};
use serde_json::Value;

impl ExtensionHost {
    /// Takes the change of a provider that the server has completed.
    pub fn take_provider_change(&mut self, is_made: bool) -> Option<ProviderChange> {
        let change = self.providers.change.take()?;
        if is_made {
            let place = self.place_of(change.process);
            match &change.kind {
                ChangedProvider::Provider { streams } => match place.filter(|_| *streams) {
                    Some(place) => drop(self.providers.streaming.insert(change.name.clone(), place)),
                    None => drop(self.providers.streaming.remove(&change.name)),
                },
                ChangedProvider::VirtualModel { model, is_added } => {
                    let key = (change.name.clone(), model.clone());
                    match place.filter(|_| *is_added) {
                        Some(place) => drop(self.providers.virtual_models.insert(key, place)),
                        None => drop(self.providers.virtual_models.remove(&key)),
                    }
                }
            }
        }
        Some(change)
    }

    /// Requests a model: from the server, or from the extension that streams its responses.
    pub fn request_model(&mut self, call: ModelCall, context: &Context<'_>) {
        let Some(place) = self.providers.streaming.get(&call.model.provider) else {
            return self.perform(Output::CallModel(Box::new(call)));
        };
        let id = call.call;
        match self.running(*place) {
            Some(process) => {
                self.providers.streams.insert(id, ModelStream::new(process));
                self.send(process, model_call(call));
            }
            None => {
                let text = errors::not_running(context.dialect.base());
                self.providers.failed.push_back((id, text));
            }
        }
    }

    /// Has the extension that registered a virtual model route the call: the hook has the call's id. `false`: there is no
    /// such extension.
    pub fn route_model(
        &mut self,
        call: Box<ModelCall>,
        event: ModelRouteHook,
        context: &mut Context<'_>,
    ) -> bool {
        let key = (call.model.provider.clone(), call.model.id.clone());
        let Some(place) = self.providers.virtual_models.get(&key).copied() else { return false };
        let id = call.call;
        self.hook_among(id, [place], Hook::ModelRoute { event, call, outcome: None }, context);
        true
    }

    /// Cancels the request of a model.
    pub fn cancel_model(&mut self, call: CallId, context: &mut Context<'_>) {
        if self.hooks.contains_key(&call) {
            let is_of_it =
                |kind: &RequestKind| matches!(kind, RequestKind::Hook { hook, .. } if *hook == call);
            return self.cancel_requests(is_of_it, CANCEL_TIMEOUT, context);
        }
        if let Some(stream) = self.providers.streams.remove(&call) {
            return self.send(stream.process, ExtensionCancel { id: call.to_string() });
        }
        let failed = self.providers.failed.len();
        self.providers.failed.retain(|(failed, _)| *failed != call);
        if self.providers.failed.len() == failed {
            self.perform(Output::CancelModel(call));
        }
    }

    /// Takes the next call that fails because its extension is not running.
    pub fn take_failed_call(&mut self) -> Option<(CallId, String)> {
        self.providers.failed.pop_front()
    }

    /// Forgets a stream that has ended.
    pub fn end_model_stream(&mut self, call: CallId) {
        self.providers.streams.remove(&call);
    }

    /// The call that a process streams the response of.
    pub(super) fn model_call(&self, process: CallId, id: &str) -> Option<CallId> {
        let call = id.parse().ok()?;
        self.providers.streams.get(&call).filter(|it| it.process == process).map(|_| call)
    }

    /// Handles a part of a streamed response.
    pub(super) fn stream_model(
        &mut self,
        process: CallId,
        id: &str,
        event: JsonObject,
        context: &mut Context<'_>,
    ) {
        let Some(call) = self.model_call(process, id) else { return };
        let Some(stream) = self.providers.streams.get_mut(&call) else { return };
        match stream.read(event, &errors::model_unsaid(context.dialect.base())) {
            Ok(events) => self.push(ExtensionOutput::ModelEvents { call, events }),
            Err(text) => self.report_bad_line(process, &text, context),
        }
    }

    /// Fails a model request that an extension cannot serve.
    pub(super) fn fail_model(&mut self, call: CallId, text: String) {
        let events = vec![StreamEvent::Fail { message: text, retry_after: None }];
        self.push(ExtensionOutput::ModelEvents { call, events });
    }
}

/// The request of a model as an extension receives it.
fn model_call(call: ModelCall) -> ExtensionModelCall {
    let max_tokens = call.purpose.max_tokens();
    ExtensionModelCall {
        id: call.call.to_string(),
        model: call.model,
        system_prompt: Some(call.system_prompt.to_string()),
        messages: call.messages.iter().filter_map(|message| portable(message)).collect(),
        tools: Some(call.tools.iter().map(declared).collect()),
        level: call.level,
        session_id: Some(call.session_id),
        max_tokens,
    }
}

fn declared(tool: &ToolSpec) -> ExtensionTool {
    let parameters = match &*tool.parameters {
        Value::Object(schema) => schema.clone(),
        _ => JsonObject::new(),
    };
    ExtensionTool {
        name: tool.name.clone(),
        label: None,
        description: tool.description.clone(),
        parameters,
        path: None,
        prompt_snippet: None,
        prompt_guidelines: None,
        sequential: None,
        inactive: None,
        exposure: None,
        output_schema: None,
        runs_scripts: None,
    }
}
