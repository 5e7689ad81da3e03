//! How a process ends, and what it leaves undone.

use super::obligations::{Obligations, is_immediate, missing};
use crate::{
    machine::{findings::Findings, kind::Kind, requests::Requests, state::State},
    protocol::{Dialect, DialectDispatch, DialectEndOfInput, FlowState, RpcCommandKind, RuleId as Rule},
};

/// What is known of the end of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerExit {
    /// It is gone; else no more is known of it.
    pub gone: bool,
    /// The status that it exited with; none where a signal ended it.
    pub status: Option<i64>,
    /// The host, or whoever records, has ended it: by a signal, or by closing what it writes to.
    pub told: bool,
    /// It did not end by itself when its input had ended, and was killed.
    pub killed: bool,
    /// Nothing was said for so long before its input ended that nothing more was to come.
    pub quiet: bool,
    /// Somebody waited for a response in vain.
    pub waited: bool,
}

#[derive(Clone, Debug, Default)]
pub struct EndChecks {
    /// When input ended, a run was open, and no dialog, which nobody will answer any more.
    run: bool,
    /// When input ended, these requests waited, by number.
    open: Vec<u64>,
    over: bool,
    /// The last frame of the server is a response.
    answered: bool,
}

impl EndChecks {
    /// The server has written something.
    pub const fn on_outbound(&mut self, kind: Kind) {
        self.answered = matches!(kind, Kind::Response(..));
    }

    pub fn on_end_of_input(&mut self, state: State, requests: &Requests) {
        if !std::mem::replace(&mut self.over, true) {
            self.run = state.flow.is_streaming() && state.dialogs == 0;
            self.open = requests.outstanding().map(|request| request.number).collect();
        }
    }

    pub fn on_exit(
        &self,
        end: &ServerExit,
        dialect: Dialect,
        state: State,
        requests: &Requests,
        obligations: &Obligations,
        found: &mut Findings,
    ) {
        let left = end.gone && !end.told && !state.closing;
        // An extension may end the process behind any response, which no frame tells.
        let owes =
            requests.outstanding().next().is_some() || requests.lines_without_response().next().is_some();
        let rests = !state.flow.is_streaming() || self.answered;
        let crashed = left && (end.status != Some(0) || owes || !rests);
        if end.gone && !end.told {
            found.expect(Rule::Lives, !crashed, || "the process to go on until its input ends".to_owned());
        }
        if end.gone && state.closing && !end.told {
            let status = end.status.map_or("a signal".to_owned(), |status| status.to_string());
            found.expect(Rule::ExitStatus, end.status == Some(0) && !end.killed, || match end.killed {
                true => "the process to end by itself".to_owned(),
                false => format!("status 0, not {status}"),
            });
        }
        if end.told || left {
            return;
        }
        let finishes = dialect.record().end_of_input == DialectEndOfInput::Finish;
        let serial = dialect.record().dispatch == DialectDispatch::SerialWithControlLane;
        let ended = end.gone && state.closing && !end.killed;
        if ended {
            self.finishes(finishes, state, requests, found);
        }
        // What was open when the input ended need not be answered where the process exits at once.
        let owed = end.waited || (ended && finishes);
        let calm = state.flow == FlowState::Idle && state.dialogs == 0;
        let silent = end.quiet && !state.closing && calm;
        // Where one is served after the other, what comes later waits for the first.
        let mut first = true;
        for request in requests.outstanding() {
            let immediate = is_immediate(request.command);
            let held = !std::mem::take(&mut first) && serial;
            let late = match immediate {
                true => request.passed || (end.quiet && !state.closing && !held && state.dialogs == 0),
                false => silent && !may_last(request.command),
            };
            let bash = request.command == RpcCommandKind::Bash;
            if ((owed && !(bash && ended)) || late) && !obligations.is_reported(request.number) {
                found.with_cause(Some(request.frame), |found| {
                    found.fail(Rule::RespOnce, missing(request));
                });
            }
        }
        // What answers a request of the server gets no response, also where it cannot be read.
        let unanswered = |(_, kind, passed): &(u64, Option<&str>, bool)| {
            (owed || silent || *passed) && !kind.is_some_and(is_answer)
        };
        for (frame, kind, _) in requests.lines_without_response().filter(unanswered) {
            let line = kind.map_or_else(String::new, |kind| format!(" (`{kind}`)"));
            found.with_cause(Some(frame), |found| {
                found.fail(Rule::RespOnce, format!("an error for the line that is no command{line}"));
            });
        }
    }

    /// What was open when the input ended is done: a bash, and where the dialect does not end them, too, the runs.
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

/// Whether a command may be silent for as long as it likes.
const fn may_last(command: RpcCommandKind) -> bool {
    use RpcCommandKind as Command;
    matches!(command, Command::Bash | Command::Compact | Command::Prompt | Command::AbortAndPrompt)
}

/// Whether a frame of that type answers the server.
fn is_answer(kind: &str) -> bool {
    ["extension_ui_response", "host_tool_update", "host_tool_result"].contains(&kind)
}
