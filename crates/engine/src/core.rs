//! The engine's state and its loop: [`Engine::handle`] takes an input, [`Engine::poll`] returns outputs.

use crate::{
    activity::{Activity, Next},
    backlog::{Backlog, QueuedLine},
    budget::Budget,
    cache_warming::CacheWarmer,
    consent_patterns::ConsentPatterns,
    extensions::{
        hook::Hook,
        host::{EarlyErrors, ExtensionHost},
    },
    held_frames::HeldFrames,
    ids::Ids,
    instructions::Instructions,
    io::{Input, Now, Output},
    limits::Limits,
    model_choices::{InitialSelection, ModelPreference, Models},
    queues::Queues,
    requests::Requests,
    run::{series::Series, waiting_run::WaitingRun},
    setup::{Modes, Setup},
    store::Store,
    todos::list::Todos,
    toolbox::arguments::Toolbox,
    ttsr::rules::Rules,
};
use pi_rpc_machine::{Carried, LifecycleEvent, Machine, Step};
use pi_rpc_protocol::{
    AgentMessage, Dialect, Inbound, Outbound, RequestId, RpcCommandKind, RpcErrorResponse, RpcSuccess,
    TodoAutoClearEvent,
};
use pi_rpc_session::{Session, new_header};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// The state machine of one conversation, without IO.
pub struct Engine {
    pub(crate) dialect: Dialect,
    pub(crate) store: Store,
    pub(crate) limits: Limits,
    pub(crate) models: Models,
    /// Settings of the session; commands change them.
    pub(crate) modes: Modes,
    initial_modes: Modes,
    pub(crate) tools: Toolbox,
    pub(crate) instructions: Instructions,
    pub(crate) queues: Queues,
    pub(crate) activity: Activity,
    pub(crate) series: Series,
    /// The run that another process has left, until it goes on.
    pub(crate) left_run: Option<Box<WaitingRun>>,
    /// What is spent of the budgets.
    pub(crate) budget: Budget,
    /// The cache of the vendor that is kept warm.
    pub(crate) cache_warmer: CacheWarmer,
    pub(crate) backlog: Backlog,
    /// Outstanding requests of models, tools, shells and files.
    pub(crate) requests: Requests,
    pub(crate) extensions: ExtensionHost,
    pub(crate) todos: Todos,
    /// Rules that may stop an answer.
    pub(crate) rules: Rules,
    pub(crate) ids: Ids,
    pub(crate) now: Now,
    pub(crate) held_frames: HeldFrames,
    /// The types of the events that are sent; `None`: all.
    pub(crate) sent_events: Option<Vec<String>>,
    outputs: VecDeque<Output>,
}

impl Engine {
    /// Creates the engine of a conversation that has not begun. `setup.start` must be a place in `setup.models`.
    pub fn new(setup: Setup, now: Now) -> Self {
        let new_session_file = new_header(String::new(), String::new(), None, now.wall);
        let rules = if setup.dialect.record().lanes.ttsr { setup.extension_setup.rules } else { Vec::new() };
        let mut engine = Self {
            dialect: setup.dialect,
            store: Store::new(Session::new(new_session_file, None), setup.place),
            limits: setup.limits,
            models: Models {
                all: setup.models,
                current: setup.start,
                level: None,
                scope: setup.scope,
                reloads: setup.reloads_models,
                unrestored: None,
                initial: InitialSelection {
                    place: setup.start,
                    preference: ModelPreference {
                        is_resumed: false,
                        chosen: setup.chosen,
                        level: setup.level,
                    },
                    is_open: false,
                    before_selection: None,
                },
            },
            modes: setup.modes.clone(),
            initial_modes: setup.modes,
            tools: setup.tools,
            instructions: Instructions {
                text: setup.system_prompt.text().into(),
                sections: setup.system_prompt.0,
                source: setup.extension_setup.prompt_source,
                commands: setup.extension_setup.commands,
                agent_commands: Vec::new(),
            },
            queues: Queues::new(),
            activity: Activity::new(setup.dialect, setup.checked),
            series: Series::default(),
            left_run: None,
            budget: Budget::default(),
            cache_warmer: CacheWarmer::default(),
            backlog: Backlog::default(),
            requests: Requests::default(),
            extensions: ExtensionHost::new(
                setup.extension_setup.extensions,
                setup.extension_setup.hosted,
                setup.extension_setup.named_commands,
                EarlyErrors {
                    troubles: setup.extension_setup.troubles,
                    excused: setup.extension_setup.excused,
                    requires_all: setup.extension_setup.requires_extensions,
                },
                setup.extension_setup.agent_directory,
                setup.extension_setup.max_frame,
                setup.extension_setup.emits_title,
            ),
            todos: Todos::new(setup.extension_setup.clear_todos_after),
            rules: Rules::new(rules).0,
            ids: Ids::new(setup.seed),
            now,
            held_frames: HeldFrames::default(),
            sent_events: None,
            outputs: VecDeque::new(),
        };
        engine.extensions.hides_ui = setup.extension_setup.hides_ui;
        engine.extensions.is_project_untrusted = setup.extension_setup.is_project_untrusted;
        engine.extensions.mcp_connector = setup.extension_setup.mcp_connector;
        engine.tools.consent_patterns =
            ConsentPatterns::new(&setup.extension_setup.confirm, &setup.extension_setup.confirm_unmatched);
        engine.tools.consent_patterns.has_store = setup.extension_setup.stores_permissions;
        let is_resumed = setup.session.is_some();
        engine.store.session = match setup.session {
            Some(opened) => engine.session_from(opened),
            None => {
                let (header, file) = engine.new_session_file(None);
                Session::new(header, file)
            }
        };
        engine.set_initial_name(setup.name.as_deref());
        let preference = ModelPreference { is_resumed, ..engine.models.initial.preference };
        if engine.extensions.has_any() {
            engine.activity.load_extensions();
            engine.models.initial.before_selection =
                Some(Box::new((engine.store.session.clone(), preference)));
            engine.models.initial.is_open = setup.extension_setup.unchosen;
            engine.extensions.unknown_options = setup.extension_setup.unknown_options;
        }
        engine.set_initial_model(preference);
        engine.with_extensions(ExtensionHost::start_all);
        engine
    }

    /// Handles an input. Call [`poll`](Self::poll) until it returns `None` before the next one.
    pub fn handle(&mut self, input: Input, now: Now) {
        if self.activity.lifecycle().is_exited() {
            return;
        }
        self.now = now;
        match self.waits_for_disk(&input) {
            true => self.delay(input),
            false => self.receive(input),
        }
    }

    /// Dispatches an input, or holds it until the host is greeted.
    pub(crate) fn receive(&mut self, input: Input) {
        if matches!(input, Input::EndOfInput) && !self.activity.lifecycle().is_greeting_over() {
            self.activity.move_lifecycle(LifecycleEvent::Ended);
            self.close_all_dialogs();
        }
        match self.waits_for_greeting(&input) && !self.activity.lifecycle().aborts_work() {
            true => self.backlog.before_greeting.push_back(input),
            false => self.dispatch(input),
        }
    }

    /// Dispatches an input to its handler.
    pub(crate) fn dispatch(&mut self, input: Input) {
        match input {
            // Lines that arrive after the decision to stop are ignored.
            Input::Frame(_) | Input::BadLine(_) if self.activity.lifecycle().aborts_work() => {}
            Input::Frame(frame) => self.handle_frame(*frame),
            Input::BadLine(error) => match error.is_answered() {
                true => self.serve_or_queue(QueuedLine::BadLine(error), false),
                false => self.on_malformed_answer(&error),
            },
            Input::Model { call, event } => self.model_event(call, event),
            Input::ToolProgress { call, result } => self.tool_progress(call, result),
            Input::ToolEnd { call, result, is_error } => {
                let result = self.completed(result);
                self.tool_end(call, result, is_error);
            }
            Input::ShellProgress { call, delta } => self.on_shell_progress(call, delta),
            Input::ShellEnd { call, end } => self.on_shell_end(call, end),
            Input::LoginsListed(providers) => self.on_logins_listed(providers),
            Input::LoginNotice { call, notice } => self.on_login_notice(call, notice),
            Input::LoginEnd { call, end } => self.on_login_end(call, end),
            Input::LogoutEnd { call, removed } => self.on_logout_end(call, removed),
            Input::Extension { from, frame } => {
                self.with_extensions(|host, context| host.handle_frame(from, *frame, context));
            }
            Input::ExtensionBadLine { from, text } => {
                self.with_extensions(|host, context| host.report_bad_line(from, &text, context));
            }
            Input::ExtensionBadRegister { from, text } => {
                self.with_extensions(|host, context| host.report_bad_register(from, &text, context));
            }
            Input::ExtensionEnded { from, text } => self.on_extension_ended(from, &text),
            Input::ProviderHook { request, event } => self.send_provider_hook(request, *event),
            Input::AgentDialog { request, dialog } => {
                self.with_extensions(|host, context| host.open_agent_dialog(request, *dialog, context));
            }
            Input::AgentDialogWithdrawn(request) => {
                self.with_extensions(|host, context| host.withdraw_agent_dialog(request, context));
            }
            Input::AgentCommands(commands) => self.instructions.agent_commands = commands,
            Input::FileRead(read) => self.on_skill_read(read),
            Input::ResourcesFound(found) => self.on_resources_found(*found),
            Input::ReadsExtensions(reads) => self.extensions.suspend(reads, self.now.monotonic),
            Input::Resume(waiting) => self.take_left_run(waiting),
            Input::PermissionFound { subject, is_covered } => self.on_permission_found(subject, is_covered),
            Input::DenyQuestions => self.deny_questions(),
            Input::Time => self.expire_deadlines(),
            Input::Stored => self.on_stored(),
            Input::StoreFailed(reason) => self.on_store_failed(&reason),
            Input::SessionOpened(opened) => self.on_session_opened(*opened),
            Input::NewestSessionFound { folder, file } => self.on_newest_session_found(folder, file),
            Input::QueryAnswered { to, answer } => self.send_to_extension(to, *answer),
            Input::ProviderChanged(provided) => self.on_provider_changed(provided),
            Input::ModelSelected(selected) => self.on_model_selected(selected),
            Input::ModelsReloaded(reloaded) => self.on_models_reloaded(reloaded),
            Input::FileWritten(written) => self.on_page_written(written),
            Input::EndOfInput => self.end_of_input(),
            Input::Shutdown => self.shut_down(),
        }
    }

    /// Returns the next output to perform; `None`: nothing is left to do before the next input.
    pub fn poll(&mut self) -> Option<Output> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if !self.advance() && !self.advance_delayed() {
                debug_assert_eq!(
                    self.mismatched_state_member(),
                    None,
                    "a member of the state contradicts the emitted frames"
                );
                return None;
            }
        }
    }

    /// When [`Input::Time`] is due, on the monotonic clock.
    pub fn deadline(&self) -> Option<Duration> {
        let summary = self.activity.compaction().and_then(|compaction| compaction.summaries.due());
        let warming = self.cache_warmer.due();
        let dues =
            [self.activity.retry_due(), summary, self.extensions.deadline(), self.todos.due(), warming];
        dues.into_iter().flatten().min().filter(|_| !self.is_disk_outstanding())
    }

    /// Handles all deadlines that have passed.
    fn expire_deadlines(&mut self) {
        self.expire_extensions();
        // Todos that have been done for long enough are removed.
        for _ in 0..self.todos.clear_due(self.now.monotonic) {
            self.emit_event(TodoAutoClearEvent {});
        }
        self.retry_summaries();
        self.warm_due_cache();
        if self.activity.retry_due().is_some_and(|due| due <= self.now.monotonic) {
            self.start_run([]);
        }
    }

    /// Performs one step that waits for no request; `false` if there is none.
    fn advance(&mut self) -> bool {
        !self.is_disk_outstanding()
            && !self.activity.lifecycle().is_exited()
            && (self.advance_store()
                || self.advance_greeting()
                || self.advance_steps()
                || self.fail_next_call()
                || match self.activity.lifecycle().leaves_work() {
                    // Calls at the host have error results by now; only their ends are still emitted.
                    true => self.emit_next_call_end(),
                    false => self.advance_work(),
                }
                || self.resolve_idle_waits()
                || self.exit_when_done())
    }

    /// Performs one step of the open run, of a prompt, or of deferred work.
    fn advance_work(&mut self) -> bool {
        (!self.has_outstanding_hooks() && self.advance_run())
            || self.resume_examined_prompt()
            || self.examine_next_prompt()
            || (!self.has_outstanding_hooks() && self.advance_idle())
            || self.serve_next_line()
            || self.dispatch_held_input()
    }

    /// Performs one step between runs; `false` if there is none.
    fn advance_idle(&mut self) -> bool {
        if self.activity.is_streaming() {
            return false;
        }
        // In a chain of runs, after the last of them.
        if self.series.chain.is_none() && self.append_shell_message() {
            return true;
        }
        if let Some(ended) = self.activity.take_ended() {
            self.continue_after_run(&ended);
            return true;
        }
        if self.activity.is_compacting_between_runs() {
            return self.advance_after_run_while_compacting();
        }
        if self.has_prompt_under_way() {
            // Deferred work waits for the disposition of the prompt.
            return false;
        } else if self.settle() {
            return true;
        } else if let Some(next) = self.backlog.after_run.pop_front() {
            self.begin_after_run(next);
        } else if self.emit_due_prompt_results() || self.deliver_queued() || self.emit_session_settled() {
            return true;
        } else if !self.queues.triggering.is_empty() {
            // The prompt that these messages accompanied has opened no run.
            self.start_run([]);
        } else {
            return false;
        }
        true
    }

    /// The machine that checks every emitted frame.
    pub const fn machine(&self) -> &Machine<impl Carried> {
        self.activity.machine()
    }

    /// The conversation so far.
    pub fn messages(&self) -> &[Arc<AgentMessage>] {
        self.store.session.messages()
    }

    /// Whether nothing is under way or deferred: no run, no prompt, no shell command, no login, no write.
    pub fn is_idle(&self) -> bool {
        let waits = !self.backlog.lines.is_empty()
            || !self.backlog.after_run.is_empty()
            || !self.backlog.before_greeting.is_empty();
        !self.is_working()
            && self.requests.shells.is_empty()
            && !self.requests.logins.has_outstanding()
            && !self.has_host_navigation()
            && !waits
            && !self.store.is_writing()
            && self.backlog.behind_disk.is_empty()
            && !self.is_notifying()
            && self.activity.lifecycle().is_greeting_over()
            && !self.extensions.has_command()
            && !self.extensions.hooks().any(Hook::may_leave_session)
    }

    /// Whether the session's file has all that the session is: opened again, it would be the same.
    pub fn is_restorable(&self) -> bool {
        let tree = self.store.session.tree();
        // The file does not say where a navigation has gone to: opened again, the session is at its last entry.
        let is_at_end = tree.leaf_id() == tree.entries().last().map(pi_rpc_session::Entry::id);
        is_at_end
            && self.is_idle()
            && self.store.session.is_on_disk()
            && !self.store.has_failed()
            && self.queues.are_unused()
            && self.modes == self.initial_modes
            && !self.tools.has_host_tools()
            && !self.extensions.has_any()
    }

    /// How many messages of the user are queued, steering and follow-up together.
    pub fn queued(&self) -> usize {
        self.queues.steering.count() + self.queues.follow_up.count()
    }

    /// Handles a frame of the host: a command, a dialog response, or one of a host tool.
    fn handle_frame(&mut self, frame: Inbound) {
        self.activity.inbound(&frame);
        match frame {
            Inbound::Command(command) => {
                let kind = command.kind();
                match kind.is_read() {
                    true => self.serve_command(command, false),
                    false => self.serve_or_queue(QueuedLine::Command(command), kind.is_control()),
                }
            }
            Inbound::ExtensionUIResponse(answer) => {
                if !self.keep_early_answer(&answer) {
                    self.with_extensions(|host, context| host.dialog_responded(answer, context));
                }
            }
            Inbound::HostToolUpdate(update) => self.on_host_tool_update(update),
            Inbound::HostToolResult(result) => self.on_host_tool_result(result),
            // No scheme of the host is registered.
            Inbound::HostUriResult(_) => {}
        }
    }

    /// Queues an output.
    pub(crate) fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// Emits a successful response, or ends the action that the command was served for.
    pub(crate) fn succeed(&mut self, response: impl Into<RpcSuccess>) {
        if let Some(response) = self.take_action_response(response.into()) {
            self.emit(Outbound::Response(response.into()));
        }
    }

    /// Emits an error response, or fails the action that the command was served for.
    pub(crate) fn fail(&mut self, id: Option<RequestId>, command: RpcCommandKind, error: String) {
        let is_starting = self.activity.is_starting();
        self.emit_failure(id, command, error);
        if is_starting && !self.activity.is_starting() {
            // Another prompt has failed than the one that starts.
            self.take_step(Step::PromptBegins, Next::Nothing);
        }
    }

    /// Emits an error response, which also ends the state `starting`, or fails the action that the command was served for.
    pub(crate) fn emit_failure(&mut self, id: Option<RequestId>, command: RpcCommandKind, error: String) {
        if let Some(error) = self.take_action_failure(id.as_ref(), error) {
            let response = RpcErrorResponse { id, command: command.as_str().to_owned(), error, code: None };
            self.emit(Outbound::Response(response.into()));
        }
    }
}
