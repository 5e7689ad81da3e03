//! What each command does.

use super::{Engine, Output, ShellEnd, ShellStart, core::Shell, io::not_yet, run::AfterRun};
use crate::{
    protocol::{
        AgentMessage, AssistantContent, Attribution, BashCommand, BashExecutionMessage, BashResponse,
        BashResult, Case, CommandList, CycleModelResponse, CycleThinkingLevelResponse, DialectErrorStyle,
        DialectLevelWithoutThinking, DialectPromptAck, DialectReady, Disposition, ErrorText,
        GetAvailableModelsResponse, GetCommandsResponse, GetLastAssistantTextResponse, GetMessagesResponse,
        GetSessionStatsResponse, GetStateResponse, ImageContent, LastAssistantText, MessageContent,
        MessageList, ModelCycle, ModelList, NewSessionCommand, NewSessionResponse, Outbound, ReadyFrame,
        RequestId, RpcCommand, RpcCommandKind, RpcErrorResponse, SessionChange, SessionState, SessionStats,
        SetModelCommand, SetModelResponse, SetSessionNameCommand, SetThinkingLevelCommand, StopReason,
        StreamingBehavior, TextContent, ThinkingLevel, ThinkingLevelChange, UserContent, UserMessage, errors,
        number,
    },
    session::{Memory, totals},
};
use std::sync::Arc;

impl Engine {
    /// The first frame, where the dialect has one.
    pub(super) fn greet(&mut self) {
        if self.dialect.record().ready != DialectReady::None {
            let version = Some(env!("CARGO_PKG_VERSION").to_owned());
            self.say(Outbound::ReadyFrame(ReadyFrame { version }));
        }
    }

    /// Does what the machine's disposition says of the command here.
    pub(super) fn command(&mut self, command: RpcCommand) {
        let case = self.machine.disposition(&command);
        let disposition = case.map_or(Disposition::Control, |case| case.disposition);
        let kind = command.kind();
        let id = command.id().cloned();
        match command {
            RpcCommand::Prompt(it) => {
                let message = self.user_message(it.message, it.images);
                self.prompt(id, kind, case, message, it.streaming_behavior);
            }
            RpcCommand::AbortAndPrompt(it) => {
                let message = self.user_message(it.message, it.images);
                match disposition {
                    Disposition::Preempt => {
                        self.preempt(AfterRun::Prompt { id, kind, message: Box::new(message) })
                    }
                    _ => self.prompt(id, kind, case, message, None),
                }
            }
            RpcCommand::Steer(it) => {
                let message = self.user_message(it.message, it.images);
                self.steering.push(message);
                self.acknowledge(kind, id);
            }
            RpcCommand::FollowUp(it) => {
                let message = self.user_message(it.message, it.images);
                self.follow_up.push(message);
                self.acknowledge(kind, id);
            }
            RpcCommand::Abort(_) => {
                self.stop_waiting_prompts();
                match disposition {
                    Disposition::Preempt => self.preempt(AfterRun::Answer { id, kind }),
                    _ => self.acknowledge(kind, id),
                }
            }
            RpcCommand::NewSession(it) => match disposition {
                Disposition::Preempt => self.preempt(AfterRun::NewSession(it)),
                _ => self.new_session(it),
            },
            RpcCommand::GetState(_) => {
                let data = self.session_state();
                self.succeed(GetStateResponse { id, data });
            }
            RpcCommand::GetMessages(_) => {
                let messages =
                    self.session.messages().iter().map(|message| message.as_ref().clone()).collect();
                self.succeed(GetMessagesResponse { id, data: MessageList { messages } });
            }
            RpcCommand::GetLastAssistantText(_) => {
                let data = LastAssistantText { text: self.last_text() };
                self.succeed(GetLastAssistantTextResponse { id, data });
            }
            RpcCommand::GetSessionStats(_) => {
                let data = self.session_stats();
                self.succeed(GetSessionStatsResponse { id, data });
            }
            RpcCommand::GetCommands(_) => {
                // Extensions, templates and skills are what it lists; this server has none loaded.
                self.succeed(GetCommandsResponse { id, data: CommandList { commands: Vec::new() } });
            }
            RpcCommand::GetAvailableModels(_) => {
                let models = self.usable().map(|at| self.models[at].model.clone()).collect();
                self.succeed(GetAvailableModelsResponse { id, data: ModelList { models } });
            }
            RpcCommand::SetModel(it) => self.set_model(it),
            RpcCommand::CycleModel(_) => self.cycle_model(id),
            RpcCommand::SetThinkingLevel(it) => self.set_level(it),
            RpcCommand::CycleThinkingLevel(_) => self.cycle_level(id),
            RpcCommand::SetSteeringMode(it) => {
                self.steering.mode = it.mode;
                self.acknowledge(kind, id);
            }
            RpcCommand::SetFollowUpMode(it) => {
                self.follow_up.mode = it.mode;
                self.acknowledge(kind, id);
            }
            RpcCommand::SetInterruptMode(it) => {
                self.interrupt = it.mode;
                self.acknowledge(kind, id);
            }
            RpcCommand::SetAutoCompaction(it) => {
                self.auto_compaction = it.enabled;
                self.acknowledge(kind, id);
            }
            RpcCommand::SetAutoRetry(it) => {
                self.auto_retry = it.enabled;
                self.acknowledge(kind, id);
            }
            // No run is retried yet, so no wait is ever open.
            RpcCommand::AbortRetry(_) => self.acknowledge(kind, id),
            RpcCommand::Bash(it) => self.start_shell(id, it.command),
            RpcCommand::AbortBash(_) => {
                self.cancel_shells();
                self.stop_waiting_shells();
                self.acknowledge(kind, id);
            }
            RpcCommand::SetSessionName(it) => self.set_name(it),
            RpcCommand::SetTodos(_)
            | RpcCommand::SetHostTools(_)
            | RpcCommand::SetLocale(_)
            | RpcCommand::GetIntegrations(_)
            | RpcCommand::Compact(_)
            | RpcCommand::ExportHtml(_)
            | RpcCommand::SwitchSession(_)
            | RpcCommand::Fork(_)
            | RpcCommand::Branch(_)
            | RpcCommand::GetForkMessages(_)
            | RpcCommand::GetBranchMessages(_) => {
                let error = not_yet(self.dialect, kind.as_str());
                self.fail(id, kind, error);
            }
        }
    }

    /// The plain success of a command without data.
    pub(super) fn acknowledge(&mut self, kind: RpcCommandKind, id: Option<RequestId>) {
        if let Some(response) = kind.acknowledge(id) {
            self.succeed(response);
        }
    }

    /// Starts a run, queues the message, or refuses it.
    pub(super) fn prompt(
        &mut self,
        id: Option<RequestId>,
        kind: RpcCommandKind,
        case: Option<&'static Case>,
        message: UserMessage,
        behavior: Option<StreamingBehavior>,
    ) {
        match case.map(|case| (case.disposition, case.error)) {
            Some((Disposition::Queue, _)) => {
                match behavior {
                    Some(StreamingBehavior::FollowUp) => self.follow_up.push(message),
                    _ => self.steering.push(message),
                }
                self.acknowledge(kind, id);
            }
            Some((Disposition::Reject, error)) => {
                if self.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError {
                    self.acknowledge(kind, id.clone());
                }
                let text = error.unwrap_or(ErrorText::Busy).template(self.dialect.base());
                self.fail(id, kind, text.to_owned());
            }
            _ => self.open_run(id, kind, message),
        }
    }

    /// Starts a run if its model can be asked; answers in any case.
    pub(super) fn open_run(&mut self, id: Option<RequestId>, kind: RpcCommandKind, message: UserMessage) {
        let error = self.models[self.model].unusable.clone();
        if error.is_none() || self.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError {
            self.acknowledge(kind, id.clone());
        }
        match error {
            Some(error) => self.fail(id, kind, error),
            None => self.start_run(message),
        }
    }

    /// Aborts the open run; `then` follows its end.
    fn preempt(&mut self, then: AfterRun) {
        self.after_run.push(then);
        self.abort_run();
    }

    pub(super) fn new_session(&mut self, command: NewSessionCommand) {
        let parent = command.parent_session.filter(|path| !path.is_empty());
        let id = self.ids.session(self.dialect, self.now);
        self.session = Memory::new(id, parent);
        self.steering.clear();
        self.follow_up.clear();
        self.deferred.clear();
        self.succeed(NewSessionResponse { id: command.id, data: SessionChange { cancelled: false } });
    }

    fn set_name(&mut self, command: SetSessionNameCommand) {
        let spaced = |text: &str| {
            let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let name = match self.dialect.record().cleans_session_name {
            false => command.name.trim().to_owned(),
            true => spaced(&command.name),
        };
        if name.is_empty() {
            let error = errors::session_name_empty(self.dialect.base());
            return self.fail(command.id, RpcCommandKind::SetSessionName, error);
        }
        self.session.name = Some(name);
        self.acknowledge(RpcCommandKind::SetSessionName, command.id);
    }

    fn user_message(&self, text: String, images: Option<Vec<ImageContent>>) -> UserMessage {
        let text = UserContent::Text(TextContent { text, text_signature: None });
        let images = images.into_iter().flatten().map(UserContent::Image);
        UserMessage {
            content: MessageContent::Blocks([text].into_iter().chain(images).collect()),
            attribution: Some(Attribution::User),
            synthetic: None,
            provider_payload: None,
            timestamp: self.now.wall,
        }
    }
}

/// State and reads.
impl Engine {
    fn session_state(&self) -> SessionState {
        let pending = Some(self.queued() as u64);
        SessionState {
            model: Some(self.models[self.model].model.clone()),
            thinking_level: self.level,
            is_streaming: self.run.is_some(),
            is_compacting: false,
            steering_mode: self.steering.mode,
            follow_up_mode: self.follow_up.mode,
            interrupt_mode: Some(self.interrupt),
            session_file: None,
            session_id: self.session.id.clone(),
            session_name: self.session.name.clone(),
            auto_compaction_enabled: self.auto_compaction,
            message_count: self.session.messages().len() as u64,
            pending_message_count: pending,
            queued_message_count: pending,
            todo_phases: Some(Vec::new()),
            system_prompt: None,
            dump_tools: None,
        }
    }

    fn session_stats(&self) -> SessionStats {
        let totals = totals(self.session.messages());
        SessionStats {
            session_file: None,
            session_id: self.session.id.clone(),
            user_messages: totals.user,
            assistant_messages: totals.assistant,
            tool_calls: totals.calls,
            tool_results: totals.results,
            total_messages: totals.all,
            tokens: totals.tokens,
            cost: number(totals.cost),
            premium_requests: Some(0.into()),
        }
    }

    /// The text of the newest assistant message, if it has any; aborted ones without content do not count.
    fn last_text(&self) -> Option<String> {
        let newest = self.session.messages().iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(it) if it.stop_reason == StopReason::Aborted && it.content.is_empty() => {
                None
            }
            AgentMessage::Assistant(it) => {
                let texts = it.content.iter().filter_map(|block| match block {
                    AssistantContent::Text(text) => Some(text.text.as_str()),
                    _ => None,
                });
                Some(texts.collect::<String>().trim().to_owned())
            }
            _ => None,
        });
        newest.filter(|text| !text.is_empty())
    }
}

/// Models and thinking levels.
impl Engine {
    /// The level that the current model takes; `None` in dialects that set none for a model that does not think.
    pub(super) fn fitting(&self, wanted: ThinkingLevel) -> Option<ThinkingLevel> {
        let choice = &self.models[self.model];
        let unset = self.dialect.record().level_without_thinking == DialectLevelWithoutThinking::Unset;
        (choice.model.reasoning || !unset).then(|| choice.clamp(wanted))
    }

    /// Places of the models that can be asked.
    fn usable(&self) -> impl Iterator<Item = usize> {
        (0..self.models.len()).filter(|at| self.models[*at].unusable.is_none())
    }

    fn set_model(&mut self, command: SetModelCommand) {
        let is_wanted = |at: &usize| {
            let model = &self.models[*at].model;
            model.provider == command.provider && model.id == command.model_id
        };
        let Some(at) = self.usable().find(is_wanted) else {
            let error = errors::model_not_found(self.dialect.base(), &command.provider, &command.model_id);
            return self.fail(command.id, RpcCommandKind::SetModel, error);
        };
        self.switch(at);
        self.succeed(SetModelResponse { id: command.id, data: self.models[at].model.clone() });
    }

    fn cycle_model(&mut self, id: Option<RequestId>) {
        let is_scoped = self.scope.is_some();
        let round: Vec<_> = match &self.scope {
            Some(scope) => {
                scope.iter().filter(|(at, _)| self.models[*at].unusable.is_none()).copied().collect()
            }
            None => self.usable().map(|at| (at, None)).collect(),
        };
        if round.len() <= 1 {
            return self.succeed(CycleModelResponse { id, data: None });
        }
        let current = round.iter().position(|(at, _)| *at == self.model).unwrap_or(0);
        let (next, level) = round[(current + 1) % round.len()];
        let thought = self.models[self.model].model.reasoning;
        self.switch(next);
        let restores = !thought && self.dialect.record().cycle_restores_level;
        if let Some(level) = level.or(restores.then_some(self.default_level)) {
            self.level = self.fitting(level);
        }
        let data =
            ModelCycle { model: self.models[next].model.clone(), thinking_level: self.level, is_scoped };
        self.succeed(CycleModelResponse { id, data: Some(data) });
    }

    fn switch(&mut self, at: usize) {
        self.model = at;
        self.level = self.level.and_then(|level| self.fitting(level));
    }

    fn set_level(&mut self, command: SetThinkingLevelCommand) {
        self.level = self.fitting(command.level);
        self.acknowledge(RpcCommandKind::SetThinkingLevel, command.id);
    }

    fn cycle_level(&mut self, id: Option<RequestId>) {
        let choice = &self.models[self.model];
        if !choice.model.reasoning {
            return self.succeed(CycleThinkingLevelResponse { id, data: None });
        }
        let levels = &choice.levels;
        let current = self.level.and_then(|level| levels.iter().position(|l| *l == level));
        let level = levels[current.map_or(0, |at| (at + 1) % levels.len())];
        self.level = Some(level);
        self.succeed(CycleThinkingLevelResponse { id, data: Some(ThinkingLevelChange { level }) });
    }
}

/// Lines and bytes of nothing: what is empty has one line.
const NO_OUTPUT: [u64; 4] = [1, 0, 1, 0];

/// Shell commands of the host.
impl Engine {
    fn start_shell(&mut self, id: Option<RequestId>, command: String) {
        let call = self.ids.call();
        let session = self.session.id.clone();
        self.shells.insert(call, Shell { id, command: command.clone(), session });
        self.push(Output::StartShell(ShellStart { call, command, directory: self.directory.clone() }));
    }

    pub(super) fn cancel_shells(&mut self) {
        let calls: Vec<_> = self.shells.keys().copied().collect();
        for call in calls {
            self.push(Output::CancelShell(call));
        }
    }

    /// Answers a shell command that was stopped before it began.
    pub(super) fn unrun_shell(&mut self, command: BashCommand) {
        let directory = self.directory.clone();
        let end = ShellEnd { cancelled: true, directory, counts: NO_OUTPUT, ..ShellEnd::default() };
        let shell = Shell { id: command.id, command: command.command, session: self.session.id.clone() };
        self.shell_over(shell, end);
    }

    pub(super) fn shell_end(&mut self, call: super::CallId, end: Result<ShellEnd, String>) {
        let Some(shell) = self.shells.remove(&call) else { return };
        match end {
            Ok(end) => self.shell_over(shell, end),
            Err(text) => self.handler_failed(shell.id, RpcCommandKind::Bash, text),
        }
    }

    fn shell_over(&mut self, shell: Shell, end: ShellEnd) {
        self.remember_shell(&shell, &end);
        if let Some(directory) = &end.directory {
            self.directory = Some(directory.clone());
        }
        let data = Self::bash_result(end);
        self.succeed(BashResponse { id: shell.id, data });
    }

    fn remember_shell(&mut self, shell: &Shell, end: &ShellEnd) {
        let message = BashExecutionMessage {
            command: shell.command.clone(),
            output: end.output.clone(),
            exit_code: end.exit_code.map(i64::from),
            cancelled: end.cancelled,
            truncated: end.truncated,
            full_output_path: end.full_output_path.clone(),
            meta: None,
            timestamp: self.now.wall,
            exclude_from_context: None,
        };
        let message = Arc::new(AgentMessage::BashExecution(message));
        match (shell.session == self.session.id, &self.run) {
            (false, _) => {}
            (true, Some(_)) => self.deferred.push(message),
            (true, None) => self.session.append(message),
        }
    }

    fn bash_result(end: ShellEnd) -> BashResult {
        let [total_lines, total_bytes, output_lines, output_bytes] = end.counts.map(Some);
        BashResult {
            output: end.output,
            exit_code: end.exit_code.map(i64::from),
            cancelled: end.cancelled,
            truncated: end.truncated,
            full_output_path: end.full_output_path,
            new_cwd: end.directory,
            total_lines,
            total_bytes,
            output_lines,
            output_bytes,
            artifact_id: None,
        }
    }

    /// A command that was accepted and then failed, in the dialect's style.
    fn handler_failed(&mut self, id: Option<RequestId>, kind: RpcCommandKind, text: String) {
        match self.dialect.record().error_style {
            DialectErrorStyle::Echo => self.fail(id, kind, text),
            DialectErrorStyle::Parse => {
                let error = errors::parse(self.dialect.base(), &text);
                let response = RpcErrorResponse { id: None, command: "parse".to_owned(), error };
                self.say(Outbound::Response(response.into()));
            }
        }
    }
}
