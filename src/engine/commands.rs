//! What each command does.

use super::{Engine, after::AfterRun, compaction::Compacting, io::not_yet, keep::Tell};
use crate::protocol::{
    AgentMessage, Attribution, Case, CommandList, DialectPromptAck, DialectReady, Disposition, ErrorText,
    FlowState, GetAvailableModelsResponse, GetBranchMessagesResponse, GetCommandsResponse,
    GetForkMessagesResponse, GetLastAssistantTextResponse, GetMessagesResponse, GetSessionStatsResponse,
    GetStateResponse, ImageContent, LastAssistantText, MessageContent, MessageList, ModelList, Outbound,
    ReadyFrame, RequestId, RpcCommand, RpcCommandKind, StreamingBehavior, TextContent, UserContent,
    UserMessage, errors,
};

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
        let case = self.disposition(&command);
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
                        self.preempt(AfterRun::Prompt { id, kind, message: Box::new(message) });
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
                self.compacting.iter_mut().for_each(Compacting::ask_no_more);
                match disposition {
                    Disposition::Preempt => self.preempt(AfterRun::Answer { id, kind }),
                    _ if self.compacting.as_ref().is_some_and(Compacting::has_prompt) => {
                        self.after_run.push_back(AfterRun::Answer { id, kind });
                    }
                    _ => self.acknowledge(kind, id),
                }
            }
            RpcCommand::NewSession(it) => self.between_runs(disposition, AfterRun::NewSession(it)),
            RpcCommand::SwitchSession(it) => self.between_runs(disposition, AfterRun::SwitchSession(it)),
            RpcCommand::Fork(it) => {
                self.between_runs(disposition, AfterRun::Fork { id, kind, entry: it.entry_id });
            }
            RpcCommand::Branch(it) => {
                self.between_runs(disposition, AfterRun::Fork { id, kind, entry: it.entry_id });
            }
            RpcCommand::Compact(it) => match disposition {
                Disposition::Reject => {
                    self.handler_failed(id, kind, errors::compacting(self.dialect.base()));
                }
                _ => self.between_runs(disposition, AfterRun::Compact(it)),
            },
            RpcCommand::ExportHtml(it) => self.export(it),
            RpcCommand::GetForkMessages(_) => {
                let data = self.fork_messages();
                self.succeed(GetForkMessagesResponse { id, data });
            }
            RpcCommand::GetBranchMessages(_) => {
                let data = self.fork_messages();
                self.succeed(GetBranchMessagesResponse { id, data });
            }
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
            RpcCommand::AbortRetry(_) => {
                self.cancel_retry();
                self.acknowledge(kind, id);
            }
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
            | RpcCommand::GetIntegrations(_) => {
                let error = not_yet(self.dialect, kind.as_str());
                self.fail(id, kind, error);
            }
        }
    }

    /// What becomes of a command here. A compaction is a state of its own, also the one that nobody but the host was told
    /// of; and a prompt that waits for it is one that begins.
    fn disposition(&self, command: &RpcCommand) -> Option<&'static Case> {
        use RpcCommandKind::{AbortAndPrompt, Prompt};
        let flow = match &self.compacting {
            Some(it) if it.has_prompt() && matches!(command.kind(), Prompt | AbortAndPrompt) => {
                FlowState::Starting
            }
            Some(_) => FlowState::Compacting,
            None => self.machine.state().flow,
        };
        let cases = command.kind().cases(flow);
        Case::first(cases, self.dialect.base(), |field| command.choice(field))
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
                self.acknowledge_early(kind, id.clone());
                let text = error.unwrap_or(ErrorText::Busy).template(self.dialect.base());
                self.fail(id, kind, text.to_owned());
            }
            _ => self.open_run(id, kind, message),
        }
    }

    /// Starts a run if its model can be asked and what was said before is stored; answers in any case.
    pub(super) fn open_run(&mut self, id: Option<RequestId>, kind: RpcCommandKind, message: UserMessage) {
        if self.broken.take().is_some() {
            let unasked = self.unasked;
            self.tell = Some(Tell::Prompt { id, kind, message: Box::new(message), unasked });
            return;
        }
        match self.models[self.model].unusable.clone() {
            Some(error) => {
                self.acknowledge_early(kind, id.clone());
                self.fail(id, kind, error);
            }
            None => {
                self.acknowledge(kind, id);
                self.accepted(message);
            }
        }
    }

    /// The success that some dialects say before they look; an error may follow it.
    pub(super) fn acknowledge_early(&mut self, kind: RpcCommandKind, id: Option<RequestId>) {
        if self.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError {
            self.acknowledge(kind, id);
        }
    }

    /// The run of a prompt that was acknowledged: now, or when the context has been made to fit.
    fn accepted(&mut self, message: UserMessage) {
        self.cancel_retry();
        if let Some(message) = self.compacting_first(message) {
            self.start_run([AgentMessage::User(message)]);
        }
    }

    /// Does it when whatever is in the way has been ended. What could not be written of the session gets a last chance
    /// before.
    fn between_runs(&mut self, disposition: Disposition, then: AfterRun) {
        self.broken = None;
        match disposition {
            Disposition::Preempt => self.preempt(then),
            _ => self.after_run.push_back(then),
        }
    }

    /// Ends what goes on; `then` follows.
    fn preempt(&mut self, then: AfterRun) {
        self.after_run.push_back(then);
        self.cancel_retry();
        self.cancel_compaction();
        self.abort_run();
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
