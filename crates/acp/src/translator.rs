//! [`Translator`]: from the frames of a server to updates of an ACP session. Does no IO.

use super::{
    mapping::mapping,
    slash_commands::{available, commands_update},
    tool_calls::{content_block, ended_fields, pending_call, plan, progress_fields, running_fields},
};
use agent_client_protocol::v1::schema::{
    ClientCapabilities, CompactionId, CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk,
    CurrentModeUpdate, MessageId, Notice, NoticeSeverity, SessionInfoUpdate, SessionUpdate, Terminal,
    TerminalId, TextContent, ToolCallContent, ToolCallUpdate, ToolCallUpdateFields,
};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AgentToolResult, AssistantContent, AssistantMessage,
    AssistantMessageEvent, ExtensionError, JsonObject, MessageContent, NoticeLevel, NotifyType, Outbound,
    RpcExtensionUIRequest, ThinkingLevel, ToolResultMessage, UserContent,
};
use std::{collections::HashMap, path::PathBuf};

/// Follows the frames of one session and makes updates of them.
#[derive(Debug)]
pub struct Translator {
    /// The working directory of the session, from which relative paths start.
    directory: PathBuf,
    shows_notices: bool,
    shows_compactions: bool,
    /// Messages that have begun.
    messages: u64,
    compactions: u64,
    /// Bytes of each block of the open message that the client has.
    sent: HashMap<usize, usize>,
    /// Arguments of the calls that the client knows and that have not ended.
    calls: HashMap<String, JsonObject>,
    /// Terminals that calls run in, by their ids.
    terminals: HashMap<String, TerminalId>,
    /// The call that was begun last.
    last_call: Option<String>,
    /// Whether the client does not have the options in effect.
    has_stale_options: bool,
}

impl Translator {
    /// A session in `directory`, for a client that can do this.
    pub fn new(directory: PathBuf, client: &ClientCapabilities) -> Self {
        let session = client.session.as_ref();
        Self {
            directory,
            shows_notices: session.is_some_and(|session| session.notices.is_some()),
            shows_compactions: session.is_some_and(|session| session.compaction.is_some()),
            messages: 0,
            compactions: 0,
            sent: HashMap::new(),
            calls: HashMap::new(),
            terminals: HashMap::new(),
            last_call: None,
            has_stale_options: false,
        }
    }

    /// The call that was begun last, if it has not ended.
    pub fn last_call(&self) -> Option<&str> {
        self.last_call.as_deref().filter(|id| self.calls.contains_key(*id))
    }

    /// Shows a terminal in a call, in place of its output.
    pub fn show_terminal(&mut self, call: String, terminal: TerminalId) -> Option<SessionUpdate> {
        if !self.calls.contains_key(&call) {
            return None;
        }
        let content = vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))];
        let update = call_update(&call, ToolCallUpdateFields::new().content(content));
        self.terminals.insert(call, terminal);
        Some(update)
    }

    /// Whether a frame since the last call has changed options without all that the client needs to show them.
    pub const fn take_stale_options(&mut self) -> bool {
        std::mem::replace(&mut self.has_stale_options, false)
    }

    /// The updates that a frame becomes.
    pub fn updates(&mut self, frame: &Outbound) -> Vec<SessionUpdate> {
        match frame {
            Outbound::AgentSessionEvent(event) if mapping().is_lost("events", event.kind().as_str()) => {
                Vec::new()
            }
            Outbound::AgentSessionEvent(event) => self.event(event),
            Outbound::ExtensionUIRequest(request) if mapping().is_lost("ui", request.kind().as_str()) => {
                Vec::new()
            }
            Outbound::ExtensionUIRequest(request) => self.request(request).into_iter().collect(),
            Outbound::ExtensionError(ExtensionError { extension_path, error, .. }) => {
                self.notice(NoticeSeverity::Error, format!("{extension_path}: {error}")).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn event(&mut self, event: &AgentSessionEvent) -> Vec<SessionUpdate> {
        use AgentSessionEvent as E;
        let update = match event {
            E::MessageStart(start) => {
                self.begin_message(&start.message);
                return Vec::new();
            }
            E::MessageUpdate(update) => return self.step(&update.assistant_message_event),
            E::MessageEnd(end) => return self.end_message(&end.message),
            E::ToolExecutionStart(start) => {
                return self.start_call(&start.tool_call_id, &start.tool_name, &start.args);
            }
            E::ToolExecutionUpdate(update) => {
                Some(call_update(&update.tool_call_id, progress_fields(&update.partial_result)))
            }
            E::ToolExecutionEnd(end) => {
                return self.end_call(&end.tool_call_id, &end.tool_name, &end.result, end.is_error);
            }
            E::SessionInfoChanged(info) => {
                Some(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(info.name.clone())))
            }
            E::SessionInfoUpdate(info) => {
                Some(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(info.title.clone())))
            }
            E::ThinkingLevelChanged(change) => self.change_level(change.level),
            E::ConfigUpdate(change) => self.change_level(change.thinking_level),
            E::ModelChanged(_) => {
                self.has_stale_options = true;
                None
            }
            E::AvailableCommandsUpdate(list) => {
                Some(commands_update(list.commands.iter().map(available).collect()))
            }
            E::CommandOutput(output) => {
                self.messages += 1;
                Some(SessionUpdate::AgentMessageChunk(self.chunk(text_block(&output.text))))
            }
            E::Notice(notice) => {
                let severity = match notice.level {
                    NoticeLevel::Info => NoticeSeverity::Info,
                    NoticeLevel::Warning => NoticeSeverity::Warning,
                    NoticeLevel::Error => NoticeSeverity::Error,
                };
                self.notice(severity, notice.message.clone())
            }
            E::CompactionStart(_) | E::AutoCompactionStart(_) => {
                self.compactions += 1;
                self.compaction(CompactionStatus::InProgress, None, None)
            }
            E::CompactionEnd(end) => {
                let result = end.result.as_ref().map(|result| result.summary.as_str());
                self.end_compaction(end.aborted, result, end.error_message.as_deref())
            }
            E::AutoCompactionEnd(end) => {
                let result = end.result.as_ref().map(|result| result.summary.as_str());
                self.end_compaction(end.aborted, result, end.error_message.as_deref())
            }
            E::AutoRetryStart(retry) => {
                let delay = retry.delay_ms.as_f64().unwrap_or_default() / 1000.0;
                let (attempt, most) = (retry.attempt, retry.max_attempts);
                let text = format!("Retry {attempt} of {most} in {delay} s: {}", retry.error_message);
                self.notice(NoticeSeverity::Warning, text)
            }
            E::AutoRetryEnd(end) if !end.success => {
                let reason = end.final_error.clone().unwrap_or_else(|| "gave up".to_owned());
                self.notice(NoticeSeverity::Error, format!("The retries have failed: {reason}"))
            }
            E::SummarizationRetryScheduled(retry) => {
                let (attempt, most) = (retry.attempt, retry.max_attempts);
                let text = format!("Retry {attempt} of {most} of the summary: {}", retry.error_message);
                self.notice(NoticeSeverity::Warning, text)
            }
            E::RetryFallbackApplied(fallback) => {
                let text = format!("{} goes on in place of {}", fallback.to, fallback.from);
                self.notice(NoticeSeverity::Warning, text)
            }
            E::TtsrTriggered(rules) => {
                let names: Vec<&str> = rules.rules.iter().map(|rule| rule.name.as_str()).collect();
                self.notice(NoticeSeverity::Info, format!("Rules were called to mind: {}", names.join(", ")))
            }
            E::TodoReminder(reminder) => {
                let text = format!("{} todos are open", reminder.todos.len());
                self.notice(NoticeSeverity::Info, text)
            }
            _ => None,
        };
        update.into_iter().collect()
    }

    /// The mode of a level that is in effect.
    fn change_level(&mut self, level: Option<ThinkingLevel>) -> Option<SessionUpdate> {
        self.has_stale_options = true;
        let mode = CurrentModeUpdate::new(level?.as_str());
        Some(SessionUpdate::CurrentModeUpdate(mode))
    }

    /// The notice that a request of the user interface without a response becomes.
    fn request(&self, request: &RpcExtensionUIRequest) -> Option<SessionUpdate> {
        match request {
            RpcExtensionUIRequest::Notify(notify) => {
                let severity = match notify.notify_type {
                    Some(NotifyType::Warning) => NoticeSeverity::Warning,
                    Some(NotifyType::Error) => NoticeSeverity::Error,
                    Some(NotifyType::Info) | None => NoticeSeverity::Info,
                };
                self.notice(severity, notify.message.clone())
            }
            RpcExtensionUIRequest::OpenUrl(open) => self.notice(NoticeSeverity::Info, open.url.clone()),
            _ => None,
        }
    }

    /// A notice for the user, if the client shows any.
    pub fn notice(&self, severity: NoticeSeverity, text: String) -> Option<SessionUpdate> {
        self.shows_notices.then(|| SessionUpdate::Notice(Notice::new(severity, text)))
    }

    fn compaction(
        &self,
        status: CompactionStatus,
        summary: Option<&str>,
        error: Option<&str>,
    ) -> Option<SessionUpdate> {
        let id = CompactionId::new(format!("compaction-{}", self.compactions));
        let mut update = CompactionUpdate::new(id, status);
        if let Some(summary) = summary {
            update = update.summary(vec![text_block(summary)]);
        }
        if let Some(error) = error {
            update = update.error(error.to_owned());
        }
        self.shows_compactions.then_some(SessionUpdate::CompactionUpdate(update))
    }

    fn end_compaction(
        &self,
        is_aborted: bool,
        summary: Option<&str>,
        error: Option<&str>,
    ) -> Option<SessionUpdate> {
        let status = match (is_aborted, summary) {
            (true, _) => CompactionStatus::Cancelled,
            (false, Some(_)) => CompactionStatus::Completed,
            (false, None) => CompactionStatus::Failed,
        };
        self.compaction(status, summary, error)
    }

    fn begin_message(&mut self, message: &AgentMessage) {
        if matches!(message, AgentMessage::Assistant(_)) {
            self.messages += 1;
            self.sent.clear();
        }
    }

    /// The update of a step of the partial message.
    fn step(&mut self, step: &AssistantMessageEvent) -> Vec<SessionUpdate> {
        if mapping().is_lost("updates", step.kind().as_str()) {
            return Vec::new();
        }
        match step {
            AssistantMessageEvent::TextDelta(step) => {
                self.note_sent(step.content_index, &step.delta);
                vec![SessionUpdate::AgentMessageChunk(self.chunk(text_block(&step.delta)))]
            }
            AssistantMessageEvent::ThinkingDelta(step) => {
                self.note_sent(step.content_index, &step.delta);
                vec![SessionUpdate::AgentThoughtChunk(self.chunk(text_block(&step.delta)))]
            }
            AssistantMessageEvent::ToolcallEnd(step) => {
                let call = &step.tool_call;
                self.announce_call(&call.id, &call.name, &call.arguments)
            }
            _ => Vec::new(),
        }
    }

    fn note_sent(&mut self, index: u64, delta: &str) {
        *self.sent.entry(usize::try_from(index).unwrap_or(usize::MAX)).or_default() += delta.len();
    }

    /// What of a message the client does not have yet.
    fn end_message(&mut self, message: &AgentMessage) -> Vec<SessionUpdate> {
        match message {
            AgentMessage::Assistant(message) => self.rest_of(message),
            AgentMessage::Custom(message) if message.display => self.message_of_agent(&message.content),
            AgentMessage::HookMessage(message) if message.display => self.message_of_agent(&message.content),
            _ => Vec::new(),
        }
    }

    fn rest_of(&mut self, message: &AssistantMessage) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        for (index, block) in message.content.iter().enumerate() {
            let sent = self.sent.get(&index).copied().unwrap_or(0);
            // A text that is not what was streamed is not sent again.
            let rest = |text: &str| text.get(sent..).filter(|rest| !rest.is_empty()).map(text_block);
            match block {
                AssistantContent::Text(text) => updates.extend(
                    rest(&text.text).map(|block| SessionUpdate::AgentMessageChunk(self.chunk(block))),
                ),
                AssistantContent::Thinking(thinking) => updates.extend(
                    rest(&thinking.thinking).map(|block| SessionUpdate::AgentThoughtChunk(self.chunk(block))),
                ),
                AssistantContent::ToolCall(call) => {
                    updates.extend(self.announce_call(&call.id, &call.name, &call.arguments));
                }
                AssistantContent::RedactedThinking(_) => {}
            }
        }
        self.sent.clear();
        updates
    }

    fn message_of_agent(&mut self, content: &MessageContent) -> Vec<SessionUpdate> {
        self.messages += 1;
        blocks(content).map(|block| SessionUpdate::AgentMessageChunk(self.chunk(block))).collect()
    }

    fn chunk(&self, block: ContentBlock) -> ContentChunk {
        ContentChunk::new(block).message_id(MessageId::new(format!("message-{}", self.messages)))
    }

    /// The call, if the client does not know it.
    fn announce_call(&mut self, id: &str, name: &str, arguments: &JsonObject) -> Vec<SessionUpdate> {
        if self.calls.contains_key(id) {
            return Vec::new();
        }
        self.calls.insert(id.to_owned(), arguments.clone());
        vec![SessionUpdate::ToolCall(pending_call(id, name, arguments, &self.directory))]
    }

    fn start_call(&mut self, id: &str, name: &str, arguments: &JsonObject) -> Vec<SessionUpdate> {
        let mut updates = self.announce_call(id, name, arguments);
        self.last_call = Some(id.to_owned());
        updates.push(call_update(id, running_fields()));
        updates
    }

    fn end_call(
        &mut self,
        id: &str,
        name: &str,
        result: &AgentToolResult,
        is_error: bool,
    ) -> Vec<SessionUpdate> {
        let arguments = self.calls.remove(id);
        let mut fields = ended_fields(name, arguments.as_ref(), result, is_error, &self.directory);
        if let Some(terminal) = self.terminals.remove(id) {
            fields = fields.content(vec![ToolCallContent::Terminal(Terminal::new(terminal))]);
        }
        let plan = plan(name, result).map(SessionUpdate::Plan);
        std::iter::once(call_update(id, fields)).chain(plan).collect()
    }

    /// The updates that show the messages of a session that is loaded.
    pub fn replay(&mut self, messages: &[AgentMessage]) -> Vec<SessionUpdate> {
        messages.iter().flat_map(|message| self.replay_message(message)).collect()
    }

    fn replay_message(&mut self, message: &AgentMessage) -> Vec<SessionUpdate> {
        if mapping().is_lost("roles", message.kind().as_str()) {
            return Vec::new();
        }
        match message {
            AgentMessage::User(message) => {
                self.messages += 1;
                let chunk = |block| SessionUpdate::UserMessageChunk(self.chunk(block));
                blocks(&message.content).map(chunk).collect()
            }
            AgentMessage::Assistant(_) => {
                self.begin_message(message);
                self.end_message(message)
            }
            AgentMessage::ToolResult(ToolResultMessage {
                tool_call_id,
                tool_name,
                content,
                details,
                is_error,
                ..
            }) => {
                let result = AgentToolResult {
                    content: content.clone(),
                    details: details.clone(),
                    ..AgentToolResult::from("")
                };
                self.end_call(tool_call_id, tool_name, &result, *is_error)
            }
            AgentMessage::BashExecution(run) => self.replay_command("bash", &run.command, &run.output),
            AgentMessage::PythonExecution(run) => self.replay_command("python", &run.code, &run.output),
            AgentMessage::BranchSummary(summary) => self.replay_summary(&summary.summary),
            AgentMessage::CompactionSummary(summary) => self.replay_summary(&summary.summary),
            message => self.end_message(message),
        }
    }

    fn replay_command(&mut self, tool: &str, command: &str, output: &str) -> Vec<SessionUpdate> {
        self.messages += 1;
        let id = format!("command-{}", self.messages);
        let mut arguments = JsonObject::new();
        arguments.insert("command".to_owned(), command.into());
        let mut updates = self.announce_call(&id, tool, &arguments);
        updates.extend(self.end_call(&id, tool, &AgentToolResult::from(output.to_owned()), false));
        updates
    }

    fn replay_summary(&mut self, summary: &str) -> Vec<SessionUpdate> {
        self.messages += 1;
        vec![SessionUpdate::AgentThoughtChunk(self.chunk(text_block(summary)))]
    }
}

fn call_update(id: &str, fields: ToolCallUpdateFields) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))
}

fn text_block(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

fn blocks(content: &MessageContent) -> impl Iterator<Item = ContentBlock> {
    let (text, blocks): (Option<&str>, &[UserContent]) = match content {
        MessageContent::Text(text) => (Some(text), &[]),
        MessageContent::Blocks(blocks) => (None, blocks),
    };
    text.map(text_block).into_iter().chain(blocks.iter().map(content_block))
}
