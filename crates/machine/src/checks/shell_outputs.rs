//! Judges the output events of the host's shell commands, against the output in the response.
//!
//! Rules: `bash-updates`, `bash-message`.

use super::frame_context::FrameContext;
use crate::{findings::Findings, requests::OpenRequest};
use pi_rpc_protocol::{
    BashExecutionUpdateEvent, BashResult, RequestId, RpcCommand, RpcCommandKind, RpcSuccess, RuleId as Rule,
};
use std::collections::{BTreeSet, VecDeque};

/// The outputs of running shell commands, as reported by events.
#[derive(Clone, Debug, Default)]
pub struct ShellOutputs {
    open: VecDeque<Shell>,
    /// The numbers of commands without an answer that are followed no more.
    dropped: BTreeSet<u64>,
    /// Whether events have told of the output of a command.
    told: bool,
}

#[derive(Clone, Debug)]
struct Shell {
    number: u64,
    id: Option<RequestId>,
    /// The output reported by events.
    reported: String,
    /// Whether the reported output is not complete.
    torn: bool,
    /// Whether the input has ended since, after which no more output may be reported.
    silent: bool,
    /// Whether something has come since that may stop the command.
    may_be_stopped: bool,
}

/// The most shell commands that are tracked.
const MAX_SHELL_COMMANDS: usize = 256;
/// The most bytes of an output that are kept.
const OUTPUT: usize = 1 << 20;

impl ShellOutputs {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand) {
        let kind = command.kind();
        if kind == RpcCommandKind::AbortBash || kind.ends_run() || kind.cuts() || kind.replaces_session() {
            self.on_stop();
        }
        if let RpcCommand::Bash(bash) = command {
            // The output of commands with the same id cannot be told apart.
            let mut torn = false;
            for shell in self.open.iter_mut().filter(|shell| shell.id == bash.id) {
                (shell.torn, torn) = (true, true);
            }
            self.open.push_back(Shell {
                number,
                id: bash.id.clone(),
                reported: String::new(),
                torn,
                silent: false,
                may_be_stopped: false,
            });
            if self.open.len() > MAX_SHELL_COMMANDS {
                self.dropped.extend(self.open.pop_front().map(|shell| shell.number));
            }
        }
    }

    /// Takes in a part of an output. `accepts`: an invalid line is outstanding, which the server may have accepted.
    pub fn on_output(
        &mut self,
        update: &BashExecutionUpdateEvent,
        accepts: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let Some(shell) = self.open.iter_mut().find(|shell| shell.id == update.id) else {
            let may_run = accepts || !self.dropped.is_empty();
            return found
                .expect(Rule::BashUpdates, may_run, || "the output of a `bash` that runs".to_owned());
        };
        found.pass(Rule::BashUpdates);
        shell.torn |= at.cut || shell.reported.len() + update.delta.len() > OUTPUT;
        if !shell.torn {
            shell.reported.push_str(&update.delta);
        }
    }

    /// Takes in the end of the input: events may end then, responses still come.
    pub fn on_end_of_input(&mut self) {
        self.open.iter_mut().for_each(|shell| shell.silent = true);
        self.on_stop();
    }

    /// Takes in something that may stop the running commands.
    pub fn on_stop(&mut self) {
        self.open.iter_mut().for_each(|shell| shell.may_be_stopped = true);
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self) {
        self.open.iter_mut().for_each(|shell| shell.torn = true);
    }

    /// Takes in a response.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        success: Option<&RpcSuccess>,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.dropped.remove(&request.number);
        let place = self.open.iter().position(|shell| shell.number == request.number);
        let Some(shell) = place.and_then(|place| self.open.remove(place)) else { return };
        let Some(RpcSuccess::Bash(bash)) = success else { return };
        counted(&bash.data, at, found);
        let is_stopped = shell.may_be_stopped || at.has_extensions || at.now.closing;
        found.expect(Rule::BashMessage, !bash.data.cancelled || is_stopped, || {
            "`cancelled` false at /data/cancelled, as nothing has stopped the command".to_owned()
        });
        if bash.data.truncated && !at.cut {
            let is_told = !shell.torn && !shell.silent && !shell.reported.is_empty();
            let is_whole = (is_told && shell.reported == bash.data.output) || is_complete(&bash.data);
            let what = "whether the beginning of the output was left out";
            if is_whole {
                found.fail_with_difference(Rule::BashMessage, "/data/truncated", what, &false, &true);
            }
        }
        // Output of a command that an extension runs is not reported by events, nor is any by old versions.
        let is_untold = shell.reported.is_empty() && !bash.data.output.is_empty() && self.told;
        if is_untold && !at.has_extensions && !shell.torn && !shell.silent && !at.cut && !bash.data.truncated
        {
            let what = "what was told of it while it ran: nothing";
            found.fail_with_difference(Rule::BashUpdates, "/data/output", what, &"", &bash.data.output);
        }
        self.told |= !shell.reported.is_empty();
        if shell.torn || at.cut || bash.data.truncated || shell.reported.is_empty() {
            return;
        }
        let output = &bash.data.output;
        let agrees =
            if shell.silent { output.starts_with(&shell.reported) } else { *output == shell.reported };
        match agrees {
            true => found.pass(Rule::BashUpdates),
            false => {
                let what = "the output that was told while it ran";
                found.fail_with_difference(Rule::BashUpdates, "/data/output", what, &shell.reported, output);
            }
        }
    }
}

/// Whether an output that is told to be truncated has nothing left out: it is far below every limit, and no other place has
/// more of it.
fn is_complete(bash: &BashResult) -> bool {
    let BashResult { full_output_path, artifact_id, elided_bytes, elided_lines, .. } = bash;
    let has_more = full_output_path.is_some()
        || artifact_id.is_some()
        || elided_bytes.is_some_and(|bytes| bytes > 0)
        || elided_lines.is_some_and(|lines| lines > 0);
    let more = |total: Option<u64>, output: Option<u64>| match (total, output) {
        (Some(total), Some(output)) => Some(total > output),
        _ => None,
    };
    let counted = [more(bash.total_lines, bash.output_lines), more(bash.total_bytes, bash.output_bytes)];
    match counted.iter().flatten().next() {
        Some(_) => !has_more && !counted.contains(&Some(true)),
        None => !has_more && bash.output.len() < FAR_BELOW && bash.output.lines().count() < FEW_LINES,
    }
}

/// Bytes far below the limit of an output, in every server.
const FAR_BELOW: usize = 16 << 10;
/// Lines far below the limit of an output, in every server.
const FEW_LINES: usize = 200;

/// Judges the numbers of lines and bytes of an output. A line feed at the end begins another line.
fn counted(bash: &BashResult, at: &FrameContext, found: &mut Findings) {
    let totals = [
        ("totalLines", bash.total_lines, bash.output_lines),
        ("totalBytes", bash.total_bytes, bash.output_bytes),
    ];
    for (name, total, shown) in totals {
        let (Some(total), Some(shown)) = (total, shown) else { continue };
        let holds = if bash.truncated { total >= shown } else { total == shown };
        match holds {
            true => found.pass(Rule::BashMessage),
            false => {
                let what = if bash.truncated { "as much as is shown, or more" } else { "what is shown" };
                found.fail_with_difference(Rule::BashMessage, &format!("/data/{name}"), what, &shown, &total);
            }
        }
    }
    if at.cut || bash.truncated || bash.cancelled {
        return;
    }
    let has_line = !bash.output.is_empty() || at.dialect.record().empty_output_is_line;
    let lines = bash.output.matches('\n').count() as u64 + u64::from(has_line);
    // In a redacted recording, characters have other bytes.
    let is_kept = bash.output.chars().any(|it| it.is_alphanumeric() && !['x', '0'].contains(&it));
    let bytes = bash.output_bytes.filter(|_| is_kept);
    let reported =
        [("outputLines", bash.output_lines, lines), ("outputBytes", bytes, bash.output.len() as u64)];
    for (name, reported, counted) in reported {
        if let Some(reported) = reported {
            let pointer = format!("/data/{name}");
            found.expect_same(Rule::BashMessage, &pointer, "what the output has", &counted, &reported);
        }
    }
}
