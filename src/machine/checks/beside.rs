//! The checks of what goes on beside the runs: answers, what follows a run, queues, counts, dialogs, host tools, the end.

use super::{
    answers::Answers,
    asks::Asks,
    compaction::Asked,
    counts::Counts,
    ending::{End, Ending},
    entries::{self, Appended},
    host_tools::HostTools,
    moment::Moment,
    queues::Queues,
    session_log::SessionLog,
    settling::Settling,
    shells::Shells,
    tail::Tail,
    told::Told,
};
use crate::{
    machine::{
        findings::Findings,
        kind::Kind,
        requests::{Answer, Answered, Requests},
        state::State,
    },
    protocol::{
        AgentSessionEvent, Dialect, Inbound, Outbound, PromptDisposition, RpcResponse, RpcSuccess,
        RuleId as Rule, Said,
    },
};

/// Follows what goes on beside the runs; sees every frame, wherever it stands.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    answers: Answers,
    tail: Tail,
    queues: Queues,
    counts: Counts,
    asks: Asks,
    tools: HostTools,
    settling: Settling,
    compactions: Asked,
    shells: Shells,
    told: Told,
    entries: Appended,
    session: SessionLog,
    ending: Ending,
}

impl Beside {
    /// Whether a request to the user interface had this id already.
    pub fn has_asked(&self, id: &str) -> bool {
        self.asks.knows(id)
    }

    /// Sees what the host wrote, before its request is open.
    pub fn inbound(&mut self, frame: &Inbound, requests: &Requests, at: &Moment, found: &mut Findings) {
        found.kept(Rule::HostLine);
        found.kept(Rule::HostSchema);
        match frame {
            Inbound::Command(command) => {
                if let Some(id) = command.id() {
                    found.expect(Rule::HostIdUnique, !requests.has(id), || {
                        format!("an id that no open request has, not {id}")
                    });
                }
                self.answers.command(command, at, found);
                self.tail.command(command, at);
                self.queues.command(command);
                self.counts.command(command);
                self.tools.command(command);
                self.settling.command(command);
                self.shells.command(command);
                self.session.command(command);
            }
            Inbound::ExtensionUIResponse(response) => self.asks.response(response, found),
            Inbound::HostToolUpdate(update) => self.tools.update(update, found),
            Inbound::HostToolResult(result) => self.tools.result(result, found),
        }
    }

    /// Sees what is said.
    pub fn outbound(&mut self, said: &Said, kind: Kind, at: &Moment, found: &mut Findings) {
        self.moved(kind, at, found);
        if let Said::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start))) = said {
            self.answers.begins(&start.message, at, found);
        }
        match said {
            Said::Frame(Outbound::AgentSessionEvent(event)) => {
                self.tail.event(event, at, self.queues.is_empty(), found);
                self.queues.event(event, at, found);
                self.tools.event(event, at, found);
                self.settling.event(event, at.cut, found);
                self.compactions.event(event, at);
                self.told.event(event, found);
                self.session.event(event, at, found);
                match event {
                    AgentSessionEvent::BashExecutionUpdate(update) => self.shells.update(update, at, found),
                    AgentSessionEvent::EntryAppended(appended) => self.entries.entry(&appended.entry, found),
                    _ => {}
                }
            }
            Said::Frame(Outbound::ExtensionUIRequest(request)) => {
                self.asks.request(request, found);
                self.session.ui_request(request);
            }
            Said::Frame(Outbound::ExtensionError(_)) => self.session.extension_error(),
            Said::Frame(Outbound::HostToolCall(call)) => self.tools.call(call, at, found),
            Said::Frame(Outbound::HostToolCancel(cancel)) => self.tools.cancel(cancel, found),
            Said::Frame(_) | Said::Line { .. } | Said::Update(_) => {}
        }
    }

    /// What was said last cannot be so, or something before it was missed: what was said of the session is in doubt.
    pub fn doubt(&mut self) {
        self.session.miss();
    }

    /// Something was said of which the kind alone is known.
    pub fn unread(&mut self, kind: Kind, at: &Moment) {
        // What it would have broken or shown is not known either.
        self.moved(kind, at, &mut Findings::default());
        self.tail.unread(kind);
        self.queues.unread(kind);
        self.tools.unread(kind);
        if kind.is_event() {
            self.settling.unread();
            self.compactions.unread();
            self.shells.unread();
            self.told.unread();
            self.session.miss();
        }
    }

    fn moved(&mut self, kind: Kind, at: &Moment, found: &mut Findings) {
        self.answers.moved(kind, at, found);
        self.counts.moved(kind, at);
    }

    /// A response was said; `said` where all of it is known.
    pub fn answered(
        &mut self,
        answer: &Answer,
        answered: &Answered,
        said: Option<&Said>,
        requests: &Requests,
        at: &Moment,
        found: &mut Findings,
    ) {
        let success = match said {
            Some(Said::Frame(Outbound::Response(RpcResponse::Success(success)))) => Some(success),
            _ => None,
        };
        self.answers.answered(answer, answered, outcome(success), requests, at, found);
        if matches!(answered, Answered::Line | Answered::Nothing(Rule::MissingRefused, _)) && answer.success {
            self.queues.doubt();
        }
        let (Answered::First(request) | Answered::Again(request)) = answered else { return };
        self.tail.answered(request, at, found);
        self.queues.answered(request, answer.success.then_some(success), at, found);
        self.tools.answered(request, answer.success);
        self.counts.answered(request, success, at, requests, found);
        self.compactions.answered(answer, success, request, requests, at, found);
        self.settling.answered(request, answer.success, at, found);
        self.told.answered(request, answer.success, found);
        self.shells.answered(request, success, at, found);
        self.session.answered(answer, success, request, requests, at, found);
        match success {
            Some(RpcSuccess::GetState(state)) => {
                self.queues.state(&state.data, request, at, found);
                self.told.state(&state.data, found);
            }
            Some(RpcSuccess::GetEntries(list)) => {
                entries::list(&list.data, self.counts.lists_all(request), found);
            }
            Some(RpcSuccess::GetTree(tree)) => entries::tree(&tree.data, found),
            Some(success) if ends_session(success.kind().as_str()) => {
                self.queues.forget();
                // Some servers take along what waits.
                self.queues.doubt();
                self.told.forget();
                self.entries.forget();
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
    pub fn ended(
        &mut self,
        end: &End,
        dialect: Dialect,
        state: State,
        requests: &Requests,
        found: &mut Findings,
    ) {
        self.ending.ended(end, dialect, state, requests, found);
        if end.quiet {
            self.answers.quiet(dialect, state, found);
            self.tail.quiet(found);
            self.settling.quiet(state, found);
        }
    }
}

/// Whether the response to that command leaves another session behind it.
fn ends_session(command: &str) -> bool {
    ["new_session", "switch_session", "fork", "branch", "clone"].contains(&command)
}

/// What a prompt's answer says became of it, where it does.
fn outcome(success: Option<&RpcSuccess>) -> Option<PromptDisposition> {
    match success {
        Some(RpcSuccess::Prompt(it)) => it.data.as_ref().map(|it| it.disposition),
        _ => None,
    }
}
