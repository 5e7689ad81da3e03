//! The checks of everything except the messages of runs: responses, queues, counts, dialogs, host tools, the session, the
//! end of the process. It passes each frame on to the single checks, in an order that they depend on.
//!
//! Rules: `missing-refused`, `commands-steady`, `host-id-unique`, `host-line`, `host-schema`.

use super::{
    aborted_calls::AbortedCalls,
    after_run::AfterRun,
    background_jobs::BackgroundJobs,
    compaction::ManualCompactions,
    counts::Counts,
    delays::Delays,
    dialogs::Dialogs,
    entry_lists::{self, AppendedEntries},
    extension_evidence::ExtensionEvidence,
    frame_context::FrameContext,
    host_tools::HostTools,
    logins,
    obligations::Obligations,
    prompt_results::PromptResults,
    prompts::Prompts,
    queues::Queues,
    refusals::Refusals,
    responses::Responses,
    server_exit::{EndChecks, ServerExit},
    session_checks::SessionChecks,
    session_events::SessionEvents,
    settle::SettleChecks,
    shell_outputs::ShellOutputs,
    skipped_calls::SkippedCalls,
    state_checks::StateChecks,
    switches::Switches,
    turn_boundaries::TurnBoundaries,
};
use crate::{
    findings::Findings,
    kind::Kind,
    requests::{Requests, ResponseHead, ResponseMatch},
    session_state::known_state::KnownState,
    state::State,
};
use pi_rpc_protocol::{
    AgentSessionEvent, DialectPromptAck, Emission, FlowState, Inbound, Outbound, PromptDisposition,
    RpcResponse, RpcSuccess, RuleId as Rule, SessionMember,
};
use std::collections::HashSet;

/// All checks that take in every frame, legal or not.
#[derive(Clone, Debug, Default)]
pub struct ConversationChecks {
    state: StateChecks,
    responses: Responses,
    refusals: Refusals,
    after_run: AfterRun,
    queues: Queues,
    counts: Counts,
    dialogs: Dialogs,
    host_tools: HostTools,
    settle: SettleChecks,
    compactions: ManualCompactions,
    shell_outputs: ShellOutputs,
    session_events: SessionEvents,
    entries: AppendedEntries,
    session: SessionChecks,
    exit: EndChecks,
    extensions: ExtensionEvidence,
    prompts: Prompts,
    prompt_results: PromptResults,
    obligations: Obligations,
    turn_boundaries: TurnBoundaries,
    skipped_calls: SkippedCalls,
    switches: Switches,
    delays: Delays,
    aborted_calls: AbortedCalls,
    background_jobs: BackgroundJobs,
}

impl ConversationChecks {
    /// Whether an earlier UI request had this id.
    pub fn has_ui_request(&self, id: &str) -> bool {
        self.dialogs.contains(id)
    }

    /// What is known of the session's state.
    pub const fn known_state(&self) -> &KnownState {
        self.state.known_state()
    }

    /// Whether extensions are loaded.
    pub const fn has_extensions(&self) -> bool {
        self.extensions.seen
    }

    /// Declares that the server loads extensions.
    pub const fn load_extensions(&mut self) {
        self.extensions.seen = true;
    }

    /// Restarts all deadlines at `now`.
    pub fn restart_deadlines(&mut self, now: u64) {
        self.obligations.restart_deadlines(now);
        self.delays.restart_deadlines(now);
    }

    /// Takes in an inbound frame, before its request is opened.
    pub fn on_inbound(
        &mut self,
        frame: &Inbound,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let at = &FrameContext { has_extensions: self.extensions.seen, ..*at };
        found.pass(Rule::HostLine);
        found.pass(Rule::HostSchema);
        match frame {
            Inbound::Command(command) => {
                if let Some(id) = command.id() {
                    found.expect(Rule::HostIdUnique, !requests.is_outstanding(id), || {
                        format!("an id that no open request has, not {id}")
                    });
                }
                let number = requests.next_number();
                self.state.on_command(number, command, at);
                self.obligations.on_command(command, at);
                self.prompts.on_command(number, command, at, &self.obligations);
                self.prompt_results.on_command(number, command, at);
                self.responses.on_command(number, command, at, found);
                self.refusals.on_command(number, command);
                self.after_run.on_command(command, at);
                self.queues.on_command(number, command, at);
                self.counts.on_command(number, command);
                self.host_tools.on_command(number, command);
                self.settle.on_command(command);
                self.shell_outputs.on_command(number, command);
                self.session.on_command(number, command);
                self.aborted_calls.on_command(command);
                self.turn_boundaries.on_command(command);
                self.skipped_calls.on_command(number, command);
                self.switches.on_command(number, command);
                self.delays.on_command(command.kind(), requests, at);
            }
            Inbound::ExtensionUIResponse(response) => self.dialogs.on_dialog_response(response, found),
            Inbound::HostToolUpdate(update) => self.host_tools.on_update(update, found),
            Inbound::HostToolResult(result) => {
                self.host_tools.on_result(result, found);
                self.delays.on_result(result, requests, at);
            }
            Inbound::HostUriResult(_) => {}
        }
        if let (Some(now), false) = (at.time, matches!(frame, Inbound::Command(_))) {
            self.restart_deadlines(now);
        }
    }

    /// Takes in an emitted frame.
    pub fn on_outbound(
        &mut self,
        emission: &Emission,
        kind: Kind,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.extensions.on_outbound(emission);
        let at = &FrameContext { has_extensions: self.extensions.seen, ..*at };
        self.on_frame(kind, at, found);
        self.state.on_outbound(emission, at, found);
        if let Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start))) = emission
        {
            self.responses.on_message_start(&start.message, at, found);
        }
        match emission {
            Emission::Frame(Outbound::AgentSessionEvent(event)) => {
                let (unqueued, retries) = (self.queues.is_empty(), self.switches.retries());
                self.after_run.on_event(event, at, unqueued, retries, &mut self.obligations, found);
                let waits = |text: &str| self.queues.may_hold(text);
                self.prompts.on_event(event, at, waits, &mut self.obligations, found);
                self.prompt_results.on_event(event, at, waits, found);
                self.queues.on_event(event, self.turn_boundaries.takes_follow_ups(), at, found);
                let (stopped, steered) = (self.turn_boundaries.is_stopped(), self.queues.steers());
                self.skipped_calls.on_event(event, at, stopped, steered, found);
                self.aborted_calls.on_event(event, stopped, at, found);
                self.background_jobs.on_event(event, at, found);
                self.delays.on_event(event, self.prompts.is_opening(), at, found);
                self.turn_boundaries.on_event(event, at, &mut self.queues, found);
                self.switches.on_event(event, at, found);
                self.host_tools.on_event(event, at, found);
                self.settle.on_event(event, at, &mut self.obligations, found);
                self.compactions.on_event(event, at);
                self.session_events.on_event(event, found);
                self.session.on_event(event, at, found);
                match event {
                    AgentSessionEvent::BashExecutionUpdate(update) => {
                        self.shell_outputs.on_output(update, has_invalid_lines(requests), at, found);
                    }
                    AgentSessionEvent::AvailableCommandsUpdate(list) => {
                        let mut names = HashSet::new();
                        let twice = list.commands.iter().find(|command| !names.insert(&command.name));
                        found.expect(Rule::CommandsSteady, twice.is_none(), || {
                            let name = twice.map_or("", |command| command.name.as_str());
                            format!("each command once, not `{name}` again")
                        });
                    }
                    AgentSessionEvent::EntryAppended(appended) => {
                        self.entries.on_entry(&appended.entry, found)
                    }
                    _ => {}
                }
            }
            Emission::Frame(Outbound::ExtensionUIRequest(request)) => {
                self.dialogs.on_request(request, at.whole, found);
                logins::on_ui_request(request, requests, at, found);
                self.session.on_ui_request(request);
            }
            Emission::Frame(Outbound::ExtensionError(_)) => self.session.on_extension_error(),
            Emission::Frame(Outbound::HostToolCall(call)) => {
                self.host_tools.on_call(call, at, found);
                self.delays.on_call(call);
            }
            Emission::Frame(Outbound::HostToolCancel(cancel)) => {
                // Steering may interrupt a tool.
                let calm = !self.turn_boundaries.is_stopped() && !self.queues.may_steer();
                let has_cause = !calm || !at.whole || at.has_extensions || at.now.closing;
                self.host_tools.on_cancel(cancel, has_cause, found);
            }
            Emission::Frame(_) | Emission::Line { .. } | Emission::Update(_) => {}
        }
    }

    /// Notes that the latest frame contradicts the earlier ones, or that frames were missed.
    pub fn doubt(&mut self) {
        self.session.doubt();
    }

    /// Takes in an outbound frame of which only the kind is known.
    pub fn on_unread_event(&mut self, kind: Kind, at: &FrameContext) {
        // Its violations are not known either.
        self.on_frame(kind, at, &mut Findings::default());
        self.after_run.on_unread_event(kind);
        self.prompts.on_unread_event(kind);
        self.turn_boundaries.on_unread_event(kind);
        self.skipped_calls.on_unread_event(kind);
        self.aborted_calls.on_unread_event(kind);
        self.background_jobs.on_unread_event(kind);
        self.queues.on_unread_event(kind);
        self.host_tools.on_unread_event(kind);
        if kind.is_event() {
            self.state.on_unread_event(at);
            self.obligations.on_unread_event();
            self.settle.on_unread_event();
            self.compactions.on_unread_event();
            self.shell_outputs.on_unread_event();
            self.session_events.on_unread_event();
            self.session.miss();
        }
    }

    /// Passes the kind of an outbound frame on to the checks that need nothing else.
    fn on_frame(&mut self, kind: Kind, at: &FrameContext, found: &mut Findings) {
        self.exit.on_outbound(kind);
        self.responses.on_frame(kind, at, found);
        self.counts.on_frame(kind, at);
        self.obligations.on_frame(kind, at, found);
        self.delays.on_frame(kind, at, found);
    }

    /// Takes in a response; `said` is the whole frame, if it could be read.
    pub fn on_response(
        &mut self,
        answer: &ResponseHead,
        answered: &ResponseMatch,
        emission: Option<&Emission>,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let at = &FrameContext { has_extensions: self.extensions.seen, ..*at };
        let success = match emission {
            Some(Emission::Frame(Outbound::Response(RpcResponse::Success(success)))) => Some(success),
            _ => None,
        };
        let starts = self.responses.on_response(answer, answered, outcome(success), requests, at, found);
        if let ResponseMatch::First(request) = answered {
            self.refusals.on_response(answer, request, requests, at, found);
        }
        let done = match answered {
            ResponseMatch::Line(_) | ResponseMatch::Forgotten => answer.success,
            ResponseMatch::Nothing(stray) => answer.success && stray.rule == Rule::MissingRefused,
            ResponseMatch::First(_) | ResponseMatch::Again(_) => false,
        };
        if done {
            self.queues.doubt();
            self.shell_outputs.on_stop();
            self.session_events.on_unread_event();
            self.prompt_results.doubt();
            self.state.on_unread_event(at);
            self.session.miss();
            self.session.lose_session();
        }
        let (ResponseMatch::First(request) | ResponseMatch::Again(request)) = answered else { return };
        match (success, answer.success) {
            // The server may have accepted an invalid line as a command.
            (Some(success), _) if has_invalid_lines(requests) => {
                self.state.on_unread_response(request, true, at);
                self.state.learn(success, at);
            }
            (Some(success), _) => self.state.on_response(request, Some(success), at, found),
            (None, true) => self.state.on_unread_response(request, true, at),
            (None, false) => self.state.on_response(request, None, at, found),
        }
        // A prompt that fails after its acknowledgement may have delivered its message; one that is refused during a run has not.
        let late = at.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
        let is_busy = request.met.iter().all(|met| met.is_streaming());
        let is_refused = if late { is_busy } else { matches!(answered, ResponseMatch::First(_)) };
        if !answer.success && is_refused {
            self.queues.on_refusal(request.number);
        }
        match starts {
            true => self.prompts.on_acknowledged(request.number, at, &mut self.obligations),
            false => self.prompts.on_not_started(request.number, answer.success, &mut self.obligations),
        }
        if let ResponseMatch::First(request) = answered {
            if request.met == [FlowState::Idle] && success.is_some() {
                self.aborted_calls.goes_on(at, found);
            }
            self.obligations.on_response(request, requests, at, found);
            self.turn_boundaries.on_response(request.command);
            self.delays.on_response(request, success, requests, at, found);
        }
        self.prompt_results.on_response(request, success, at);
        self.after_run.on_response(request, answer.success, at, found);
        self.queues.on_response(request, answer.success.then_some(success), at, found);
        self.host_tools.on_response(request, answer.success);
        self.counts.on_response(request, success, at, requests, found);
        self.compactions.on_response(answer, success, request, requests, at, found);
        self.settle.on_response(request, answer.success, at, found);
        self.session_events.on_response(request, answer.success, at, found);
        self.skipped_calls.on_response(request, answer.success);
        self.switches.on_response(request, answer.success);
        if has_invalid_lines(requests) {
            self.shell_outputs.on_stop();
        }
        self.shell_outputs.on_response(request, success, at, found);
        self.session.on_response(answer, success, request, requests, at, found);
        match success {
            Some(RpcSuccess::GetState(state)) => {
                self.queues.on_state(&state.data, request, at, found);
                self.skipped_calls.on_state(&state.data);
                if request.met.len() == 1 {
                    self.switches.on_state(&state.data);
                }
            }
            Some(RpcSuccess::GetEntries(list)) => {
                entry_lists::check_list(&list.data, self.counts.lists_all(request), found);
            }
            Some(RpcSuccess::GetTree(tree)) => entry_lists::check_tree(&tree.data, found),
            Some(success) if request.command.changes().contains(&SessionMember::SessionId) => {
                self.queues.on_session_change(request, drops_queues(success));
                self.session_events.forget();
                self.entries.forget();
                self.switches.forget();
            }
            _ => {}
        }
    }

    /// Takes in the end of the input, or the request to shut down.
    pub fn on_end_of_input(&mut self, state: State, requests: &Requests) {
        self.exit.on_end_of_input(state, requests);
        self.shell_outputs.on_end_of_input();
    }

    /// Takes in the end of the process or of the recording.
    pub fn on_exit(
        &mut self,
        end: &ServerExit,
        at: &FrameContext,
        requests: &Requests,
        found: &mut Findings,
    ) {
        if end.quiet {
            self.responses.on_silence(at.base(), found);
            self.obligations.on_silence(at, found);
            self.delays.on_silence(at, found);
        }
        self.exit.on_exit(end, at.dialect, at.now, requests, &self.obligations, found);
    }
}

/// Whether an invalid line is outstanding, which the server may have accepted as a command.
fn has_invalid_lines(requests: &Requests) -> bool {
    requests.lines_without_response().next().is_some()
}

/// Whether the success changes the session, and queued messages do not move to the new one.
fn drops_queues(success: &RpcSuccess) -> bool {
    match success {
        RpcSuccess::NewSession(it) => !it.data.cancelled,
        RpcSuccess::SwitchSession(it) => !it.data.cancelled,
        _ => false,
    }
}

/// The disposition that the response to a prompt reports, if any.
fn outcome(success: Option<&RpcSuccess>) -> Option<PromptDisposition> {
    match success {
        Some(RpcSuccess::Prompt(it)) => it.data.as_ref().and_then(|it| it.disposition),
        _ => None,
    }
}
