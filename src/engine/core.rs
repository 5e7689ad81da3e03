//! The engine's state and its loop: an input in, outputs out.

use super::{
    CallId, Choice, Input, Now, Output, Toolbox,
    ids::Ids,
    queues::Queue,
    run::{AfterRun, Run},
};
use crate::{
    machine::Machine,
    protocol::{
        AgentMessage, AgentSessionEvent, BashCommand, Dialect, DialectDispatch, DialectEndOfInput, Inbound,
        InterruptMode, LineError, Outbound, QueueMode, RequestId, RpcCommand, RpcCommandKind,
        RpcErrorResponse, RpcSuccess, Said, ThinkingLevel,
    },
    session::Memory,
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// What an engine starts with.
pub struct Setup {
    /// The dialect spoken.
    pub dialect: Dialect,
    /// All models, in the registry's order; not empty.
    pub models: Vec<Choice>,
    /// Where in `models` the session starts.
    pub start: usize,
    /// The models that `cycle_model` goes round, if a scope was given: places in `models`, each with the level that the
    /// scope names for it.
    pub scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    /// The level asked for; `None`: that of `modes`.
    pub level: Option<ThinkingLevel>,
    /// What the user has set.
    pub modes: Modes,
    /// The tools offered to the model.
    pub tools: Toolbox,
    /// The instructions that come first.
    pub system_prompt: Arc<str>,
    /// The session's name.
    pub name: Option<String>,
    /// Tells the conversation apart from others; ids are made from it.
    pub seed: u64,
    /// Check counts and equalities of everything said, too.
    pub checked: bool,
}

/// The settings that a session starts with; commands change them for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// How many steering messages go at once.
    pub steering: QueueMode,
    /// How many follow-up messages go at once.
    pub follow_up: QueueMode,
    /// Whether a full context is compacted without being asked.
    pub auto_compaction: bool,
    /// Whether a failed run is tried again without being asked.
    pub auto_retry: bool,
    /// The thinking level where nothing else names one.
    pub level: ThinkingLevel,
}

impl Modes {
    /// What holds in `dialect` when the user has set nothing.
    pub fn of(dialect: Dialect) -> Self {
        let defaults = &dialect.record().defaults;
        let mode = |text: &str| QueueMode::parse(text).unwrap_or(QueueMode::OneAtATime);
        Self {
            steering: mode(defaults.steering_mode.as_str()),
            follow_up: mode(defaults.follow_up_mode.as_str()),
            auto_compaction: defaults.auto_compaction,
            auto_retry: defaults.auto_retry,
            level: ThinkingLevel::parse(defaults.thinking_level.as_str()).unwrap_or(ThinkingLevel::Off),
        }
    }
}

/// One conversation.
pub struct Engine {
    pub(super) dialect: Dialect,
    pub(super) machine: Machine,
    pub(super) session: Memory,
    pub(super) models: Vec<Choice>,
    pub(super) scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    /// Place of the current model in `models`.
    pub(super) model: usize,
    pub(super) level: Option<ThinkingLevel>,
    pub(super) default_level: ThinkingLevel,
    pub(super) tools: Toolbox,
    pub(super) system_prompt: Arc<str>,
    pub(super) steering: Queue,
    pub(super) follow_up: Queue,
    pub(super) interrupt: InterruptMode,
    pub(super) auto_compaction: bool,
    pub(super) auto_retry: bool,
    pub(super) run: Option<Run>,
    /// What waits for the open run to end, in order.
    pub(super) after_run: Vec<AfterRun>,
    /// Shell commands of the host that run.
    pub(super) shells: BTreeMap<CallId, Shell>,
    /// Messages of shell commands that ended while a run was open.
    pub(super) deferred: Vec<Arc<AgentMessage>>,
    /// The shell's directory, where the dialect keeps it.
    pub(super) directory: Option<String>,
    pub(super) ids: Ids,
    /// Model calls made in this process: ids are counted on from it.
    pub(super) calls: usize,
    pub(super) now: Now,
    /// Lines that wait for the command before them, in dialects that serve them one by one.
    waiting: VecDeque<Waiting>,
    closing: bool,
    /// The process was told to stop: no run is opened any more.
    pub(super) stopping: bool,
    /// The prompt that is being served was aborted before.
    pub(super) unasked: bool,
    exited: bool,
    outputs: VecDeque<Output>,
}

/// A line that waits for the command before it.
#[derive(Debug)]
enum Waiting {
    Command(RpcCommand),
    /// A shell command that was stopped before it began.
    StoppedShell(BashCommand),
    /// A prompt that was aborted before it was served.
    StoppedPrompt(RpcCommand),
    BadLine(LineError),
}

/// A shell command of the host that runs.
#[derive(Debug)]
pub struct Shell {
    pub(super) id: Option<RequestId>,
    pub(super) command: String,
    /// The session that its message belongs to.
    pub(super) session: String,
}

impl Engine {
    /// A conversation that has not begun. `setup.start` must be a place in `setup.models`.
    pub fn new(setup: Setup, now: Now) -> Self {
        let record = setup.dialect.record();
        let mut ids = Ids::new(setup.seed);
        let mut session = Memory::new(ids.session(setup.dialect, now), None);
        session.name = setup.name;
        let defaults = &record.defaults;
        let mut engine = Self {
            dialect: setup.dialect,
            machine: Machine::new(setup.dialect, setup.checked),
            session,
            models: setup.models,
            scope: setup.scope,
            model: setup.start,
            level: None,
            default_level: setup.modes.level,
            tools: setup.tools,
            system_prompt: setup.system_prompt,
            steering: Queue::new(setup.modes.steering),
            follow_up: Queue::new(setup.modes.follow_up),
            interrupt: InterruptMode::parse(defaults.interrupt_mode.as_str()).unwrap_or(InterruptMode::Wait),
            auto_compaction: setup.modes.auto_compaction,
            auto_retry: setup.modes.auto_retry,
            run: None,
            after_run: Vec::new(),
            shells: BTreeMap::new(),
            deferred: Vec::new(),
            directory: None,
            ids,
            calls: 0,
            now,
            waiting: VecDeque::new(),
            closing: false,
            stopping: false,
            unasked: false,
            exited: false,
            outputs: VecDeque::new(),
        };
        engine.level = engine.fitting(setup.level.unwrap_or(setup.modes.level));
        engine.greet();
        engine
    }

    /// Takes an input. Perform what [`poll`](Self::poll) gives before the next one.
    pub fn handle(&mut self, input: Input, now: Now) {
        self.now = now;
        match input {
            // Told to stop: whatever is still written comes too late.
            Input::Frame(_) | Input::BadLine(_) if self.stopping => {}
            Input::Frame(frame) => self.frame(*frame),
            Input::BadLine(error) => {
                if error.is_answered() {
                    self.take(Waiting::BadLine(error), false);
                }
            }
            Input::Model { call, event } => self.model_event(call, event),
            Input::ToolProgress { call, result } => self.tool_progress(call, result),
            Input::ToolEnd { call, result, is_error } => self.tool_end(call, result, is_error),
            Input::ShellEnd { call, end } => self.shell_end(call, end),
            Input::EndOfInput => self.end_of_input(),
            Input::Shutdown => self.shut_down(),
        }
        self.settle();
        self.serve_waiting();
        self.exit_when_done();
    }

    /// The next thing to do, until there is none.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The machine that everything said has passed.
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The conversation so far.
    pub fn messages(&self) -> &[Arc<AgentMessage>] {
        self.session.messages()
    }

    /// Nothing runs: no run, no shell command, nothing waits for one.
    pub fn is_idle(&self) -> bool {
        self.run.is_none() && self.shells.is_empty() && self.waiting.is_empty()
    }

    /// Messages that wait for their turn, steering and follow-up.
    pub fn queued(&self) -> usize {
        self.steering.len() + self.follow_up.len()
    }

    fn frame(&mut self, frame: Inbound) {
        self.machine.inbound(&frame);
        // Answers belong to dialogs and host tools, of which there are none yet: an answer to nothing is ignored.
        let Inbound::Command(command) = frame else { return };
        let control = command.kind().is_control();
        self.take(Waiting::Command(command), control);
    }

    /// Serves a line, now or when the ones before it are done: in dialects that serve one by one, only the control lane
    /// does not wait.
    fn take(&mut self, line: Waiting, control: bool) {
        let serial = self.dialect.record().dispatch == DialectDispatch::SerialWithControlLane;
        match serial && !control && (self.is_busy() || !self.waiting.is_empty()) {
            true => self.waiting.push_back(line),
            false => self.serve(line),
        }
    }

    fn serve(&mut self, line: Waiting) {
        match line {
            Waiting::Command(command) => self.command(command),
            Waiting::StoppedShell(command) => self.unrun_shell(command),
            Waiting::StoppedPrompt(command) => {
                self.unasked = true;
                self.command(command);
                self.unasked = false;
            }
            Waiting::BadLine(error) => {
                // Only now: its error may have no id, and those of the commands before it come first.
                self.machine.bad_line(&error);
                let response = error.response(self.dialect);
                self.say(Outbound::Response(response.into()));
            }
        }
    }

    /// Whether a command is in hand whose response the next one waits for.
    fn is_busy(&self) -> bool {
        !self.shells.is_empty() || !self.after_run.is_empty()
    }

    fn serve_waiting(&mut self) {
        while !self.is_busy() {
            let Some(line) = self.waiting.pop_front() else { return };
            self.serve(line);
            self.settle();
        }
    }

    /// Shell commands that have not started yet are stopped, too; each is answered when its turn comes.
    pub(super) fn stop_waiting_shells(&mut self) {
        for line in &mut self.waiting {
            if let Waiting::Command(RpcCommand::Bash(command)) = line {
                *line = Waiting::StoppedShell(command.clone());
            }
        }
    }

    /// An abort that overtakes a prompt stops it, too: its run opens when its turn comes, and no model is asked.
    pub(super) fn stop_waiting_prompts(&mut self) {
        for line in &mut self.waiting {
            if let Waiting::Command(command @ (RpcCommand::Prompt(_) | RpcCommand::AbortAndPrompt(_))) = line
            {
                *line = Waiting::StoppedPrompt(command.clone());
            }
        }
    }

    fn end_of_input(&mut self) {
        self.machine.end_of_input();
        self.closing = true;
        if self.dialect.record().end_of_input == DialectEndOfInput::Exit {
            self.leave();
        }
    }

    fn shut_down(&mut self) {
        self.machine.end_of_input();
        self.closing = true;
        self.stopping = true;
        self.waiting.clear();
        self.abort_run();
        self.cancel_shells();
    }

    fn exit_when_done(&mut self) {
        if self.closing && self.is_idle() {
            self.leave();
        }
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.exited, true) {
            self.push(Output::Exit);
        }
    }

    pub(super) fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// Says something: the machine first.
    pub(super) fn say(&mut self, said: impl Into<Said>) {
        let mut said = said.into();
        said.fit(self.dialect.base());
        let violations = self.machine.outbound(&said);
        self.push(Output::Say(said));
        self.outputs.extend(violations.into_iter().map(Output::Violation));
    }

    pub(super) fn event(&mut self, event: impl Into<AgentSessionEvent>) {
        self.say(Outbound::AgentSessionEvent(event.into()));
    }

    pub(super) fn succeed(&mut self, response: impl Into<RpcSuccess>) {
        self.say(Outbound::Response(response.into().into()));
    }

    pub(super) fn fail(&mut self, id: Option<RequestId>, command: RpcCommandKind, error: String) {
        let response = RpcErrorResponse { id, command: command.as_str().to_owned(), error };
        self.say(Outbound::Response(response.into()));
    }
}
