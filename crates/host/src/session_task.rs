//! The task of one session: feeds the engine with the lines of all clients, and hands its frames to the journal.

use super::{
    command_check::{CommandCheck, admission, command_of, is_overspent},
    host_error::HostError,
    journal::Journal,
    metrics::METRICS,
    notices,
    outlet::Outlet,
    principal::{Principal, SessionFacts, SessionPlace},
    records::WaitingRunFile,
    request_ids::RequestIds,
    session_clients::{AttachedClient, SessionClients},
    session_handle::{
        ClientLine, Resumption, SessionEnd, SessionHandle, SessionInfo, SessionLimits, SessionRequest,
        TaskChannels,
    },
    tool_spending::ToolSpending,
    watcher::{ClientId, WatcherMessage},
};
use pi_rpc_engine::{Input, WaitingRun};
use pi_rpc_protocol::{
    AbortCommand, Dialect, DialogResolvedEvent, Emission, Encoder, Inbound, LineError, RpcCommand,
    SessionEndedEvent, SessionStatus,
};
use pi_rpc_server::{ExitReason, Runner, SessionOptions, TraceContext, line_to_input, until, wall_ms};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use tokio::sync::{mpsc, watch};
use tracing::Instrument as _;
pub use waiting::SessionSinks;
use waiting::{forget_waiting_run, may_begin_calls, note_waiting_run, notice, opens_dialog};
use waiting_lines::{ReadLine, WaitingLines};

/// Inputs that are handled in a row before other sessions get their turn.
const MAX_BURST: usize = 64;

/// The client of commands that the host itself gives; their responses go to no client.
const NO_CLIENT: ClientId = 0;

struct SessionTask {
    id: String,
    owner: Arc<Principal>,
    directory: PathBuf,
    /// Whether servers of the Model Context Protocol are connected.
    connects_mcp: bool,
    runs_other_models: bool,
    runner: Runner,
    /// The gate of a session without an outlet, which stays open.
    _open_gate: watch::Sender<bool>,
    limits: SessionLimits,
    dialect: Dialect,
    journal: Journal,
    ids: RequestIds,
    clients: SessionClients,
    /// Where frames go in place of connections.
    outlet: Option<Outlet>,
    /// The run that another process has left, until the engine begins.
    left: Option<Box<WaitingRun>>,
    /// Where the run is noted while it waits for a permission.
    waiting_file: Option<WaitingRunFile>,
    waiting_lines: WaitingLines,
    /// Lines of clients that were read.
    lines: u64,
    /// Since when it waits while no client is there.
    unattended_since: Option<Instant>,
    /// Whether it leaves memory with a run that waits.
    is_parked: bool,
    /// Dialogs that were open after the last input.
    dialogs: Vec<String>,
    /// Bytes of lines since the engine had no command left.
    unserved_bytes: u64,
    is_stopping: bool,
    /// Whether an answer has cost money since that was last looked at.
    has_spent: bool,
    spending: ToolSpending,
    /// Whether it goes on from its file once it has stopped.
    is_resumable: bool,
}

/// Starts a session, a new one or one that goes on. It has ended once `ended` of the handle has a value.
pub fn start(
    id: String,
    options: SessionOptions,
    limits: SessionLimits,
    owner: Arc<Principal>,
    resumption: Resumption,
    sinks: SessionSinks,
) -> SessionHandle {
    let (dialect, max_queue) = (options.dialect, options.limits.queue as u64);
    let task = SessionTask::new(id.clone(), options, limits, owner.clone(), resumption, sinks);
    let directory = task.directory.clone();
    let (handle, channels) = SessionHandle::new(id, owner, dialect, limits.max_frame, task.info(&directory));
    // A span of the highest level is there whatever is logged.
    let span = tracing::error_span!("session", id = %task.id);
    let work = async move {
        let TaskChannels { lines, requests, info, serves, ended } = channels;
        let ending = task.run(lines, requests, max_queue, directory, (&info, &serves)).await;
        ended.send_replace(Some(ending));
    };
    tokio::spawn(work.instrument(span));
    handle
}

impl SessionTask {
    /// A session that has not begun. On the heap from the start: a future that moves it keeps room for two.
    fn new(
        id: String,
        options: SessionOptions,
        limits: SessionLimits,
        owner: Arc<Principal>,
        resumption: Resumption,
        SessionSinks { outlet, mut waiting_file }: SessionSinks,
    ) -> Box<Self> {
        let dialect = options.dialect;
        waiting_file.iter_mut().for_each(|file| file.adopt(resumption.waiting.as_deref()));
        let clients = SessionClients::new(resumption.clients, &owner);
        // Connections do not hold the session up; there is nothing to pause for.
        let (open_gate, opened) = watch::channel(true);
        let gate = outlet.as_ref().map_or(opened, |outlet| outlet.gate.clone());
        Box::new(Self {
            id,
            directory: options.tool_environment.directory.clone(),
            connects_mcp: options.extension_setup.mcp_connector.is_some(),
            runs_other_models: options.built_in.as_ref().is_some_and(|it| it.calls_models()),
            runner: Runner::new(options, gate),
            _open_gate: open_gate,
            limits,
            dialect,
            journal: Journal::new(dialect, resumption.sequence, limits.kept_output),
            ids: RequestIds::default(),
            clients,
            owner,
            outlet,
            left: resumption.waiting,
            waiting_file,
            waiting_lines: WaitingLines::default(),
            lines: 0,
            unattended_since: None,
            is_parked: false,
            dialogs: Vec::new(),
            unserved_bytes: 0,
            is_stopping: false,
            has_spent: false,
            spending: ToolSpending::default(),
            is_resumable: false,
        })
    }

    async fn run(
        mut self: Box<Self>,
        mut lines: mpsc::Receiver<ClientLine>,
        mut requests: mpsc::Receiver<SessionRequest>,
        max_queue: u64,
        directory: PathBuf,
        (info, serves): (&watch::Sender<SessionInfo>, &watch::Sender<bool>),
    ) -> SessionEnd {
        let left = self.left.take().map(Input::Resume);
        let mut exit_reason = self.step(left);
        self.release_output();
        info.send_replace(self.info(&directory));
        let mut burst = 0;
        let mut forgets_at = None;
        while exit_reason.is_none() && !self.is_parked {
            if self.runner.engine.unserved() == 0 {
                self.unserved_bytes = 0;
            }
            if self.runner.engine.is_open() {
                self.runner.tasks.extensions.mark_greeted();
                serves.send_if_modified(|serves| !std::mem::replace(serves, true));
            }
            burst += 1;
            if burst == MAX_BURST {
                burst = 0;
                tokio::task::yield_now().await;
            }
            let unattended_at = self.unattended_since.map(|since| since + self.limits.unattended.after);
            let takes = self.runner.engine.is_open() && self.unserved_bytes <= max_queue && !self.is_stopping;
            let has_next = takes && self.waiting_lines.may_have_next();
            let reads = takes && self.has_room(max_queue);
            let input = tokio::select! {
                biased;
                Some(request) = requests.recv() => self.answer(request, &mut lines, max_queue),
                input = self.runner.next() => Some(input),
                Some((read, admitted)) = self.waiting_lines.admitted() => self.take(read, Some(admitted)),
                () = std::future::ready(()), if has_next => self.receive_next(),
                Some(line) = lines.recv(), if reads => {
                    self.waiting_lines.push(line);
                    self.receive_next()
                }
                () = until(forgets_at), if forgets_at.is_some() && self.waiting_lines.is_empty() => {
                    if !self.clients.is_watched() && self.outlet.is_none() && self.runner.engine.is_restorable() {
                        self.is_resumable = true;
                        break;
                    }
                    self.journal.clear();
                    None
                }
                () = until(unattended_at), if unattended_at.is_some() => self.on_unattended(&mut exit_reason),
            };
            // Steps of an answer and progress change nothing but the status, unless they lead to a question.
            let is_progress = matches!(
                input,
                None | Some(Input::Model { .. } | Input::ToolProgress { .. } | Input::ShellProgress { .. })
            );
            if let Some(input) = input {
                if matches!(input, Input::Time) && self.owner.has_overspent(wall_ms()) {
                    self.runner.engine.stop_warming();
                }
                exit_reason = exit_reason.or(self.step(Some(input)));
                if let Some(abort) = self.abort_if_overspent() {
                    exit_reason = exit_reason.or(self.step(Some(abort)));
                }
            }
            self.release_output();
            self.watch_attendance();
            forgets_at = self.runner.engine.is_idle().then(|| Instant::now() + self.limits.kept_idle);
            let is_told = info.borrow().lines == self.taken_lines() && info.borrow().status == self.status();
            let may_wait = !self.dialogs.is_empty() || info.borrow().waiting.is_some();
            if !is_progress || !is_told || may_wait {
                let now = self.info(&directory);
                info.send_if_modified(|known| std::mem::replace(known, now.clone()) != now);
            }
        }
        let waiting = self.runner.engine.waiting_run().filter(|_| self.is_parked).map(Box::new);
        let Self { id, runner, clients, journal, is_resumable, outlet, .. } = *self;
        if let Some(mut outlet) = outlet {
            outlet.release();
        }
        Box::pin(runner.end()).await;
        if is_resumable {
            return SessionEnd::WrittenOut(Resumption {
                sequence: journal.last(),
                clients: clients.leave(),
                waiting,
            });
        }
        let error = match exit_reason {
            Some(ExitReason::Refused(text) | ExitReason::Misused(text)) => Some(text),
            _ => None,
        };
        let exit_status = u64::from(error.is_some());
        let ending = SessionEndedEvent { session_id: id, exit_status, error };
        clients.end(&ending);
        SessionEnd::Over(ending)
    }

    /// Lets the engine handle an input, and distributes what it emits.
    fn step(&mut self, input: Option<Input>) -> Option<ExitReason> {
        let Self {
            id,
            dialect,
            runner,
            journal,
            ids,
            clients,
            owner,
            has_spent,
            spending,
            outlet,
            waiting_file,
            ..
        } = self;
        let mut deliver = |emission: Emission, line: Vec<u8>, to: Option<ClientId>| {
            if let Some(outlet) = outlet {
                return outlet.emit(&emission, line, to);
            }
            clients.push(&journal.push(emission, line, to));
        };
        // Behind a question that is to be noted first.
        let mut held = Vec::new();
        let mut notices = Vec::new();
        let mut emit = |emission: Emission| {
            notices.extend(notice(&emission, dialect.base()));
            if let Some(dollars) = spending.further(&emission, METRICS.observe(&emission)) {
                owner.spend(dollars, wall_ms());
                *has_spent = true;
            }
            let mut line = Vec::new();
            let mut to = None;
            match &emission {
                Emission::Frame(frame) => {
                    Encoder::encode_frame(frame, &mut line);
                    to = ids.restore(frame, &mut line);
                }
                Emission::Line { frame, line: encoded } => {
                    line.clone_from(encoded);
                    to = ids.restore(frame, &mut line);
                }
                Emission::Update(_) => {}
            }
            match !held.is_empty() || opens_dialog(&emission) {
                true => held.push((emission, line, to)),
                false => deliver(emission, line, to),
            }
        };
        if input.as_ref().is_some_and(may_begin_calls)
            && let Err(reason) = forget_waiting_run(waiting_file)
        {
            return Some(reason);
        }
        let known = runner.violations();
        let exit_reason = match input {
            Some(input) => runner.handle(input, &mut emit),
            None => runner.execute(&mut emit),
        };
        note_waiting_run(waiting_file, &runner.engine);
        held.into_iter().for_each(|(emission, line, to)| deliver(emission, line, to));
        for kind in notices {
            notices::tell(kind, id, runner.engine.state().session_id);
        }
        METRICS.violations(runner.violations() - known);
        for dollars in runner.take_unshown_usage().iter().filter_map(|usage| METRICS.count_usage(usage)) {
            owner.spend(dollars, wall_ms());
            *has_spent = true;
        }
        self.report_resolved_dialogs();
        exit_reason
    }

    /// Passes the output on, unless an entry is being written: a response must not overtake what it tells of.
    fn release_output(&mut self) {
        if let Some(outlet) = self.outlet.as_mut().filter(|_| !self.runner.is_writing()) {
            outlet.release();
        }
    }

    /// Tells the clients which dialogs are no longer open.
    fn report_resolved_dialogs(&mut self) {
        let open: Vec<String> = self.runner.engine.dialogs().map(str::to_owned).collect();
        for id in std::mem::take(&mut self.dialogs).into_iter().filter(|id| !open.contains(id)) {
            let event = DialogResolvedEvent { session_id: self.id.clone(), id };
            if let Some(outlet) = &mut self.outlet {
                outlet.send_message(None, WatcherMessage::DialogResolved(event.clone()));
            }
            self.clients.report_resolved_dialog(&event);
        }
        self.dialogs = open;
    }

    /// Whether further lines of clients may be kept.
    const fn has_room(&self, max_queue: u64) -> bool {
        self.waiting_lines.has_room(max_queue.saturating_sub(self.unserved_bytes))
    }

    /// The input for the next line of a client; `None`: nothing to handle.
    fn receive_next(&mut self) -> Option<Input> {
        let line = self.waiting_lines.next()?;
        self.lines += 1;
        let (client, principal, line) = line.receive(&mut self.clients)?;
        let Some(line) = line else { return Some(Input::EndOfInput) };
        let input = match line.len() > self.limits.max_frame {
            true => Input::too_long(line.len(), self.limits.max_frame),
            false => line_to_input(&line, self.dialect)?,
        };
        let admission = admission(&input, &principal, &self.owner);
        let read = ReadLine { client, principal, line, input };
        match admission {
            Some(admission) => {
                self.waiting_lines.hold(read, admission);
                None
            }
            None => self.take(read, None),
        }
    }

    /// The input for a line that was read. `admitted`: what counting its command elsewhere has led to.
    fn take(&mut self, read: ReadLine, admitted: Option<Result<(), HostError>>) -> Option<Input> {
        let ReadLine { client: id, principal, line, mut input } = read;
        self.unserved_bytes += line.len() as u64;
        // Only of a line that is handled: the context holds for the next input.
        if self.runner.is_observed() {
            let own = TraceContext::of_line(&line);
            if let Some(context) = own.as_ref().or_else(|| self.clients.trace_context(id)) {
                self.runner.note_trace_context(context);
            }
        }
        // Permissions for good are the owner's to give.
        if principal.name != self.owner.name
            && let Input::Frame(frame) = &mut input
            && let Inbound::ExtensionUIResponse(answer) = &mut **frame
        {
            self.runner.engine.narrow_answer(answer);
        }
        if let Some(refusal) = self.refusal(&input, &principal, admitted) {
            input = Input::BadLine(refusal);
        }
        self.ids.assign(&mut input, id);
        Some(input)
    }

    /// Why a client may not give a command.
    fn refusal(
        &self,
        input: &Input,
        principal: &Principal,
        admitted: Option<Result<(), HostError>>,
    ) -> Option<LineError> {
        let place = || {
            let file = match command_of(input) {
                Some(RpcCommand::SwitchSession(_)) => {
                    self.runner.engine.state().session_file.map(PathBuf::from)
                }
                _ => None,
            };
            SessionPlace { directory: self.directory.clone(), file }
        };
        let check = CommandCheck { principal, owner: &self.owner, admitted };
        check.refusal(input, place, |command| match principal.limits == self.owner.limits {
            true => Ok(()),
            false => {
                let model = self.runner.engine.state().model;
                let virtual_api = self.dialect.record().virtual_model_api;
                let is_routed = model.as_ref().is_some_and(|model| Some(model.api.as_str()) == virtual_api);
                let model = model.map(|model| (model.provider, model.id));
                let tools = self.runner.engine.offered_tools().collect();
                let facts = SessionFacts {
                    directory: &self.directory,
                    tools,
                    model,
                    is_routed,
                    connects_mcp: self.connects_mcp,
                    runs_other_models: self.runs_other_models,
                };
                principal.check_effects(command, &self.owner.limits, &facts)
            }
        })
    }

    /// The input that ends a run whose last answer has used up what its owner may spend.
    fn abort_if_overspent(&mut self) -> Option<Input> {
        let runs = !self.runner.engine.is_idle();
        if !is_overspent(&mut self.has_spent, runs, &self.owner, &self.id) {
            return None;
        }
        let mut input = Input::Frame(Box::new(Inbound::Command(AbortCommand { id: None }.into())));
        self.ids.assign(&mut input, NO_CLIENT);
        Some(input)
    }

    /// Answers a connection. Returns an input if the engine has to know of it.
    fn answer(
        &mut self,
        request: SessionRequest,
        lines: &mut mpsc::Receiver<ClientLine>,
        max_queue: u64,
    ) -> Option<Input> {
        match request {
            SessionRequest::Attach(attach, reply) => {
                // Lines that the client's last connection has passed on count as received. Those that come now are not waited for.
                for _ in 0..lines.len() {
                    if self.is_stopping || !self.has_room(max_queue) {
                        break;
                    }
                    lines.try_recv().into_iter().for_each(|line| self.waiting_lines.push(line));
                }
                if !self.is_stopping {
                    self.waiting_lines.receive(&mut self.clients);
                }
                if let Some(AttachedClient { attached, needs_snapshot }) =
                    self.clients.admit(attach, &self.owner, &self.journal)
                {
                    if needs_snapshot {
                        self.push_snapshot(attached.client);
                    }
                    // A connection that is gone does not receive the reply; its Detach follows.
                    let _ = reply.send(attached);
                }
                None
            }
            SessionRequest::Detach { client, connection } => {
                self.clients.detach(client, connection);
                None
            }
            SessionRequest::Snapshot(client) => {
                if let Some(outlet) = &mut self.outlet {
                    let snapshot = self.runner.engine.snapshot(self.id.clone(), outlet.last());
                    outlet.send_message(Some(client), WatcherMessage::Snapshot(Box::new(snapshot)));
                } else {
                    self.push_snapshot(client);
                }
                None
            }
            SessionRequest::State(reply) => {
                let _ = reply.send(self.runner.engine.state());
                None
            }
            SessionRequest::Close => {
                self.is_stopping = true;
                Some(Input::Shutdown)
            }
            SessionRequest::WriteOut => {
                self.is_stopping = true;
                self.is_resumable = self.runner.engine.state().session_file.is_some();
                self.is_parked = self.is_resumable && self.runner.engine.only_waits();
                (!self.is_parked).then_some(Input::Shutdown)
            }
        }
    }

    fn push_snapshot(&self, client: ClientId) {
        let Some(queue) = self.clients.queue(client) else { return };
        queue.restart(self.journal.encoder());
        let snapshot = self.runner.engine.snapshot(self.id.clone(), self.journal.last());
        queue.push_message(WatcherMessage::Snapshot(Box::new(snapshot)));
    }

    fn info(&self, directory: &Path) -> SessionInfo {
        let engine = &self.runner.engine;
        let facts = engine.state();
        SessionInfo {
            durable_id: facts.session_id,
            path: facts.session_file.map(PathBuf::from),
            directory: directory.to_owned(),
            name: facts.session_name,
            status: self.status(),
            only_waits: !self.dialogs.is_empty() && engine.only_waits(),
            waiting: self.noted_elsewhere(),
            lines: self.taken_lines(),
        }
    }

    /// Lines of clients that were taken: what the session says of itself is of behind them.
    fn taken_lines(&self) -> u64 {
        self.lines - self.waiting_lines.counted() as u64
    }

    fn status(&self) -> SessionStatus {
        match (self.is_stopping, self.runner.engine.is_idle()) {
            (true, _) => SessionStatus::Closing,
            (false, true) => SessionStatus::Idle,
            (false, false) => SessionStatus::Running,
        }
    }
}

#[cfg(test)]
pub(crate) mod counting;
#[cfg(test)]
mod notes;
#[cfg(test)]
mod violations;
mod waiting;
mod waiting_lines;
