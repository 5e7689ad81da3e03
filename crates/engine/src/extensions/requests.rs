//! Requests to extensions: commands, tool calls and hooks, from their first frame to their end.

use crate::{
    extensions::{
        host::{Context, ExtensionHost, ExtensionOutput},
        process::FailureSource,
        registrations::CalledCommand,
        request::{
            ACCEPT_TIMEOUT, Deadline, END_OF_INPUT_TIMEOUT, EXIT_TIMEOUT, HOOK_TIMEOUT, HookOwner, Request,
            RequestKind,
        },
    },
    io::CallId,
    prompt::Recipient,
    tool_result::error_result,
};
use pi_rpc_protocol::{
    AgentToolResult, DialectSlashAck, ExtensionCancel, ExtensionCommandCall, ExtensionHook,
    ExtensionToolCall, HookEvent, HookName, HookResult, JsonObject, ShutdownHook, errors,
};
use std::time::Duration;

impl ExtensionHost {
    /// Requests an extension to carry out a slash command, called by `name`.
    pub fn request_command(
        &mut self,
        command: CalledCommand,
        name: &str,
        arguments: &str,
        recipient: Recipient,
        context: &mut Context<'_>,
    ) {
        let CalledCommand { place, name: own, path } = command;
        let Some(process) = self.running(place) else {
            let text = errors::not_running(context.dialect.base());
            self.report(FailureSource::Command(name), &text, context);
            return self.push(ExtensionOutput::CommandHandled(recipient));
        };
        let kind = RequestKind::Command {
            name: name.to_owned(),
            recipient: Some(recipient),
            answered: None,
            is_accepted: false,
        };
        let id = self.open_request(place, process, kind, Some(ACCEPT_TIMEOUT), context);
        self.send(process, ExtensionCommandCall { id, name: own, arguments: arguments.to_owned(), path });
    }

    /// Requests an extension to carry out a tool call; `false` if it is not running.
    pub fn request_tool(
        &mut self,
        place: usize,
        call: CallId,
        tool_call_id: String,
        tool_name: String,
        arguments: JsonObject,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(process) = self.running(place) else { return false };
        let id = self.open_request(place, process, RequestKind::Tool(call), None, context);
        self.send(process, ExtensionToolCall { id, tool_call_id, tool_name, arguments });
        true
    }

    /// Sends a hook to an extension; `false` if it is not running.
    pub(super) fn request_hook(
        &mut self,
        place: usize,
        hook: CallId,
        owner: HookOwner,
        event: HookEvent,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(process) = self.running(place) else { return false };
        let kind = RequestKind::Hook { hook, owner };
        let id = self.open_request(place, process, kind, Some(HOOK_TIMEOUT), context);
        self.send(process, ExtensionHook { id, hook: event });
        true
    }

    /// Notifies the extensions of the exit, all at once: time is short.
    pub fn notify_exit(&mut self, context: &mut Context<'_>) {
        for place in self.hooked_places(HookName::SessionShutdown) {
            let Some(process) = self.running(place) else { continue };
            let id = self.open_request(place, process, RequestKind::Shutdown, Some(EXIT_TIMEOUT), context);
            let event = ShutdownHook { reason: None, target_session_file: None };
            self.send(process, ExtensionHook { id, hook: event.into() });
        }
    }

    /// Marks a command as accepted by its extension.
    pub(super) fn accept(&mut self, process: CallId, id: &str, context: &mut Context<'_>) {
        let request = self.origin(process, id).and_then(|id| self.requests.get_mut(&id));
        let Some(Request { kind, deadline, is_cancelled, .. }) = request else { return };
        let RequestKind::Command { recipient, answered, is_accepted, .. } = kind else { return };
        if std::mem::replace(is_accepted, true) {
            return;
        }
        if !*is_cancelled {
            *deadline = match context.lifecycle.is_ending() {
                true => Deadline::At(context.now.monotonic + END_OF_INPUT_TIMEOUT),
                false => Deadline::Never,
            };
        }
        let responds = context.dialect.record().slash_ack == DialectSlashAck::Accepted;
        let recipient = recipient.take_if(|_| responds);
        answered.clone_from(&recipient);
        self.outputs.extend(recipient.map(ExtensionOutput::CommandHandled));
    }

    /// Completes a command or a hook.
    pub(super) fn on_request_completed(
        &mut self,
        process: CallId,
        id: &str,
        result: Option<HookResult>,
        context: &mut Context<'_>,
    ) {
        self.accept(process, id, context);
        let Some(id) = self.origin(process, id) else { return };
        // A tool ends with its result.
        if self.called_tool(id).is_some() {
            return;
        }
        let Some(request) = self.close_request(id) else { return };
        self.count_hook_time(&request, context.now.monotonic);
        let Request { place, kind, .. } = request;
        match kind {
            RequestKind::Hook { hook, .. } => {
                if let Some(extension) = self.all.get_mut(place) {
                    extension.hangs = 0;
                }
                self.hook_responded(hook, place, result, context);
            }
            RequestKind::Command { recipient: Some(recipient), .. } => {
                self.push(ExtensionOutput::CommandHandled(recipient));
            }
            RequestKind::Command { answered: Some(recipient), .. } => {
                self.push(ExtensionOutput::CommandEnded(recipient));
            }
            RequestKind::Command { .. } | RequestKind::Shutdown | RequestKind::Tool(_) => {}
        }
    }

    /// Fails a request for the reason `text`.
    pub(super) fn fail(&mut self, process: CallId, id: &str, text: &str, context: &mut Context<'_>) {
        self.accept(process, id, context);
        if let Some(id) = self.origin(process, id) {
            self.fail_request(id, text, context);
        }
    }

    /// Handles progress of an extension's tool.
    pub(super) fn progress_tool(&mut self, process: CallId, id: &str, result: AgentToolResult) {
        if let Some(call) = self.origin(process, id).and_then(|id| self.called_tool(id)) {
            self.push(ExtensionOutput::ToolProgress { call, result });
        }
    }

    /// Handles the result of an extension's tool.
    pub(super) fn end_tool(&mut self, process: CallId, id: &str, result: AgentToolResult, is_error: bool) {
        let Some(id) = self.origin(process, id) else { return };
        if let Some(call) = self.called_tool(id) {
            self.close_request(id);
            self.push(ExtensionOutput::ToolEnded { call, result, is_error });
        }
    }

    /// Cancels the outstanding requests that `which` picks, with their dialogs; they must end `within` that time.
    pub fn cancel_requests(
        &mut self,
        which: impl Fn(&RequestKind) -> bool,
        within: Duration,
        context: &mut Context<'_>,
    ) {
        let due = context.now.monotonic + within;
        let mut cancelled = Vec::new();
        for (id, request) in self.requests.iter_mut().filter(|(_, request)| which(&request.kind)) {
            let own = request.due().filter(|_| request.is_cancelled);
            request.deadline = Deadline::At(own.map_or(due, |own| own.min(due)));
            if !std::mem::replace(&mut request.is_cancelled, true) {
                if let RequestKind::Hook { hook, .. } = request.kind
                    && let Some(outstanding) = self.hooks.get_mut(&hook)
                {
                    outstanding.remaining.clear();
                }
                cancelled.push((*id, request.process));
            }
        }
        for (id, process) in cancelled {
            self.send(process, ExtensionCancel { id: id.to_string() });
            self.close_dialogs(|dialog| dialog.origin() == Some(id), context);
        }
    }

    /// Limits the time of every command: the input has ended.
    pub fn limit_commands(&mut self, now: Duration) {
        let commands = self.requests.values_mut().filter(|it| matches!(it.kind, RequestKind::Command { .. }));
        for request in commands {
            let due = now + END_OF_INPUT_TIMEOUT;
            request.deadline = Deadline::At(request.due().map_or(due, |own| own.min(due)));
        }
    }

    /// Fails the next request to a process that is gone; `false` if there is none.
    pub fn fail_next_request(&mut self, process: CallId, text: &str, context: &mut Context<'_>) -> bool {
        let next = self.requests.iter().find(|(_, request)| request.process == process);
        let Some((&id, _)) = next else { return false };
        self.fail_request(id, text, context);
        true
    }

    /// Suspends the deadlines of extensions while they are not read, and resumes them.
    pub fn suspend(&mut self, is_read: bool, now: Duration) {
        if !is_read {
            self.suspended.get_or_insert(now);
        } else if let Some(since) = self.suspended.take() {
            self.postpone(now.saturating_sub(since));
        }
    }

    /// Whether extensions are not read.
    pub const fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Moves the deadlines of extensions and of their requests.
    pub fn postpone(&mut self, by: Duration) {
        let requests = self.requests.values_mut().filter(|request| request.is_suspendable());
        requests.for_each(|request| request.postpone(by));
        self.all.iter_mut().filter_map(|extension| extension.due.as_mut()).for_each(|due| *due += by);
    }

    /// The requests that are due.
    pub fn late_requests(&self, now: Duration) -> Vec<CallId> {
        let reads = self.suspended.is_none();
        let late = self.requests.iter().filter(|(_, it)| reads || !it.is_suspendable());
        late.filter(|(_, it)| it.due().is_some_and(|due| due <= now)).map(|(id, _)| *id).collect()
    }

    /// Fails a request that is due; gives the place of an extension that has not responded to a hook.
    pub fn expire_request(&mut self, id: CallId, context: &mut Context<'_>) -> Option<usize> {
        let base = context.dialect.base();
        let request = self.requests.get(&id)?;
        let (process, place, is_cancelled) = (request.process, request.place, request.is_cancelled);
        let hangs = !is_cancelled && matches!(request.kind, RequestKind::Hook { .. });
        let text = match &request.kind {
            _ if is_cancelled => errors::tool_aborted(base),
            RequestKind::Command { is_accepted: false, .. } => {
                errors::unaccepted(base, &ACCEPT_TIMEOUT.as_secs().to_string())
            }
            RequestKind::Command { .. } => {
                errors::unanswered(base, &END_OF_INPUT_TIMEOUT.as_secs().to_string())
            }
            _ => errors::unanswered(base, &HOOK_TIMEOUT.as_secs().to_string()),
        };
        if !is_cancelled {
            self.send(process, ExtensionCancel { id: id.to_string() });
            self.close_dialogs(|dialog| dialog.origin() == Some(id), context);
        }
        self.fail_request(id, &text, context);
        hangs.then_some(place)
    }

    /// The outstanding request that a frame of `process` names.
    pub fn origin(&self, process: CallId, id: &str) -> Option<CallId> {
        let id = id.parse().ok()?;
        self.requests.get(&id).filter(|request| request.process == process).map(|_| id)
    }

    /// Whether the request was cancelled, or is over.
    pub(super) fn is_cancelled(&self, id: CallId) -> bool {
        self.requests.get(&id).is_none_or(|request| request.is_cancelled)
    }

    /// Whether a command is outstanding.
    pub fn has_command(&self) -> bool {
        self.requests.values().any(|it| matches!(it.kind, RequestKind::Command { .. }))
    }

    /// Whether a command has yet to be accepted.
    pub fn has_unaccepted_command(&self) -> bool {
        let mut requests = self.requests.values();
        requests.any(|it| matches!(it.kind, RequestKind::Command { is_accepted: false, .. }))
    }

    /// Whether an extension has yet to respond to the notification of the exit.
    pub fn has_exit_notification(&self) -> bool {
        self.requests.values().any(|it| matches!(it.kind, RequestKind::Shutdown))
    }

    /// Registers a request, and returns its id for the frame.
    fn open_request(
        &mut self,
        place: usize,
        process: CallId,
        kind: RequestKind,
        within: Option<Duration>,
        context: &mut Context<'_>,
    ) -> String {
        let id = context.ids.call();
        let deadline = within.map_or(Deadline::Never, |within| Deadline::At(context.now.monotonic + within));
        let request = Request { place, process, kind, deadline, dialogs: 0, is_cancelled: false };
        self.requests.insert(id, request);
        id.to_string()
    }

    /// The tool call that the request with this id is for.
    pub fn called_tool(&self, id: CallId) -> Option<CallId> {
        match self.requests.get(&id)?.kind {
            RequestKind::Tool(call) => Some(call),
            _ => None,
        }
    }

    /// Removes a request; its dialogs stay open.
    fn close_request(&mut self, id: CallId) -> Option<Request> {
        let request = self.requests.remove(&id)?;
        self.detach_dialogs(request.process, id);
        Some(request)
    }

    /// Fails a request: performs its continuation with the error.
    fn fail_request(&mut self, id: CallId, text: &str, context: &mut Context<'_>) {
        let Some(request) = self.close_request(id) else { return };
        self.count_hook_time(&request, context.now.monotonic);
        let Request { place, kind, is_cancelled, .. } = request;
        match kind {
            RequestKind::Command { name, recipient, answered, .. } => {
                if !is_cancelled {
                    self.report(FailureSource::Command(&name), text, context);
                }
                self.outputs.extend(recipient.map(ExtensionOutput::CommandHandled));
                self.outputs.extend(answered.map(ExtensionOutput::CommandEnded));
            }
            RequestKind::Tool(call) => {
                let result = match is_cancelled {
                    true => error_result(&errors::tool_aborted(context.dialect.base())),
                    false => error_result(text),
                };
                self.push(ExtensionOutput::ToolEnded { call, result, is_error: true });
            }
            RequestKind::Hook { hook, .. } => self.hook_failed(hook, place, text, is_cancelled, context),
            RequestKind::Shutdown => {}
        }
    }
}
