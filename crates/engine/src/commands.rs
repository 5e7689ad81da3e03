//! Serves each command as the [gate](crate::gate) says in the current state.

use crate::{
    core::Engine,
    gate::Gate,
    io::not_yet,
    prompt::{Prompt, Recipient},
    run::{compaction::Compaction, deferred::AfterRun},
    store::next_session::NextSession,
};
use pi_rpc_protocol::{
    AvailableCommandList, DialectReady, Emission, FastMode, GetAvailableCommandsResponse,
    GetAvailableThinkingLevelsResponse, GetBranchMessagesResponse, GetCommandsResponse,
    GetForkMessagesResponse, GetLastAssistantTextResponse, GetSessionStatsResponse, GetStateResponse,
    GetSubagentsResponse, LastAssistantText, Outbound, ReadyFrame, RequestId, RpcCommand, RpcCommandKind,
    SetFastModeResponse, SetSubagentSubscriptionResponse, SetTodosResponse, SubagentList,
    SubagentSubscriptionLevel, ThinkingLevelList, TodoList, errors,
};

impl Engine {
    /// Emits the first frame, where the dialect has one.
    pub(crate) fn greet(&mut self) {
        let record = self.dialect.record();
        if record.ready == DialectReady::None {
            return;
        }
        let (limits, versions) = (&record.frame_limits, &record.protocol_versions);
        let supported = [versions.first, versions.chunks].into_iter().flatten();
        self.emit(Outbound::ReadyFrame(ReadyFrame {
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            protocol_version: versions.first,
            supported_protocol_versions: Some(supported.map(|version| version as i64).collect()),
            max_frame_bytes: limits.frame,
            max_reassembled_frame_bytes: limits.reassembled,
        }));
        self.emit_available_commands();
    }

    /// Serves a command as the gate says. `is_aborted`: the command is a prompt that was aborted before it
    /// was served.
    pub(crate) fn serve_command(&mut self, command: RpcCommand, is_aborted: bool) {
        let gate = self.gate(&command);
        let kind = command.kind();
        let id = command.id().cloned();
        if !kind.is_served() {
            return self.fail(id, kind, not_yet(self.dialect, kind.as_str()));
        }
        if let Some(error) = self.no_room_for(&command, gate) {
            return self.handler_failed(id, kind, error);
        }
        // Extensions examine a message first, and its treatment is final after that.
        if let Gate::Reject(text) = gate
            && !kind.has_message()
        {
            return self.handler_failed(id, kind, text.to_owned());
        }
        match command {
            RpcCommand::Prompt(mut it) => {
                let (text, images) = (std::mem::take(&mut it.message), it.images.take());
                let command = RpcCommand::Prompt(it);
                self.serve_prompt(Prompt::of_host(command, text, images, is_aborted));
            }
            RpcCommand::AbortAndPrompt(mut it) => {
                let (text, images) = (std::mem::take(&mut it.message), it.images.take());
                let command = RpcCommand::AbortAndPrompt(it);
                let prompt = Prompt::of_host(command, text, images, is_aborted);
                match gate {
                    Gate::Preempt => {
                        self.series.skips_compaction =
                            self.activity.compaction().is_some_and(|it| !it.is_manual());
                        self.preempt(AfterRun::Prompt(Box::new(prompt)));
                    }
                    _ => self.serve_prompt(prompt),
                }
            }
            RpcCommand::Steer(it) => self.serve_queue_message(id, kind, it.message, it.images),
            RpcCommand::FollowUp(it) => self.serve_queue_message(id, kind, it.message, it.images),
            RpcCommand::Abort(_) => {
                if self.dialect.record().aborts_shells {
                    self.cancel_shells();
                    self.abort_queued_shells();
                }
                self.abort_queued_work();
                self.abandon_host_navigation();
                self.abort_prompts();
                self.abort_chain();
                self.activity.compaction_mut().into_iter().for_each(Compaction::abort_what_follows);
                if gate == Gate::Preempt {
                    return self.preempt(AfterRun::AbortResponse { id, kind });
                }
                let has_prompt = self.activity.compaction().is_some_and(Compaction::has_prompt);
                let ends_prompt = has_prompt || self.has_prompt_under_way();
                let waits = ends_prompt || self.backlog.after_run.iter().any(AfterRun::is_aborted);
                if ends_prompt {
                    self.cancel_run_requests();
                    self.cancel_compaction_hook();
                }
                if waits {
                    self.backlog.after_run.push_back(AfterRun::AbortResponse { id: id.clone(), kind });
                }
                if self.activity.compaction().is_some_and(Compaction::is_manual) {
                    self.cancel_compaction();
                }
                if !waits {
                    self.acknowledge(kind, id);
                }
            }
            RpcCommand::NewSession(it) => self.request_session_change(NextSession::New(it)),
            RpcCommand::SwitchSession(it) => self.request_session_change(NextSession::File(it)),
            RpcCommand::Fork(it) => self.request_session_change(it.into()),
            RpcCommand::Branch(it) => self.request_session_change(it.into()),
            RpcCommand::Clone(it) => self.request_session_change(it.into()),
            RpcCommand::OpenSession(it) => self.find_newest_session(it),
            RpcCommand::SetEventFilter(it) => self.set_event_filter(it),
            RpcCommand::Compact(it) => self.schedule_between_runs(gate, AfterRun::Compact(it)),
            RpcCommand::ExportHtml(it) => self.export(it),
            RpcCommand::GetForkMessages(_) => {
                let data = self.fork_messages();
                self.succeed(GetForkMessagesResponse { id, data });
            }
            RpcCommand::GetBranchMessages(_) => {
                let data = self.fork_messages();
                self.succeed(GetBranchMessagesResponse { id, data });
            }
            RpcCommand::GetEntries(it) => self.list_entries(it),
            RpcCommand::GetTree(_) => self.list_tree(id),
            RpcCommand::NavigateTree(it) => self.navigate(it),
            RpcCommand::ClearQueue(_) => self.clear_queue(id),
            RpcCommand::GetAvailableThinkingLevels(_) => {
                let data = ThinkingLevelList { levels: self.models.choice().levels.clone() };
                self.succeed(GetAvailableThinkingLevelsResponse { id, data });
            }
            RpcCommand::GetState(_) => {
                let data = self.session_state();
                self.succeed(GetStateResponse { id, data });
            }
            RpcCommand::GetMessages(_) => {
                let messages = self.store.session.encoded_messages(self.dialect.base());
                let response = Emission::messages(id, messages);
                self.emit(response);
            }
            RpcCommand::GetLastAssistantText(_) => {
                let data = LastAssistantText { text: self.last_assistant_text() };
                self.succeed(GetLastAssistantTextResponse { id, data });
            }
            RpcCommand::GetSessionStats(_) => {
                let data = self.session_stats();
                self.succeed(GetSessionStatsResponse { id, data });
            }
            RpcCommand::GetCommands(_) => {
                let data = self.command_list();
                self.succeed(GetCommandsResponse { id, data });
            }
            RpcCommand::GetAvailableModels(_) => self.list_models(id),
            RpcCommand::SetModel(it) => self.set_model(it),
            RpcCommand::CycleModel(_) => self.cycle_model(id),
            RpcCommand::SetThinkingLevel(it) => self.set_level(it),
            RpcCommand::CycleThinkingLevel(_) => self.cycle_level(id),
            RpcCommand::SetSteeringMode(it) => {
                self.modes.steering = it.mode;
                self.acknowledge(kind, id);
            }
            RpcCommand::SetFollowUpMode(it) => {
                self.modes.follow_up = it.mode;
                self.acknowledge(kind, id);
            }
            RpcCommand::SetInterruptMode(it) => {
                self.modes.interrupt = it.mode;
                self.acknowledge(kind, id);
            }
            RpcCommand::SetAutoCompaction(it) => {
                self.modes.auto_compaction = it.enabled;
                self.acknowledge(kind, id);
            }
            RpcCommand::SetAutoRetry(it) => {
                self.modes.auto_retry = it.enabled;
                self.acknowledge(kind, id);
            }
            RpcCommand::AbortRetry(_) => {
                if gate == Gate::Preempt {
                    self.series.chain.iter_mut().for_each(|chain| chain.keeps_queue = true);
                    self.cancel_retry();
                }
                self.acknowledge(kind, id);
            }
            RpcCommand::Bash(it) => self.start_shell(it),
            RpcCommand::AbortBash(_) => {
                self.cancel_shells();
                self.abort_queued_shells();
                self.acknowledge(kind, id);
            }
            RpcCommand::GetLoginProviders(_) => self.list_login_providers(id),
            RpcCommand::Login(it) => self.start_login(it),
            RpcCommand::AbortLogin(_) => {
                self.cancel_login();
                self.acknowledge(kind, id);
            }
            RpcCommand::Logout(it) => self.start_logout(it),
            RpcCommand::SetSessionName(it) => self.rename(&it.name, Recipient::Host { id, kind }),
            RpcCommand::SetHostTools(it) => self.set_host_tools(it),
            RpcCommand::SetTodos(it) => {
                self.todos.set(it.phases, self.now.monotonic);
                self.succeed(SetTodosResponse { id, data: TodoList { todo_phases: self.todos.view() } });
            }
            RpcCommand::NegotiateProtocol(it) => self.negotiate_protocol(it),
            RpcCommand::GetMessagesPage(it) => self.list_message_page(it),
            RpcCommand::GetAvailableCommands(_) => {
                let data = AvailableCommandList { commands: self.available_commands() };
                self.succeed(GetAvailableCommandsResponse { id, data });
            }
            RpcCommand::SetSubagentSubscription(it) => {
                let data = SubagentSubscriptionLevel { level: it.level };
                self.succeed(SetSubagentSubscriptionResponse { id, data });
            }
            RpcCommand::GetSubagents(_) => {
                // No tool of this server starts one.
                let data = SubagentList { subagents: Vec::new() };
                self.succeed(GetSubagentsResponse { id, data });
            }
            RpcCommand::SetFastMode(it) => match it.enabled {
                true => self.fail(id, kind, errors::fast_mode(self.dialect.base())),
                false => {
                    let data = FastMode { enabled: false, active: false };
                    self.succeed(SetFastModeResponse { id, data });
                }
            },
            // Not served: refused above.
            RpcCommand::SetLocale(_)
            | RpcCommand::GetIntegrations(_)
            | RpcCommand::Handoff(_)
            | RpcCommand::SetHostUriSchemes(_)
            | RpcCommand::GetSubagentMessages(_) => {}
        }
    }

    /// Responds with the success of a command that has no data.
    pub(crate) fn acknowledge(&mut self, kind: RpcCommandKind, id: Option<RequestId>) {
        if let Some(response) = kind.acknowledge(id) {
            self.succeed(response);
        }
    }

    /// Performs work between runs, after ending or awaiting whatever is under way. What could not be written of the
    /// session gets a last chance before.
    pub(crate) fn schedule_between_runs(&mut self, gate: Gate, then: AfterRun) {
        self.store.retry_write();
        match gate {
            Gate::Preempt => self.preempt(then),
            _ => self.backlog.after_run.push_back(then),
        }
    }

    /// Ends the open run, retry or compaction; `then` follows.
    pub(crate) fn preempt(&mut self, then: AfterRun) {
        self.backlog.after_run.push_back(then);
        self.abort_chain();
        self.cancel_run_requests();
        self.cancel_retry();
        // First, so that a turn that waits for the compaction requests no model.
        self.abort_run();
        self.cancel_compaction();
    }
}
