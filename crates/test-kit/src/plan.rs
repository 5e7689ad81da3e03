//! Plans of simulated tools and shell commands, such as `sleep 100; echo one; fail`.

use pi_rpc_protocol::{Dialect, DialectBashAbortNotice, errors};

/// Milliseconds from a cancel to the end.
pub const CANCEL_MS: u64 = 3;

/// Command line as a plan in virtual time, counted from its start.
#[derive(Clone)]
pub struct Plan {
    /// Lines, each with its time.
    lines: Vec<(u64, String)>,
    ends: u64,
    fails: bool,
    cancelled: Option<u64>,
}

/// End of a shell command.
pub struct CommandOutcome {
    pub output: String,
    pub exit_code: Option<i32>,
    pub cancelled: bool,
}

impl Plan {
    /// Parses a command line: `sleep N` takes N milliseconds, `echo TEXT` prints a line, `fail` makes the end a
    /// failure.
    pub fn new(command: &str) -> Self {
        let mut plan = Self { lines: Vec::new(), ends: 0, fails: false, cancelled: None };
        for step in command.split(';').map(str::trim) {
            match step.split_once(' ') {
                Some(("sleep", time)) => plan.ends += time.parse::<u64>().expect("milliseconds"),
                Some(("echo", text)) => plan.lines.push((plan.ends, text.to_owned())),
                _ => plan.fails = true,
            }
        }
        plan
    }

    /// Time of the end without a cancel.
    pub fn ends(&self) -> u64 {
        self.ends
    }

    /// Output so far at each time at which a line is printed.
    pub fn progress(&self) -> Vec<(u64, String)> {
        self.lines.iter().map(|(at, _)| (*at, self.output(*at))).collect()
    }

    /// The plan with a cancel at that time.
    pub fn cancelled(&self, at: u64) -> Self {
        Self { cancelled: Some(at), ..self.clone() }
    }

    /// Text of the tool result, and whether the tool failed.
    pub fn result(&self, dialect: Dialect) -> (String, bool) {
        let CommandOutcome { output, cancelled, exit_code } = self.outcome();
        match (cancelled, exit_code) {
            (true, _) if output.is_empty() => (errors::bash_aborted(dialect.base()), true),
            (true, _) if dialect.record().bash.abort_notice == DialectBashAbortNotice::BeforeOutput => {
                (format!("{}{output}", errors::bash_aborted(dialect.base())), true)
            }
            (true, _) => (format!("{output}\n\n{}", errors::bash_aborted(dialect.base())), true),
            (false, code) => (output, code != Some(0)),
        }
    }

    pub fn outcome(&self) -> CommandOutcome {
        match self.cancelled {
            Some(at) => CommandOutcome { output: self.output(at), exit_code: None, cancelled: true },
            None => CommandOutcome {
                output: self.output(self.ends),
                exit_code: Some(i32::from(self.fails)),
                cancelled: false,
            },
        }
    }

    fn output(&self, now: u64) -> String {
        let printed = self.lines.iter().filter(|(at, _)| *at <= now);
        printed.map(|(_, text)| format!("{text}\n")).collect()
    }
}
