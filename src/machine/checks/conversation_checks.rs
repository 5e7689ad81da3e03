//! The checks of what goes on beside the runs: answers, what follows a run, queues, counts, dialogs, host tools, the end.

use super::{
    aborted_calls::AbortedCalls,
    after_run::AfterRun,
    compaction::ManualCompactions,
    counts::Counts,
    delays::Delays,
    dialogs::Dialogs,
    entry_lists::{self, AppendedEntries},
    extension_evidence::ExtensionEvidence,
    frame_context::FrameContext,
    host_tools::HostTools,
    obligations::Obligations,
    prompts::Prompts,
    queues::Queues,
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
    machine::{
        findings::Findings,
        kind::Kind,
        requests::{Requests, ResponseHead, ResponseMatch},
        session_state::known_state::KnownState,
        state::State,
    },
    protocol::{
        AgentSessionEvent, DialectPromptAck, Emission, Inbound, Outbound, PromptDisposition, RpcResponse,
        RpcSuccess, RuleId as Rule,
    },
};

/// Follows what goes on beside the runs; sees every frame, wherever it stands.
#[derive(Clone, Debug, Default)]
pub struct ConversationChecks {
    facts: StateChecks,
    answers: Responses,
    tail: AfterRun,
    queues: Queues,
    counts: Counts,
    asks: Dialogs,
    tools: HostTools,
    settling: SettleChecks,
    compactions: ManualCompactions,
    shells: ShellOutputs,
    told: SessionEvents,
    entries: AppendedEntries,
    session: SessionChecks,
    ending: EndChecks,
    extensions: ExtensionEvidence,
    prompts: Prompts,
    promises: Obligations,
    turns: TurnBoundaries,
    skips: SkippedCalls,
    switches: Switches,
    delays: Delays,
    aborts: AbortedCalls,
}

impl ConversationChecks {
    /// Whether a request to the user interface had this id already.
    pub fn has_asked(&self, id: &str) -> bool {
        self.asks.knows(id)
    }

    /// What is known of the session's state.
    pub const fn facts(&self) -> &KnownState {
        self.facts.facts()
    }

    /// The server was told to load extensions.
    pub const fn extended(&mut self) {
        self.extensions.seen = true;
    }

    /// Something has happened at `now` that gives everything more time.
    pub fn stir(&mut self, now: u64) {
        self.promises.stir(now);
        self.delays.stir(now);
    }

    /// Sees what the host wrote, before its request is open.
    pub fn inbound(&mut self, frame: &Inbound, requests: &Requests, at: &FrameContext, found: &mut Findings) {
        let at = &FrameContext { extended: self.extensions.seen, ..*at };
        found.kept(Rule::HostLine);
        found.kept(Rule::HostSchema);
        match frame {
            Inbound::Command(command) => {
                if let Some(id) = command.id() {
                    found.expect(Rule::HostIdUnique, !requests.has(id), || {
                        format!("an id that no open request has, not {id}")
                    });
                }
                self.facts.command(command, at);
                self.promises.command(command, at);
                self.prompts.command(command, at, &self.promises);
                self.answers.command(command, at, found);
                self.tail.command(command, at);
                self.queues.command(command, at);
                self.counts.command(command);
                self.tools.command(command);
                self.settling.command(command);
                self.shells.command(command);
                self.session.command(command);
                self.turns.command(command);
                self.skips.command(command);
                self.switches.command(command);
                self.delays.command(command.kind(), requests, at);
            }
            Inbound::ExtensionUIResponse(response) => self.asks.response(response, found),
            Inbound::HostToolUpdate(update) => self.tools.update(update, found),
            Inbound::HostToolResult(result) => {
                self.tools.result(result, found);
                self.delays.result(result, requests, at);
            }
        }
        if let (Some(now), false) = (at.time, matches!(frame, Inbound::Command(_))) {
            self.stir(now);
        }
    }

    /// Sees what is said.
    pub fn outbound(
        &mut self,
        said: &Emission,
        kind: Kind,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.extensions.outbound(said);
        let at = &FrameContext { extended: self.extensions.seen, ..*at };
        self.moved(kind, at, found);
        self.facts.said(said, at, found);
        if let Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start))) = said {
            self.answers.begins(&start.message, at, found);
        }
        match said {
            Emission::Frame(Outbound::AgentSessionEvent(event)) => {
                let (unqueued, retries) = (self.queues.is_empty(), self.switches.retries());
                self.tail.event(event, at, unqueued, retries, &mut self.promises, found);
                let waits = |text: &str| self.queues.may_hold(text);
                self.prompts.event(event, at, waits, &mut self.promises, found);
                self.queues.event(event, self.turns.takes_follow_ups(), at, found);
                let (stopped, steered) = (self.turns.is_stopped(), self.queues.steers());
                self.skips.event(event, at, stopped, steered, found);
                self.aborts.event(event, stopped, at, found);
                self.delays.event(event, self.prompts.is_opening(), at, found);
                self.turns.event(event, at, &mut self.queues, found);
                self.switches.event(event, at, found);
                self.tools.event(event, at, found);
                self.settling.event(event, at, &mut self.promises, found);
                self.compactions.event(event, at);
                self.told.event(event, found);
                self.session.event(event, at, found);
                match event {
                    AgentSessionEvent::BashExecutionUpdate(update) => {
                        self.shells.update(update, accepts(requests), at, found);
                    }
                    AgentSessionEvent::EntryAppended(appended) => self.entries.entry(&appended.entry, found),
                    _ => {}
                }
            }
            Emission::Frame(Outbound::ExtensionUIRequest(request)) => {
                self.asks.request(request, found);
                self.session.ui_request(request);
            }
            Emission::Frame(Outbound::ExtensionError(_)) => self.session.extension_error(),
            Emission::Frame(Outbound::HostToolCall(call)) => {
                self.tools.call(call, at, found);
                self.delays.call(call);
            }
            Emission::Frame(Outbound::HostToolCancel(cancel)) => {
                // Steering may interrupt what a tool does.
                let calm = !self.turns.is_stopped() && !self.queues.may_steer();
                let has_cause = !calm || !at.whole || at.extended || at.now.closing;
                self.tools.cancel(cancel, has_cause, found);
            }
            Emission::Frame(_) | Emission::Line { .. } | Emission::Update(_) => {}
        }
    }

    /// What was said last cannot be so, or something before it was missed: what was said of the session is in doubt.
    pub fn doubt(&mut self) {
        self.session.doubt();
    }

    /// Something was said of which the kind alone is known.
    pub fn unread(&mut self, kind: Kind, at: &FrameContext) {
        // What it would have broken or shown is not known either.
        self.moved(kind, at, &mut Findings::default());
        self.tail.unread(kind);
        self.prompts.unread(kind);
        self.turns.unread(kind);
        self.skips.unread(kind);
        self.aborts.unread(kind);
        self.queues.unread(kind);
        self.tools.unread(kind);
        if kind.is_event() {
            self.facts.unread(at);
            self.promises.unread();
            self.settling.unread();
            self.compactions.unread();
            self.shells.unread();
            self.told.unread();
            self.session.miss();
        }
    }

    fn moved(&mut self, kind: Kind, at: &FrameContext, found: &mut Findings) {
        self.ending.outbound(kind);
        self.answers.moved(kind, at, found);
        self.counts.moved(kind, at);
        self.promises.moved(kind, at, found);
        self.delays.moved(kind, at, found);
    }

    /// A response was said; `said` where all of it is known.
    pub fn answered(
        &mut self,
        answer: &ResponseHead,
        answered: &ResponseMatch,
        said: Option<&Emission>,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let at = &FrameContext { extended: self.extensions.seen, ..*at };
        let success = match said {
            Some(Emission::Frame(Outbound::Response(RpcResponse::Success(success)))) => Some(success),
            _ => None,
        };
        let starts = self.answers.answered(answer, answered, outcome(success), requests, at, found);
        let done = match answered {
            ResponseMatch::Line(_) | ResponseMatch::Forgotten => answer.success,
            ResponseMatch::Nothing(stray) => answer.success && stray.rule == Rule::MissingRefused,
            ResponseMatch::First(_) | ResponseMatch::Again(_) => false,
        };
        if done {
            self.queues.doubt();
            self.told.unread();
            self.facts.unread(at);
            self.session.miss();
            self.session.lose_session();
        }
        let (ResponseMatch::First(request) | ResponseMatch::Again(request)) = answered else { return };
        match (success, answer.success) {
            // A line that is no command here may have done something.
            (Some(success), _) if accepts(requests) => {
                self.facts.unread_answer(request, true, at);
                self.facts.learn(success, at);
            }
            (Some(success), _) => self.facts.answered(request, Some(success), at, found),
            (None, true) => self.facts.unread_answer(request, true, at),
            (None, false) => self.facts.answered(request, None, at, found),
        }
        // Where a prompt may be acknowledged and fail, its message may have come; not that of one which a run refuses.
        let late = at.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
        let is_busy = request.met.iter().all(|met| met.is_streaming());
        let is_refused = if late { is_busy } else { matches!(answered, ResponseMatch::First(_)) };
        if !answer.success && is_refused {
            self.queues.refused(request.number);
        }
        match starts {
            true => self.prompts.started(request.number, at, &mut self.promises),
            false => self.prompts.ended(request.number, &mut self.promises),
        }
        if let ResponseMatch::First(request) = answered {
            self.promises.answered(request, requests, at, found);
            self.turns.answered(request.command);
            self.delays.answered(request, success, requests, at, found);
        }
        self.tail.answered(request, at, found);
        self.queues.answered(request, answer.success.then_some(success), at, found);
        self.tools.answered(request, answer.success);
        self.counts.answered(request, success, at, requests, found);
        self.compactions.answered(answer, success, request, requests, at, found);
        self.settling.answered(request, answer.success, at, found);
        self.told.answered(request, answer.success, found);
        self.skips.answered(request, answer.success);
        self.switches.answered(request, answer.success);
        self.shells.answered(request, success, at, found);
        self.session.answered(answer, success, request, requests, at, found);
        match success {
            Some(RpcSuccess::GetState(state)) => {
                self.queues.state(&state.data, request, at, found);
                self.skips.state(&state.data);
                if request.met.len() == 1 {
                    self.switches.state(&state.data);
                }
            }
            Some(RpcSuccess::GetEntries(list)) => {
                entry_lists::list(&list.data, self.counts.lists_all(request), found);
            }
            Some(RpcSuccess::GetTree(tree)) => entry_lists::tree(&tree.data, found),
            Some(success)
                if request.command.changes().contains(&crate::protocol::SessionMember::SessionId) =>
            {
                self.queues.left(request, drops_queues(success));
                self.told.forget();
                self.entries.forget();
                self.switches.forget();
            }
            _ => {}
        }
    }

    /// Input has ended, or a shutdown was asked for.
    pub fn end_of_input(&mut self, state: State, requests: &Requests) {
        self.ending.end_of_input(state, requests);
        self.shells.end_of_input();
    }

    /// The process is gone, or nothing more is known of it.
    pub fn ended(&mut self, end: &ServerExit, at: &FrameContext, requests: &Requests, found: &mut Findings) {
        if end.quiet {
            self.answers.silent(at.base(), found);
            self.promises.silent(at, found);
            self.delays.silent(at, found);
        }
        self.ending.ended(end, at.dialect, at.now, requests, &self.promises, found);
    }
}

/// Whether a line waits that is no command here, and that the server may have taken for one.
fn accepts(requests: &Requests) -> bool {
    requests.waiting_lines().next().is_some()
}

/// Whether what waits in the session that was left does not come along into the other one.
fn drops_queues(success: &RpcSuccess) -> bool {
    match success {
        RpcSuccess::NewSession(it) => !it.data.cancelled,
        RpcSuccess::SwitchSession(it) => !it.data.cancelled,
        _ => false,
    }
}

/// What a prompt's answer says became of it, where it does.
fn outcome(success: Option<&RpcSuccess>) -> Option<PromptDisposition> {
    match success {
        Some(RpcSuccess::Prompt(it)) => it.data.as_ref().map(|it| it.disposition),
        _ => None,
    }
}
