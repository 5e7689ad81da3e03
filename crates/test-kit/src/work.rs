//! Courses of tools and shell commands after their start: inputs for the engine, each with its time.

use crate::plan::{CANCEL_MS, CommandOutcome, Plan};
use pi_rpc_engine::{CallId, Input, ShellEnd, ShellStart, ToolStart};
use pi_rpc_protocol::{AgentToolResult, Dialect, errors};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Inputs, each with the milliseconds since the start.
pub(crate) type Steps = Vec<(u64, Input)>;

/// Course of a started tool or shell command.
pub(crate) struct WorkPlan {
    pub steps: Steps,
    /// Steps instead of the rest after a cancel.
    pub stop: OnCancel,
}

/// Returns the steps after a cancel, counted from it; the argument is the milliseconds from the start to the cancel.
pub(crate) type OnCancel = Box<dyn FnOnce(u64) -> Steps>;

/// Source of the courses of tools and shell commands.
#[derive(Clone, Debug)]
pub(crate) enum WorkSource {
    /// Their command lines, which are plans, see [`Plan`].
    Planned,
    /// Lists, used cyclically. `echoes`: finished work still sends inputs.
    Listed { tools: Vec<Work>, shells: Vec<Work>, echoes: bool },
}

/// Course of a tool or a shell command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    /// Milliseconds before each progress report, and before the end.
    pub waits: Vec<u64>,
    /// End without a cancel.
    pub ending: WorkOutcome,
    /// Milliseconds from a cancel to the end.
    pub stops_after: u64,
    /// Whether the work ends as planned despite a cancel, as if it had been about to end.
    pub too_late: bool,
}

/// End of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkOutcome {
    /// Success.
    Done,
    /// Error; a shell command fails to start.
    Failed,
    /// None until a cancel.
    Never,
}

impl WorkSource {
    /// Course of the tool call with this number.
    pub fn tool(&self, number: usize, start: &ToolStart, dialect: Dialect) -> WorkPlan {
        match self {
            Self::Planned => {
                planned_tool(start.call, start.arguments["command"].as_str().expect("checked"), dialect)
            }
            Self::Listed { tools, echoes, .. } => {
                tools[number % tools.len()].tool(start.call, &start.name, dialect, *echoes)
            }
        }
    }

    /// Course of the shell command with this number.
    pub fn shell(&self, number: usize, start: &ShellStart) -> WorkPlan {
        match self {
            Self::Planned => planned_shell(start.call, &start.command),
            Self::Listed { shells, .. } => shells[number % shells.len()].shell(start.call, &start.command),
        }
    }
}

impl Work {
    fn tool(&self, call: CallId, name: &str, dialect: Dialect, echoes: bool) -> WorkPlan {
        let base = dialect.base();
        let line = |n: usize| format!("{call}.{n}\n");
        let progress = |so_far: usize| Input::ToolProgress {
            call,
            result: result((0..=so_far).map(line).collect(), false),
        };
        let end = |text: String, is_error| Input::ToolEnd { call, result: result(text, false), is_error };
        let reports = self.waits.len().saturating_sub(1);
        let natural = match self.ending {
            WorkOutcome::Done => Some(end((0..=reports).map(line).collect(), false)),
            WorkOutcome::Failed => Some(end(format!("{name} {call} failed"), true)),
            WorkOutcome::Never => None,
        };
        let aborted = if name == "bash" { errors::bash_aborted(base) } else { errors::tool_aborted(base) };
        let stop = match &natural {
            Some(natural) if self.too_late => natural.clone(),
            _ => end(aborted, true),
        };
        let mut moment = 0;
        let mut steps = Steps::new();
        for (n, wait) in self.waits.iter().enumerate() {
            moment += wait;
            steps
                .extend(if n < reports { Some(progress(n)) } else { natural.clone() }.map(|it| (moment, it)));
        }
        // One more report after the end, and one after a cancel.
        steps.extend((echoes && natural.is_some()).then(|| (moment + 2, progress(9))));
        let after = self.stops_after;
        let echo = echoes.then(|| [progress(8), progress(9)]);
        let stop = move |_| match echo {
            Some([first, last]) => vec![(0, first), (after, stop), (after + 2, last)],
            None => vec![(after, stop)],
        };
        WorkPlan { steps, stop: Box::new(stop) }
    }

    fn shell(&self, call: CallId, command: &str) -> WorkPlan {
        let output = format!("{command} said {call}");
        let done = |cancelled: bool| ShellEnd {
            output: output.clone(),
            exit_code: (!cancelled).then_some(0),
            cancelled,
            directory: Some(format!("/at/{call}")),
            counts: counts(&output),
            ..ShellEnd::default()
        };
        let natural = match self.ending {
            WorkOutcome::Done => Some(Ok(done(false))),
            WorkOutcome::Failed => Some(Err(format!("no shell for {call}"))),
            WorkOutcome::Never => None,
        };
        let end = match &natural {
            Some(natural) if self.too_late => natural.clone(),
            _ => Ok(done(true)),
        };
        let (wait, after) = (self.waits.iter().sum(), self.stops_after);
        WorkPlan {
            steps: natural.map(|end| (wait, Input::ShellEnd { call, end })).into_iter().collect(),
            stop: Box::new(move |_| vec![(after, Input::ShellEnd { call, end })]),
        }
    }
}

fn planned_tool(call: CallId, command: &str, dialect: Dialect) -> WorkPlan {
    let plan = Plan::new(command);
    let end = move |plan: &Plan| {
        let (text, is_error) = plan.result(dialect);
        Input::ToolEnd { call, result: result(text, is_error), is_error }
    };
    let progress = |(at, text)| (at, Input::ToolProgress { call, result: result(text, true) });
    let mut steps: Steps = plan.progress().into_iter().map(progress).collect();
    steps.push((plan.ends(), end(&plan)));
    WorkPlan { steps, stop: Box::new(move |at| vec![(plan.dies(at), end(&plan.cancelled(at)))]) }
}

fn planned_shell(call: CallId, command: &str) -> WorkPlan {
    let plan = Plan::new(command);
    let end = move |plan: &Plan| {
        let CommandOutcome { output, exit_code, cancelled } = plan.outcome();
        let counts = counts(&output);
        let end = ShellEnd { output, exit_code, cancelled, counts, ..ShellEnd::default() };
        Input::ShellEnd { call, end: Ok(end) }
    };
    WorkPlan {
        steps: vec![(plan.ends(), end(&plan))],
        stop: Box::new(move |at| vec![(plan.dies(at), end(&plan.cancelled(at)))]),
    }
}

impl Plan {
    /// Milliseconds to the end after a cancel at that time.
    fn dies(&self, at: u64) -> u64 {
        CANCEL_MS.min(self.ends().saturating_sub(at))
    }
}

/// Result in the form of the built-in tools, which have details with progress and with failures.
fn result(text: String, details: bool) -> AgentToolResult {
    let content = json!([{ "type": "text", "text": text }]);
    let result = match details {
        true => json!({ "content": content, "details": {} }),
        false => json!({ "content": content }),
    };
    serde_json::from_value(result).expect("a result")
}

/// Numbers of lines and bytes of an output without truncation. The end of the last line begins another line.
fn counts(output: &str) -> [u64; 4] {
    let (lines, bytes) = (output.matches('\n').count() as u64 + 1, output.len() as u64);
    [lines, bytes, lines, bytes]
}
