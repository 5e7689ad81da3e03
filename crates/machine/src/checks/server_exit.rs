//! Judges the exit of the server: its status, and the frames that are still owed.
//!
//! Rules: `resp-once`, `eof-finishes`, `lives`, `exit-status`.

use super::obligations::{Obligations, missing};
use crate::{findings::Findings, kind::Kind, requests::Requests, state::State};
use pi_rpc_protocol::{
    Dialect, DialectEndOfInput, FlowState, HostResponseKind, ResponseTime, RpcCommandKind, RuleId as Rule,
};

/// The end of the server's process, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerExit {
    /// Whether the process has exited; else the recording has ended.
    pub gone: bool,
    /// The exit status; `None` if a signal ended the process.
    pub status: Option<i64>,
    /// Whether the host or the recorder has asked it to end, by a signal or by closing its output.
    pub was_stopped: bool,
    /// Whether it did not exit after the end of its input, and was killed.
    pub killed: bool,
    /// Whether the server was silent for so long before the end of its input that nothing more was to come.
    pub quiet: bool,
    /// Whether the host gave up waiting for a response.
    pub waited: bool,
}

/// The exit statuses of a server that was asked to end by SIGHUP, SIGINT or SIGTERM: from anywhere, as the recorder sees
/// only its own signals.
const STOPPED: [i64; 3] = [129, 130, 143];

/// What was running when the input ended.
#[derive(Clone, Debug, Default)]
pub struct EndChecks {
    /// Whether a run was open when the input ended, and no dialog, which could not be answered any more.
    run: bool,
    /// The numbers of the requests that were outstanding when the input ended.
    open: Vec<u64>,
    over: bool,
    /// Whether the last frame of the server is a response.
    answered: bool,
}

impl EndChecks {
    /// Takes in an outbound frame.
    pub const fn on_outbound(&mut self, kind: Kind) {
        self.answered = matches!(kind, Kind::Response(..));
    }

    /// Takes in the end of the input.
    pub fn on_end_of_input(&mut self, state: State, requests: &Requests) {
        if !std::mem::replace(&mut self.over, true) {
            self.run = state.flow.is_streaming() && state.dialogs == 0;
            self.open = requests.outstanding().map(|request| request.number).collect();
        }
    }

    /// Takes in the end of the process or of the recording.
    pub fn on_exit(
        &self,
        end: &ServerExit,
        dialect: Dialect,
        state: State,
        requests: &Requests,
        obligations: &Obligations,
        found: &mut Findings,
    ) {
        let was_stopped = end.was_stopped || end.status.is_some_and(|status| STOPPED.contains(&status));
        let left = end.gone && !was_stopped && !state.closing;
        // An extension may end the process after any response, without a frame.
        let owes =
            requests.outstanding().next().is_some() || requests.lines_without_response().next().is_some();
        let rests = !state.flow.is_streaming() || self.answered;
        let crashed = left && (end.status != Some(0) || owes || !rests);
        if end.gone && !was_stopped {
            found.expect(Rule::Lives, !crashed, || "the process to go on until its input ends".to_owned());
        }
        if end.gone && state.closing && !was_stopped {
            let status = end.status.map_or("a signal".to_owned(), |status| status.to_string());
            found.expect(Rule::ExitStatus, end.status == Some(0) && !end.killed, || match end.killed {
                true => "the process to end by itself".to_owned(),
                false => format!("status 0, not {status}"),
            });
        }
        if was_stopped || left {
            return;
        }
        let finishes = dialect.record().end_of_input == DialectEndOfInput::Finish;
        let serial = dialect.is_serial();
        let ended = end.gone && state.closing && !end.killed;
        if ended {
            self.finishes(finishes, state, requests, found);
        }
        // If the process exits at once, requests that were outstanding at the end of the input need no response.
        let owed = end.waited || (ended && finishes);
        let calm = state.flow == FlowState::Idle && state.dialogs == 0;
        let silent = end.quiet && !state.closing && calm;
        // If commands are handled one after the other, later ones wait for the first.
        let mut first = true;
        for request in requests.outstanding() {
            let time = request.command.response_time();
            let held = !first && serial;
            first &= dialect.runs_beside_others(request.command);
            let late = match time {
                Some(ResponseTime::Always) => {
                    request.passed || (end.quiet && !state.closing && !held && state.dialogs == 0)
                }
                Some(ResponseTime::AnyTime) => false,
                Some(ResponseTime::Soon | ResponseTime::Later) => silent || (request.passed_at_rest && calm),
                None if request.command == RpcCommandKind::Abort => {
                    silent || (request.passed_at_rest && calm)
                }
                None => silent,
            };
            let bash = request.command == RpcCommandKind::Bash;
            if ((owed && !(bash && ended)) || late) && !obligations.is_reported(request.number) {
                found.with_cause(Some(request.frame), |found| {
                    found.fail(Rule::RespOnce, missing(request));
                });
            }
        }
        // A line that answers a request of the server gets no response, even if it is invalid.
        let unanswered = |(_, kind, passed): &(u64, Option<&str>, bool)| {
            (owed || silent || *passed) && kind.and_then(HostResponseKind::parse).is_none()
        };
        for (frame, kind, _) in requests.lines_without_response().filter(unanswered) {
            let line = kind.map_or_else(String::new, |kind| format!(" (`{kind}`)"));
            found.with_cause(Some(frame), |found| {
                found.fail(Rule::RespOnce, format!("an error for the line that is no command{line}"));
            });
        }
    }

    /// Judges whether what was running at the end of the input was finished: shell commands and, if the dialect does not abort
    /// them, runs.
    fn finishes(&self, runs: bool, state: State, requests: &Requests, found: &mut Findings) {
        if self.run && runs {
            found.expect(Rule::EofFinishes, !state.flow.is_streaming(), || {
                "the `agent_end` of the open run".to_owned()
            });
        }
        for request in requests.outstanding().filter(|request| request.command == RpcCommandKind::Bash) {
            let id = request.id.as_ref().map_or_else(String::new, ToString::to_string);
            found.with_cause(Some(request.frame), |found| {
                found.fail(Rule::EofFinishes, format!("the response to the `bash` {id}"));
            });
        }
        let shells = self.open.len();
        if shells > 0 && requests.outstanding().next().is_none() {
            found.pass(Rule::EofFinishes);
        }
    }
}
