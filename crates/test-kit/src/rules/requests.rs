//! Every line of the host that wants an answer, and whether it has got it.

use super::brief::handler_error;
use crate::{Checked, ensure};
use pi_rpc::protocol::{
    BashCommand, Dialect, DialectDispatch, DialectErrorStyle, DialectPromptAck, LineError, RequestId,
    RpcCommand, RpcCommandKind, RpcErrorResponse, RpcResponse, errors,
};

/// The lines that wait, oldest first.
pub struct Requests {
    dialect: Dialect,
    waiting: Vec<PendingLine>,
    /// A prompt whose success is said and whose error must still come.
    refused: Vec<(Option<RequestId>, RpcCommandKind)>,
    /// The shell command that has just ended, and why it did not start if it did not.
    pub shell_end: Option<(String, Option<String>)>,
}

struct PendingLine {
    asked: LineKind,
    /// It is not behind another any more, and what came before it is done.
    begun: bool,
    /// A shell command that was stopped before it began.
    stopped: bool,
    /// The process was told to stop before it was served: it may stay unanswered.
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
    /// Whether it overtakes in dialects that serve one command after another.
    const fn is_control(&self) -> bool {
        match self {
            Self::Command(command) => command.kind().is_control() || command.kind().is_read(),
            Self::Bad(_) => false,
        }
    }
}

/// What a response settled.
pub enum Settled {
    /// This command is done.
    Command(RpcCommand),
    /// This shell command was stopped before it began.
    Unrun(BashCommand),
    /// A line that was no command was refused; or a prompt was that had been acknowledged.
    Refusal,
}

impl Requests {
    pub const fn new(dialect: Dialect) -> Self {
        Self { dialect, waiting: Vec::new(), refused: Vec::new(), shell_end: None }
    }

    pub fn command(&mut self, command: RpcCommand) {
        if command.kind() == RpcCommandKind::AbortBash {
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

    /// What comes next is begun.
    pub fn begin(&mut self) {
        for at in 0..self.waiting.len() {
            self.waiting[at].begun |= self.is_in_hand(at);
        }
    }

    /// Which request the response answers. `run_open`: a prompt that does not say how to queue it is refused.
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
        let serial = self.dialect.record().dispatch == DialectDispatch::SerialWithControlLane;
        let overtakes = serial && !self.waiting[at].asked.is_control();
        ensure!(
            !overtakes || self.waiting[..at].iter().all(|it| it.asked.is_control()),
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

    /// Whether something waits that ends the open run and must be answered before anything new begins.
    pub fn aborts(&self) -> bool {
        use RpcCommandKind as Kind;
        let ends = [
            Kind::Abort,
            Kind::AbortAndPrompt,
            Kind::NewSession,
            Kind::SwitchSession,
            Kind::Fork,
            Kind::Branch,
            Kind::Compact,
        ];
        self.waiting.iter().any(|waiting| match &waiting.asked {
            LineKind::Command(command) => waiting.begun && ends.contains(&command.kind()),
            LineKind::Bad(_) => false,
        })
    }

    /// Commands that have no answer yet.
    pub fn commands(&self) -> impl Iterator<Item = &RpcCommand> {
        self.waiting.iter().filter_map(|waiting| match &waiting.asked {
            LineKind::Command(command) => Some(command),
            LineKind::Bad(_) => None,
        })
    }

    /// Commands that are being served: all of them, or in some dialects the first and those that overtake.
    fn in_hand(&self) -> impl Iterator<Item = &RpcCommand> {
        self.waiting.iter().enumerate().filter_map(|(at, waiting)| match &waiting.asked {
            LineKind::Command(command) if self.is_in_hand(at) => Some(command),
            _ => None,
        })
    }

    fn is_in_hand(&self, at: usize) -> bool {
        let serial = self.dialect.record().dispatch == DialectDispatch::SerialWithControlLane;
        let control = |waiting: &PendingLine| waiting.asked.is_control();
        !serial || control(&self.waiting[at]) || self.waiting[..at].iter().all(control)
    }

    /// Nothing waits that is not forgiven.
    pub fn is_empty(&self) -> bool {
        self.waiting.iter().all(|waiting| waiting.forgiven) && self.refused.is_empty()
    }

    /// The process is told to stop: what is not in hand stays unanswered.
    pub fn forgive(&mut self) {
        // An abort that has overtaken the others holds them up until it is over.
        let serial = self.dialect.record().dispatch == DialectDispatch::SerialWithControlLane;
        let is_held_up = serial && self.waiting.iter().any(|waiting| waiting.asked.is_control());
        for at in 0..self.waiting.len() {
            let may_wait = is_held_up && !self.waiting[at].asked.is_control();
            self.waiting[at].forgiven = may_wait || !self.is_in_hand(at);
        }
    }

    /// Nothing is due any more, and `shells` commands of the host hang: only they, and what waits behind them, wait.
    pub fn quiet(&self, shells: usize) -> Checked {
        ensure!(self.refused.is_empty(), "the error of a refused prompt never came");
        let hanging = self.in_hand().filter(|command| command.kind() == RpcCommandKind::Bash).count();
        ensure!(hanging == shells, "{shells} shell commands hang, but {hanging} requests for one wait");
        ensure!(self.in_hand().count() == hanging, "a request was never answered");
        ensure!(hanging > 0 || self.is_empty(), "a line was never answered");
        Ok(())
    }

    /// The first command that is wanted and can be over: any but a shell command that runs.
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

    /// Whether a shell command may be started.
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

/// Whether the command asks for a run of its own, and is refused in one.
fn wants_run(command: &RpcCommand) -> bool {
    matches!(command, RpcCommand::Prompt(it) if it.streaming_behavior.is_none())
}
