//! The engine's side of the extensions: calls of the [`ExtensionHost`], and the handling of its outputs.

use crate::{
    backlog::Intake,
    core::Engine,
    extensions::{
        hook::{Hook, InputContinuation, SessionStartContinuation},
        host::{Context, ExtensionHost, ExtensionOutput},
        process::FailureSource,
        processes::REGISTERING,
        registrations::CalledCommand,
        request::{CANCEL_TIMEOUT, RequestKind},
    },
    io::{CallId, Output},
    toolbox::arguments::{ToolAccess, ToolOwner},
};
use pi_rpc_model::types::{StreamEvent, ToolSpec};
use pi_rpc_protocol::{
    AgentToolResult, Emission, ExtensionResponse, ExtensionTool, HookName, McpServersHook, PromptDisposition,
    QueueDisposition, SessionStartHook, SessionStartReason, ToExtension, ToolExposure, ToolResultHook,
    errors,
};

/// How many faults of a registration are reported.
const MAX_FAULTS: usize = 8;

/// Calls of the component.
impl Engine {
    /// Calls the component, and performs its outputs before anything else.
    pub(crate) fn with_extensions<R>(
        &mut self,
        call: impl FnOnce(&mut ExtensionHost, &mut Context<'_>) -> R,
    ) -> R {
        let mut context = Context {
            now: self.now,
            dialect: self.dialect,
            lifecycle: self.activity.lifecycle(),
            withholds_events: self.withholds_events(),
            directory: &self.store.place.directory,
            ids: &mut self.ids,
        };
        let result = call(&mut self.extensions, &mut context);
        self.drain_extensions();
        result
    }

    /// Performs the component's outputs until there are none.
    fn drain_extensions(&mut self) {
        for output in self.extensions.take_outputs() {
            self.perform_extension_output(output);
        }
    }

    /// Sends a hook; `continue_after_hook` is called once every extension has responded.
    pub(crate) fn send_hook(&mut self, hook: Hook) {
        let id = self.ids.call();
        self.send_hook_as(id, hook);
    }

    /// Sends a hook under this id.
    pub(crate) fn send_hook_as(&mut self, id: CallId, hook: Hook) {
        self.with_extensions(|host, context| host.send_hook(id, hook, context));
    }

    /// Sends a hook to the extension at this place alone.
    pub(crate) fn send_hook_to(&mut self, place: usize, hook: Hook) {
        let id = self.ids.call();
        self.with_extensions(|host, context| host.hook_among(id, [place], hook, context));
    }

    /// Whether an extension registered for the hook.
    pub(crate) fn is_hooked(&self, name: HookName) -> bool {
        self.extensions.is_hooked(name)
    }

    /// Whether a notification is outstanding that the engine waits for.
    pub(crate) fn has_outstanding_hooks(&self) -> bool {
        self.extensions.is_notifying() && !self.activity.lifecycle().leaves_work()
    }

    /// Sends an event to the extensions that observe it.
    pub(crate) fn notify_observers(&mut self, emission: &Emission) {
        self.extensions.notify_observers(emission);
        self.drain_extensions();
    }

    /// Finds the slash command of an extension by name.
    pub(crate) fn extension_command(&self, name: &str) -> Option<CalledCommand> {
        self.extensions.command(self.dialect.record().extension_api, name)
    }

    /// Writes a frame to an extension.
    pub(crate) fn send_to_extension(&mut self, process: CallId, frame: impl Into<ToExtension>) {
        self.push(Output::ToExtension { to: process, frame: Box::new(frame.into()) });
    }

    /// Responds to an action of an extension, if that gave it an id.
    pub(crate) fn respond_to_extension(
        &mut self,
        process: CallId,
        id: Option<String>,
        outcome: Result<(), String>,
    ) {
        let Some(id) = id else { return };
        let (success, error) = (outcome.is_ok(), outcome.err());
        self.send_to_extension(process, ExtensionResponse { id, success, error, data: None });
    }

    /// Reports a failure to the host by `extension_error`.
    pub(crate) fn report_failure(&mut self, source: FailureSource<'_>, text: &str) {
        self.with_extensions(|host, context| host.report(source, text, context));
    }

    /// Cancels the requests of the run, or of the prompt that leads to one, and closes the dialogs that wait for the host
    /// before an event of it is emitted.
    pub(crate) fn cancel_run_requests(&mut self) {
        self.with_extensions(|host, context| {
            host.cancel_requests(RequestKind::is_of_run, CANCEL_TIMEOUT, context);
            host.close_dialogs_before_frames(context);
        });
    }

    /// Cancels the requests of a hook.
    pub(crate) fn cancel_hook(&mut self, id: CallId) {
        let is_of_it = |kind: &RequestKind| matches!(kind, RequestKind::Hook { hook, .. } if *hook == id);
        self.with_extensions(|host, context| host.cancel_requests(is_of_it, CANCEL_TIMEOUT, context));
    }

    /// Closes every dialog with its default.
    pub(crate) fn close_all_dialogs(&mut self) {
        while self.with_extensions(|host, context| host.close_next_dialog(|_| true, context)) {}
    }

    /// Expires extensions that have not registered, dialogs and requests whose deadline has passed.
    pub(crate) fn expire_extensions(&mut self) {
        self.with_extensions(|host, context| {
            host.expire_processes(context);
            host.expire_dialogs(context);
            if !host.is_suspended() {
                host.release_late_frames(context.now.monotonic);
            }
        });
        for id in self.extensions.late_requests(self.now.monotonic) {
            let hung = self.with_extensions(|host, context| host.expire_request(id, context));
            if let Some(place) = hung {
                self.with_extensions(|host, _| host.count_hang(place));
            }
        }
    }

    /// Handles the end of an extension's process.
    pub(crate) fn on_extension_ended(&mut self, process: CallId, text: &str) {
        let end = self.with_extensions(|host, context| host.end_process(process, text, context));
        let Some(end) = end else { return };
        while self.with_extensions(|host, context| host.fail_next_request(process, &end.text, context)) {}
        self.with_extensions(|host, _| host.drop_actions(process));
        self.with_extensions(|host, context| host.forget_process(process, &end, context));
    }

    /// Fails the next model request whose extension is not running; `false` if there is none.
    pub(crate) fn fail_next_call(&mut self) -> bool {
        let Some((call, message)) = self.extensions.take_failed_call() else { return false };
        self.model_event(call, StreamEvent::Fail { message, retry_after: None });
        true
    }
}

/// Handling of its outputs.
impl Engine {
    /// Performs an output of the component.
    fn perform_extension_output(&mut self, output: ExtensionOutput) {
        match output {
            ExtensionOutput::Perform(output) => self.push(output),
            ExtensionOutput::Emit(frame) => self.emit(frame),
            ExtensionOutput::FrameReleased => self.release_frames(),
            ExtensionOutput::HookCompleted { id, hook } => {
                // Calls still end and messages are still persisted.
                let is_kept = matches!(hook, Hook::ToolResult { .. } | Hook::MessageEnd { .. });
                match hook {
                    hook if is_kept || !self.activity.lifecycle().leaves_work() => {
                        self.continue_after_hook(id, hook);
                    }
                    Hook::Event { holds_frame: true, .. } => self.release_frames(),
                    _ => {}
                }
                self.with_extensions(ExtensionHost::advance_notifications);
            }
            ExtensionOutput::CommandHandled(recipient) => {
                self.respond_accepted(&recipient, PromptDisposition::Handled);
                self.await_prompt_result(&recipient, None);
            }
            // A command that has started a run is not handled without one.
            ExtensionOutput::CommandEnded(recipient) if !self.is_working() => {
                self.emit_prompt_result(&recipient);
            }
            ExtensionOutput::CommandEnded(_) => {}
            ExtensionOutput::ToolProgress { call, result } => self.tool_progress(call, result),
            ExtensionOutput::ToolEnded { call, result, is_error } => self.tool_end(call, result, is_error),
            ExtensionOutput::Action { process, action } => self.perform_action(process, action),
            ExtensionOutput::Query { process, query } => self.query(process, query),
            ExtensionOutput::DialogClosed(id) => self.activity.close_dialog(&id),
            ExtensionOutput::CallConsent { at, response } => self.on_call_consent(at, response),
            ExtensionOutput::LimitResponse { response } => self.on_limit_response(response),
            ExtensionOutput::LoginDialog { login, response } => self.on_login_dialog(login, response),
            ExtensionOutput::ActionConsent { action, response } => self.on_action_consent(action, response),
            ExtensionOutput::ModelEvents { call, events } => {
                for event in events {
                    if matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. }) {
                        self.extensions.end_model_stream(call);
                    }
                    self.model_event(call, event);
                }
            }
            ExtensionOutput::Registered { place, restarted, faults } => {
                self.on_extension_registered(place, restarted, faults);
            }
            ExtensionOutput::McpServersChanged(servers) => {
                self.send_hook(Hook::McpServersChange { event: McpServersHook { servers } });
            }
            ExtensionOutput::ActionLost(call) => self.abandon_action(call),
        }
    }

    /// Performs the continuation of a completed hook.
    fn continue_after_hook(&mut self, id: CallId, hook: Hook) {
        match hook {
            Hook::Input { event, is_handled, then: InputContinuation::Prompt(mut prompt) } => {
                (prompt.text, prompt.images) = (event.text, event.images);
                // It is expanded now, or once it is decided what follows the run that has just ended.
                match self.holds_commands() {
                    true => self.backlog.intake = Intake::Examined { prompt, is_handled },
                    false => self.expand_prompt(*prompt, is_handled),
                }
            }
            Hook::Input { event, is_handled, then: InputContinuation::Queue { id, kind } } => {
                match is_handled {
                    true => self.respond_queued(id, kind, QueueDisposition::Handled),
                    false => self.expand_queued(id, kind, event.text, event.images),
                }
            }
            Hook::BeforeAgentStart { event, messages, start } => {
                self.open_run_after_hook(*start, messages, Some(event.system_prompt));
            }
            Hook::SessionBeforeSwitch { is_cancelled, next, .. }
            | Hook::SessionBeforeFork { is_cancelled, next, .. } => {
                self.on_session_change_hooked(next, is_cancelled)
            }
            Hook::SessionBeforeCompact { is_cancelled, compaction, focus, .. } => {
                self.on_compaction_hooked(id, focus.as_deref(), is_cancelled, compaction);
            }
            Hook::SessionBeforeTree { event, is_cancelled, summary, navigation } => {
                self.on_navigation_hooked(id, navigation, event, is_cancelled, summary);
            }
            Hook::PrepareArguments { event, failure, at } => self.on_call_prepared(at, event.input, failure),
            Hook::ToolCall { event, is_changed, veto, at } => {
                self.on_call_hooked(at, is_changed.then_some(event.input), veto);
            }
            Hook::ToolResult { event, original, at } => {
                let ToolResultHook { content, details, is_error, structured_content, .. } = event;
                let result = AgentToolResult {
                    content,
                    details,
                    structured_content,
                    is_error: original.is_error.filter(|_| is_error),
                    is_warning: None,
                    usage: original.usage,
                    terminate: original.terminate,
                };
                self.end_call(at, result, is_error);
            }
            Hook::Context { event, is_changed } => {
                self.request_hooked_answer(is_changed.then_some(event.messages));
            }
            Hook::ModelRoute { call, outcome, .. } => {
                let unrouted = || Err(errors::virtual_model_unrouted(self.dialect.base()));
                let route = outcome.unwrap_or_else(unrouted);
                self.send_routed_request(*call, route);
            }
            Hook::MessageEnd { event, is_changed } => self.append_hooked_message(event.message, is_changed),
            Hook::UserBash { failure, result, command, .. } => {
                self.on_shell_hooked(*command, failure, result)
            }
            Hook::BeforeProviderRequest { event, request } => self.complete_provider_hook(request, event),
            Hook::BeforeProviderHeaders { event, request } => self.complete_provider_hook(request, event),
            Hook::AfterProviderResponse { event, request } => self.complete_provider_hook(request, event),
            Hook::ProviderStreamEvent { event, request } => self.complete_provider_hook(request, event),
            Hook::ResourcesDiscover { skills, templates, response, .. } => {
                self.search_resources(skills, templates, response);
            }
            Hook::SessionStart { then: SessionStartContinuation::Discover, .. } => {
                self.discover_resources(None);
            }
            Hook::SessionStart { then: SessionStartContinuation::Respond(response), .. } => {
                self.discover_after_change(response);
            }
            Hook::SessionShutdown { next, .. } => {
                // Messages that extensions sent during the hook are not for the next session.
                self.queues.triggering.clear();
                self.perform_after_run(*next);
            }
            Hook::SessionCompact { .. } => self.finish_compaction(),
            Hook::SessionTree { navigation, .. } => self.on_branch_notified(navigation),
            Hook::SessionStart { then: SessionStartContinuation::Nothing, .. }
            | Hook::ModelSelect { .. }
            | Hook::ThinkingLevelSelect { .. }
            | Hook::McpServersChange { .. } => {}
            Hook::CacheWarmingDecision { event, outcome } => {
                self.on_warming_decided(id, event.warms, outcome);
            }
            Hook::Event { boundary, holds_frame, .. } => self.finish_event(boundary, holds_frame),
            Hook::AgentBeforeSettle { boundary, .. } => self.finish_before_settling(boundary),
        }
    }

    /// Offers the tools of an extension that has registered, and reports its faults.
    fn on_extension_registered(&mut self, place: usize, restarted: bool, mut faults: Vec<String>) {
        let (own, of_others): (Vec<_>, Vec<_>) =
            self.offer_tools(place).into_iter().partition(|(of, _)| *of == place);
        faults.extend(own.into_iter().map(|(_, text)| text));
        let more = faults.len().saturating_sub(MAX_FAULTS);
        faults.truncate(MAX_FAULTS);
        if more > 0 {
            faults.push(errors::more_wrong(self.dialect.base(), &more.to_string()));
        }
        let faults = faults.into_iter().map(|text| (place, text));
        for (place, text) in faults.chain(of_others) {
            self.report_failure(FailureSource::Extension(place, REGISTERING), &text);
        }
        let is_hooked = || self.extensions.hooked_places(HookName::SessionStart).contains(&place);
        if restarted && is_hooked() {
            let event = SessionStartHook { reason: SessionStartReason::Reload, previous_session_file: None };
            let then = SessionStartContinuation::Nothing;
            self.send_hook_to(place, Hook::SessionStart { event, then });
        }
        let section = self.extensions.mcp_section().map(str::to_owned);
        if let (Some(section), Some(source)) = (section, &mut self.instructions.source) {
            source.mcp_servers = Some(section).filter(|section| !section.is_empty());
        }
        self.rebuild_instructions();
    }

    /// Offers the model the tools of the extensions, one that has registered just now among them; gives what is wrong
    /// with its tools, and which of others have lost their place to one of it.
    fn offer_tools(&mut self, registered: usize) -> Vec<(usize, String)> {
        let known = self.tools.take_of_extensions();
        let tools: Vec<_> = self.extensions.tools().map(|(place, tool)| (place, tool.clone())).collect();
        let mut faults = Vec::new();
        for (place, tool) in tools {
            let name = tool.name.trim();
            let was_offered = known.iter().find(|(it, owner, _)| it == name && *owner == place);
            let is_active = !tool.inactive.unwrap_or(false);
            let offered = was_offered
                .map_or_else(|| self.tools.starts_active(name, is_active), |(.., offered)| *offered);
            let is_new = place == registered || was_offered.is_some();
            let added = self.add_tool(place, &tool, offered);
            faults.extend(added.err().filter(|_| is_new).map(|text| (place, text)));
        }
        faults
    }

    /// Adds a tool of an extension to the toolbox.
    fn add_tool(&mut self, place: usize, tool: &ExtensionTool, offered: bool) -> Result<(), String> {
        let base = self.dialect.base();
        let (name, description) = (tool.name.trim(), tool.description.trim());
        if name.is_empty() || description.is_empty() {
            return Err(errors::tool_name(base, name));
        }
        if self.tools.owner(name).is_some_and(|owner| owner != ToolOwner::Server) {
            return Err(errors::tool_conflict(base, name));
        }
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: serde_json::Value::from(tool.parameters.clone()).into(),
            exclusive: tool.sequential.unwrap_or(false),
            output: tool.output_schema.clone().map(|schema| serde_json::Value::from(schema).into()),
        };
        let access = ToolAccess {
            exposure: tool.exposure.unwrap_or(ToolExposure::Direct),
            runs_scripts: tool.runs_scripts.unwrap_or(false),
        };
        self.tools
            .add(spec, ToolOwner::Extension(place), offered, access)
            .map_err(|fault| fault.error_text(base, name))?;
        self.tools.describe_use(tool.prompt_guidelines.as_deref().unwrap_or_default());
        Ok(())
    }
}
