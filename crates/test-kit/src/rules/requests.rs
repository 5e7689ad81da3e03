//! Model of the host lines that need a response, and of their order.

use super::brief::handler_error;
use crate::{Checked, ensure};
use pi_rpc_protocol::{
    BashCommand, Dialect, DialectErrorStyle, DialectPromptAck, LineError, RequestId, RpcCommand,
    RpcCommandKind, RpcErrorResponse, RpcResponse, errors,
};

/// Host lines without a response, oldest first.
pub struct Requests {
    dialect: Dialect,
    waiting: Vec<PendingLine>,
    /// Prompt that was acknowledged and must still get an error.
    refused: Vec<(Option<RequestId>, RpcCommandKind)>,
    /// Shell command that has just ended, and the error if it did not start.
    pub shell_end: Option<(String, Option<String>)>,
}

struct PendingLine {
    asked: LineKind,
    /// Whether the line is being served, as no earlier one delays it.
    begun: bool,
    /// Whether the line is a shell command that was cancelled before it started.
    stopped: bool,
    /// Whether shutdown came before the line was served; it then needs no response.
    forgiven: bool,
}

enum LineKind {
    Command(RpcCommand),
    Bad(LineError),
}

impl PendingLine {
    const fn is_bash(&self) -> bool {
        matches!(self.asked, LineKind::Command(RpcCommand::Bash(_)))
    }
}

impl LineKind {
    /// Whether the line overtakes others in dialects that serve commands one by one.
    const fn is_control(&self) -> bool {
        match self {
            Self::Command(command) => command.kind().is_control() || command.kind().is_read(),
            Self::Bad(_) => false,
        }
    }
}

/// Subject of a response.
pub enum Settled {
    /// Completed command.
    Command(RpcCommand),
    /// Shell command that was cancelled before it started.
    Unrun(BashCommand),
    /// Refused line that is not a command, or a prompt that is refused after its acknowledgement.
    Refusal,
}

impl Requests {
    pub const fn new(dialect: Dialect) -> Self {
        Self { dialect, waiting: Vec::new(), refused: Vec::new(), shell_end: None }
    }

    pub fn command(&mut self, command: RpcCommand) {
        let aborts_shells = self.dialect.record().aborts_shells && command.kind() == RpcCommandKind::Abort;
        if command.kind() == RpcCommandKind::AbortBash || aborts_shells {
            for waiting in &mut self.waiting {
                waiting.stopped |= waiting.is_bash() && !waiting.begun;
            }
        }
        self.push(LineKind::Command(command));
    }

    pub fn bad_line(&mut self, error: LineError) {
        self.push(LineKind::Bad(error));
    }

    fn push(&mut self, asked: LineKind) {
        self.waiting.push(PendingLine { asked, begun: false, stopped: false, forgiven: false });
        self.begin();
    }

    /// Marks the lines that are being served.
    pub fn begin(&mut self) {
        for at in 0..self.waiting.len() {
            self.waiting[at].begun |= self.is_in_hand(at);
        }
    }

    /// Finds the line that a response belongs to. `run_open`: a prompt without `streamingBehavior` is refused.
    pub fn answer(&mut self, response: &RpcResponse, run_open: bool) -> Result<Settled, String> {
        let at = match response {
            RpcResponse::Success(it) => {
                let kind = RpcCommandKind::parse(it.kind().as_str());
                self.find(|command| Some(command.kind()) == kind && command.id() == it.id())
            }
            RpcResponse::ErrorResponse(error) if self.settles_refused(error) => {
                return Ok(Settled::Refusal);
            }
            RpcResponse::ErrorResponse(error) => self.failed(error),
        };
        let at = at.ok_or("a response to nothing that waits")?;
        let is_ordered = self.dialect.is_serial() && !self.is_free(&self.waiting[at]);
        ensure!(
            !is_ordered || self.waiting[..at].iter().all(|it| self.is_free(it)),
            "a response overtook an earlier request's"
        );
        let PendingLine { asked, stopped, .. } = self.waiting.remove(at);
        match asked {
            LineKind::Bad(_) => Ok(Settled::Refusal),
            LineKind::Command(RpcCommand::Bash(command)) if stopped => Ok(Settled::Unrun(command)),
            LineKind::Command(command) => {
                if matches!(response, RpcResponse::Success(_)) && run_open && wants_run(&command) {
                    let late = self.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
                    ensure!(late, "a prompt was accepted in a run without a word on how to queue it");
                    self.refused.push((command.id().cloned(), command.kind()));
                    return Ok(Settled::Refusal);
                }
                Ok(Settled::Command(command))
            }
        }
    }

    /// Whether a line waits that ends the open run and must be answered before a new one.
    pub fn aborts(&self) -> bool {
        use RpcCommandKind as Kind;
        let ends = [
            Kind::Abort,
            Kind::AbortAndPrompt,
            Kind::NewSession,
            Kind::SwitchSession,
            Kind::OpenSession,
            Kind::Fork,
            Kind::Branch,
            Kind::Compact,
        ];
        self.waiting.iter().any(|waiting| match &waiting.asked {
            LineKind::Command(command) => waiting.begun && ends.contains(&command.kind()),
            LineKind::Bad(_) => false,
        })
    }

    /// Commands without a response.
    pub fn commands(&self) -> impl Iterator<Item = &RpcCommand> {
        self.waiting.iter().filter_map(|waiting| match &waiting.asked {
            LineKind::Command(command) => Some(command),
            LineKind::Bad(_) => None,
        })
    }

    /// Commands that are being served: all, or in some dialects the first and those that overtake.
    fn in_hand(&self) -> impl Iterator<Item = &RpcCommand> {
        self.waiting.iter().enumerate().filter_map(|(at, waiting)| match &waiting.asked {
            LineKind::Command(command) if self.is_in_hand(at) => Some(command),
            _ => None,
        })
    }

    fn is_in_hand(&self, at: usize) -> bool {
        let is_first = self.waiting[..at].iter().all(|it| self.is_free(it));
        !self.dialect.is_serial() || self.waiting[at].asked.is_control() || is_first
    }

    /// Whether the line does not hold up those behind it: it overtakes, or runs beside the others.
    fn is_free(&self, line: &PendingLine) -> bool {
        line.asked.is_control() || line.is_bash() && self.dialect.runs_beside_others(RpcCommandKind::Bash)
    }

    /// Whether every line has its response or needs none.
    pub fn is_empty(&self) -> bool {
        self.waiting.iter().all(|waiting| waiting.forgiven) && self.refused.is_empty()
    }

    /// Handles shutdown: lines that are not being served need no response.
    pub fn forgive(&mut self) {
        // An abort that has overtaken the others holds them up until it is over.
        let is_held_up =
            self.dialect.is_serial() && self.waiting.iter().any(|waiting| waiting.asked.is_control());
        for at in 0..self.waiting.len() {
            let may_wait = is_held_up && !self.waiting[at].asked.is_control();
            self.waiting[at].forgiven = may_wait || !self.is_in_hand(at);
        }
    }

    /// Checks at rest, with `shells` hanging commands of the host: only they and lines behind them have no response.
    pub fn quiet(&self, shells: usize) -> Checked {
        ensure!(self.refused.is_empty(), "the error of a refused prompt never came");
        let hanging = self.in_hand().filter(|command| command.kind() == RpcCommandKind::Bash).count();
        ensure!(hanging == shells, "{shells} shell commands hang, but {hanging} requests for one wait");
        ensure!(self.in_hand().count() == hanging, "a request was never answered");
        ensure!(hanging > 0 || self.is_empty(), "a line was never answered");
        Ok(())
    }

    /// Index of the first matching command that can be complete: any except a running shell command.
    fn find(&self, wanted: impl Fn(&RpcCommand) -> bool) -> Option<usize> {
        let ended = self.shell_end.as_ref().map(|(command, _)| command);
        self.waiting.iter().position(|waiting| match &waiting.asked {
            LineKind::Command(command @ RpcCommand::Bash(it)) => {
                wanted(command) && (waiting.stopped || ended == Some(&it.command))
            }
            LineKind::Command(command) => wanted(command),
            LineKind::Bad(_) => false,
        })
    }

    /// Whether the shell command may be started.
    pub fn may_start(&self, line: &str) -> bool {
        self.waiting.iter().any(|waiting| match &waiting.asked {
            LineKind::Command(RpcCommand::Bash(it)) => it.command == line && !waiting.stopped,
            _ => false,
        })
    }

    fn failed(&self, error: &RpcErrorResponse) -> Option<usize> {
        let bad = |waiting: &PendingLine| match &waiting.asked {
            LineKind::Bad(bad) => bad.clone().response(self.dialect) == *error,
            LineKind::Command(_) => false,
        };
        if let Some(at) = self.waiting.iter().position(bad) {
            return Some(at);
        }
        if self.dialect.record().error_style == DialectErrorStyle::Parse && error.command == "parse" {
            let text = self.shell_end.as_ref().and_then(|(_, failure)| failure.as_ref());
            let text = text.map(|text| errors::parse(self.dialect.base(), text));
            let known = error.id.is_none() && text.as_ref() == Some(&error.error);
            let shell = self.find(|command| command.kind() == RpcCommandKind::Bash).filter(|_| known);
            return shell.or_else(|| {
                let text = |command: &RpcCommand| handler_error(self.dialect, command);
                let says = |text: String| errors::parse(self.dialect.base(), &text) == error.error;
                self.find(|command| error.id.is_none() && text(command).is_some_and(says))
            });
        }
        self.find(|command| command.kind().as_str() == error.command && command.id() == error.id.as_ref())
    }

    fn settles_refused(&mut self, error: &RpcErrorResponse) -> bool {
        let fits = |(id, kind): &(Option<RequestId>, RpcCommandKind)| {
            *id == error.id
                && kind.as_str() == error.command
                && error.error == errors::busy(self.dialect.base())
        };
        let at = self.refused.iter().position(fits);
        at.map(|at| self.refused.remove(at)).is_some()
    }
}

/// Whether the command needs a run of its own, and is therefore refused during a run.
fn wants_run(command: &RpcCommand) -> bool {
    matches!(command, RpcCommand::Prompt(it) if it.streaming_behavior.is_none())
}
