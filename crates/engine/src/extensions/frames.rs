//! Handles the frames of extensions, and sends them events.

use crate::{
    extensions::{
        dialog::MAX_DIALOGS,
        host::{ChangedProvider, Context, ExtensionHost, ExtensionOutput, ProviderChange},
        process::{ALL_EVENTS, Extension, FailureSource, ProcessStage},
    },
    io::{CallId, Output},
};
use pi_rpc_protocol::{
    AgentSessionEventKind, AssistantContent, Emission, EventHook, ExtensionEvent, ExtensionFault,
    ExtensionMcpServer, ExtensionMcpServers, ExtensionRegister, ExtensionRegisterVirtualModel, FromExtension,
    JsonObject, ObservedStep, ObservedUpdate, Outbound, Step, errors,
};

impl ExtensionHost {
    /// Handles a frame of an extension.
    pub fn handle_frame(&mut self, process: CallId, frame: FromExtension, context: &mut Context<'_>) {
        let Some(place) = self.place_of(process) else { return };
        match self.all[place].stage {
            ProcessStage::Running => {}
            ProcessStage::Ending => return self.decline_frame(process, frame, context),
            ProcessStage::Gone => return,
            ProcessStage::Starting if may_precede_register(&frame) => {}
            ProcessStage::Starting => {
                let text = errors::registers_first(context.dialect.base());
                return self.report_bad_line(process, &text, context);
            }
        }
        if let Some(origin) = frame.origin() {
            self.accept(process, origin, context);
        }
        match frame {
            FromExtension::Register(it) => self.register(place, it, context),
            FromExtension::Error(ExtensionFault { extension_path, event, error }) => {
                self.report(FailureSource::File(&extension_path, &event), &error, context);
            }
            FromExtension::Accept(it) => self.accept(process, &it.id, context),
            FromExtension::Done(it) => self.on_request_completed(process, &it.id, it.result, context),
            FromExtension::Failed(it) => match self.model_call(process, &it.id) {
                Some(call) => self.fail_model(call, it.error),
                None => self.fail(process, &it.id, &it.error, context),
            },
            FromExtension::ToolUpdate(it) => self.progress_tool(process, &it.id, it.partial_result),
            FromExtension::ToolResult(it) => {
                self.end_tool(process, &it.id, it.result, it.is_error.unwrap_or(false));
            }
            FromExtension::Ui(it) => self.request_ui(process, it, context),
            FromExtension::UiCancel(it) => self.withdraw_dialog(process, &it.id, context),
            FromExtension::Query(query) => self.push(ExtensionOutput::Query { process, query }),
            FromExtension::ModelEvent(it) => self.stream_model(process, &it.id, it.event, context),
            FromExtension::RegisterProvider(it) => {
                let streams = it.streams.unwrap_or(false);
                let kind = ChangedProvider::Provider { streams };
                let change = ProviderChange { name: it.name, process, id: it.id, path: it.path, kind };
                self.change_provider(change, Some(it.config));
            }
            FromExtension::UnregisterProvider(it) => {
                let kind = ChangedProvider::Provider { streams: false };
                let change = ProviderChange { name: it.name, process, id: it.id, path: None, kind };
                self.change_provider(change, None);
            }
            FromExtension::RegisterVirtualModel(it) => {
                let (id, path) = (it.id.clone(), it.path.clone());
                let (name, model) = (it.provider.clone(), it.model_id.clone());
                let kind = ChangedProvider::VirtualModel { model, is_added: true };
                let change = ProviderChange { name, process, id, path, kind };
                self.change_virtual_model(change, Some(Box::new(it)));
            }
            FromExtension::UnregisterVirtualModel(it) => {
                let kind = ChangedProvider::VirtualModel { model: it.model_id, is_added: false };
                let change = ProviderChange { name: it.provider, process, id: it.id, path: None, kind };
                self.change_virtual_model(change, None);
            }
            action if !context.lifecycle.is_greeted() => self.decline(process, &action, context),
            action => self.push(ExtensionOutput::Action { process, action }),
        }
    }

    /// Declines a frame of an extension that is being stopped and may wait for a response: a dialog resolves with its
    /// default, an action fails.
    fn decline_frame(&mut self, process: CallId, frame: FromExtension, context: &Context<'_>) {
        match frame {
            FromExtension::Ui(it) if it.request.kind().is_dialog() => {
                let Some(place) = self.place_of(process) else { return };
                // An extension that opens dialogs in a loop gets no more responses.
                if self.all[place].unshown.withheld.len() < MAX_DIALOGS {
                    self.resolve_unshown(place, process, it.request.id().to_owned(), None);
                }
            }
            action => self.decline(process, &action, context),
        }
    }

    /// Has the server add, change or remove a provider.
    fn change_provider(&mut self, change: ProviderChange, config: Option<JsonObject>) {
        let name = change.name.clone();
        let streams = matches!(change.kind, ChangedProvider::Provider { streams: true });
        self.providers.change = Some(change);
        self.perform(Output::ChangeProvider { name, config, streams });
    }

    /// Has the server add, change or remove a virtual model.
    fn change_virtual_model(
        &mut self,
        change: ProviderChange,
        definition: Option<Box<ExtensionRegisterVirtualModel>>,
    ) {
        let ChangedProvider::VirtualModel { model, .. } = &change.kind else { return };
        let (provider, id) = (change.name.clone(), model.clone());
        self.providers.change = Some(change);
        self.perform(Output::ChangeVirtualModel { provider, id, definition });
    }

    /// Records the registration of an extension.
    fn register(&mut self, place: usize, mut registered: ExtensionRegister, context: &Context<'_>) {
        let base = context.dialect.base();
        let mut faults = Vec::new();
        registered.commands.iter_mut().for_each(|commands| {
            commands.retain(|command| {
                let fits = !command.name.is_empty() && !command.name.contains(char::is_whitespace);
                if !fits {
                    faults.push(errors::command_name(base, &command.name));
                }
                fits
            });
        });
        for name in registered.events.iter().flatten() {
            if name != ALL_EVENTS && AgentSessionEventKind::parse(name).is_none() {
                faults.push(errors::unknown_event(base, name));
            }
        }
        // Nothing waits for progress: a stream is not to be held up.
        let is_update =
            |event: &str| AgentSessionEventKind::parse(event).is_some_and(AgentSessionEventKind::is_update);
        registered.awaits.iter_mut().for_each(|names| names.retain(|name| !is_update(name)));
        let members = self.hosted.iter().filter(|it| it.place == place).flat_map(|it| &it.members);
        let loaded = members.filter(|it| !self.unloaded.contains_key(&it.path)).map(|it| it.path.clone());
        self.loaded.extend(loaded);
        let extension = &mut self.all[place];
        let is_first = extension.stage == ProcessStage::Starting;
        let restarted = is_first && extension.starts > 1;
        extension.stage = ProcessStage::Running;
        extension.due = None;
        extension.registered = registered;
        self.push(ExtensionOutput::Registered { place, restarted, faults });
        if self.collect_mcp_servers() && !is_first {
            self.push(ExtensionOutput::McpServersChanged(self.mcp_servers.clone()));
        }
        self.pass_mcp_servers();
    }

    /// Collects the servers of all extensions; `true`: they are others than before.
    fn collect_mcp_servers(&mut self) -> bool {
        let of_extension = |extension: &Extension| {
            let servers = extension.registered.mcp_servers.clone().unwrap_or_default();
            let path = extension.path.clone();
            servers.into_iter().map(move |mut server| {
                server.path.get_or_insert_with(|| path.clone());
                server
            })
        };
        let servers: Vec<ExtensionMcpServer> = self.all.iter().flat_map(of_extension).collect();
        let is_changed = servers != self.mcp_servers;
        self.has_passed_servers &= !is_changed;
        self.mcp_servers = servers;
        is_changed
    }

    /// Passes the servers of all extensions to the one that connects them, if it does not know them.
    fn pass_mcp_servers(&mut self) {
        let connector = self.mcp_connector.and_then(|place| self.all.get(place));
        let connector = connector.filter(|it| it.stage == ProcessStage::Running);
        let Some(process) = connector.and_then(|it| it.process) else { return };
        if !self.has_passed_servers {
            self.has_passed_servers = true;
            self.send(process, ExtensionMcpServers { servers: self.mcp_servers.clone() });
        }
    }

    /// Sends an event to the extensions that observe it.
    pub fn notify_observers(&mut self, emission: &Emission) {
        let kind = match emission {
            Emission::Frame(Outbound::AgentSessionEvent(event)) => event.kind(),
            Emission::Update(_) => AgentSessionEventKind::MessageUpdate,
            Emission::Frame(_) | Emission::Line { .. } => return,
        };
        let observers = self.all.iter().filter(|extension| extension.observes(kind.as_str()));
        let observers: Vec<CallId> = observers.filter_map(|extension| extension.process).collect();
        if observers.is_empty() {
            return;
        }
        let Some(event) = observed(emission) else { return };
        for process in observers {
            self.send(process, ExtensionEvent { event: event.clone() });
        }
    }

    /// The hook for an event that extensions registered for in `awaits`; `None` if none did.
    pub fn awaited_event(&self, emission: &Emission) -> Option<EventHook> {
        let Emission::Frame(Outbound::AgentSessionEvent(event)) = emission else { return None };
        let kind = event.kind().as_str();
        let is_awaited = self.all.iter().any(|extension| extension.awaits(kind));
        is_awaited.then(|| observed(emission)).flatten().map(|event| EventHook { event })
    }
}

/// Whether a frame may come before `register`: a session can begin with a model that an extension has added.
const fn may_precede_register(frame: &FromExtension) -> bool {
    matches!(
        frame,
        FromExtension::Register(_)
            | FromExtension::Error(_)
            | FromExtension::RegisterProvider(_)
            | FromExtension::UnregisterProvider(_)
            | FromExtension::RegisterVirtualModel(_)
            | FromExtension::UnregisterVirtualModel(_)
    )
}

/// An event as extensions receive it: updates have no snapshot.
fn observed(emission: &Emission) -> Option<JsonObject> {
    let value = match emission {
        Emission::Frame(Outbound::AgentSessionEvent(event)) => serde_json::to_value(event),
        Emission::Update(update) => {
            let (delta, content, tool_call) = match &update.step {
                Step::Start(_) => (None, None, None),
                Step::Delta(delta) => (Some(delta.clone()), None, None),
                Step::End(AssistantContent::ToolCall(call)) => (None, None, Some(call.clone())),
                Step::End(AssistantContent::Text(block)) => (None, Some(block.text.clone()), None),
                Step::End(AssistantContent::Thinking(block)) => (None, Some(block.thinking.clone()), None),
                Step::End(AssistantContent::RedactedThinking(_)) => (None, Some(String::new()), None),
            };
            let kind = update.kind().as_str().to_owned();
            let content_index = update.index as u64;
            let step = ObservedStep { type_: kind, content_index, delta, content, tool_call };
            serde_json::to_value(ObservedUpdate { assistant_message_event: step })
        }
        Emission::Frame(_) | Emission::Line { .. } => return None,
    };
    value.ok()?.as_object().cloned()
}
