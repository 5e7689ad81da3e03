//! Watcher that predicts everything in a conversation without files, retries and compactions.

use super::{
    Watcher,
    calls::{Around, Calls},
    requests::{Requests, Settled},
    run_model::RunModel,
    wire::Wire,
};
use crate::{Checked, ensure};
use pi_rpc_engine::{CallId, Engine, Input, Now, Output, ShellEnd, Toolbox};
use pi_rpc_model::types::StreamEvent;
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, Base, BashCommand, Dialect, DialectEndOfInput, DialectReady, Emission,
    ErrorText, FlowState, Inbound, MessageContent, Outbound, RpcCommand, RpcErrorResponse, RpcResponse,
    RpcSuccess, UserContent, UserMessage, errors, read,
};
use pi_rpc_tool_specs::specs;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

/// Tools that are offered to the model.
pub static TOOLS: LazyLock<Toolbox> = LazyLock::new(toolbox);

/// `TOOLS` for an engine that owns them.
pub fn toolbox() -> Toolbox {
    Toolbox::new(specs(&Dialect::Pi.record().tools))
}

/// Watcher of all requests, calls and frames of a conversation. `joins_all`: a second reader gets all deltas of a block
/// coalesced, else every other one.
pub struct Brief {
    dialect: Dialect,
    requests: Requests,
    talk: RunModel,
    calls: Calls,
    wire: Wire,
    ever: BTreeSet<CallId>,
    model: Option<CallId>,
    /// Blocks of the open model answer, and whether each is open.
    blocks: Vec<bool>,
    /// Text of each block's deltas.
    texts: Vec<String>,
    tools: BTreeSet<CallId>,
    shells: BTreeMap<CallId, Shell>,
    /// Shell command that has just ended, and its end.
    shell_end: Option<(Shell, ShellEnd)>,
    directory: Option<String>,
    /// Whether the current input belongs to finished work.
    echo: bool,
    /// Time of the last input.
    wall: u64,
    frames: usize,
    ended: bool,
    shut: bool,
    /// Whether no further events of the run are expected.
    silent: bool,
    exited: bool,
}

struct Shell {
    command: String,
    session: usize,
}

impl Brief {
    /// Creates a watcher for one conversation.
    pub fn new(dialect: Dialect, joins_all: bool) -> Self {
        Self {
            dialect,
            requests: Requests::new(dialect),
            talk: RunModel::new(dialect),
            calls: Calls::new(dialect),
            wire: Wire::new(dialect, joins_all),
            ever: BTreeSet::new(),
            model: None,
            blocks: Vec::new(),
            texts: Vec::new(),
            tools: BTreeSet::new(),
            shells: BTreeMap::new(),
            shell_end: None,
            directory: None,
            echo: false,
            wall: 0,
            frames: 0,
            ended: false,
            shut: false,
            silent: false,
            exited: false,
        }
    }
}

impl Watcher for Brief {
    fn input(&mut self, input: &Input, now: Now) -> Checked {
        self.wall = now.wall;
        self.echo = false;
        match input {
            // A process that shuts down does not read further lines.
            Input::Frame(_) | Input::BadLine(_) if self.shut => self.echo = true,
            Input::Frame(frame) => match frame.as_ref() {
                Inbound::Command(command) => self.requests.command(command.clone()),
                // Not requested, so it must have no effect.
                _ => self.echo = true,
            },
            Input::BadLine(error) if error.is_answered() => self.requests.bad_line(error.clone()),
            Input::BadLine(_) => self.echo = true,
            Input::Model { call, event } => {
                self.echo = self.model != Some(*call) || !self.fits(event);
                if !self.echo && ends_answer(event) {
                    self.model = None;
                }
            }
            Input::ToolProgress { call, result } => {
                self.echo = !self.tools.contains(call);
                self.calls.progress(*call, result);
            }
            Input::ToolEnd { call, result, is_error } => {
                ensure!(self.tools.remove(call), "the world ended a tool twice");
                self.calls.end(*call, result, *is_error);
            }
            // Late progress is not reported; the checks compare reported progress with the dialect.
            Input::ShellProgress { call, .. } => self.echo = !self.shells.contains_key(call),
            Input::ShellEnd { call, end } => {
                let shell = self.shells.remove(call).ok_or("the world ended a shell twice")?;
                self.requests.shell_end = Some((shell.command.clone(), end.as_ref().err().cloned()));
                if let Ok(end) = end {
                    // The engine of every dialect gets the directory; the shell decides whether it applies to the next
                    // command.
                    self.directory = end.directory.clone().or(self.directory.take());
                    self.shell_end = Some((shell, end.clone()));
                }
            }
            Input::Resume(_) | Input::DenyQuestions | Input::PermissionFound { .. } => {
                return Err("nothing waits for a permission here".to_owned());
            }
            Input::Time => {}
            Input::Stored
            | Input::StoreFailed(_)
            | Input::SessionOpened(_)
            | Input::NewestSessionFound { .. }
            | Input::FileWritten(_) => {
                return Err("nothing is kept in files here".to_owned());
            }
            Input::LoginsListed(_)
            | Input::LoginNotice { .. }
            | Input::LoginEnd { .. }
            | Input::LogoutEnd { .. } => return Err("nobody logs in here".to_owned()),
            Input::AgentDialog { .. } | Input::AgentDialogWithdrawn(_) | Input::AgentCommands(_) => {
                return Err("no agent is behind the server".to_owned());
            }
            Input::Extension { .. }
            | Input::ExtensionBadLine { .. }
            | Input::ExtensionBadRegister { .. }
            | Input::ExtensionEnded { .. }
            | Input::ReadsExtensions(_)
            | Input::QueryAnswered { .. }
            | Input::ProviderChanged(_)
            | Input::ModelSelected(_)
            | Input::ModelsReloaded(_)
            | Input::ProviderHook { .. }
            | Input::ResourcesFound(_)
            | Input::FileRead(_) => return Err("nothing is extended here".to_owned()),
            Input::EndOfInput => {
                self.ended = true;
                self.silence();
            }
            Input::Shutdown => {
                self.shut = true;
                self.silence();
                self.requests.forgive();
            }
        }
        Ok(())
    }

    fn output(&mut self, output: &Output) -> Checked {
        ensure!(!self.exited, "something came after the Exit");
        ensure!(!self.echo || matches!(output, Output::Exit), "what is over was heard: {output:?}");
        match output {
            Output::Emit(said) => self.said(said),
            Output::CallModel(call) => {
                self.starts(call.call)?;
                let aborts = self.around().aborts && !self.talk.is_delivering();
                ensure!(!aborts, "a model was called after an abort");
                ensure!(self.model.replace(call.call).is_none(), "two models were called at once");
                self.blocks.clear();
                self.texts.clear();
                self.talk.holds_exactly(&call.messages)
            }
            Output::StartTool(start) => {
                self.starts(start.call)?;
                ensure!(!self.around().aborts, "a tool was started after an abort");
                self.tools.insert(start.call);
                self.calls.start(start)
            }
            Output::StartShell(start) => {
                self.starts(start.call)?;
                ensure!(!self.shut, "a shell was started after the shutdown");
                ensure!(self.requests.may_start(&start.command), "a shell was started that was stopped");
                ensure!(start.directory == self.directory, "a shell was started in another directory");
                let shell = Shell { command: start.command.clone(), session: self.talk.session };
                self.shells.insert(start.call, shell);
                Ok(())
            }
            Output::CancelModel(call) => {
                ensure!(self.model.take() == Some(*call), "a model was cancelled that was not at work");
                Ok(())
            }
            Output::CancelTool(call) => {
                ensure!(self.tools.contains(call), "a tool was cancelled that was not at work");
                self.calls.cancel(*call);
                Ok(())
            }
            Output::CancelShell(call) => {
                ensure!(self.shells.contains_key(call), "a shell was cancelled that was not at work");
                Ok(())
            }
            Output::CloseSession | Output::OpenSession(_) | Output::FindNewestSession(_) => Ok(()),
            Output::Store(_) | Output::HurryStore | Output::WritePage { .. } => {
                Err("nothing is kept in files here".to_owned())
            }
            Output::ListLogins
            | Output::StartLogin(_)
            | Output::PasteLogin { .. }
            | Output::CancelLogin(_)
            | Output::StartLogout { .. } => Err("nobody logs in here".to_owned()),
            Output::StartExtension { .. }
            | Output::ToExtension { .. }
            | Output::StopExtension(_)
            | Output::Query { .. }
            | Output::ChangeProvider { .. }
            | Output::ChangeVirtualModel { .. }
            | Output::SelectModel
            | Output::Refuse(_)
            | Output::UnshownUsage(_)
            | Output::ReloadModels { .. }
            | Output::ProviderHookCompleted { .. }
            | Output::AgentDialogClosed { .. }
            | Output::FindResources { .. }
            | Output::FindPermission { .. }
            | Output::StorePermission(_)
            | Output::ReadFile(_) => Err("nothing is extended here".to_owned()),
            Output::Violation(violation) => Err(format!("the machine objects: {violation}")),
            Output::Exit => {
                self.exited = true;
                let at_once = self.ended && self.dialect.record().end_of_input == DialectEndOfInput::Exit;
                ensure!(self.ended || self.shut, "an Exit that nobody asked for");
                ensure!(at_once || self.is_idle(), "an Exit before everything was over");
                Ok(())
            }
        }
    }

    fn handled(&mut self, engine: &Engine) -> Checked {
        let at_once = self.ended && self.dialect.record().end_of_input == DialectEndOfInput::Exit;
        ensure!(!at_once || self.exited, "the input has ended, but no Exit");
        if self.exited {
            return Ok(());
        }
        self.requests.begin();
        ensure!(engine.is_idle() == self.is_idle(), "is_idle() is {}", engine.is_idle());
        ensure!(!(self.is_idle() && (self.ended || self.shut)), "everything is over, but no Exit");
        ensure!(
            engine.queued() == self.talk.queued(),
            "{} messages wait, not {}",
            self.talk.queued(),
            engine.queued()
        );
        if self.silent {
            return Ok(());
        }
        let run = self.talk.run_open();
        ensure!(run || self.model.is_none() && self.tools.is_empty(), "something goes on outside a run");
        ensure!(
            !run || self.model.is_some() || !self.tools.is_empty(),
            "a run is open in which nothing goes on"
        );
        let machine = engine.machine();
        ensure!((machine.state().flow == FlowState::Idle) != run, "the machine is in {}", machine.state());
        let (waiting, known) = (self.requests.commands().count(), machine.requests().outstanding().count());
        ensure!(self.shut || waiting == known, "{waiting} commands wait, the machine knows of {known}");
        self.calls.settled(self.around())?;
        self.talk.holds(engine.messages())
    }

    fn quiet(&self, engine: &Engine) -> Checked {
        if !self.silent {
            self.talk.holds_exactly(engine.messages())?;
        }
        self.requests.quiet(self.shells.len())
    }
}

impl Brief {
    /// Expects no further events of a run that the end of input ends, in dialects that abort it silently.
    fn silence(&mut self) {
        if self.dialect.record().end_of_input == DialectEndOfInput::AbortRun {
            self.silent = true;
            self.talk.cut();
        }
    }

    /// Whether the event is valid in the model answer so far.
    fn fits(&mut self, event: &StreamEvent) -> bool {
        match event {
            StreamEvent::Start { index, .. } => {
                let next = *index == self.blocks.len();
                self.blocks.extend(next.then_some(true));
                self.texts.extend(next.then(String::new));
                next
            }
            StreamEvent::Delta { index, delta } => {
                let is_open = self.blocks.get(*index) == Some(&true);
                if is_open {
                    self.texts[*index].push_str(delta);
                }
                is_open
            }
            StreamEvent::End { index, .. } => {
                self.blocks.get_mut(*index).is_some_and(|open| std::mem::replace(open, false))
            }
            _ => true,
        }
    }

    fn is_idle(&self) -> bool {
        let works = self.talk.run_open() || self.silent && !self.tools.is_empty();
        !works && self.shells.is_empty() && self.requests.is_empty()
    }

    fn around(&self) -> Around {
        Around {
            steers: self.talk.steers(),
            interrupts: self.talk.interrupts(),
            aborts: self.shut || self.silent || self.requests.aborts(),
        }
    }

    fn starts(&mut self, call: CallId) -> Checked {
        ensure!(self.ever.insert(call), "the call id {call} was used twice");
        Ok(())
    }

    fn said(&mut self, said: &Emission) -> Checked {
        self.wire.said(said)?;
        self.frames += 1;
        // An encoded line has the contents of its frame.
        let read = match said {
            Emission::Line { line, .. } => {
                let frame = read::<Outbound>(line.trim_ascii_end(), self.dialect);
                Some(Emission::Frame(frame.map_err(|error| error.to_string())?))
            }
            _ => None,
        };
        let said = read.as_ref().unwrap_or(said);
        let greets = self.frames == 1 && self.dialect.record().ready != DialectReady::None;
        ensure!(
            greets == matches!(said, Emission::Frame(Outbound::ReadyFrame(_))),
            "`ready` is the first frame"
        );
        let event = match said {
            Emission::Frame(Outbound::AgentSessionEvent(event)) => Some(event),
            _ => None,
        };
        self.talk.said(event)?;
        match said {
            Emission::Frame(Outbound::Response(response)) => self.response(response),
            _ => event.map_or(Ok(()), |event| self.event(event)),
        }
    }

    fn response(&mut self, response: &RpcResponse) -> Checked {
        let command = match self.requests.answer(response, self.talk.run_open())? {
            Settled::Command(command) => command,
            Settled::Unrun(command) => return self.unrun(&command, response),
            Settled::Refusal => return Ok(()),
        };
        match (&command, response) {
            (RpcCommand::Bash(it), RpcResponse::Success(RpcSuccess::Bash(response))) => {
                let (shell, end) = self.shell_end.take().ok_or("a shell command was answered too early")?;
                let same = (it.command == shell.command) && response.data.output == end.output;
                // A change of the session cancels it, whatever its end.
                let is_cancelled = end.cancelled || shell.session != self.talk.session;
                ensure!(
                    same && response.data.cancelled == is_cancelled,
                    "another shell command was answered"
                );
                self.talk.shell_ended(&shell.command, &end, shell.session, self.wall);
                Ok(())
            }
            (_, RpcResponse::Success(success)) => self.talk.succeeded(&command, success),
            (RpcCommand::Prompt(it), RpcResponse::ErrorResponse(error)) => {
                let busy = ErrorText::Busy.template(self.dialect.base());
                let refused = self.talk.run_open() && it.streaming_behavior.is_none() && error.error == busy;
                ensure!(refused, "a prompt failed that could be served: {}", error.error);
                Ok(())
            }
            (RpcCommand::AbortAndPrompt(_), RpcResponse::ErrorResponse(error)) => {
                let stops =
                    (self.shut || self.silent) && error.error == errors::shutting_down(self.dialect.base());
                ensure!(stops, "a prompt failed that could be served: {}", error.error);
                Ok(())
            }
            (command, RpcResponse::ErrorResponse(error)) => may_fail(self.dialect, command, error),
        }
    }

    /// Checks the response to a shell command that was cancelled before it started.
    fn unrun(&mut self, command: &BashCommand, response: &RpcResponse) -> Checked {
        let RpcResponse::Success(RpcSuccess::Bash(response)) = response else {
            return Err("a shell command failed that was stopped".to_owned());
        };
        let end = ShellEnd { cancelled: true, ..ShellEnd::default() };
        let same = response.data.cancelled && response.data.output == end.output;
        ensure!(same && response.data.exit_code.is_none(), "a shell command was answered that did not run");
        self.talk.shell_ended(&command.command, &end, self.talk.session, self.wall);
        Ok(())
    }

    fn event(&mut self, event: &AgentSessionEvent) -> Checked {
        use AgentSessionEvent as Event;
        let around = self.around();
        match event {
            Event::MessageEnd(end) => {
                if let AgentMessage::Assistant(message) = &end.message {
                    self.calls.begin(message, &self.texts, around);
                }
            }
            Event::ToolExecutionStart(start) => self.calls.announced(&start.tool_call_id)?,
            Event::ToolExecutionUpdate(update) => {
                ensure!(!around.aborts, "progress after an abort");
                self.calls.updated(&update.tool_call_id, &update.partial_result)?;
            }
            Event::ToolExecutionEnd(end) => self.calls.ended(end, around)?,
            _ => {}
        }
        self.talk.event(event, around.aborts)
    }
}

/// Error of opening another session in these conversations.
pub const NO_SESSION: &str = "there is no such session";

/// Error of an accepted command that then fails in these conversations.
pub fn handler_error(dialect: Dialect, command: &RpcCommand) -> Option<String> {
    let base = dialect.base();
    Some(match command {
        RpcCommand::Compact(_) => errors::nothing_to_compact(base),
        RpcCommand::SwitchSession(_) => NO_SESSION.to_owned(),
        RpcCommand::Fork(_) | RpcCommand::Branch(_) => errors::invalid_entry(base),
        RpcCommand::ExportHtml(_) => errors::export_in_memory(base),
        RpcCommand::OpenSession(_) => errors::open_in_memory(base),
        _ => return None,
    })
}

/// Checks that the command can fail with this error.
fn may_fail(dialect: Dialect, command: &RpcCommand, error: &RpcErrorResponse) -> Checked {
    let empty = |name: &str| name.trim().is_empty();
    let fails = match command {
        RpcCommand::SetModel(it) => it.model_id == "nobody",
        RpcCommand::SetSessionName(it) => empty(&it.name),
        RpcCommand::Bash(_) => error.error.contains("no shell for"),
        RpcCommand::GetMessagesPage(_) => is_page_refusal(dialect.base(), &error.error),
        RpcCommand::Compact(_) if error.error == errors::compaction_cancelled(dialect.base()) => true,
        _ => match handler_error(dialect, command) {
            Some(text) => error.error.ends_with(&text),
            None => error.error.contains("not implemented"),
        },
    };
    ensure!(fails, "{} failed: {}", error.command, error.error);
    Ok(())
}

/// Whether the event ends the model answer.
const fn ends_answer(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. })
}

/// Text of a user message.
pub fn text_of(message: &UserMessage) -> String {
    match &message.content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => {
            let text = |block: &UserContent| match block {
                UserContent::Text(text) => Some(text.text.clone()),
                UserContent::Image(_) => None,
            };
            blocks.iter().filter_map(text).collect()
        }
    }
}

/// Whether the text refuses a page of messages.
fn is_page_refusal(base: Base, text: &str) -> bool {
    let known = [errors::page_busy, errors::page_limit, errors::page_cursor, errors::page_cursor_stale];
    known.iter().any(|refusal| refusal(base) == text)
}
